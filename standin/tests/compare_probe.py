#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what a probe prints over the driver that the loader finds with what it printed over another one.

    compare_probe.py EXPECTED PROGRAM
"""
import difflib
import subprocess
import sys


def main(expected, program):
    run = subprocess.run([program], stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    with open(expected, encoding="utf-8") as file:
        before = file.read().splitlines()
    lines = list(difflib.unified_diff(before, run.stdout.splitlines(), "expected", "this driver", lineterm="", n=4))
    print("\n".join(lines))
    if run.returncode != 0:
        sys.exit(f"FAILED: {program} ended with {run.returncode}")
    if lines:
        sys.exit(f"FAILED: lines differ from {expected}")
    print(f"all {len(before)} lines agree")


main(*sys.argv[1:])
