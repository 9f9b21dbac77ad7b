# SPDX-License-Identifier: Apache-2.0
"""Where the elements of an array lie, whoever made it.

NumPy (__array_interface__), CuPy and PyTorch on a GPU (__cuda_array_interface__), PyTorch and JAX
anywhere (__dlpack__), and what has the buffer protocol: none of them is imported here."""
from __future__ import annotations

import ctypes
import dataclasses
import sys
from typing import Any, Callable, List, Mapping, Optional, Tuple

from braid._binding import ffi
from braid._errors import refuse


class _DlTensor(ctypes.Structure):
    """The start of DLManagedTensor, the same in all its versions with this capsule."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; NULL: compact
                ("byte_offset", ctypes.c_uint64)]


_NATIVE = "<" if sys.byteorder == "little" else ">"
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_DLPACK_HOSTS = (1, 3, 11)  # CPU, and memory of it that CUDA or ROCm pinned
_DLPACK_CODES = {0: "i", 1: "u", 2: "f", 6: "b"}


@dataclasses.dataclass(frozen=True)
class Pointer:
    """An address that is taken as it is: of an argument that Braid need not know about, or with
    `nbytes` of a buffer that no array stands for."""

    address: int
    nbytes: int = 0

    @staticmethod
    def of(array: Any) -> Pointer:
        """Of an array's first element. Whoever takes it keeps the array alive."""
        span = describe(array)
        return Pointer(span.address, span.end - span.begin)


@dataclasses.dataclass(frozen=True)
class Trap:
    """As an argument of a kernel: the address of its node's own trap; see braid_trap. The wait raises TrappedError."""


@dataclasses.dataclass(frozen=True)
class PointerTo:
    """The type of a kernel's argument that points to elements of one type."""

    elements: str  # as name_elements calls them; "": of any type
    name: str  # as the kernel's signature has it
    alignment: int = 1  # the code is right only if the address is a multiple of it


@dataclasses.dataclass(frozen=True)
class Span:
    """The bytes [begin, end) that an array lies in, within the memory [whole_begin, whole_end)."""

    address: int  # the first element's
    begin: int
    end: int
    whole_begin: int
    whole_end: int
    keep: Any  # as long as this lives, so does the memory
    kind: str = "a buffer"  # in messages
    on_gpu: bool = False
    pageable: bool = False  # surely host memory that no driver knows
    readonly: bool = False
    contiguous: bool = True
    typestr: str = ""  # as in __array_interface__; "" where it is not known
    shape: Tuple[int, ...] = ()  # where the type is known
    strides: Tuple[int, ...] = ()  # in bytes
    fields: str = ""  # a structured type has them, as name_fields calls them
    is_bytes: bool = False  # the memory is no array, such as a bytearray: a copy takes them for anything

    @property
    def copied(self) -> str:
        """The type of the elements, as far as copies are concerned; "": any."""
        return "" if self.is_bytes else copied_type(self.typestr, self.fields)

    @property
    def nbytes(self) -> int:
        return self.end - self.begin

    def overlaps(self, begin: int, end: int) -> bool:
        return self.begin < end and begin < self.end


def describe(array: Any) -> Span:
    """Raises TypeError for what is no memory."""
    span = (_by_braid(array) or _by_interface(array, "__cuda_array_interface__")
            or _by_interface(array, "__array_interface__") or _by_dlpack(array)
            or _by_buffer(array))
    if span is None:
        raise TypeError(f"{_name_type(array)} is no array or buffer: it has none of __array_interface__, "
                        "__cuda_array_interface__, __dlpack__ and the buffer protocol")
    return span


def describe_or_none(array: Any) -> Optional[Span]:
    try:
        return describe(array)
    except TypeError:
        return None


def whole_array(array: Any, where: str) -> Span:
    """Of elements without gaps between; `where` begins messages."""
    span = describe_or_none(array)
    if span is None:
        raise refuse(f"{where} is {array!r}, which is no array")
    if not span.contiguous:
        raise refuse(f"{where} is {span.kind} whose elements do not follow each other in memory")
    return span


