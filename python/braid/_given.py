# SPDX-License-Identifier: Apache-2.0
"""What setters and rows give to an exec: kept as long as nodes have it or frames use it.

An interrupt may end a setter at any step, and another thread may set the same value meanwhile. So C gets a thing
only once it is kept here. A setter that has succeeded has replaced what earlier calls gave. It has not replaced
what another thread gives at the same time. Which of two such threads C heard last is unknown, so both things stay.

Steps that other threads or finalizers must not come between are single operations on sets. A lock would not do:
the thread that has it may be inside C, and wait for a call into Python that sets something."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Set, Tuple

from braid._binding import lib


class _Thing:
    """An array, a function, or several of them that one call gave to one place."""

    __slots__ = ("kept", "is_over", "num_frames")

    def __init__(self, kept: Any, is_over: bool = False):
        self.kept = kept
        self.is_over = is_over  # the call that gave it
        self.num_frames = 0  # once so many have ended, it is not used any more, if it was replaced


class Given:
    """By a number for each argument, end, call or parameter of an exec."""

    def __init__(self) -> None:
        self._at: Dict[Tuple[int, int], Set[_Thing]] = {}
        self._replaced: Set[_Thing] = set()
        self._held: List[_Thing] = []

    def __len__(self) -> int:
        """How many things were replaced and are still kept."""
        return len(self._replaced)

    def give(self, kept: Mapping[Tuple[int, int], Any], call: Callable[[], int], num_frames: Callable[[], int],
             took_none: Callable[[int], bool]) -> int:
        """Makes the call that gives things to C, and returns its status. A thing of None is a number. `took_none`:
        whether C has surely none of the things, by the status of a call that failed."""
        before: List[Tuple[Set[_Thing], _Thing]] = []
        new: List[Tuple[Set[_Thing], _Thing]] = []
        try:
            for place, thing in kept.items():
                if thing is None and place not in self._at:
                    continue
                at = self._at.setdefault(place, set())
                before += [(at, one) for one in list(at) if one.is_over]
                if thing is not None:
                    new.append((at, _Thing(thing)))
                    at.add(new[-1][1])
            status = call()
            if status != lib.BRAID_OK and new and took_none(status):
                for at, one in new:
                    at.discard(one)
            if status == lib.BRAID_OK and before:
                # One more: a part of a launch that failed may still run, and the next frame is behind it.
                num = num_frames() + 1
                for at, one in before:
                    one.num_frames = num
                    self._replaced.add(one)
                    at.discard(one)
            return status
        finally:
            for _, one in new:
                one.is_over = True

    def at(self, place: Tuple[int, int], first: Any) -> List[Any]:
        """Of these nodes have one. The first stands for what the graph was made with."""
        return [one.kept for one in list(self._at.setdefault(place, {_Thing(first, True)}))]

    def hold(self) -> None:
        """A graph of the program has what nodes have now, as long as the exec is there."""
        self._held += [one for at in list(self._at.values()) for one in list(at)]

    def replaced(self) -> List[_Thing]:
        """By now. A wait that begins later is for all frames that use them."""
        return list(self._replaced)

    def drop(self, things: List[_Thing]) -> None:
        self._replaced.difference_update(things)

    def drop_until(self, num_frames: int) -> None:
        """Once so many frames have ended."""
        self.drop([one for one in self.replaced() if one.num_frames <= num_frames])
