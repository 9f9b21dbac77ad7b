# SPDX-License-Identifier: Apache-2.0
"""Timings: what the last frames of an exec did."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Tuple

from braid._binding import ffi, lib
from braid._errors import check
from braid._notebook import table
from braid._text import count

if TYPE_CHECKING:
    from braid._exec import Exec
    from braid._handles import Node

_TIMED_BY: Mapping[int, str] = {lib.BRAID_TIMED_NOT: "not", lib.BRAID_TIMED_AROUND: "around",
                                lib.BRAID_TIMED_INSIDE: "inside"}


@dataclasses.dataclass(frozen=True)
class Spread:
    """Of one thing over the frames kept, in nanoseconds."""

    least_ns: int
    median_ns: int
    most_ns: int


@dataclasses.dataclass(frozen=True)
class FrameTiming:
    """One of the frames kept, by the host's clock (time.monotonic_ns): when the host launched it, when it ran on the
    device, as (start, end), and by how much the device's times may be off against the host's."""

    launch: Tuple[int, int]
    frame: Tuple[int, int]
    error_ns: int


@dataclasses.dataclass(frozen=True)
class NodeTiming:
    """How long a node took. `timed_by`: "inside", itself alone; "around", starting it included; "not". `num_runs` and
    `mean_ns` are of all runs in the frames kept: a node in a loop has several in a frame."""

    node: Node
    time: Spread
    timed_by: str
    mean_ns: int = 0
    num_runs: int = 0


@dataclasses.dataclass(frozen=True)
class LaneTiming:
    """What a lane did in a frame, in the mean; `waited_for` longest."""

    busy_ns: int
    waiting_ns: int
    idle_ns: int
    num_nodes: int
    waited_for: Optional[Node]
    waited_for_ns: int


@dataclasses.dataclass(frozen=True)
class WaitTiming:
    """A wait of a lane for a node of another, or of the frame so many before; `node` runs behind it, if one does."""

    lane: int
    node: Optional[Node]
    waited_for: Node
    waited_for_lane: int
    wait: Spread
    frames_before: int = 0


@dataclasses.dataclass(frozen=True)
class Timings:
    """Of `frames_kept` frames. A frame is from its begin on the device to its end."""

    frames_kept: int
    frame: Spread
    nodes: List[NodeTiming]
    lanes: List[LaneTiming]
    waits: List[WaitTiming]
    frames: List[FrameTiming] = dataclasses.field(default_factory=list)
    island_wait_ns: int = 0

    def _repr_html_(self) -> str:
        rows = [(one.node.name, *_microseconds(one.time), one.timed_by) for one in self.nodes]
        return table(("node", "median, us", "least", "most", "timed"), [("a frame", *_microseconds(self.frame), ""), *rows],
                     count(self.frames_kept, "frame"))


def _microseconds(spread: Spread) -> Tuple[float, float, float]:
    return spread.median_ns / 1e3, spread.least_ns / 1e3, spread.most_ns / 1e3


def read_spread(struct: Any) -> Spread:
    return Spread(struct.least_ns, struct.median_ns, struct.most_ns)


def read_timings(exec_: Exec) -> Timings:
    nodes = _nodes(exec_)
    total = ffi.new("braid_timings *")
    with exec_._owner as pointer:
        check(lib.braid_exec_get_timings(pointer, total))
        return Timings(total.frames_kept, read_spread(total.frame),
                       [_node(total.nodes[i], node) for i, node in enumerate(nodes)],
                       [_lane(total.lanes[i], nodes) for i in range(total.num_lanes)],
                       [_wait(total.waits[i], nodes) for i in range(total.num_waits)],
                       [_frame(total.frames[i]) for i in range(total.frames_kept)],
                       total.island_wait_ns)


def _node(one: Any, node: Node) -> NodeTiming:
    return NodeTiming(node, read_spread(one.time), _TIMED_BY[one.timed_by], one.mean_ns, one.num_runs)


def _nodes(exec_: Exec) -> List[Node]:
    """Of the graph as it was when the exec was made."""
    schedule = exec_.schedule
    return schedule._nodes[:schedule.info.num_nodes]


def _frame(struct: Any) -> FrameTiming:
    return FrameTiming((struct.launch.start_ns, struct.launch.end_ns), (struct.frame.start_ns, struct.frame.end_ns),
                       struct.error_ns)


def _lane(struct: Any, nodes: List[Node]) -> LaneTiming:
    return LaneTiming(struct.busy_ns, struct.waiting_ns, struct.idle_ns, struct.num_nodes,
                      _at(nodes, struct.waited_for), struct.waited_for_ns)


def _wait(struct: Any, nodes: List[Node]) -> WaitTiming:
    return WaitTiming(struct.lane, _at(nodes, struct.node), nodes[struct.waited_for], struct.waited_for_lane,
                      read_spread(struct.wait), struct.frames_before)


def _at(nodes: List[Node], index: int) -> Optional[Node]:
    return nodes[index] if index < len(nodes) else None  # BRAID_NO_NODE is beyond all


def read_intervals(exec_: Exec) -> List[Tuple[int, int]]:
    total = ffi.new("braid_timings *")
    with exec_._owner as pointer:
        check(lib.braid_exec_get_timings(pointer, total))
        return [(one.start_ns, one.end_ns) for one in total.intervals[0:total.frames_kept * total.num_nodes]]
