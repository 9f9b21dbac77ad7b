# SPDX-License-Identifier: Apache-2.0
"""Kernels for CUDA from Python functions that Numba compiles. Importing this imports Numba."""
from __future__ import annotations

import re
from typing import Any, Callable, List, Optional, Tuple

import numpy
from numba import cuda, types
from numba.core import sigutils

from braid._arguments import Argument
from braid._errors import refuse
from braid._forms import Array, ArrayOf, size
from braid._kernel import Kernel

_NOTHING = size(0)  # where Numba's own launcher has the owner of an array
_OPTIONS = ("debug", "lineinfo", "fastmath", "opt")  # options for @cuda.jit, which the compiler takes as well


def kernel(signature: str, *, arch: Optional[Tuple[int, int]] = None, name: Optional[str] = None,
           shared_bytes: int = 0, **options: Any) -> Callable[[Any], Kernel]:
    """Makes a kernel of a function as numba.cuda has it, or of what @cuda.jit made of one. `signature` has the types of
    the arguments as Numba calls them: "float32[::1], float32". An array is one of a type and as many dimensions;
    [::1] is in C order, and [:] has any strides. `options` are those of numba.cuda.compile_ptx. The code is for the
    current device, or for `arch`, such as (9, 0)."""
    def make(function: Any) -> Kernel:
        told = getattr(function, "targetoptions", {})
        if told.get("link"):
            raise refuse(f"kernel '{function.__name__}' is linked with {told['link']}, which Braid does not do")
        chosen = {**{key: told[key] for key in _OPTIONS if told.get(key) is not None}, **options}
        body = getattr(function, "py_func", function)
        arguments = _types_of(signature, body.__name__)
        cc = arch or tuple(cuda.get_current_device().compute_capability)
        ptx, _ = cuda.compile_ptx(body, arguments, cc=cc, **chosen)
        return of_ptx(name or body.__name__, ptx, arguments, shared_bytes)

    return make


def of_ptx(name: str, ptx: str, arguments: Tuple[Any, ...], shared_bytes: int = 0) -> Kernel:
    """A kernel from PTX that numba.cuda has compiled for arguments of these types of Numba."""
    entry = re.search(r"\.visible\s+\.entry\s+([\w$]+)", ptx)
    if entry is None:
        raise refuse(f"the PTX of kernel '{name}' has no entry")
    forms = [_type(type_, f"argument {index} of kernel '{name}'") for index, type_ in enumerate(arguments)]
    return Kernel(name, cuda=ptx, cuda_entry=entry.group(1), types=forms, shared_bytes=shared_bytes)


def _types_of(signature: str, name: str) -> Tuple[Any, ...]:
    try:
        arguments, result = sigutils.normalize_signature(signature if "(" in signature else f"void({signature})")
    except Exception as error:  # Numba's parser raises many types
        raise refuse(f"the signature of kernel '{name}' is '{signature}', which Numba does not read: {error}") from error
    if result not in (None, types.void):
        raise refuse(f"kernel '{name}' returns {result}, and kernels return nothing")
    return tuple(arguments)


def _type(type_: Any, where: str) -> Any:
    if isinstance(type_, types.Array):
        if not isinstance(type_.dtype, (types.Number, types.Boolean)):
            raise refuse(f"{where} is an array of {type_.dtype}: give arrays of numbers")
        return ArrayOf(_dtype(type_.dtype), type_.ndim, type_.layout, 5 + 2 * type_.ndim, _lay_out)
    if not isinstance(type_, (types.Integer, types.Float, types.Boolean)):
        raise refuse(f"{where} is a {type_}: kernels of Numba take arrays and real numbers here")
    return _dtype(type_).type


def _dtype(type_: Any) -> Any:
    return numpy.dtype("bool" if isinstance(type_, types.Boolean) else type_.name)


def _lay_out(array: Array) -> List[Argument]:
    """As Numba's compiler takes an array apart: two owners, two sizes, the address, the shape and the strides."""
    return [_NOTHING, _NOTHING, size(array.num), size(array.itemsize), array.data,
            *map(size, array.shape), *map(size, array.strides)]
