# SPDX-License-Identifier: Apache-2.0
"""When C objects are destroyed: once nothing in Python uses them, in an order that C bears.

The garbage collector runs finalizers in any order, on any thread, also on one that is inside a call
that C made into Python, where nothing that waits may be called; and at exit, workers of a device
must not find Python gone. So each C object has an owner that counts its users, those made from it
included; what must not be destroyed here and now is left to the next call that may; and what is
left at exit is destroyed there, once no other thread is inside a call. Until then an object that a
stopped thread lets go of keeps what its frames in flight use.

Counts are lengths of lists, whose append and pop nothing interrupts: a finalizer may run between any
two steps of a method, on the same thread as well, so a lock would not do."""
from __future__ import annotations

import atexit
import collections
import contextlib
import os
import sys
import threading
import time
import weakref
from typing import Any, Callable, Deque, List, NoReturn, Optional

from braid._errors import WrongStateError
from braid._interrupts import inside


_deferred: Deque[Callable[[], None]] = collections.deque()
_owners: weakref.WeakSet[Owner]
_process = [object()]  # another one after a fork
_leaver: List[int] = []  # the thread that ends the interpreter, once it does
_keeps_all: List[bool] = []  # it has a value at exit as long as some thread may be inside a call
_LONGEST_EXIT_SECONDS = 10


def run_deferred() -> None:
    """Destroys what could not be destroyed where or when it was found unused."""
    while _deferred and not inside.depth and not _keeps_all:
        try:
            action = _deferred.popleft()
        except IndexError:  # another thread was faster
            return
        action()


class Unique:
    """What stands for one thing of C. A copy would let go of that a second time, and another process has none of it."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Of copy.copy, copy.deepcopy and pickle."""
        raise TypeError(f"a braid.{type(self).__name__} cannot be copied or pickled: it stands for one thing of the C "
                        "library")


class Owner(Unique):
    """A C object, what it needs, and how many use it."""

    def __init__(self, what: str, pointer: Any, destroy: Callable[[Any], Any],
                 parent: Optional[Owner] = None, kept: Any = None):
        self.what = what
        self.kept = kept  # Python objects that the C object uses
        self._pointer = pointer
        self._destroy = destroy
        self._parent = parent
        self._process = _process[0]
        self._claims: List[None] = [None]
        self._users: List[None] = [None]
        self._alive: List[None] = [None]
        if parent is not None:
            parent.acquire()
        _owners.add(self)

    @property
    def pointer(self) -> Any:
        if _leaver and _leaver[0] != threading.get_ident() and not inside.depth:
            # Python stops other threads at exit without a word, and so does this.
            raise SystemExit(f"the {self.what} is not for use while the interpreter exits")
        pointer = self._pointer
        if pointer is None or not self._claims:
            raise WrongStateError(f"the {self.what} is closed")
        if self._process is not _process[0]:
            raise WrongStateError(f"the {self.what} was made before a fork, and belongs to the parent process")
        return pointer

    @property
    def pointer_for_children(self) -> Any:
        """What was made from it may use it as long as that is there."""
        return self._pointer

    @property
    def closed(self) -> bool:
        return self._pointer is None or not self._claims

    @property
    def has_other_users(self) -> bool:
        return len(self._users) > 1

    def acquire(self) -> None:
        self._users.append(None)

    def release(self) -> None:
        self._users.pop()
        if not self._users:
            self.destroy()

    def drop(self) -> None:
        """By the object that has it, once, however often it is called."""
        try:
            self._claims.pop()
        except IndexError:
            return
        self.release()

    def __enter__(self) -> Any:
        """For the time of a call: another thread that closes the object meanwhile waits for it."""
        pointer = self.pointer
        self._users.append(None)
        return pointer

    def __exit__(self, *what: Any) -> None:
        self.release()

    def destroy(self) -> None:
        """Once, however often it is called."""
        try:
            self._alive.pop()
        except IndexError:
            return
        if inside.depth or _keeps_all:  # with what frames in flight use
            _deferred.append(self._destroy_now)
        else:
            self._destroy_now()

    def _destroy_now(self) -> None:
        pointer, self._pointer = self._pointer, None
        try:
            if self._process is _process[0]:  # a child must not even close it
                self._destroy(pointer)
        finally:
            self.kept = None
            parent, self._parent = self._parent, None
            if parent is not None:
                parent.release()


class Hold(Unique):
    """Keeps a C object as long as it is kept itself."""

    def __init__(self, owner: Owner):
        self._owner = owner
        owner.acquire()

    def __del__(self) -> None:
        self._owner.release()


_owners = weakref.WeakSet()


class Owned(Unique):
    """A Python object with an owner, which it lets go of once: by close() or when it is collected."""

    _owner: Owner

    def close(self) -> None:
        """Frees what this holds. It cannot be used afterwards; closing it again does nothing."""
        self._owner.drop()
        run_deferred()

    def __del__(self) -> None:
        owner = getattr(self, "_owner", None)  # absent where __init__ failed
        if owner is not None:
            owner.drop()


def _is_inside(frame: Any) -> bool:
    """Whether a thread may be inside a call of C, which only functions of this package make. C itself calls those of
    _calls on threads of a device: an object that is destroyed waits for such a call."""
    name, is_inside = "", False
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        is_inside = is_inside or name.partition(".")[0] == __package__
        frame = frame.f_back
    return is_inside and name != f"{__package__}._calls"


def _await_others() -> bool:
    """At exit: whether no other thread is inside a call any more. None can begin one with an object that is there."""
    begin, own = time.perf_counter(), threading.get_ident()
    _leaver.append(own)
    while any(_is_inside(frame) for thread, frame in sys._current_frames().items() if thread != own):
        if time.perf_counter() - begin > _LONGEST_EXIT_SECONDS:
            return False
        time.sleep(0.0005)
    return True


def _destroy_all() -> None:
    """At exit, before Python takes itself apart: what was made last goes first. A thread may wait inside a call for
    something that never comes: then all stays as it is, and ends with the process."""
    _keeps_all.append(True)  # also if Ctrl-C ends the wait
    if not _await_others():
        return
    _keeps_all.clear()
    with contextlib.ExitStack() as failures:  # raises the last one once all is done
        # What has no parent goes last: an exit stack runs backwards.
        for owner in sorted(list(_owners), key=lambda owner: owner._parent is not None):
            failures.callback(owner.destroy)
        failures.callback(run_deferred)


def _after_fork() -> None:
    _process[0] = object()
    _deferred.clear()
    _leaver.clear()
    inside.depth = 0


atexit.register(_destroy_all)
os.register_at_fork(after_in_child=_after_fork)
