# SPDX-License-Identifier: Apache-2.0
"""Calls from C into Python: host calls, queue calls, the log."""
from __future__ import annotations

import collections
import collections.abc
import inspect
import sys
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple

from braid._binding import ffi, lib
from braid._errors import Error, Failure, HostCallError, refuse
from braid._interrupts import inside, keep_interrupt, raise_interrupt, stray
from braid._kernel import Kernel
from braid._memory import Pointer
from braid._text import string


class Failures:
    """What host calls and kernels of a graph raised and nobody was told of yet."""

    def __init__(self) -> None:
        self._list: Deque[Failure] = collections.deque()
        self.kernels: Dict[int, Kernel] = {}  # kernels whose code can raise

    def add(self, node: str, exception: BaseException) -> None:
        if keep_interrupt(exception):
            return
        self._list.append(Failure(node, exception))

    def take(self) -> List[Failure]:
        taken = []
        while self._list:
            taken.append(self._list.popleft())
        for kernel in self.kernels.values():
            if kernel.raised is not None:
                taken += [Failure(kernel.name, error, "kernel") for error in kernel.raised.take()]
        return taken

    def raise_interrupt(self) -> None:
        """Raises a KeyboardInterrupt that a host call ended with, unchanged. Other failures stay for the next wait."""
        raise_interrupt()
        for failure in tuple(self._list):
            if isinstance(failure.exception, KeyboardInterrupt):
                self._list.remove(failure)
                raise failure.exception

    def report(self) -> None:
        self.raise_interrupt()
        taken = self.take()
        if taken:
            raise HostCallError(taken)


_LATER = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
_LATER_RESULTS = (collections.abc.Coroutine, collections.abc.Generator, collections.abc.AsyncGenerator, map)


def check_function(function: Any, what: str) -> None:
    """Of one that C calls: a call of a coroutine or generator function does nothing, without a word."""
    if not callable(function):
        raise refuse(f"{what}: {function!r} cannot be called")
    if any(is_later(code) for code in (function, type(function).__call__) for is_later in _LATER):
        raise refuse(f"{what}: {function!r} is a coroutine or generator function, of which a call does nothing: give a "
                     "function that runs to its end")


def check_result(result: Any, what: str) -> None:
    """Of other functions only the result shows that they have not run."""
    if not isinstance(result, _LATER_RESULTS):
        return
    if isinstance(result, collections.abc.Coroutine):
        result.close()  # Python warns of one that nobody awaits
    raise refuse(f"{what} returned a {type(result).__name__}, which nothing runs: give a function that runs to its end")


class Call:
    """What `user` of a node points to: a callable, and where its failures go. `kind` begins messages."""

    def __init__(self, function: Callable[..., Any], node: str, failures: Failures, kind: str = "host call"):
        self._what = f"{kind} '{node}'"
        check_function(function, self._what)
        self.function, self.node, self.failures = function, node, failures
        self.raised: Optional[BaseException] = None  # by a queue call, for the launch to report

    def check(self, result: Any) -> None:
        check_result(result, self._what)


_queued: Dict[int, Any] = {}  # handles of calls that streams have not made yet


def queue_call(stream: Any, function: Callable[[], Any], failures: Failures) -> int:
    """Queues a call that is made once, and kept until then."""
    call = Call(function, getattr(function, "__name__", "host call"), failures, "host call of a stream")

    def once() -> None:
        _queued.pop(id(handle), None)
        call.check(call.function())

    handle = ffi.new_handle(Call(once, call.node, failures))
    _queued[id(handle)] = handle
    status = int(lib.braid_stream_host_call(stream, lib.braid_python_host_call, handle))
    if status != lib.BRAID_OK:
        _queued.pop(id(handle), None)
    return status


def _host_call(user: Any) -> None:
    call = ffi.from_handle(user)
    inside.depth += 1
    try:
        call.check(call.function())
    except BaseException as error:  # whatever it is, C knows no exceptions
        call.failures.add(call.node, error)
    finally:
        inside.depth -= 1


def _frame_end(frame: int, user: Any) -> None:
    call = ffi.from_handle(user)
    inside.depth += 1
    try:
        call.check(call.function(int(frame)))
    except BaseException as error:
        call.failures.add(call.node, error)
    finally:
        inside.depth -= 1


def _deadline(frame: int, nodes: Any, num_nodes: int, user: Any) -> None:
    call = ffi.from_handle(user)
    inside.depth += 1
    try:
        call.check(call.function(int(frame), nodes[0:num_nodes] if num_nodes else []))
    except BaseException as error:
        call.failures.add(call.node, error)
    finally:
        inside.depth -= 1


