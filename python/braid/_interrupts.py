# SPDX-License-Identifier: Apache-2.0
"""Waits that Ctrl-C ends at once.

Python handles signals on the main thread alone, between two steps of Python. So the main thread does not wait
inside C: it asks until there is nothing left to wait for. A thread that waits inside C may also make host
calls, and Ctrl-C would end such a call instead of the wait. Other threads wait inside C."""
from __future__ import annotations

import collections
import math
import threading
import time
import traceback
from typing import Any, Callable, Deque

_SPIN_SECONDS = 50e-6
_LONGEST_SLEEP_SECONDS = 2e-3


class _Inside(threading.local):
    """How many calls from C into Python this thread is in."""

    depth = 0


inside = _Inside()
_interrupts: Deque[KeyboardInterrupt] = collections.deque()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def may_poll() -> bool:
    """Whether the caller is to ask, and not to wait inside C."""
    return not inside.depth and _is_main()


def poll(is_over: Callable[[], bool], timeout: float = math.inf, on_any_thread: bool = False) -> None:
    """Returns when `is_over` says so or the seconds have passed, and at once where the caller may wait inside C."""
    if inside.depth or not (on_any_thread or _is_main()):
        return
    begin = time.perf_counter()
    while not is_over():
        waited = time.perf_counter() - begin
        if waited >= timeout:
            return
        if waited > _SPIN_SECONDS:  # the sleep makes a wait longer by a sixteenth at most
            time.sleep(min(waited / 16, _LONGEST_SLEEP_SECONDS))


def keep_interrupt(error: BaseException) -> bool:
    """Whether it is what Ctrl-C raised in a call from C, which C cannot hand on. The caller of C raises it."""
    if not isinstance(error, KeyboardInterrupt) or not _is_main():
        return False
    _interrupts.append(error)
    return True


def raise_interrupt() -> None:
    """Behind a call of C that may have called Python."""
    if _interrupts and not inside.depth and _is_main():
        error = _interrupts.popleft()
        _interrupts.clear()
        raise error


def stray(kind: Any, error: BaseException, trace: Any) -> None:
    """For what leaves a function that C has called."""
    if not keep_interrupt(error):
        traceback.print_exception(kind, error, trace)
