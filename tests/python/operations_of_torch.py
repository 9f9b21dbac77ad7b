# SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch, which is played by a few functions that use the stand-in driver."""
import contextlib
import ctypes
import gc
import sys
import types

import numpy as np
import pytest
from conftest import Typed

import braid
from braid._private_streams import Private
from braid.torch import operation


class Tensor(Typed):
    """As PyTorch's tensors on a GPU look."""

    is_cuda, device = True, "cuda:0"


class Stream:
    def __init__(self, handle, device):
        self.handle, self.driver, self.event = ctypes.c_void_p(handle), ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        assert self.driver.cuEventCreate(ctypes.byref(self.event), 2) == 0

    def wait_stream(self, other):
        assert self.driver.cuEventRecord(other.event, other.handle) == 0
        assert self.driver.cuStreamWaitEvent(self.handle, other.event, 0) == 0


class Driver:
    """What an operation calls, on the current stream of PyTorch. Each stream on which it multiplied has a workspace."""

    def __init__(self):
        self.said, self.stream, self.driver, self.workspaces = [], None, ctypes.CDLL("libcuda.so.1"), {}

    @contextlib.contextmanager
    def on(self, stream):
        before, self.stream = self.stream, stream
        yield
        self.stream = before

    @contextlib.contextmanager
    def pool(self, pool, device):
        self.said.append(("begin", pool))
        yield
        self.said.append(("end", pool))

    def is_capturing(self):
        status = ctypes.c_int()
        assert self.driver.cuStreamIsCapturing(self.stream.handle, ctypes.byref(status)) == 0
        return status.value == 1

    def copy(self, to, source):
        self.said.append("captured" if self.is_capturing() else "queued")
        addresses = [ctypes.c_uint64(one.memory.address) for one in (to, source)]
        assert self.driver.cuMemcpyDtoDAsync_v2(*addresses, ctypes.c_size_t(16), self.stream.handle) == 0

    def multiply(self, to, source):
        self.workspaces.setdefault(self.stream.handle.value, []).append(self.is_capturing())
        self.copy(to, source)


@pytest.fixture
def driver(monkeypatch):
    driver, torch, pools = Driver(), types.ModuleType("torch"), iter(range(100))
    torch.Tensor, torch.no_grad = Tensor, contextlib.nullcontext
    torch._C = types.SimpleNamespace(_cuda_clearCublasWorkspaces=driver.workspaces.clear)
    torch.cuda = types.SimpleNamespace(
        MemPool=lambda: next(pools), use_mem_pool=driver.pool, device=contextlib.nullcontext, stream=driver.on,
        ExternalStream=Stream, is_current_stream_capturing=driver.is_capturing,
        current_blas_handle=lambda: driver.said.append("handle"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(Private, "free", [])
    return driver


def make_tensors(gpu):
    return [Tensor(gpu.allocate(16), (4,)) for _ in range(3)]


def chain(gpu, function):
    """b = a and c = b, by two operations."""
    (a, b, c), back, graph = make_tensors(gpu), np.zeros(4, "float32"), braid.Graph()
    graph.copy(a, np.arange(4, dtype="float32"))
    operation(graph, function, [braid.write(b), braid.read(a)])
    operation(graph, function, [c, b], name="second", writes=c, reads=b)
    graph.copy(back, c)
    return graph, back


def test_a_captured_operation_has_memory_of_its_own(gpu, driver):
    graph, back = chain(gpu, driver.copy)
    assert driver.said == ["handle"] * 2
    with braid.Exec(gpu, graph, mode="graph", frames_in_flight=2) as frame:
        frame.run(3, gpu.stream())
    assert back.tolist() == [0, 1, 2, 3]
    captures = driver.said[2:]
    assert captures[:3] == [("begin", captures[0][1]), "captured", ("end", captures[0][1])]
    pools = [what[1] for what in captures if what[0] == "begin"]
    assert len(captures) == 3 * len(pools) and len(set(pools)) == len(pools) >= 4  # a pool is used once


def test_a_captured_operation_has_a_workspace_of_its_own(gpu, driver):
    driver.workspaces["of a graph of the program"] = [True]
    graph, back = chain(gpu, driver.multiply)
    with braid.Exec(gpu, graph, mode="graph", frames_in_flight=2) as frame:
        frame.run(3, gpu.stream())
        assert back.tolist() == [0, 1, 2, 3]
        assert driver.workspaces.pop("of a graph of the program")
        assert len(driver.workspaces) >= 4 and all(uses == [True] for uses in driver.workspaces.values())
        old = set(driver.workspaces)
    del frame, graph, back
    gc.collect()
    graph, back = chain(gpu, driver.multiply)
    with braid.Exec(gpu, graph, mode="graph") as frame:
        frame.run()
        assert set(driver.workspaces) == old  # streams are taken again


def test_an_operation_on_streams_keeps_its_memory(gpu, driver):
    graph, back = chain(gpu, driver.copy)
    with braid.Exec(gpu, graph, mode="streams") as frame:
        frame.run(2)
    assert back.tolist() == [0, 1, 2, 3]
    assert driver.said[2:] == 2 * [("begin", 0), "queued", ("end", 0), ("begin", 1), "queued", ("end", 1)]


def test_what_cannot_be_captured_runs_on_streams(gpu, driver):
    def function(to, source):
        if driver.is_capturing():
            raise RuntimeError("no capture\nof this")
        driver.copy(to, source)

    graph, back = chain(gpu, function)
    with braid.Exec(gpu, graph) as frame:
        frame.run()
        assert frame.info.mode == "streams"
    assert back.tolist() == [0, 1, 2, 3]
    with pytest.raises(braid.UnsupportedError, match="function") as caught:
        braid.Exec(gpu, graph, mode="graph")
    assert str(caught.value.__cause__) == "PyTorch cannot be captured here: no capture"


def test_tensors_say_what_is_done_to_them(gpu, driver):
    (a, b, c), graph = make_tensors(gpu), braid.Graph()
    with pytest.raises(braid.InvalidArgumentError, match="argument 1 of operation 'copy' is a tensor: say what"):
        operation(graph, driver.copy, [braid.write(b), a])
    a.is_cuda = False
    with pytest.raises(braid.InvalidArgumentError, match="argument 1 of operation 'copy' is a tensor of the CPU"):
        operation(graph, driver.copy, [braid.write(b), braid.read(a)])
    c.device = "cuda:1"
    for args, num in (([braid.write(b), braid.read(c)], 2), ([1, 2], 0)):
        with pytest.raises(braid.InvalidArgumentError, match=f"operation 'copy' has tensors of {num} devices"):
            operation(graph, driver.copy, args)
    assert len(graph) == 0
