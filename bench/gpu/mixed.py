#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chains of kernels from NVRTC, Triton and Numba in turn, as Braid plays them and as others do: mixed.py [FRAMES]

by themselves   each kernel launched by CuPy, Triton and Numba, on one stream of PyTorch
PyTorch graph   those launches, captured by torch.cuda.graph
PyTorch spread  the same with a stream for each chain
Braid graph     a driver graph of Braid without islands
Braid island    the whole graph as one kernel
Braid           as it comes

All ways take turns, frame by frame, in one process, and another way is the first in each frame. A time is from the launch
until the frame has ended. The result of each way is compared with NumPy's."""
import random
import statistics
import sys
import time
import warnings

import numpy as np

try:
    import cupy
    import torch
    import triton
    import triton.language as tl
    from numba import cuda
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import braid
import braid.numba_cuda
import braid.triton

warnings.simplefilter("ignore")  # Numba finds one block few, and CuPy has a newer name for a stream of others
BLOCK = 128
WAYS = ("by themselves", "PyTorch graph", "PyTorch spread", "Braid graph", "Braid island", "Braid")
SHAPES = {"1 chain of 60, 1 block each": (1, 60, 1), "8 chains of 15, 1 block each": (8, 15, 1),
          "1 chain of 30, 4096 blocks each": (1, 30, 4096)}
HALVE = r"""extern "C" __global__ void halve(float *x, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        x[i] = x[i] * 0.5f + 1;
}"""


@triton.jit
def add_two(x, num, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < num) + 2, mask=at < num)


def quarter(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= np.float32(0.25)


class Chains:
    """The kernels on their data: `num` chains of `length` kernels of `blocks` blocks."""

    def __init__(self, num, length, blocks):
        self.size, self.blocks, self.length = blocks * BLOCK, blocks, length
        self.data = [torch.zeros(self.size, device="cuda") for _ in range(num)]
        self.halve, self.quarter = cupy.RawKernel(HALVE, "halve"), cuda.jit(quarter)
        self.streams = [torch.cuda.Stream() for _ in self.data]
        self.of_cupy = [cupy.asarray(x) for x in self.data]
        self.of_numba = [cuda.as_cuda_array(x) for x in self.data]

    def launch(self, stream, chains=None):
        """Each by its own framework: of all chains in turn, or of those with these numbers."""
        numba_stream = cuda.external_stream(stream.cuda_stream)
        with torch.cuda.stream(stream), cupy.cuda.ExternalStream(stream.cuda_stream):
            for i in range(self.length):
                for j in chains or range(len(self.data)):
                    if i % 3 == 0:
                        self.halve((self.blocks,), (BLOCK,), (self.of_cupy[j], np.int32(self.size)))
                    elif i % 3 == 1:
                        add_two[(self.blocks,)](self.data[j], self.size, BLOCK=BLOCK, num_warps=BLOCK // 32)
                    else:
                        self.quarter[self.blocks, BLOCK, numba_stream](self.of_numba[j])

    def launch_spread(self, stream):
        for own in self.streams:
            own.wait_stream(stream)
        for j, own in enumerate(self.streams):
            self.launch(own, [j])
        for own in self.streams:
            stream.wait_stream(own)

    def graph(self):
        kernels = [braid.Kernel("halve", source=HALVE, types=[braid.Pointer, np.int32]),
                   braid.triton.kernel(add_two, "*fp32:16, i32:16", BLOCK=BLOCK, num_warps=BLOCK // 32),
                   braid.numba_cuda.kernel("float32[::1]")(self.quarter)]
        graph = braid.Graph()
        for i in range(self.length):
            for x in self.data:
                args = [braid.inout(x), self.size][:2 if i % 3 < 2 else 1]
                graph.kernel(kernels[i % 3], self.blocks, args, block=BLOCK)
        return graph

    def expected(self):
        x = np.float32(0)
        for i in range(self.length):
            x = (x * np.float32(0.5) + np.float32(1), x + np.float32(2), x * np.float32(0.25))[i % 3]
        return x

    def check(self, way, play):
        for x in self.data:
            x.zero_()
        torch.cuda.synchronize()
        play()
        torch.cuda.synchronize()
        for x in self.data:
            assert bool((x == float(self.expected())).all()), f"{way}: {x[:4]} where NumPy has {self.expected()}"


def captured(launch, stream):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        launch(stream)

    def play():
        with torch.cuda.stream(stream):
            graph.replay()

    return play


def ways_of(chains, device, stream):
    """A function for each way that launches a frame; or why there is none."""
    ways = {"by themselves": lambda: chains.launch(stream)}
    chains.launch(stream)  # compiles
    torch.cuda.synchronize()
    ways["PyTorch graph"] = captured(chains.launch, stream)
    if len(chains.data) > 1:
        ways["PyTorch spread"] = captured(chains.launch_spread, stream)
    graph = chains.graph()
    for way, how in (("Braid graph", {"islands": "never"}), ("Braid island", {"islands": "whole"}), ("Braid", {})):
        try:
            frame = braid.Exec(device, graph, **how)
            print(f"{way}: {frame.info.mode}, {frame.info.reason}; {frame.info.num_islands} islands of "
                  f"{frame.info.num_island_nodes} nodes, {frame.info.num_early_starts} early starts")
            ways[way] = lambda frame=frame: frame.launch(stream)
        except braid.Error as error:
            print(f"{way}: {error}")
    return ways


def measure(ways, num_frames):
    """Microseconds of each way, a list."""
    times, order, chance = {way: [] for way in ways}, list(ways), random.Random(1)
    for i in range(num_frames + 10):
        chance.shuffle(order)  # a frame depends on what ran before it: a slow way of one block leaves caches cold
        for way in order:
            begin = time.perf_counter()
            ways[way]()
            torch.cuda.synchronize()
            if i >= 10:
                times[way].append(1e6 * (time.perf_counter() - begin))
    return times


def main():
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return 77
    num_frames = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    device, stream, rows = braid.Device("cuda"), torch.cuda.Stream(), []
    for shape, numbers in SHAPES.items():
        print(f"-- {shape}")
        chains = Chains(*numbers)
        ways = ways_of(chains, device, stream)
        for way, play in ways.items():
            chains.check(way, play)
        times = {way: statistics.median(values) for way, values in measure(ways, num_frames).items()}
        rows.append((shape, times))
    print(f"{device!r}, microseconds a frame, medians of {num_frames}; in brackets of PyTorch's graph")
    print(f"| shape | {' | '.join(WAYS)} |\n|---|{'---:|' * len(WAYS)}")
    for shape, times in rows:
        cells = [f"{times[way]:.1f} ({times[way] / times['PyTorch graph']:.3f})" if way in times else "-" for way in WAYS]
        print(f"| {shape} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
