# SPDX-License-Identifier: Apache-2.0
"""Schedules: a graph planned onto lanes, as plain data and as pictures. No device is needed."""
from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from braid._binding import ffi, lib
from braid._errors import check, refuse
from braid._lifetime import Owned, Owner, run_deferred
from braid._options import PlanOptions, fill_plan, read_struct, spell_out
from braid._text import capture, count, string, whole_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braid._device import Device
    from braid._exec import Exec
    from braid._graph import Graph
    from braid._handles import Node
    from braid._timings import FrameTiming

_STEPS = {lib.BRAID_STEP_RUN: "run", lib.BRAID_STEP_RECORD: "record", lib.BRAID_STEP_WAIT: "wait",
          lib.BRAID_STEP_LOOP: "loop"}
_CAUSES = {lib.BRAID_SERIALISED_BY_RESOURCE: "resource", lib.BRAID_SERIALISED_BY_LANES: "lanes",
           lib.BRAID_SERIALISED_BY_HINT: "hint", lib.BRAID_SERIALISED_BY_WAIT_COST: "wait_cost",
           lib.BRAID_SERIALISED_BY_MAX_CONCURRENT: "max_concurrent"}

_LIMITS = {lib.BRAID_LIMITED_BY_NOTHING: "nothing", lib.BRAID_LIMITED_BY_CRITICAL_PATH: "critical_path",
           lib.BRAID_LIMITED_BY_LANES: "lanes", lib.BRAID_LIMITED_BY_LAUNCH_COST: "launch_cost",
           lib.BRAID_LIMITED_BY_RESOURCES: "resources", lib.BRAID_LIMITED_BY_WAIT_COST: "wait_cost",
           lib.BRAID_LIMITED_BY_PATH_AND_LANES: "path_and_lanes"}
NO_LANE = NO_ISLAND = 2**32 - 1  # BRAID_NO_LANE, BRAID_NO_ISLAND


@dataclasses.dataclass(frozen=True)
class ScheduleInfo:
    """What a plan comes to; see braid_schedule_info. `limit`: what keeps it from being shorter, see explain."""

    num_nodes: int
    num_lanes: int
    num_waits: int
    num_records: int
    num_serialisations: int
    makespan_ns: int
    bound_ns: int
    critical_path_ns: int
    work_ns: int
    one_lane_ns: int
    num_guessed: int
    num_islands: int
    num_island_nodes: int
    issue_ns: int
    expected_ns: int
    limit: str
    num_places: int
    num_copies: int
    copy_bytes: int
    one_place_ns: int
    num_left_out: int


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where and when a node is planned; times count from the start of the frame. `lane`: None if the node is left out,
    since no output needs it. `island`: the number of the stretch of its lane that is one kernel, which it is a call of;
    None: it is in none. `place`: the device, from 1; 1 in a plan for one device, and 0 if the node is left out."""

    lane: Optional[int]
    start_ns: int
    end_ns: int
    island: Optional[int]
    place: int


class Step(NamedTuple):
    """One step of a lane: `kind` is "run", "record", "wait" or "loop", whose body's steps are not told; `node` an
    index."""

    kind: str
    lane: int
    node: int
    position: int


@dataclasses.dataclass(frozen=True)
class PlannedCopy:
    """A copy that a plan for several devices put in: of a part of a buffer, from one place to another, or back to its
    home at the end of the frame. Its index is behind those of the graph's nodes."""

    index: int
    name: str
    source: int
    to: int
    resource: str
    offset: int
    nbytes: int
    is_return: bool


class Serialisation(NamedTuple):
    """Two nodes that the graph leaves free and the plan does not, and why: by "resource", "lanes", "hint",
    "wait_cost" or "max_concurrent"."""

    first: Union[Node, PlannedCopy]
    second: Union[Node, PlannedCopy]
    cause: str
    resource: str


Intervals = Sequence[Tuple[int, int]]


