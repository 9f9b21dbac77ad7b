# SPDX-License-Identifier: Apache-2.0
"""Audits: whether the nodes of a graph access what they declare, and no more."""
from __future__ import annotations

import dataclasses
from typing import Any, List, Optional, Tuple

from braid._binding import ffi, lib
from braid._checks import check_queue_call, check_reach
from braid._device import Device
from braid._errors import refuse
from braid._graph import Graph
from braid._handles import Node
from braid._interrupts import stray
from braid._lifetime import run_deferred
from braid._text import string

_KINDS = {lib.BRAID_AUDIT_READS: "reads", lib.BRAID_AUDIT_WRITES: "writes",
          lib.BRAID_AUDIT_UPDATES: "updates", lib.BRAID_AUDIT_NEVER_READS: "never reads",
          lib.BRAID_AUDIT_NEVER_WRITES: "never writes", lib.BRAID_AUDIT_UNSEEN: "unseen",
          lib.BRAID_AUDIT_ORDER: "order", lib.BRAID_AUDIT_UNREPEATABLE: "unrepeatable",
          lib.BRAID_AUDIT_SPARE_WAITS: "spare waits"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """See braid_audit_finding. `kind` is "reads", "writes", "updates", "never reads", "never writes", "unseen", "order",
    "unrepeatable" or "spare waits"."""

    kind: str
    node: Optional[Node]
    other: Optional[Node]
    buffer: Optional[str]
    kernel: Optional[str]
    text: str
    address: Optional[int]
    begin: int
    end: int
    num: int
    file: Optional[str]
    line: Optional[int]
    by_code: bool

    def __str__(self) -> str:
        return self.text


def audit(device: Device, graph: Graph, orders: bool = False) -> List[Finding]:
    """Runs one frame of the graph, node by node, and returns where its nodes access other memory than they
    declare. With `orders` it first runs frames in other orders, and returns nodes that lack one. braid_graph_audit tells
    more. What one frame does to buffers stays done."""
    run_deferred()
    if not isinstance(device, Device) or not isinstance(graph, Graph):
        raise refuse(f"what is audited is a graph on a device: audit(device, graph), and not "
                     f"audit({type(device).__name__}, {type(graph).__name__})")
    check_reach(device, graph._kept)
    findings: List[Finding] = []
    user = ffi.new_handle((graph, findings))
    options = ffi.new("braid_audit_options *", (lib.braid_python_finding, user, orders))
    with device._owner as on, graph._owner as of:
        status = lib.braid_graph_audit(of, on, options, ffi.new("size_t *"))
    check_queue_call(status, graph._kept.queue_calls)
    graph._kept.failures.report()
    return findings


def _tell(found: Any, user: Any) -> None:
    told: Tuple[Graph, List[Finding]] = ffi.from_handle(user)
    graph, findings = told
    findings.append(Finding(
        _KINDS[found.kind], Node(graph, found.node) if found.node.graph else None,
        Node(graph, found.other) if found.kind == lib.BRAID_AUDIT_ORDER else None,
        string(found.buffer) if found.buffer != ffi.NULL else None,
        string(found.kernel) if found.kernel != ffi.NULL else None, string(found.text),
        int(ffi.cast("uintptr_t", found.address)) or None, found.begin, found.end, found.num,
        string(found.file) if found.file != ffi.NULL else None, found.line or None, found.by_code))


ffi.def_extern(name="braid_python_finding", onerror=stray)(_tell)
