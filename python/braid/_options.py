# SPDX-License-Identifier: Apache-2.0
"""Options with the names that they have in C, and their types."""
from __future__ import annotations

import dataclasses
from typing import (TYPE_CHECKING, Any, Iterator, Literal, Mapping, Optional, Sequence, Tuple, Type, TypedDict,
                    TypeVar, Union)

from braid._binding import ffi, lib
from braid._errors import refuse

if TYPE_CHECKING:
    from braid._graph import Node


Mode = Literal["auto", "streams", "native"]
Islands = Literal["auto", "never", "whole", "always"]
Policy = Literal["default", "max_concurrency"]

MODES: Mapping[str, int] = {"auto": lib.BRAID_MODE_AUTO, "streams": lib.BRAID_MODE_STREAMS,
                            "native": lib.BRAID_MODE_NATIVE}
ISLANDS: Mapping[str, int] = {"auto": lib.BRAID_ISLANDS_AUTO, "never": lib.BRAID_ISLANDS_NEVER,
                              "whole": lib.BRAID_ISLANDS_WHOLE, "always": lib.BRAID_ISLANDS_ALWAYS}
POLICIES: Mapping[str, int] = {"default": lib.BRAID_POLICY_DEFAULT,
                               "max_concurrency": lib.BRAID_POLICY_MAX_CONCURRENCY}

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
    early_least_ns: int = 0
    island_call_ns: int = 0
    island_wait_ns: int = 0
    island_block_wait_ns: int = 0


class PlanOptions(TypedDict, total=False):
    """How a graph is planned; see braid_schedule_options."""

    max_lanes: int
    fixed_lanes: bool
    policy: Policy
    widen: bool
    costs: CostModel
    effort: int


_Struct = TypeVar("_Struct")


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


def fill_plan(struct: Any, options: PlanOptions) -> None:
    """Writes a braid_schedule_options."""
    for name, value in options.items():
        if name == "policy":
            struct.policy = choose("policy", POLICIES, str(value))
        elif name == "costs":
            for field, number in vars(value).items():
                setattr(struct.costs, field, number)
        elif name in PlanOptions.__annotations__:
            setattr(struct, name, value)
        else:
            raise TypeError(f"'{name}' is no option of plans: there are "
                            f"{', '.join(PlanOptions.__annotations__)}")


def sizes(what: str, size: Size) -> Iterator[int]:
    """The three numbers of a braid_dim3."""
    numbers = size if isinstance(size, tuple) else (size,)
    if not 1 <= len(numbers) <= 3:
        raise refuse(f"{what} has {len(numbers)} sizes: give one to three")
    for number in numbers:
        if not 0 <= number < 2**32:
            raise refuse(f"{what} {size}: each size is a number from 1 to 2**32 - 1")
    yield from (*numbers, 0, 0)[:3]
