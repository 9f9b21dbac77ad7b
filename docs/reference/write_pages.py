#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the C interface as Markdown for Sphinx: write_pages.py INCLUDE_FOLDER OUT_FOLDER."""
import os
import re
import sys

import header_text

NAME = re.compile(r"\b(?:braid_\w+(?:\(\))?|BRAID_\w+)\b")
DIRECTIVES = {"function": "c:function", "struct": "c:struct", "enum": "c:enum", "type": "c:type", "macro": "c:macro"}


def _kinds(headers):
    """{name: its role in Sphinx' C domain}"""
    roles = {"function": "c:func", "struct": "c:struct", "enum": "c:enum", "type": "c:type", "macro": "c:macro"}
    return {name: roles[entry.kind] for _, entries in headers.values() for entry in entries for name in entry.names}


def _prose(text, kinds, own):
    """A paragraph of a comment as Markdown, with links to what it names."""
    def link(match):
        name = match.group(0).removesuffix("()")
        if name in kinds and name not in own:
            return f"{{{kinds[name]}}}`{name}`"
        return f"`{name}`"

    parts = re.split(r"(`[^`]*`)", text)
    for index in range(0, len(parts), 2):
        plain = re.sub(r"([\\*<>\[\]|{}])", r"\\\1", parts[index])
        parts[index] = NAME.sub(link, plain)
    return "".join(parts)


def _signature(entry, signature):
    """What the directive is given: Sphinx wants a type as `type name`, and no `typedef`."""
    if entry.kind != "type":
        return signature
    declaration = " ".join(entry.code.split()).removeprefix("typedef ").rstrip(";")
    return declaration


def _describe(entry, kinds):
    lines = []
    if entry.kind != "prose":
        fence = "::::"
        *others, last = [_signature(entry, signature) for signature in entry.signatures]
        for signature in others:
            lines += [f"{fence}{{{DIRECTIVES[entry.kind]}}} {signature}", fence, ""]
        lines += [f"{fence}{{{DIRECTIVES[entry.kind]}}} {last}", ""]
        if entry.kind in ("struct", "enum") and "{" in entry.code:
            lines += ["```c", entry.code, "```", ""]
    for paragraph in entry.text:
        for piece in re.split(r" (?=(?:Errors|Thread-safety):)", paragraph):
            lines += [_prose(piece, kinds, entry.names), ""]
    if entry.kind != "prose":
        lines += ["::::", ""]
    return lines


def write_page(path, header, about, entries, kinds):
    title = about.split(":")[0].rstrip(".") if header != "braid.h" else "All of Braid"
    lines = [f"# {title} (`{header}`)", "", about, "", f"`#include <braid/{header}>`, or `<braid/braid.h>` for all.", ""]
    for entry in entries:
        lines += _describe(entry, kinds)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main():
    include, out = sys.argv[1:]
    headers = header_text.read_all(include)
    kinds = _kinds(headers)
    os.makedirs(out, exist_ok=True)
    for header, (about, entries) in headers.items():
        write_page(os.path.join(out, header.replace(".h", ".md")), header, about, entries, kinds)
    with open(os.path.join(out, "index.md"), "w", encoding="utf-8") as file:
        names = "\n".join(header.removesuffix(".h") for header in headers)
        file.write("# The C interface\n\nWhat the headers say; installed as manual pages too: `man braid_exec_launch`.\n"
                   f"\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n")


if __name__ == "__main__":
    main()
