# SPDX-License-Identifier: Apache-2.0
"""Calls play PyTorch's own graph where no plan is better, copy nothing then, and fill the seeds of random numbers once. A few lines
play PyTorch, as in functions_of_torch."""
import ctypes
import gc
import sys
import time
import types
import warnings
import weakref

import functions_of_torch
import pytest

import braid
import braid.torch
from braid import _torch_plays

torch, real = functions_of_torch.torch, functions_of_torch.real  # the fixtures
optimize, tensors = functions_of_torch.optimize, functions_of_torch.tensors
OWN = "PyTorch's own graph"


def graphs(torch):
    """Those that PyTorch makes from now on, as long as they live."""
    made, whole = weakref.WeakSet(), torch.cuda.CUDAGraph

    class Noted(whole):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.add(self)

    torch.cuda.CUDAGraph = Noted
    return made


def watch_copies(torch, monkeypatch):
    found, copy = [], torch.Tensor.copy_
    monkeypatch.setattr(torch.Tensor, "copy_", lambda self, other, **options: [found.append(self), copy(self, other, **options)][1])
    return found


def twice(torch, a):
    return torch.ops.add(torch.ops.add(a, a), a)


def test_a_chain_is_played_by_pytorchs_own_graph(torch, monkeypatch):
    a, = tensors(torch, 2)
    made_graphs, copies = graphs(torch), watch_copies(torch, monkeypatch)
    monkeypatch.setattr(_torch_plays, "Runner", None)  # no plan is made
    made = optimize(torch, lambda: twice(torch, a))
    gc.collect()
    assert len(made_graphs) == 1  # and the memory of the first capture is free
    for value in (2, 5):
        a.set(value)
        assert made() is made.outputs
        made.wait()
        assert made.outputs.item() == 3 * value
    assert copies == [] and made.exec is None and made.info.is_chosen
    assert (made.report["plays_by"], made.report["tried"]) == (OWN, "nothing, since the import removes no order")
    assert made.report["is_chosen"] and f"plays by: {OWN}\ntried: nothing, since" in made.text
    assert (made.found.info.num_captured, made.found.info.num_kept) == (1, 1)
    with pytest.raises(braid.UnsupportedError, match="has no plan: the import removes no order"):
        made.graph


@pytest.mark.parametrize("keeps", [False, True])
def test_a_chain_that_leaves_tensors_is_captured_once(torch, keeps):
    a, = tensors(torch, 2)
    left, made_graphs = {}, graphs(torch)

    def function():
        left["state"] = torch.ops.add(a, a)
        return torch.ops.add(left["state"], a)

    made = optimize(torch, function, keep_memory=keeps)
    gc.collect()
    assert len(made_graphs) == 1 and made.report["plays_by"] == OWN
    a.set(4)
    left["state"].set(0)
    made()
    made.wait()
    assert (left["state"].item(), made.outputs.item()) == (8, 12)


@pytest.mark.parametrize("of", ["itself", "list", "view"])
def test_results_that_the_program_holds_are_those_of_the_only_capture(torch, of):
    a, = tensors(torch, 2)
    state, num = {"last": a}, []

    def function():
        num.append(1)
        other, result = torch.ops.add(a, a), torch.ops.add(state["last"], a)
        state["last"] = result.expand(1) if of == "view" else result
        return [result, other] if of == "list" else result

    made = optimize(torch, function)
    assert len(num) == 4  # a second capture would read what the first has left
    result = made.outputs[0] if of == "list" else made.outputs
    state["last"].set(0)
    values = []
    for _ in range(2):
        made()
        made.wait()
        values.append((result.item(), state["last"].item()))
    assert values[0] == values[1] and values[0][0] == values[0][1] > 0


@pytest.mark.parametrize("more", [0, 1])
def test_results_that_nobody_holds_are_captured_again(torch, more):
    a, = tensors(torch, 2)
    num, count = [], torch._C._storage_Use_Count
    torch._C._storage_Use_Count = lambda handle: count(handle) + more  # the storage's object of Python, by version

    def function():
        num.append(1)
        one = torch.ops.add(a, a)
        return [one, torch.ops.expand(one, 3), one, a, 7]

    made = optimize(torch, function)
    assert len(num) == 5 and made.outputs[3] is a and made.outputs[4] == 7


def test_results_of_the_host_are_those_of_the_only_capture(torch):
    a, = tensors(torch, 2)
    num = []

    def function():
        num.append(1)
        of_the_host = torch.Tensor()  # pinned, as .to("cpu", non_blocking=True) makes it
        of_the_host.device = types.SimpleNamespace(type="cpu", index=-1)
        return [torch.ops.add(a, a), of_the_host]

    made = optimize(torch, function, num_warm=0)
    assert made() is made.outputs and len(num) == 1


class Strict:
    """A structure of the program's."""

    def __init__(self, value):
        self.value = value.shape and value


