# SPDX-License-Identifier: Apache-2.0
"""Kernels from those of CuPy. Only elementwise kernels need that CuPy is installed."""
from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Tuple

import numpy

from braid._arguments import Argument
from braid._errors import refuse
from braid._forms import Array, ArrayOf, size
from braid._kernel import Kernel

_C_NAMES = {"bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
            "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
            "uint64": "unsigned long long", "float16": "float16", "float32": "float", "float64": "double",
            "complex64": "complex<float>", "complex128": "complex<double>"}
_HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")  # that CuPy puts before each kernel


def raw(kernel: Any, name_expression: Optional[str] = None, *, types: Any = None) -> Kernel:
    """Makes a kernel of a cupy.RawKernel, or of a cupy.RawModule and the name of an entry, which for templates is an
    expression such as "scale<float>". Braid compiles the source with CuPy's options. If it cannot (backend="nvcc", a file,
    an entry whose name the source does not have), Braid takes the function that CuPy has loaded."""
    is_module = hasattr(kernel, "get_function")
    name = name_expression if is_module else getattr(kernel, "name", None)
    if not isinstance(name, str) or not hasattr(kernel, "code"):  # to ask for its function would compile it
        raise refuse(f"{kernel!r} is no kernel: give a braid.Kernel, a function that braid.numba.kernel "
                     "compiles, a cupy.RawKernel, or to braid.cupy.raw a cupy.RawModule and a name in it")
    is_expression = is_module and name in (getattr(kernel, "name_expressions", None) or ())
    if _is_plain(kernel) and (is_expression or name in kernel.code):
        options = tuple(getattr(kernel, "options", None) or ()) + _options_of_cupy()
        made = Kernel(name, source=kernel.code, options=options, name_expression=name if is_expression else None, types=types)
    else:
        loaded = kernel.get_function(name) if is_module else kernel
        made = Kernel(name, cuda=int(loaded.kernel.ptr), types=types)
    made._keep.append(kernel)
    return made


def _is_plain(kernel: Any) -> bool:
    """Whether Braid can compile it as CuPy does."""
    return isinstance(kernel.code, str) and getattr(kernel, "backend", "nvrtc") == "nvrtc" \
        and not getattr(kernel, "enable_cooperative_groups", False)


def _options_of_cupy() -> Tuple[str, ...]:
    """That CuPy adds to those of every kernel for CUDA."""
    cupy = sys.modules.get("cupy")
    return () if cupy is None or cupy.cuda.runtime.is_hip else ("-ftz=true",)


def elementwise(kernel: Any, signature: str) -> Kernel:
    """Makes a kernel of a cupy.ElementwiseKernel. `signature` has the types of its inputs and outputs, with a * for
    arrays: "float32*, float32*, float32, float32*". Arrays are in C order, of any shape, and count as one dimension. The
    kernel does as many elements as the shortest array that is not raw has. Any grid and block will do."""
    from cupy._core import core

    more = dict(kernel.kwargs)
    options = core.assemble_cupy_compiler_options(tuple(more.get("options", ()))) + _options_of_cupy()
    return Kernel(kernel.name, source=source_of(kernel, signature), options=options, types=types_of(kernel, signature))


def types_of(kernel: Any, signature: str) -> List[Any]:
    """Of the arguments of an elementwise kernel."""
    types = []
    for parameter, name, is_array in _read_signature(kernel, signature):
        where, dtype = f"parameter '{parameter.name}' of kernel '{kernel.name}'", numpy.dtype(name)
        if (parameter.raw or not parameter.is_const) and not is_array:
            raise refuse(f"{where} is an array: give '{name}*'")
        if parameter.dtype is not None and numpy.dtype(parameter.dtype) != dtype:
            raise refuse(f"{where} is declared as {numpy.dtype(parameter.dtype)}, and cannot be '{name}'")
        types.append(ArrayOf(dtype, None, "C", 2, _lay_out) if is_array else dtype.type)
    return types


def source_of(kernel: Any, signature: str) -> str:
    """CUDA C of an elementwise kernel, which takes an array as its address and its number of elements."""
    kinds: Dict[str, str] = {}  # by their names in the kernel
    taken, sizes, before, inside = [], [], [], []
    for parameter, text, is_array in _read_signature(kernel, signature):
        name, type_, const = parameter.name, _C_NAMES[text], "const " if parameter.is_const else ""
        if kinds.setdefault(parameter.ctype, type_) != type_:
            raise refuse(f"kernel '{kernel.name}' has one type '{parameter.ctype}', and is given {kinds[parameter.ctype]} "
                         f"and {type_} for it")
        taken += [f"{type_} *_data_{name}", f"ptrdiff_t _num_{name}"] if is_array else [f"const {type_} {name}"]
        if is_array and parameter.raw:
            before.append(f"    {const}CArray<{type_}, 1, true, false> {name}(_data_{name}, &_num_{name});")
        elif is_array:
            sizes.append(f"    if (_num_{name} < _num) _num = _num_{name};")
            inside.append(f"        {const}{type_} &{name} = _data_{name}[i];")
    if not sizes:
        raise refuse(f"kernel '{kernel.name}' has no array that is not raw, so its number of elements is not known")
    more = dict(kernel.kwargs)
    headers = [*_HEADERS, *(["float16.cuh"] if "float16" in kinds.values() else [])]
    named = [f"typedef {type_} {name};" for name, type_ in kinds.items() if name not in _C_NAMES.values()]
    return "\n".join([
        *(f"#include <cupy/{header}>" for header in headers), *named, kernel.preamble,
        f'extern "C" __global__ void {kernel.name}({", ".join(taken)})', "{",
        "    ptrdiff_t _num = 0x7fffffffffffffff;", *sizes, "    CIndexer<1> _ind(&_num);", *before,
        f"    {more.get('loop_prep', '')};", "    CUPY_FOR(i, _num) {", "        _ind.set(i);", *inside,
        f"        {kernel.operation};", "    }", f"    {more.get('after_loop', '')};", "}", ""])


def _read_signature(kernel: Any, signature: str) -> List[Tuple[Any, str, bool]]:
    """The parameters of an elementwise kernel, the type of each, and whether it is an array."""
    parameters = [*kernel.in_params, *kernel.out_params]
    texts = [text.strip() for text in signature.split(",")] if signature.strip() else []
    if len(texts) != len(parameters):
        raise refuse(f"kernel '{kernel.name}' has a signature of {len(texts)} types, and {len(parameters)} parameters")
    for parameter, text in zip(parameters, texts):
        if text.rstrip("* ") not in _C_NAMES or text.count("*") > 1:
            raise refuse(f"parameter '{parameter.name}' of kernel '{kernel.name}' cannot be '{text}': give a type of "
                         "NumPy, such as float32, or with a * an array of such")
    return [(parameter, text.rstrip("* "), text.endswith("*")) for parameter, text in zip(parameters, texts)]


def _lay_out(array: Array) -> List[Argument]:
    return [array.data, size(array.num)]
