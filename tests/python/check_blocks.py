#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of Python in a page one after the other, as one program: check_blocks.py PAGE. The comment before a block may name a file of
docs/book/code that runs before it (<!-- in NAME -->). A ```text block behind one is what it prints."""
import contextlib
import importlib.util
import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "book"))
from check_blocks import compare, read_blocks, said_behind  # noqa: E402


def run(text, path, line, names):
    exec(compile("\n" * line + text, path, "exec"), names)


def main():
    path = sys.argv[1]
    needed = [name for name in ("numpy", "numba") if importlib.util.find_spec(name) is None]
    if needed:
        print(f"python3-{needed[0]} is not installed")
        return 77
    names = {}
    blocks = read_blocks(path)
    assert any(block.language == "python" for block in blocks), "the page has no blocks"
    for index, block in enumerate(blocks):
        if block.language != "python":
            continue
        if block.comment.startswith("in "):
            before = os.path.join(os.path.dirname(path), "code", block.comment.removeprefix("in "))
            with open(before, encoding="utf-8") as file:
                run(file.read(), before, 0, names)
        printed, expected = io.StringIO(), said_behind(blocks, index)
        with contextlib.redirect_stdout(printed) if expected is not None else contextlib.nullcontext():
            run(block.text, path, block.line, names)
        if expected is not None:
            compare(expected, printed.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
