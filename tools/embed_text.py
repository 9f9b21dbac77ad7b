#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as a C array that ends in a NUL: embed_text.py TEXT NAME OUTPUT."""
import sys


def main():
    text, name, output = sys.argv[1:]
    with open(text, "rb") as file:
        data = file.read() + b"\0"
    rows = [", ".join(str(byte) for byte in data[i:i + 20]) for i in range(0, len(data), 20)]
    with open(output, "w", encoding="utf-8") as file:
        file.write(f"extern const char {name}[];\nconst char {name}[] = {{\n    ")
        file.write(",\n    ".join(rows) + "\n};\n")


main()
