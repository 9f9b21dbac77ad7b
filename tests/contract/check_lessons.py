#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every test that docs/lessons.md names exists. Speaks TAP; takes the tree's root."""
import glob
import os
import re
import sys

ROW = re.compile(r"^\| (\d+b?) \|")
NAME = re.compile(r"`(?:(\w+)/)?(\w+_\w+)`")
NUMBERS = [str(i) for i in range(1, 36)] + ["7b"]


def find_tests(root, folder):
    """Names of a folder's test functions and of its files, which are named after a behaviour."""
    names = set()
    for path in glob.glob(os.path.join(root, "tests", folder, "*.c")):
        names.add(os.path.basename(path)[:-2])
        with open(path, encoding="utf-8") as file:
            names.update(re.findall(r"^(?:static void )?(\w+)\(void \*\*state\)", file.read(),
                                    re.MULTILINE))
    return names


def check_row(root, line):
    for folder, name in NAME.findall(line):
        if name == "graph_build":  # a bench
            continue
        if name not in find_tests(root, folder or "contract"):
            yield f"tests/{folder or 'contract'} has no test {name}"


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "docs", "lessons.md"), encoding="utf-8") as file:
        rows = [line for line in file if ROW.match(line)]
    print(f"1..{len(rows) + 1}")
    found = sorted(ROW.match(line).group(1) for line in rows)
    print("ok 1 - every lesson has a row" if found == sorted(NUMBERS)
          else "not ok 1 - every lesson has a row")
    failed = found != sorted(NUMBERS)
    for i, line in enumerate(rows):
        problems = list(check_row(root, line))
        for problem in problems:
            print(f"# {problem}")
        failed = failed or bool(problems)
        print(f"{'not ok' if problems else 'ok'} {i + 2} - lesson {ROW.match(line).group(1)}")
    return 1 if failed else 0


sys.exit(main())