def name_elements(typestr: str) -> str:
    """Of a typestr, as NumPy calls the type."""
    kind, size = _KINDS.get(typestr[1:2]), typestr[2:]
    if kind is None or not size.isdigit():
        return f"type '{typestr}'"
    name = kind if kind == "bool" else f"{kind}{8 * int(size)}"
    return f"{name} in the other byte order" if typestr[0] not in ("|", _NATIVE) else name


def name_fields(descr: Any) -> str:
    """The types of a structured type's fields in their order, of a list as NumPy has it; "": it has no fields."""
    if not isinstance(descr, list) or (len(descr) == 1 and not descr[0][0]):
        return ""
    types = (" ".join([kind if isinstance(kind, str) else name_fields(kind), *map(str, shape)]) for _, kind, *shape in descr)
    return f"[{', '.join(types)}]"


def copied_type(typestr: str, fields: str) -> str:
    """As Span.copied: with the fields of a structured type, while other elements of type void are any bytes."""
    if typestr[1:2] != "V":
        return typestr
    return fields and typestr + fields


def copied_part(copied: str, offset: int, nbytes: int) -> str:
    """Of a part, which keeps the type if it is of whole elements."""
    item = _item_bytes(copied, None) if copied else 1
    return "" if offset % item or nbytes % item else copied


def _name_type(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _by_braid(array: Any) -> Optional[Span]:
    describe_itself = getattr(array, "__braid_span__", None)
    if describe_itself is not None:
        span = describe_itself()
        return span if isinstance(span, Span) else None
    if isinstance(array, Pointer) and array.nbytes:
        end = array.address + array.nbytes
        return Span(array.address, array.address, end, array.address, end, array, "a pointer")
    return None


def _bounds(address: int, shape: Tuple[int, ...], strides: Optional[Tuple[int, ...]],
            item: int) -> Tuple[int, int, bool]:
    """The first byte, the end, and whether elements follow each other without gaps in C order."""
    if 0 in shape:
        return address, address, True
    compact = compact_strides(shape, item)
    if strides is None:
        return address, address + compact[0] * shape[0] if shape else address + item, True
    low = sum((n - 1) * s for n, s in zip(shape, strides) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides) if s > 0)
    contiguous = all(n == 1 or s == c for n, s, c in zip(shape, strides, compact))
    return address + low, address + high + item, contiguous


def compact_strides(shape: Tuple[int, ...], item: int) -> Tuple[int, ...]:
    """In bytes, of elements that follow each other in C order."""
    compact: List[int] = []
    size = item
    for number in reversed(shape):
        compact.insert(0, size)
        size *= number
    return tuple(compact)


def _item_bytes(typestr: str, array: Any) -> int:
    """Reads a typestr, which for times ends with their unit: <M8[ns]."""
    digits = typestr[2:].split("[")[0]
    if typestr[1:2] == "O" or not digits.isdigit():
        raise refuse(f"a {_name_type(array)} of type '{typestr}' has Python objects for elements, not their bytes")
    return int(digits) * (4 if typestr[1:2] == "U" else 1)  # text counts characters


def _get(array: Any, interface: str) -> Optional[Mapping[str, Any]]:
    try:
        value = getattr(array, interface, None)
    except KeyError:  # PyTorch, of elements that NumPy does not know
        return None
    return value if isinstance(value, dict) else None


def _by_interface(array: Any, interface: str) -> Optional[Span]:
    known = _get(array, interface)
    if known is None:
        return None
    address, readonly = known["data"]
    typestr = known["typestr"]
    shape, item = tuple(known["shape"]), _item_bytes(typestr, array)
    begin, end, contiguous = _bounds(address, shape, known.get("strides"), item)
    root = array
    while _get(getattr(root, "base", None), interface) is not None:
        root = root.base
    whole = _whole(root, interface, (begin, end))
    on_gpu = interface == "__cuda_array_interface__"
    owns = getattr(getattr(root, "flags", None), "owndata", False)
    return Span(address, begin, end, *whole, keep=array, kind=f"a {_name_type(array)}", on_gpu=on_gpu,
                pageable=not on_gpu and bool(owns), readonly=bool(readonly), contiguous=contiguous,
                typestr=typestr, shape=shape, strides=tuple(known.get("strides") or compact_strides(shape, item)),
                fields=name_fields(known.get("descr")))


