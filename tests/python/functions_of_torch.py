# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch are captured and planned. A stand-in plays the driver, and a few lines play PyTorch. Where PyTorch is
installed, its own schemas are tried too."""
import base64
import ctypes
import gc
import shutil
import sys
import time
import types
import weakref

import pytest
from played_torch import TEXTS, make_torch, text_of

import braid
import braid.torch
from braid._private_streams import Private


@pytest.fixture
def torch(monkeypatch, tmp_path):
    modules = make_torch()
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    forget()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(braid.torch, "_devices", {})
    monkeypatch.setattr(Private, "free", [])
    yield modules["torch"]
    forget()


def forget():
    """Modules that import PyTorch."""
    for name in ("_torch", "_torch_results"):
        sys.modules.pop(f"braid.{name}", None)
        vars(braid).pop(name, None)


def tensors(torch, *values):
    return [torch.Tensor().set(value) for value in values]


def optimize(torch, function, *inputs, **options):
    made = braid.torch.optimize(function, *inputs, **options)
    assert torch.allocator.records == [] or torch.allocator.records[-1] is None  # no history is left on
    return made


def told(made):
    """Orders captured and kept, kernels with a statement, and nodes that are not proven."""
    info = made.found.info
    return info.num_captured, info.num_kept, info.num_stated, info.num_unproven


def play(torch, made):
    """By PyTorch's graph and as calls play, and where orders are removed by a plan on streams."""
    ways = [made._play.captured.replay, made]
    if made.found.info.num_kept < made.found.info.num_captured or made.found.info.num_reloadable:
        made._play.captured.exec or made._play.captured.instantiate()
        ways.append(braid.Exec(braid.torch._adopt(made._device), made.graph, max_lanes=4).run)
    found = []
    for way in ways:
        made.outputs.set(0)
        way()
        made.wait()
        found.append(made.outputs.item())
    return found[0] if len(set(found)) == 1 else found


def test_operations_have_the_orders_of_their_tensors(torch):
    a, b = tensors(torch, 2, 3)

    def function():
        add = torch.ops.add
        return add(add(a, b), add(a, a))

    made = optimize(torch, function)
    assert told(made) == (3, 2, 3, 0)
    assert play(torch, made) == 9
    num = 0
    while not made.info.is_chosen:
        while made.info.is_making:
            time.sleep(0.001)
        made.outputs.set(0)
        made()
        made.wait()
        assert made.outputs.item() == 9
        num += 1
        assert num < 1000
    assert f"plays by: {made.info.way}\ntried: " in made.text


def test_inputs_are_copied(torch):
    a, b, other = tensors(torch, 2, 3, 40)
    made = optimize(torch, torch.ops.add, a, b)
    assert made(a, other) is made.outputs
    made.wait()
    assert made.outputs.item() == 42
    with pytest.raises(braid.InvalidArgumentError, match="captured with 2 inputs, and the call has 1"):
        made(a)
    other.shape = (2,)
    with pytest.raises(braid.InvalidArgumentError, match=r"captured with \(1,\) elements"):
        made(a, other)
    with pytest.raises(braid.InvalidArgumentError, match="input 1 is no tensor of a GPU"):
        optimize(torch, torch.ops.add, a, 3)


def test_written_arguments_order_operations(torch):
    a, b = tensors(torch, 2, 3)

    def function():
        first = torch.ops.add(a, b)
        torch.ops.raise_(first)
        torch.ops.norm(b, a)  # by an old schema: it also writes its second argument
        return torch.ops.add(first, a)

    made = optimize(torch, function, num_warm=0)
    # The second of the five kernels has no order with the two of norm.
    assert told(made) == (10, 8, 5, 0)
    a.set(2)
    before = a.item()
    made()
    made.wait()
    assert made.outputs.item() == 2 * before + 3 + 1 + 1


def test_temporaries_and_freed_memory_are_kept_apart(torch):
    a, b = tensors(torch, 2, 3)

    def function():
        through = torch.ops.through
        return torch.ops.add(through(a, a), through(b, b))

    made = optimize(torch, function)
    assert told(made) == (10, 6, 5, 0)  # two kernels of one operation are in order, and the last is behind all
    assert play(torch, made) == 10
    reused = optimize(torch, function, keep_memory=False)
    assert told(reused) == (10, 10, 5, 0)  # both operations have the same temporary
    assert play(torch, reused) == 10


@pytest.mark.parametrize("keeps", [False, True])
def test_results_that_die_leave_their_memory_if_the_program_wants(torch, keeps):
    a, b = tensors(torch, 2, 3)

    def function():
        torch.ops.add(a, a)
        return torch.ops.add(b, b)

    made = optimize(torch, function, keep_memory=keeps)
    assert told(made) == (1, 0 if keeps else 1, 2, 0)
    assert play(torch, made) == 6


