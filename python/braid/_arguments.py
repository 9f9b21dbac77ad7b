# SPDX-License-Identifier: Apache-2.0
"""Values of Python as the bytes of kernel arguments."""
from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any, List, NamedTuple, Optional, Tuple

from braid._binding import ffi, lib
from braid._errors import refuse
from braid._memory import Pointer, PointerTo, Span, describe_or_none, is_numpy_scalar, name_elements, Trap

POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)


class Argument(NamedTuple):
    """The bytes, what must stay alive as long as they are used, and the memory they point to."""

    data: bytes
    keep: Any = None
    span: Optional[Span] = None
    address_of: Optional[Tuple[int, int]] = None  # a resource whose address an exec chooses
    is_unchecked: bool = False  # a pointer that nothing orders, or a number
    is_trap: bool = False


def _pointer(address: int) -> bytes:
    return address.to_bytes(POINTER_BYTES, byteorder=_ORDER)


_CTYPES_NUMBER: Any = ctypes.c_int.__mro__[1]  # it has no public name
_KINDS = {"b": "integer", "i": "integer", "u": "integer", "f": "float"}
_ORDER: Any = "little" if struct.pack("=H", 1)[0] == 1 else "big"


def encode(value: Any, type_: Any, where: str) -> Argument:
    """`type_` is that of the kernel's argument, where it has types; `where` begins messages."""
    if isinstance(value, Trap):
        return Argument(_pointer(0), is_trap=True)
    if isinstance(value, Pointer):
        check_alignment(value.address, type_, where)
        return Argument(_pointer(value.address), is_unchecked=True)
    scalar = _scalar_bytes(value)
    if scalar is None and isinstance(value, (bool, int, float, complex)):
        scalar = _converted(value, type_, where)
    if scalar is not None:
        is_number = is_numpy_scalar(value) or not (type_ is None or is_pointer(type_))
        check_kind(value.__class__, type_, where)
        return Argument(_checked(scalar, type_, where), is_unchecked=is_number)
    span = describe_or_none(value)
    if span is None:
        raise refuse(f"{where} is {value!r}: give an array, a NumPy or ctypes number, a Parameter, a Pointer, or bytes")
    if type_ is not None and not is_pointer(type_):
        raise refuse(f"{where} is {span.kind}, where the kernel takes a {_type_name(type_)}")
    check_elements(span, type_, where)
    return Argument(_pointer(span.address), span.keep, span)


def _kind(type_: Any) -> str:
    """That of a type of numbers, "" of any other."""
    if isinstance(type_, type) and issubclass(type_, _CTYPES_NUMBER):
        code = str(getattr(type_, "_type_", ""))
        return "float" if code in "fdg" else "integer" if code in "?bBhHiIlLqQ" else ""
    numpy = sys.modules.get("numpy")
    is_numpys = numpy is not None and isinstance(type_, type) and issubclass(type_, numpy.generic)
    return _KINDS.get(numpy.dtype(type_).kind, "") if numpy is not None and is_numpys else ""


def check_kind(given: Any, type_: Any, where: str) -> None:
    """The kernel would read the bytes of an integer as another number."""
    if {_kind(given), _kind(type_)} == {"float", "integer"}:
        raise refuse(f"{where} is of type {_type_name(given)}, not {_type_name(type_)}: give a number of that type, or "
                     "bytes as they are")


def check_elements(span: Optional[Span], type_: Any, where: str) -> None:
    """A kernel would read and write other elements than the array has, in silence."""
    if span is None:
        return
    kind = f"{span.kind} of {name_elements(span.typestr)}" if span.typestr else span.kind
    takes = _type_name(type_) if type_ is not None else "pointer"
    if not span.contiguous:
        raise refuse(f"{where} is {kind} whose elements do not follow each other in memory, where the kernel takes "
                     f"a {takes} to the first: give a copy (numpy.ascontiguousarray), or where the kernel knows the "
                     "strides the address alone (braid.Pointer.of)")
    if isinstance(type_, PointerTo) and type_.elements and span.typestr \
            and name_elements(span.typestr) != type_.elements:
        raise refuse(f"{where} is {kind}, where the kernel takes a {takes}: give an array of that type, or where "
                     "the kernel is to take the bytes as they are the address alone (braid.Pointer.of)")
    check_alignment(span.address, type_, where)


def check_alignment(address: int, type_: Any, where: str) -> None:
    """Code that loads several elements at once would fault, or read others. `address` may be a divisor of it."""
    if isinstance(type_, PointerTo) and address % type_.alignment:
        raise refuse(f"{where} begins at an address that is no multiple of {type_.alignment}, for which the kernel "
                     "was compiled")


def _scalar_bytes(value: Any) -> Optional[bytes]:
    if isinstance(value, bytes):
        return value
    if is_numpy_scalar(value):
        data: bytes = value.tobytes()
        return data
    if isinstance(value, (ctypes.Structure, ctypes.Union, _CTYPES_NUMBER)):
        return bytes(memoryview(value))
    return None


