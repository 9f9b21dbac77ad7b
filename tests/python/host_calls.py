# SPDX-License-Identifier: Apache-2.0
"""What host and queue calls raise is told, and they cannot wait for themselves."""
import asyncio
import functools
import gc
import os
import sys
import threading

import numpy as np
import pytest

import braid


def explode():
    raise KeyError("frog")


def test_a_host_call_that_raises_is_told_by_the_wait(device):
    ran = []
    graph = braid.Graph()
    first = graph.host(explode, name="jump")
    graph.host(lambda: ran.append(1), after=first)
    frame = braid.Exec(device, graph)
    frame.launch()
    with pytest.raises(braid.HostCallError, match="host call 'jump' raised KeyError: 'frog'") as caught:
        frame.wait()
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.__traceback__.tb_next.tb_frame.f_code.co_name == "explode"
    assert ran == [1]
    frame.wait()  # it is told once
    frame.launch()  # and the exec can be launched again
    with pytest.raises(braid.HostCallError):
        frame.close()
    assert ran == [1, 1]


def test_all_failures_are_told(device):
    graph = braid.Graph()
    for i in range(3):
        graph.host(explode, name=f"jump {i}")
    frame = braid.Exec(device, graph)
    with pytest.raises(braid.HostCallError, match="and 2 more") as caught:
        frame.run()
    assert sorted(failure.node for failure in caught.value.failures) == ["jump 0", "jump 1", "jump 2"]


def test_what_no_wait_has_told_is_printed(device, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: told.append(str(what.exc_value)))
    graph = braid.Graph()
    graph.host(explode, name="jump")
    frame = braid.Exec(device, graph)
    frame.launch()
    del frame
    gc.collect()
    assert told and "jump" in told[0]


def test_a_host_call_cannot_wait_for_itself(device):
    graph = braid.Graph()
    graph.host(lambda: frame.wait(), name="snake")
    frame = braid.Exec(device, graph)
    with pytest.raises(braid.HostCallError, match="host call 'snake' raised WrongStateError") as caught:
        frame.run()
    assert caught.value.__cause__.status == "BRAID_WRONG_STATE"


def test_python_runs_while_a_wait_waits(device):
    """The wait has to let go of the interpreter, or the host call could not run until it ends."""
    reached, leave = threading.Event(), threading.Event()
    graph = braid.Graph()
    graph.host(lambda: (reached.set(), leave.wait(60)), name="held up")
    frame = braid.Exec(device, graph)
    frame.launch()
    waiter = threading.Thread(target=frame.wait)
    waiter.start()
    assert reached.wait(60)
    assert not frame.done
    leave.set()
    waiter.join(60)
    assert not waiter.is_alive() and frame.done


async def coroutine(*_):
    raise AssertionError("it has run")


def generator(*_):
    raise AssertionError("it has run")
    yield


async def async_generator(*_):
    raise AssertionError("it has run")
    yield


class Later:
    async def __call__(self, *_):
        raise AssertionError("it has run")

    async def method(self, *_):
        raise AssertionError("it has run")


LATER = [coroutine, generator, async_generator, Later(), Later().method, functools.partial(coroutine, 1)]


@pytest.mark.parametrize("function", LATER, ids=["coroutine", "generator", "async generator", "object", "method", "partial"])
def test_functions_that_run_later_are_refused(device, function):
    """A call of one does nothing."""
    graph = braid.Graph()
    scratch = graph.scratch("scratch", 8)
    node, queued = graph.host(lambda: None), graph.queue_call(lambda stream: None)
    frame, stream = braid.Exec(device, graph), device.stream()
    for use in (lambda: graph.host(function), lambda: graph.host(function, blocking=True),
                lambda: graph.host(function, user=scratch), lambda: graph.host(function, frame=True),
                lambda: graph.queue_call(function), lambda: frame.set_function(node, function),
                lambda: frame.set_function(queued, function), lambda: stream.host(function),
                lambda: braid.Exec(device, graph, on_frame_end=function),
                lambda: braid.Exec(device, graph, deadline_ns=10**9, on_deadline=function),
                lambda: braid.tune(device, graph, progress=function), lambda: braid.log_to(function)):
        with pytest.raises(braid.InvalidArgumentError, match="is a coroutine or generator function"):
            use()
    frame.run()
    for thing in (frame, stream):
        thing.close()


@pytest.mark.parametrize("function", [coroutine, generator, async_generator, lambda *args: map(print, args)],
                         ids=["coroutine", "generator", "async generator", "map"])
def test_calls_that_return_what_runs_later_fail(device, function):
    """Only their result shows it."""
    kind = "returned a (coroutine|generator|async_generator|map), which nothing runs"
    for add in (lambda graph: graph.host(lambda: function(1), name="later"),
                lambda graph: graph.host(lambda memory: function(1), user=graph.scratch("s", 8), name="later"),
                lambda graph: graph.host(lambda number: function(1), frame=True, name="later")):
        graph = braid.Graph()
        add(graph)
        frame = braid.Exec(device, graph)
        with pytest.raises(braid.HostCallError, match=f"host call 'later' .*{kind}"):
            frame.run()
        frame.close()
    graph = braid.Graph()
    graph.queue_call(lambda stream: function(1), name="later")
    with pytest.raises(braid.Error) as caught, braid.Exec(device, graph, mode="streams") as frame:
        frame.run()
    assert "which nothing runs" in str(caught.value.__cause__)
    told = braid.Exec(device, braid.Graph(), on_frame_end=lambda number: function(1))
    with pytest.raises(braid.HostCallError, match=kind):
        told.run()
    stream = device.stream()
    stream.host(lambda: function(1))
    with pytest.raises(braid.HostCallError, match=kind):
        stream.wait()
    for thing in (told, stream):
        thing.close()