class Schedule(Owned):
    """An immutable plan. In a notebook it shows itself as a timeline."""

    @spell_out(PlanOptions)
    def __init__(self, graph: Graph, device: Optional[Device] = None, **options: Unpack[PlanOptions]):
        from braid._device import Device

        run_deferred()
        if device is not None and not isinstance(device, Device):
            raise refuse(f"a graph is planned for a device or for costs: plan(device) or plan(costs=model), and not "
                         f"plan({type(device).__name__})")
        self._set_up(graph)
        struct = ffi.new("braid_schedule_options *")
        kept = fill_plan(struct, options)
        out = ffi.new("braid_schedule **")
        with contextlib.ExitStack() as used:
            if device is not None:
                struct.device = used.enter_context(device._owner)
            check(lib.braid_schedule_create(used.enter_context(graph._owner), struct, out))
        del kept  # what the options point to
        self._owner = Owner("schedule", out[0], lib.braid_schedule_destroy)

    def _set_up(self, graph: Graph) -> None:
        self.graph = graph
        self._nodes = graph.nodes  # as they were when it was planned
        self._exec: Optional[Exec] = None

    @classmethod
    def _of_exec(cls, exec_: Exec) -> Schedule:
        """The one that an exec runs, which lives as long as the exec is open."""
        schedule = cls.__new__(cls)
        schedule._set_up(exec_.graph)
        schedule._exec = exec_
        schedule._owner = Owner("schedule", ffi.NULL, lambda pointer: None)
        return schedule

    @classmethod
    def load(cls, graph: Graph, path: Union[str, os.PathLike[str]]) -> Schedule:
        """The plan that save wrote, for an equal graph of this or another process. Nothing is planned. Refused where the
        graph differs in anything that planning reads, its costs included."""
        run_deferred()
        schedule = cls.__new__(cls)
        schedule._set_up(graph)
        out = ffi.new("braid_schedule **")
        with graph._owner as pointer:
            check(lib.braid_schedule_load(pointer, os.fsencode(path), out))
        schedule._owner = Owner("schedule", out[0], lib.braid_schedule_destroy)
        return schedule

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the plan to a file, for load."""
        with self.graph._owner as graph:
            check(self._call(lambda pointer: lib.braid_schedule_save(pointer, graph, os.fsencode(path))))

    def _call(self, function: Callable[[Any], Any]) -> Any:
        if self._exec is not None:
            with self._exec._owner as exec_:
                return function(lib.braid_exec_get_schedule(exec_))
        with self._owner as pointer:
            return function(pointer)

    @property
    def _closed(self) -> bool:
        return self._owner.closed or (self._exec is not None and self._exec._owner.closed)

    # ---- what it is ----

    @property
    def _info(self) -> Any:
        """The struct, whose lists live as long as the schedule."""
        struct = ffi.new("braid_schedule_info *")
        self._call(lambda pointer: lib.braid_schedule_get_info(pointer, struct))
        return struct

    @property
    def info(self) -> ScheduleInfo:
        struct = self._info
        return dataclasses.replace(read_struct(ScheduleInfo, struct), limit=_LIMITS.get(struct.limit, "?"))

    @property
    def steps(self) -> List[Step]:
        """Of all lanes, in the order of issue."""
        info = self._info
        return [Step(_STEPS.get(step.kind, "?"), step.lane, step.node, step.position)
                for step in ffi.unpack(info.steps, info.num_steps)] if info.num_steps else []

    @property
    def lanes(self) -> List[List[Union[Node, PlannedCopy]]]:
        """The nodes of each lane, in order; of a plan for several devices, the copies between them too."""
        lanes: List[List[Union[Node, PlannedCopy]]] = [[] for _ in range(self.info.num_lanes)]
        nodes = self._planned
        for step in self.steps:
            if step.kind in ("run", "loop"):
                lanes[step.lane].append(nodes[step.node])
        return lanes

    @property
    def copies(self) -> List[PlannedCopy]:
        """Of a plan for several devices, those between them."""
        info = self._info
        found = []
        for index in range(info.num_copies):
            struct = info.copies[index]
            resource, to = string(struct.resource_name), int(struct.to)
            found.append(PlannedCopy(struct.node, f"copy of {resource} to place {to}", getattr(struct, "from"), to,
                                     resource, struct.offset, struct.bytes, struct.is_return))
        return found

    @property
    def _planned(self) -> List[Union[Node, PlannedCopy]]:
        """By index."""
        return [*self._nodes[:self.info.num_nodes - self.info.num_copies], *self.copies]

    @property
    def critical_path(self) -> List[Union[Node, PlannedCopy]]:
        """A heaviest path, first to last."""
        nodes, info = self._planned, self._info
        return [nodes[info.critical_path[i]] for i in range(info.num_critical)]

    @property
    def serialisations(self) -> List[Serialisation]:
        nodes, info = self._planned, self._info
        found = []
        for index in range(info.num_serialisations):
            struct = info.serialisations[index]
            found.append(Serialisation(nodes[struct.first], nodes[struct.second],
                                       _CAUSES.get(struct.cause, "?"), string(struct.resource_name)))
        return found

    def placement(self, node: Node) -> Placement:
        struct = ffi.new("braid_placement *")
        handle = self.graph._handle(node, "node")
        check(self._call(lambda pointer: lib.braid_schedule_get_placement(pointer, handle, struct)))
        place = read_struct(Placement, struct)
        return dataclasses.replace(place, lane=None if place.lane == NO_LANE else place.lane,
                                   island=None if place.island == NO_ISLAND else place.island)

    def explain(self, *nodes: Node) -> str:
        """One line. Of no node: what limits the frame as planned; of one: which island it is in, or why it is
        in none; of two: how they are ordered, and why."""
        handles = ffi.new("braid_node[]", [self.graph._handle(node, "node") for node in nodes])
        return whole_text(lambda text, size: self._call(
            lambda pointer: lib.braid_schedule_explain(pointer, handles, len(nodes), text, size)))

    def verify(self) -> None:
        """Proves, independently of the planner, that every edge and conflict is ordered. Raises
        InternalError that names the first pair that is not."""
        with self.graph._owner as graph:
            check(self._call(lambda pointer: lib.braid_schedule_verify(pointer, graph)))

    # ---- how it looks ----

    def svg(self, title: Optional[str] = None, intervals: Optional[Intervals] = None,
            frames: Optional[Sequence[FrameTiming]] = None) -> str:
        """A timeline to scale, for browsers: as planned, or with `intervals`, for each node when it started
        and ended in nanoseconds, as measured. With `frames`, the timings of these frames, it shows when the host
        launched them."""
        return self._timeline(lib.BRAID_DRAWING_SVG, title, intervals, frames)

    def chrome_trace(self, title: Optional[str] = None, intervals: Optional[Intervals] = None,
                     frames: Optional[Sequence[FrameTiming]] = None) -> str:
        """For Perfetto (ui.perfetto.dev), chrome://tracing and Speedscope."""
        return self._timeline(lib.BRAID_DRAWING_TRACE, title, intervals, frames)

    def _timeline(self, drawing: int, title: Optional[str],
                  intervals: Optional[Intervals], frames: Optional[Sequence[FrameTiming]]) -> str:
        options = ffi.new("braid_timeline_options *")
        text = ffi.NULL if title is None else ffi.new("char[]", title.encode())
        options.title = text
        times = ffi.NULL
        if intervals is not None:
            num = self.info.num_nodes
            if len(intervals) == 0 or len(intervals) % num:
                raise refuse(f"there are {len(intervals)} intervals for {num} nodes: give one for each node of each frame")
            times = ffi.new("braid_interval[]", [tuple(interval) for interval in intervals])
            options.num_frames = len(intervals) // num
        options.intervals = times
        launches = ffi.NULL
        if frames is not None:
            if len(frames) != options.num_frames:
                raise refuse(f"there are timings of {len(frames)} frames, and intervals of {options.num_frames}")
            launches = ffi.new("braid_interval[]", [frame.launch for frame in frames])
            options.error_ns = max(frame.error_ns for frame in frames)
        options.launches = launches
        return self._write(drawing, options)

    def _write(self, drawing: int, options: Any) -> str:
        text: bytes = self._call(lambda pointer: capture(
            lambda file: lib.braid_schedule_write(pointer, drawing, options, file)))
        return text.decode("utf-8", "replace")

    def dot(self) -> str:
        """The plan as Graphviz DOT: a cluster for each lane, waits dashed, the critical path bold."""
        return self._write(lib.BRAID_DRAWING_DOT, ffi.NULL)

    def to_dict(self) -> Dict[str, Any]:
        """The plan as docs/json.md describes those of the tool, but for what only a file has. Times are in
        nanoseconds; ids are names, with the index behind those that several nodes have."""
        names = [node.name for node in self._planned]
        times = collections.Counter(names)
        ids = [name if times[name] == 1 else f"{name}#{i}" for i, name in enumerate(names)]
        info = self.info
        waits: List[List[str]] = []
        last: Dict[int, List[int]] = {}  # by lane, what it waits for before its next node
        for step in self.steps:
            if step.kind == "wait":
                last.setdefault(step.lane, []).append(step.node)
            elif step.kind in ("run", "loop"):
                waits += [[ids[node], ids[step.node]] for node in last.pop(step.lane, [])]
        places = [self.placement(node) for node in self._nodes]
        tasks = list(zip(ids, names, places))
        return {
            "braid": string(lib.braid_get_version()), "format": 3, "kind": "plan", "nodes": info.num_nodes,
            "guessed": info.num_guessed, "lanes": [[ids[node.index] for node in lane] for lane in self.lanes],
            "waits": waits, "records": info.num_records,
            "makespan": info.makespan_ns, "bound": info.bound_ns,
            "critical_path": [ids[node.index] for node in self.critical_path],
            "tasks": [{"id": id_, "name": name, "lane": place.lane, "start": place.start_ns, "end": place.end_ns}
                      for id_, name, place in tasks if place.lane is not None],
            "left_out": [id_ for id_, _, place in tasks if place.lane is None],
            "num_lanes": info.num_lanes, "num_waits": info.num_waits, "work": info.work_ns,
            "one_lane": info.one_lane_ns, "cost_unit": "ns",
        }

    def json(self) -> str:
        return json.dumps(self.to_dict())

    def _repr_svg_(self) -> Optional[str]:
        return None if self._closed else self.svg()

    def __repr__(self) -> str:
        if self._closed:
            return "<braid.Schedule, closed>"
        info = self.info
        return (f"<braid.Schedule of {count(info.num_nodes, 'node')}: {count(info.num_lanes, 'lane')}, "
                f"{count(info.num_waits, 'wait')}>")
