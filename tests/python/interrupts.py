# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a wait at once, as KeyboardInterrupt, and what was waited for goes on."""
import asyncio
import gc
import os
import signal
import threading
import weakref

import numpy as np
import pytest

import braid


@pytest.fixture(autouse=True)
def handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
    gc.collect()
    gc.disable()  # Python drops an exception that comes while it collects garbage
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def device():
    """With one worker, beside which a thread that waits inside C makes host calls."""
    opened = braid.Device("cpu", num_workers=1)
    yield opened
    opened.close()


class Held:
    """A host call that presses Ctrl-C once the test is about to wait, and ends when it is told to."""

    def __init__(self):
        self.waits, self.leave, self.num_ended, self.presses = threading.Event(), threading.Event(), 0, True

    def __call__(self):
        if self.presses:
            self.waits.wait(20)
            os.kill(os.getpid(), signal.SIGINT)
            self.leave.wait(20)
        self.num_ended += 1


def wait_by_launch(frame, stream, held):
    frame.launch(stream)
    frame.launch(stream)


def grow_by_launch(frame, stream, held):
    frame.set_scratch(held.scratch, 128)
    frame.launch(stream)


WAITS = {
    "wait": lambda frame, stream, held: frame.wait(),
    "wait_frame": lambda frame, stream, held: frame.wait_frame(0),
    "run": lambda frame, stream, held: frame.run(1, stream),
    "launch": wait_by_launch,
    "set_scratch": grow_by_launch,
    "timings": lambda frame, stream, held: frame.timings(),
    "intervals": lambda frame, stream, held: frame.intervals(),
    "close": lambda frame, stream, held: frame.close(),
    "stream": lambda frame, stream, held: stream.wait(),
}


@pytest.mark.parametrize("name", WAITS)
@pytest.mark.parametrize("blocking", [False, True])
def test_a_wait_for_a_frame_ends_at_once(device, store, name, blocking):
    held, graph, stream = Held(), braid.Graph(), device.stream()
    cell, held.scratch = graph.resource("cell"), graph.scratch("scratch", 64)
    graph.host(held, blocking=blocking, excludes=cell)
    graph.kernel(store, 1, [held.scratch, 7], excludes=cell)
    frame = braid.Exec(device, graph, frames_in_flight=2, when_full="waits", frames_kept=2)
    frame.launch(stream)
    with pytest.raises(KeyboardInterrupt):
        held.waits.set()
        WAITS[name](frame, stream, held)
    assert held.num_ended == 0 and not frame.done  # the call is not what ended
    held.presses = False
    held.leave.set()
    frame.wait()
    num_frames = frame.num_launched
    assert held.num_ended == num_frames
    frame.run()
    assert held.num_ended == num_frames + 1
    frame.close()
    stream.close()


@pytest.mark.parametrize("what", ["stream", "device", "event", "memory"])
def test_a_wait_for_a_stream_ends_at_once(device, what):
    held = Held()
    stream, event, memory = device.stream(), device.event(), device.allocate(8)
    waits = {"stream": stream.wait, "device": device.wait, "event": event.wait,
             "memory": lambda: memory.copy_to(np.zeros(1))}
    graph = braid.Graph()
    graph.host(held)
    frame = braid.Exec(device, graph)
    frame.launch(stream if what in ("stream", "event") else None)
    event.record(stream)
    num_events = device.info.events_live
    with pytest.raises(KeyboardInterrupt):
        held.waits.set()
        waits[what]()
    assert held.num_ended == 0
    held.leave.set()
    waits[what]()
    assert held.num_ended == 1
    assert device.info.events_live == num_events
    for thing in (frame, event, memory, stream):
        thing.close()


def test_a_wait_for_a_runner_ends_at_once(device):
    held, graph = Held(), braid.Graph()
    graph.host(held)
    runner = braid.Runner(device, graph)
    runner.launch()
    with pytest.raises(KeyboardInterrupt):
        held.waits.set()
        runner.wait()
    assert held.num_ended == 0 and not runner.done
    held.leave.set()
    runner.wait()
    assert held.num_ended == 1 and runner.done
    runner.close()


def test_a_copy_that_nobody_waits_for_keeps_its_array(device, monkeypatch):
    held, memory, array = Held(), device.allocate(8), np.ones(1)
    poll = braid._device.poll

    def press_and_poll(*args):
        held.waits.set()  # by now the copy is queued
        poll(*args)

    monkeypatch.setattr(braid._device, "poll", press_and_poll)
    alive = weakref.ref(array)
    graph = braid.Graph()
    graph.host(held)
    with braid.Exec(device, graph) as frame:
        frame.launch()
        with pytest.raises(KeyboardInterrupt):
            memory.copy_from(array)
        del array
        gc.collect()
        assert alive() is not None
        held.leave.set()
    back = np.zeros(1)
    memory.copy_to(back)
    assert back[0] == 1
    memory.close()


