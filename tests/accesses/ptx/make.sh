#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the texts of this folder again: make.sh PYTHON, which has Triton and warp-lang. No device is needed.
set -eu
cd "$(dirname "$0")"
python=$1
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT

for source in pointers reverse; do
    nvcc -ptx -arch=compute_80 "$source.cu" -o "$made/nvcc_${source}_80.ptx"
    for level in 0 2; do
        clang -x cuda -nocudainc -nocudalib --cuda-device-only --cuda-gpu-arch=sm_80 "-O$level" -S "$source.cu" \
            -o "$made/clang_${source}_80_O$level.ptx"
    done
done
"$python" make_triton.py "$made"
"$python" make_warp.py "$made"

# The first line names the compiler; paths are cut to the file's name.
version_of() {
    case $1 in
    nvcc*) echo "nvcc $(nvcc --version | sed -n 's/.*, V//p')" ;;
    clang*) echo "clang $(clang -dumpversion)" ;;
    triton*) echo "Triton $("$python" -c 'import triton; print(triton.__version__)')" ;;
    warp*) echo "Warp $("$python" -c 'import importlib.metadata as m; print(m.version("warp-lang"))')" ;;
    esac
}
for text in "$made"/*.ptx; do
    name=$(basename "$text")
    {
        echo "// $(version_of "$name"), from a source beside this file: make.sh"
        sed -E 's#^(.*\.file.*")[^"]*/#\1#' "$text"
    } > "$name"
done
