#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how much of each folder of src/ and addons/ the tests reach, and compares it with tests/coverage.txt."""
import argparse
import collections
import json
import os
import sys


def read_floors(path):
    """Folder -> least percent of lines and of branches."""
    floors = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                floors[words[0]] = (float(words[1]), float(words[2]))
    return floors


def add_up(summary):
    """Folder -> lines reached, lines, branches reached, branches."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    keys = ("line_covered", "line_total", "branch_covered", "branch_total")
    for item in summary["files"]:
        for folder in (os.path.dirname(item["filename"]), "all"):
            for i, key in enumerate(keys):
                sums[folder][i] += item[key]
    return sums


def percent(reached, total):
    return 100.0 * reached / total if total else 100.0


def print_weakest(summary, num):
    def missing(item):
        return 2 * (item["line_total"] - item["line_covered"]) + item["branch_total"] - item["branch_covered"]

    print("\nleast reached:")
    for item in sorted(summary["files"], key=missing, reverse=True)[:num]:
        print(f"  {item['filename']}: {item['line_total'] - item['line_covered']} of {item['line_total']} lines, "
              f"{item['branch_total'] - item['branch_covered']} of {item['branch_total']} branches not")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("summary", help="what gcovr --json-summary wrote")
    parser.add_argument("floors", help="lines of folder, percent of lines, percent of branches")
    parser.add_argument("--totals", help="append 'passed failed skipped' to this file")
    arguments = parser.parse_args()
    with open(arguments.summary, encoding="utf-8") as file:
        summary = json.load(file)
    floors, passed, failed = read_floors(arguments.floors), 0, 0
    other = floors.pop("other")
    for folder, sums in sorted(add_up(summary).items()):
        lines, branches = percent(*sums[:2]), percent(*sums[2:])
        least = floors.pop(folder, other)
        enough = lines >= least[0] and branches >= least[1]
        print(f"{'ok  ' if enough else 'FAIL'} {folder}: {lines:.1f} % of {sums[1]} lines (at least {least[0]:g}), "
              f"{branches:.1f} % of {sums[3]} branches (at least {least[1]:g})")
        passed, failed = passed + enough, failed + (not enough)
    for folder in floors:
        print(f"FAIL {folder}: has a floor, and no code")
        failed += 1
    print_weakest(summary, 10)
    if arguments.totals:
        with open(arguments.totals, "a", encoding="utf-8") as totals:
            totals.write(f"{passed} {failed} 0\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
