# SPDX-License-Identifier: Apache-2.0
"""The memory that operations of PyTorch touch while a stream is captured."""
from __future__ import annotations

import ctypes
import dataclasses
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

import torch
from torch import Generator, Tag, Tensor, empty, strided, uint8
from torch.utils._python_dispatch import TorchDispatchMode

from braid._errors import UnsupportedError
from braid._import import Statement
from braid._private_streams import Range

_ATEN = "aten."
# Each touches the tensors that it is given and returns, and memory of its library. Schemas do not mark all that they write.
_COLLECTIVES = ("c10d.", "_c10d_functional.")

# Kernels of these operations may touch memory that is in no tensor of theirs, such as the states of libraries.
_UNTOLD = ("linalg_", "_linalg_", "_fft_", "fft_", "stft", "istft", "_cudnn_rnn", "_thnn_", "lstm", "gru", "rnn_", "quantized_", "miopen_",
           "cudnn_ctc", "_cudnn_ctc", "_ctc_loss", "ctc_loss", "_use_cudnn", "cholesky", "_cholesky", "lu_", "_lu", "triangular_solve",
           "geqrf", "orm", "orgqr", "qr", "svd", "eig", "pinverse", "inverse", "det", "logdet", "slogdet", "nuclear_norm", "_spars",
           "sparse", "_cslt", "resize_", "_resize", "set_", "_efficientzero", "record_stream", "_nested", "nested")
# These read the rest of a storage beside the tensor that they are given.
_BEYOND = ("as_strided_",)
# Arguments that older schemas do not mark as written.
_UNTOLD_WRITES = ("running_mean", "running_var", "noise")
# cuBLAS keeps one workspace for all calls on a stream. A tensor map may hide its address.
_BLAS = ("mm", "addmm", "_addmm", "bmm", "baddbmm", "addbmm", "linear", "matmul", "mv", "addmv", "dot", "vdot", "addr", "_scaled_mm",
         "_grouped_mm", "_scaled_grouped_mm", "_scaled_addmm", "_int_mm", "_foreach_mm", "einsum", "bilinear", "_trilinear", "tensordot",
         "inner", "chain_matmul", "matrix_", "_compute_linear", "cdist", "_cdist", "_euclidean", "conv_tbc", "thnn_conv", "slow_conv",
         "_slow_conv", "cov", "corrcoef", "_dyn_quant_mat", "_mixed_dtypes_linear", "scaled_dot_product", "_scaled_dot_product",
         "_native_multi_head", "_transformer_encoder", "_triton_")


@dataclasses.dataclass
class Call:
    """An operation that captured nodes."""

    name: str
    nodes: List[int]
    reads: List[Range]
    writes: List[Range]
    is_told: bool  # it touches no other memory


