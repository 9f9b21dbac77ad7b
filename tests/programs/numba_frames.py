# SPDX-License-Identifier: Apache-2.0
"""A program of Numba: frames of two kernels on two streams, with an event between, and a copy to the host.

It knows nothing of Braid, and needs a CUDA device: Numba links its kernels to machine code.
"""
import ctypes
import sys

try:
    import numpy as np
    if not hasattr(np, "row_stack"):  # NumPy 2.5 has none, and numba-cuda 0.30 asks for it
        np.row_stack = np.vstack
    from numba import cuda
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

NUM, FRAMES = 256, 8


@cuda.jit
def grow(values, part):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += part * (i + 1)


@cuda.jit
def halve(values, halves):
    i = cuda.grid(1)
    if i < values.size:
        halves[i] = values[i] * 0.5


def is_available():
    try:
        return cuda.is_available()
    except ctypes.ArgumentError as error:  # as Debian's Numba 0.56 with newer drivers
        print(f"skipped: this Numba cannot open the driver: {error}")
        sys.exit(77)


def main():
    if not is_available():
        print("skipped: there is no CUDA device")
        sys.exit(77)
    first, second = cuda.stream(), cuda.stream()
    grown, copied = cuda.event(), cuda.event()
    values = cuda.to_device(np.zeros(NUM, dtype=np.float32))
    halves = cuda.device_array(NUM, dtype=np.float32)
    try:
        grow[NUM // 64, 64, first](values, np.float32(0))
    except Exception as error:  # its class depends on the version
        if "NO_BINARY_FOR_GPU" not in str(error):
            raise
        print("skipped: the stand-in runs no machine code")
        sys.exit(77)
    for frame in range(1, FRAMES + 1):
        grow[NUM // 64, 64, first](values, np.float32(1))
        grown.record(first)
        grown.wait(second)
        halve[NUM // 64, 64, second](values, halves)
        copied.record(second)
        copied.wait(first)
        second.synchronize()
        assert np.array_equal(halves.copy_to_host(stream=second), np.arange(1, NUM + 1, dtype=np.float32) * frame / 2)
    print(f"{FRAMES} frames of 2 kernels")


if __name__ == "__main__":
    main()
