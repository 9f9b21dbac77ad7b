# SPDX-License-Identifier: Apache-2.0
"""Kernels from which the texts triton_*.ptx were compiled: see README.md."""
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=-float("inf"))
    top = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * columns + at, top / tl.sum(top, axis=0), mask=at < columns)


@triton.jit
def product(a, b, c, n, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, n, BLOCK):
        at = k + tl.arange(0, BLOCK)
        total += tl.dot(tl.load(a + i[:, None] * n + at[None, :]), tl.load(b + at[:, None] * n + j[None, :]))
    tl.store(c + i[:, None] * n + j[None, :], total)


def compile(kernel, types, arch, block):
    names = kernel.arg_names
    src = triton.compiler.ASTSource(fn=kernel, signature={**dict(zip(names, types)), "BLOCK": "constexpr"},
                                    constexprs={"BLOCK": block})
    made = triton.compile(src, target=GPUTarget("cuda", arch, 32))
    with open(f"triton_{kernel.__name__}_{arch}.ptx", "w") as file:
        file.write(made.asm["ptx"])


for arch in (80, 90):
    compile(add, ["*fp32", "*fp32", "*fp32", "i32"], arch, 256)
    compile(softmax, ["*fp32", "*fp32", "i32"], arch, 1024)
    compile(product, ["*fp16", "*fp16", "*fp32", "i32"], arch, 64)