def test_library_memory_orders_its_operations(torch):
    a, b = tensors(torch, 2, 3)
    num = []
    made = optimize(torch, lambda: [num.append(1), torch.ops.add(torch.ops.mm(a, a), torch.ops.mm(b, b))][1])
    assert told(made) == (10, 10, 5, 0) and len(num) == 5  # the workspace is no reason against a second capture
    assert play(torch, made) == 10


def lease_of(made):
    return made._play.kept[0]


def test_a_capture_has_a_workspace_that_no_other_graph_has(torch):
    a, b = tensors(torch, 2, 3)
    torch.ops.mm(a, b)  # the program's, which a graph of its own may have
    own = dict(torch.workspaces)
    made = [optimize(torch, lambda: torch.ops.mm(a, a)) for _ in range(2)]
    assert own.items() <= torch.workspaces.items()
    leases = [lease_of(one) for one in made]
    streams = [lease.private.stream.cuda_stream for lease in leases]
    assert len({*streams, *own}) == 3  # two plans may run at once
    assert all((torch.workspaces[stream].data_ptr(), 2048) in lease.private.workspace for stream, lease in zip(streams, leases))
    del leases, made
    gc.collect()
    again = optimize(torch, lambda: torch.ops.mm(a, a))
    assert lease_of(again).private.stream.cuda_stream in streams
    assert told(optimize(torch, lambda: torch.ops.add(torch.ops.mm(a, a), torch.ops.mm(b, b)))) == (10, 10, 5, 0)


def test_collectives_keep_their_order_and_write_what_they_get(torch):
    a, b, c = tensors(torch, 2, 3, 4)

    def function():
        torch.ops.reduce([a], "group")
        torch.ops.reduce([b], "group")
        torch.ops.raise_(c)
        return torch.ops.add(a, c)

    made = optimize(torch, function, num_warm=0)
    assert told(made) == (6, 3, 4, 0)  # the collectives, and what the sum reads
    for tensor, value in zip((a, b, c), (2, 3, 4)):
        tensor.set(value)
    made()
    made.wait()
    assert (made.outputs.item(), b.item()) == (3 + 5, 4)


def test_a_history_of_the_program_is_left_alone(torch):
    a, = tensors(torch, 2)
    torch.allocator.record("all")
    with pytest.raises(braid.UnsupportedError, match="PyTorch records the history of its memory for the program"):
        braid.torch.optimize(lambda: torch.ops.add(a, a))
    assert torch.allocator.records == ["all"]


def test_an_allocator_that_tells_nothing_is_refused(torch, monkeypatch):
    from braid import _torch

    a, = tensors(torch, 2)
    monkeypatch.setattr(_torch, "MOST_EVENTS", 3)
    with pytest.raises(braid.UnsupportedError, match="allocator has told [0-9]+ events at once, and then forgets the first"):
        optimize(torch, lambda: torch.ops.add(torch.ops.add(a, a), a))
    monkeypatch.setattr(torch._C, "_cuda_memorySnapshot", lambda pool: {"device_traces": []})
    with pytest.raises(braid.UnsupportedError, match="allocator does not tell of the memory that it hands out"):
        optimize(torch, lambda: torch.ops.add(a, a))


@pytest.mark.parametrize("leaves", [False, True])
def test_tensors_that_a_call_leaves_are_those_that_the_plan_writes(torch, leaves):
    a, = tensors(torch, 2)
    left, num = {}, [0]

    def function():
        num[0] += 1
        if leaves:
            left["gradient"] = torch.ops.add(a, a)
        return torch.ops.add(a, a)

    made = optimize(torch, function)
    assert num[0] == 4 + (not leaves)  # a second capture would leave another tensor
    if leaves:
        left["gradient"].set(0)
        made()
        made.wait()
        assert left["gradient"].item() == 4


def test_results_in_objects_are_those_that_the_plan_writes(torch):
    a, = tensors(torch, 2)
    num = []

    def function():
        num.append(1)
        result = torch.ops.add(a, a)
        return [result, types.SimpleNamespace(value=result)]

    assert optimize(torch, function) is not None and len(num) == 4
    made = optimize(torch, lambda: types.SimpleNamespace(value=torch.ops.add(a, a)))
    for _ in range(40):  # by each way to play
        made.outputs.value.set(0)
        made()
        made.wait()
        assert made.outputs.value.item() == 4


def test_execs_keep_what_they_play(torch):
    a, = tensors(torch, 2)
    gone = weakref.ref(a)
    made = optimize(torch, lambda a=a: [torch.ops.add(a, a), torch.ops.add(a, a)][0])
    result, captured = made.outputs, weakref.ref(made._play.captured)
    del a
    play = braid.Exec(braid.torch._adopt(made._device), made.graph)
    del made
    gc.collect()
    result.set(0)
    play.run()
    assert result.item() == 4 and gone() is not None and captured() is not None
    play.close()
    del play
    gc.collect()
    assert gone() is None and captured() is None


