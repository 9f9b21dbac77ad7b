# SPDX-License-Identifier: Apache-2.0
"""Frames of one exec run at once where that is asked for, and have buffers of their own."""
import asyncio
import gc
import itertools
import threading
import weakref

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
        execs.append(braid.Exec(device, graph, frames_in_flight=2, **options))
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
    frame = braid.Exec(device, graph, frames_in_flight=2)
    stream = device.stream()
    frame.run(3, stream)
    stream.close()
    assert frame.num_launched == 3
    assert frame.info.frames_in_flight == 2 and not frame.info.whole_frames
    assert frame.info.num_frame_waits > 0


def test_a_full_exec_refuses(held):
    frame, _, leave = held(when_full="refuses")
    frame.launch()
    frame.launch()
    with pytest.raises(braid.BusyError):
        frame.launch()
    assert frame.num_launched == 2
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
    assert frame.num_launched == 3


def test_a_black_box_tells_which_nodes_run(held):
    frame, reached, leave = held(black_box=True)
    assert frame.running() == []
    frame.launch()
    assert reached.acquire(timeout=60)
    node, = frame.running()
    assert (node.name, node.node.name, node.frame, node.iteration, node.rank) == ("held", "held", 0, 0, 0)
    with pytest.raises(braid.TimeoutError, match="these nodes were running: 0 'held'"):
        frame.wait(timeout=0.01)
    assert not frame.cancel()
    leave.release()
    frame.wait()
    assert frame.running() == [] and frame.cancel()


def test_a_late_frame_is_told_of_once(held):
    told = threading.Semaphore(0)
    calls = []
    frame, reached, leave = held(black_box=True, deadline_ns=1_000_000,
                                 on_deadline=lambda number, nodes: (calls.append((number, nodes)), told.release()))
    frame.launch()
    assert reached.acquire(timeout=60)
    frame.launch()
    for _ in range(2):
        assert told.acquire(timeout=60)
    assert [number for number, _ in calls] == [0, 1] and "held" in [node.name for node in calls[1][1]]
    with pytest.raises(braid.TimeoutError, match="late: 1 frame from 0 on; .*these nodes were running: 0 'held'"):
        frame.wait_frame(0)
    with pytest.raises(braid.TimeoutError, match="late: 1 frame from 1 on"):
        frame.wait()
    leave.release(2)
    frame.wait()
    with pytest.raises(braid.TimeoutError, match="late: 1 frame from 2 on"):
        frame.launch()
        asyncio.run(frame.wait_async())
    leave.release()
    frame.wait()
    with pytest.raises(braid.InvalidArgumentError, match="deadline_ns is 0"):
        held(on_deadline=print)


def test_what_a_deadlines_callback_raises_a_wait_tells(held):
    frame, _, leave = held(deadline_ns=1_000_000, on_deadline=lambda number, nodes: leave.release() or 1 / 0)
    frame.launch()
    with pytest.raises(braid.HostCallError, match="on_deadline"):
        while True:
            try:
                frame.wait()
            except braid.TimeoutError:
                pass


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
    with pytest.raises(braid.WrongStateError):
        frame.wait_frame(2)


def test_what_is_raised_at_a_frames_end_is_told_by_the_wait(device):
    graph = braid.Graph()
    graph.empty()
    frame = braid.Exec(device, graph, on_frame_end=lambda number: [][number])
    with pytest.raises(braid.HostCallError, match="on_frame_end") as caught:
        frame.run()
    assert isinstance(caught.value.__cause__, IndexError)


def test_frames_with_a_priority_have_a_stream_of_their_own(device):
    graph = braid.Graph()
    graph.host(lambda: None)
    nums = []
    for options in ({}, {"priority": -1}):
        with braid.Exec(device, graph, **options) as one:
            one.launch()
            one.wait()
            nums.append(one.info.num_streams)
    assert nums[1] == nums[0] + 1


def test_options_that_do_not_exist_are_refused(device):
    graph = braid.Graph()
    graph.empty()
    with pytest.raises(braid.InvalidArgumentError, match="when_full"):
        braid.Exec(device, graph, frames_in_flight=2, when_full="panics")
    with pytest.raises(TypeError, match="frame_count"):
        braid.Exec(device, graph, frame_count=2)
    with pytest.raises(braid.InvalidArgumentError, match="17"):
        braid.Exec(device, graph, frames_in_flight=17)


