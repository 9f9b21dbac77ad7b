# SPDX-License-Identifier: Apache-2.0
"""What is looked at before C is called, where C would end the process; and whose failure one was."""
from __future__ import annotations

from typing import List, Optional

from braid._arguments import Argument
from braid._binding import lib
from braid._calls import Call
from braid._device import Device
from braid._errors import make_error, refuse
from braid._handles import Kept
from braid._interrupts import raise_interrupt
from braid._memory import Span


def check_queue_call(status: int, queue_calls: List[Call]) -> None:
    """A queue call that raised is the cause of the failure that it made."""
    if status == lib.BRAID_OK:
        for call in queue_calls:
            call.raised = None  # an attempt that Braid did without raised it
        return
    raise_interrupt()
    error = make_error(status)
    for call in queue_calls:
        if call.raised is not None:
            cause, call.raised = call.raised, None
            raise error from cause
    raise error


def check_reach(device: Device, kept: Kept) -> None:
    if device.backend != "cpu" and kept.views:
        raise refuse(f"host call '{kept.views[0]}' is handed memory of the exec, which on {device.backend} is the "
                     "device's: copy it to an array, or use a queue call")
    for use in kept.kernels.values():
        for index, argument in enumerate(use.arguments):
            check_argument(device, argument, f"kernel '{use.name}' is given", index)


def check_argument(device: Device, argument: Argument, given: str, index: Optional[int]) -> None:
    """A pointer that the device cannot follow would end the process, or break the context."""
    span = argument.span
    if span is None:
        return
    where = "" if index is None else f" as argument {index}"
    check_copied(device, span, given, where)
    if device.backend != "cpu" and span.pageable:
        raise refuse(f"{given} {span.kind}{where}, which is the host's own memory: a kernel on {device.backend} "
                     "does not reach it. Copy it to an array on the device, or where all memory is one give "
                     "braid.Pointer.of(it)")


def check_copied(device: Device, span: Optional[Span], given: str, where: str = "") -> None:
    if span is not None and device.backend == "cpu" and span.on_gpu:
        raise refuse(f"{given} {span.kind}{where}, which is a GPU's memory, and the device is the CPU")
