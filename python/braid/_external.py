# SPDX-License-Identifier: Apache-2.0
"""Objects outside of Braid that nodes wait for and signal: events, semaphores, words, eventfds."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from braid._binding import ffi, lib
from braid._describe import Description
from braid._device import Device
from braid._errors import check, refuse
from braid._handles import Node
from braid._lifetime import Hold, Owned, Owner, run_deferred
from braid._memory import whole_array
from braid._options import NodeOptions, spell_out

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braid._graph import Graph


class External(Owned):
    """An object of the program, a renderer or another process, for nodes on a device: the address of a CUDA or HIP event
    (`event`), the descriptor of Vulkan's binary or timeline semaphore (`semaphore`, `timeline`), an array that begins with
    a uint32 (`word`), or an eventfd (`eventfd`). Graphs and execs keep it. See braid_external_options."""

    def __init__(self, device: Device, *, event: Optional[int] = None, semaphore: Optional[int] = None,
                 timeline: Optional[int] = None, word: Any = None, eventfd: Optional[int] = None,
                 name: Optional[str] = None):
        run_deferred()
        if not isinstance(device, Device):
            raise refuse(f"an external object is of a device: External(device, ...), and not External({type(device).__name__})")
        given = {"event": event, "semaphore": semaphore, "timeline": timeline, "word": word, "eventfd": eventfd}
        kinds = [kind for kind, value in given.items() if value is not None]
        if len(kinds) != 1:
            raise refuse(f"an external object is one of {', '.join(given)}: {len(kinds)} are given")
        text = ffi.NULL if name is None else ffi.new("char[]", name.encode())
        options = ffi.new("braid_external_options *")
        options.kind, options.name = getattr(lib, f"BRAID_EXTERNAL_{kinds[0].upper()}"), text
        if event is not None:
            options.event = ffi.cast("void *", event)
        elif word is not None:
            span = whole_array(word, f"the word of external '{name or 'word'}'")
            if span.nbytes < 4:
                raise refuse(f"the word of external '{name or 'word'}' has {span.nbytes} bytes, and not 4")
            options.word = ffi.cast("void *", span.address)
        else:
            options.fd = given[kinds[0]]
        out = ffi.new("braid_external **")
        with device._owner as pointer:
            check(lib.braid_external_create(pointer, options, out))
        self._name = name or kinds[0]
        self._owner = Owner("external object", out[0], lib.braid_external_destroy, parent=device._owner, kept=word)

    @spell_out(NodeOptions)
    def wait(self, graph: Graph, value: int = 0, step: int = 0, **options: Unpack[NodeOptions]) -> Node:
        """Adds a node behind which work waits for the object: for its value, if it has one, or a larger one. Each launch
        adds `step` to the value. See braid_external_node."""
        return self._add(graph, False, value, step, options)

    @spell_out(NodeOptions)
    def signal(self, graph: Graph, value: int = 0, step: int = 0, **options: Unpack[NodeOptions]) -> Node:
        """Adds a node that signals the object behind all work before the node."""
        return self._add(graph, True, value, step, options)

    def _add(self, graph: Graph, signals: bool, value: int, step: int, options: NodeOptions) -> Node:
        description = Description(graph, "braid_external_node *", str(options.get("name") or self._name), options)
        with self._owner as pointer:
            description.struct.external, description.struct.signals = pointer, signals
            description.struct.value, description.struct.step = value, step
            node = graph._add(lib.braid_graph_add_external, description)
        graph._kept.things.append(Hold(self._owner))
        return node
