#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public function is tried with NULL, and every struct that one fills with other lengths.

usage: check_every_function_is_tried.py SOURCE_ROOT
"""
import glob
import os
import re
import sys

DECLARED = re.compile(r"BRAID_API\b[^;]*?\b(braid_\w+)\(")
NULLS = "tests/errors/null_is_refused_everywhere.c"
LENGTHS = "tests/abi/shorter_and_longer_structs_are_filled_exactly.c"


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def find_forgotten(functions, text):
    return [name for name in functions if not re.search(rf"\b{name}\(", text)]


def report(number, what, forgotten):
    for name in forgotten:
        print(f"# {name} is not there")
    print(f"{'not ok' if forgotten else 'ok'} {number} - {what}")
    return bool(forgotten)


def main():
    root = sys.argv[1]
    headers = sorted(glob.glob(os.path.join(root, "include", "braid", "*.h")))
    functions = [name for header in headers for name in DECLARED.findall(read(header))]
    sized = [name for name in functions if name.endswith("_sized")]
    print("1..2")
    plain = [name.removesuffix("_sized") for name in functions]
    failed = report(1, f"{NULLS} tries all {len(plain)}", find_forgotten(plain, read(root, NULLS)))
    failed |= report(2, f"{LENGTHS} tries all {len(sized)}",
                     find_forgotten(sized, read(root, LENGTHS)))
    return 1 if failed or not sized else 0


if __name__ == "__main__":
    sys.exit(main())