def _converted(value: Any, type_: Any, where: str) -> bytes:
    if type_ is None:
        raise refuse(f"{where} is the Python number {value!r}, which may have any size on a device: "
                     f"give a NumPy or ctypes number, such as numpy.float32({value!r}), or tell the "
                     "kernel's types")
    if is_pointer(type_):
        if isinstance(value, int):
            return _pointer(value)
        raise refuse(f"{where} is {value!r}, where the kernel takes a pointer")
    try:
        number = type_(value)
    except (TypeError, OverflowError, ValueError) as error:
        raise refuse(f"{where} is {value!r}, which is no {_type_name(type_)}: {error}") from error
    if isinstance(value, int) and int(getattr(number, "value", number)) != value:
        raise refuse(f"{where} is {value!r}, which a {_type_name(type_)} cannot hold")
    data = _scalar_bytes(number)
    if data is None:
        raise refuse(f"{where}: the kernel's type {type_!r} is none of NumPy or ctypes")
    return data


def size_of(type_: Any) -> int:
    """The bytes of a NumPy or ctypes type."""
    return POINTER_BYTES if is_pointer(type_) else len(_scalar_bytes(type_()) or b"")


def _checked(data: bytes, type_: Any, where: str) -> bytes:
    if type_ is not None and len(data) != size_of(type_):
        raise refuse(f"{where} has {len(data)} bytes, where the kernel takes a {_type_name(type_)}")
    return data


def is_pointer(type_: Any) -> bool:
    return type_ is Pointer or type_ is ctypes.c_void_p or isinstance(type_, PointerTo)


def _type_name(type_: Any) -> str:
    if isinstance(type_, PointerTo):
        return type_.name
    return "pointer" if is_pointer(type_) else getattr(type_, "__name__", repr(type_))


def fill_value(value: Any, typestr: str, alignment: int, where: str) -> Tuple[int, int]:
    """The number and its bytes with which a fill sets each element of an array to `value`: as many bytes as an
    element has, where a fill can, so that it can get any other value later."""
    data = _element(value, typestr, where)
    for size in (4, 2, 1, 8):
        if alignment % size == 0 and _repeats(data, size):
            return int.from_bytes(data[:size], _ORDER), size
    raise refuse(f"{where}: {value!r} has {len(data)} bytes that do not repeat, at an address that is a multiple of "
                 f"{alignment}; fills are of 1, 2, 4 or 8 bytes, at a multiple of as many")


def later_fill_value(value: Any, typestr: str, size: int, where: str) -> int:
    """The same for a fill that is there, whose value has `size` bytes."""
    data = _element(value, typestr, where)
    data = data * (size // len(data) if 0 < len(data) < size else 1)
    if len(data) < size or not _repeats(data, size):
        raise refuse(f"{where}: {value!r} is no repetition of {size} bytes, as this fill's value is")
    return int.from_bytes(data[:size], _ORDER)


def _repeats(data: bytes, size: int) -> bool:
    return len(data) % size == 0 and data == data[:size] * (len(data) // size)


def _element(value: Any, typestr: str, where: str) -> bytes:
    is_numpy = is_numpy_scalar(value)
    code = _CODES.get(typestr[1:] or "u1")
    if is_numpy and (not typestr or (code is None and value.dtype.str == typestr)):
        data: bytes = value.tobytes()
        return data
    if code is None:
        raise refuse(f"{where}: elements of type '{typestr}' cannot be filled by value; give a NumPy number of it")
    try:
        return struct.pack((">" if typestr[:1] == ">" else "=") + code, value.item() if is_numpy else value)
    except (struct.error, OverflowError, TypeError) as error:
        raise refuse(f"{where}: {value!r} is no element of type '{typestr}': {error}") from error


_CODES = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
          "f2": "e", "f4": "f", "f8": "d"}


class Arguments:
    """An array of braid_arg, and what it points to."""

    def __init__(self, arguments: List[Argument]):
        self.held = [ffi.new("char[]", argument.data) if argument.data else ffi.NULL
                     for argument in arguments]
        self.array = ffi.new("braid_arg[]", len(arguments))
        for index, (slot, argument) in enumerate(zip(self.array, arguments)):
            slot.data, slot.bytes = self.held[index], len(argument.data)
            if argument.is_unchecked and len(argument.data) == POINTER_BYTES:
                slot.kind = lib.BRAID_ARG_UNCHECKED_POINTER
            if argument.is_trap:
                slot.data, slot.bytes, slot.kind = ffi.NULL, 0, lib.BRAID_ARG_TRAP
            if argument.address_of is not None:
                self.held[index] = slot.data = ffi.new("braid_resource *", argument.address_of)
                slot.bytes, slot.kind = 0, lib.BRAID_ARG_RESOURCE
        self.num = len(arguments)
