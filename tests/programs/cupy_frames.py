# SPDX-License-Identifier: Apache-2.0
"""A program of CuPy: frames of an elementwise kernel, a reduction, a RawKernel and a copy to the host.

It knows nothing of Braid, and needs a CUDA device: CuPy has NVIDIA's runtime inside, which refuses other drivers. A sum
may be one kernel or two.
"""
import sys

try:
    import cupy as cp
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

NUM, FRAMES = 256, 8

SOURCE = r"""
extern "C" __global__ void turn(const float *x, float *y, float angle, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        y[i] = x[i] * cosf(angle) + y[i] * sinf(angle);
}
"""


def main():
    try:
        cp.cuda.runtime.getDeviceCount()
    except cp.cuda.runtime.CUDARuntimeError as error:
        print(f"skipped: {error}")
        sys.exit(77)
    turn = cp.RawKernel(SOURCE, "turn")
    blend = cp.ElementwiseKernel("float32 a, float32 b, float32 part", "float32 c", "c = a * part + b * (1 - part)", "blend")
    x, y = cp.arange(NUM, dtype=cp.float32), cp.ones(NUM, dtype=cp.float32)
    blended, total = cp.empty_like(x), cp.empty((), dtype=cp.float32)
    host_x, host_y, sums = np.arange(NUM, dtype=np.float64), np.ones(NUM), []
    for _ in range(FRAMES):
        turn((NUM // 128,), (128,), (x, y, np.float32(0.5), np.int32(NUM)))
        blend(x, y, np.float32(0.25), blended)
        cp.sum(blended, out=total)
        sums.append(float(total))
        host_y = host_x * np.cos(0.5) + host_y * np.sin(0.5)
        assert np.isclose(sums[-1], (host_x * 0.25 + host_y * 0.75).sum(), rtol=1e-4)
    print(f"{FRAMES} frames of 3 kernels or more")


if __name__ == "__main__":
    main()
