#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The distributed Cholesky factorisation by Braid and by StarPU-MPI, in turn, on ranks of this machine: the same kernels, tiles and
# owners, one worker a rank.
# usage: ranks_cholesky.sh BUILD [RANKS [TURNS]]
build=$(realpath "$1") || exit 1
run=$(dirname "$0")/../tests/ranks/with_mpirun.sh
export STARPU_WORKERS_NOBIND=1 STARPU_SILENT=1 BRAID_MPI="$build/src/libbraid_mpi.so"
if [ ! -x "$build/bench/ranks_starpu_cholesky" ]; then
    echo "skipped: StarPU-MPI is not installed (Debian: libstarpu-dev)"
    exit 77
fi
for ranks in ${2:-1 2 4}; do
    for shape in "8 32" "16 64" "12 128"; do
        for turn in $(seq "${3:-2}"); do
            # shellcheck disable=SC2086 # two words
            echo "$turn Braid: $("$run" "$ranks" "$build/examples/ranks/cholesky" $shape 2>/dev/null | grep tiles)"
            # shellcheck disable=SC2086
            echo "$turn StarPU-MPI: $("$run" "$ranks" "$build/bench/ranks_starpu_cholesky" $shape 2>/dev/null | grep tiles)"
        done
    done
done