def _queue_call(device: Any, stream: Any, user: Any) -> int:
    return _queue(ffi.from_handle(user), device, stream)


def _queue(call: Call, device: Any, stream: Any, *more: Any) -> int:
    from braid._device import Stream

    lane = Stream._lent(device, stream)
    inside.depth += 1
    try:
        call.check(call.function(lane, *more))
    except Error as error:
        call.raised = error
        return int(getattr(lib, error.status)) if error.status else int(lib.BRAID_DEVICE_ERROR)
    except BaseException as error:
        if not keep_interrupt(error):
            call.raised = error
        return int(lib.BRAID_DEVICE_ERROR)
    finally:
        inside.depth -= 1
        lane._take_back()
    return int(lib.BRAID_OK)


class Shape(NamedTuple):
    """How a function is handed memory: as a memoryview of so many bytes, or with a type as an array of NumPy."""

    nbytes: int
    typestr: str = ""
    shape: Tuple[int, ...] = ()

    def view(self, buffer: Any) -> Any:
        if not self.typestr:
            return memoryview(buffer)
        import numpy

        return numpy.frombuffer(buffer, self.typestr).reshape(self.shape)


def _hand_out(call: Call, users: Sequence[Any], shapes: Sequence[Shape], *more: Any) -> None:
    """Calls a function with the frame's own memory, which must be nobody's afterwards."""
    buffers = [ffi.buffer(user, shape.nbytes) for user, shape in zip(users, shapes)]
    counts = [sys.getrefcount(buffer) for buffer in buffers]
    views = [shape.view(buffer) for buffer, shape in zip(buffers, shapes)]
    inside.depth += 1
    try:
        call.check(call.function(*views, *more))
        while views:
            view = views.pop()
            if isinstance(view, memoryview):
                view.release()
            view = None
        # NumPy's arrays do not keep a memoryview from being released.
        if [sys.getrefcount(buffer) for buffer in buffers] > counts:
            raise refuse(f"call '{call.node}' keeps memory of the frame, which is another frame's now: copy it")
    except BaseException as error:
        call.failures.add(call.node, error)
    finally:
        inside.depth -= 1


def host_call_with_memory(call: Call, shape: Shape) -> Any:
    """A function of C for a node whose `user` is memory of the frame, and so can be no handle of Python."""
    return ffi.callback("braid_host_function *", lambda user: _hand_out(call, [user], [shape]), onerror=stray)


def cpu_call_with_memories(call: Call, shapes: Sequence[Shape], with_frame: bool) -> Any:
    """Code of a kernel whose arguments are the addresses of several memories, and perhaps the number of the frame."""
    def run(blocks: Any, args: Any) -> None:
        users = [ffi.cast("void **", args[index])[0] for index in range(len(shapes))]
        frame = [int(ffi.cast("uint64_t *", args[len(shapes)])[0])] if with_frame else []
        _hand_out(call, users, shapes, *frame)

    return ffi.callback("braid_cpu_function *", run, onerror=stray)


def queue_call_with_memory(call: Call, nbytes: int) -> Any:
    def queue(device: Any, stream: Any, user: Any) -> int:
        pointer = Pointer(int(ffi.cast("uintptr_t", user)), nbytes)
        return _queue(call, device, stream, pointer)

    return ffi.callback("braid_queue_function *", queue, error=lib.BRAID_INTERNAL, onerror=stray)


_log: List[Callable[[str, str], Any]] = []


def _tell_log(status: int, message: Any, user: Any) -> None:
    for function in list(_log):
        inside.depth += 1
        try:
            function(string(lib.braid_status_get_name(status)), string(message))
        finally:
            inside.depth -= 1


ffi.def_extern(name="braid_python_host_call", onerror=stray)(_host_call)
ffi.def_extern(name="braid_python_frame_end", onerror=stray)(_frame_end)
ffi.def_extern(name="braid_python_deadline", onerror=stray)(_deadline)
ffi.def_extern(name="braid_python_queue_call", error=lib.BRAID_INTERNAL, onerror=stray)(_queue_call)
ffi.def_extern(name="braid_python_log", onerror=stray)(_tell_log)


def log_to(function: Optional[Callable[[str, str], Any]]) -> None:
    """Has each failure told to function(status, message) when it is first known; None: to nobody. It is called
    on the thread that found it, and must not call Braid."""
    lib.braid_log_set(ffi.NULL, ffi.NULL)
    _log.clear()
    if function is not None:
        check_function(function, "the function of the log")
        _log.append(function)
        lib.braid_log_set(lib.braid_python_log, ffi.NULL)