@pytest.mark.parametrize("frames", [1, 2])
def test_frames_read_what_the_frame_before_has_left(device, add_scaled, store, frames):
    total, ones = np.zeros(1, "float32"), np.ones(1, "float32")
    graph = braid.Graph()
    state = graph.versioned("state", 4, 3)
    before = graph.earlier(state)
    graph.kernel(add_scaled, 1, [state, ones, 1], updates=state, reads=ones)
    graph.kernel(add_scaled, 1, [state, before, 10], updates=state, reads=before)
    graph.kernel(add_scaled, 1, [total, state, 1], updates=total, reads=state)
    frame = braid.Exec(device, graph, frames_in_flight=frames)
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
    plan = graph.plan(costs=braid.CostModel())
    assert len({plan.placement(node).lane for node in nodes}) == 2  # nothing orders them
    with braid.Exec(device, graph, plan) as frame:
        frame.run()
        assert frame.info.transient_bytes >= 128
        assert frame.info.unshared_transient_bytes >= frame.info.transient_bytes


def test_frames_launched_at_once_have_rows_of_their_own(device, add_scaled):
    y, ones = np.zeros(1, "float32"), np.ones(1, "float32")
    graph = braid.Graph()
    step = graph.parameter("step", 1, np.float32)
    graph.kernel(add_scaled, 1, [y, ones, step], updates=y, reads=ones)
    frame = braid.Exec(device, graph)
    frame.launch()
    frame.launch_many(3, rows={step: [10, 100, 1000]})
    frame.wait()
    assert y[0] == 1111 and frame.num_launched == 4
    frame.run()  # has the last
    assert y[0] == 2111
    with pytest.raises(braid.InvalidArgumentError, match="rows for 2 frames"):
        frame.launch_many(3, rows={step: np.array([1, 2], "float32")})
    frame.launch_many(3)
    frame.wait()
    assert y[0] == 5111
    frame.launch_many(0)
    for rows in (b"12345678", ["one"], [np.float64(1)], 1):
        with pytest.raises(braid.InvalidArgumentError, match="step"):
            frame.launch_many(1, rows={step: rows})
    with pytest.raises(braid.InvalidArgumentError, match="no parameter"):
        frame.launch_many(1, rows={"step": [1]})


def test_arrays_of_rows_live_as_long_as_a_frame_may_use_them(device, store):
    graph, first = braid.Graph(), np.zeros(1, "int64")
    where = graph.parameter("where", first)
    graph.kernel(store, 1, [where, 7], writes=first)
    frame = braid.Exec(device, graph)
    rows = [np.zeros(1, "int64") for _ in range(2)]
    gone = [weakref.ref(row) for row in rows]
    frame.launch_many(2, rows={where: rows})
    del rows
    gc.collect()
    frame.wait()
    assert gone[1]() is not None and gone[1]()[0] == 7  # which later launches write, too
    frame.set_parameter(where, first)
    frame.run()
    gc.collect()
    assert first[0] == 7 and gone[1]() is None


def test_what_is_set_after_a_refused_launch_of_many_lives(device, store):
    leave, first = threading.Semaphore(0), np.zeros(1, "int64")
    graph = braid.Graph()
    where, cell = graph.parameter("where", first), graph.resource("cell")
    graph.host(lambda: leave.acquire(timeout=60), name="held", blocking=True, excludes=cell)
    graph.kernel(store, 1, [where, 7], writes=first, excludes=cell)
    frame = braid.Exec(device, graph, frames_in_flight=2, when_full="refuses")
    for _ in range(2):
        frame.launch()
    with pytest.raises(braid.BusyError):
        frame.launch_many(1, rows={where: [np.zeros(1, "int64")]})
    other = np.zeros(1, "int64")
    frame.set_parameter(where, other)
    for _ in range(4):
        leave.release()
    frame.wait()
    frame.launch_many(0)
    frame.launch_many(1)
    frame.wait()
    gone = weakref.ref(other)
    assert other[0] == 7
    del other
    gc.collect()
    assert gone() is not None  # which later launches write, too
    frame.close()


def test_copies_fills_and_calls_take_memory_of_the_frame(device):
    source, result = np.arange(4, dtype="int32"), np.zeros(4, "int32")
    graph = braid.Graph()
    buffer, spare = graph.transient("buffer", 16), graph.scratch("spare", 8)
    half = graph.range(buffer, 8, 8)
    seen = []

    def double(memory):
        numbers = np.frombuffer(memory, "int32")
        numbers *= 2

    graph.copy(buffer, source)
    graph.fill(half, np.int32(9))
    graph.host(double, updates=buffer, user=buffer)
    graph.host(lambda memory: seen.append(len(memory)), user=spare)
    graph.copy(result, buffer)
    frame = braid.Exec(device, graph)
    frame.run()
    assert result.tolist() == [0, 2, 18, 18] and seen == [8]


