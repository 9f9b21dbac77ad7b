# SPDX-License-Identifier: Apache-2.0
"""Kernels from which the texts numba_*.ptx were compiled: see README.md."""
from numba import cuda, float32, int32


def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


def reverse(x):
    own = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    own[i] = x[i]
    cuda.syncthreads()
    x[i] = own[63 - i]
    cuda.atomic.add(x, 0, 1.0)


for kernel, types in (scale, (float32[:], float32)), (reverse, (float32[:],)):
    text, _ = cuda.compile_ptx(kernel, types, cc=(8, 0))
    with open(f"numba_{kernel.__name__}_80.ptx", "w") as file:
        file.write(text)
