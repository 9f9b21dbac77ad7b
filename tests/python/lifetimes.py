# SPDX-License-Identifier: Apache-2.0
"""Objects may go in any order, by the garbage collector, at exit, and after a fork."""
import copy
import gc
import itertools
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import braid


def make(store):
    """Everything, with nothing but the objects to hold it."""
    things = {"device": braid.Device("cpu", num_workers=2), "graph": braid.Graph()}
    target = np.zeros(1, "int64")
    things["graph"].kernel(store, 1, [target, 5], writes=target)
    things["graph"].host(lambda: None, reads=target)
    things["exec"] = braid.Exec(things["device"], things["graph"])
    things["schedule"] = things["exec"].schedule
    things["plan"] = things["graph"].plan(costs=braid.CostModel())
    things["stream"] = things["device"].stream()
    things["exec"].launch(things["stream"])
    return things, weakref.ref(target)


NAMES = ("device", "graph", "exec", "schedule", "plan", "stream")


@pytest.mark.parametrize("order", [NAMES, NAMES[::-1], *itertools.islice(itertools.permutations(NAMES), 7, 720, 97)],
                         ids="-".join)
def test_any_order_of_dropping(store, order):
    things, target = make(store)
    for name in order:
        del things[name]
        gc.collect()
    assert target() is None, "the array outlives all that used it"


def test_circles_are_collected(store):
    """Host calls that hold the exec they belong to: finalizers then run in no order at all."""
    things, target = make(store)
    things["graph"].host(lambda held=things: held, name="circle")
    things["other"] = braid.Exec(things["device"], things["graph"])
    things["other"].launch()
    del things
    gc.collect()
    assert target() is None


def test_an_exec_keeps_what_its_graph_used(device, store):
    target = np.zeros(1, "int64")
    alias = weakref.ref(target)
    graph = braid.Graph()
    graph.kernel(store, 1, [target, 5], writes=target)
    seen = []
    graph.host(lambda array=target: seen.append(int(array[0])), reads=target)
    frame = braid.Exec(device, graph)
    del target, graph
    gc.collect()
    frame.run()
    assert seen == [5] and alias() is not None


def test_a_replaced_array_lives_as_long_as_its_frame(device, store):
    reached, leave = threading.Event(), threading.Event()
    target = np.zeros(1, "int64")
    first = graph = None
    graph = braid.Graph()
    hold = graph.host(lambda: (reached.set(), leave.wait(60)))
    role = graph.resource("role")
    graph.buffer(target)
    node = graph.kernel(store, 1, [target, 5], writes=[target, role], after=hold)
    frame = braid.Exec(device, graph)
    first = np.zeros(1, "int64")
    alive = weakref.ref(first)
    frame.set_arg(node, 0, first)
    frame.launch()
    assert reached.wait(60)
    frame.set_arg(node, 0, target)
    del first
    gc.collect()
    assert alive() is not None, "a frame in flight writes to it"
    leave.set()
    frame.wait()
    gc.collect()
    assert alive() is None
    assert target[0] == 0


def test_a_device_in_use_is_not_closed():
    device = braid.Device("cpu")
    frame = braid.Exec(device, braid.Graph())
    memory, other = device.allocate(16), device.allocate(16)
    with pytest.raises(braid.InUseError, match="still used by 1 exec, 2 memory"):
        device.close()
    frame.run()  # it is as it was
    for thing in (frame, memory, other):
        thing.close()
    device.close()
    device.close()
    with pytest.raises(braid.WrongStateError, match="the device is closed"):
        device.stream()
    with pytest.raises(braid.WrongStateError, match="the exec is closed"):
        frame.launch()
    with pytest.raises(braid.WrongStateError, match="the exec is closed"):
        frame.schedule.info  # noqa: B018
    assert "closed" in repr(device) and "closed" in repr(frame)


def test_views_keep_memory(device):
    memory = device.allocate(16)
    view = np.frombuffer(memory.view(), "uint8")
    del memory
    gc.collect()
    view[:] = 3
    assert view.sum() == 48
    with pytest.raises(braid.InUseError):
        device.close()
    del view
    gc.collect()