def test_a_queue_call_gets_its_stream(device):
    source, target = np.arange(4), np.zeros(4, int)
    streams = []

    def queue(stream):
        stream.copy(target, source)
        streams.append(stream)

    graph = braid.Graph()
    graph.queue_call(queue, name="copy by hand", writes=target)
    frame = braid.Exec(device, graph)
    frame.run()
    assert target.tolist() == [0, 1, 2, 3]
    with pytest.raises(braid.WrongStateError, match="the stream is closed"):
        streams[0].wait()


def test_a_queue_call_that_raises_fails_the_launch(device):
    graph = braid.Graph()
    graph.queue_call(lambda stream: explode(), name="jump")
    frame = braid.Exec(device, graph, mode="streams")
    with pytest.raises(braid.DeviceError, match="jump") as caught:
        frame.launch()
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_log_hears_of_failures():
    heard = []
    braid.log_to(lambda status, message: heard.append((status, message)))
    try:
        with pytest.raises(braid.InvalidArgumentError):
            braid.Device("abacus")
    finally:
        braid.log_to(None)
    assert heard[0][0] == "BRAID_INVALID_ARGUMENT" and "abacus" in heard[0][1]


def test_what_a_kernel_of_numba_raises_fails_the_wait(device):
    pytest.importorskip("numba", reason="Numba is not installed (python3-numba)")
    from braid.numba import kernel

    @kernel("int64*, int64")
    def divide(begin, end, x, by):
        for i in range(begin, end):
            if x[i] == 13:
                raise ValueError("13 brings bad luck")
            x[i] = x[i] // by

    x = np.full(4, 12)
    graph = braid.Graph()
    node = graph.kernel(divide, 4, [x, 0], updates=x)
    frame = braid.Exec(device, graph)
    frame.launch()
    with pytest.raises(braid.HostCallError, match="kernel 'divide' raised ZeroDivisionError: integer division") as raised:
        frame.wait()
    assert isinstance(raised.value.__cause__, ZeroDivisionError) and raised.value.failures[0].kind == "kernel"
    frame.wait()  # it is told once
    frame.set_arg(node, 1, 2)
    x[2] = 13
    frame.launch()
    with pytest.raises(braid.HostCallError, match="kernel 'divide' raised ValueError: 13 brings bad luck"):
        frame.wait_frame(1)
    x[2] = 12
    frame.run()
    assert x[2] == 6
    frame.close()


def test_other_tasks_run_while_a_frame_is_awaited(device):
    reached, leave = threading.Event(), threading.Event()
    graph = braid.Graph()
    graph.host(lambda: (reached.set(), leave.wait(20), explode()), name="slow", blocking=True)
    frame = braid.Exec(device, graph)

    async def end():
        while not reached.is_set():
            await asyncio.sleep(0)
        with pytest.raises(braid.TimeoutError):
            await frame.wait_async(timeout=0.01)
        leave.set()

    async def main():
        frame.launch()
        await asyncio.gather(frame.wait_async(), end())

    with pytest.raises(braid.HostCallError, match="'slow' raised KeyError"):
        asyncio.run(main())
    assert leave.is_set()  # by the other task
    asyncio.run(frame.wait_async(timeout=20))
    frame.close()


@pytest.mark.skipif(not hasattr(os, "eventfd"), reason="this Python has no os.eventfd")
def test_a_frame_waits_for_an_eventfd_and_signals_one(device):
    go, done = os.eventfd(0), os.eventfd(0)
    start, end = braid.External(device, eventfd=go, name="go"), braid.External(device, eventfd=done)
    graph, seen = braid.Graph(), []
    work = graph.host(lambda: seen.append(1), after=start.wait(graph))
    last = end.signal(graph, 5, name="done", after=work)
    frame = braid.Exec(device, graph)
    start.close()  # the exec has it
    frame.launch()
    assert not frame.done and not seen
    os.eventfd_write(go, 1)
    frame.wait()
    assert seen == [1] and os.eventfd_read(done) == 5
    with pytest.raises(braid.InvalidArgumentError, match="node 2 'done' waits for no timeline"):
        frame.set_external(last, 1)
    frame.close()
    os.close(go)
    os.close(done)


def test_external_objects_are_refused_by_name(device):
    with pytest.raises(braid.InvalidArgumentError, match="one of event, semaphore, timeline, word, eventfd: 2 are given"):
        braid.External(device, eventfd=0, timeline=1)
    with pytest.raises(braid.UnsupportedError, match="external 'renderer': device 'cpu:0' has no timelines"):
        braid.External(device, timeline=0, name="renderer")
    with pytest.raises(braid.InvalidArgumentError, match="has 2 bytes, and not 4"):
        braid.External(device, word=bytearray(2))
    with pytest.raises(braid.InvalidArgumentError, match="descriptor 1000 is not open"):
        braid.External(device, eventfd=1000)
