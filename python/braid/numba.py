# SPDX-License-Identifier: Apache-2.0
"""Kernels for the CPU from Python functions that Numba compiles. Importing this imports Numba."""
from __future__ import annotations

import operator
from typing import Any, Callable, List, Optional

import numba
import numpy
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from braid._errors import refuse
from braid._kernel import Kernel, Raised
from braid._memory import PointerTo, name_elements

_PARTS = operator.attrgetter("fndesc", "signature", "library")  # a function that Numba has compiled has these


def _load(context: Any, builder: Any, arguments: Any, index: int, type_: Any) -> Any:
    """Argument `index` of a kernel, as a value of `type_`: arguments[index] points to its bytes."""
    pointers = builder.bitcast(arguments, ir.IntType(8).as_pointer().as_pointer())
    at = builder.load(cgutils.gep_inbounds(builder, pointers, index))
    data = context.data_model_manager[type_]
    return data.load_from_data_pointer(builder, builder.bitcast(at, data.get_data_type().as_pointer()))


def _words(builder: Any, blocks: Any) -> List[Any]:
    """The begin and the end of a braid_blocks, which are its first two 64-bit numbers."""
    words = builder.bitcast(blocks, cgutils.intp_t.as_pointer())
    return [builder.load(cgutils.gep_inbounds(builder, words, index)) for index in (0, 1)]


def _tell(context: Any, builder: Any, status: Any, failures: Raised) -> None:
    """Hands the exception that a function ended with to Raised.add. The thread has no Python yet."""
    api = context.get_python_api(builder)
    pointer, nothing = api.pyobj, api.get_null_object()
    held = api.gil_ensure()
    context.call_conv.raise_error(builder, api, status)
    places = [cgutils.alloca_once_value(builder, nothing) for _ in range(3)]
    for name in ("PyErr_Fetch", "PyErr_NormalizeException"):
        api_type = ir.FunctionType(ir.VoidType(), [pointer.as_pointer()] * 3)
        builder.call(cgutils.get_or_insert_function(builder.module, api_type, name), places)
    add = context.add_dynamic_addr(builder, id(failures), "the failures of a kernel")
    told = api.call_method(add, "add", [builder.load(places[1])])
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, told)):
        api.err_clear()
    for thing in (told, *map(builder.load, places)):
        api.decref(thing)
    api.gil_release(held)


def _entry(body: Any, types: List[Any], failures: Raised) -> Any:
    """A function of C that calls the body with the blocks and arguments that it is given."""
    wanted = (numba.types.int64, numba.types.int64, *types)
    body.compile(wanted)
    descriptor, prototype, linked = _PARTS(body.overloads[wanted])

    def run(typing: Any, blocks: Any, arguments: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            context.add_linking_libs([linked])
            given = [_load(context, builder, values[1], index, type_) for index, type_ in enumerate(types)]
            status, _ = context.call_internal_no_propagate(
                builder, descriptor, prototype, [*_words(builder, values[0]), *given])
            with cgutils.if_unlikely(builder, status.is_error):
                _tell(context, builder, status, failures)
            return context.get_dummy_value()

        return numba.types.void(blocks, arguments), code

    call, pointer = intrinsic(run), numba.types.voidptr

    def entry(blocks: Any, arguments: Any) -> None:
        call(blocks, arguments)

    return numba.cfunc(numba.types.void(pointer, pointer))(entry)


def kernel(signature: str, *, name: Optional[str] = None, source: Optional[str] = None,
           **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Makes a kernel of a function (begin, end, *arguments) that does the blocks begin <= i < end. The
    signature has the types of the arguments: Numba's names of numbers, with a * for pointers to them, such as
    "float32*, int32". An array for a pointer has elements of its type. What it raises on the CPU the next
    Exec.wait reports, a division by zero as well unless error_model="numpy" is among the options, which are those of
    numba.njit; the other blocks run on. `source` adds the GPUs."""
    types = [_read_type(text.strip()) for text in signature.split(",")] if signature.strip() else []

    def make(function: Callable[..., Any]) -> Kernel:
        failures = Raised()
        made = Kernel(name or function.__name__, cpu=_entry(numba.njit(**options)(function), types, failures),
                      source=source, types=[_number_type(type_) for type_ in types])
        made.raised = failures
        return made

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
