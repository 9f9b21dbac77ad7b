# SPDX-License-Identifier: Apache-2.0
"""Recorded frames of Quadrants' programs, such as those of Genesis.

    $ braid record --memory end:65536 --out a.braidrec -- python3 program.py
    >>> print(braid.quadrants.read("a.braidrec").text)

Kernels of Quadrants find all memory by pointers in two places: a buffer of arguments, and a struct of the runtime. Braid
follows these. No offset in the private structs is written down here: what this file takes for the struct is checked, and
else refused."""
from __future__ import annotations

import dataclasses
import os
import re
import struct
from typing import Any, Iterator, List, Optional, Set, Tuple, Union

from braid._binding import ffi, lib
from braid._device import Device
from braid._errors import refuse
from braid._import import Imported, Part
from braid._text import string
from braid.record import Record

_NONE = 2 ** 32 - 1  # BRAID_RECORD_NONE
_WORD, _PAGE = 8, 4096
_ELEMENTWISE = re.compile(r"_ZN2at6native(?:\d+_GLOBAL__N__\w+?)?\d+(?:vectorized_|unrolled_)?elementwise_kernel")


@dataclasses.dataclass(frozen=True)
class Frame:
    """A recorded frame. `imported` is its graph, which can be planned. Ranges are pairs of an address and a number of bytes:
    `runtime` is the runtime's struct, and `temporaries` is the memory that all kernels share for the bounds of their
    loops. `closed` is memory that the struct leads to: trees, lists and allocators. Kernels that look for memory there
    keep their order. `changes` tells what the frame before had otherwise: arguments of kernels, and bytes of copies."""

    imported: Imported
    runtime: Tuple[int, int]
    temporaries: Tuple[int, int]
    closed: Tuple[Tuple[int, int], ...]
    changes: Tuple[str, ...]

    @property
    def text(self) -> str:
        """The report, and the changes."""
        lines = [f"unlike the frame before: {change}\n" for change in self.changes]
        return self.imported.text + "".join(lines)


def read(record: Union[Record, str, os.PathLike[str]], frame: Optional[int] = None, *, is_unwatched: bool = True,
         device: Optional[Device] = None, leaves_constants: bool = False) -> Frame:
    """Reads a frame of a record, by its number; None: the last one. `is_unwatched`: nobody looks at memory of the host
    before the frame has ended. `device`: in the process that was recorded, the graph can run there. `leaves_constants`:
    kernels that compute the same in each frame are left out, as the recorded frame has their results. A record without a
    runtime of Quadrants is refused."""
    record = record if isinstance(record, Record) else Record(record)
    contents = record.contents
    if not contents.num_frames:
        raise refuse("the record has no frame: no part of the launches repeats, and the program marks none")
    number = contents.num_frames - 1 if frame is None else frame
    if not 0 <= number < contents.num_frames:
        raise refuse(f"there is no frame {number}: the record has {contents.num_frames}")
    runtime, temporaries, closed = _find_extents(contents, number)
    parts = [Part(*runtime), Part(*temporaries)] + [Part(*one, is_closed=True) for one in closed]
    imported = Imported.of_record(record, number, buffers=parts,
                                  confined=_elementwise_kernels(contents), is_unwatched=is_unwatched, device=device,
                                  leaves_constants=leaves_constants)
    return Frame(imported, runtime, temporaries, tuple(closed), tuple(_changes(contents, number)))


def _elementwise_kernels(contents: Any) -> List[str]:
    """Kernels of PyTorch that come as machine code alone. Each changes elements of the tensors in its parameters."""
    names = {string(contents.kernels[i].name) for i in range(contents.num_kernels)}
    return sorted(name for name in names if _ELEMENTWISE.match(name))


# ---- the runtime's memory ----


