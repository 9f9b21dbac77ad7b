# SPDX-License-Identifier: Apache-2.0
"""Execs: a schedule bound to a device, replayed frame by frame."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from braid._arguments import Argument, Arguments, encode
from braid._binding import ffi, lib
from braid._device import Device, is_ready
from braid._errors import HostCallError, check, make_error, refuse
from braid._graph import Graph, Kept, Node, Parameter
from braid._lifetime import Owned, Owner, run_deferred
from braid._options import ISLANDS, MODES, Islands, Mode, PlanOptions, choose, fill_plan, read_struct
from braid._schedule import Schedule

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclasses.dataclass(frozen=True)
class ExecInfo:
    """See braid_exec_info; `mode` is a number there."""

    mode: str
    reason: str
    num_streams: int
    num_events: int
    argument_bytes: int
    num_early_starts: int
    num_island_nodes: int


class Exec(Owned):
    """A graph ready to run on one device. It keeps what its nodes use: arrays, kernels, functions."""

    def __init__(self, device: Device, graph: Graph, schedule: Optional[Schedule] = None, *,
                 mode: Mode = "auto", islands: Islands = "auto", no_early_start: bool = False,
                 **plan: Unpack[PlanOptions]):
        run_deferred()
        options = ffi.new("braid_exec_options *")
        options.mode = choose("mode", MODES, mode)
        options.islands = choose("islands", ISLANDS, islands)
        options.no_early_start = no_early_start
        fill_plan(options.plan, plan)
        if schedule is not None and plan:
            raise refuse("an exec takes a schedule or options of a plan, not both")
        kept = graph._kept
        _check_reach(device, kept)
        out = ffi.new("braid_exec **")
        with device._owner as on, graph._owner as of:
            if schedule is None:
                status = lib.braid_exec_create(on, of, options, out)
            else:
                with schedule._owner as by:
                    options.schedule = by
                    status = lib.braid_exec_create(on, of, options, out)
            _check_native(status, kept)
        self.device, self.graph = device, graph
        self._kept = kept
        self._given: Dict[Tuple[int, int], Any] = {}  # what set_arg and set_param gave
        self._replaced: Dict[int, Any] = {}  # what frames in flight may still use
        self._stream: Any = None

        def destroy(pointer: Any) -> None:
            lib.braid_exec_destroy(pointer)
            kept.failures.report()  # what no wait has reported; Python prints what finalizers raise

        self._owner = Owner("exec", out[0], destroy, parent=device._owner,
                            kept=(kept, self._given, self._replaced))

    # ---- frames ----

    def launch(self, stream: Any = None) -> None:
        """Runs one frame, after all earlier work on `stream` and before all later: a braid.Stream, one of
        PyTorch or CuPy, whatever has __cuda_stream__, or an address; None is the device's default stream.
        Never blocks, so a program that can run ahead of its device waits now and then."""
        if stream is not None:
            stream = self.device.wrap_stream(stream)
        if len(self._replaced) > 64:
            self._forget()
        with self._owner as pointer:
            if stream is None:
                status = lib.braid_exec_launch(pointer, ffi.NULL)
            else:
                self._stream = stream  # lives as long as its frames may
                with stream._owner as on:
                    status = lib.braid_exec_launch(pointer, on)
        if status != lib.BRAID_OK:
            _check_native(status, self._kept)

    def wait(self) -> None:
        """Blocks until the last launch has ended. Raises HostCallError where host calls of the graph raised
        since the last wait, and DeviceError where work on the device failed."""
        with self._owner as pointer:
            status = lib.braid_exec_wait(pointer)
        if status == lib.BRAID_OK:
            self._replaced.clear()
        self._kept.failures.report()
        check(status)

    @property
    def done(self) -> bool:
        """Whether the last launch has ended."""
        with self._owner as pointer:
            return is_ready(lib.braid_exec_query(pointer))

    def run(self, frames: int = 1) -> None:
        """Launches so many frames on the default stream, and waits for them."""
        for _ in range(frames):
            self.launch()
        self.wait()

    # ---- what changes from frame to frame ----

    def set_arg(self, node: Node, index: int, value: Any) -> None:
        """Replaces an argument of a kernel node for later launches. Frames in flight keep theirs."""
        use = self._kept.kernels.get(node.index) if node.graph is self.graph else None
        if use is None:
            raise refuse(f"node '{node.name}' is no kernel of this exec's graph")
        if not 0 <= index < len(use.arguments):
            raise refuse(f"kernel '{node.name}' has {len(use.arguments)} arguments, and no argument {index}")
        types = use.kernel.types
        argument = encode(value, types[index] if types else None, f"argument {index} of kernel '{node.name}'")
        _check_argument(self.device, argument, f"kernel '{node.name}' is given", index)
        packed = Arguments([argument])
        with self._owner as pointer:
            check(lib.braid_exec_set_arg(pointer, self.graph._handle(node, "node"), index, packed.array[0]))
        self._keep((node.index, index), argument.keep)

    def set_param(self, parameter: Parameter, value: Any) -> None:
        """Gives a parameter another value, for later launches."""
        if not isinstance(parameter, Parameter) or parameter.graph is not self.graph:
            raise refuse(f"{parameter!r} is no parameter of this exec's graph")
        argument = encode(value, parameter.type, f"parameter '{parameter.name}'")
        if len(argument.data) != len(parameter._initial.data):
            raise refuse(f"parameter '{parameter.name}' has {len(parameter._initial.data)} bytes, and is given "
                         f"{len(argument.data)}")
        _check_argument(self.device, argument, f"parameter '{parameter.name}' is given", None)
        handle = ffi.new("braid_parameter *", parameter._handle)[0]
        with self._owner as pointer:
            check(lib.braid_exec_set_param(pointer, handle, ffi.from_buffer(argument.data)))
        self._keep((-1, parameter._handle[0]), argument.keep)

    def _keep(self, place: Tuple[int, int], thing: Any) -> None:
        before = self._given.get(place)
        if before is not None:
            self._replaced[id(before)] = before
        if thing is not None:
            self._given[place] = thing
        else:
            self._given.pop(place, None)

    def _forget(self) -> None:
        if self.done:
            self._replaced.clear()

    # ---- what there is ----

    @property
    def schedule(self) -> Schedule:
        """The plan that it runs; as long as the exec is open."""
        return Schedule._of_exec(self)

    @property
    def info(self) -> ExecInfo:
        struct = ffi.new("braid_exec_info *")
        with self._owner as pointer:
            lib.braid_exec_get_info(pointer, struct)
        info = read_struct(ExecInfo, struct)
        modes = {number: name for name, number in MODES.items()}
        return dataclasses.replace(info, mode=modes[struct.mode])

    def _repr_svg_(self) -> Optional[str]:
        return None if self._owner.closed else self.schedule._repr_svg_()

    def close(self) -> None:
        """Waits for this exec's frames, then frees it. Raises HostCallError where a wait would have."""
        super().close()

    def __enter__(self) -> Exec:
        return self

    def __exit__(self, type_: Any, *what: Any) -> None:
        try:
            self.close()
        except HostCallError:
            if type_ is None:  # else what happened first is told
                raise

    def __repr__(self) -> str:
        return "<braid.Exec, closed>" if self._owner.closed else \
            f"<braid.Exec of {len(self.schedule._nodes)} nodes on {self.device.backend}>"


