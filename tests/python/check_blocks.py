#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of Python in a page one after the other, as one program: check_blocks.py PAGE"""
import importlib.util
import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    needed = [name for name in ("numpy", "numba") if importlib.util.find_spec(name) is None]
    if needed:
        print(f"python3-{needed[0]} is not installed")
        return 77
    names = {}
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert blocks, "the page has no blocks"
    for block in blocks:
        line = text[:block.start(1)].count("\n")
        exec(compile("\n" * line + block.group(1), sys.argv[1], "exec"), names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
