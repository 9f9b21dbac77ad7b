#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link in the tree's Markdown files leads somewhere, and that the README or a
page it links to leads to every document. Speaks TAP."""
import glob
import os
import re
import sys

CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)  # a lambda looks like a link
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def targets_of(path):
    with open(path, encoding="utf-8") as file:
        links = LINK.findall(CODE.sub("", file.read()))
    return [os.path.normpath(os.path.join(os.path.dirname(path), link)) for link in links]


def reachable_from(path, found):
    found.add(path)
    for target in targets_of(path):
        if target.endswith(".md") and os.path.exists(target) and target not in found:
            reachable_from(target, found)
    return found


def main():
    root = os.path.abspath(sys.argv[1])
    paths = sorted(path for folder in ("", "docs", "docs/book", "docs/measured", "examples")
                   for path in glob.glob(os.path.join(root, folder, "*.md")))
    reached = reachable_from(os.path.join(root, "README.md"), set())
    print(f"1..{len(paths)}")
    failed = False
    for number, path in enumerate(paths, 1):
        faults = [f"leads nowhere: {target}" for target in targets_of(path) if not os.path.exists(target)]
        if path not in reached:
            faults.append("no link leads here from the README")
        print(f"{'not ok' if faults else 'ok'} {number} - {os.path.relpath(path, root)}")
        for fault in faults:
            print(f"# {fault}")
        failed = failed or bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