def _check_native(status: int, kept: Kept) -> None:
    """A native call that raised is the cause of the failure that it made."""
    if status == lib.BRAID_OK:
        for call in kept.natives:
            call.raised = None  # of an attempt that Braid did without
        return
    error = make_error(status)
    for call in kept.natives:
        if call.raised is not None:
            cause, call.raised = call.raised, None
            raise error from cause
    raise error


def _check_reach(device: Device, kept: Kept) -> None:
    for use in kept.kernels.values():
        for index, argument in enumerate(use.arguments):
            _check_argument(device, argument, f"kernel '{use.name}' is given", index)


def _check_argument(device: Device, argument: Argument, given: str, index: Optional[int]) -> None:
    """A pointer that the device cannot follow would end the process, or break the context."""
    span = argument.span
    if span is None:
        return
    where = "" if index is None else f" as argument {index}"
    if device.backend == "cpu" and span.on_gpu:
        raise refuse(f"{given} {span.kind}{where}, which is a GPU's memory, and the device is the CPU")
    if device.backend != "cpu" and span.pageable:
        raise refuse(f"{given} {span.kind}{where}, which is the host's own memory: a kernel on {device.backend} "
                     "does not reach it. Copy it to an array on the device, or where all memory is one give "
                     "braid.Pointer.of(it)")
