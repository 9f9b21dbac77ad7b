# SPDX-License-Identifier: Apache-2.0
"""A user's first lines work, and so do kernels from wherever C functions come."""
import array
import ctypes

import cffi
import numpy as np
import pytest

import braid

def test_the_first_ten_lines():
    left, right = np.zeros(4, "float32"), np.ones(4, "float32")
    total = np.zeros(4, "float32")
    graph = braid.Graph()
    graph.fill(left, 2.0)
    graph.fill(right, 3.0)
    graph.host(lambda: np.add(left, right, out=total), reads=[left, right], writes=total)
    frame = braid.Exec(braid.Device("cpu"), graph)
    frame.run(frames=2)
    assert total.tolist() == [5.0] * 4
    assert frame.schedule.info.num_nodes == 3


@pytest.mark.parametrize("kind", ["address", "ctypes", "cffi"])
def test_c_functions_are_kernels(device, library, kind):
    functions = {
        "address": lambda: ctypes.cast(library.add_scaled, ctypes.c_void_p).value,
        "ctypes": lambda: library.add_scaled,
        "cffi": lambda: cffi.FFI().cast("void (*)(void *, void *)", ctypes.cast(library.add_scaled, ctypes.c_void_p).value),
    }
    kernel = braid.Kernel("add_scaled", cpu=functions[kind]())
    y, x = np.zeros(1000, "float32"), np.arange(1000, dtype="float32")
    graph = braid.Graph()
    graph.kernel(kernel, 1000, [y, x, ctypes.c_float(0.5)], updates=y, reads=x)
    braid.Exec(device, graph).run(4)
    assert np.array_equal(y, 2 * x)


def test_numba_makes_kernels(device):
    pytest.importorskip("numba", reason="Numba is not installed (python3-numba)")
    from braid.numba import kernel

    @kernel("float32*, float32*, float32, int64, boolean")
    def add(begin, end, y, x, factor, num, negate):
        for i in range(begin, end):
            if i < num:
                y[i] += -factor * x[i] if negate else factor * x[i]

    y, x = np.zeros(100, "float32"), np.arange(100, dtype="float32")
    graph = braid.Graph()
    node = graph.kernel(add, 128, [y, x, 2, 100, False], updates=y, reads=x)
    frame = braid.Exec(device, graph)
    frame.run()
    assert np.array_equal(y, 2 * x)
    frame.set_arg(node, 4, True)
    frame.run()
    assert not y.any()
    with pytest.raises(braid.InvalidArgumentError, match="'float31'"):
        kernel("float31")


def test_a_numba_cfunc_is_a_kernel(device):
    numba = pytest.importorskip("numba", reason="Numba is not installed (python3-numba)")

    @numba.cfunc(numba.types.void(numba.types.CPointer(numba.types.int64),
                                  numba.types.CPointer(numba.types.CPointer(numba.types.int64))))
    def count(blocks, args):
        args[0][0] = blocks[1] - blocks[0]

    # The kernel writes to its own argument: enough to see that it was called with what C gives.
    graph = braid.Graph()
    graph.kernel(braid.Kernel("count", cpu=count), 1, [np.int64(0)])
    braid.Exec(device, graph).run()


def test_what_has_bytes_is_a_buffer(device, store):
    target, other = array.array("q", [0]), bytearray(8)
    memory = device.allocate(8)
    graph = braid.Graph()
    graph.kernel(store, 1, [target, 7], writes=target)
    graph.copy(other, target)
    graph.copy(memory, other)
    braid.Exec(device, graph).run()
    assert target[0] == 7 and int.from_bytes(other, "little") == 7
    assert np.frombuffer(memory.view(), "int64")[0] == 7
    back = np.zeros(1, "int64")
    memory.copy_to(back)
    assert back[0] == 7


def test_a_program_waits_for_events(device):
    stream, first, last = device.stream(), device.event(timing=True), device.event(timing=True)
    one, two = np.arange(4), np.zeros(4, int)
    first.record(stream)
    stream.copy(two, one)
    last.record(stream)
    last.wait()
    assert last.done and stream.done and two.tolist() == [0, 1, 2, 3]
    assert first.elapsed_ns(last) >= 0
    for thing in (stream, first, last):
        thing.close()


def test_backends_say_why_they_are_missing():
    found = {backend.name: backend for backend in braid.backends()}
    assert found["cpu"].num_devices == 1 and found["cpu"].reason == ""
    assert list(found) == ["cuda", "hip", "cpu"]


def test_devices_are_listed_without_being_opened(device):
    found = braid.devices()
    assert len(found) == sum(backend.num_devices for backend in braid.backends())
    cpu = found[-1]
    assert (cpu.backend, cpu.ordinal, cpu.bus_id, cpu.name) == ("cpu", 0, "", device.name)
    assert cpu.memory_bytes == device.info.memory_bytes and cpu.num_units >= 2


def test_a_plan_says_what_limits_it():
    graph = braid.Graph()
    first = graph.empty(cost_ns=1000)
    plan = graph.plan(costs=braid.CostModel())
    assert plan.info.limit == "critical_path" and plan.placement(first).island is None
    assert "critical path" in plan.explain() and "island" in plan.explain(first)
    assert braid.Device("cpu", cache="off").backend == "cpu"
