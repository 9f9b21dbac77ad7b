# SPDX-License-Identifier: Apache-2.0
"""What C writes to a file, as bytes or text."""
from __future__ import annotations

from typing import Any, Callable

from braid._binding import ffi, lib
from braid._errors import NoMemoryError, check


def capture(write: Callable[[Any], Any]) -> bytes:
    text, size = ffi.new("char **"), ffi.new("size_t *")
    file = lib.open_memstream(text, size)
    if file == ffi.NULL:
        raise NoMemoryError("no memory to write to")
    try:
        status = write(file)
    finally:
        failed = lib.fclose(file)
        written = bytes(ffi.buffer(text[0], size[0])) if text[0] != ffi.NULL else b""
        lib.free(text[0])
    check(status)
    if failed:
        raise NoMemoryError("no memory to write to")
    return written


def string(text: Any) -> str:
    """A C string: names are given by programs, so they need not be UTF-8."""
    value: str = ffi.string(text).decode("utf-8", "replace")
    return value


def count(number: int, word: str) -> str:
    """So many of something, in English."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def whole_text(write: Callable[[Any, int], Any]) -> str:
    """All of a text that C cuts to fit a buffer."""
    size = 1024
    while True:
        text = ffi.new("char[]", size)
        check(write(text, size))
        if len(ffi.string(text)) + 1 < size:
            return string(text)
        size *= 4


def version() -> str:
    """Of the library in use."""
    return string(lib.braid_get_version())