class Recorder(TorchDispatchMode):
    """Notes each operation that captures nodes: `find_nodes()` returns those captured since it was last called. `memory`
    tells what PyTorch's allocator did."""

    supports_higher_order_operators = True

    @classmethod
    def is_infra_mode(cls) -> bool:  # compiled code runs as it was compiled, and not operation by operation
        return True

    def __init__(self, find_nodes: Callable[[], List[int]], memory: Any, device: Any):
        super().__init__()
        self.calls: List[Call] = []
        self.random: Set[str] = set()  # operations that may draw numbers
        self._find_nodes, self._memory, self._device = find_nodes, memory, device
        self.outside: Dict[int, Any] = {}  # memory of arguments that the capture has not handed out, by address
        self._collectives: List[Range] = []  # memory that stands for their library's
        self._kept: List[Any] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not hasattr(function, "_schema"):  # an operator of operators: no operation has its nodes
            return function(*args, **kwargs)
        is_random = getattr(Tag, "nondeterministic_seeded", None) in getattr(function, "tags", ())
        is_random = self._check_generators(function, [*_flat(args), *_flat(kwargs)]) or is_random
        self._find_nodes()  # no operation has those until here
        is_collective = str(function).startswith(_COLLECTIVES)
        if is_collective:
            self._order_collectives()
        self._memory.begin()
        reads, writes = _split(function, args, kwargs, self._device)
        if is_collective:
            reads, writes = [], reads + writes + self._collectives
        result = function(*args, **kwargs)
        nodes = self._find_nodes()
        if nodes:
            made = list(_tensors_of(result, self._device))
            writes += _ranges_of(made)
            uses_library = _name_of(function).startswith(_BLAS)
            writes += self._memory.end(uses_library, made, is_random and not uses_library)
            if self._memory.keeps:
                self._kept += made
            if is_random:
                self.random.add(str(function))
            values = [*_flat(args), *_flat(kwargs), *_flat(result)]
            self._keep_outside(values)
            self.calls.append(Call(str(function), nodes, reads, writes, _is_told(function, values, self._device)))
        return result

    def _check_generators(self, function: Any, values: List[Any]) -> bool:
        """Whether it gets a generator, also if no tag tells that it draws. PyTorch's graph advances the device's own. It knows
        others only if the program names them before a capture."""
        found = [value for value in values if isinstance(value, Generator) and value.device.type == "cuda"]
        if any(_handle_of(value) != _handle_of(self._generator()) for value in found):
            raise RuntimeError(f"'{function}' draws from a generator of the program's")
        return bool(found)

    def _generator(self) -> Any:
        return torch.cuda.default_generators[self._device.index]

    def _order_collectives(self) -> None:
        """All of them write one block, so that each rank keeps their order. Otherwise ranks could wait for each other."""
        if not self._collectives:
            self._collectives = [self._memory.hold()]

    def _keep_outside(self, values: List[Any]) -> None:
        """Some of it may have no other owner when the capture is over, such as weights that autocast has converted."""
        for tensor in _tensors_of(values, self._device):
            if _is_plain(tensor):
                storage = tensor.untyped_storage()
                if not self._memory.has(storage.data_ptr()):
                    self.outside[storage.data_ptr()] = storage

    def drop(self) -> None:
        """Lets go of the operations' results."""
        self._kept = []

    def statements(self) -> List[Statement]:
        return [Statement(call.nodes, call.reads, call.writes) for call in self.calls if call.is_told]


def _handle_of(generator: Any) -> Any:
    """PyTorch hands the device's own generator to operations as another object with the same handle."""
    return getattr(generator, "_cdata", generator)


def _name_of(function: Any) -> str:
    name = str(function)
    return name[len(_ATEN):] if name.startswith(_ATEN) else name


def _is_told(function: Any, values: Iterable[Any], device: Any) -> bool:
    """Whether the schema and the tensors say all that the operation touches. Memory of other devices is not followed."""
    if not str(function).startswith((_ATEN, *_COLLECTIVES)) or _name_of(function).startswith(_UNTOLD + _BEYOND):
        return False
    return all(_is_plain(value) and (value.device == device or value.device.type == "cpu")
               for value in values if isinstance(value, Tensor))


def _is_plain(tensor: Tensor) -> bool:
    """Whether its elements are all that it has: the scales of some quantized tensors are tensors of their own."""
    return (type(tensor).__torch_dispatch__ is Tensor.__torch_dispatch__ and tensor.layout is strided
            and not tensor.is_quantized and not tensor.is_nested)


def _split(function: Any, args: Sequence[Any], kwargs: Dict[str, Any], device: Any) -> Tuple[List[Range], List[Range]]:
    """The memory of an operation's arguments, by its schema: read, and written."""
    reads: List[Range] = []
    writes: List[Range] = []
    formals = list(function._schema.arguments)
    by_name = {formal.name: formal for formal in formals}
    given = [*zip(formals, args), *((by_name[name], value) for name, value in kwargs.items() if name in by_name)]
    for formal, value in given:
        is_written = (formal.alias_info is not None and formal.alias_info.is_write) or formal.name in _UNTOLD_WRITES
        (writes if is_written else reads).extend(_ranges_of(_tensors_of(value, device)))
    return reads, writes


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    elif isinstance(value, dict):
        yield from _flat(list(value.values()))
    else:
        yield value


