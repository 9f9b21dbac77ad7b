# SPDX-License-Identifier: Apache-2.0
"""Kernels: one name, and code for each kind of device."""
from __future__ import annotations

import collections
import ctypes
import os
from typing import Any, Deque, List, Mapping, Optional, Sequence, Tuple, Union

from braid._binding import ffi
from braid._errors import refuse
from braid._options import Size

Image = Union[str, bytes]
_CTYPES_FUNCTION: Any = type(ctypes.pythonapi.Py_IncRef).__mro__[1]  # it has no public name


def function_address(function: Any, where: str) -> int:
    """Of a C function: an address, a ctypes or cffi function, or a Numba cfunc."""
    if isinstance(function, int) and function:
        return function
    address = getattr(function, "address", None)  # Numba
    if isinstance(address, int):
        return address
    if isinstance(function, _CTYPES_FUNCTION):
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    if type(function).__module__ == "_cffi_backend":
        try:
            return int(ffi.cast("uintptr_t", function))
        except TypeError:
            pass
    hint = "; a Python function can be a host call (Graph.host), or one with braid.numba.kernel" \
        if callable(function) else ""
    raise refuse(f"{where} is {function!r}: give a C function, as its address, a ctypes or cffi function, "
                 f"or a Numba cfunc{hint}")


class Raised:
    """What the code of a kernel raised, and nobody was told of yet."""

    def __init__(self) -> None:
        self._list: Deque[BaseException] = collections.deque()

    def add(self, error: BaseException) -> None:
        self._list.append(error)

    def take(self) -> List[BaseException]:
        return [self._list.popleft() for _ in range(len(self._list))]


class Kernel:
    """A kernel, and its code for each kind of device; see braid_kernel. It never changes.

    `cpu` is a C function `void (const braid_blocks *blocks, void *const *args)`. `source` is CUDA C that is
    also HIP C++, whose entry is declared extern "C" under the kernel's name, or named by `name_expression`
    as C++ names it ("scale<float, 4>"). It is compiled with `options`, finds files in `include_folders`, and
    `headers` has texts by the names that it may include. `cuda` and `hip` are images
    (PTX as text; cubin, fatbin or code object as bytes) with `cuda_entry` and `hip_entry` where these are
    named otherwise, or a CUfunction or hipFunction_t as an int. `types` are NumPy or ctypes types, or
    braid.Pointer, one for each argument: Python's own numbers are converted to them. Code that was compiled for blocks
    of so many threads says so with `block`, and `shared_bytes` is how much dynamic shared memory it takes."""

    def __init__(self, name: str, *, cpu: Any = None, source: Optional[str] = None,
                 types: Optional[Sequence[Any]] = None, cuda: Union[Image, int, None] = None,
                 cuda_entry: Optional[str] = None, hip: Union[Image, int, None] = None,
                 hip_entry: Optional[str] = None, programmatic: bool = False, options: Sequence[str] = (),
                 include_folders: Sequence[str] = (), headers: Optional[Mapping[str, str]] = None,
                 name_expression: Optional[str] = None, block: Optional[Size] = None, shared_bytes: int = 0):
        if not name:
            raise refuse("a kernel has no name")
        self.name = name
        self.types: Optional[Tuple[Any, ...]] = None if types is None else tuple(types)
        self.block, self.shared_bytes = block, shared_bytes
        self.num_hidden = 0  # pointers behind the arguments that the code takes and does not use
        self.raised: Optional[Raised] = None  # by code that can raise
        self._keep: "list[Any]" = [cpu]
        self._struct = ffi.new("braid_kernel *")
        self._struct.name = self._text(name)
        if cpu is not None:
            self._struct.cpu = ffi.cast("braid_cpu_function *",
                                        function_address(cpu, f"the CPU code of kernel '{name}'"))
        if source is not None:
            self._struct.source = self._text(source)
        self._fill_image(self._struct.cuda, cuda, cuda_entry)
        self._fill_image(self._struct.hip, hip, hip_entry)
        self._struct.programmatic = programmatic
        self._struct.options, self._struct.num_options = self._texts("options", options)
        self._struct.include_folders, self._struct.num_include_folders = \
            self._texts("include_folders", include_folders)
        texts = ffi.new("braid_header[]", [(self._text(name), self._text(text))
                                           for name, text in (headers or {}).items()])
        self._keep.append(texts)
        self._struct.headers, self._struct.num_headers = texts, len(texts)
        if name_expression is not None:
            self._struct.name_expression = self._text(name_expression)

    @staticmethod
    def of(kernel: Any) -> Kernel:
        """A kernel of Braid, or one of CuPy (cupy.RawKernel)."""
        if isinstance(kernel, Kernel):
            return kernel
        from braid.cupy import raw

        return raw(kernel)

    def threads(self, name: str, block: Optional[Size]) -> Size:
        """Of a block of a node."""
        if self.block is None:
            return 1 if block is None else block
        if block not in (None, self.block):
            raise refuse(f"kernel '{name}' is given blocks of {block} threads, and was compiled for {self.block}")
        return self.block

    @property
    def has_readable_code(self) -> bool:
        """Whether nodes may leave their accesses to it: PTX, or source."""
        cuda = self._struct.cuda
        return bool(not cuda.function and (cuda.data or self._struct.source))

    def _text(self, text: Union[str, bytes]) -> Any:
        data = ffi.new("char[]", text.encode() if isinstance(text, str) else text)
        self._keep.append(data)
        return data

    def _texts(self, what: str, texts: Sequence[str]) -> Tuple[Any, int]:
        if isinstance(texts, str):
            raise refuse(f"{what} of kernel '{self.name}' is one text: give a list of them")
        array = ffi.new("const char *[]", [self._text(os.fspath(text)) for text in texts])
        self._keep.append(array)
        return array, len(array)

    def _fill_image(self, struct: Any, image: Union[Image, int, None], entry: Optional[str]) -> None:
        if isinstance(image, int):
            struct.function = ffi.cast("void *", image)
        elif image is not None:
            struct.data = self._text(image)
            struct.bytes = 0 if isinstance(image, str) else len(image)
        if entry is not None:
            struct.entry = self._text(entry)

    def __repr__(self) -> str:
        return f"<braid.Kernel {self.name!r}>"