def test_execs_keep_what_the_function_forgets(torch):
    held = tensors(torch, 2)  # as autocast holds weights until it ends
    forgotten = weakref.ref(held[0].untyped_storage())
    made = optimize(torch, lambda: torch.ops.add(torch.ops.add(held[0], held[0]), held[0]))
    held.clear()
    gc.collect()
    taken = tensors(torch, 9, 9, 9)
    assert play(torch, made) == 6 and forgotten() is not None and len(taken) == 3
    assert list(made._play.kept[-1]) == [forgotten().data_ptr()]  # memory of the capture is kept by PyTorch's graph


def test_unknown_operations_keep_their_orders(torch):
    a, b = tensors(torch, 2, 3)

    def function():
        torch.ops.add(b, b)
        unknown = torch.ops.own(a, a)
        torch.launch("raise", unknown, unknown)  # by no operation
        torch.ops.add(b, b)
        return unknown

    made = optimize(torch, function)
    assert told(made) == (6, 6, 2, 2)  # nodes between two sums also keep the sums in order
    assert {node["reason"] for node in made.report["unproven"]} == {"no text has it, with parameters of these sizes"}
    assert play(torch, made) == 5


class CompiledKernel:
    """As Triton's object of that name, which has loaded a function."""

    def __init__(self, torch, name, text=None):
        self.name, self.function, self.asm = name, torch.functions[name].value, {"ptx": text or TEXTS[name]}


class StaticallyLaunchedCudaKernel:
    """As that of PyTorch's compiler, which knows where Triton keeps the text."""

    def __init__(self, torch, name, hashed):
        self.name, self.function, self.functions, self.hash = name, None, {0: torch.functions[name].value}, hashed


HASHED = "7f" * 32
STALE = text_of("raise", "to", ["a"], "add.u32 %r0, %r0, 1;").replace("st.global.u32 [%d], %r0;\n", "")  # it only reads


def keep_text(tmp_path, folder, text):
    (tmp_path / "triton" / folder).mkdir(parents=True)
    (tmp_path / "triton" / folder / "raise.ptx").write_text(text, encoding="utf-8")


def raise_two(torch, a, b):
    def function():
        made = torch.ops.add(a, a)
        torch.launch("raise", b, b)
        torch.launch("raise", made, made)
        return made

    return function


def test_kernels_of_triton_tell_by_their_text(torch, tmp_path):
    a, b = tensors(torch, 2, 3)
    keep_text(tmp_path, "OLD", STALE)
    owner = CompiledKernel(torch, "raise")
    made = optimize(torch, raise_two(torch, a, b))
    assert told(made) == (3, 1, 1, 0) and owner and play(torch, made) == 5


def test_kernels_of_torch_compile_tell_by_the_text_in_their_folder(torch, tmp_path):
    a, b = tensors(torch, 2, 3)
    keep_text(tmp_path, "OLD", STALE)
    owner = StaticallyLaunchedCudaKernel(torch, "raise", HASHED)
    assert told(optimize(torch, raise_two(torch, a, b))) == (3, 3, 1, 2)  # nobody has its text
    for folder in (HASHED, base64.b32encode(bytes.fromhex(HASHED)).decode().rstrip("=")):
        keep_text(tmp_path, folder, TEXTS["raise"])
        made = optimize(torch, raise_two(torch, a, b))
        assert told(made) == (3, 1, 1, 0) and owner and play(torch, made) == 5
        shutil.rmtree(tmp_path / "triton" / folder)


def test_an_old_text_of_an_equal_name_proves_nothing(torch, tmp_path):
    a, b = tensors(torch, 2, 3)
    keep_text(tmp_path, "OLD", STALE)
    other = CompiledKernel(torch, "raise", STALE)
    other.function = torch.functions["add"].value  # another function than the one in the graph
    made = optimize(torch, raise_two(torch, a, b))
    assert told(made) == (3, 3, 1, 2) and other and play(torch, made) == 5


def test_a_handle_that_came_again_takes_no_older_text(torch):
    a, b = tensors(torch, 2, 3)
    unloaded, owner = CompiledKernel(torch, "raise", STALE), CompiledKernel(torch, "raise")
    made = optimize(torch, raise_two(torch, a, b))
    assert told(made) == (3, 3, 1, 2) and owner and play(torch, made) == 5  # nobody knows whose it is
    module = ctypes.c_void_p()
    assert ctypes.CDLL("libcuda.so.1").cuFuncGetModule(ctypes.byref(module), torch.functions["raise"]) == 0
    owner.module, unloaded.module = module.value, module.value + 8
    assert told(optimize(torch, raise_two(torch, a, b))) == (3, 1, 1, 0)
    del owner
    gc.collect()
    assert told(optimize(torch, raise_two(torch, a, b))) == (3, 3, 1, 2)


