# SPDX-License-Identifier: Apache-2.0
"""Options with the names that they have in C, and their types."""
from __future__ import annotations

import dataclasses
import inspect
from typing import (TYPE_CHECKING, Any, Callable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Type,
                    TypedDict, TypeVar, Union, cast)

from braid._binding import ffi, lib
from braid._errors import refuse

if TYPE_CHECKING:
    from braid._exec import RunningNode
    from braid._handles import Node
    from braid._memories import MemoryPool

Mode = Literal["auto", "streams", "graph"]
Islands = Literal["auto", "never", "whole", "always"]
WhenFull = Literal["queues", "waits", "refuses"]
CodeUse = Literal["completes", "checks", "declares", "unread"]
Target = Literal["argument", "grid", "grid_x", "grid_y", "grid_z", "to", "from", "bytes", "value", "num_values",
                 "enabled", "times"]

MODES: Mapping[str, int] = {"auto": lib.BRAID_MODE_AUTO, "streams": lib.BRAID_MODE_STREAMS,
                            "graph": lib.BRAID_MODE_GRAPH}
ISLANDS: Mapping[str, int] = {"auto": lib.BRAID_ISLANDS_AUTO, "never": lib.BRAID_ISLANDS_NEVER,
                              "whole": lib.BRAID_ISLANDS_WHOLE, "always": lib.BRAID_ISLANDS_ALWAYS}
WHEN_FULL: Mapping[str, int] = {"queues": lib.BRAID_FULL_QUEUES, "waits": lib.BRAID_FULL_WAITS,
                                "refuses": lib.BRAID_FULL_REFUSES}
CODE_USES: Mapping[str, int] = {"completes": lib.BRAID_CODE_COMPLETES, "checks": lib.BRAID_CODE_CHECKS,
                                "declares": lib.BRAID_CODE_DECLARES, "unread": lib.BRAID_CODE_UNREAD}
TARGETS: Mapping[str, int] = {
    "argument": lib.BRAID_TARGET_ARGUMENT, "grid": lib.BRAID_TARGET_GRID, "grid_x": lib.BRAID_TARGET_GRID_X,
    "grid_y": lib.BRAID_TARGET_GRID_Y, "grid_z": lib.BRAID_TARGET_GRID_Z, "to": lib.BRAID_TARGET_TO,
    "from": lib.BRAID_TARGET_FROM, "bytes": lib.BRAID_TARGET_BYTES, "value": lib.BRAID_TARGET_VALUE,
    "num_values": lib.BRAID_TARGET_NUM_VALUES, "enabled": lib.BRAID_TARGET_ENABLED,
    "times": lib.BRAID_TARGET_TIMES}

Size = Union[int, Tuple[int, ...]]
Things = Any  # one array, buffer or resource, or a list or tuple of them


class NodeOptions(TypedDict, total=False):
    """What all kinds of node have in common; see braid_node_options. Each of the accesses takes an
    array, a Memory, a Resource, or a list of them: arrays are declared as buffers by themselves."""

    name: Optional[str]
    reads: Things
    writes: Things  # overwrites
    updates: Things  # reads and writes
    accumulates: Things  # changes so that the order does not matter: atomic sums, appends
    excludes: Things  # touches so that nothing else may meanwhile, though no data flows
    after: Union[Node, Sequence[Node]]
    cost_ns: int
    lane_hint: int
    place: int  # if there are several devices, the one that it runs on, from 1
    prelude_of: Optional[Node]
    epilogue_of: Optional[Node]


@dataclasses.dataclass(frozen=True)
class CostModel:
    """What ordering costs on a device, in nanoseconds; see braid_cost_model."""

    default_cost_ns: int = 0
    node_ns: int = 0
    wait_ns: int = 0
    root_ns: int = 0
    max_concurrent: int = 0
    host_issues: int = 0
    max_threads: int = 0
    issue_ns: int = 0
    issue_wait_ns: int = 0
    early_ns: int = 0
    island_call_ns: int = 0
    island_start_ns: int = 0
    island_round_ns: int = 0
    iteration_ns: int = 0


