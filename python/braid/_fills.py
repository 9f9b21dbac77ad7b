# SPDX-License-Identifier: Apache-2.0
"""Fills with values of 8 bytes, for which drivers have no call: a kernel writes them."""
from __future__ import annotations

import ctypes
from typing import Any, List, Tuple

from braid._binding import ffi, lib
from braid._errors import refuse
from braid._kernel import Kernel
from braid._memory import Pointer
from braid._options import Target

_BLOCK = 1024  # values that a block writes; braid_python_fill_8 has the same number
BYTES = 8

KERNEL = Kernel("fill_8", cpu=int(ffi.cast("uintptr_t", ffi.addressof(lib, "braid_python_fill_8"))),
                types=[Pointer, ctypes.c_uint64, ctypes.c_uint64], source="""
extern "C" __global__ void fill_8(unsigned long long *to, unsigned long long value, unsigned long long num)
{
    unsigned long long begin = blockIdx.x * 1024ull, end = begin + 1024 < num ? begin + 1024 : num;
    for (unsigned long long i = begin + threadIdx.x; i < end; i += blockDim.x)
        to[i] = value;
}
""")


def arguments(to: Any, value: int, num_values: int) -> List[Any]:
    return [to, ctypes.c_uint64(value), ctypes.c_uint64(num_values)]


def grid(num_values: int) -> int:
    return -(-num_values // _BLOCK)


def target(name: str, wanted: Target, argument: int) -> Tuple[Target, int]:
    """Of the kernel, for that of a fill."""
    if wanted == "num_values":
        raise refuse(f"fill '{name}' of 8 bytes is a kernel: no parameter gives it num_values")
    return ("argument", ("to", "value").index(wanted)) if wanted in ("to", "value") else (wanted, argument)
