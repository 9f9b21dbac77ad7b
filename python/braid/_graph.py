# SPDX-License-Identifier: Apache-2.0
"""Graphs: nodes, and what each touches. No device is needed."""
from __future__ import annotations

import bisect
import contextlib
import ctypes
import itertools
import os
from typing import (TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterator, List, Literal, Optional, Sequence, Tuple,
                    Union)

from braid import _fills
from braid._arguments import Argument, Arguments, check_alignment, check_elements, check_kind, encode, fill_value, is_pointer, size_of
from braid._binding import ffi, lib
from braid._calls import Call, Shape, cpu_call_with_memories, host_call_with_memory, queue_call_with_memory
from braid._describe import Description, End, unwrap
from braid._errors import check, refuse
from braid._forms import Form
from braid._handles import CopyUse, Declared, FillUse, KernelUse, Kept, Node, Parameter, Resource, Rows
from braid._kernel import Kernel
from braid._lifetime import Hold, Owner, run_deferred
from braid._memory import (Pointer, PointerTo, Span, as_list, check_same_elements, copied_part, copied_type, describe,
                           name_elements, name_fields, whole_array)
from braid._notebook import MOST_DRAWN, dag_svg
from braid._options import TARGETS, CodeUse, CostModel, NodeOptions, PlanOptions, Size, Target, choose, grid_sizes, place_number, sizes, spell_out
from braid._ranks import Communications
from braid._text import capture

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braid._device import Device
    from braid._memories import Memory
    from braid._schedule import Schedule


