#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One graph of kernels from four compilers and an operation of PyTorch, on an NVIDIA GPU.

    ramp (CUDA C) -> square (Triton) -> distance (CuPy) -> halve (Numba) -> sum (PyTorch)

It needs PyTorch, Triton, Numba and CuPy, and says which one is missing."""
import argparse
import sys

import numpy as np

argparse.ArgumentParser(description="One graph of kernels from several compilers.").parse_args()  # it takes no arguments
try:
    import cupy
    import torch
    import triton
    import triton.language as tl
    from numba import cuda
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import braid
import braid.cupy
import braid.numba_cuda
import braid.torch
import braid.triton

NUM = 10_000
RAMP = r"""extern "C" __global__ void ramp(float *x, float step, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        x[i] = step * i;
}"""


@triton.jit
def square(x, out, num, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < num)
    tl.store(out + at, value * value, mask=at < num)


def halve(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 0.5


def make_kernels():
    """Each compiler's kernel, as one of Braid's."""
    distance = cupy.ElementwiseKernel("T x, T y", "T out", "out = abs(x - y)", "distance")
    return {"ramp": braid.Kernel("ramp", source=RAMP, types=[braid.Pointer, np.float32, np.int32]),
            "square": braid.triton.kernel(square, "*fp32:16, *fp32:16, i32", BLOCK=256, num_warps=4),
            "halve": braid.numba_cuda.kernel("float32[::1]")(halve),
            "distance": braid.cupy.elementwise(distance, "float32*, float32*, float32*")}


def make_graph(kernels, x, gap, total):
    """Braid orders the nodes by what they read and write."""
    graph, blocks = braid.Graph(), -(-NUM // 256)
    squares = graph.transient("squares", shape=NUM, dtype="float32")  # each exec gives it memory
    step = graph.parameter("step", np.float32(0.01))
    graph.kernel(kernels["ramp"], blocks, [braid.write(x), step, NUM], block=256)
    graph.kernel(kernels["square"], blocks, [braid.read(x), braid.write(squares), NUM])
    graph.kernel(kernels["distance"], blocks, [braid.read(x), braid.read(squares), braid.write(gap)], block=256)
    graph.kernel(kernels["halve"], blocks, [braid.inout(x)], block=256)

    def add_up(one, other, out):
        torch.sum(one * 2 + other, dim=0, out=out)  # PyTorch allocates what it needs between

    braid.torch.operation(graph, add_up, [braid.read(x), braid.read(gap), braid.write(total)])
    return graph, step


def expected(step):
    x = (np.float32(step) * np.arange(NUM, dtype="float32")).astype("float64")
    return (x + abs(x - x * x)).sum()


def main():
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return 77
    x, gap, total = (torch.zeros(num, device="cuda") for num in (NUM, NUM, 1))
    torch.sum(x * 2 + gap, dim=0, out=total[0])  # once before, so that PyTorch has loaded its kernels
    torch.cuda.synchronize()
    graph, step = make_graph(make_kernels(), x, gap, total[0])
    with braid.Exec(braid.Device("cuda"), graph) as frame:
        print(f"played as {frame.info.mode}: {frame.info.reason}")
        for value in (0.01, 0.02, 0.03):
            frame.set_parameter(step, np.float32(value))
            frame.launch(torch.cuda.current_stream())
            result = float(total)  # PyTorch waits for its stream, and so for the frame
            wanted = expected(value)
            print(f"step {value}: {result:.6g}, with NumPy {wanted:.6g}")
            if abs(result - wanted) > 1e-4 * wanted:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
