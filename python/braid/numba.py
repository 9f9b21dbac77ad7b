# SPDX-License-Identifier: Apache-2.0
"""Kernels for the CPU from Python functions that Numba compiles. Importing this imports Numba."""
from __future__ import annotations

from typing import Any, Callable, Optional

import numba
import numpy
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from braid._errors import refuse
from braid._kernel import Kernel
from braid._memory import PointerTo, name_elements


def _load(typing: Any, args: Any, index: Any, type_: Any) -> Any:
    """Argument `index` of a kernel, as a value of `type_`: args[index] points to its bytes."""
    result = type_.instance_type

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = builder.bitcast(values[0], ir.IntType(8).as_pointer().as_pointer())
        at = builder.load(builder.gep(pointers, [values[1]]))
        data = context.data_model_manager[result]
        typed = builder.bitcast(at, data.get_data_type().as_pointer())
        return data.load_from_data_pointer(builder, typed)

    return result(args, index, type_), code


def _word(typing: Any, blocks: Any, index: Any) -> Any:
    """The 64-bit number `index` of a braid_blocks: 0 is begin, 1 is end."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        words = builder.bitcast(values[0], cgutils.intp_t.as_pointer())
        return builder.load(builder.gep(words, [values[1]]))

    return numba.types.int64(blocks, index), code


_load_intrinsic, _word_intrinsic = intrinsic(_load), intrinsic(_word)


def kernel(signature: str, *, name: Optional[str] = None, source: Optional[str] = None,
           **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Makes a kernel of a function (begin, end, *arguments) that does the blocks begin <= i < end. The
    signature has the types of the arguments: Numba's names of numbers, with a * for pointers to them, such as
    "float32*, int32". An array for a pointer has elements of its type. `source` adds the GPUs; other options are
    those of numba.njit."""
    types = [_read_type(text.strip()) for text in signature.split(",")] if signature.strip() else []

    def make(function: Callable[..., Any]) -> Kernel:
        compiled = numba.njit(**options)(function)
        values = "".join(f", load(args, {i}, type_{i})" for i in range(len(types)))
        text = f"def call(blocks, args):\n    body(word(blocks, 0), word(blocks, 1){values})\n"
        scope = {"body": compiled, "load": _load_intrinsic, "word": _word_intrinsic,
                 **{f"type_{i}": type_ for i, type_ in enumerate(types)}}
        exec(compile(text, f"<{function.__name__} for braid>", "exec"), scope)  # as many arguments as there are
        pointer = numba.types.voidptr
        code = numba.cfunc(numba.types.void(pointer, pointer))(scope["call"])
        return Kernel(name or function.__name__, cpu=code, source=source,
                      types=[_number_type(type_) for type_ in types])

    return make


def _read_type(text: str) -> Any:
    number = getattr(numba.types, text.rstrip("* "), None)
    if not isinstance(number, (numba.types.Number, numba.types.Boolean)) or text.count("*") > 1:
        raise refuse(f"a kernel's argument cannot be '{text}': give Numba's name of a number, such as float32, or "
                     "with a * a pointer to such")
    return numba.types.CPointer(number) if "*" in text else number


def _number_type(type_: Any) -> Any:
    if isinstance(type_, numba.types.CPointer):
        elements = numpy.dtype(_number_type(type_.dtype)).str
        return PointerTo(name_elements(elements), f"{type_.dtype}*")
    return numpy.bool_ if isinstance(type_, numba.types.Boolean) else getattr(numpy, type_.name)
