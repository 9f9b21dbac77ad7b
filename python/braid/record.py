# SPDX-License-Identifier: Apache-2.0
"""Records of CUDA programs, which `braid record` writes, and the marks of frames in a program."""
from __future__ import annotations

import dataclasses
import os
from typing import Any, List, Tuple, Union

from braid._binding import ffi, lib
from braid._errors import check
from braid._lifetime import Owned, Owner
from braid._text import string

_NONE = 2 ** 32 - 1  # BRAID_RECORD_NONE


def frame() -> bool:
    """Ends a frame of this program, and begins the next; see braid_record_frame_mark. False: nobody records it."""
    return bool(lib.braid_record_frame_mark())


def digest(data: bytes) -> int:
    """The digest that records have of bytes that were copied."""
    return int(lib.braid_record_get_digest(ffi.from_buffer(data), len(data)))


@dataclasses.dataclass(frozen=True)
class Operation:
    """A call of the program. `kind` is the end of the C constant's name, in small letters. `kernel` is the name of a launched
    kernel, and else "". `stream` is None where it has none. `befores` are operations that end before it starts."""

    kind: str
    kernel: str
    stream: Union[int, None]
    thread: int
    begin_ns: int
    end_ns: int
    befores: Tuple[int, ...]


class Record(Owned):
    """What frames of a program handed to the driver: see braid_record_load. `contents` is the struct of C, for all that
    the other properties leave out; it lives as long as the record."""

    def __init__(self, path: Union[str, os.PathLike[str]]):
        out = ffi.new("braid_record **")
        check(lib.braid_record_load(os.fsencode(path), out))
        self._owner = Owner("record", out[0], lib.braid_record_destroy)

    @property
    def contents(self) -> Any:
        return lib.braid_record_get_contents(self._owner.pointer)

    @property
    def program(self) -> str:
        """Its command line."""
        return string(self.contents.program)

    @property
    def frames(self) -> List[range]:
        """The operations of each frame."""
        rows = self.contents.frames[0:self.contents.num_frames]
        return [range(row.first_operation, row.first_operation + row.num_operations) for row in rows]

    @property
    def operations(self) -> List[Operation]:
        """All operations, in the order of the program."""
        contents = self.contents
        return [_tell(contents, contents.operations[i]) for i in range(contents.num_operations)]


def _kind_of(number: int) -> str:
    name = ffi.typeof("braid_record_work_kind").elements[number]
    return str(name)[len("BRAID_RECORD_"):].lower()


def _tell(contents: Any, row: Any) -> Operation:
    kernel = row.work.kernel
    befores = contents.befores[row.first_before:row.first_before + row.num_befores]
    return Operation(_kind_of(row.work.kind), "" if kernel == _NONE else string(contents.kernels[kernel].name),
                     None if row.stream == _NONE else row.stream, row.thread, row.begin_ns, row.end_ns,
                     tuple(befores))
