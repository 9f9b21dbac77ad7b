#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts words, long sentences and unusual clauses of the project's text, and compares them with limits. It also finds
comments that begin without their subject, or name files that do not exist. Speaks TAP.

check_text.py SOURCE_DIR            fails if a count is above its limit in text_limits.txt, or if a comment is wrong
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

# Comments of all languages of the tree, by the end of the file's name.
MARKS = {(".c", ".h", ".cpp", ".hpp", ".cu", ".ptx"): "//", (".py", ".pyi", ".sh", ".build", ".map", ".yml"): "#"}
SCRIPTS = ("run", ".ci/run")
QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
# A comment that begins so names no subject: "Of the last frame".
WITHOUT_SUBJECT = re.compile(r"(of|those|likewise)\b", re.I)
FILE_NAME = re.compile(r"(?<![\w./*-])(?:[\w.-]+/)*[\w-][\w.-]*\.(?:c|h|cu|ptx|py|cpp|hpp|sh)(?![\w*/]|\.\w)")
FOLDER_NAME = re.compile(r"(?<![\w./-])(?:src|addons)/[\w/-]*\w(?![\w.*])")
# Files of others, which comments may name.
OTHERS_FILES = {"NAME.c", "NAME.ptx", "cmocka.h", "cuda.h", "hip/hip_runtime_api.h", "hip/hiprtc.h", "hsa.h", "nvJitLink.h", "nvrtc.h", "nvtxDetail/nvtxTypes.h",
                "stdatomic.h", "stdint.h"}


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


def comments_of(name, text):
    """(line number, comment); a comment goes on in the next line if that has a comment alone, in the same column."""
    mark = "#" if name in SCRIPTS else next((mark for ends, mark in MARKS.items() if name.endswith(ends)), None)
    begin = re.compile(rf"(?:^|\s)({mark}+<?)(?= |$)")
    lines, first, column = [], 0, None
    for number, line in enumerate((text if mark else "").splitlines() + [""], 1):
        alone = bool(mark) and line.lstrip().startswith(mark)
        found = begin.search(line if alone else QUOTED.sub(lambda quoted: "_" * len(quoted.group(0)), line)) if mark else None
        words = line[found.end():].strip() if found else ""
        if lines and not (alone and words and found.start(1) == column):
            yield first, " ".join(lines)
            lines = []
        if words:
            first, column = (first, column) if lines else (number, found.start(1))
            lines.append(words)


def check_comments(root):
    """Lines that say which comments have no subject, and which name files that do not exist."""
    names = check_structure.list_files(root)
    paths = {"/".join(parts[i:]) for parts in (name.split("/") for name in names) for i in range(len(parts))}
    folders = {"/".join(parts[:i]) for parts in (name.split("/") for name in names) for i in range(len(parts))}
    subjects, files = [], []
    for name in names:
        if name.endswith(".ptx") and not check_structure.is_source(name):
            continue
        if name.endswith(tuple(end for ends in MARKS for end in ends)) or name in SCRIPTS:
            for line, comment in comments_of(name, check_structure.read(root, name)):
                if WITHOUT_SUBJECT.match(comment):
                    subjects.append(f"{name}:{line}: say who does what: {comment}")
                files += [f"{name}:{line}: there is no {file}" for file in FILE_NAME.findall(comment)
                          if file not in paths and file not in OTHERS_FILES]
                files += [f"{name}:{line}: there is no {folder}" for folder in FOLDER_NAME.findall(comment)
                          if folder not in folders]
    return [("no comment begins with Of, Those or Likewise", subjects), ("files and folders that comments name exist", files)]


GROUPS = [
    ("README", lambda name: name == "README.md", paragraphs_of_markdown),
    ("documents", lambda name: name.startswith("docs/") and name.endswith(".md"), paragraphs_of_markdown),
    ("folder READMEs", lambda name: name.startswith(("src/", "addons/")) and name.endswith("/README.md"), paragraphs_of_markdown),
    ("headers", lambda name: name.startswith("include/"), paragraphs_of_comments),
    ("comments", lambda name: name.startswith(("src/", "addons/")) and check_structure.is_source(name), paragraphs_of_comments),
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
        if group != "README":
            del counts["words"]  # they grow with the library
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
    limits, failed, checks = read_limits(root), False, check_comments(root)
    print(f"1..{len(counts) + len(checks)}")
    for number, (key, value) in enumerate(counts.items(), 1):
        good = value <= limits.get(key, 0)
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {key[0]}: {key[1]}: {value} of {limits.get(key, 0)} allowed")
    for number, (title, problems) in enumerate(checks, len(counts) + 1):
        print(f"{'not ok' if problems else 'ok'} {number} - {title}")
        for problem in problems:
            print(f"# {problem}")
    if failed:
        print("# tests/structure/check_text.py . --list prints each sentence that counts")
    return 1 if failed or any(problems for _, problems in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