@pytest.mark.parametrize("name", ["wait", "wait_frame", "timings", "close", "launch", "wait_async"])
def test_what_a_host_call_raises_ends_a_wait_at_once(device, name):
    held, graph, stream, interrupt = Held(), braid.Graph(), device.stream(), KeyboardInterrupt("raised")
    cell = graph.resource("cell")

    def fail():
        if not held.leave.is_set():
            raise interrupt

    graph.host(lambda: held.leave.is_set() or 1 // 0, excludes=cell, name="divides")
    graph.host(fail, excludes=cell)
    graph.host(lambda: held.leave.wait(20), blocking=True, excludes=cell)
    frame = braid.Exec(device, graph, frames_in_flight=2, when_full="waits", frames_kept=2)
    waits = {**WAITS, "wait_async": lambda frame, stream, held: asyncio.run(frame.wait_async())}
    frame.launch(stream)
    with pytest.raises(KeyboardInterrupt) as raised:
        waits[name](frame, stream, held)
    assert raised.value is interrupt and not frame.done
    held.leave.set()
    with pytest.raises(braid.HostCallError, match="divides") as told:
        frame.wait()
    assert len(told.value.failures) == 1
    frame.close()
    stream.close()


def press():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    for _ in range(1000):
        pass  # between two steps of these it comes, if this is the main thread


@pytest.mark.parametrize("call", ["measure", "tune"])
def test_what_runs_frames_itself_raises_it_unchanged(device, call):
    graph = braid.Graph()
    graph.host(press)
    with braid.Exec(device, graph, frames_kept=2) as frame:
        with pytest.raises(KeyboardInterrupt):
            frame.measure(1) if call == "measure" else braid.tune(device, graph, budget_ns=1)
        graph.set_cost(graph.nodes[0], 1)
        assert frame.done


def test_a_queue_call_hands_it_to_the_launch(device):
    pressing = [True]
    graph = braid.Graph()
    graph.queue_call(lambda stream: press() if pressing[0] else None, name="queue")
    frame = braid.Exec(device, graph, mode="streams")
    with pytest.raises(KeyboardInterrupt):
        frame.launch()
    pressing[0] = False
    frame.run()


def test_arrays_of_rows_outlive_a_launch_that_it_ends(device, store):
    graph, first, presses = braid.Graph(), np.zeros(1, "int64"), [True]
    where, cell = graph.parameter("where", first), graph.resource("cell")
    graph.host(lambda: presses and presses.pop() and os.kill(os.getpid(), signal.SIGINT), blocking=True, excludes=cell)
    graph.kernel(store, 1, [where, 7], writes=first, excludes=cell)
    frame = braid.Exec(device, graph, frames_in_flight=2, when_full="waits")
    rows = [np.zeros(1, "int64") for _ in range(4)]
    kept = [weakref.ref(row) for row in rows]
    with pytest.raises(KeyboardInterrupt):
        frame.launch_many(4, rows={where: rows})  # the third waits for the first, which presses
    del rows
    gc.collect()
    assert frame.num_launched == 4 and None not in [row() for row in kept]
    frame.wait()
    assert [int(row()[0]) for row in kept] == [7] * 4
    frame.close()


def test_other_threads_wait_on(device):
    held, graph, over = Held(), braid.Graph(), threading.Event()
    graph.host(held, name="held", blocking=True)
    frame = braid.Exec(device, graph)
    thread = threading.Thread(target=lambda: (frame.run(), over.set()))
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        held.waits.set()
        over.wait(20)
    assert not over.is_set()
    held.leave.set()
    assert over.wait(20) and held.num_ended == 1
    thread.join()
    frame.close()


def test_a_wait_may_have_a_limit(device):
    graph, leave = braid.Graph(), threading.Event()
    graph.host(lambda: leave.wait(20), name="slow", blocking=True)
    frame = braid.Exec(device, graph)
    frame.wait(timeout=0)  # nothing was launched
    frame.launch()
    for limit in (0, 0.01):
        with pytest.raises(braid.TimeoutError, match="1 frame was launched") as raised:
            frame.wait(timeout=limit)
        assert isinstance(raised.value, TimeoutError) and raised.value.status == "BRAID_TIMEOUT"
    leave.set()
    frame.wait(timeout=20)
    frame.close()