def test_structures_that_take_only_tensors_are_captured_once(torch):
    a, = tensors(torch, 2)
    num, pytree = [], sys.modules["torch.utils._pytree"]
    leaves, rebuild = pytree.tree_leaves, pytree.tree_map
    pytree.tree_leaves = lambda value: leaves(value.value if isinstance(value, Strict) else value)
    pytree.tree_map = lambda by, value: Strict(by(value.value)) if isinstance(value, Strict) else rebuild(by, value)
    made = optimize(torch, lambda: [num.append(1), Strict(torch.ops.add(a, a))][1])
    made()
    assert len(num) == 4 and made.outputs.value.item() == 4


def test_pytorchs_own_counts_tell_who_has_results(real):
    from braid import _torch_results

    a, w, held = real.ones(4, 4), real.ones(4, 4, requires_grad=True), {}
    memory = types.SimpleNamespace(has=lambda address: True)

    def is_held(function):
        return _torch_results._is_held([function()], memory)

    def hold(result, kept):
        held["kept"] = kept(result)
        return result

    for function in (lambda: a + 1, lambda: [a + 1, None, 3], lambda: (a + 1)[0].expand(3, 4), lambda: {"x": (w * a).tanh()}):
        assert not is_held(function)
    for kept in (lambda result: result, lambda result: result[0], lambda result: result.detach()):
        assert is_held(lambda kept=kept: hold(a + 1, kept))


class Played:
    """A runner that plays as it is told: by a plan, by the program's own way, and by that for good."""

    WAYS = ["plan", "own", "chosen", "chosen"]

    def __init__(self, device, graph, as_before, before_plan):
        self.as_before, self.before_plan, self.ways = as_before, before_plan, list(self.WAYS)
        self.way, self.exec = None, None
        self.frame = braid.Exec(device, graph, max_lanes=1)
        self.device = device

    def launch(self, stream):
        self.way = self.ways.pop(0)
        if self.way == "plan":
            if self.before_plan is not None:
                self.before_plan(stream)
            self.frame.launch(stream)
        else:
            self.as_before(stream)

    def wait(self):
        self.frame.wait()

    @property
    def info(self):
        return braid.RunnerInfo("as before", "", 1, self.way == "chosen", False)


def test_a_graph_that_is_chosen_by_its_time_copies_nothing(torch, monkeypatch):
    a, = tensors(torch, 2)
    monkeypatch.setattr(_torch_plays, "Runner", Played)
    made = optimize(torch, lambda: [torch.ops.add(a, a), torch.ops.add(a, a)])
    first, copies, num_copies = made.outputs, watch_copies(torch, monkeypatch), []
    for value in (2, 3, 4, 5):
        a.set(value)
        found = made()
        assert found is made.outputs and [one.item() for one in found] == [2 * value] * 2
        num_copies.append(len(copies))
    assert num_copies == [0, 2, 2, 2]  # while ways are tried the results stay where they are
    assert made.outputs is not first and [one.item() for one in first] == [6] * 2


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def sleep(_):
    time.sleep(0.05)


def queue_sleep(torch):
    assert ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc(torch.cuda.current_stream().handle, sleep, None) == 0


@pytest.mark.parametrize("waits", [False, True])
def test_copied_results_come_before_the_next_call_and_the_end_of_a_wait(torch, monkeypatch, waits):
    a, = tensors(torch, 2)
    monkeypatch.setattr(_torch_plays, "Runner", Played)
    monkeypatch.setattr(Played, "WAYS", ["own", "plan"])
    made, copy, streams = optimize(torch, lambda: [torch.ops.add(a, a), torch.ops.add(a, a)]), torch.Tensor.copy_, []
    monkeypatch.setattr(torch.Tensor, "copy_", lambda *args, **options: [queue_sleep(torch), copy(*args, **options)])
    made.outputs[0].set(0)
    for value in (2,) if waits else (2, 3):
        a.set(value)
        streams.append(torch.cuda.Stream())
        with torch.cuda.stream(streams[-1]):
            made()
    if waits:
        made.wait()
    else:  # the results of the second call, in the end
        streams[1].synchronize()
        streams[0].synchronize()
    assert made.outputs[0].item() == 2 * value


def test_seeds_of_a_chain_are_filled_behind_the_call_before(torch, monkeypatch):
    a, kept = tensors(torch, 2, 0)
    generator, streams = torch.cuda.default_generators[0], [torch.cuda.Stream(), torch.cuda.Stream()]
    made, fill, at = optimize(torch, lambda: torch.ops.rand(a)), generator.fill, generator.offset
    assert made.report["plays_by"] == OWN
    monkeypatch.setattr(generator, "fill", lambda *args: [fill(*args), queue_sleep(torch)])
    with torch.cuda.stream(streams[0]):
        made()
        kept.copy_(made.outputs)
    with torch.cuda.stream(streams[1]):
        made()
        assert made.outputs.item() == generator.seed + at + 4
    with torch.cuda.stream(streams[0]):
        assert kept.item() == generator.seed + at


