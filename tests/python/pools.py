# SPDX-License-Identifier: Apache-2.0
"""Execs share their transient memory."""
import numpy as np
import pytest

import braid


def doubled(x, y):
    graph = braid.Graph()
    between = graph.transient("between", x.nbytes)
    graph.copy(between, graph.buffer(x))
    graph.copy(graph.buffer(y), between)
    return graph


def test_execs_of_a_pool_have_one_memory(device):
    pool = braid.MemoryPool(device)
    assert pool.info == braid.MemoryPoolInfo(0, 0, 0, 0)
    xs, ys = [np.full(1000, i, "int32") for i in range(3)], [np.zeros(1000, "int32") for _ in range(3)]
    frames = [braid.Exec(device, doubled(x, y), pool=pool) for x, y in zip(xs, ys)]
    assert (pool.info.bytes, pool.info.unshared_bytes, pool.info.num_execs, pool.info.num_blocks) == (4096, 3 * 4096, 3, 1)
    pool.close()
    streams = [device.stream() for _ in frames]
    for _ in range(20):
        for frame, stream in zip(frames, streams):
            frame.launch(stream)
    for frame in frames:
        frame.wait()
    assert all((x == y).all() for x, y in zip(xs, ys))


def test_reserved_memory_stays(device):
    pool = braid.MemoryPool(device, nbytes=1 << 16)
    assert pool.info.bytes == 1 << 16
    frame = braid.Exec(device, doubled(np.zeros(8), np.zeros(8)), pool=pool)
    frame.run()
    frame.close()
    assert pool.info.bytes == 1 << 16 and pool.info.num_execs == 0


def test_what_is_no_pool_is_refused(device):
    graph = doubled(np.zeros(8), np.zeros(8))
    with pytest.raises(braid.InvalidArgumentError, match="no MemoryPool"):
        braid.Exec(device, graph, pool=3)
    with pytest.raises(braid.InvalidArgumentError, match="a pool is of a device"):
        braid.MemoryPool(3)
    pool = braid.MemoryPool(braid.Device("cpu"))
    with pytest.raises(braid.InvalidArgumentError, match="the memory pool is of cpu"):
        braid.Exec(device, graph, pool=pool)
    pool.close()
    with pytest.raises(braid.WrongStateError, match="memory pool is closed"):
        braid.Exec(device, graph, pool=pool)
