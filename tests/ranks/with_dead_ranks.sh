#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same for a program of which one rank is killed, which must not end the others; each of these
# says that it was told. Other MPIs than Open MPI end a job when a rank dies.
if ! mpirun --version 2>&1 | grep -q 'Open MPI) 4'; then
    echo "only Open MPI 4 lets ranks outlive a dead one here"
    exit 77
fi
export OMPI_MCA_orte_enable_recovery=1
output=$("$(dirname "$0")/with_mpirun.sh" "$@" 2>&1)
printf '%s\n' "$output"
[ "$(printf '%s\n' "$output" | grep -c 'was told')" = $(($1 - 1)) ]