class Graph(Communications):
    """A DAG of work, built by adding nodes that say what they read and write. Edges follow from that."""

    def __init__(self) -> None:
        run_deferred()
        out = ffi.new("braid_graph **")
        check(lib.braid_graph_create(out))
        self._note(out[0], lib.braid_graph_destroy)

    @classmethod
    def _of_import(cls, pointer: Any, owner: Owner, hold: Hold) -> Graph:
        """The graph of an import, which owns it."""
        self = cls.__new__(cls)
        self._note(pointer, lambda pointer: None, owner)
        self._kept.things.append(hold)
        return self

    def _note(self, pointer: Any, destroy: Callable[[Any], Any], parent: Optional[Owner] = None) -> None:
        self._kept = Kept()
        self._owner = Owner("graph", pointer, destroy, parent=parent, kept=self._kept)
        self._wholes: Dict[Tuple[int, int], Declared] = {}
        self._begins: List[int] = []  # buffers' begins, sorted
        self._longest: Dict[int, Declared] = {}  # the longest buffer that begins there
        self._parts: Dict[Tuple[int, int, int], Declared] = {}
        self._raw_kernels: Dict[int, Kernel] = {}

    # ---- resources ----

    def buffer(self, array: Any, name: Optional[str] = None) -> Resource:
        """Declares the memory of an array. Nodes may name the array itself as well. Of a view, the memory
        that it shows is declared, and the view is a part of that."""
        span = describe(array)
        known = self._find(span)
        if name is not None and known is not None:
            raise refuse(f"buffer '{name}': the memory of this array is declared already, as '{known.name}'")
        return Resource(self, self._declared(span, name))

    def device_buffer(self, device: Device, content: Any, name: Optional[str] = None) -> Memory:
        """Allocates memory of a device, copies an array there, and declares the memory as a buffer. Nodes take it
        like an array."""
        from braid._device import Device
        from braid._memories import Memory

        name = name or f"array {len(self._wholes)}"
        if not isinstance(device, Device):
            raise refuse(f"buffer '{name}': {device!r} is no device")
        span = whole_array(content, f"the content of buffer '{name}'")
        memory, out = ffi.new("void **"), ffi.new("braid_resource *")
        with device._owner as pointer:
            check(lib.braid_graph_add_device_buffer(self._pointer, pointer, name.encode(),
                                                    ffi.cast("void *", span.address), span.nbytes, memory, out))
        made = Memory._made(device, memory[0], span.nbytes)
        self._note_buffer(describe(made), name, out)
        return made

    def range(self, buffer: Resource, offset: int, nbytes: int) -> Resource:
        """A part of a buffer: an access through it touches those bytes only."""
        self._handle(buffer, "resource")
        return Resource(self, self._add_range(buffer._declared, offset, nbytes))

    def resource(self, name: str) -> Resource:
        """Declares something without bytes: a list, an allocator, the state of a generator, scratch."""
        out = ffi.new("braid_resource *")
        check(lib.braid_graph_add_resource(self._pointer, name.encode(), out))
        return Resource(self, Declared(name, (out.index, out.graph)))

    def slots(self, name: str, num_slots: int) -> Resource:
        """Declares something that at most `num_slots` nodes hold at once, each by `excludes=`. Nodes get slots in turn, in
        the order of adding."""
        out = ffi.new("braid_resource *")
        check(lib.braid_graph_add_slots(self._pointer, name.encode(), num_slots, out))
        return Resource(self, Declared(name, (out.index, out.graph)))

    def set_home(self, resource: Resource, place: Union[int, Literal["everywhere"]]) -> None:
        """Says on which of several devices a buffer or resource lies, from 1; at first on the first. "everywhere": all
        reach it, and it is never copied."""
        number = place_number(place, f"the home of '{resource.name}'")
        check(lib.braid_graph_set_home(self._pointer, self._handle(resource, "resource"), number))

    def output(self, *things: Any) -> None:
        """Declares outputs: arrays, buffers, parts of buffers, or resources. Once a graph has outputs, nodes whose
        results reach none are left out of plans and launches."""
        for thing in things:
            check(lib.braid_graph_set_output(self._pointer, self._handle_of(thing)))

    def transient(self, name: str, nbytes: int = 0, alignment: int = 0, *, shape: Optional[Size] = None,
                  dtype: Any = None) -> Resource:
        """Declares a buffer that lives within a frame. Kernels take it as an argument, copies and fills as an
        end, calls as `user`; execs give it memory, which it may share with others that live at other times. Its size
        is `nbytes`, or that of an array of `shape` and `dtype`."""
        out = ffi.new("braid_resource *")
        typed = self._typed(name, nbytes, shape, dtype)
        check(lib.braid_graph_add_transient(self._pointer, name.encode(), typed.nbytes, alignment, out))
        return Resource(self, typed._replace(handle=(out.index, out.graph), alignment=alignment or 256))

    def scratch(self, name: str, nbytes: int = 0, alignment: int = 0, *, shape: Optional[Size] = None,
                dtype: Any = None) -> Resource:
        """Declares bytes, or an array of `shape` and `dtype`, that each node which takes them as an argument has for
        itself while it runs, and finds anything in. No access is declared to them."""
        out = ffi.new("braid_resource *")
        typed = self._typed(name, nbytes, shape, dtype)
        check(lib.braid_graph_add_scratch(self._pointer, name.encode(), typed.nbytes, alignment, out))
        return Resource(self, typed._replace(handle=(out.index, out.graph), alignment=alignment or 256, private=True))

    @staticmethod
    def _typed(name: str, nbytes: int, shape: Optional[Size], dtype: Any) -> Declared:
        """What is known of memory before C knows it."""
        if shape is None and dtype is None:
            return Declared(name, (0, 0), nbytes=nbytes)
        if shape is None or dtype is None or nbytes:
            raise refuse(f"'{name}' has a size in bytes, or a shape and a dtype")
        import numpy

        sizes_of = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        kind, num = numpy.dtype(dtype), 1
        for size in sizes_of:
            num *= size
        if kind.hasobject or min(sizes_of, default=1) < 0:
            raise refuse(f"'{name}' has the shape {shape} and the dtype {kind}: an array of plain elements is meant")
        try:
            fields = name_fields(kind.descr)
        except ValueError:  # its fields overlap, or stand in another order: arrays do not tell them either
            fields = ""
        return Declared(name, (0, 0), nbytes=num * kind.itemsize, typestr=kind.str, shape=sizes_of,
                        copied=copied_type(kind.str, fields))

    def versioned(self, name: str, nbytes: int = 0, num_versions: int = 0, *, arrays: Sequence[Any] = (),
                  shape: Optional[Size] = None, dtype: Any = None) -> Resource:
        """Declares a buffer of 2 to 16 memories, which frames have in turn: `arrays` of as many bytes each, or
        else execs allocate them, as zeros, of `nbytes` or for an array of `shape` and `dtype`. Nodes take it as they take transient ones; see earlier()."""
        spans = [whole_array(array, f"version {i} of '{name}'") for i, array in enumerate(arrays)]
        if spans and (len({span.nbytes for span in spans}) > 1 or nbytes not in (0, spans[0].nbytes)
                      or num_versions not in (0, len(spans))):
            raise refuse(f"'{name}' has versions of {', '.join(str(span.nbytes) for span in spans)} bytes: give "
                         "arrays alone, each as long as the others")
        if any(span.readonly for span in spans):
            raise refuse(f"'{name}' has a version that is read-only")
        addresses = ffi.new("void *[]", [ffi.cast("void *", span.address) for span in spans]) if spans else ffi.NULL
        if spans:
            typed = Declared(name, (0, 0), nbytes=spans[0].nbytes, typestr=spans[0].typestr, copied=spans[0].copied)
        else:
            typed = self._typed(name, nbytes, shape, dtype)
        out = ffi.new("braid_resource *")
        check(lib.braid_graph_add_versioned_buffer(self._pointer, name.encode(), addresses,
                                                   len(spans) or num_versions, typed.nbytes, out))
        self._kept.things.extend(span.keep for span in spans)
        alignment = min([256, *(span.address & -span.address for span in spans)])
        return Resource(self, typed._replace(handle=(out.index, out.graph), alignment=alignment))

    def earlier(self, versioned: Resource, frames_before: int = 1) -> Resource:
        """What the frame so many frames before has left in a versioned buffer: kernels take and read it as
        any other resource."""
        out = ffi.new("braid_resource *")
        check(lib.braid_graph_add_earlier_version(self._pointer, self._handle(versioned, "resource"),
                                                  frames_before, out))
        of = versioned._declared
        return Resource(self, of._replace(name=f"{of.name}, {frames_before} before", handle=(out.index, out.graph)))

    def _find(self, span: Span) -> Optional[Declared]:
        whole = self._wholes.get((span.whole_begin, span.whole_end))
        if whole is not None:
            return whole
        at = bisect.bisect_right(self._begins, span.begin)  # buffers do not overlap, or planning refuses them
        around = self._longest[self._begins[at - 1]] if at else None
        return around if around is not None and span.end <= around.end else None

    def _whole_of(self, span: Span, name: Optional[str] = None) -> Declared:
        if span.begin == span.end:
            raise refuse(f"{'buffer ' + repr(name) if name else span.kind} is empty: a buffer has at least one byte")
        whole = self._find(span)
        return whole if whole is not None else self._add_buffer(span, name or f"array {len(self._wholes)}")

    def _declared(self, span: Span, name: Optional[str] = None) -> Declared:
        whole = self._whole_of(span, name)
        if (span.begin, span.end) == (whole.begin, whole.end):
            return whole
        key = (whole.handle[0], span.begin - whole.begin, span.nbytes)
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = self._add_range(whole, *key[1:], span)
        return part

    def _add_range(self, buffer: Declared, offset: int, nbytes: int, span: Optional[Span] = None) -> Declared:
        out = ffi.new("braid_resource *")
        whole = ffi.new("braid_resource *", buffer.handle)[0]
        check(lib.braid_graph_add_range(self._pointer, whole, offset, nbytes, out))
        begin = buffer.begin + offset if buffer.end else 0
        end = begin + nbytes if buffer.end else 0
        return Declared(f"{buffer.name}[{offset}:{offset + nbytes}]", (out.index, out.graph), span, begin, end, nbytes,
                        min(buffer.alignment, offset & -offset or buffer.alignment),
                        copied=copied_part(buffer.copied, offset, nbytes))

    def _add_buffer(self, span: Span, name: str) -> Declared:
        begin, end = span.whole_begin, span.whole_end
        out = ffi.new("braid_resource *")
        check(lib.braid_graph_add_buffer(self._pointer, name.encode(), ffi.cast("void *", begin),
                                         end - begin, out))
        return self._note_buffer(span, name, out)

    def _note_buffer(self, span: Span, name: str, out: Any) -> Declared:
        begin, end = span.whole_begin, span.whole_end
        is_all = (span.begin, span.end) == (begin, end)
        whole = Declared(name, (out.index, out.graph), span, begin, end, copied=span.copied if is_all else "")
        self._wholes[begin, end] = whole
        if begin not in self._longest:
            bisect.insort(self._begins, begin)
        if begin not in self._longest or self._longest[begin].end < end:
            self._longest[begin] = whole
        self._kept.things.append(span.keep)
        return whole

    # ---- nodes ----

    @spell_out(NodeOptions)
    def kernel(self, kernel: Any, grid: Size, args: Sequence[Any] = (), *, block: Optional[Size] = None,
               cluster: Size = 0, shared_bytes: int = 0, priority: int = 0, grid_from: Any = None,
               cooperative: bool = False, code_use: CodeUse = "completes", **options: Unpack[NodeOptions]) -> Node:
        """Adds a launch of a Kernel (or cupy.RawKernel) over `grid` blocks of `block` threads: of 1, or of as
        many as the kernel says. With a 0 in `grid` the node does nothing until an exec gives it another. Arrays among
        `args` become pointers. The node reads, writes, updates or accumulates each, or the argument says so itself:
        braid.read(x), braid.write(x), braid.inout(x). If the node says nothing of an array or resource, the kernel's PTX
        or source tells all its accesses (braid_code_use). `code_use`: "checks" compares those that the node declares
        with the code, "declares" adds those of the code, "unread" leaves it alone.
        `grid_from`: an array or resource of three uint32, which the node reads as its grid when its turn
        comes; `grid` is the largest then. `cooperative`: all blocks run at once, so that they may wait for each
        other."""
        kernel = self._kernel_of(kernel)
        name = options.get("name") or kernel.name
        args = unwrap(args, options)
        parameters = [(i, arg) for i, arg in enumerate(args) if isinstance(arg, Parameter)]
        groups = [self._encode(kernel, name, i, arg, len(args)) for i, arg in enumerate(args)]
        begins = [0, *itertools.accumulate(map(len, groups))]
        arguments = [argument for group in groups for argument in group]
        arguments += [encode(Pointer(0), None, name)] * kernel.num_hidden
        counts = None if grid_from is None else self._grid_source(grid_from, name)
        description = Description(self, "braid_kernel_node *", name, options, reads=counts)
        struct, packed = description.struct, Arguments(arguments)
        struct.code_use = description.leave_to_code(kernel, arguments, {begins[i] for i, _ in parameters}, code_use)
        struct.kernel = kernel._struct
        struct.grid.x, struct.grid.y, struct.grid.z = grid_sizes(f"grid of kernel '{name}'", grid)
        for field, size in (("block", kernel.threads(name, block)), ("cluster", cluster)):
            dim3 = getattr(struct, field)
            dim3.x, dim3.y, dim3.z = sizes(f"{field} of kernel '{name}'", size)
        struct.may_be_empty, struct.cooperative = True, cooperative
        struct.shared_bytes, struct.priority = shared_bytes or kernel.shared_bytes, priority
        struct.args, struct.num_args = packed.array, packed.num
        if isinstance(counts, Span):
            struct.grid_from = ffi.cast("void *", counts.address)
        elif counts is not None:
            struct.grid_from_resource = self._handle(counts, "resource")
        node = self._add(lib.braid_graph_add_kernel, description, kernel, counts)
        self._kept.things.extend(argument.keep for argument in arguments if argument.keep is not None)
        if kernel.raised is not None:
            self._kept.failures.kernels[id(kernel)] = kernel
        if not node.elsewhere:
            self._kept.kernels[node.index] = KernelUse(name, kernel, arguments, begins)
        for index, parameter in parameters:
            self._use(parameter, node, "argument", index)
        return node

    @spell_out(NodeOptions)
    def copy(self, to: Any, source: Any, *, rows: Optional[Rows] = None, **options: Unpack[NodeOptions]) -> Node:
        """Adds a copy of an array, or of a resource that has bytes, to another of as many, or of `rows` of it to rows
        of the other. It reads the one and writes the other."""
        name = options.get("name") or "copy"
        ends = [self._end(thing, f"{what} of copy '{name}'")
                for thing, what in ((to, "the target"), (source, "the source"))]
        if rows is None and ends[0].nbytes != ends[1].nbytes:
            raise refuse(f"copy '{name}' is from {ends[1].nbytes} bytes to {ends[0].nbytes}")
        check_same_elements(f"copy '{name}'", ends[0].copied, ends[1].copied)
        description = Description(self, "braid_copy *", name, options, writes=ends[0].touched, reads=ends[1].touched)
        ends[0].write(description.struct, "to")
        ends[1].write(description.struct, "from")
        description.struct.bytes = ends[0].nbytes if rows is None else rows.nbytes
        description.struct.rows = (rows or Rows(0))[1:]
        node = self._add(lib.braid_graph_add_copy, description, ends[0].keep, ends[1].keep)
        self._kept.copies[node.index] = CopyUse(ends[0].copied or ends[1].copied, (ends[0].nbytes, ends[1].nbytes))
        return node

    @spell_out(NodeOptions)
    def fill(self, to: Any, value: Any, *, rows: Optional[Rows] = None, **options: Unpack[NodeOptions]) -> Node:
        """Adds a fill that sets all elements of an array to a value; or of a resource that has bytes, as which it
        is a NumPy number, or a number of one byte. It writes the array, or `rows` of it."""
        name = options.get("name") or "fill"
        end = self._end(to, f"the target of fill '{name}'")
        number, nbytes = fill_value(value, end.typestr, end.alignment, f"fill '{name}'")
        whole = end.nbytes if rows is None else rows.nbytes
        if whole % nbytes or (rows and nbytes == _fills.BYTES):
            raise refuse(f"fill '{name}' sets {nbytes} bytes at once, and is given {whole}{' in each row' if rows else ''}")
        num_values = whole // nbytes
        if nbytes == _fills.BYTES:
            options["name"] = name
            options["writes"] = as_list(options.get("writes")) + ([to] if end.touched else [])
            node = self.kernel(_fills.KERNEL, _fills.grid(num_values), _fills.arguments(to, number, num_values),
                               block=256, **options)
        else:
            description = Description(self, "braid_fill *", name, options, writes=end.touched)
            struct = description.struct
            end.write(struct, "to")
            struct.value, struct.value_bytes, struct.num_values = number, nbytes, num_values
            struct.rows = (rows or Rows(0))[1:]
            node = self._add(lib.braid_graph_add_fill, description, end.keep)
        self._kept.fills[node.index] = FillUse(end.typestr, nbytes)
        return node

    @spell_out(NodeOptions)
    def host(
        self, function: Callable[..., Any], *, blocking: bool = False,
        user: Union[Resource, Sequence[Resource], None] = None, frame: bool = False, **options: Unpack[NodeOptions]
    ) -> Node:
        """Adds a call of a Python function on a host thread. It must not launch or wait for anything of
        Braid. What it raises is reported by the next Exec.wait; the rest of the frame runs on. `blocking`:
        it mostly sleeps, so that on the CPU no worker is to wait for it. `user`: transient buffers, versions or
        scratch, one or a list of them, whose memory in this frame function(memory, ...) is handed for the time of the
        call: arrays of NumPy where they have a dtype, else memoryviews. `frame`: then the number of the frame. Both on
        the CPU alone, and a list or `frame` not with `blocking`. The node says what it does to memory."""
        name = str(options.get("name") or getattr(function, "__name__", "host call"))
        call = Call(function, name, self._kept.failures)
        if frame or isinstance(user, (list, tuple)):
            options["name"] = name
            return self._host_with_memories(call, blocking, as_list(user), frame, options)
        description = Description(self, "braid_host_call *", name, options)
        description.struct.blocking = blocking
        if user is not None:
            handle = host_call_with_memory(call, self._give_memory(description, user))
            description.struct.call = handle
            node = self._add_call(lib.braid_graph_add_host_call, description, handle, "host with memory")
            self._kept.views.append(name)
            return node
        handle = ffi.new_handle(call)
        description.struct.call, description.struct.user = lib.braid_python_host_call, handle
        return self._add_call(lib.braid_graph_add_host_call, description, handle, "host")

    def _host_with_memories(self, call: Call, blocking: bool, users: List[Any], frame: bool,
                            options: NodeOptions) -> Node:
        """As a kernel: it is given addresses and parameters, as many as it takes."""
        if blocking:
            raise refuse(f"host call '{call.node}' is handed several memories or the number of the frame: it takes a "
                         "worker, and cannot be blocking")
        shapes = [self._shape_of(user, call.node) for user in users]
        code = cpu_call_with_memories(call, shapes, frame)
        kernel = Kernel(call.node, cpu=int(ffi.cast("uintptr_t", code)))
        self._kept.things.append(code)
        node = self.kernel(kernel, 1, [*users, *([self.frame_number()] if frame else [])], **options)
        self._kept.calls[node.index] = "host with memory"
        self._kept.views.append(call.node)
        return node

    def frame_number(self) -> Parameter:
        """A parameter that each launch of an exec sets to the number of its frame, from 0, as a uint64. A kernel may
        take it among its `args`. Frames that measure and tune launch have the number that was set last, at first 0."""
        zero = encode(ctypes.c_uint64(0), None, "the number of the frame")
        if self._kept.frame_number is None:
            out = ffi.new("braid_parameter *")
            check(lib.braid_graph_add_parameter(self._pointer, b"frame number", len(zero.data), out))
            self._kept.frame_number = (out.index, out.graph)
        handle = ffi.new("braid_parameter *", self._kept.frame_number)
        return Parameter(self, "frame number", handle, ctypes.c_uint64, zero)

    @spell_out(NodeOptions)
    def queue_call(self, function: Callable[..., Any], *, user: Optional[Resource] = None,
               **options: Unpack[NodeOptions]) -> Node:
        """Adds work that the program queues itself: at each launch function(stream) is called on the
        launching thread, and queues its work on stream.handle. It must not wait, nor keep the stream. In a
        driver graph it is called once, under capture. What it raises fails the launch. `user`: a resource that has
        bytes, of which function(stream, pointer) is handed a Pointer to the frame's own."""
        name = str(options.get("name") or getattr(function, "__name__", "queue call"))
        call = Call(function, name, self._kept.failures, "queue call")
        description = Description(self, "braid_queue_call *", name, options)
        self._kept.queue_calls.append(call)
        if user is not None:
            handle = queue_call_with_memory(call, self._give_memory(description, user).nbytes)
            description.struct.call = handle
            return self._add_call(lib.braid_graph_add_queue_call, description, handle, "graph with memory")
        handle = ffi.new_handle(call)
        description.struct.call, description.struct.user = lib.braid_python_queue_call, handle
        return self._add_call(lib.braid_graph_add_queue_call, description, handle, "graph")

    @spell_out(NodeOptions)
    def prefetch(self, memory: Any, *, to_host: bool = False, **options: Unpack[NodeOptions]) -> Node:
        """Adds a node that moves the pages of managed memory, or of such an array, to its device or to the host. A driver
        graph has no such nodes. See braid_queue_prefetch."""
        span = whole_array(memory, "the memory of a prefetch")
        user = ffi.new("braid_prefetch *", (ffi.cast("void *", span.address), span.nbytes, to_host))
        description = Description(self, "braid_queue_call *", str(options.get("name") or "prefetch"), options)
        description.struct.call, description.struct.user = ffi.addressof(lib, "braid_queue_prefetch"), user
        self._kept.things.append(span.keep)
        return self._add(lib.braid_graph_add_queue_call, description, user)

    @spell_out(NodeOptions)
    def empty(self, **options: Unpack[NodeOptions]) -> Node:
        """Adds a node without work: a join, or a point to order others by."""
        description = Description(self, "braid_empty *", options.get("name"), options)
        return self._add(lib.braid_graph_add_empty, description)

    @spell_out(NodeOptions)
    def loop(self, condition: Any = None, *, times: int = 0, most: int = 0, unbounded: bool = False,
             tests_first: bool = False, expected: int = 0, **options: Unpack[NodeOptions]) -> ContextManager[Node]:
        """A loop, whose body is what is added in the block: with graph.loop(left, most=500) as loop. The condition is
        a uint32 of the device, or the first of an array; the loop goes on while it is not 0. See braid_loop."""
        description = Description(self, "braid_loop *", options.get("name"), options)
        numbers = description.struct
        numbers.times, numbers.most, numbers.expected = times, most, expected
        numbers.unbounded, numbers.tests_first = unbounded, tests_first
        if condition is not None:
            numbers.condition = self._condition(condition, "loop", description.name)
        return self._body(lib.braid_graph_begin_loop, description)

    @spell_out(NodeOptions)
    def branch(self, condition: Any, **options: Unpack[NodeOptions]) -> ContextManager[Node]:
        """A branch, whose first arm is what is added in the block: with graph.branch(overflowed) as branch. The arm
        runs if the condition, as that of a loop, is not 0; what is added behind graph.otherwise() in the block runs
        if it is. See braid_if."""
        description = Description(self, "braid_if *", options.get("name"), options)
        description.struct.condition = self._condition(condition, "branch", description.name)
        return self._body(lib.braid_graph_begin_if, description)

    def otherwise(self) -> None:
        """Begins the second arm of the branch of the block."""
        check(lib.braid_graph_else(self._pointer))

    @contextlib.contextmanager
    def _body(self, begin: Any, description: Description) -> Iterator[Node]:
        yield self._add(begin, description)
        check(lib.braid_graph_end(self._pointer))

    def _condition(self, thing: Any, kind: str, name: Optional[str]) -> Any:
        handle = self._handle_of(thing)
        typestr = thing._declared.typestr if isinstance(thing, Resource) else describe(thing).typestr
        if typestr and typestr[1:] not in ("u4", "i4"):
            raise refuse(f"{kind} '{name or kind}': its condition has elements of type {typestr!r}, and is a uint32")
        return handle

    def edge(self, before: Node, after: Node) -> None:
        """`before` ends before `after` starts."""
        check(lib.braid_graph_add_edge(self._pointer, self._handle(before, "node"), self._handle(after, "node")))

    def set_cost(self, node: Node, cost_ns: int) -> None:
        """Changes the cost of a node, for instance to a measured one."""
        check(lib.braid_graph_set_cost(self._pointer, self._handle(node, "node"), cost_ns))

    def save_costs(self, device: Device, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the costs of all nodes, as JSON, and that they are of this device."""
        with device._owner as on:
            check(lib.braid_graph_save_costs(self._pointer, on, os.fsencode(path)))

    def load_costs(self, path: Union[str, os.PathLike[str]], device: Optional[Device] = None) -> None:
        """Gives the nodes the costs of a file, all or none. Refused where it is of another graph, or of
        another device than the one given."""
        if device is None:
            check(lib.braid_graph_load_costs(self._pointer, ffi.NULL, os.fsencode(path)))
            return
        with device._owner as on:
            check(lib.braid_graph_load_costs(self._pointer, on, os.fsencode(path)))

    @property
    def digest(self) -> int:
        """A number for the structure of the graph; the same for one that is built alike elsewhere."""
        return int(lib.braid_graph_get_digest(self._pointer))

    def parameter(self, name: str, value: Any, type: Any = None) -> Parameter:
        """Declares a value that Exec.set_parameter changes for all nodes that have it among their `args`. Until
        then it is `value`, a NumPy or ctypes number or an array; or a Python number, of `type`."""
        initial = encode(value, type, f"parameter '{name}'")
        out = ffi.new("braid_parameter *")
        check(lib.braid_graph_add_parameter(self._pointer, name.encode(), len(initial.data), out))
        if type is None and initial.span is not None:
            type = Pointer
        elif type is None and not isinstance(value, (bytes, Pointer)):
            type = value.__class__
        self._kept.things.append(initial.keep)
        return Parameter(self, name, out, type, initial)

    def use(self, parameter: Parameter, node: Node, target: Target, *, argument: int = 0, argument_offset: int = 0,
            offset: int = 0, nbytes: int = 0) -> None:
        """Has a node take a parameter for something else than a whole argument: "grid" (12 bytes), "grid_x",
        "grid_y", "grid_z" (uint32); "to", "from" (an array), "bytes" (uint64) of a copy; "to", "value",
        "num_values" (uint64) of a fill; "enabled" (bool) of any node; a part of an argument. It has the
        parameter's first value in every exec until Exec.set_parameter. See braid_parameter_use for the rest."""
        fill = self._kept.fills.get(node.index) if isinstance(node, Node) else None
        if fill is not None and target == "value" and not nbytes and isinstance(parameter, Parameter) \
                and len(parameter._initial.data) - offset != fill.value_bytes:
            raise refuse(f"parameter '{parameter.name}' has {len(parameter._initial.data) - offset} bytes, where the "
                         f"value of fill '{node.name}' has {fill.value_bytes}")
        if fill is not None and fill.value_bytes == _fills.BYTES:
            target, argument = _fills.target(node.name, target, argument)
        self._use(parameter, node, target, argument, argument_offset, offset, nbytes)
        self._kept.initial[parameter._handle] = parameter._initial

    # ---- what there is ----

    @property
    def nodes(self) -> List[Node]:
        pointer = self._pointer
        return [Node(self, lib.braid_graph_get_node(pointer, i)) for i in range(len(self))]

    def __len__(self) -> int:
        return int(lib.braid_graph_get_num_nodes(self._pointer))

    def dot(self) -> str:
        """The graph as Graphviz DOT."""
        return capture(lambda file: lib.braid_graph_write_dot(self._pointer, file)).decode("utf-8", "replace")

    @spell_out(PlanOptions)
    def plan(self, device: Optional[Device] = None, **options: Unpack[PlanOptions]) -> Schedule:
        """Plans the graph for a device, or for costs: plan(costs=CostModel()) plans as if waits and
        launches were free."""
        from braid._schedule import Schedule

        return Schedule(self, device, **options)

    def _repr_svg_(self) -> Optional[str]:
        """The DAG; of a large one the plan, which is a picture whatever its size."""
        if not 0 < len(self) <= MOST_DRAWN:
            return self.plan(costs=CostModel())._repr_svg_() if len(self) else None
        return dag_svg([node.name for node in self.nodes], self.dot())

    # ---- parts of the above ----

    @property
    def _pointer(self) -> Any:
        return self._owner.pointer

    def _handle_of(self, thing: Any) -> Any:
        """The handle of a resource, or of an array, which is declared."""
        if isinstance(thing, Resource):
            return self._handle(thing, "resource")
        return ffi.new("braid_resource *", self._declared(describe(thing)).handle)[0]

    def _handle(self, thing: Any, what: str) -> Any:
        handle = getattr(thing, "_handle", None)
        if handle is None or not isinstance(thing, (Node if what == "node" else Resource)):
            raise refuse(f"{thing!r} is no {what} of a graph")
        return ffi.new(f"braid_{what} *", handle)[0]

    def _kernel_of(self, kernel: Any) -> Kernel:
        if isinstance(kernel, Kernel):
            return kernel
        made = self._raw_kernels.get(id(kernel))
        if made is None:
            made = self._raw_kernels[id(kernel)] = Kernel.of(kernel)  # which keeps it
        return made

    def _encode(self, kernel: Kernel, name: str, index: int, value: Any, num: int) -> List[Argument]:
        """One argument of the program, as those of the code."""
        if kernel.types is not None and num != len(kernel.types):
            raise refuse(f"kernel '{name}' is given {num} arguments, and takes {len(kernel.types)}")
        type_ = None if kernel.types is None else kernel.types[index]
        where = f"argument {index} of kernel '{name}'"
        return type_.encode(value, where) if isinstance(type_, Form) else [self._argument(type_, value, where)]

    def _argument(self, type_: Any, value: Any, where: str) -> Argument:
        if isinstance(value, Parameter):
            if value.graph is not self:
                raise refuse(f"{where} is parameter '{value.name}' of another graph")
            if type_ is not None and len(value._initial.data) != size_of(type_):
                raise refuse(f"{where}: parameter '{value.name}' has another size than the kernel's argument")
            check_kind(value.type, type_, f"parameter '{value.name}', which is {where},")
            check_elements(value._initial.span, type_, f"parameter '{value.name}', which is {where},")
            return value._initial
        if isinstance(value, Resource) and value.__braid_span__() is None:
            self._handle(value, "resource")
            if type_ is not None and not is_pointer(type_):
                raise refuse(f"{where} is the resource '{value.name}', and no number")
            if isinstance(type_, PointerTo) and type_.elements and value._declared.typestr \
                    and name_elements(value._declared.typestr) != type_.elements:
                raise refuse(f"{where} is the resource '{value.name}' of {name_elements(value._declared.typestr)}, "
                             f"where the kernel takes a {type_.name}")
            check_alignment(value._declared.alignment, type_, where)
            return Argument(b"", address_of=value._handle)
        return encode(value, type_, where)

    def _use(self, parameter: Parameter, node: Node, target: Target, argument: int, *numbers: int) -> None:
        if not isinstance(parameter, Parameter):
            raise refuse(f"{parameter!r} is no parameter")
        use = ffi.new("braid_parameter_use *")
        use.node, use.argument = self._handle(node, "node"), argument
        use.target = choose("target", TARGETS, target)
        use.argument_offset, use.offset, use.bytes = (*numbers, 0, 0, 0)[:3]
        kernel = self._kept.kernels.get(node.index) if target == "argument" else None
        type_ = dict(enumerate(kernel.kernel.types or ())).get(argument) if kernel else None
        where = f"argument {argument} of kernel '{node.name}'"
        check_elements(parameter._initial.span, type_, f"parameter '{parameter.name}', which is {where},")
        if isinstance(type_, Form):
            type_.encode(parameter, where)  # which refuses it
        if kernel is not None and argument < len(kernel.begins):
            use.argument = kernel.begins[argument]
        copy = self._kept.copies.get(node.index) if target in ("to", "from") else None
        if copy is not None and parameter._initial.span is not None:
            ends = (copy.typestr, parameter._initial.span.copied)
            check_same_elements(f"copy '{node.name}'", *(ends if target == "from" else ends[::-1]))
        check(lib.braid_graph_use_parameter(self._pointer, ffi.new("braid_parameter *", parameter._handle)[0], use))
        if target == "argument":
            self._kept.arguments.add(parameter._handle)
        if copy is not None:
            self._kept.copied.setdefault(parameter._handle, []).append((copy.typestr, f"copy '{node.name}'"))
        if isinstance(type_, PointerTo):
            self._kept.pointers.setdefault(parameter._handle, []).append((type_, where))

    def _end(self, thing: Any, where: str) -> End:
        if isinstance(thing, Resource) and thing.__braid_span__() is None:
            handle, declared = self._handle(thing, "resource"), thing._declared
            if not declared.nbytes:
                raise refuse(f"{where} is the resource '{thing.name}', which has no bytes")
            return End(declared.nbytes, declared.alignment, None if declared.private else thing, resource=handle,
                       typestr=declared.typestr, copied=declared.copied)
        span = whole_array(thing, where)
        return End(span.nbytes, span.address & -span.address or 256, span, span.address, typestr=span.typestr,
                   keep=span.keep, copied=span.copied)

    def _give_memory(self, description: Description, user: Any) -> Shape:
        shape = self._shape_of(user, str(description.name))
        description.struct.user_resource = self._handle(user, "resource")
        return shape

    def _shape_of(self, user: Any, name: str) -> Shape:
        end = self._end(user, f"what call '{name}' is handed")
        if end.resource is None:
            raise refuse(f"call '{name}' is handed an array: it can use it without")
        declared = user._declared
        return Shape(end.nbytes, declared.typestr, declared.shape or (-1,))

    def _grid_source(self, thing: Any, name: str) -> Union[Span, Resource]:
        if isinstance(thing, Resource) and thing.__braid_span__() is None:
            return thing
        span = whole_array(thing, f"the array that has the grid of kernel '{name}'")
        if span.nbytes < 12 or span.typestr[1:] not in ("u4", ""):
            raise refuse(f"the grid of kernel '{name}' is read from {span.kind} of {span.nbytes} bytes"
                         f"{' and type ' + repr(span.typestr) if span.typestr else ''}: it is three numbers of uint32")
        return span

    def _add(self, adder: Callable[..., int], description: Description, *keep: Any) -> Node:
        out = ffi.new("braid_node *")
        check(adder(self._pointer, description.struct, out))
        self._kept.things.extend(keep)
        return Node(self, out[0])

    def _add_call(self, adder: Callable[..., int], description: Description, handle: Any, kind: str) -> Node:
        node = self._add(adder, description, handle)
        self._kept.calls[node.index] = kind
        return node
