# SPDX-License-Identifier: Apache-2.0
"""Execs: a schedule bound to a device, replayed frame by frame."""
from __future__ import annotations

import asyncio
import contextlib
import ctypes
import dataclasses
import html
import math
import os
import struct
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from braid import _fills
from braid._arguments import Argument, Arguments, check_elements, encode, later_fill_value
from braid._binding import ffi, lib
from braid._calls import Call, check_function, check_result
from braid._checks import check_argument, check_copied, check_queue_call, check_reach
from braid._device import Device, is_ready
from braid._errors import HostCallError, check, make_error, refuse
from braid._forms import Form
from braid._given import Given
from braid._graph import Graph
from braid._handles import Kept, Node, Parameter, Resource
from braid._interrupts import may_poll, poll, raise_interrupt
from braid._lifetime import Hold, Owned, Owner, run_deferred
from braid._memories import MemoryPool
from braid._memory import check_same_elements, whole_array
from braid._options import MODES, ExecOptions, PlanOptions, Size, fill_exec, grid_sizes, read_struct, spell_out
from braid._schedule import Intervals, Schedule
from braid._text import count, string
from braid._timings import Timings, read_intervals, read_timings

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclasses.dataclass(frozen=True)
class ExecInfo:
    """See braid_exec_info; `mode` is a number there."""

    mode: str
    reason: str
    num_streams: int
    num_events: int
    argument_bytes: int
    num_early_starts: int
    num_island_nodes: int
    transient_bytes: int
    unshared_transient_bytes: int
    memory_bytes: int
    num_islands: int
    frames_in_flight: int
    whole_frames: bool
    num_frame_waits: int
    frame_period_ns: int
    frame_alone_ns: int
    frames_reason: str
    num_prefetches: int


@dataclasses.dataclass(frozen=True)
class RunningNode:
    """See braid_running_node; `arguments` are as many words as are known."""

    node: Node
    name: str
    frame: int
    iteration: int
    lane: int
    place: int
    rank: int
    arguments: Tuple[int, ...]


LAST_FRAME = 2**64 - 1  # BRAID_LAST_FRAME


def _all_kept(arguments: Iterable[Argument]) -> Optional[List[Any]]:
    return [argument.keep for argument in arguments if argument.keep is not None] or None


def _runs(pointer: Any, frame: int = LAST_FRAME) -> bool:
    return bool(lib.braid_exec_wait_for(pointer, frame, 0) == lib.BRAID_NOT_READY)


def _read_running(graph: Graph, nodes: Any) -> List[RunningNode]:
    return [RunningNode(Node(graph, node.node), string(node.name), node.frame, node.iteration, node.lane, node.place,
                        node.rank, tuple(node.arguments[0:node.num_words])) for node in nodes]


def _watch(graph: Graph, late: List[int], tell: Optional[Callable[[int, List[RunningNode]], Any]]) -> Callable[..., None]:
    """Keeps late frames for waits: those of Python cannot wait inside C."""
    def watch(frame: int, nodes: Any) -> None:
        late.append(frame)
        if tell is not None:
            check_result(tell(frame, _read_running(graph, nodes)), "function 'on_deadline'")

    return watch