def _find_extents(contents: Any, frame: int) -> Tuple[Tuple[int, int], Tuple[int, int], List[Tuple[int, int]]]:
    words = _common_words(contents, frame)
    for word in words:
        row = _allocation_at(contents, word)
        if row is None:
            continue
        kept = _words_of(contents, row)[(word - row.address) // _WORD:]
        found = _find_temporaries(row, kept, word) if kept else None
        if found is not None:
            end = row.address + row.bytes
            return (word, found - word), (found, end - found), _find_closed(contents, row, kept[:(found - word) // _WORD])
    raise refuse("the record has no runtime of Quadrants: none of the addresses that all kernels of the frame get leads to a "
                 "struct with a pointer to the page behind itself. Record with --memory end:65536")


def _common_words(contents: Any, frame: int) -> List[int]:
    """Words that are in the one parameter of each of Quadrants' kernels."""
    common: Optional[Set[int]] = None
    for work in _works(contents, frame):
        if work.kind != lib.BRAID_RECORD_KERNEL or not work.parameters:
            continue
        kernel = contents.kernels[work.kernel]
        if kernel.num_parameters != 1 or work.parameter_bytes < 2 * _WORD:
            continue
        words = set(_words(work.parameters, work.parameter_bytes)) - {0}
        common = words if common is None else common & words
    return sorted(common or ())


def _words_of(contents: Any, row: Any) -> Tuple[int, ...]:
    """The words that the record has of an allocation."""
    for memory in (contents.memory[i] for i in range(contents.num_memory)):
        if contents.allocations + memory.allocation == ffi.addressof(row):
            return _words(memory.bytes, memory.num_bytes)
    return ()


def _find_temporaries(row: Any, words: Tuple[int, ...], begin: int) -> Optional[int]:
    """The page behind a struct, to which a word of the struct leads. The struct itself ends in the page before."""
    pages = [word for at, word in enumerate(words)
             if begin + at * _WORD < word < row.address + row.bytes and (word - begin) % _PAGE == 0]
    num = (min(pages) - begin) // _WORD if pages else 0
    is_whole = 0 < num <= len(words)
    return min(pages) if is_whole and any(words[num - _PAGE // _WORD:num]) else None


def _find_closed(contents: Any, own: Any, words: Tuple[int, ...]) -> List[Tuple[int, int]]:
    """Other memory that words of the struct lead to."""
    rows = [_allocation_at(contents, word) for word in set(words) if word >> 32]  # others are numbers
    ranges = {(int(row.address), int(row.bytes)) for row in rows if row is not None and row.address != own.address}
    return sorted(ranges)


def _allocation_at(contents: Any, address: int) -> Optional[Any]:
    for row in reversed([contents.allocations[i] for i in range(contents.num_allocations)]):  # the last lives the longest
        if row.address <= address < row.address + row.bytes:
            return row
    return None


def _words(data: Any, num_bytes: int) -> Tuple[int, ...]:
    num = num_bytes // _WORD
    return struct.unpack(f"<{num}Q", ffi.buffer(data, num * _WORD)[:])


def _works(contents: Any, frame: int) -> Iterator[Any]:
    """All work of a frame, that of its graphs too."""
    row = contents.frames[frame]
    waiting = [contents.operations[row.first_operation + i].work for i in range(row.num_operations)][::-1]
    while waiting:
        work = waiting.pop()
        yield work
        for graph in range(work.num_bodies if work.graph != _NONE else 0):
            of = contents.graphs[work.graph + graph]
            waiting.extend(contents.nodes[of.first_node + i].work for i in range(of.num_nodes))


# ---- changes from frame to frame ----


def _changes(contents: Any, frame: int) -> Iterator[str]:
    if frame == 0:
        return
    before, after = list(_works(contents, frame - 1)), list(_works(contents, frame))
    if [work.kind for work in before] != [work.kind for work in after]:
        yield "it has other work"
        return
    for one, other in zip(before, after):
        yield from _differences(contents, one, other)


def _differences(contents: Any, one: Any, other: Any) -> Iterator[str]:
    if other.kind == lib.BRAID_RECORD_KERNEL and one.kernel != other.kernel:
        yield f"{_name(contents, other)} stands for {_name(contents, one)}"
    elif other.kind == lib.BRAID_RECORD_KERNEL:
        for change in _unlike(contents, (one.parameters, one.parameter_bytes), (other.parameters, other.parameter_bytes)):
            if change.startswith("the pointer"):  # other words lead to memory of the host, and no kernel uses them
                yield f"parameters of {_name(contents, other)}: {change}"
    elif other.kind == lib.BRAID_RECORD_COPY:
        if (one.to.address, one.width) != (other.to.address, other.width):
            yield f"a copy to 0x{other.to.address:x}, and not to 0x{one.to.address:x}"
        else:
            for change in _unlike(contents, (one.bytes, one.num_bytes), (other.bytes, other.num_bytes)):
                yield f"a copy to 0x{other.to.address:x}: {change}"


def _name(contents: Any, work: Any) -> str:
    return string(contents.kernels[work.kernel].name)


def _unlike(contents: Any, one: Tuple[Any, int], other: Tuple[Any, int]) -> Iterator[str]:
    if not one[0] or not other[0] or one[1] != other[1]:
        if bool(one[0]) != bool(other[0]) or one[1] != other[1]:
            yield "other bytes"
        return
    for at, (old, new) in enumerate(zip(_words(*one), _words(*other))):
        if old != new:
            is_pointer = any(_allocation_at(contents, word) is not None for word in (old, new))
            yield f"the {'pointer' if is_pointer else 'word'} at {at * _WORD} is 0x{new:x}, and was 0x{old:x}"
