# SPDX-License-Identifier: Apache-2.0
"""Kernels from which the texts triton_*.ptx were compiled: see README.md."""
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def gather(x, places, out, num, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + tl.load(places + at, mask=at < num), mask=at < num), mask=at < num)


@triton.jit
def counted(places, counts, num, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(places + at, mask=at < num), 1, mask=at < num)


@triton.jit
def grouped(table, out, num, BLOCK: tl.constexpr):  # nobody knows what the table holds
    own = tl.load(table + tl.program_id(1)).to(tl.pointer_type(tl.float32))
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(own + at, mask=at < num), mask=at < num)


@triton.jit
def swapped(a, b, steps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    one, other = a + at, b + at
    for _ in range(steps):
        tl.store(other, tl.load(one) + 1)
        one, other = other, one


@triton.jit
def tiles(a, b, rows, columns, BLOCK: tl.constexpr):  # a tensor map that the kernel makes
    one = tl.make_tensor_descriptor(a, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    other = tl.make_tensor_descriptor(b, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    other.store([0, 0], one.load([0, 0]))


@triton.jit
def mapped(a, b, BLOCK: tl.constexpr):  # tensor maps among the arguments
    b.store([0, 0], a.load([0, 0]))


def compile(kernel, types, arch, block):
    src = triton.compiler.ASTSource(fn=kernel, signature={**dict(zip(kernel.arg_names, types)), "BLOCK": "constexpr"},
                                    constexprs={"BLOCK": block})
    made = triton.compile(src, target=GPUTarget("cuda", arch, 32))
    with open(f"{sys.argv[1]}/triton_{kernel.__name__}_{arch}.ptx", "w", encoding="utf-8") as file:
        file.write(made.asm["ptx"])


compile(gather, ["*fp32", "*i32", "*fp32", "i32"], 80, 256)
compile(counted, ["*i32", "*i32", "i32"], 80, 256)
compile(grouped, ["*i64", "*fp32", "i32"], 80, 256)
compile(swapped, ["*fp32", "*fp32", "i32"], 90, 256)
compile(tiles, ["*fp32", "*fp32", "i32", "i32"], 90, 16)
compile(mapped, ["tensordesc<fp32[16,16]>", "tensordesc<fp32[16,16]>"], 90, 16)
