#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts words, long sentences and unusual clauses of the project's text, and compares them with limits. Speaks TAP.

check_text.py SOURCE_DIR            fails if a count is above its limit in text_limits.txt
check_text.py SOURCE_DIR --list     prints each sentence that counts, with its file and line
check_text.py SOURCE_DIR --write    writes the counts of now as the limits

A limit may only be lowered. To see which sentence is new, print the list."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_structure  # noqa: E402

MOST_WORDS = 25
LIMITS = "tests/structure/text_limits.txt"
# The text of a group is read from files whose names match, by a reader.
FENCE = re.compile(r"^\s*(```|~~~)")
COMMENT = re.compile(r"^\s*//+ ?(.*)$")
HASH_COMMENT = re.compile(r"^\s*# ?(.*)$")
MESSAGE = re.compile(r"braid_error(?:_append|_invalid)?\s*\(", re.S)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
END = re.compile(r"(?<=[.!?])[)\"*_`]*\s+")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|cf|etc|vs|No|St|approx)\.")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
CLAUSES = {
    "what clauses": re.compile(r"\b(what|whoever|whatever|whichever)\b(?![^.]*\?)", re.I),
    "but for": re.compile(r"\bbut for\b", re.I),
}


def paragraphs_of_markdown(text):
    """(line number, paragraph); code, tables and headings are left out."""
    fenced, lines, first = False, [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        is_fence = bool(FENCE.match(line))
        ends = is_fence or fenced or not line.strip() or line.lstrip().startswith(("|", "#", "- ", "* ", "<", ":"))
        ends = ends or re.match(r"^(    |\d+\. )", line) is not None
        if ends and lines:
            yield first, " ".join(lines)
            lines = []
        fenced ^= is_fence
        item = re.match(r"^\s*(?:[-*]|\d+\.) (.*)$", line)
        if not ends or (item and not fenced and not is_fence):
            first = number if not lines else first
            lines.append(item.group(1) if item else line.strip())


def paragraphs_of_comments(text, pattern=COMMENT):
    lines, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        found = pattern.match(line)
        words = found.group(1).strip() if found else ""
        if words.startswith(("SPDX", "clang-format", "!")):
            words = ""
        is_item = words.startswith("- ")
        if lines and (is_item or not words):
            yield first, " ".join(lines)
            lines = []
        if words:
            first = number if not lines else first
            lines.append(words.removeprefix("- "))


def paragraphs_of_messages(text):
    for found in MESSAGE.finditer(text):
        end = text.find(";", found.end())
        parts = STRING.findall(text[found.end():end])
        if parts:
            yield text.count("\n", 0, found.start()) + 1, "".join(parts)


GROUPS = [
    ("README", lambda name: name == "README.md", paragraphs_of_markdown),
    ("documents", lambda name: name.startswith("docs/") and name.endswith(".md"), paragraphs_of_markdown),
    ("folder READMEs", lambda name: name.startswith(("src/", "addons/")) and name.endswith("/README.md"), paragraphs_of_markdown),
    ("headers", lambda name: name.startswith("include/"), paragraphs_of_comments),
    ("comments", lambda name: name.startswith(("src/", "addons/")) and name.endswith((".c", ".h")), paragraphs_of_comments),
    ("messages", lambda name: name.startswith(("src/", "addons/")) and name.endswith(".c"), paragraphs_of_messages),
]


def sentences(paragraph):
    text = LINK.sub(r"\1", CODE.sub("code", paragraph))
    text = ABBREVIATIONS.sub(lambda found: found.group(0).replace(".", ""), text)
    return [part.strip() for part in END.split(text) if part and part.strip()]


def count(root, listing=None):
    """{(group, what is counted): number}."""
    found = {}
    names = check_structure.list_files(root)
    for group, belongs, read in GROUPS:
        counts = dict.fromkeys(["words", "long sentences", *CLAUSES], 0)
        for name in filter(belongs, names):
            for line, paragraph in read(check_structure.read(root, name)):
                counts["words"] += len(paragraph.split())
                for sentence in sentences(paragraph):
                    num = len(sentence.split())
                    marks = {kind: len(pattern.findall(sentence)) for kind, pattern in CLAUSES.items()}
                    marks["long sentences"] = int(num > MOST_WORDS)
                    for kind, times in marks.items():
                        counts[kind] += times
                        if times and listing is not None:
                            listing.append((kind, num, f"{name}:{line}", sentence))
        if group in ("comments", "messages"):
            del counts["words"]  # they grow with the code
        found.update({(group, kind): number for kind, number in counts.items()})
    return found


def read_limits(root):
    limits = {}
    for line in check_structure.read(root, LIMITS).splitlines():
        if line and not line.startswith("#"):
            group, kind, number = (part.strip() for part in line.split(","))
            limits[group, kind] = int(number)
    return limits


def write_limits(root, counts):
    with open(os.path.join(root, LIMITS), "w", encoding="utf-8") as file:
        file.write(f"# The most of each that check_text.py allows; a long sentence has over {MOST_WORDS} words.\n")
        for (group, kind), number in counts.items():
            file.write(f"{group}, {kind}, {number}\n")


def main():
    root, mode = sys.argv[1], (sys.argv[2:] or [""])[0]
    listing = []
    counts = count(root, listing)
    if mode == "--list":
        for kind, num, where, sentence in listing:
            print(f"{kind}, {num} words, {where}: {sentence}")
        return 0
    if mode == "--write":
        write_limits(root, counts)
        return 0
    limits, failed = read_limits(root), False
    print(f"1..{len(counts)}")
    for number, (key, value) in enumerate(counts.items(), 1):
        good = value <= limits.get(key, 0)
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {key[0]}: {key[1]}: {value} of {limits.get(key, 0)} allowed")
    if failed:
        print("# tests/structure/check_text.py . --list prints each sentence that counts")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
