#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the C interface as manual pages, section 3: write_man.py INCLUDE_FOLDER VERSION OUT_FOLDER [DEPFILE].

A page for each thing that a header declares, under its first name; the other names lead to it.
"""
import os
import re
import shutil
import sys

import header_text

PARTS = {"Errors": "ERRORS", "Thread-safety": "THREAD SAFETY"}
RULES = "braid_status"  # the errors and lifetimes that all functions share
MARK = re.compile(rf"(?:^|(?<= ))({'|'.join(PARTS)}):(?: |$)")


def _roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def _prose(text):
    """Names in bold: what stands in backquotes, and what the library declares."""
    parts = re.split(r"(`[^`]*`|\b(?:braid|BRAID)_\w+\b)", text)
    return "".join(f"\\fB{_roff(part.strip('`'))}\\fP" if index % 2 else _roff(part).removeprefix("\\&" if index else "")
                   for index, part in enumerate(parts))


def _sections(entry):
    """The comment's paragraphs, with its errors and thread-safety taken out. A list belongs to the part before it."""
    sections = {"DESCRIPTION": [], "ERRORS": [], "THREAD SAFETY": []}
    part = "DESCRIPTION"
    for paragraph in entry.text:
        part = part if paragraph.startswith("- ") else "DESCRIPTION"
        first, *pieces = MARK.split(paragraph)
        sections[part].append(first.strip())
        for mark, piece in zip(pieces[::2], pieces[1::2]):
            part = PARTS[mark]
            sections[part].append(piece.strip())
    return {name: [text for text in texts if text] for name, texts in sections.items()}


def _summary(entry, about):
    """One line for whatis: the first sentence, or what the header is about."""
    sections = _sections(entry)
    text = (sections["DESCRIPTION"] or [f"{entry.names[0].removeprefix('braid_').replace('_', ' ')}; {about}"])[0]
    text = text.replace("`", "")
    sentence = re.split(r"(?<=[^.]{8})[.:] |(?<=[^.]{3})\. ", text)[0].rstrip(".:")
    return sentence if len(sentence) <= 160 else sentence[:157].rsplit(" ", 1)[0] + "..."


def _paragraphs(texts):
    lines = []
    for text in texts:
        lines += [".IP \\(bu 2", _prose(text[2:])] if text.startswith("- ") else [".PP", _prose(text)]
    return lines


def _declaration(entry):
    if entry.kind == "macro":
        return "\n".join("#define " + signature for signature in entry.signatures)
    return entry.code


def page(entry, about, siblings, version):
    lines = [f'.TH {entry.names[0].upper()} 3 "" "Braid {version}" "Braid"', ".SH NAME",
             f"{', '.join(entry.names)} \\- {_prose(_summary(entry, about))}", ".SH SYNOPSIS", ".nf",
             f"#include <braid/{entry.header}>", ".PP"]
    lines += [_roff(line) for line in _declaration(entry).split("\n")] + [".fi"]
    for name, texts in _sections(entry).items():
        if texts:
            lines += [f".SH {name}"] + _paragraphs(texts)
    others = [name for name in dict.fromkeys([RULES, *siblings]) if name not in entry.names]
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{name}\\fP(3)" for name in others)]
    return "\n".join(lines) + "\n"


def _write_depfile(path, include, out):
    headers = sorted(os.path.join(include, name) for name in os.listdir(include) if name.endswith(".h"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{out}: {' '.join(headers)}\n")


def main():
    include, version, out, *depfile = sys.argv[1:]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    if depfile:
        _write_depfile(depfile[0], include, out)
    for about, entries in header_text.read_all(include).values():
        declared = [entry for entry in entries if entry.names]
        siblings = [entry.names[0] for entry in declared]
        for entry in declared:
            for name in entry.names[1:]:
                with open(os.path.join(out, f"{name}.3"), "w", encoding="utf-8") as file:
                    file.write(f".so man3/{entry.names[0]}.3\n")
            with open(os.path.join(out, f"{entry.names[0]}.3"), "w", encoding="utf-8") as file:
                file.write(page(entry, about, siblings, version))


if __name__ == "__main__":
    main()