def test_a_plan_goes_with_its_last_reference(torch):
    a, = tensors(torch, 2)
    made_graphs = graphs(torch)
    made = optimize(torch, lambda: [torch.ops.add(a, a), torch.ops.add(a, a)])
    gc.collect()
    gc.disable()
    try:
        assert len(made_graphs) == 2
        del made
        assert len(made_graphs) == 0  # their memory waits for no collector
    finally:
        gc.enable()


def test_expanded_results_are_copied_by_their_bytes(torch, monkeypatch):
    a, b = tensors(torch, 2, 3)
    monkeypatch.setattr(_torch_plays, "Runner", Played)
    made = optimize(torch, lambda: [torch.ops.expand(torch.ops.add(a, b), 3), torch.ops.add(b, b)])
    for value in (2, 30, 7):
        a.set(value)
        found = made()
        assert found[0].stride() == (0,) and [one.item() for one in found] == [value + 3, 6]


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("chain", [False, True])
def test_seeds_are_filled_once_for_each_call(torch, leaves, chain):
    a, = tensors(torch, 2)
    generator, left = torch.cuda.default_generators[0], {}

    def function():
        drawn = torch.ops.rand(a)
        if leaves:
            left["other"] = torch.ops.add(drawn, a)
        return [torch.ops.add(drawn, a)] if chain else [torch.ops.add(drawn, a), torch.ops.add(a, a)]

    made = optimize(torch, function)
    num = 0
    while num < 40 or not made.info.is_chosen:
        before, at = generator.num_fills, generator.offset
        made()
        made.wait()
        assert generator.num_fills == before + 1 and generator.offset == at + 4, made.info
        assert made.outputs[0].item() == generator.seed + at + 2
        num += 1
        while made.info.is_making:
            time.sleep(0.001)
        assert num < 1000


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("chain", [False, True])
def test_calls_are_inside_and_outside_of_inference(torch, inside, chain):
    a, = tensors(torch, 2)

    def function():
        return [torch.ops.rand(a)] if chain else [torch.ops.rand(a), torch.ops.add(a, a)]

    def within(is_inside, call):
        if not is_inside:
            return call()
        with torch.inference_mode():
            return call()

    for first in (False, True):
        made = within(inside, lambda: optimize(torch, function))
        for num in range(40):
            at = torch.cuda.default_generators[0].offset
            assert within(first ^ (num % 2 == 1), made)[0].item() == 1000 + at


def test_memory_of_seeds_that_inference_has_made_is_filled(torch):
    a, = tensors(torch, 2)
    with torch.inference_mode():
        own = torch.cuda.CUDAGraph()  # the program's, with the memory that all graphs share
        with torch.cuda.graph(own, stream=torch.cuda.Stream(), capture_error_mode="thread_local"):
            torch.ops.rand(a)
    made = optimize(torch, lambda: [torch.ops.rand(a), torch.ops.add(a, a)])
    assert made()[0].item() == 1000 + 3 * 4


def test_operations_without_a_tag_draw_from_the_generator_that_they_get(torch):
    a, = tensors(torch, 2)
    own = torch.Generator(a.device, torch.Tensor)
    own.begin_capture()
    with pytest.raises(braid.UnsupportedError, match="'mine.rand.default' draws from a generator of the program's"):
        optimize(torch, lambda: torch.ops.untagged(a, own), num_warm=0)
    default = torch.cuda.default_generators[0]
    made = optimize(torch, lambda: [torch.ops.add(a, a), torch.ops.untagged(a, default), torch.ops.add(a, a)])
    at = default.offset
    assert made()[1].item() == 1000 + at and default.offset == at + 4


def test_a_capture_that_is_given_up_is_no_empty_graph(torch):
    a, = tensors(torch, 2)
    own = torch.Generator(a.device, torch.Tensor)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(braid.UnsupportedError, match="draws from a generator of the program's"):
            optimize(torch, lambda: torch.ops.rand(a, own), num_warm=0)
        made = optimize(torch, lambda: [torch.ops.rand(a), torch.ops.add(a, a)])
        made()
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"):  # the program's own
        optimize(torch, lambda: a)


def test_a_function_that_returns_other_shapes_is_refused(torch):
    a, = tensors(torch, 2)
    num = iter([2, 3])
    with pytest.raises(braid.UnsupportedError, match="result 0 has another shape, or other strides, than before"):
        optimize(torch, lambda: torch.ops.expand(torch.ops.add(a, a), next(num)), num_warm=0)


def test_a_function_that_returns_fewer_values_is_refused(torch):
    a, = tensors(torch, 2)
    num = iter([2, 1])
    with pytest.raises(braid.UnsupportedError, match="it returns 1 values, and returned 2 before"):
        optimize(torch, lambda: [torch.ops.add(a, a) for _ in range(next(num))], num_warm=0)
