# SPDX-License-Identifier: Apache-2.0
"""Reads Braid's public headers as what they are: comments, and the declarations that follow each.

The headers have one layout (clang-format's, and a blank line between things), so this needs no C parser: a
paragraph is a comment and the declarations up to the next blank line outside braces.
"""
import dataclasses
import os
import re

INLINE_BODY = re.compile(r"^static inline ([^{;]*?)\n\{\n.*?^\}", re.MULTILINE | re.DOTALL)
MARKS = re.compile(r"\b(?:BRAID_API|BRAID_INLINE|BRAID_MUST_CHECK) ?")
# Behind all else: the functions that the library exports in place of those whose structs may grow.
SIZED = re.compile(r"^// With sizes: docs/stability\.md.*?(?=^#ifdef __cplusplus\n\})", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^typedef (struct|enum|union) (\w+)", re.MULTILINE)
FUNCTION_TYPE = re.compile(r"^typedef [^;{]*?\b(\w+)\(", re.MULTILINE)
MACRO = re.compile(r"^#define (\w+(?:\([^)]*\))?)", re.MULTILINE)
FUNCTION = re.compile(r"\b(braid_\w+)\(")


@dataclasses.dataclass
class Entry:
    """One thing that a header says: a comment, what it declares (may be nothing), and by which names."""
    header: str
    text: list   # paragraphs and list items ("- ...") of the comment, each one line
    code: str    # as in the header; a macro without what it stands for
    kind: str    # function, struct, enum, type, macro or prose
    names: list
    signatures: list


def _join(lines):
    """Lines of a comment as paragraphs: an empty line or a "- " begins another."""
    paragraphs = []
    for line in lines:
        if not line.strip():
            paragraphs.append("")
        elif line.startswith("- ") or not paragraphs or not paragraphs[-1]:
            paragraphs.append(line.strip())
        elif paragraphs[-1].startswith("- ") and not line.startswith("  "):
            paragraphs.append(line.strip())
        else:
            paragraphs[-1] += " " + line.strip()
    return [paragraph for paragraph in paragraphs if paragraph]


def _paragraphs(lines):
    """(comment, code) pairs, each a list of lines."""
    comment, code, depth = [], [], 0
    for line in lines + [""]:
        if not depth and not line.strip():
            if comment or code:
                yield comment, code
            comment, code = [], []
            continue
        if not depth and not code and line.startswith("//"):
            comment.append(line[2:].removeprefix(" "))
            continue
        code.append(line)
        if not line.startswith("#") and not line.endswith("\\"):
            depth += line.count("{") - line.count("}")


def _without_plumbing(code):
    """Without export marks and bodies."""
    return INLINE_BODY.sub(lambda match: match.group(1) + ";", MARKS.sub("", code + "\n")).strip()


def _realign(code):
    """Continued parameters stand under the first, also where a mark before them is gone."""
    lines, column = [], None
    for line in code.split("\n"):
        if column is not None and line.startswith(" " * 8):
            line = " " * column + line.strip()
        else:
            column = line.index("(") + 1 if "(" in line and not line.startswith("typedef struct") else None
        lines.append(line)
    return "\n".join(lines)


def _functions(code):
    """Prototypes, each in one line."""
    found = []
    for prototype in re.findall(r"[^;]+;", code):
        prototype = " ".join(line.split("//")[0] for line in prototype.strip().split("\n"))
        prototype = re.sub(r"\s+", " ", prototype).strip(" ;")
        if FUNCTION.search(prototype):
            found.append(prototype)
    return found


def _entry(header, comment, code):
    text = _join(comment)
    lines = [line for line in code if not re.match(r"#(if|else|endif|ifndef|ifdef)", line)]
    code = "\n".join(lines)
    macros = MACRO.findall(code)
    if macros:
        macros = list(dict.fromkeys(macros))
        return Entry(header, text, "\n".join(macros), "macro", [name.split("(")[0] for name in macros], macros)
    code = _without_plumbing(code)
    if not code:
        return Entry(header, text, "", "prose", [], [])
    declared = TYPE.search(code)
    if declared:
        return Entry(header, text, code, declared.group(1), [declared.group(2)], [declared.group(2)])
    callback = FUNCTION_TYPE.search(code)
    if callback:
        return Entry(header, text, code, "type", [callback.group(1)], [callback.group(1)])
    code = _realign(code)
    signatures = _functions(code)
    names = [FUNCTION.search(signature).group(1) for signature in signatures]
    return Entry(header, text, code, "function", names, signatures)


def _says_something(entry):
    return entry.kind == "prose" and entry.text or entry.names and not entry.names[0].startswith("BRAID_REFUSE")


def _body(text):
    """What stands inside the include guard, without what only C++ or only C needs."""
    text = SIZED.sub("", text)
    text = re.sub(r"#ifdef __cplusplus\n(extern \"C\" \{|\})\n#endif\n", "", text)
    text = re.sub(r"^#ifndef __cplusplus\n", "", text, flags=re.MULTILINE)
    lines = text.split("\n")
    guard = next(index for index, line in enumerate(lines) if line.startswith("#define BRAID_"))
    return lines[guard + 1:text.rstrip().count("\n")]


def read_header(path):
    """The header's one line about itself, and its entries in order."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    about = text.split("\n")[1].removeprefix("// ")
    entries = []
    for comment, code in _paragraphs(_body(text)):
        if code and re.match(r"#(include|ifdef _WIN32|if defined)", code[0]):
            continue
        entry = _entry(os.path.basename(path), comment, code)
        if _says_something(entry):
            entries.append(entry)
    return about, entries


def read_all(folder):
    """{header: (about, entries)}: braid.h, then those that it includes, in that order."""
    with open(os.path.join(folder, "braid.h"), encoding="utf-8") as file:
        included = re.findall(r"#include <braid/(\w+\.h)>", file.read())
    return {name: read_header(os.path.join(folder, name)) for name in ["braid.h"] + included}
