#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link in the tree's Markdown files leads somewhere. Speaks TAP."""
import glob
import os
import re
import sys

LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def main():
    root = sys.argv[1]
    paths = sorted(glob.glob(os.path.join(root, "*.md")) + glob.glob(os.path.join(root, "docs", "*.md")))
    print(f"1..{len(paths)}")
    failed = False
    for number, path in enumerate(paths, 1):
        with open(path, encoding="utf-8") as file:
            targets = LINK.findall(file.read())
        broken = [target for target in targets
                  if not os.path.exists(os.path.join(os.path.dirname(path), target))]
        print(f"{'not ok' if broken else 'ok'} {number} - {os.path.relpath(path, root)}")
        for target in broken:
            print(f"# leads nowhere: {target}")
        failed = failed or bool(broken)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
