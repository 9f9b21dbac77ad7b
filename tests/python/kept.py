# SPDX-License-Identifier: Apache-2.0
"""An exec keeps what it was given for as long as frames use it, also where threads or Ctrl-C come between."""
import gc
import threading
import weakref

import numpy as np
import pytest

import braid
import braid._exec


def cell():
    """An array, and whether it is alive."""
    array = np.zeros(1, "int64")
    return array, weakref.ref(array)


def is_gone(alive):
    gc.collect()
    return alive() is None


class Stepped:
    """An exec that stores 7 in a given array, in frames that end one by one."""

    def __init__(self, device, store, **options):
        self.first, self.leave = np.zeros(1, "int64"), threading.Semaphore(0)
        graph = braid.Graph()
        order = graph.resource("order")
        graph.host(lambda: self.leave.acquire(timeout=60), name="held", blocking=True, excludes=order)
        self.node = graph.kernel(store, 1, [self.first, 7], writes=self.first, excludes=order)
        self.frame = braid.Exec(device, graph, **options)

    def set(self, array):
        self.frame.set_arg(self.node, 0, array)

    def end(self, num_frames):
        self.leave.release(num_frames)
        self.frame.wait()


@pytest.mark.parametrize("function, call", [
    ("braid_exec_wait", lambda frame: frame.wait()),
    ("braid_exec_wait_for", lambda frame: frame.wait(timeout=60)),
    ("braid_exec_wait_for", lambda frame: frame.wait_frame(braid._exec.LAST_FRAME)),
    ("braid_exec_wait_for", lambda frame: frame.launch()),
], ids=["wait", "wait with a limit", "wait_frame", "launch"])
def test_a_frame_launched_while_a_wait_ends_keeps_its_array(device, store, between, function, call):
    stepped = Stepped(device, store, frames_in_flight=3)
    for _ in range(70):
        stepped.set(np.zeros(1, "int64"))
    array, alive = cell()

    def launch():
        nonlocal array
        stepped.set(array)
        stepped.frame.launch()
        stepped.set(stepped.first)
        array = None

    between.come(function, after=launch)
    caller = threading.Thread(target=call, args=[stepped.frame])  # which waits inside C
    caller.start()
    caller.join(60)
    assert stepped.frame.num_launched and not is_gone(alive)
    stepped.end(2)
    stepped.frame.wait()
    assert is_gone(alive) and stepped.first[0] in (0, 7)


@pytest.mark.parametrize("waits", [True, False])
def test_frames_that_never_drain_let_go_of_arrays(device, store, waits):
    stepped = Stepped(device, store, frames_in_flight=2, when_full="waits")
    all_alive = []
    for number in range(200):
        array, alive = cell()
        all_alive.append(alive)
        stepped.set(array)
        del array
        if number > 1 and not waits:
            stepped.leave.release()  # the place of this frame
        stepped.frame.launch()
        if number and waits:
            stepped.leave.release()
            stepped.frame.wait_frame(number - 1)
        assert not stepped.frame.done
    gc.collect()
    assert sum(alive() is not None for alive in all_alive) < (5 if waits else 70)
    stepped.end(200)


def test_a_refused_launch_of_many_keeps_its_rows(device):
    """A row of the first parameter is taken before one of the second is refused."""
    first, target = np.full(1000, 1, "uint32"), np.zeros(1000, "uint32")
    graph = braid.Graph()
    copy = graph.copy(target, first)
    source, nbytes = graph.parameter("source", first), graph.parameter("nbytes", np.uint64(4000))
    graph.use(source, copy, "from")
    graph.use(nbytes, copy, "bytes")
    frame = braid.Exec(device, graph)
    row = np.full(1000, 7, "uint32")
    alive = weakref.ref(row)
    with pytest.raises(braid.InvalidArgumentError, match="a copy of 0 bytes"):
        frame.launch_many(1, rows={source: [row], nbytes: [np.uint64(0)]})
    del row
    assert not is_gone(alive)
    frame.run()
    assert target.tolist() == [7] * 1000
    frame.set_parameter(source, first)
    frame.run()
    assert target.tolist() == [1] * 1000 and is_gone(alive)


def test_refused_launches_of_many_let_go_of_rows_that_no_frame_takes(device, store):
    graph, first, leave = braid.Graph(), np.zeros(1, "int64"), threading.Semaphore(0)
    where, order = graph.parameter("where", first), graph.resource("order")
    graph.host(lambda: leave.acquire(timeout=60), blocking=True, excludes=order)
    graph.kernel(store, 1, [where, 7], writes=first, excludes=order)
    frame = braid.Exec(device, graph, frames_in_flight=2, when_full="refuses")
    row, alive = cell()
    frame.launch_many(2, rows={where: [first, row]})
    cells = [cell() for _ in range(3)]
    all_alive = [one for _, one in cells]
    while cells:
        with pytest.raises(braid.BusyError):
            frame.launch_many(1, rows={where: [cells.pop()[0]]})
    del row
    leave.release(3)
    frame.wait()
    assert all(is_gone(one) for one in all_alive) and not is_gone(alive)
    frame.run()
    assert alive()[0] == 7  # the node has it


def test_a_launch_of_many_that_its_queue_call_refuses_keeps_its_rows(device):
    target, first, is_busy = np.zeros(1, "int64"), np.ones(1, "int64"), [True]
    graph = braid.Graph()

    def queue(stream):
        if is_busy.pop():
            error = braid.BusyError("busy")
            error.status = "BRAID_BUSY"
            raise error

    copy = graph.copy(target, first, after=graph.queue_call(queue))
    source = graph.parameter("source", first)
    graph.use(source, copy, "from")
    frame = braid.Exec(device, graph, mode="streams")
    row = np.full(1, 7)
    alive = weakref.ref(row)
    with pytest.raises(braid.BusyError):
        frame.launch_many(1, rows={source: [row]})
    del row
    assert not is_gone(alive)
    is_busy.append(False)
    frame.run()
    assert target[0] == 7


