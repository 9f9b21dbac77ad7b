#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link in the tree's Markdown files leads somewhere, and that the README or a
page it links to leads to every document. Speaks TAP."""
import glob
import os
import re
import sys

import tap

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


def find_faults(path, reached):
    yield from (f"leads nowhere: {target}" for target in targets_of(path) if not os.path.exists(target))
    if path not in reached:
        yield "no link leads here from the README"


def main():
    root = os.path.abspath(sys.argv[1])
    paths = sorted(path for folder in ("", "docs", "docs/book", "docs/measured", "examples")
                   for path in glob.glob(os.path.join(root, folder, "*.md")))
    reached = reachable_from(os.path.join(root, "README.md"), set())
    return tap.print_cases(paths, lambda path: os.path.relpath(path, root), lambda path: find_faults(path, reached))


if __name__ == "__main__":
    sys.exit(main())
