# SPDX-License-Identifier: Apache-2.0
"""From frame to frame arguments and parameters change, and nothing grows."""
import gc
import sys

import numpy as np
import pytest

import braid


def test_arguments_change(device, add_scaled):
    y, x = np.zeros(4, "float32"), np.ones(4, "float32")
    graph = braid.Graph()
    node = graph.kernel(add_scaled, 4, [y, x, 1], updates=y, reads=x)
    frame = braid.Exec(device, graph)
    for factor in (1, 2.5, np.float32(3)):
        frame.set_arg(node, 2, factor)
        frame.launch()
    frame.wait()
    assert y.tolist() == [6.5] * 4


def test_kernels_run_as_they_were_given(device, add_scaled):
    y, x = np.zeros(4, "float32"), np.ones(4, "float32")
    graph = braid.Graph()
    graph.kernel(add_scaled, 4, [y, x, 1], updates=y, reads=x, cooperative=True)
    for options, says_so in (({}, False), ({"no_early_start": True, "no_prefetch": True}, False), ({"no_rewriting": True}, True)):
        frame = braid.Exec(device, graph, **options)
        assert ("no_rewriting" in frame.info.reason) == says_so
        frame.launch()
        frame.wait()
    assert y.tolist() == [3] * 4
    with pytest.raises(braid.Error, match="no_rewriting forbids islands, and BRAID_ISLANDS_WHOLE"):
        braid.Exec(device, graph, no_rewriting=True, islands="whole")


def test_rows_are_copied_and_filled(device):
    image, tile = np.arange(64, dtype="uint8").reshape(8, 8), np.zeros((4, 3), "uint8")
    filled = np.zeros(12, "uint16")
    graph = braid.Graph()
    graph.copy(tile, image, rows=braid.Rows(3, num=4, from_pitch=8))
    graph.fill(filled, np.uint16(7), rows=braid.Rows(4, num=3, to_pitch=8))
    braid.Exec(device, graph).run()
    assert (tile == image[:4, :3]).all() and filled.tolist() == [7, 7, 0, 0] * 3
    for line, message in ((lambda: graph.copy(tile, image, rows=braid.Rows(9, num=2, from_pitch=8), name="wide"), "'wide': .rows has"),
                          (lambda: graph.fill(filled, np.uint16(7), rows=braid.Rows(3, num=2), name="odd"), "'odd'.*in each row")):
        with pytest.raises(braid.InvalidArgumentError, match=message):
            line()


def test_buffers_swap(device, add_scaled):
    front, back = np.ones(4, "float32"), np.zeros(4, "float32")
    graph = braid.Graph()
    node = graph.kernel(add_scaled, 4, [back, front, 1], updates=back, reads=front)
    frame = braid.Exec(device, graph)
    for _ in range(4):
        frame.launch()
        front, back = back, front
        frame.set_arg(node, 0, back)
        frame.set_arg(node, 1, front)
    frame.wait()
    assert sorted((front[0], back[0])) == [3, 5]


def test_a_parameter_changes_for_all_its_users(device, store):
    one, two = np.zeros(1, "int64"), np.zeros(1, "int64")
    graph = braid.Graph()
    value = graph.parameter("value", 1, np.int64)
    for target in (one, two):
        graph.kernel(store, 1, [target, value], writes=target)
    frame = braid.Exec(device, graph)
    frame.run()
    assert (one[0], two[0]) == (1, 1)
    frame.set_parameter(value, 9)
    frame.run()
    assert (one[0], two[0]) == (9, 9)


def test_a_parameter_may_be_an_array(device, store):
    one, two = np.zeros(1, "int64"), np.zeros(1, "int64")
    graph = braid.Graph()
    target = graph.parameter("target", one)
    graph.kernel(store, 1, [target, 5], writes=one)
    frame = braid.Exec(device, graph)
    frame.set_parameter(target, two)
    frame.run()
    assert (one[0], two[0]) == (0, 5)


def test_a_thousand_frames_make_nothing_grow(device, store, add_scaled):
    arrays = [np.zeros(16, "float32") for _ in range(3)]
    cell, count = np.zeros(1, "int64"), []
    graph = braid.Graph()
    value = graph.parameter("value", np.int64(0))
    graph.kernel(store, 1, [cell, value], writes=cell)
    node = graph.kernel(add_scaled, 16, [arrays[0], arrays[1], 1], updates=arrays[0], reads=arrays[1])
    graph.host(lambda: count.append(None) if len(count) < 10 else None, reads=cell)
    frame = braid.Exec(device, graph)
    stream = device.stream()

    def play(frames):
        for i in range(frames):
            frame.set_parameter(value, i)
            frame.set_arg(node, 1, arrays[1 + i % 2])
            frame.launch(stream if i % 2 else None)
            if i % 10 == 9:
                frame.wait()
        gc.collect()
        return sys.getallocatedblocks(), len(gc.get_objects()), device.info

    blocks, objects, stats = play(100)
    for _ in range(3):
        blocks, objects, stats = play(100)
    later_blocks, later_objects, later_stats = play(1000)
    assert cell[0] == 999
    assert later_objects - objects < 20
    assert later_blocks - blocks < 100  # a tenth of an object a frame
    assert later_stats == stats
    stream.close()


def test_arrays_that_pass_by_are_let_go(device, store):
    """New arrays for every frame, and a program that rarely waits."""
    graph = braid.Graph()
    target = np.zeros(1, "int64")
    node = graph.kernel(store, 1, [target, 5], writes=target)
    frame = braid.Exec(device, graph)
    for _ in range(500):
        frame.set_arg(node, 0, np.zeros(1, "int64"))
        frame.launch()
        while not frame.done:
            pass
    assert len(frame._given) < 100


def test_execs_give_transient_buffers_memory(device, library, store, add_scaled):
    total, ones = np.zeros(2, "float32"), np.ones(2, "float32")
    graph = braid.Graph()
    scratch = graph.transient("scratch", 8)
    clear = graph.kernel(store, 1, [scratch, 0], writes=scratch)
    graph.kernel(add_scaled, 2, [scratch, ones, 3], updates=scratch, reads=ones)
    graph.kernel(add_scaled, 2, [total, scratch, 1], updates=total, reads=scratch)
    frame = braid.Exec(device, graph)
    frame.run(2)
    assert total.tolist() == [6, 6]
    with pytest.raises(braid.InvalidArgumentError, match="scratch"):
        graph.kernel(store, 1, [scratch, 0])  # and does not say what it does to it
    assert clear.index == 0


@pytest.mark.parametrize("mode", ["auto", "streams", "graph"])
def test_every_mode_plays_the_same(device, add_scaled, mode):
    y, x = np.zeros(100, "float32"), np.arange(100, dtype="float32")
    graph = braid.Graph()
    for _ in range(5):
        graph.kernel(add_scaled, 100, [y, x, 1], updates=y, reads=x)
    with braid.Exec(device, graph, mode=mode) as frame:
        frame.run(2)
        assert frame.info.mode == ("graph" if mode == "auto" else mode)
    assert np.array_equal(y, 10 * x)