def _tensors_of(value: Any, device: Any) -> Iterator[Tensor]:
    return (item for item in _flat(value) if isinstance(item, Tensor) and item.device == device)


def _ranges_of(tensors: Iterable[Tensor]) -> List[Range]:
    """From the first byte of each to behind its last. A tensor's strides are not negative."""
    found = []
    for tensor in tensors:
        if _is_plain(tensor) and tensor.numel():
            reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
            found.append((tensor.data_ptr(), (reach + 1) * tensor.element_size()))
    return found


# ---- PyTorch's allocator ----

_ROUND = 512  # blocks are multiples of it
MOST_EVENTS = 1 << 20  # older ones are lost
_LONG = 64  # events that are worth a new history
_NUMBER = 1 << 40
_NO_POOL = (_NUMBER, _NUMBER)  # a pool has at most one of both


class History:
    """PyTorch's history of its allocator, of which each call returns the events since the last one. PyTorch hands out all of a
    history, so a long one is ended, and another begun: ending clears it. A read of a pool that does not exist has no blocks."""

    def __init__(self, device: Any):
        self._device, self._num = device, 0

    def __enter__(self) -> History:
        if torch._C._cuda_isHistoryEnabled():
            raise UnsupportedError("PyTorch records the history of its memory for the program, and keeps only one: end it by "
                                   "torch.cuda.memory._record_memory_history(enabled=None)")
        self._begin()
        return self

    def __exit__(self, *failure: Any) -> None:
        torch.cuda.memory._record_memory_history(enabled=None)

    def _begin(self) -> None:
        torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=MOST_EVENTS)
        self._num = len(self._read())  # whether the end has cleared it or not

    def _read(self) -> List[Dict[str, Any]]:
        references = sys.getrefcount(_NUMBER)
        traces = torch._C._cuda_memorySnapshot(_NO_POOL)["device_traces"]
        for _ in range(references - sys.getrefcount(_NUMBER)):  # that a version drops, although a tuple only lends them
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(_NUMBER))
        return list(traces[self._device.index]) if self._device.index < len(traces) else []

    def __call__(self) -> List[Dict[str, Any]]:
        events, before = self._read(), self._num
        if len(events) >= MOST_EVENTS:
            raise RuntimeError(f"PyTorch's allocator has told {len(events)} events at once, and then forgets the first")
        self._num = len(events)
        if self._num >= _LONG:
            torch.cuda.memory._record_memory_history(enabled=None)
            self._begin()
        return events[before:]


