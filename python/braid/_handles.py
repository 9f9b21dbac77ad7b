# SPDX-License-Identifier: Apache-2.0
"""Handles: what a graph gives to the program, and what it keeps for its execs."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Set, Tuple

from braid._arguments import Argument
from braid._binding import lib
from braid._calls import Call, Failures
from braid._kernel import Kernel
from braid._memory import PointerTo, Span
from braid._text import string

if TYPE_CHECKING:
    from braid._graph import Graph


class Node:
    """A node of one graph."""

    __slots__ = ("graph", "name", "_handle")

    def __init__(self, graph: Graph, handle: Any):
        self.graph = graph
        self._handle = (handle.index, handle.graph)
        self.name = string(lib.braid_graph_get_node_name(graph._owner.pointer, handle))

    @property
    def index(self) -> int:
        """Nodes are counted from 0 in the order of adding."""
        return int(self._handle[0])

    @property
    def elsewhere(self) -> bool:
        """Whether another rank runs it, as it does what writes what that owns."""
        return bool(self._handle[0] == 2**32 - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __repr__(self) -> str:
        return "<braid.Node elsewhere>" if self.elsewhere else f"<braid.Node {self.index} {self.name!r}>"


class Declared(NamedTuple):
    """What a graph knows of a resource. It does not hold the graph, so that no circle of references keeps
    arrays from being freed with the last use of the graph."""

    name: str
    handle: Tuple[int, int]
    span: Optional[Span] = None  # the span of the array that it stands for
    begin: int = 0  # its bytes, where they are known
    end: int = 0
    nbytes: int = 0  # 0: it has no bytes
    alignment: int = 1  # its address's, as far as it is known
    private: bool = False  # scratch: no node shares it with another
    typestr: str = ""  # its elements', where they have a type
    shape: Tuple[int, ...] = ()
    copied: str = ""  # as of a Span


class Resource:
    """Anything two nodes may not touch at once: a buffer, a part of one, a list, an allocator."""

    __slots__ = ("graph", "_declared")

    def __init__(self, graph: Graph, declared: Declared):
        self.graph, self._declared = graph, declared

    @property
    def name(self) -> str:
        return self._declared.name

    @property
    def _handle(self) -> Tuple[int, int]:
        return self._declared.handle

    def __braid_span__(self) -> Optional[Span]:
        """A buffer that was declared from an array may stand for it."""
        return self._declared.span

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resource) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __repr__(self) -> str:
        return f"<braid.Resource {self.name!r}>"


class Parameter:
    """A value that changes from frame to frame, and that many nodes use as an argument."""

    __slots__ = ("graph", "name", "type", "_handle", "_initial")

    def __init__(self, graph: Graph, name: str, handle: Any, type_: Any, initial: Argument):
        self.graph, self.name, self.type, self._initial = graph, name, type_, initial
        self._handle = (handle.index, handle.graph)

    def __repr__(self) -> str:
        return f"<braid.Parameter {self.name!r}>"


class KernelUse(NamedTuple):
    """A kernel node, as execs need to know it."""

    name: str
    kernel: Kernel
    arguments: List[Argument]  # the code's
    begins: List[int]  # where each of the program's arguments begins among them, and the end of the last


class Rows(NamedTuple):
    """Of a copy or fill: `num` rows of `nbytes` bytes in each of `layers`. A pitch is the bytes from row to row, a
    height the rows from layer to layer; 0: no gaps."""
    nbytes: int
    num: int = 0
    layers: int = 0
    to_pitch: int = 0
    from_pitch: int = 0
    to_height: int = 0
    from_height: int = 0


class CopyUse(NamedTuple):
    """A copy, as execs need to know it: the type of the elements of either end, and the sizes of target and source."""

    typestr: str
    sizes: Tuple[int, int]


class FillUse(NamedTuple):
    """A fill, as execs need to know it: the type of the elements, and how many bytes its value has."""

    typestr: str
    value_bytes: int


@dataclasses.dataclass
class Kept:
    """What a graph and all execs of it use of Python's."""

    things: List[Any] = dataclasses.field(default_factory=list)
    kernels: Dict[int, KernelUse] = dataclasses.field(default_factory=dict)
    copies: Dict[int, CopyUse] = dataclasses.field(default_factory=dict)
    fills: Dict[int, FillUse] = dataclasses.field(default_factory=dict)
    calls: Dict[int, str] = dataclasses.field(default_factory=dict)  # "host" or "graph"
    views: List[str] = dataclasses.field(default_factory=list)  # host calls that are handed memory of an exec
    initial: Dict[Tuple[int, int], Argument] = dataclasses.field(default_factory=dict)  # for parameters of Graph.use
    frame_number: Optional[Tuple[int, int]] = None  # the parameter that each launch sets to its number
    arguments: Set[Tuple[int, int]] = dataclasses.field(default_factory=set)  # parameters that kernels take
    # A parameter has the types of the arguments that take it, and how messages call those.
    pointers: Dict[Tuple[int, int], List[Tuple[PointerTo, str]]] = dataclasses.field(default_factory=dict)
    # A parameter that is an end of copies has the types of their elements, and how messages call
    # the copies.
    copied: Dict[Tuple[int, int], List[Tuple[str, str]]] = dataclasses.field(default_factory=dict)
    queue_calls: List[Call] = dataclasses.field(default_factory=list)
    ranks: List[Any] = dataclasses.field(default_factory=list)  # owners of ranks whose communicators it has
    failures: Failures = dataclasses.field(default_factory=Failures)
