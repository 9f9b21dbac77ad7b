#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public function is tried with NULL.

usage: check_every_function_is_tried.py SOURCE_ROOT
"""
import glob
import os
import re
import sys

# The exported NAME_sized is called by NAME.
DECLARED = re.compile(r"\bBRAID_(?:API|INLINE)\b[^;{]*?\b(braid_\w+)\([^;{]*;")
NULLS = "tests/errors/null_is_refused_*.c"


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def main():
    root = sys.argv[1]
    headers = sorted(glob.glob(os.path.join(root, "include", "braid", "*.h")))
    functions = [name for header in headers for name in DECLARED.findall(read(header))
                 if not name.endswith("_sized")]
    text = "".join(read(path) for path in glob.glob(os.path.join(root, NULLS)))
    forgotten = [name for name in functions if not re.search(rf"\b{name}\(", text)]
    print("1..1")
    for name in forgotten:
        print(f"# {name} is not there")
    print(f"{'not ok' if forgotten else 'ok'} 1 - {NULLS} tries all {len(functions)}")
    return 1 if forgotten or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
