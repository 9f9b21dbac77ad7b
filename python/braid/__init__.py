# SPDX-License-Identifier: Apache-2.0
"""Braid plans a graph of kernels onto a few streams, and replays the plan every frame.

    import braid, numpy as np

    x = np.zeros(4, "float32")
    graph = braid.Graph()
    graph.fill(x, 2.0)
    graph.host(lambda: np.sqrt(x, out=x), updates=x)
    braid.Exec(braid.Device("cpu"), graph).run()

All here is sugar over the C library, whose headers say more: names are the same, and so are errors."""
from braid._calls import log_to
from braid._describe import inout, read, write
from braid._device import (Backend, Device, DeviceInfo, Event, FoundDevice, Stream, backends, devices)
from braid._errors import (BusyError, CycleError, DeviceError, Error, Failure, HostCallError,
                           InputOutputError, InternalError, InUseError, InvalidArgumentError, NoMemoryError, TimeoutError, TrappedError,
                           UnavailableError, UnsupportedError, WrongStateError)
from braid._exec import Exec, ExecInfo, RunningNode
from braid._external import External
from braid._audit import Finding, audit
from braid._graph import Graph
from braid._handles import Node, Parameter, Resource, Rows
from braid._import import Conditional, Imported, ImportInfo, Part
from braid._kernel import Kernel
from braid._memories import Memory, MemoryPool, MemoryPoolInfo
from braid._memory import Pointer, Trap
from braid._options import CostModel, ExecOptions, Link, Places
from braid._ranks import Communicator, Ranks
from braid._replay import Difference, Replay, replay
from braid._runner import Runner, RunnerInfo
from braid._schedule import Placement, PlannedCopy, Schedule, ScheduleInfo, Serialisation, Step
from braid._text import version
from braid._timings import FrameTiming, LaneTiming, NodeTiming, Spread, Timings, WaitTiming
from braid._tune import Trial, Tuning, tune

__version__ = version()

__all__ = [
    "Backend", "BusyError", "Communicator", "Conditional", "CostModel", "CycleError", "Device", "DeviceError", "DeviceInfo", "Difference",
    "Error", "Event", "Exec", "ExecInfo", "ExecOptions", "External", "Failure", "Finding", "FoundDevice", "FrameTiming", "Graph", "HostCallError", "Imported", "ImportInfo", "InputOutputError",
    "InternalError", "InUseError", "InvalidArgumentError", "Kernel", "LaneTiming", "Link", "Memory",
    "MemoryPool", "MemoryPoolInfo", "NoMemoryError", "Node", "NodeTiming", "Parameter", "Part", "Placement", "Places", "PlannedCopy", "Pointer", "Ranks", "Replay", "Resource", "Rows", "Runner", "RunnerInfo", "RunningNode", "Schedule",
    "ScheduleInfo", "Serialisation", "Spread", "Step", "Stream", "TimeoutError", "Timings", "Trap", "TrappedError", "Trial", "Tuning",
    "UnavailableError", "UnsupportedError", "WaitTiming", "WrongStateError", "audit", "backends", "devices", "inout", "log_to", "read", "replay", "tune", "version", "write",
]
