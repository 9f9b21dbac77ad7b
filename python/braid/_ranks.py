# SPDX-License-Identifier: Apache-2.0
"""This process among others that run the same program, and what graphs send between them."""
from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Callable, Tuple

from braid._binding import ffi, lib
from braid._describe import Description, End
from braid._errors import InUseError, check, refuse
from braid._handles import Declared, Kept, Node, Resource
from braid._lifetime import Hold, Owned, Owner, run_deferred
from braid._memory import check_same_elements, whole_array
from braid._options import NodeOptions, choose, spell_out

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ELEMENTS = {"i4": lib.BRAID_ELEMENT_INT32, "u4": lib.BRAID_ELEMENT_UINT32, "i8": lib.BRAID_ELEMENT_INT64,
             "u8": lib.BRAID_ELEMENT_UINT64, "f4": lib.BRAID_ELEMENT_FLOAT, "f8": lib.BRAID_ELEMENT_DOUBLE}
_REDUCTIONS = {"sum": lib.BRAID_REDUCTION_SUM, "min": lib.BRAID_REDUCTION_MIN, "max": lib.BRAID_REDUCTION_MAX,
               "product": lib.BRAID_REDUCTION_PRODUCT}


class Ranks(Owned):
    """The ranks that MPI has started, which all open this at once, each once. `timeout_ns`: how long anything may
    wait for another rank. See braid_ranks_open."""

    def __init__(self, *, timeout_ns: int = 0):
        run_deferred()
        options = ffi.new("braid_ranks_options *")
        options.timeout_ns = timeout_ns
        out = ffi.new("braid_ranks **")
        check(lib.braid_ranks_open(options, out))
        self._owner = Owner("ranks", out[0], lib.braid_ranks_close)

    @property
    def rank(self) -> int:
        return int(self._info.rank)

    def __len__(self) -> int:
        return int(self._info.num_ranks)

    @property
    def _info(self) -> Any:
        info = ffi.new("braid_ranks_info *")
        with self._owner as pointer:
            lib.braid_ranks_get_info(pointer, info)
        return info

    def check(self) -> None:
        """Raises DeviceError after an operation of this rank or another has failed."""
        with self._owner as pointer:
            check(lib.braid_ranks_check(pointer))

    def communicator(self, name: str, color: int = 0) -> Communicator:
        """Of the ranks that give the same color. All ranks make this call."""
        out = ffi.new("braid_communicator **")
        with self._owner as pointer:
            check(lib.braid_communicator_create(pointer, name.encode(), color, out))
        return Communicator(self, name, out[0])

    def close(self) -> None:
        """Waits for the other ranks to do the same, and leaves. Raises InUseError while graphs or execs communicate."""
        if not self._owner.closed and self._owner.has_other_users:
            gc.collect()
        run_deferred()
        if not self._owner.closed and self._owner.has_other_users:
            raise InUseError("ranks are still used by graphs or execs: close or drop them first")
        super().close()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *what: Any) -> None:
        try:
            self.close()
        except InUseError:
            pass


class Communicator:
    """Some of the ranks. Made by Ranks.communicator."""

    __slots__ = ("ranks", "name", "_pointer")

    def __init__(self, ranks: Ranks, name: str, pointer: Any):
        self.ranks, self.name, self._pointer = ranks, name, pointer

    @property
    def rank(self) -> int:
        return int(self._info.rank)

    def __len__(self) -> int:
        return int(self._info.num_ranks)

    @property
    def _info(self) -> Any:
        info = ffi.new("braid_ranks_info *")
        with self.ranks._owner:
            lib.braid_communicator_get_info(self._pointer, info)
        return info

    def __repr__(self) -> str:
        return f"<braid.Communicator {self.name!r}>"


