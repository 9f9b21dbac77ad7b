# SPDX-License-Identifier: Apache-2.0
"""Failures as exceptions: a type for each status, with the line that the C library wrote."""
from __future__ import annotations

import builtins
from typing import Dict, List, NamedTuple, Type

from braid._binding import ffi, lib
from braid._interrupts import raise_interrupt


class Error(Exception):
    """A call of Braid failed. `status` is the name of the C constant; the text says what was wrong, and
    `details` has all that a run-time compiler wrote about it."""

    status = ""
    details = ""


class InvalidArgumentError(Error, ValueError):
    """An argument is wrong; the message names it."""


class NoMemoryError(Error, MemoryError):
    """Host or device memory ran out."""


class CycleError(Error, ValueError):
    """The graph has a cycle; the message lists its nodes."""


class UnavailableError(Error):
    """No such backend or device here; the message says what was tried."""


class UnsupportedError(Error):
    """This device or mode cannot do it; the message says why."""


class DeviceError(Error, RuntimeError):
    """The driver or a queue call reported a failure."""


class InputOutputError(Error, OSError):
    """A file could not be written or read."""


class InternalError(Error, RuntimeError):
    """Braid broke one of its own laws; please report it."""


class BusyError(Error, RuntimeError):
    """Frames in flight prevent a launch: try again when they have ended."""


class TimeoutError(Error, builtins.TimeoutError):
    """The time limit of a wait passed."""


class TrappedError(Error, RuntimeError):
    """A kernel wrote a trap; the message has its node, code and payload."""


class WrongStateError(Error, RuntimeError):
    """The call needs another state of the object: one that is open, for example."""


class InUseError(Error, RuntimeError):
    """Other objects still use it; the message says which."""


class Failure(NamedTuple):
    """A host call, or a kernel of Numba's, that raised."""

    node: str
    exception: BaseException
    kind: str = "host call"


class HostCallError(Error, RuntimeError):
    """Host calls, or kernels of Numba's on the CPU, raised since the last wait. The first one's exception is the
    cause of this one, and `failures` has all."""

    def __init__(self, failures: List[Failure]):
        first = failures[0]
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        what = f"{type(first.exception).__name__}: {first.exception}"
        super().__init__(f"{first.kind} '{first.node}' raised {what}{more}")
        self.failures = failures
        self.__cause__ = first.exception


_TYPES: Dict[int, Type[Error]] = {
    lib.BRAID_INVALID_ARGUMENT: InvalidArgumentError,
    lib.BRAID_NO_MEMORY: NoMemoryError,
    lib.BRAID_CYCLE: CycleError,
    lib.BRAID_UNAVAILABLE: UnavailableError,
    lib.BRAID_UNSUPPORTED: UnsupportedError,
    lib.BRAID_DEVICE_ERROR: DeviceError,
    lib.BRAID_IO_ERROR: InputOutputError,
    lib.BRAID_INTERNAL: InternalError,
    lib.BRAID_BUSY: BusyError,
    lib.BRAID_TIMEOUT: TimeoutError,
    lib.BRAID_TRAPPED: TrappedError,
    lib.BRAID_WRONG_STATE: WrongStateError,
    lib.BRAID_IN_USE: InUseError,
}
for _status, _type in _TYPES.items():  # also of those that a program raises
    _type.status = ffi.string(lib.braid_status_get_name(_status)).decode()


def make_error(status: int) -> Error:
    """The latest failure on this thread as an exception. New statuses are failures, too."""
    error = _TYPES.get(status, Error)(ffi.string(lib.braid_error_get_message()).decode("utf-8", "replace"))
    error.status = ffi.string(lib.braid_status_get_name(status)).decode()
    error.details = ffi.string(lib.braid_error_get_details()).decode("utf-8", "replace")
    return error


def check(status: int) -> None:
    if status != lib.BRAID_OK:
        raise_interrupt()  # which may be why
        raise make_error(status)


def refuse(text: str) -> InvalidArgumentError:
    """For what this package finds itself, before the library is asked."""
    return InvalidArgumentError(text)
