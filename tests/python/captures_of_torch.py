# SPDX-License-Identifier: Apache-2.0
"""Captures of PyTorch take work in proportion to their operations, and their random numbers are those of PyTorch. A few lines play
PyTorch, as in functions_of_torch."""
import ctypes

import functions_of_torch
import pytest

import braid
import braid.torch

torch = functions_of_torch.torch  # the fixture
optimize, tensors, told = functions_of_torch.optimize, functions_of_torch.tensors, functions_of_torch.told


def chain(torch, num):
    a, = tensors(torch, 2)

    def function():
        one = a
        for _ in range(num):
            one = torch.ops.through(one, a)
        return one

    return function


@pytest.mark.parametrize("keeps", [False, True])
def test_a_capture_reads_each_event_a_few_times(torch, keeps):
    reads = []
    for num in (20, 80):
        torch.allocator.told.clear()
        made = optimize(torch, chain(torch, num), keep_memory=keeps)
        assert told(made)[2] == 2 * num
        reads.append(sum(torch.allocator.told))
    assert reads[1] < 6 * reads[0]  # four times the operations


def test_a_history_that_its_end_does_not_clear_is_told_once(torch, monkeypatch):
    wanted = optimize(torch, chain(torch, 40))
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", lambda enabled, **options: torch.allocator.records.append(enabled))
    made = optimize(torch, chain(torch, 40))
    assert told(made) == told(wanted) and len(made.report["unproven"]) == 0


def test_nodes_that_the_driver_lists_in_another_order_are_found(torch, monkeypatch):
    from braid import _torch

    class Turned:
        """A driver that lists the last node first."""

        def __init__(self, driver):
            self.driver = driver

        def __getattr__(self, name):
            return getattr(self.driver, name)

        def cuGraphGetNodes(self, graph, nodes, num):
            result = self.driver.cuGraphGetNodes(graph, nodes, num)
            if nodes is not None:
                nodes[:] = nodes[::-1]
            return result

    init = _torch.Nodes.__init__

    def turned(self, stream):
        init(self, stream)
        self._cuda = Turned(self._cuda)

    monkeypatch.setattr(_torch.Nodes, "__init__", turned)
    made = optimize(torch, chain(torch, 5))
    assert told(made)[2:] == (10, 0)


# ---- random numbers ----


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("num_warm", [0, 3])
def test_random_numbers_are_those_of_pytorch(torch, is_shared, leaves, num_warm):
    a, total = tensors(torch, 2, 0)
    generator, left = torch.cuda.default_generators[0], {}
    generator.is_shared = is_shared

    def function():
        if leaves:  # no second capture
            left["other"] = torch.ops.add(a, a)
        torch.ops.raise_(total)
        return [torch.ops.rand(a), torch.ops.rand(a)]

    made = optimize(torch, function, num_warm=num_warm)
    assert generator.offset == 2 * 4 * num_warm  # as the calls that warm up leave it
    other = torch.cuda.CUDAGraph()  # the program has one beside
    with torch.cuda.graph(other, stream=torch.cuda.Stream(), capture_error_mode="thread_local"):
        torch.ops.rand(a)
    total.set(0)
    play = 0
    while not made.info.is_chosen:  # by each way to play
        generator.seed += 100
        other.replay()
        drawn, at = generator.seed + generator.offset, generator.offset
        made()
        made.wait()
        assert [one.item() for one in made.outputs] == [drawn, drawn + 4], made.info
        assert generator.offset == at + 8 and total.item() == play + 1, made.info
        play += 1
        assert play < 1000
    assert "as before: " in made.text


@pytest.mark.parametrize("leaves", [False, True])
def test_a_plan_of_inference_draws_elsewhere(torch, leaves):
    a, = tensors(torch, 2)
    left = {}

    def function():
        if leaves:
            left["other"] = torch.ops.add(a, a)
        return torch.ops.rand(a)

    with torch.inference_mode():
        made = optimize(torch, function)
    while not made.info.is_chosen:
        made()


@pytest.mark.parametrize("is_shared", [True, False])
def test_random_operations_keep_their_orders_and_are_proven(torch, is_shared):
    a, b = tensors(torch, 2, 3)
    torch.cuda.default_generators[0].is_shared = is_shared
    num = []

    def function():
        num.append(1)
        return [torch.ops.rand(a), torch.ops.mm(b, b), torch.ops.rand(a)]

    # The two of the product, and two kernels that draw. Memory of the generator is no reason against a second capture.
    assert told(optimize(torch, function)) == (6, 2, 4, 0) and len(num) == 5


def test_attention_that_draws_nothing_needs_no_prologue(torch):
    a, = tensors(torch, 2)
    made = optimize(torch, lambda: torch.ops.attend(a))
    assert told(made) == (0, 0, 1, 0) and made._play.draws is None
    for _ in range(40):
        made.outputs.set(0)
        made()
        made.wait()
        assert made.outputs.item() == 4
    assert torch.cuda.default_generators[0].offset == 0


@pytest.mark.parametrize("num_warm", [0, 3])
def test_numbers_that_no_operation_draws_are_known(torch, num_warm):
    a, = tensors(torch, 2)
    generator = torch.cuda.default_generators[0]

    def function():  # as a compiled kernel does
        if generator.drawn is None:
            generator.offset += 4
        else:
            generator.draw()
        return torch.ops.add(a, a)

    made = optimize(torch, function, num_warm=num_warm)
    made()
    assert generator.offset == 4 * (num_warm + 1)


def test_generators_of_the_program_are_refused(torch):
    a, = tensors(torch, 2)
    own = torch.Generator(a.device, torch.Tensor)
    own.begin_capture()
    with pytest.raises(braid.UnsupportedError, match="'aten.rand_like.default' draws from a generator of the program's"):
        optimize(torch, lambda: torch.ops.rand(a, own), num_warm=0)
    assert told(optimize(torch, lambda: torch.ops.rand(a, torch.cuda.default_generators[0]))) == (0, 0, 1, 0)


def test_a_graph_that_keeps_its_nodes_draws_no_numbers(torch):
    a, = tensors(torch, 2)
    cuda = ctypes.CDLL("libcuda.so.1")

    def function():
        memory, stream = ctypes.c_uint64(), torch.cuda.current_stream().handle
        assert cuda.cuMemAllocAsync(ctypes.byref(memory), ctypes.c_size_t(4), stream) == 0  # no node of such a graph goes
        assert cuda.cuMemFreeAsync(memory, stream) == 0
        return [torch.ops.rand(a), torch.ops.add(a, a)]

    with pytest.raises(braid.UnsupportedError, match="cuGraphDestroyNode returns 801, so that the function's random numbers"):
        optimize(torch, function)
