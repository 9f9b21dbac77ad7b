#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the examples page shows each picture of a plan, and that none is too wide to be read there. Speaks TAP."""
import glob
import os
import re
import sys

import tap

MOST_WIDE = 1600  # a timeline has as many units, however much it shows
SHOWN = re.compile(r"!\[[^]]*\]\(plans/([^)]+)\)")
WIDTH = re.compile(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) [\d.]+"')


def find_faults(path, shown):
    with open(path, encoding="utf-8") as file:
        width = float(WIDTH.search(file.read()).group(1))
    if width > MOST_WIDE:
        yield f"it is {width:g} units wide, and {MOST_WIDE} are the most"
    if os.path.basename(path) not in shown:
        yield "examples/README.md does not show it"


def main():
    examples = os.path.join(os.path.abspath(sys.argv[1]), "examples")
    with open(os.path.join(examples, "README.md"), encoding="utf-8") as file:
        shown = SHOWN.findall(file.read())
    paths = sorted(glob.glob(os.path.join(examples, "plans", "*.svg")))
    return tap.print_cases(paths, os.path.basename, lambda path: find_faults(path, shown))


if __name__ == "__main__":
    sys.exit(main())