class Memory:
    """What the allocator hands out during a capture. Memory that is freed is taken at once, if `keeps`, so that no later
    tensor gets it: two that share memory cannot be used at once. `events()` returns the events since it was last called.
    `library`: memory of libraries that is there before."""

    def __init__(self, events: Callable[[], List[Dict[str, Any]]], keeps: bool, device: Any, library: Sequence[Range] = ()):
        self.blocks: List[Range] = []  # each that was handed out
        self._events, self.keeps, self._device = events, keeps, device
        events()
        self._begins: Set[int] = set()
        self._live: Dict[int, int] = {}
        self._fresh: Dict[int, int] = {}  # since the operation began
        self._library: List[Range] = list(library)
        self._generator: List[Range] = []
        self._plugs: List[Any] = []
        probe = empty(1, dtype=uint8, device=device)
        if not any(event["action"] == "alloc" and event["addr"] == probe.data_ptr() for event in events()):
            raise RuntimeError("PyTorch's allocator does not tell of the memory that it hands out")
        del probe
        events()

    def has(self, address: int) -> bool:
        """Whether a block that it handed out begins there."""
        return address in self._begins

    def begin(self) -> None:
        """Before an operation."""
        self._look()
        self._fresh = {}

    def end(self, uses_library: bool, made: Sequence[Any], draws: bool) -> List[Range]:
        """After an operation that made these tensors: memory that it used besides. If it draws random numbers, the memory that
        stays is the generator's, which no product of matrices uses."""
        self._fresh = {}
        freed = self._look()
        own = {tensor.untyped_storage().data_ptr() for tensor in made if _is_plain(tensor)}
        stay = [(address, size) for address, size in self._fresh.items() if address not in own and self._live.get(address) == size]
        (self._generator if draws else self._library).extend(stay)
        return freed + stay + (self._library if uses_library else [])

    def hold(self) -> Range:
        """A block that no operation gets."""
        self._plugs.append(empty(1, dtype=uint8, device=self._device))
        self._look()
        return self._plugs[-1].data_ptr(), 1

    def _look(self) -> List[Range]:
        """Follows the allocator. Returns blocks that it handed out and took back since."""
        passing: List[Range] = []
        freed: List[int] = []
        for event in self._events():
            if event["action"] not in ("alloc", "free_completed"):
                continue
            address, size = int(event["addr"]), int(event["size"])
            if event["action"] == "alloc":
                self._live[address] = self._fresh[address] = size
                self._begins.add(address)
                self.blocks.append((address, -(-size // _ROUND) * _ROUND))
            elif address in self._live:
                freed.append(self._live.pop(address))
                if address in self._fresh:
                    passing.append((address, size))
        if self.keeps and freed:
            self._plugs += [empty(size, dtype=uint8, device=self._device) for size in sorted(freed, reverse=True)]
            self._events()  # the plugs are no memory of the function
        return passing

    def left(self, outputs: Sequence[Any], live: Iterable[int]) -> List[int]:
        """Blocks of the capture among the live ones that neither these results, nor libraries, nor generators, nor plugs have."""
        own = {tensor.untyped_storage().data_ptr() for tensor in [*outputs, *self._plugs] if _is_plain(tensor)}
        own.update(address for address, _ in [*self._library, *self._generator])
        return sorted(self._begins & set(live) - own)

    def parts(self, cuts: Iterable[Range] = ()) -> List[Range]:
        """The memory as parts that do not overlap. A block that shares bytes with another is one part with it, since an
        address tells no time. `cuts`: parts also end where these ranges begin or end."""
        joined: List[List[int]] = []
        for address, size in sorted(self.blocks):
            if joined and address < joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], address + size)
            else:
                joined.append([address, address + size])
        ends = sorted({end for address, size in cuts for end in (address, address + size)})
        found: List[Range] = []
        at = 0
        for begin, end in joined:
            while at < len(ends) and ends[at] <= begin:
                at += 1
            inside = []
            while at < len(ends) and ends[at] < end:
                inside.append(ends[at])
                at += 1
            found += [(a, b - a) for a, b in zip([begin, *inside], [*inside, end])]
        return found


# ---- the driver ----


_HANDLE = 8  # bytes of one


class Nodes:
    """The nodes that a stream captures."""

    def __init__(self, stream: int):
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._stream, self._told = stream, b""

    def _call(self, name: str, *args: Any) -> None:
        result = getattr(self._cuda, name)(*args)
        if result:
            raise RuntimeError(f"{name} returns {result} while braid.torch.optimize reads a capture")

    def __call__(self) -> List[int]:
        """Those captured since it was last called."""
        status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
        self._call("cuStreamGetCaptureInfo_v2", ctypes.c_void_p(self._stream), ctypes.byref(status), ctypes.byref(number),
                   ctypes.byref(graph), None, None)
        if not graph.value:
            return []
        num = ctypes.c_size_t()
        self._call("cuGraphGetNodes", graph, None, ctypes.byref(num))
        known = len(self._told) // _HANDLE
        if num.value == known:
            return []
        found = (ctypes.c_uint64 * num.value)()
        self._call("cuGraphGetNodes", graph, found, ctypes.byref(num))
        before, self._told = self._told, bytes(found)
        if self._told.startswith(before):  # the driver lists nodes as they were added
            return found[known:]
        return sorted(set(found) - set(memoryview(before).cast("Q")))
