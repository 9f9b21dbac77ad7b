# SPDX-License-Identifier: Apache-2.0
"""Tuning: finds by trial how a graph is best played on a device."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, List, Optional

from braid._binding import ffi, lib
from braid._calls import Call, check_function
from braid._checks import check_queue_call, check_reach
from braid._device import Device, Stream
from braid._errors import refuse
from braid._graph import Graph
from braid._interrupts import stray
from braid._lifetime import run_deferred
from braid._notebook import table
from braid._options import ExecOptions, read_exec
from braid._text import string
from braid._timings import Spread, read_spread


@dataclasses.dataclass(frozen=True)
class Trial:
    """One way to play a graph, and what a frame took by the plan and as the host timed it."""

    name: str
    way: ExecOptions
    num_lanes: int
    frames_timed: int
    planned_ns: int
    frame: Spread
    was_dropped: bool
    is_best: bool


@dataclasses.dataclass(frozen=True)
class Tuning:
    """`way` is how to make the fastest exec: Exec(device, graph, **tuning.way). The fastest trial is first, the one that
    was taken `is_best`: of those whose times cannot be told from the first's the one with the fewest lanes."""

    way: ExecOptions
    trials: List[Trial]

    def _repr_html_(self) -> str:
        return table(("", "way", "lanes", "frame, us", "planned, us", "frames"),
                     [("*" if one.is_best else "", one.name, one.num_lanes, one.frame.median_ns / 1e3,
                       one.planned_ns / 1e3, one.frames_timed) for one in self.trials], "tuning: * is taken")


def tune(device: Device, graph: Graph, *, budget_ns: int = 0, max_lanes: int = 0,
         keep_costs: bool = False, max_frames_in_flight: int = 0, progress: Optional[Callable[[int, int], Any]] = None,
         reset: Optional[Callable[[Stream], Any]] = None) -> Tuning:
    """Runs frames of the graph for about `budget_ns` (0: two seconds), and tells how it was the fastest. The
    costs of its nodes are measured first, and set, unless `keep_costs`. Kernels and calls run as often as
    there is time for, thousands of times where a frame is short. However short the budget, each way runs two frames
    at least, which may take many times as long where frames are slow: progress(used_ns, total_ns) is told
    before and meanwhile. With `max_frames_in_flight` of 2 or 3 it tries as many frames in flight, which overlap rightly only
    where nodes say all that they touch. reset(stream) is called before each frame, and gives it the state that it starts
    from: it writes host memory, or queues work on the stream."""
    run_deferred()
    if not isinstance(device, Device) or not isinstance(graph, Graph):
        raise refuse(f"what is tuned is a graph on a device: tune(device, graph), and not "
                     f"tune({type(device).__name__}, {type(graph).__name__})")
    check_reach(device, graph._kept)
    trials: List[Trial] = []
    user = ffi.new_handle((trials, progress))
    options = ffi.new("braid_tune_options *")
    options.budget_ns, options.max_lanes, options.keep_costs = budget_ns, max_lanes, keep_costs
    options.max_frames_in_flight = max_frames_in_flight
    options.report, options.user = lib.braid_python_trial, user
    if progress is not None:
        check_function(progress, "the function of the progress")
        options.progress = lib.braid_python_progress
    resets = [] if reset is None else [Call(reset, "reset", graph._kept.failures, "function")]
    handles = [ffi.new_handle(call) for call in resets]
    if handles:
        options.reset, options.reset_user = lib.braid_python_queue_call, handles[0]
    way = ffi.new("braid_exec_options *")
    with device._owner as on, graph._owner as of:
        status = lib.braid_graph_tune(of, on, options, way)
    check_queue_call(status, [*graph._kept.queue_calls, *resets])
    graph._kept.failures.report()
    return Tuning(read_exec(way), trials)


def _tell_trial(trial: Any, user: Any) -> None:
    trials: List[Trial] = ffi.from_handle(user)[0]
    trials.append(Trial(string(trial.name), read_exec(trial.way), trial.num_lanes, trial.frames_timed,
                        trial.planned_ns, read_spread(trial.frame), trial.was_dropped, trial.is_best))


def _tell_progress(used_ns: int, total_ns: int, user: Any) -> None:
    ffi.from_handle(user)[1](int(used_ns), int(total_ns))


ffi.def_extern(name="braid_python_trial", onerror=stray)(_tell_trial)
ffi.def_extern(name="braid_python_progress", onerror=stray)(_tell_progress)