@dataclasses.dataclass(frozen=True)
class Link:
    """From one device to another: what a copy takes beside its bytes, how fast these go (0: at once), and what a wait
    across takes."""

    latency_ns: int = 0
    bytes_per_us: int = 0
    wait_ns: int = 0
    is_direct: bool = False  # told by Device.places; plans do not depend on it


@dataclasses.dataclass(frozen=True)
class Places:
    """Several devices, for Graph.plan; see braid_place_model. `speeds`: how many, or the speed of each, where 1000
    takes nodes as long as their costs say. `links`: of pairs of places (from, to) that are not as `link`; they
    count from 1."""

    speeds: Union[int, Sequence[int]]
    link: Link = Link()
    links: Mapping[Tuple[int, int], Link] = dataclasses.field(default_factory=dict)


def make_places(places: Places) -> Tuple[Any, Any]:
    """A braid_place_model, and what it points to."""
    speeds = [1000] * places.speeds if isinstance(places.speeds, int) else list(places.speeds)
    num = len(speeds)
    for pair in places.links:
        if not all(1 <= place <= num for place in pair):
            raise refuse(f"there is no link {pair}: there are {num} places, from 1")
    model, numbers = ffi.new("braid_place_model *"), ffi.new("uint32_t[]", speeds)
    links = ffi.new("braid_place_link[]", [vars(places.links.get((i // num + 1, i % num + 1), places.link))
                                           for i in range(num * num)])
    model.num_places, model.speeds, model.links = num, numbers, links
    return model, (numbers, links)


def place_number(place: Union[int, Literal["everywhere"]], where: str) -> int:
    """As C has it."""
    if place == "everywhere":
        return 2**32 - 1
    if not isinstance(place, int) or not 1 <= place <= 64:
        raise refuse(f"{where} is {place!r}: places are numbers from 1 to 64")
    return place


class PlanOptions(TypedDict, total=False):
    """How a graph is planned; see braid_schedule_options."""

    max_lanes: int
    fixed_lanes: bool
    ignore_costs: bool
    costs: CostModel
    places: Places


class ExecOptions(PlanOptions, total=False):
    """How a graph is played; see braid_exec_options. `on_frame_end` is called with the number of each frame
    that has ended, and `on_deadline` with that of each late frame and the nodes that run. Both are called as
    a host call is: what they raise the next wait tells."""

    mode: Mode
    islands: Islands
    no_rewriting: bool
    no_early_start: bool
    no_prefetch: bool
    frames_kept: int
    frames_in_flight: int
    when_full: WhenFull
    on_frame_end: Optional[Callable[[int], Any]]
    black_box: bool
    capture: bool
    deadline_ns: int
    on_deadline: Optional[Callable[[int, List[RunningNode]], Any]]
    priority: int
    pool: Optional[MemoryPool]


_Struct = TypeVar("_Struct")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _LeftOut:
    """The default of an option in a signature: not given, it is as if it were not there."""

    def __repr__(self) -> str:
        return "..."


def spell_out(options: Any) -> Callable[[_Function], _Function]:
    """Has help() and editors show each option of a TypedDict in place of **options."""
    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_LeftOut(),
                                  annotation=getattr(annotation, "__forward_arg__", annotation))
                for name, annotation in options.__annotations__.items()]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorate


def read_struct(type_: Type[_Struct], struct: Any) -> _Struct:
    """A dataclass of the fields of a C struct that it names."""
    values = {}
    fields_of: Any = type_
    for field in dataclasses.fields(fields_of):
        value = getattr(struct, field.name)
        if isinstance(value, ffi.CData):  # char arrays and strings
            value = ffi.string(value).decode("utf-8", "replace")
        values[field.name] = value
    return type_(**values)


def choose(what: str, table: Mapping[str, int], name: str) -> int:
    if name not in table:
        raise refuse(f"{what} '{name}' does not exist: there are {', '.join(table)}")
    return table[name]


def fill_plan(struct: Any, options: PlanOptions) -> Any:
    """Writes the options of a plan into a braid_schedule_options or braid_exec_options. It is right as long
    as what this returns is kept."""
    kept = []
    for name, value in options.items():
        if name == "costs":
            if not isinstance(value, CostModel):
                raise refuse(f"the costs of a plan are {value!r}, which is no CostModel")
            struct.costs = costs = ffi.new("braid_cost_model *", vars(value))
            kept.append(costs)
        elif name == "places" and isinstance(value, Places):
            places = make_places(value)
            struct.places = places[0]
            kept.append(places)
        elif name in PlanOptions.__annotations__:
            setattr(struct, name, value)
        else:
            raise TypeError(f"'{name}' is no option of plans: there are "
                            f"{', '.join(PlanOptions.__annotations__)}")
    return kept


def fill_exec(struct: Any, options: ExecOptions) -> Any:
    """Writes a braid_exec_options but for its schedule, its callbacks and its pool. See fill_plan."""
    unknown = set(options) - set(ExecOptions.__annotations__)
    if unknown:
        raise TypeError(f"'{sorted(unknown)[0]}' is no option of execs: there are "
                        f"{', '.join(ExecOptions.__annotations__)}")
    plan = dict(options)
    for name, table in (("mode", MODES), ("islands", ISLANDS), ("when_full", WHEN_FULL)):
        setattr(struct, name, choose(name, table, str(plan.pop(name, next(iter(table))))))
    for name in ("no_rewriting", "no_early_start", "no_prefetch", "frames_kept", "frames_in_flight", "black_box", "capture",
                 "deadline_ns", "priority"):
        setattr(struct, name, plan.pop(name, 0))
    for name in ("on_frame_end", "on_deadline", "pool"):
        plan.pop(name, None)
    return fill_plan(struct, cast(PlanOptions, plan))


def read_exec(struct: Any) -> ExecOptions:
    """What a braid_exec_options says that is not the default."""
    way: ExecOptions = {}
    for name, table in (("mode", MODES), ("islands", ISLANDS)):
        chosen = [choice for choice, number in table.items() if number == getattr(struct, name) != 0]
        if chosen:
            way[name] = chosen[0]  # type: ignore[literal-required]
    if struct.costs:
        way["costs"] = read_struct(CostModel, struct.costs)
    for name, value in (("no_rewriting", struct.no_rewriting), ("no_early_start", struct.no_early_start),
                        ("no_prefetch", struct.no_prefetch),
                        ("frames_kept", struct.frames_kept), ("frames_in_flight", struct.frames_in_flight),
                        ("max_lanes", struct.max_lanes), ("fixed_lanes", struct.fixed_lanes),
                        ("ignore_costs", struct.ignore_costs)):
        if value:
            way[name] = value  # type: ignore[literal-required]
    return way


def sizes(what: str, size: Size, missing: int = 0) -> Iterator[int]:
    """The three numbers of a braid_dim3."""
    numbers = size if isinstance(size, tuple) else (size,)
    if not 1 <= len(numbers) <= 3:
        raise refuse(f"{what} has {len(numbers)} sizes: give one to three")
    for number in numbers:
        if not 0 <= number < 2**32:
            raise refuse(f"{what} {size}: each size is a number from 0 to 2**32 - 1")
    yield from (*numbers, missing, missing)[:3]


def grid_sizes(what: str, size: Size) -> Tuple[int, ...]:
    """Likewise of a grid in blocks. For C, a y and z of 0 are left out."""
    x, y, z = sizes(what, size, 1)
    return (x, y, z if y or z else 1)
