# SPDX-License-Identifier: Apache-2.0
"""Runners: graphs that find the fastest way to play while the program launches them."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional

from braid._binding import ffi, lib
from braid._calls import Call
from braid._checks import check_queue_call, check_reach
from braid._device import Device, Stream, is_ready
from braid._errors import check, refuse
from braid._exec import Exec
from braid._graph import Graph
from braid._interrupts import poll, raise_interrupt
from braid._lifetime import Hold, Owned, Owner, run_deferred
from braid._text import string


@dataclasses.dataclass(frozen=True)
class RunnerInfo:
    """See braid_runner_info."""

    way: str
    reason: str
    frame_ns: int
    is_chosen: bool
    is_making: bool


class Runner(Owned):
    """A graph that finds the fastest way to play while the program launches it: see braid_runner. as_before(stream)
    queues the same work as the program did before, such as a launch of its own graph. before_plan(stream) queues what
    each plan needs beside it, before each launch of a plan."""

    def __init__(self, device: Device, graph: Graph, *, max_lanes: int = 0,
                 as_before: Optional[Callable[[Stream], Any]] = None,
                 before_plan: Optional[Callable[[Stream], Any]] = None):
        run_deferred()
        if not isinstance(device, Device) or not isinstance(graph, Graph):
            raise refuse(f"a runner is made of a device and a graph: Runner(device, graph), and not "
                         f"Runner({type(device).__name__}, {type(graph).__name__})")
        kept = graph._kept
        check_reach(device, kept)
        if kept.frame_number is not None or kept.initial:
            raise refuse("a runner makes several execs, and knows no values of parameters that Graph.use gives to nodes: make an "
                         "Exec of this graph")
        options = ffi.new("braid_runner_options *")
        options.max_lanes = max_lanes
        self._calls = list(kept.queue_calls)
        handles = []
        for name, user, function in (("as_before", "user", as_before), ("before_plan", "before_plan_user", before_plan)):
            if function is not None:
                call = Call(function, name, kept.failures, "function")
                self._calls.append(call)
                handles.append(ffi.new_handle(call))
                setattr(options, name, lib.braid_python_queue_call)
                setattr(options, user, handles[-1])
        out = ffi.new("braid_runner **")
        with device._owner as on, graph._owner as of:
            check_queue_call(lib.braid_runner_create(on, of, options, out), self._calls)
        self.device, self.graph = device, graph
        self._stream: Optional[Stream] = None

        def destroy(pointer: Any) -> None:
            lib.braid_runner_destroy(pointer)
            kept.failures.report()

        self._owner = Owner("runner", out[0], destroy, parent=device._owner, kept=(kept, handles, Hold(graph._owner)))

    def launch(self, stream: Any = None) -> None:
        """Runs one frame, as Exec.launch does."""
        if stream is not None:
            stream = self._stream = self.device.wrap_stream(stream)
        with self._owner as pointer:
            if stream is None:
                status = lib.braid_runner_launch(pointer, ffi.NULL)
            else:
                with stream._owner as on:
                    status = lib.braid_runner_launch(pointer, on)
        check_queue_call(status, self._calls)
        raise_interrupt()

    def wait(self) -> None:
        """Blocks until the last launch has ended. Raises as Exec.wait does. KeyboardInterrupt leaves a wait at once."""
        with self._owner as pointer:
            poll(lambda: self._is_over(pointer))
            status = lib.braid_runner_wait(pointer)
        self.graph._kept.failures.report()
        check(status)

    def _is_over(self, pointer: Any) -> bool:
        """Whether nothing is left to wait for; a failure is told by the wait."""
        self.graph._kept.failures.raise_interrupt()
        return bool(lib.braid_runner_query(pointer) != lib.BRAID_NOT_READY)

    @property
    def done(self) -> bool:
        """Whether all launches have ended."""
        with self._owner as pointer:
            return is_ready(lib.braid_runner_query(pointer))

    @property
    def exec(self) -> Optional[Exec]:
        """The exec that launches play by from now on. None while they try ways, and where they play as before."""
        with self._owner as pointer:
            found = lib.braid_runner_get_exec(pointer)
        return None if found == ffi.NULL else Exec._of_runner(self.device, self.graph, found, self._owner)

    @property
    def info(self) -> RunnerInfo:
        found = ffi.new("braid_runner_info *")
        with self._owner as pointer:
            lib.braid_runner_get_info(pointer, found)
            return RunnerInfo(string(found.way), string(found.reason), int(found.frame_ns), bool(found.is_chosen),
                              bool(found.is_making))
