# SPDX-License-Identifier: Apache-2.0
"""Kernels from which warp_own_80.ptx was compiled: see README.md."""
import os
import sys
import tempfile

import warp as wp

wp.config.quiet = True
wp.config.enable_backward = False


@wp.struct
class Pair:
    x: wp.array(dtype=float)
    place: int
    out: wp.array(dtype=float)


@wp.kernel
def scaled(x: wp.array(dtype=float), factor: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = factor * x[i]


@wp.kernel
def summed(x: wp.array2d(dtype=wp.vec3), sums: wp.array(dtype=wp.vec3)):
    i, j = wp.tid()
    wp.atomic_add(sums, i, x[i, j])


@wp.kernel
def paired(pair: Pair, lists: wp.array(dtype=int, ndim=2)):
    i = wp.tid()
    if lists.shape[0] > pair.place:
        pair.out[i] = pair.x[lists[pair.place, i]]


with tempfile.TemporaryDirectory() as folder:
    wp.compile_aot_module(wp.get_module(__name__), module_dir=folder, arch=80, use_ptx=True)
    made = [name for name in os.listdir(folder) if name.endswith(".ptx")]
    with open(os.path.join(folder, made[0]), encoding="utf-8") as file:
        text = file.read()
with open(f"{sys.argv[1]}/warp_own_80.ptx", "w", encoding="utf-8") as file:
    file.write(text)
