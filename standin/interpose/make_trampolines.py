#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the trampolines of an interposer and the table of their names from a list of symbols.

usage: make_trampolines.py SYMBOLS OUT.S OUT.c
Each line of SYMBOLS has a function's name, and "never-fail" after it where the function does not
return a status. Lines that start with # are comments.
"""
import sys

X86_64 = """\
    .globl {name}
    .type {name}, @function
{name}:
    .cfi_startproc
    endbr64
    movl ${index}, %eax
    jmp interpose_forward
    .cfi_endproc
    .size {name}, .-{name}
"""

AARCH64 = """\
    .globl {name}
    .type {name}, %function
{name}:
    .cfi_startproc
    hint #34 // bti c
    mov w16, #{index}
    b interpose_forward
    .cfi_endproc
    .size {name}, .-{name}
"""


def read_symbols(path):
    symbols = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and not words[0].startswith("#"):
                symbols.append((words[0], "never-fail" not in words[1:]))
    return symbols


def write_assembly(path, symbols):
    with open(path, "w", encoding="utf-8") as file:
        file.write("    .text\n    .hidden interpose_forward\n")
        for machine, form in (("__x86_64__", X86_64), ("__aarch64__", AARCH64)):
            file.write(f"#if defined({machine})\n")
            for index, (name, _) in enumerate(symbols):
                file.write(form.format(name=name, index=index))
            file.write("#endif\n")
        file.write('    .section .note.GNU-stack,"",%progbits\n')


def write_table(path, symbols):
    with open(path, "w", encoding="utf-8") as file:
        file.write('#include "interpose.h"\n\nconst struct symbol interpose_symbols[] = {\n')
        for name, may_fail in symbols:
            file.write(f'    {{ "{name}", {"true" if may_fail else "false"} }},\n')
        file.write("};\n")
        file.write(f"const unsigned interpose_num_symbols = {len(symbols)};\n")


def main():
    symbols = read_symbols(sys.argv[1])
    write_assembly(sys.argv[2], symbols)
    write_table(sys.argv[3], symbols)


if __name__ == "__main__":
    main()