class Communications(Owned):
    """What graphs have of ranks: operations between arrays of several processes, and buffers that one owns."""

    _kept: Kept
    _pointer: Any
    _add: Callable[..., Node]
    _end: Callable[[Any, str], End]
    _handle: Callable[[Any, str], Any]

    def _resource_of(self, communicator: Communicator) -> Any:
        if not isinstance(communicator, Communicator):
            raise refuse(f"{communicator!r} is no communicator: Ranks.communicator makes one")
        out = ffi.new("braid_resource *")
        owner = communicator.ranks._owner
        with owner:
            check(lib.braid_graph_add_communicator(self._pointer, communicator._pointer, out))
        if owner not in self._kept.ranks:
            self._kept.ranks.append(owner)
            self._owner.kept = (self._owner.kept, Hold(owner))
        return out[0]

    def _communicate(self, operation: int, communicator: Communicator, options: NodeOptions, *, to: Any = None,
                     source: Any = None, parts: Tuple[int, int] = (1, 1), peer: int = 0, tag: int = 0,
                     reduction: str = "sum") -> Node:
        """`parts`: how many ranks' elements the source and the target have."""
        name = options.get("name")
        title = name or "communication"
        given = [None if thing is None else self._end(thing, f"{what} of '{title}'")
                 for thing, what in ((to, "the target"), (source, "the source"))]
        target, origin = given
        # A broadcast reads and writes the one array that it has, and an all-reduce may.
        description = Description(self, "braid_communication *", name, options,  # type: ignore[arg-type]
                                  writes=target.touched if target else None,
                                  reads=origin.touched if origin else None)
        struct = description.struct
        for end, field in ((target, "to"), (origin, "from")):
            if end is not None:
                end.write(struct, field)
        if target and origin and origin.nbytes * parts[1] != target.nbytes * parts[0]:
            raise refuse(f"'{title}' is from {origin.nbytes} bytes to {target.nbytes}, between {max(parts)} ranks")
        if target and origin:
            check_same_elements(f"'{title}'", target.copied, origin.copied)
        few = min((end for end in given if end is not None), key=lambda end: end.nbytes)
        struct.element = _ELEMENTS.get(few.typestr[1:], lib.BRAID_ELEMENT_BYTE)
        struct.count = few.nbytes // (int(few.typestr[2:]) if few.typestr[1:] in _ELEMENTS else 1)
        struct.operation, struct.communicator = operation, self._resource_of(communicator)
        struct.peer, struct.tag = peer, tag
        struct.reduction = choose("reduction", _REDUCTIONS, reduction)
        return self._add(lib.braid_graph_add_communication, description, *(end.keep for end in given if end))

    @spell_out(NodeOptions)
    def send(self, communicator: Communicator, array: Any, peer: int, tag: int = 0,
             **options: Unpack[NodeOptions]) -> Node:
        """Adds a send of an array, or of a resource that has bytes, to a rank of the communicator. It reads it."""
        return self._communicate(lib.BRAID_RANK_SEND, communicator, options, source=array, peer=peer, tag=tag)

    @spell_out(NodeOptions)
    def receive(self, communicator: Communicator, array: Any, peer: int, tag: int = 0,
                **options: Unpack[NodeOptions]) -> Node:
        """Adds a receive into an array of what a rank sends with this tag. It writes it."""
        return self._communicate(lib.BRAID_RANK_RECEIVE, communicator, options, to=array, peer=peer, tag=tag)

    @spell_out(NodeOptions)
    def broadcast(self, communicator: Communicator, array: Any, root: int,
                  **options: Unpack[NodeOptions]) -> Node:
        """Adds a broadcast: the array of rank `root` comes to that of all others."""
        if root == communicator.rank and "reads" not in options and isinstance(array, Resource):
            options["reads"] = array
        return self._communicate(lib.BRAID_RANK_BROADCAST, communicator, options, to=array, peer=root)

    @spell_out(NodeOptions)
    def all_reduce(self, communicator: Communicator, array: Any, to: Any = None, reduction: str = "sum",
                   **options: Unpack[NodeOptions]) -> Node:
        """Adds a reduction, element by element, of the arrays of all ranks into `to` of each; without, in place."""
        return self._communicate(lib.BRAID_RANK_ALL_REDUCE, communicator, options, source=array,
                                 to=array if to is None else to, reduction=reduction)

    @spell_out(NodeOptions)
    def all_gather(self, communicator: Communicator, array: Any, to: Any, **options: Unpack[NodeOptions]) -> Node:
        """Adds a gather: `to` of each has the arrays of all ranks, in their order."""
        return self._communicate(lib.BRAID_RANK_ALL_GATHER, communicator, options, source=array, to=to,
                                 parts=(1, len(communicator)))

    @spell_out(NodeOptions)
    def reduce_scatter(self, communicator: Communicator, array: Any, to: Any, reduction: str = "sum",
                       **options: Unpack[NodeOptions]) -> Node:
        """Adds a reduction of arrays that have a part for each rank, which is given its own in `to`."""
        return self._communicate(lib.BRAID_RANK_REDUCE_SCATTER, communicator, options, source=array, to=to,
                                 parts=(len(communicator), 1), reduction=reduction)

    def owned(self, communicator: Communicator, owner: int, name: str, array: Any = None,
              nbytes: int = 0) -> Resource:
        """Declares a buffer that a rank owns, of which all add the tasks: each runs where what it writes first is
        owned, and is sent what it reads. `array`: its memory there; elsewhere, or without, `nbytes` of the plan's.
        Neither: not a buffer, but something that says where a task runs."""
        span = None if array is None else whole_array(array, f"owned buffer '{name}'")
        if span is not None and nbytes not in (0, span.nbytes):
            raise refuse(f"owned buffer '{name}' has {nbytes} bytes, and an array of {span.nbytes}")
        address = ffi.NULL if span is None else ffi.cast("void *", span.address)
        size = nbytes if span is None else span.nbytes
        out = ffi.new("braid_resource *")
        check(lib.braid_graph_add_owned_buffer(self._pointer, self._resource_of(communicator), owner, name.encode(),
                                               address, size, out))
        alignment = 256
        if span is not None:
            self._kept.things.append(span.keep)
            alignment = min(256, span.address & -span.address or 256)
        return Resource(self, Declared(name, (out.index, out.graph), nbytes=size,  # type: ignore[arg-type]
                                       alignment=alignment))

    @spell_out(NodeOptions)
    def takes_part(self, **options: Unpack[NodeOptions]) -> bool:
        """Whether adding a node with these `reads`, `writes` and so on would do anything on this rank."""
        description = Description(self, "braid_empty *", None, options)  # type: ignore[arg-type]
        node = description.struct.node  # lives as long as that
        return bool(lib.braid_graph_takes_part(self._pointer, node.accesses, node.num_accesses))