def test_queue_calls_are_handed_memory_of_the_frame(device):
    result = np.zeros(4, "int32")
    source = np.arange(4, dtype="int32")
    graph = braid.Graph()
    buffer = graph.transient("buffer", 16)
    graph.queue_call(lambda stream, to: stream.copy(to, source), name="give", writes=buffer, user=buffer)
    graph.copy(result, buffer)
    frame = braid.Exec(device, graph, mode="streams")
    frame.run()
    assert result.tolist() == [0, 1, 2, 3]


def test_memory_of_a_frame_is_nobodys_after_the_call(device):
    kept, graph = [], braid.Graph()
    buffer = graph.scratch("buffer", 16)
    node = graph.host(kept.append, name="keep", user=buffer)
    frame = braid.Exec(device, graph)
    frame.run()
    with pytest.raises(ValueError):
        kept[0][0]
    with pytest.raises(braid.InvalidArgumentError, match="keep"):
        frame.set_function(node, print)
    late = braid.Graph()
    late.host(lambda memory: kept.append(np.frombuffer(memory, "uint8")), name="hold", user=late.scratch("b", 16))
    with braid.Exec(device, late) as frame:
        with pytest.raises(braid.HostCallError, match="hold"):
            frame.run()
        kept.clear()


def test_ends_that_do_not_fit_are_refused_by_name(device):
    graph, x = braid.Graph(), np.zeros(4, "int32")
    small, thing = graph.transient("small", 6), graph.resource("thing")
    for make in (lambda: graph.copy(small, x, name="bad"), lambda: graph.copy(x, thing, name="bad"),
                 lambda: graph.fill(small, np.int32(7), name="bad"), lambda: graph.fill(small, 300, name="bad"),
                 lambda: graph.host(print, user=thing, name="bad"), lambda: graph.host(print, user=x, name="bad"),
                 lambda: graph.copy(x, braid.Graph().transient("other", 16), name="bad")):
        with pytest.raises(braid.InvalidArgumentError):
            make()
    assert len(graph) == 0


def test_versions_are_arrays_of_the_program(device):
    versions = [np.zeros(2, "int32") for _ in range(2)]
    source = np.array([3, 4], "int32")
    graph = braid.Graph()
    state = graph.versioned("state", arrays=versions)
    graph.copy(state, source)
    frame = braid.Exec(device, graph)
    frame.run()
    assert sorted(version.tolist() for version in versions) == [[0, 0], [3, 4]]
    source[:] = 5, 6
    frame.run()
    assert sorted(version.tolist() for version in versions) == [[3, 4], [5, 6]]
    with pytest.raises(braid.InvalidArgumentError, match="uneven"):
        graph.versioned("uneven", arrays=[np.zeros(2), np.zeros(3)])
    with pytest.raises(braid.InvalidArgumentError, match="fixed"):
        graph.versioned("fixed", arrays=[b"ab", b"cd"])


def test_a_stream_is_used_without_a_graph(device):
    stream, x, y = device.stream(), np.zeros(4, "float32"), np.zeros(4, "float32")
    heard = []
    with device.allocate(16) as memory:
        stream.fill(x, 2.5)
        stream.copy(memory, x)
        stream.copy(y, memory)
        stream.host(lambda: heard.append(y.tolist()))
        stream.wait()
        assert heard == [[2.5] * 4]
        memory.copy_from(np.arange(4, dtype="float32"))
        memory.copy_to(y)
        assert y.tolist() == [0, 1, 2, 3]
    stream.host(lambda: 1 / 0)
    with pytest.raises(braid.HostCallError, match="ZeroDivisionError"):
        stream.wait()
    with pytest.raises(braid.InvalidArgumentError):
        stream.fill(b"1234", 0)
    with pytest.raises(braid.InvalidArgumentError):
        stream.host(3)
    stream.wait()
    stream.close()


def test_a_call_is_handed_several_memories_as_arrays_and_the_number_of_its_frame(device):
    seen, graph = [], braid.Graph()
    image = graph.transient("image", shape=(2, 3), dtype="float64")
    count = graph.versioned("count", shape=4, dtype="int16", num_versions=3)
    raw = graph.scratch("raw", 8)
    graph.fill(image, 1.5)  # as elements of its type

    def work(pixels, before, now, bytes_, frame):
        assert pixels.shape == (2, 3) and pixels.dtype == np.float64 and (pixels == 1.5).all()
        assert isinstance(bytes_, memoryview) and len(bytes_) == 8
        now[:] = before + 1
        seen.append((frame, now.tolist()))

    earlier = graph.earlier(count)
    graph.host(work, user=[image, earlier, count, raw], frame=True, reads=[image, earlier], writes=count)
    frame = braid.Exec(device, graph, frames_in_flight=3)
    for _ in range(3):
        frame.launch(device.stream())
    frame.wait()
    frame.launch_many(2)
    frame.wait()
    assert sorted(seen) == [(i, [i + 1] * 4) for i in range(5)]
    frame.close()


