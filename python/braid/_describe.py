# SPDX-License-Identifier: Apache-2.0
"""Nodes as C is told of them: a struct, what it points to, and what it touches."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from braid._arguments import Argument
from braid._binding import ffi, lib
from braid._errors import refuse
from braid._handles import Declared, Resource
from braid._kernel import Kernel
from braid._memory import Span, as_list, describe_or_none
from braid._options import CODE_USES, CodeUse, NodeOptions, choose, place_number

if TYPE_CHECKING:
    from braid._graph import Graph

ACCESSES = {"reads": lib.BRAID_READ, "writes": lib.BRAID_WRITE, "updates": lib.BRAID_READ_WRITE,
             "accumulates": lib.BRAID_ACCUMULATE, "excludes": lib.BRAID_EXCLUSIVE}
_READ_WRITE = {lib.BRAID_READ, lib.BRAID_WRITE, lib.BRAID_READ_WRITE}
_CHANGES = (lib.BRAID_WRITE, lib.BRAID_READ_WRITE, lib.BRAID_ACCUMULATE)


class Access(NamedTuple):
    """An argument of a kernel, and what the kernel does to it; made by read, write and inout."""

    thing: Any  # an array, a Memory or a Resource
    option: str  # the nodes' option that says the same


def read(thing: Any) -> Access:
    """An argument that the kernel reads: graph.kernel(k, n, [braid.inout(y), braid.read(x), dt])."""
    return Access(thing, "reads")


def write(thing: Any) -> Access:
    """An argument that the kernel overwrites."""
    return Access(thing, "writes")


def inout(thing: Any) -> Access:
    """An argument that the kernel reads and writes."""
    return Access(thing, "updates")


def unwrap(args: Sequence[Any], options: NodeOptions) -> List[Any]:
    """The arguments as the kernel is given them; what they say of accesses goes to the options."""
    accesses: Dict[str, Any] = dict(options)
    plain = []
    for arg in args:
        if isinstance(arg, Access):
            accesses[arg.option] = [*as_list(accesses.get(arg.option)), arg.thing]
            arg = arg.thing
        plain.append(arg)
    options.update(accesses)  # type: ignore[typeddict-item]
    return plain


class End(NamedTuple):
    """Of a copy or fill: an array's memory, or a resource that execs give memory to."""

    nbytes: int
    alignment: int
    touched: Union[Span, Resource, None]
    address: int = 0
    resource: Any = None
    typestr: str = ""
    keep: Any = None
    copied: str = ""  # as of a Span

    def write(self, struct: Any, field: str) -> None:
        if self.resource is None:
            setattr(struct, field, ffi.cast("void *", self.address))
        else:
            setattr(struct, f"{field}_resource", self.resource)


class Description:
    """A struct of C that describes a node, and what it points to."""

    def __init__(self, graph: Graph, type_: str, name: Optional[str], options: NodeOptions, *,
                 reads: Union[Span, Resource, None] = None, writes: Union[Span, Resource, None] = None):
        unknown = set(options) - set(NodeOptions.__annotations__)
        if unknown:
            raise TypeError(f"{', '.join(sorted(unknown))}: no such option of nodes; there are "
                            f"{', '.join(NodeOptions.__annotations__)}")
        self.graph, self.name = graph, name
        self.struct = ffi.new(type_)
        self.accesses: Dict[Tuple[int, int], Tuple[Declared, int]] = {}
        for span, mode in ((reads, lib.BRAID_READ), (writes, lib.BRAID_WRITE)):
            if span is not None:
                self._touch(span, mode)
        for option, mode in ACCESSES.items():
            for thing in as_list(options.get(option)):
                self._touch(thing, mode)
        self._fill(self.struct.node, options)

    def _touch(self, thing: Any, mode: int) -> None:
        if isinstance(thing, Resource):
            resource, span = thing._declared, thing._declared.span
            self.graph._handle(thing, "resource")
        else:
            span = thing if isinstance(thing, Span) else describe_or_none(thing)
            if span is None:
                raise refuse(f"node '{self.name}': {thing!r} is neither an array nor a resource")
            resource = self.graph._declared(span)
        if span is not None and span.readonly and mode in _CHANGES:
            raise refuse(f"node '{self.name}' changes '{resource.name}', {span.kind} that is read-only")
        _, before = self.accesses.get(resource.handle, (None, mode))
        if before != mode and {before, mode} <= _READ_WRITE:
            mode = lib.BRAID_READ_WRITE
        elif before != mode:
            raise refuse(f"node '{self.name}' touches '{resource.name}' in two ways that do not go together")
        self.accesses[resource.handle] = (resource, mode)

    def leave_to_code(self, kernel: Kernel, arguments: List[Argument], changing: Set[int], code_use: CodeUse) -> int:
        """Of arrays of which the node says nothing the kernel's code tells: they become buffers. Otherwise a kernel
        that is given memory it does not say it touches would race in silence. Parameters change the arguments `changing`,
        whose addresses do not stay."""
        use = choose(f"code_use of kernel '{self.name}'", CODE_USES, code_use)
        for index, argument in enumerate(arguments):
            span = argument.span
            if span is None or any(resource.end and span.overlaps(resource.begin, resource.end)
                                   for resource, _ in self.accesses.values()):
                continue
            where = f"kernel '{self.name}' is given {span.kind} as argument {index}"
            if code_use in ("checks", "unread") or index in changing or not kernel.has_readable_code:
                raise refuse(f"{where}, and does not say what it does to it: name it in reads, writes, updates, "
                             "accumulates or excludes, or give braid.Pointer.of(it), which is ordered by nothing")
            if span.readonly:
                raise refuse(f"{where}, which is read-only, and leaves its accesses to the code: say braid.read(it)")
            self.graph._whole_of(span)
            use = lib.BRAID_CODE_DECLARES
        return use

    def _fill(self, node: Any, options: NodeOptions) -> None:
        if self.name is not None:
            self._name = node.name = ffi.new("char[]", self.name.encode())
        after = as_list(options.get("after"))
        self._after = ffi.new("braid_node[]", [self.graph._handle(thing, "node") for thing in after])
        node.after, node.num_after = self._after, len(after)
        self._accesses = ffi.new("braid_access[]", len(self.accesses))
        for slot, (resource, mode) in zip(self._accesses, self.accesses.values()):
            slot.resource, slot.mode = ffi.new("braid_resource *", resource.handle)[0], mode
        node.accesses, node.num_accesses = self._accesses, len(self.accesses)
        if "place" in options:
            node.place = place_number(options["place"], f"the place of node '{self.name}'")
        node.cost_ns, node.lane_hint = options.get("cost_ns", 0), options.get("lane_hint", 0)
        for field in ("prelude_of", "epilogue_of"):
            main = options.get(field)
            if main is not None:
                setattr(node, field, self.graph._handle(main, "node"))
