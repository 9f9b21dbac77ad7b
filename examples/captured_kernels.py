#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of CuPy and Numba on one stream, captured by CuPy as a CUDA graph, and planned by Braid from their PTX.

Two pictures are blurred by CuPy and brightened by Numba, and then added. The captured graph is a chain of five kernels.
Its kernels declare nothing. Braid finds in their PTX that each picture has its own way, and plays both side by side.
"""
import argparse
import sys
import tempfile

import numpy

argparse.ArgumentParser(description="A captured graph of kernels of CuPy and Numba.").parse_args()  # it takes no arguments
try:
    import cupy
    import numba.cuda
    from cupy.cuda import nvrtc
except ImportError as error:
    sys.exit(f"captured_kernels.py needs CuPy and Numba for CUDA: {error}")

import braid

NUM = 1 << 16
BLUR = r"""
extern "C" __global__ void blur(const float *from, float *to, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        to[i] = (from[(i + num - 1) % num] + from[i] + from[(i + 1) % num]) / 3;
}
extern "C" __global__ void add(const float *one, const float *other, float *to, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        to[i] = one[i] + other[i];
}
"""


@numba.cuda.jit
def brighten(picture, by):
    i = numba.cuda.grid(1)
    if i < picture.size:
        picture[i] += by


def compile_blur():
    """PTX, and the module that CuPy loads of it."""
    program = nvrtc.createProgram(BLUR, "blur.cu", (), ())
    nvrtc.compileProgram(program, (f"--gpu-architecture=compute_{cupy.cuda.Device().compute_capability}",))
    text = nvrtc.getPTX(program)
    text = text if isinstance(text, str) else text.decode()
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text.rstrip("\0"))
        file.flush()
        module = cupy.RawModule(path=file.name)
        return text, module.get_function("blur"), module.get_function("add")


def main():
    stream = cupy.cuda.Stream(non_blocking=True)
    text, blur, add = compile_blur()
    pictures = [cupy.asarray(numpy.random.default_rng(seed).random(NUM, "float32")) for seed in range(2)]
    blurred, total = [cupy.empty_like(picture) for picture in pictures], cupy.empty_like(pictures[0])
    views = [numba.cuda.as_cuda_array(picture, sync=False) for picture in blurred]
    theirs = numba.cuda.external_stream(stream.ptr)
    grid, by = (NUM // 256,), numpy.float32(0.25)

    def launch():
        for place in range(2):
            blur(grid, (256,), (pictures[place], blurred[place], numpy.int32(NUM)))
            brighten[grid, (256,), theirs](views[place], by)
        add(grid, (256,), (blurred[0], blurred[1], total, numpy.int32(NUM)))

    cupy.cuda.Device().synchronize()
    with stream:
        launch()  # compiles
        stream.synchronize()
        expected = total.copy()
        stream.begin_capture()
        launch()
        captured = stream.end_capture()
    device = braid.Device.adopt_cuda()
    imported = braid.Imported(device, captured.graph, texts=[text, *brighten.inspect_asm().values()],
                              buffers=[*pictures, *blurred, total])  # CuPy hands out parts of larger blocks
    print(imported.text, end="")
    runner = braid.Runner(device, imported.graph,
                          as_before=lambda on: captured.launch(cupy.cuda.ExternalStream(on.handle)))
    total.fill(0)
    cupy.cuda.Device().synchronize()
    while not runner.info.is_chosen:
        runner.launch(stream)
        runner.wait()
    print(f"plays by: {runner.info.way}; {runner.info.reason}")
    assert imported.info.num_unproven == 0 and imported.info.longest_kept == 3
    assert cupy.array_equal(total, expected)
    print("both ways add up to the same picture")


main()