def test_the_number_of_a_frame_is_an_argument_of_kernels_and_calls(device, store):
    cell, numbers, graph = np.zeros(1, "i8"), [], braid.Graph()
    graph.kernel(store, 1, [braid.write(cell), graph.frame_number()])
    graph.host(lambda frame: numbers.append((frame, int(cell[0]))), frame=True, reads=cell)
    with braid.Exec(device, graph) as first, braid.Exec(device, graph) as second:
        first.run(3)
        second.run(1)
    assert numbers == [(0, 0), (1, 1), (2, 2), (0, 0)]


@pytest.mark.parametrize("launch", [lambda frame: frame.launch(), lambda frame: frame.launch_many(2)], ids=["one", "many"])
@pytest.mark.parametrize("function", ["braid_exec_launch", "braid_exec_launch_many"])
def test_a_launch_of_another_thread_takes_no_number_twice(device, between, launch, function):
    numbers, graph = [], braid.Graph()
    graph.host(numbers.append, frame=True)
    frame = braid.Exec(device, graph)
    other = threading.Thread(target=launch, args=[frame])
    # A launch asks C first. Then the number is known: before C launches, the other thread may run. If it is kept away,
    # nothing tells so.
    between.come("braid_exec_launch_many", before=lambda: between.come(
        function, before=lambda: (other.start(), other.join(0.2))))
    frame.launch() if function == "braid_exec_launch" else frame.launch_many(2)
    other.join(60)
    frame.wait()
    assert len(numbers) == frame.num_launched and numbers == list(range(frame.num_launched))


@pytest.mark.parametrize("launch", [lambda frame: frame.launch(), lambda frame: frame.launch_many(1)], ids=["one", "many"])
def test_a_host_call_that_a_launch_waits_for_is_refused_launches(device, launch):
    frames, refused, graph = itertools.count(), [], braid.Graph()
    graph.frame_number()

    def call():
        if next(frames) == 0:
            with pytest.raises(braid.WrongStateError, match="called inside a "):
                launch(frame)
            refused.append(0)

    graph.host(call, blocking=True)
    frame = braid.Exec(device, graph, frames_in_flight=2, when_full="waits")
    frame.launch_many(3)
    frame.wait()
    assert refused == [0] and frame.num_launched == 3


def test_memory_of_a_frame_with_a_type_is_the_frames_own(device):
    kept, graph = [], braid.Graph()
    own = graph.transient("own", shape=4, dtype="f4")
    graph.host(kept.append, name="keeper", user=own, writes=own)
    graph.host(lambda one, two: kept.append(one), name="two", user=[own, own], reads=own)
    frame = braid.Exec(device, graph)
    frame.launch()
    with pytest.raises(braid.HostCallError) as raised:
        frame.wait()
    assert [one.node for one in raised.value.failures] == ["keeper", "two"]
    assert "keeps memory of the frame" in str(raised.value)
    kept.clear()
    frame.close()


def test_memory_with_a_type_is_given_by_shape_and_dtype_alone(device):
    graph = braid.Graph()
    for wrong in ({"shape": 4}, {"dtype": "f4"}, {"nbytes": 4, "shape": 4, "dtype": "f4"}, {"shape": (-1, 2), "dtype": "f4"},
                  {"shape": 2, "dtype": object}):
        with pytest.raises(braid.InvalidArgumentError, match="'own' has "):
            graph.transient("own", **wrong)
    own, x = graph.transient("own", shape=4, dtype="f4"), np.zeros(4, "f4")
    with pytest.raises(braid.InvalidArgumentError, match="cannot be blocking"):
        graph.host(print, user=[own], blocking=True, writes=own)
    with pytest.raises(braid.InvalidArgumentError, match="is handed an array"):
        graph.host(print, user=[x, own], writes=own)
    pytest.importorskip("numba", reason="Numba is not installed (python3-numba)")
    from braid.numba import kernel

    @kernel("float64*")
    def wide(begin, end, to):
        to[0] = 1

    with pytest.raises(braid.InvalidArgumentError, match="is the resource 'own' of float32, .* takes a float64\\*"):
        graph.kernel(wide, 1, [braid.write(own)])
