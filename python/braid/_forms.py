# SPDX-License-Identifier: Apache-2.0
"""Arguments of which compiled code takes several: an array as its address, shape and strides."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Union

from braid._arguments import Argument, encode
from braid._errors import refuse
from braid._handles import Declared, Parameter, Resource
from braid._memory import Pointer, Span, compact_strides, describe_or_none, name_elements


class Form:
    """The type of an argument that becomes `num` arguments of the code. Kernels have it among their types."""

    num = 1

    def encode(self, value: Any, where: str) -> List[Argument]:
        """`where` begins messages."""
        if isinstance(value, Parameter):
            raise refuse(f"{where} is parameter '{value.name}': this kernel takes a value there, which Exec.set_arg changes")
        return self._encode(value, where)

    def _encode(self, value: Any, where: str) -> List[Argument]:
        raise NotImplementedError


class Multiple(Form):
    """A whole number for which code was compiled that is right only for multiples of `of`."""

    def __init__(self, type_: Any, of: int):
        self.type, self.of = type_, of

    def _encode(self, value: Any, where: str) -> List[Argument]:
        argument = encode(value, self.type, where)
        if int.from_bytes(argument.data, "little") % self.of:
            raise refuse(f"{where} is {value!r}, which is no multiple of {self.of}, for which the kernel was compiled")
        return [argument]


class Array(NamedTuple):
    """What a form knows of an array."""

    data: Argument
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    itemsize: int

    @property
    def num(self) -> int:
        """How many elements it has."""
        num = 1
        for length in self.shape:
            num *= length
        return num


class ArrayOf(Form):
    """An array of `ndim` dimensions, or with None of any number, which `lay_out` turns into `num` arguments. `order` is
    "C" or "F" where the code takes no strides but those, and "A" where it takes any."""

    def __init__(self, dtype: Any, ndim: Optional[int], order: str, num: int, lay_out: Callable[[Array], List[Argument]]):
        self.elements, self.itemsize = name_elements(dtype.str), dtype.itemsize
        self.ndim, self.order, self.num, self._lay_out = ndim, order, num, lay_out

    @property
    def name(self) -> str:
        order = {"C": " in C order", "F": " in Fortran's order"}.get(self.order, "")
        dimensions = "" if self.ndim is None else f" with {self.ndim} dimension{'s' if self.ndim != 1 else ''}"
        return f"array of {self.elements}{dimensions}{order}"

    def _encode(self, value: Any, where: str) -> List[Argument]:
        array, what, elements = self._look(value, where)
        wanted = {"C": compact_strides(array.shape, self.itemsize),
                  "F": compact_strides(array.shape[::-1], self.itemsize)[::-1]}.get(self.order)
        fits = wanted is None or all(n == 1 or s == w for n, s, w in zip(array.shape, array.strides, wanted))
        if elements not in ("", self.elements) or self.ndim not in (None, len(array.shape)) \
                or not (fits or 0 in array.shape):
            raise refuse(f"{where} is {what}, where the kernel takes an {self.name}")
        return self._lay_out(array)

    def _look(self, value: Any, where: str) -> Tuple[Array, str, str]:
        """The array, how messages call it, and the name of its elements where it has a type."""
        known: Union[Declared, Span, None]
        if isinstance(value, Resource) and value.__braid_span__() is None:
            known, what = value._declared, f"the resource '{value.name}'"
            data = Argument(b"", address_of=value._handle)
            shape, strides = known.shape, compact_strides(known.shape, self.itemsize)
        else:
            known = describe_or_none(value)
            if known is None:
                raise refuse(f"{where} is {value!r}, where the kernel takes an {self.name}")
            data = encode(Pointer(known.address), None, where)._replace(keep=known.keep, span=known, is_unchecked=False)
            shape, strides, what = known.shape, known.strides, known.kind
        typestr = known.typestr
        if not typestr:
            if known.nbytes % self.itemsize or self.ndim not in (None, 1):
                raise refuse(f"{where} is {what} of {known.nbytes} bytes, where the kernel takes an {self.name}")
            shape, strides = (known.nbytes // self.itemsize,), (self.itemsize,)
            return Array(data, shape, strides, self.itemsize), what, ""
        elements = name_elements(typestr)
        order = f"of shape {shape} and strides {strides}"
        return Array(data, shape, strides, self.itemsize), f"{what} of {elements} {order}", elements


def size(number: int) -> Argument:
    """A number of 64 bits."""
    return Argument(ctypes.c_int64(number).value.to_bytes(8, "little", signed=True), is_unchecked=True)