class Setters:
    """An exec with a node for each kind of setter."""

    def __init__(self, device, store):
        graph, self.ran = braid.Graph(), []
        first = [np.zeros(1, "int64") for _ in range(4)]
        where = graph.parameter("where", first[0])
        graph.kernel(store, 1, [where, 7], writes=first[0])
        kernel = graph.kernel(store, 1, [first[1], 7], writes=first[1])
        copy, fill = graph.copy(first[2], np.full(1, 7)), graph.fill(first[3].view("int32"), np.int32(7))
        call = graph.host(lambda: None)
        self.frame = frame = braid.Exec(device, graph)
        self.setters = {
            "braid_exec_set_parameter": lambda one: frame.set_parameter(where, one),
            "braid_exec_set_arg": lambda one: frame.set_arg(kernel, 0, one),
            "set_copy": lambda one: frame.set_copy(copy, to=one),
            "set_fill": lambda one: frame.set_fill(fill, np.int32(7), to=one.view("int32")),
            "set_function": lambda one: frame.set_function(call, lambda: one.__setitem__(0, 7)),
        }


NAMES = ["braid_exec_set_parameter", "braid_exec_set_arg", "set_copy", "set_fill", "set_function"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_setter_that_ctrl_c_ends_leaves_what_nodes_have(device, store, between, name, when):
    made = Setters(device, store)
    (old, old_alive), (new, new_alive) = cell(), cell()
    made.setters[name](old)

    def press():
        raise KeyboardInterrupt

    between.come(name if name.startswith("braid") else "braid_exec_set", **{when: press})
    with pytest.raises(KeyboardInterrupt):
        made.setters[name](new)
    del old, new
    used, unused = (old_alive, new_alive) if when == "before" else (new_alive, old_alive)
    assert not is_gone(used)
    made.frame.run()
    assert used()[0] & 7 == 7 and unused()[0] == 0  # and alive: the setter does not know how far it came
    last, _ = cell()
    made.setters[name](last)
    made.frame.run()
    assert last[0] & 7 == 7 and is_gone(old_alive) and is_gone(new_alive)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_of_two_setters_at_once_the_later_ones_array_lives(device, store, between, name, when):
    made = Setters(device, store)
    (one, one_alive), (two, two_alive) = cell(), cell()

    def overtake():
        nonlocal two
        made.setters[name](two)
        two = None

    between.come(name if name.startswith("braid") else "braid_exec_set", **{when: overtake})
    made.setters[name](one)
    del one
    made.frame.wait()
    used = one_alive if when == "before" else two_alive
    assert not is_gone(used)
    made.frame.run()
    assert used()[0] & 7 == 7
    last, _ = cell()
    made.setters[name](last)
    made.frame.run()
    assert last[0] & 7 == 7 and is_gone(one_alive) and is_gone(two_alive)


class Addressed:
    """Two numbers of 8 bytes at an address"""

    def __init__(self, address):
        self.__array_interface__ = {"version": 3, "shape": (2,), "typestr": "<i8", "data": (address, False)}


def test_a_refused_setter_leaves_sizes_and_lets_go_of_its_array(device):
    target, whole, graph = np.zeros(4, int), np.zeros(4, int), braid.Graph()
    graph.buffer(whole, "whole")
    copy = graph.copy(target, np.ones(4, int), name="save")
    frame = braid.Exec(device, graph)
    small = np.zeros(2, int)
    alive = weakref.ref(small)
    with pytest.raises(braid.InvalidArgumentError, match="'save': .* beyond buffer 'whole'"):
        frame.set_copy(copy, to=small, source=Addressed(whole.ctypes.data + 24))
    del small
    assert is_gone(alive)
    frame.set_copy(copy, source=np.full(4, 7))
    frame.run()
    assert target.tolist() == [7] * 4


@pytest.mark.parametrize("name", NAMES)
def test_a_setter_that_a_host_call_may_not_make_lets_go_of_its_array(device, store, name):
    made, graph = Setters(device, store), braid.Graph()
    one, alive = cell()
    graph.host(lambda: made.setters[name](one))
    with braid.Exec(device, graph) as caller:
        with pytest.raises(braid.HostCallError):
            caller.run()
    del one, caller, graph
    assert is_gone(alive)


@pytest.mark.parametrize("by", ["Ctrl-C", "a thread"])
def test_a_copy_whose_setter_is_overtaken_never_goes_beyond_its_end(device, between, by):
    large, small, graph = np.zeros(4, int), np.zeros(2, int), braid.Graph()
    copy = graph.copy(large, np.ones(4, int), name="save")
    frame = braid.Exec(device, graph)

    def press():
        raise KeyboardInterrupt

    def shrink():
        frame.set_copy(copy, to=small, nbytes=16)

    if by == "Ctrl-C":
        between.come("braid_exec_set", after=press)
        with pytest.raises(KeyboardInterrupt):
            shrink()
    else:
        between.come("braid_exec_set", after=shrink)
        frame.set_copy(copy, to=large)
    with pytest.raises(braid.InvalidArgumentError, match="copy 'save' is from 32 bytes to 16: give nbytes"):
        frame.set_copy(copy, source=np.full(4, 7))
    frame.set_copy(copy, large, np.full(4, 7))
    frame.run()
    frame.set_copy(copy, source=np.full(4, 8))
    frame.run()
    assert large.tolist() == [8] * 4 and not small.any()