class Exec(Owned):
    """A graph ready to run on a device, or on the members of a group. It keeps what its nodes use: arrays, kernels, functions."""

    @spell_out(ExecOptions)
    def __init__(self, device: Device, graph: Graph, schedule: Optional[Schedule] = None,
                 **how: Unpack[ExecOptions]):
        run_deferred()
        options = ffi.new("braid_exec_options *")
        plan = fill_exec(options, how)
        if not isinstance(device, Device) or not isinstance(graph, Graph):
            raise refuse(f"an exec is made of a device and a graph: Exec(device, graph), and not "
                         f"Exec({type(device).__name__}, {type(graph).__name__})")
        if schedule is not None and set(how) & set(PlanOptions.__annotations__):
            raise refuse("an exec takes a schedule or options of a plan, not both")
        kept = graph._kept
        first = device.members[0]
        check_reach(first, kept)
        tell = how.get("on_frame_end")
        teller = None
        if tell is not None:
            teller = ffi.new_handle(Call(tell, "on_frame_end", kept.failures, "function"))
            options.on_frame_end, options.on_frame_end_user = lib.braid_python_frame_end, teller
        late: List[int] = []  # frames of which no wait has told
        watcher = None
        if options.deadline_ns:
            told = how.get("on_deadline")
            if told is not None:
                check_function(told, "function 'on_deadline'")
            watcher = ffi.new_handle(Call(_watch(graph, late, told), "on_deadline", kept.failures, "function"))
            options.on_deadline, options.on_deadline_user = lib.braid_python_deadline, watcher
        elif how.get("on_deadline") is not None:
            raise refuse("on_deadline is given, and deadline_ns is 0")
        out = ffi.new("braid_exec **")
        pool = how.get("pool")
        if pool is not None and not isinstance(pool, MemoryPool):
            raise refuse(f"the pool of an exec is {pool!r}, which is no MemoryPool")
        lent: Any = contextlib.nullcontext(ffi.NULL) if pool is None else pool._owner
        with device._owner as on, graph._owner as of, lent as shared:
            options.pool = shared
            if schedule is None:
                status = lib.braid_exec_create(on, of, options, out)
            else:
                with schedule._owner as by:
                    options.schedule = by
                    status = lib.braid_exec_create(on, of, options, out)
            check_queue_call(status, kept.queue_calls)
        del plan  # what the options point to
        self._note(first, graph, late)
        self._has_deadline = watcher is not None
        self._keeps_times = bool(how.get("frames_kept"))
        self._places = options.frames_in_flight if options.frames_in_flight > 1 and options.when_full != lib.BRAID_FULL_QUEUES else 0
        self._waits_for_place = how.get("when_full") == "waits"
        # A launch that finds no place is refused before parameters take its rows. These four refuse it afterwards.
        self._is_busy_before_rows = not (options.black_box or options.deadline_ns or kept.ranks or kept.queue_calls)

        def destroy(pointer: Any) -> None:
            lib.braid_exec_destroy(pointer)
            kept.failures.report()  # what no wait has reported; Python prints what finalizers raise

        self._owner = Owner("exec", out[0], destroy, parent=device._owner,
                            kept=(kept, self._given, teller, watcher, [Hold(one) for one in kept.ranks]))
        try:
            for parameter, initial in kept.initial.items():
                check(self._put_param(out[0], parameter, initial))
        except BaseException:
            self.close()
            raise

    @classmethod
    def _of_runner(cls, device: Device, graph: Graph, pointer: Any, runner: Owner) -> Exec:
        """The exec of a runner, which owns it."""
        self = cls.__new__(cls)
        self._note(device, graph, [])
        self._owner = Owner("exec", pointer, lambda pointer: None, parent=runner, kept=(self._kept, self._given))
        return self

    def _note(self, device: Device, graph: Graph, late: List[int]) -> None:
        """As an exec has it that is made without options."""
        self.device, self.graph = device, graph
        self._kept = graph._kept
        self._given = Given()
        self._queue_calls: Dict[int, Call] = {}  # that set_function gave
        self._stream: Any = None
        self._grows = False  # the next launch waits for frames, since scratch grows
        self._frame_number = self._kept.frame_number
        # From reading the number to the launch. Setters do without: a launch may wait for host calls that set values.
        self._numbering = threading.RLock()
        self._late = late
        self._has_deadline = self._keeps_times = self._waits_for_place = self._is_busy_before_rows = False
        self._places = 0

    # ---- frames ----

    def launch(self, stream: Any = None) -> None:
        """Runs one frame, after all earlier work on `stream` and before all later: a braid.Stream, one of
        PyTorch or CuPy, whatever has __cuda_stream__, or an address; None is the device's default stream.
        It does not wait for the device (unless when_full says so), so a program that can run ahead waits now and then.
        While the program captures the stream as a CUDA graph, the plan becomes part of that graph: see
        docs/book/from-cuda-graphs.md. The exec stays open as long as the graph is launched."""
        first = self.num_launched
        status = self._launch(stream, self._launch_one)
        if status != lib.BRAID_OK:
            self._check_queue_call(status)
        elif self.num_launched == first:  # it was captured
            self._given.hold()
        raise_interrupt()  # a queue call's

    def launch_many(self, num_frames: int, stream: Any = None,
                    rows: Optional[Mapping[Parameter, Iterable[Any]]] = None) -> None:
        """Runs so many frames, as so many launches would: with one launch of the driver's for many of them where
        the whole graph is an island. `rows` has for each of its parameters a value for each frame; afterwards the
        parameter has the last."""
        encoded = [(self._encode_rows(parameter, values), parameter._handle) for parameter, values in (rows or {}).items()]
        kept = {(-1, handle[0]): _all_kept(values) for values, handle in encoded if num_frames}
        first = self.num_launched
        status = self._given.give(kept, lambda: self._launch(
            stream, lambda pointer, on: self._launch_all(pointer, on, num_frames, encoded)), lambda: self.num_launched,
            lambda status: status == lib.BRAID_BUSY and self._is_busy_before_rows and self.num_launched == first)
        if status != lib.BRAID_OK:
            self._check_queue_call(status)
        raise_interrupt()

    def _encode_rows(self, parameter: Parameter, values: Iterable[Any]) -> List[Argument]:
        self._check_parameter(parameter)
        if isinstance(values, (bytes, bytearray, str)) or not isinstance(values, Iterable):
            raise refuse(f"rows of parameter '{parameter.name}' are a sequence of values, and no {type(values).__name__}")
        return [self._value_of(parameter, value) for value in values]

    def _launch_all(self, pointer: Any, stream: Any, num_frames: int,
                    rows: Sequence[Tuple[List[Argument], Tuple[int, int]]]) -> Any:
        packed = [(handle, b"".join(value.data for value in values), len(values)) for values, handle in rows]
        if self._frame_number is not None:
            first = int(lib.braid_exec_get_num_launched(pointer))
            numbers = struct.pack(f"={num_frames}Q", *range(first, first + num_frames))
            packed.append((self._frame_number, numbers, num_frames))
        data = [ffi.from_buffer(values) for _, values, _ in packed]
        array = ffi.new("braid_parameter_rows[]", [(handle, values, num) for (handle, _, num), values in zip(packed, data)])
        return lib.braid_exec_launch_many(pointer, stream, num_frames, array, len(packed))

    def _launch_one(self, pointer: Any, stream: Any) -> Any:
        if self._frame_number is not None:
            number = Argument(struct.pack("=Q", int(lib.braid_exec_get_num_launched(pointer))))
            check(self._put_param(pointer, self._frame_number, number))
        return lib.braid_exec_launch(pointer, stream)

    def _launch_numbered(self, pointer: Any, stream: Any, call: Callable[[Any, Any], Any]) -> int:
        if self._frame_number is None:
            return int(call(pointer, stream))
        # C refuses host calls here. They must not wait for a launch that may wait for them.
        status = int(lib.braid_exec_launch_many(pointer, stream, 0, ffi.NULL, 0))
        if status != lib.BRAID_OK:
            return status
        with self._numbering:
            return int(call(pointer, stream))

    def _launch(self, stream: Any, call: Callable[[Any, Any], Any]) -> int:
        if stream is not None:
            stream = self.device.wrap_stream(stream)
        with self._owner as pointer:
            if len(self._given) > 64:
                self._forget(pointer)
            next_frame = int(lib.braid_exec_get_num_launched(pointer))
            if self._waits_for_place and 0 < self._places <= next_frame:
                self._poll(lambda: not _runs(pointer, next_frame - self._places))
            if self._grows:
                self._poll_all(pointer)
                self._grows = False
            if stream is None:
                return self._launch_numbered(pointer, ffi.NULL, call)
            self._stream = stream  # lives as long as its frames may
            with stream._owner as on:
                return self._launch_numbered(pointer, on, call)

    def wait(self, timeout: Optional[float] = None) -> None:
        """Blocks until the last launch has ended, or for `timeout` seconds. Raises HostCallError where host calls of
        the graph raised since the last wait, and DeviceError where work on the device failed. If the time passes,
        TimeoutError is raised. KeyboardInterrupt leaves a wait at once. In both cases the frames go on, and can be
        waited for again. Without `timeout`, it also raises TimeoutError once for each late frame (`deadline_ns`)."""
        replaced = self._given.replaced()
        with self._owner as pointer:
            if timeout is None:
                self._poll_all(pointer, lambda: self._late)
                self._tell_late(pointer)
                status = lib.braid_exec_wait(pointer)
            else:
                self._poll(lambda: not _runs(pointer), timeout)
                limit = int(min(max(timeout, 1e-9), 1e9) * 1e9)
                status = lib.braid_exec_wait_for(pointer, LAST_FRAME, 1 if may_poll() else limit)
        if status == lib.BRAID_OK:
            self._given.drop(replaced)
        self._kept.failures.report()
        check(status)

    async def wait_async(self, timeout: Optional[float] = None) -> None:
        """As wait, for programs of asyncio: other tasks run meanwhile."""
        begin, pause = time.perf_counter(), 50e-6
        while not self._is_over() and (not self._late if timeout is None else time.perf_counter() - begin < timeout):
            await asyncio.sleep(pause)
            pause = min(2 * pause, 2e-3)
        self.wait(None if timeout is None else max(0.0, timeout - (time.perf_counter() - begin)))

    def _is_over(self) -> bool:
        """Whether nothing is left to wait for; a failure is told by the wait."""
        self._kept.failures.raise_interrupt()
        with self._owner as pointer:
            return not _runs(pointer)

    def wait_frame(self, frame: int) -> None:
        """Blocks until a frame, counted from 0 in launch order, has ended. Raises as wait does."""
        with self._owner as pointer:
            num = int(lib.braid_exec_get_num_launched(pointer))
            self._poll(lambda: not _runs(pointer, frame)
                       or any(late <= frame for late in self._late))
            self._tell_late(pointer, frame)
            status = lib.braid_exec_wait_for(pointer, frame, 2**64 - 1)
        if status == lib.BRAID_OK:
            self._given.drop_until(min(frame + 1, num))
        self._kept.failures.report()
        check(status)

    def _poll(self, is_over: Callable[[], Any], timeout: float = math.inf) -> None:
        """A wait ends at once also where a host call has raised KeyboardInterrupt."""
        def look() -> bool:
            self._kept.failures.raise_interrupt()
            return bool(is_over())

        poll(look, timeout, self._has_deadline)

    def _tell_late(self, pointer: Any, last: int = LAST_FRAME) -> None:
        late = [frame for frame in self._late if frame <= last]
        del self._late[:len(late)]  # they are in order
        if late and lib.braid_exec_wait_for(pointer, last, 1) == lib.BRAID_TIMEOUT:
            error = make_error(lib.BRAID_TIMEOUT)
            error.args = (f"late: {count(len(late), 'frame')} from {late[0]} on; {error}",)
            raise error

    def _poll_all(self, pointer: Any, or_else: Callable[[], Any] = bool) -> None:
        """Before C waits for all frames. If another thread launches meanwhile, C waits for those from before."""
        num = lib.braid_exec_get_num_launched(pointer)
        self._poll(lambda: not _runs(pointer)
                   or lib.braid_exec_get_num_launched(pointer) != num or or_else())

    @property
    def num_launched(self) -> int:
        """How many have been launched."""
        with self._owner as pointer:
            return int(lib.braid_exec_get_num_launched(pointer))

    @property
    def done(self) -> bool:
        """Whether the last launch has ended."""
        with self._owner as pointer:
            return is_ready(lib.braid_exec_wait_for(pointer, LAST_FRAME, 0))

    def iterations(self, loop: Node) -> int:
        """How many iterations of a loop the last frame ran, once it has ended."""
        num = ffi.new("uint64_t *")
        with self._owner as pointer:
            check(lib.braid_exec_get_iterations(pointer, self.graph._handle(loop, "node"), num))
        return int(num[0])

    def cuda_graph(self) -> int:
        """Makes the CUDA driver's graph of the plan, with the values set so far: the address of a CUgraph, which
        belongs to the exec. The program instantiates and launches it, or adds it to a graph of its own."""
        graph = ffi.new("void **")
        with self._owner as pointer:
            status = lib.braid_exec_make_cuda_graph(pointer, graph)
        if status != lib.BRAID_OK:
            self._check_queue_call(status)
        self._given.hold()
        return int(ffi.cast("uintptr_t", graph[0]))

    def running(self) -> List[RunningNode]:
        """The nodes that run now, of an exec made with `black_box`. Any thread may ask."""
        nodes, num = ffi.new("braid_running_node[64]"), ffi.new("size_t *")
        with self._owner as pointer:
            check(lib.braid_exec_get_running(pointer, nodes, len(nodes), num))
            return _read_running(self.graph, nodes[0:min(num[0], len(nodes))])

    def cancel(self) -> bool:
        """Ends the frames that were launched, of an exec made with `black_box`; whether nothing of them still runs."""
        with self._owner as pointer:
            return is_ready(lib.braid_exec_cancel(pointer))

    def capture(self, path: Optional[Union[str, os.PathLike[str]]] = None) -> int:
        """Writes the next frame, of an exec made with `capture`, to a file, and returns the file's size: see
        braid_exec_save_capture. Without `path` it only returns the size."""
        num = ffi.new("uint64_t *")
        with self._owner as pointer:
            check(lib.braid_exec_save_capture(pointer, ffi.NULL if path is None else os.fsencode(path), num))
        return int(num[0])

    def run(self, frames: int = 1, stream: Any = None) -> None:
        """Launches so many frames on `stream`, or the default stream, and waits for them."""
        if frames < 0:
            raise refuse(f"an exec runs 0 frames and more, not {frames}")
        for _ in range(frames):
            self.launch(stream)
        self.wait()

    # ---- what changes from frame to frame ----

    def set_arg(self, node: Node, index: int, value: Any) -> None:
        """Replaces an argument of a kernel node for later launches. Frames in flight keep theirs."""
        use = self._kept.kernels.get(node.index) if node.graph is self.graph else None
        if use is None:
            raise refuse(f"node '{node.name}' is no kernel of this exec's graph")
        if not 0 <= index < len(use.begins) - 1:
            raise refuse(f"kernel '{node.name}' has {len(use.begins) - 1} arguments, and no argument {index}")
        type_ = use.kernel.types[index] if use.kernel.types else None
        where = f"argument {index} of kernel '{node.name}'"
        arguments = type_.encode(value, where) if isinstance(type_, Form) else [encode(value, type_, where)]
        for argument in arguments:
            check_argument(self.device, argument, f"kernel '{node.name}' is given", index)
        packed, kept = Arguments(arguments), _all_kept(arguments)
        handle = self.graph._handle(node, "node")
        for word, value in enumerate(packed.array, use.begins[index]):
            self._give({(node.index, word): kept},
                       lambda pointer: int(lib.braid_exec_set_arg(pointer, handle, word, value)))

    def set_parameter(self, parameter: Parameter, value: Any) -> None:
        """Gives a parameter another value, for later launches."""
        argument = self._value_of(parameter, value)
        self._give({(-1, parameter._handle[0]): argument.keep},
                   lambda pointer: self._put_param(pointer, parameter._handle, argument))

    def _check_parameter(self, parameter: Parameter) -> None:
        if not isinstance(parameter, Parameter) or parameter.graph is not self.graph:
            raise refuse(f"{parameter!r} is no parameter of this exec's graph")

    def _value_of(self, parameter: Parameter, value: Any) -> Argument:
        self._check_parameter(parameter)
        argument = encode(value, parameter.type, f"parameter '{parameter.name}'")
        if len(argument.data) != len(parameter._initial.data):
            raise refuse(f"parameter '{parameter.name}' has {len(parameter._initial.data)} bytes, and is given "
                         f"{len(argument.data)}")
        for type_, where in self._kept.pointers.get(parameter._handle, ()):
            check_elements(argument.span, type_, f"parameter '{parameter.name}', which is {where},")
        for typestr, copy in self._kept.copied.get(parameter._handle, ()):
            check_same_elements(copy, typestr, argument.span.copied if argument.span else "")
        given = f"parameter '{parameter.name}' is given"
        if parameter._handle in self._kept.arguments:
            check_argument(self.device, argument, given, None)
        else:
            check_copied(self.device, argument.span, given)
        return argument

    def _put_param(self, pointer: Any, parameter: Tuple[int, int], argument: Argument) -> int:
        handle = ffi.new("braid_parameter *", parameter)[0]
        return int(lib.braid_exec_set_parameter(pointer, handle, ffi.from_buffer(argument.data)))

    def set_grid(self, node: Node, grid: Size) -> None:
        """Gives a kernel node another grid, in blocks; with `grid_from`, another largest one. With a 0 in it the node
        does nothing."""
        numbers = grid_sizes(f"the grid of kernel '{node.name}'", grid)
        self._set(node, lib.BRAID_TARGET_GRID, ffi.new("braid_dim3 *", numbers))

    def set_copy(self, node: Node, to: Any = None, source: Any = None, nbytes: Optional[int] = None) -> None:
        """Gives a copy another target, source and size. Without `nbytes` all of both is copied, which must be
        as long as each other."""
        first = self._kept.copies.get(node.index) if node.graph is self.graph else None
        if first is None:
            raise refuse(f"node '{node.name}' is no copy of this exec's graph")
        spans = [None if array is None else whole_array(array, f"the {what} of copy '{node.name}'")
                 for array, what in ((to, "target"), (source, "source"))]
        places = [(node.index, end) for end in range(2)]
        sizes_before = [min(size for size, _ in self._given.at(place, (size, None))) for place, size in zip(places, first.sizes)]
        typestrs = [first.typestr if span is None else span.copied for span in spans]
        check_same_elements(f"copy '{node.name}'", *typestrs)
        for typestr in typestrs:
            check_same_elements(f"copy '{node.name}'", first.typestr, typestr)
        target, origin = (had if span is None else span.nbytes for span, had in zip(spans, sizes_before))
        if nbytes is None and target != origin:
            raise refuse(f"copy '{node.name}' is from {origin} bytes to {target}: give nbytes")
        size = target if nbytes is None else nbytes
        if not 0 < size <= min(target, origin):
            raise refuse(f"copy '{node.name}' of {size} bytes is from {origin} bytes to {target}")
        if spans[0] is not None and spans[0].readonly:
            raise refuse(f"the target of copy '{node.name}' is {spans[0].kind} that is read-only")
        addresses = []
        for span in spans:
            check_copied(self.device, span, f"copy '{node.name}' is given")
            addresses.append(ffi.NULL if span is None else ffi.cast("void *", span.address))
        kept = {place: (span.nbytes, span.keep) for place, span in zip(places, spans) if span is not None}
        self._set(node, lib.BRAID_TARGET_COPY, ffi.new("braid_copy_values *", (*addresses, size)), kept)

    def set_fill(self, node: Node, value: Any, to: Any = None) -> None:
        """Gives a fill another value, and another array to set all elements of."""
        use = self._kept.fills.get(node.index) if node.graph is self.graph else None
        if use is None:
            raise refuse(f"node '{node.name}' is no fill of this exec's graph")
        span = None if to is None else whole_array(to, f"the target of fill '{node.name}'")
        if span is not None and span.readonly:
            raise refuse(f"the target of fill '{node.name}' is {span.kind} that is read-only")
        if span is not None and span.nbytes % use.value_bytes:
            raise refuse(f"fill '{node.name}' sets {use.value_bytes} bytes at once, and is given {span.nbytes}")
        number = later_fill_value(value, span.typestr if span else use.typestr, use.value_bytes, f"fill '{node.name}'")
        check_copied(self.device, span, f"fill '{node.name}' is given")
        if use.value_bytes == _fills.BYTES:
            self._set_wide_fill(node, number, to, span)
            return
        to_address = ffi.cast("void *", span.address) if span else ffi.NULL
        num_values = span.nbytes // use.value_bytes if span else 0
        self._set(node, lib.BRAID_TARGET_FILL, ffi.new("braid_fill_values *", (to_address, num_values, number)),
                  {(node.index, 0): span.keep} if span else None)

    def _set_wide_fill(self, node: Node, value: int, to: Any, span: Any) -> None:
        if span is None:
            self.set_arg(node, 1, ctypes.c_uint64(value))
            return
        num_values = span.nbytes // _fills.BYTES
        for index, argument in enumerate(_fills.arguments(to, value, num_values)):
            self.set_arg(node, index, argument)
        self.set_grid(node, _fills.grid(num_values))

    def set_function(self, node: Node, function: Callable[..., Any]) -> None:
        """Gives a host or queue call another function. In a CUDA graph the next launches call that of a
        queue call under capture; it must queue the same work with other parameters."""
        kind = self._kept.calls.get(node.index) if node.graph is self.graph else None
        if kind is None:
            raise refuse(f"node '{node.name}' is no call of this exec's graph")
        if kind.endswith("with memory"):
            raise refuse(f"call '{node.name}' is handed memory of the exec: it keeps its function")
        call = Call(function, node.name, self._kept.failures, f"{kind} call")
        user = ffi.new_handle(call)
        self._set(node, lib.BRAID_TARGET_USER, ffi.new("void **", user), {(node.index, 0): user})
        if kind == "graph":
            self._queue_calls[node.index] = call

    def set_enabled(self, node: Node, enabled: bool) -> None:
        """Whether a node does its work in later launches. What a disabled one would have written keeps what it
        had; its edges stay."""
        self._set(node, lib.BRAID_TARGET_ENABLED, ffi.new("bool *", enabled))

    def set_times(self, loop: Node, times: int) -> None:
        """How many iterations of a loop run at most in later launches."""
        self._set(loop, lib.BRAID_TARGET_TIMES, ffi.new("uint64_t *", times))

    def _set(self, node: Node, target: int, value: Any, kept: Optional[Mapping[Tuple[int, int], Any]] = None) -> None:
        handle = self.graph._handle(node, "node")
        self._give(kept or {}, lambda pointer: int(lib.braid_exec_set(pointer, handle, target, 0, value)))

    def _give(self, kept: Mapping[Tuple[int, int], Any], call: Callable[[Any], int]) -> None:
        """By a call of C that takes all or nothing."""
        with self._owner as pointer:
            check(self._given.give(kept, lambda: call(pointer), lambda: int(lib.braid_exec_get_num_launched(pointer)),
                                   lambda status: True))

    def set_external(self, node: Node, value: int) -> None:
        """Gives a node that waits for a timeline or word, or signals one, another value for later launches."""
        handle = self.graph._handle(node, "node")
        self._give({}, lambda pointer: int(lib.braid_exec_set_external(pointer, handle, value)))

    def set_scratch(self, scratch: Resource, nbytes: int) -> None:
        """Gives scratch more bytes for later launches, of which the first waits for the exec's frames in flight. What
        a function is handed of it stays as long as it was declared."""
        with self._owner as pointer:
            self._grows = True
            check(lib.braid_exec_set_scratch(pointer, self.graph._handle(scratch, "resource"), nbytes))

    def _check_queue_call(self, status: int) -> None:
        check_queue_call(status, [*self._kept.queue_calls, *self._queue_calls.values()])

    def _forget(self, pointer: Any) -> None:
        """Lets go of what frames do not use any more, as far as that is known without a wait."""
        replaced, num = self._given.replaced(), int(lib.braid_exec_get_num_launched(pointer))
        if lib.braid_exec_wait_for(pointer, LAST_FRAME, 0) == lib.BRAID_OK:
            self._given.drop(replaced)
        elif self._places:
            self._given.drop_until(num - self._places)  # a launch in the place of a frame comes behind its end

    # ---- how long it takes ----

    def timings(self) -> Timings:
        """What the last frames took, of an exec made with `frames_kept`: of nodes, lanes and waits. Waits for the last
        launch."""
        with self._owner as pointer:
            self._poll_all(pointer)
        return read_timings(self)

    def intervals(self) -> Intervals:
        """When each node ran in the frames that are kept, the oldest first: what Schedule.svg and the like draw."""
        with self._owner as pointer:
            self._poll_all(pointer)
        return read_intervals(self)

    def measure(self, num_frames: int = 0) -> None:
        """Runs so many frames (0: as many as are kept), of an exec made with `frames_kept`, and gives the nodes of its
        graph the median of their times as costs, for later plans."""
        with self._owner as pointer, self.graph._owner as graph:
            status = lib.braid_exec_measure(pointer, graph, num_frames)
        self._check_queue_call(status)
        self._kept.failures.report()

    # ---- what there is ----

    @property
    def schedule(self) -> Schedule:
        """The plan that it runs; as long as the exec is open."""
        return Schedule._of_exec(self)

    @property
    def info(self) -> ExecInfo:
        struct = ffi.new("braid_exec_info *")
        with self._owner as pointer:
            lib.braid_exec_get_info(pointer, struct)
        info = read_struct(ExecInfo, struct)
        modes = {number: name for name, number in MODES.items()}
        return dataclasses.replace(info, mode=modes[struct.mode])

    def report(self) -> str:
        """What there is to know of it, in a few lines: how it is played and why, the plan and what limits it, its
        memory, and of one made with `frames_kept` which nodes took longest."""
        info, plan = self.info, self.schedule
        planned = plan.info
        lines = [f"{self!r}: {info.mode}{' (' + info.reason + ')' if info.reason else ''}",
                 f"plan: {count(planned.num_lanes, 'lane')}, {count(planned.num_waits, 'wait')}, "
                 f"{planned.makespan_ns / 1e3:,.3f} us, and no plan is shorter than {planned.bound_ns / 1e3:,.3f} us",
                 plan.explain(),
                 f"frames in flight: {info.frames_in_flight}{' (' + info.frames_reason + ')' if info.frames_reason else ''}",
                 f"memory: {info.memory_bytes:,} bytes of the device, {info.transient_bytes:,} of them transient"]
        if self._keeps_times and self.num_launched:
            timings = self.timings()
            longest = sorted(timings.nodes, key=lambda one: -one.time.median_ns)[:5]
            lines.append(f"a frame took {timings.frame.median_ns / 1e3:,.3f} us, the longest nodes " + ", ".join(
                f"'{one.node.name}' {one.time.median_ns / 1e3:,.3f} us" for one in longest))
        return "\n".join(lines)

    def report_html(self, path: Optional[Union[str, os.PathLike[str]]] = None) -> str:
        """The report as a page for browsers, with the plan as a picture. An exec made with `frames_kept` that has run
        frames shows the kept ones as they were, and a table of times. With a `path` the page is written there, too."""
        title = html.escape(f"{self!r}")
        parts = [f"<pre>{html.escape(self.report())}</pre>"]
        if self._keeps_times and self.num_launched:
            parts += [self.schedule.svg("the last frames", self.intervals()), self.timings()._repr_html_()]
        else:
            parts.append(self.schedule.svg("the plan"))
        page = (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>{title}</title></head>\n'
                f"<body><h1>{title}</h1>\n" + "\n".join(parts) + "\n</body></html>\n")
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _repr_svg_(self) -> Optional[str]:
        return None if self._owner.closed else self.schedule._repr_svg_()

    def close(self) -> None:
        """Waits for this exec's frames, then frees it. Raises HostCallError where a wait would have. If
        KeyboardInterrupt ends the wait, the exec stays open."""
        if not self._owner.closed:
            with self._owner as pointer:
                self._poll_all(pointer)
        super().close()

    def __enter__(self) -> Exec:
        return self

    def __exit__(self, type_: Any, *what: Any) -> None:
        try:
            self.close()
        except HostCallError:
            if type_ is None:  # else what happened first is told
                raise

    def __repr__(self) -> str:
        return "<braid.Exec, closed>" if self._owner.closed else \
            f"<braid.Exec of {count(len(self.schedule._nodes), 'node')} on {self.device.backend}>"
