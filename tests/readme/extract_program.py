#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the first C program of a Markdown file: extract_program.py README.md OUTPUT."""
import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        program = re.search(r"^```c\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    if not program:
        sys.exit(f"{sys.argv[1]} has no C program")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(program.group(1))


if __name__ == "__main__":
    main()