def test_a_collection_inside_a_host_call_destroys_later():
    """There nothing may be destroyed that waits, and the collector asks nobody where it runs."""
    device, done = braid.Device("cpu", num_workers=2), []
    victims = [braid.Exec(device, braid.Graph())]
    graph = braid.Graph()

    def drop():
        victims.clear()
        gc.collect()
        done.append(device.info.events_leased)

    graph.host(drop)
    frame = braid.Exec(device, graph)
    frame.run()
    frame.close()
    assert done
    device.close()  # refuses while an exec is left


def run_program(text):
    done = subprocess.run([sys.executable, "-X", "dev", "-W", "ignore", "-c", textwrap.dedent(text)], timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_program_may_exit_while_frames_run():
    said = run_program("""
        import braid, time
        graph = braid.Graph()
        for _ in range(20):
            graph.host(lambda: time.sleep(0.001))
        device = braid.Device("cpu", num_workers=2)
        frame = braid.Exec(device, graph)
        for _ in range(20):
            frame.launch()
        print("left")
    """)
    assert said == "left\n"


@pytest.mark.parametrize("loop", ["frame.run()", "frame.launch(); frame.wait()", "graph.fill(x, 1.0)", "graph.plan(costs=braid.CostModel()).svg()",
                                  "braid.Exec(device, graph).run()", "stream.fill(x, 1.0); stream.wait()",
                                  "memory.copy_from(b'1' * 16)", "device.event().record(stream)"])
def test_a_program_may_exit_while_a_daemon_thread_calls(loop):
    """Nothing is destroyed under a thread that is inside a call, and no thread begins another one."""
    said = run_program(f"""
        import braid, numpy as np, threading
        device, graph, x = braid.Device("cpu", num_workers=2), braid.Graph(), np.zeros(1, "float32")
        graph.host(lambda: None)
        for _ in range(20):
            graph.fill(np.zeros(1, "float32"), 1.0)
        frame, stream, memory, runs = braid.Exec(device, graph), device.stream(), device.allocate(16), threading.Event()
        def work():
            while True:
                {loop}
                runs.set()
        for _ in range({1 if 'graph.fill' in loop else 4}):
            threading.Thread(target=work, daemon=True).start()
        assert runs.wait(60)
        print("left")
    """)
    assert said == "left\n"


def test_exit_leaves_what_a_thread_is_inside_of():
    """Exit waits for the call, destroys, and no other call begins. Nothing orders the two lines."""
    said = run_program("""
        import atexit, braid, braid._lifetime, os, threading
        reached, leave = threading.Event(), threading.Event()
        graph = braid.Graph()
        graph.host(lambda: (reached.set(), leave.wait(60)))
        frame = braid.Exec(braid.Device("cpu", num_workers=2), graph)
        def work():
            frame.run()
            os.write(1, b"ran\\n")
            frame.launch()
            os.write(1, b"launched at exit\\n")
        threading.Thread(target=work, daemon=True).start()
        assert reached.wait(60)
        destroy = frame._owner._destroy
        def tell(pointer):
            os.write(1, b"destroyed\\n")
            destroy(pointer)
        frame._owner._destroy = tell
        sleep = braid._lifetime.time.sleep
        def asleep(seconds):
            leave.set()
            sleep(seconds)
        braid._lifetime.time.sleep = asleep
    """)
    assert sorted(said.splitlines()) == ["destroyed", "ran"]


def test_exit_gives_up_on_a_thread_that_stays_inside():
    said = run_program("""
        import braid, braid._lifetime, threading
        reached = threading.Event()
        graph = braid.Graph()
        graph.host(lambda: (reached.set(), threading.Event().wait()))
        frame = braid.Exec(braid.Device("cpu", num_workers=2), graph)
        threading.Thread(target=frame.run, daemon=True).start()
        assert reached.wait(60)
        braid._lifetime._LONGEST_EXIT_SECONDS = 0
        print("left")
    """)
    assert said == "left\n"


def test_exit_destroys_nothing_if_an_interrupt_ends_its_wait():
    said = run_program("""
        import atexit, braid, braid._lifetime, threading
        reached, leave = threading.Event(), threading.Event()
        graph = braid.Graph()
        graph.host(lambda: (reached.set(), leave.wait(60)))
        frame = braid.Exec(braid.Device("cpu", num_workers=2), graph)
        other = braid.Exec(braid.Device("cpu"), graph)
        other._owner._destroy = lambda pointer: print("destroyed")
        def end():
            global other
            other = None  # as Python does then with all that modules have
            print("left")
        atexit.unregister(braid._lifetime._destroy_all)
        atexit.register(end)
        atexit.register(braid._lifetime._destroy_all)
        def interrupt(seconds):
            raise KeyboardInterrupt
        braid._lifetime.time.sleep = interrupt
        threading.Thread(target=frame.run, daemon=True).start()
        assert reached.wait(60)
    """)
    assert "KeyboardInterrupt" in said and said.endswith("left\n") and "destroyed" not in said, said


def test_exit_keeps_what_frames_use_when_a_stopped_thread_lets_go_of_them():
    said = run_program("""
        import braid, braid._lifetime, numpy as np, os, threading
        device, leave = braid.Device("cpu"), threading.Event()
        launched, exits, reached = threading.Event(), threading.Event(), threading.Event()
        def work():
            graph, x = braid.Graph(), np.zeros(1, "float32")
            graph.host(lambda: leave.wait(60), updates=x)
            graph.host(lambda: os.write(1, b"second call\\n"), updates=x)
            frame = braid.Exec(device, graph)
            frame.launch()
            launched.set()
            exits.wait(60)
            frame.wait()  # ends the thread
        held = braid.Graph()
        held.host(lambda: (reached.set(), leave.wait(60)))
        stopped = threading.Thread(target=work, daemon=True)
        stopped.start()
        threading.Thread(target=braid.Exec(braid.Device("cpu"), held).run, daemon=True).start()
        assert launched.wait(60) and reached.wait(60)
        sleep = braid._lifetime.time.sleep
        def asleep(seconds):
            exits.set()
            stopped.join(60)
            leave.set()
            sleep(seconds)
        braid._lifetime.time.sleep = asleep
    """)
    assert said == "second call\n"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda copied: copied.__name__)