def test_a_pytorch_that_hides_its_graphs_is_refused(torch, monkeypatch):
    monkeypatch.delattr(torch.cuda.CUDAGraph, "raw_cuda_graph")
    with pytest.raises(braid.UnsupportedError, match="takes PyTorch 2.8 or newer"):
        optimize(torch, lambda: None)


def test_a_failure_leaves_pytorch_as_it_was(torch):
    a, = tensors(torch, 2)

    def fail():
        if torch.allocator.records:
            raise RuntimeError("not\nhere")
        return torch.ops.add(a, a)

    with pytest.raises(braid.UnsupportedError, match="PyTorch cannot capture the function: not$"):
        optimize(torch, fail)
    assert torch.allocator.records[-1] is None
    assert optimize(torch, lambda: torch.ops.add(a, a)).outputs is not None


# ---- schemas and tensors of PyTorch itself ----


@pytest.fixture
def real():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its schemas are not tried")
    if not hasattr(torch, "__version__"):
        pytest.skip("PyTorch is not whole: its schemas are not tried")
    return torch


class NoMemory:
    """An allocator that nobody asks."""

    keeps = False

    def has(self, address):
        return False

    def begin(self):
        pass

    def end(self, uses_library, made, draws):
        return []


def record(torch, function):
    """Operations of PyTorch on the CPU, as if each captured a node."""
    from braid import _torch

    nodes = iter(range(1 << 20))
    recorder = _torch.Recorder(lambda: [next(nodes)], NoMemory(), torch.device("cpu"))
    with torch.inference_mode(), recorder:
        function()
    return recorder


def where(tensor):
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()


def test_schemas_tell_reads_and_writes(real):
    a, b, c = (real.ones(4) for _ in range(3))
    found = record(real, lambda: [real.add(a, b, out=c), a.mul_(b), real.cat([b, c])])
    assert [call.name for call in found.calls] == ["aten.add.out", "aten.mul_.Tensor", "aten.cat.default"]
    add, mul, cat = found.calls
    assert (where(a), where(b)) == tuple(add.reads) and set(add.writes) == {where(c)}
    assert mul.reads == [where(b)] and set(mul.writes) == {where(a)}
    assert cat.reads == [where(b), where(c)] and len(cat.writes) == 1 and all(call.is_told for call in found.calls)


def test_views_are_parts_of_their_tensors(real):
    a = real.ones(4, 8)
    found = record(real, lambda: a[:, 2:4].mul_(2))
    call = found.calls[-1]
    assert call.name == "aten.mul_.Tensor" and set(call.writes) == {(a.data_ptr() + 8, 4 * (3 * 8 + 2))}


def test_old_schemas_write_what_they_do_not_mark(real):
    a, mean, var = real.ones(2, 3), real.zeros(3), real.ones(3)
    found = record(real, lambda: real.nn.functional.batch_norm(a, mean, var, training=True))
    written = {address for call in found.calls for address, _ in call.writes}
    assert {mean.data_ptr(), var.data_ptr()} <= written


def test_random_operations_are_known(real):
    a = real.ones(4)
    for function in (lambda: real.rand(4), lambda: real.nn.functional.dropout(a), lambda: a.bernoulli_(), lambda: real.randn_like(a)):
        assert record(real, function).random


def test_operations_whose_memory_is_elsewhere_are_unknown(real):
    a, b = real.ones(8), real.eye(4)
    mask = real.nested.nested_tensor([real.ones(2), real.ones(3)])
    scaled = real.quantize_per_channel(b, real.ones(4), real.zeros(4, dtype=real.int64), 0, real.qint8)
    for function in (lambda: real.as_strided_copy(a[:2], (8,), (1,)), lambda: real.linalg.inv(b), lambda: real.fft.fft(a),
                     lambda: mask * 2, lambda: scaled.clone(), lambda: b.to_sparse(), lambda: real.nn.RNN(4, 4)(b)):
        assert not all(call.is_told for call in record(real, function).calls), function


def test_operators_of_operators_tell_nothing(real):
    a = real.ones(4)
    choice = real.tensor(True)
    assert record(real, lambda: real.cond(choice, real.sin, real.cos, (a,))).calls == []


def test_tensors_of_subclasses_and_other_devices_are_unknown(real):
    class Own(real.Tensor):
        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            return function(*[real.ones(2) if isinstance(arg, cls) else arg for arg in args], **(kwargs or {}))

    own = real.Tensor._make_wrapper_subclass(Own, (2,))
    calls = record(real, lambda: real.add(own, 1)).calls
    assert len(calls) == 1 and not calls[0].is_told
    calls = record(real, lambda: real.ones(2, device="meta").add_(1)).calls
    assert not any(call.is_told for call in calls)
