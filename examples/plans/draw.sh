#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Draws the plans that the examples write, after `./run build`. Those for CUDA are planned where there is a device, real or
# stood in for (LD_LIBRARY_PATH), and left as they are elsewhere.
set -eu
if [ $# -gt 0 ]; then
    [ "$1" != --help ] || exec echo "usage: $0"
    printf '%s\n' "$0: unknown argument '$1'" "usage: $0" >&2
    exit 2
fi
cd "$(dirname "$0")"
dot_file=$(mktemp)
trap 'rm -f "$dot_file"' EXIT
for example in first_graph frames_in_flight sparse_loop plan_only profile_and_report changing_parameters cfl_substeps conjugate_gradient from_code video_pipeline blur_image lambdas wrap_a_stream cublas_node; do
    backends=cpu
    case $example in wrap_a_stream | cublas_node) backends=cuda ;; esac
    program=../../build/examples/$example
    [ ! -d "$program" ] || program=$program/$example
    if BRAID_BACKENDS=$backends "$program" "$dot_file" >/dev/null; then
        dot -Tsvg "$dot_file" -o "$example.svg"
    else
        echo "left as it is: $example.svg"
    fi
done
# One lane of many nodes: a timeline is as wide as a page, however many there are.
../../build/examples/decode_loop decode_loop.svg >/dev/null
own_kernels=../../build/tests/examples/own_kernels_on_standins # where there is no nvcc
if [ -x "$own_kernels" ] && "$own_kernels" "$dot_file" cuda >/dev/null; then
    dot -Tsvg "$dot_file" -o own_kernels.svg
fi
../../build/tools/braid/braid plan ../render_frame.dot --svg render_frame.svg >/dev/null
"${PYTHON:-python3}" ../first_graph.py first_graph_py.svg >/dev/null || echo "left as it is: first_graph_py.svg (it needs the package and NumPy, in the interpreter that PYTHON names)"