def test_nothing_of_c_is_copied(device, copied):
    """The copy would let go of it, too."""
    graph = braid.Graph()
    node = graph.host(lambda: None)
    things = [device, graph, braid.Exec(device, graph), graph.plan(costs=braid.CostModel()), device.stream(), device.event(), device.allocate(16)]
    for thing in things:
        with pytest.raises(TypeError, match=f"braid.{type(thing).__name__} cannot be copied or pickled"):
            copied(thing)
    things[2].run()
    assert copy.copy(node) == node  # which owns nothing
    if copied is not copy.copy:
        with pytest.raises(TypeError, match="braid.Graph cannot be copied"):
            copied(node)
    for thing in things[2:]:
        thing.close()


def test_a_failure_that_exit_finds_is_printed():
    done = run_program("""
        import braid
        graph = braid.Graph()
        graph.host(lambda: 1 / 0, name="division")
        frame = braid.Exec(braid.Device("cpu"), graph)
        frame.launch()
    """)
    assert "division" in done and "ZeroDivisionError" in done


def test_a_child_may_drop_what_its_parent_made():
    said = run_program("""
        import braid, os, sys
        device = braid.Device("cpu", num_workers=2)
        frame = braid.Exec(device, braid.Graph())
        frame.run()
        child = os.fork()
        if child == 0:
            try:
                frame.launch()
            except braid.WrongStateError as error:
                print(error)
            del frame, device
            braid.Exec(braid.Device("cpu"), braid.Graph()).run()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        frame.run()
        print("parent")
    """)
    assert "before a fork" in said and said.endswith("parent\n"), said


def test_no_circle_keeps_arrays(device, store):
    """A GPU's memory should not wait for the garbage collector."""
    gc.disable()
    try:
        target = np.zeros(2, "int64")
        alive = weakref.ref(target)
        graph = braid.Graph()
        whole = graph.buffer(target, "whole")
        node = graph.kernel(store, 1, [target, 5], writes=target)
        graph.host(print, reads=target[:1])
        frame = braid.Exec(device, graph)
        assert "whole" in frame.schedule.explain(node, graph.nodes[1])
        del target, whole, node, graph, frame
        assert alive() is None
    finally:
        gc.enable()


def test_a_with_statement_bears_what_is_left():
    with braid.Device("cpu") as device:
        frame = braid.Exec(device, braid.Graph())
    frame.run()
    with braid.Device("cpu") as device, braid.Exec(device, braid.Graph()) as frame:
        frame.run()
    with pytest.raises(braid.WrongStateError, match="closed"):
        frame.run()