def _whole(root: Any, interface: str, least: Tuple[int, int]) -> Tuple[int, int]:
    """The memory that views of one array have in common."""
    storage = getattr(root, "untyped_storage", None)  # PyTorch
    if storage is not None:
        memory = storage()
        begin, end = memory.data_ptr(), memory.data_ptr() + memory.nbytes()
    else:
        known = _get(root, interface)
        if known is None:
            return least
        begin, end, _ = _bounds(known["data"][0], known["shape"], known.get("strides"),
                                _item_bytes(known["typestr"], root))
    return min(begin, least[0]), max(end, least[1])


def _by_dlpack(array: Any) -> Optional[Span]:
    make = getattr(array, "__dlpack__", None)
    if make is None:
        return None
    device_type = array.__dlpack_device__()[0]
    on_gpu = device_type not in _DLPACK_HOSTS
    # The capsule is looked at, not taken, so it frees itself; the array is kept instead. -1: the
    # program orders its own work before it launches.
    capsule = make(stream=-1) if on_gpu and device_type in (2, 10) else make()
    tensor = _DlTensor.from_address(_capsule_pointer(capsule))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    item = (tensor.bits * tensor.lanes + 7) // 8
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[i] * item for i in range(tensor.ndim))
    address = (tensor.data or 0) + tensor.byte_offset
    begin, end, contiguous = _bounds(address, shape, strides, item)
    code = _DLPACK_CODES.get(tensor.code, "")
    return Span(address, begin, end, *_whole(array, "", (begin, end)), keep=array,
                kind=f"a {_name_type(array)}", on_gpu=on_gpu, pageable=device_type == 1,
                contiguous=contiguous, typestr=f"{_NATIVE}{code}{item}" if code and tensor.lanes == 1 else "",
                shape=shape, strides=strides or compact_strides(shape, item))


def _capsule_pointer(capsule: Any) -> int:
    get: Callable[[Any, bytes], Optional[int]] = ctypes.PYFUNCTYPE(
        ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    return get(capsule, b"dltensor") or 0


def _by_buffer(array: Any) -> Optional[Span]:
    try:
        view = memoryview(array)
    except TypeError:
        return None
    if not view.c_contiguous:
        raise refuse(f"a {_name_type(array)} whose bytes have gaps cannot be a buffer")
    held = ffi.from_buffer(array)  # holds it: a bytearray cannot grow meanwhile
    address = int(ffi.cast("uintptr_t", held))
    end = address + view.nbytes
    kind = _FORMATS.get(view.format.lstrip("@=<>"))
    order = view.format[0] if view.format[0] in "<>" else _NATIVE  # ctypes tells it
    typestr = f"{order}{kind}{view.itemsize}" if kind else ""
    return Span(address, address, end, address, end, keep=(array, held), kind=f"a {_name_type(array)}",
                pageable=not _is_pinned(array), readonly=view.readonly, typestr=typestr,
                shape=tuple(view.shape or ()), strides=tuple(view.strides or ()),
                is_bytes=view.format in ("B", "c") and type(view.obj).__module__ not in ("array", "numpy"))


_FORMATS = {**dict.fromkeys("bhilq", "i"), **dict.fromkeys("BHILQ", "u"), **dict.fromkeys("efd", "f"),
            "?": "b", "c": "u"}


def _is_pinned(array: Any) -> bool:
    """Whether memory may be known to a driver: that of a C library may, that of Python is not."""
    owner = array.obj if isinstance(array, memoryview) else array
    return not isinstance(owner, (bytes, bytearray)) and type(owner).__module__ != "array"


def is_numpy_scalar(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def check_same_elements(what: str, target: str, source: str) -> None:
    """Of a copy between two typestrs: bytes that become elements of another type are values that nobody meant."""
    if target and source and name_elements(target) != name_elements(source):
        raise refuse(f"{what} is from elements of {name_elements(source)} to {name_elements(target)}: give arrays of one "
                     "type, or where the bytes are to stay as they are a view of the source with the target's (view())")


def as_list(things: Any) -> List[Any]:
    """Lists and tuples are several things; all else is one, arrays included."""
    if things is None:
        return []
    return list(things) if isinstance(things, (list, tuple)) else [things]
