#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks each measured figure of the README and the book against the newest measurement it comes from. A figure is
the text of a link to the section that measured it, with the newest date of that section as title:
[0.362](cuda.md#launches "2026-11-23"). Each number of the text must stand in that section, after that date.
Also checks that tables are whole. Speaks TAP."""
import glob
import os
import re
import sys

CODE = re.compile(r"^```.*?^```|<!--.*?-->|`[^`\n]*`|^    .*?$", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r'\[([^\[\]]*)\]\(([^)#\s]*)#([^)\s]+) "(\d{4}-\d\d-\d\d)"\)')
LINK = re.compile(r"\]\([^)]*\)")
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
# A number with a unit, or a part of one; not the version of something with a name.
FIGURE = re.compile(r"(?<![\w.,+-])(?<![A-Z] )(?:\d[\d,.]* ?(?:ns|us|ms|s|%|x|times|steps|seconds)(?!\w)|[01]\.\d+)")
NAMED = re.compile(r"\b[A-Z]\w*(?: \d[\d.]*(?: (?:and|to))?)+")  # Python 3.9 to 3.13


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blank(match):
    return "\n" * match.group().count("\n")


def numbers_of(text):
    return {number.replace(",", "") for number in NUMBER.findall(DATE.sub("", text))}


def sections_of(path):
    """The text under each heading, by the name that links give it."""
    parts = re.split(r"^#+ (.*)$", re.sub(r"^```.*?^```", blank, read(path), flags=re.M | re.S), flags=re.MULTILINE)
    slugs = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in parts[1::2])
    return dict(zip(slugs, parts[2::2]))


def faults_of_claim(page, text, target, section, date):
    path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
    sections = sections_of(path) if os.path.exists(path) else {}
    if section not in sections:
        return [f"[{text}]: {target} has no section '{section}'"]
    newest = max(DATE.findall(sections[section]), default="none")
    if newest != date:
        return [f"[{text}] is of {date}, and the newest measurement of {target}#{section} of {newest}"]
    measured = numbers_of(sections[section][sections[section].index(date):])
    return [f"[{text}]: {number} is not among the figures of {date} in {target}#{section}"
            for number in sorted(numbers_of(text) - measured)]


def faults_of_page(page):
    text = CODE.sub(blank, read(page))
    faults = [fault for claim in CLAIM.findall(text) for fault in faults_of_claim(page, *claim)]
    for number, line in enumerate(LINK.sub("]", CLAIM.sub("", text)).split("\n"), 1):
        faults += [f"line {number}: '{figure.strip()}' is no link to its measurement"
                   for figure in FIGURE.findall(NAMED.sub("", line))]
    return faults


def faults_of_tables(page):
    faults, columns = [], 0
    for number, line in enumerate(re.sub(r"^```.*?^```", blank, read(page), flags=re.M | re.S).split("\n"), 1):
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.lstrip().startswith("|") else 0
        if columns and cells != columns and (cells or line.strip()):
            faults.append(f"line {number} does not continue the table above it")
        columns = cells
    return faults


def main():
    root = os.path.abspath(sys.argv[1])
    pages = [os.path.join(root, "README.md"), *sorted(glob.glob(os.path.join(root, "docs/book/*.md")))]
    tabled = sorted(path for folder in ("", "docs", "docs/book", "docs/measured", "examples")
                    for path in glob.glob(os.path.join(root, folder, "*.md")))
    cases = [(f"the figures of {os.path.relpath(page, root)}", faults_of_page(page)) for page in pages]
    cases += [(f"the tables of {os.path.relpath(page, root)}", faults_of_tables(page)) for page in tabled]
    print(f"1..{len(cases)}")
    for number, (name, faults) in enumerate(cases, 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {name}")
        for fault in faults:
            print(f"# {fault}")
    return 1 if any(faults for _, faults in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
