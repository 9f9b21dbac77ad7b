# SPDX-License-Identifier: Apache-2.0
"""Kernels of Triton, Numba and CuPy in one graph, by the texts of tests/gpu/ptx. The stand-in runs them."""
import numpy as np
import pytest
from conftest import PTX
from kernels_of_cupy import BLEND, blend
from kernels_of_triton import compiled

import braid
from braid.cupy import types_of
from braid.triton import kernel as of_triton

numba = pytest.importorskip("numba", reason="Numba is not installed (python3-numba)")
from braid.numba_cuda import of_ptx  # noqa: E402

NUM = 40


def text(name):
    return (PTX / name).read_text(encoding="utf-8")


def make_graph(gpu, rounds, is_declared=True):
    """In each round y = y + x by Triton, y = 2 y by Numba, and x = x + 3 table[rank] + NUM + NUM by CuPy. Nodes declare
    their accesses, or leave them to the code."""
    reads, changes = (braid.read, braid.inout) if is_declared else (lambda x: x, lambda x: x)
    x, y, table = (gpu.allocate(4 * NUM) for _ in range(3))
    rank, graph = gpu.allocate(4 * NUM), braid.Graph()
    add = of_triton(compiled())
    scale = of_ptx("scale", text("numba_scale_80.ptx"), (numba.float32[:], numba.float32))
    mix = braid.Kernel("blend", cuda=text("cupy_blend_80.ptx"), types=types_of(blend(), BLEND))
    for _ in range(rounds):
        graph.kernel(add, 1, [changes(y), reads(x), y, NUM])
        graph.kernel(scale, 1, [changes(y), 2], block=64)
        graph.kernel(mix, 2, [reads(table), reads(rank), 3, changes(x)], block=32)
    return graph, (x, y, table, rank)


def fill(memories):
    x, y, table, rank = memories
    x.copy_from(np.arange(NUM, dtype="float32"))
    y.copy_from(np.ones(NUM, "float32"))
    table.copy_from(np.arange(NUM, dtype="float32"))
    rank.copy_from(np.arange(NUM, dtype="int32")[::-1].copy())


def expected(rounds):
    x, y, table = np.arange(NUM, dtype="float32"), np.ones(NUM, "float32"), np.arange(NUM, dtype="float32")
    for _ in range(rounds):
        y = 2 * (y + x)
        x = x + 3 * table[::-1] + 2 * NUM
    return x, y


@pytest.mark.parametrize("how", [{"mode": "streams"}, {"mode": "graph", "islands": "never"}, {"islands": "whole"}], ids=str)
@pytest.mark.parametrize("is_declared", [True, False])
def test_one_graph_mixes_kernels_of_several_compilers(gpu, how, is_declared):
    graph, memories = make_graph(gpu, 3, is_declared)
    assert graph.plan(costs=braid.CostModel(), max_lanes=4, fixed_lanes=True).info.num_lanes > 1
    try:
        frame = braid.Exec(gpu, graph, **how)
    except braid.UnsupportedError as error:
        if "there is no run-time compiler" not in str(error):
            raise
        pytest.skip(str(error))
    with frame:
        for _ in range(3):
            fill(memories)
            frame.run()
            for memory, wanted in zip(memories, expected(rounds=3)):
                got = np.zeros(NUM, "float32")
                memory.copy_to(got)
                assert got.tolist() == wanted.tolist()
        assert frame.info.num_island_nodes == (9 if "whole" in how.values() else 0)
