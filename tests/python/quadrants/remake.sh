#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the record anew: remake.sh BUILD PYTHON OUT, where PYTHON has the package quadrants.
# With PROGRAM and options of braid record behind, it records another program.
set -eu
build=$(realpath "$1") python=$(realpath -s "$2") out=$(realpath -s "$3") program=${4:-program.py}
shift $(($# < 4 ? 3 : 4))
cd "$(dirname "$0")"
folder=$(mktemp -d)
ln -s "$build/standin/cuda/libcuda.so.1" "$folder/libcuda.so.1"
ln -s libcuda.so.1 "$folder/libcuda.so"
export LD_LIBRARY_PATH="$folder:$build/src" BRAID_RECORDER="$build/src/libbraid_record.so"
export BRAID_STANDIN_PTX=1 BRAID_STANDIN_MULTIPROCESSORS=1 BRAID_STANDIN_INSTEAD=condition.ptx
export PATH="$(dirname "$python"):$PATH" PYTHONPATH="$build/python" PYTHONDONTWRITEBYTECODE=1
"$build/tools/braid/braid" record "$@" --memory end:65536 --out "$out" -- "$(basename "$python")" "$program" "$out"
rm -r "$folder"
