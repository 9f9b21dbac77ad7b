#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links sources into the folder of the stamp, where the binding is: link_sources.py STAMP SOURCE..."""
import os
import sys


def main():
    stamp, sources = sys.argv[1], sys.argv[2:]
    for path in sources:
        link = os.path.join(os.path.dirname(stamp), os.path.basename(path))
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(os.path.abspath(path), link)
    with open(stamp, "w", encoding="utf-8"):
        pass


if __name__ == "__main__":
    main()
