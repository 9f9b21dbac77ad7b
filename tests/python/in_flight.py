# SPDX-License-Identifier: Apache-2.0
"""Frames of one exec run at once where that is asked for, and have buffers of their own."""
import itertools
import threading

import numpy as np
import pytest

import braid


@pytest.fixture
def held(device):
    """An exec of one call that runs until it is told to end"""
    execs = []

    def make(**options):
        reached, leave = threading.Semaphore(0), threading.Semaphore(0)
        graph = braid.Graph()
        cell = graph.resource("cell")
        graph.host(lambda: (reached.release(), leave.acquire(timeout=60)), name="held", blocking=True, excludes=cell)
        execs.append(braid.Exec(device, graph, frames=2, **options))
        return execs[-1], reached, leave

    yield make
    for one in execs:
        one.close()


def test_two_frames_meet(device):
    """The second call of a frame waits for the first one of the next: a frame at a time could not end."""
    met, early, late = [threading.Barrier(2) for _ in range(2)], itertools.count(-1), itertools.count()

    def meet(number):
        if number in (0, 1):
            met[number].wait(60)

    graph = braid.Graph()
    ends = [graph.resource(name) for name in ("early", "late")]
    first = graph.host(lambda: meet(next(early)), name="early", blocking=True, updates=ends[0])
    graph.host(lambda: meet(next(late)), name="late", blocking=True, updates=ends[1], after=first)
    frame = braid.Exec(device, graph, frames=2)
    stream = device.stream()
    frame.run(3, stream)
    stream.close()
    assert frame.num_frames == 3
    assert frame.info.num_frames == 2 and not frame.info.whole_frames


def test_a_full_exec_refuses(held):
    frame, _, leave = held(when_full="refuses")
    frame.launch()
    frame.launch()
    with pytest.raises(braid.BusyError):
        frame.launch()
    assert frame.num_frames == 2
    leave.release(2)
    frame.wait()
    leave.release()
    frame.run()


def test_a_full_exec_waits_and_lets_python_run(held):
    frame, reached, leave = held(when_full="waits")
    frame.launch()
    frame.launch()
    third = threading.Thread(target=frame.launch)
    third.start()
    assert reached.acquire(timeout=60)
    leave.release(3)
    third.join(60)
    assert not third.is_alive()
    frame.wait()
    assert frame.num_frames == 3


def test_a_frame_is_waited_for_and_told_of(held):
    ended = []
    frame, reached, leave = held(on_frame_end=ended.append)
    frame.launch()
    frame.launch()
    leave.release()
    frame.wait_frame(0)
    assert ended == [0]
    assert not frame.done
    leave.release()
    frame.wait()
    assert ended == [0, 1]
    with pytest.raises(braid.InvalidArgumentError):
        frame.wait_frame(2)


def test_what_is_raised_at_a_frames_end_is_told_by_the_wait(device):
    graph = braid.Graph()
    graph.empty()
    frame = braid.Exec(device, graph, on_frame_end=lambda number: [][number])
    with pytest.raises(braid.HostCallError, match="on_frame_end") as caught:
        frame.run()
    assert isinstance(caught.value.__cause__, IndexError)


def test_options_that_do_not_exist_are_refused(device):
    graph = braid.Graph()
    graph.empty()
    with pytest.raises(braid.InvalidArgumentError, match="when_full"):
        braid.Exec(device, graph, frames=2, when_full="panics")
    with pytest.raises(TypeError, match="frame_count"):
        braid.Exec(device, graph, frame_count=2)
    with pytest.raises(braid.InvalidArgumentError, match="17"):
        braid.Exec(device, graph, frames=17)


@pytest.mark.parametrize("frames", [1, 2])
def test_frames_read_what_the_frame_before_has_left(device, add_scaled, store, frames):
    total, ones = np.zeros(1, "float32"), np.ones(1, "float32")
    graph = braid.Graph()
    state = graph.versioned("state", 4, 3)
    before = graph.earlier(state)
    graph.kernel(add_scaled, 1, [state, ones, 1], updates=state, reads=ones)
    graph.kernel(add_scaled, 1, [state, before, 10], updates=state, reads=before)
    graph.kernel(add_scaled, 1, [total, state, 1], updates=total, reads=state)
    frame = braid.Exec(device, graph, frames=frames)
    seen = []
    for _ in range(4):
        frame.run()
        seen.append(int(total[0]))
        total[0] = 0
    assert seen == [1, 11, 111, 1112]  # the fourth has the memory of the first, and adds to it
    with pytest.raises(braid.InvalidArgumentError):
        graph.earlier(state, 3)
    with pytest.raises(braid.InvalidArgumentError):
        graph.versioned("single", 4, 1)


def test_scratch_is_a_nodes_own(device, store):
    graph = braid.Graph()
    scratch = graph.scratch("scratch", 64)
    nodes = [graph.kernel(store, 1, [scratch, i], cost_ns=1000) for i in range(2)]
    plan = graph.plan()
    assert len({plan.placement(node).lane for node in nodes}) == 2  # nothing orders them
    with braid.Exec(device, graph, plan) as frame:
        frame.run()
        assert frame.info.transient_bytes >= 128
