#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the C++ interface as Markdown: write_cpp.py INCLUDE_FOLDER OUT_FOLDER.

The headers have clang-format's layout, so this needs no parser of C++: a member is a comment, and what follows it up to
a body or a semicolon at its own indentation.
"""
import os
import re
import sys

ALIAS = re.compile(r"^(?:template <class T> )?using (\w+) = basic_(\w+)<", re.MULTILINE)
CLASS = re.compile(r"^(?:template <.*> )?(?:class|struct) (?:\[\[nodiscard\]\] )?(\w+)")
DETAIL = re.compile(r"^namespace detail\n\{\n.*?^\} // namespace detail\n", re.MULTILINE | re.DOTALL)
PLUMBING = re.compile(r"= (?:default|delete)|^using |^template <class T> using result = typename|^friend |static_assert|operator=|no_kernel|^const keeper|^std::shared_ptr<const void> keep")


def _without_body(code):
    """A declaration without its body, its list of initialisers and the export of what it is in."""
    code = re.sub(r" *//[^\n]*", "", code)
    code = re.sub(r"\s+: [\w:]+[({].*", "", code, flags=re.DOTALL)  # a constructor's
    return code.rstrip(" {;\n") + ";"


def _blocks(lines, indent):
    """(comment, declaration) pairs of what stands at an indentation; private parts are left out."""
    comment, code, hidden = [], [], False
    for line in lines:
        text = line[indent:]
        if re.match(r"\s*(public|private):", line):
            hidden, comment = "private" in line, []
        elif not line.strip() or line.lstrip().startswith("#"):
            comment = comment if code else []
        elif not code and text.startswith("//"):
            comment.append(text[2:].strip())
        elif line.startswith(" " * indent) and (code or text[0] not in " }"):
            code.append(text)
            ends = text == "}" or text == "};" or re.search(r"(;|\{.*\})$", text) and text[0] != " " and text[0] != "{"
            ends = ends or text.startswith(" ") and text.endswith(";") and "{" not in "".join(code)
            if ends:
                if not hidden:
                    yield " ".join(comment), "\n".join(code)
                comment, code = [], []


def _declaration(code):
    body = re.search(r"^\{$|\{[^{}]*\}$|\{$", code, re.MULTILINE)
    return _without_body(code[:body.start()] if body else code)


def _members(lines):
    members = []
    for comment, code in _blocks(lines, 4):
        declaration = _declaration(code)
        if not PLUMBING.search(declaration):
            members.append((comment, declaration))
    return members


def read_header(path):
    """What the header says of itself, and its classes: (name, comment, members)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    about = re.search(r"^// SPDX.*\n((?://.*\n)+)", text).group(1).replace("// ", "").replace("\n", " ").strip()
    lines = DETAIL.sub("", text).split("\n")
    classes, comment, at = [], [], 0
    while at < len(lines):
        found = CLASS.match(lines[at])
        if lines[at].startswith("//"):
            comment.append(lines[at][2:].strip())
        elif found and not lines[at].endswith(";"):
            end = next(i for i in range(at, len(lines)) if lines[i] == "};")
            classes.append((found.group(1), " ".join(comment), _members(lines[at + 1:end])))
            at, comment = end, []
        elif not lines[at].startswith("template"):
            comment = []
        at += 1
    return about, classes


def _groups(members):
    """Members without a comment of their own stand together."""
    groups = []
    for comment, declaration in members:
        if comment or not groups or groups[-1][0]:
            groups.append((comment, []))
        groups[-1][1].append(declaration)
    return groups


def _prose(text):
    return re.sub(r"((?:braid|BRAID)_\w+(?:\(\))?)", r"`\1`", re.sub(r"([\\*<>\[\]|])", r"\\\1", text))


def main():
    include, out = sys.argv[1:]
    with open(os.path.join(include, "braid.hpp"), encoding="utf-8") as file:
        main_header = file.read()
    public = {f"basic_{basic}": name for name, basic in ALIAS.findall(main_header)}
    os.makedirs(out, exist_ok=True)
    lines = ["# The C++ interface", "", "What `<braid/braid.hpp>` has; [C++](../book/cpp.md) shows how it is used. The classes throw `braid::error`. Those of the same",
             "names in `braid::checked` return a `braid::expected` instead: a result is written `result<T>` here, and is `T` or `expected<T>`.",
             "Each function calls the one of the C interface that it is named after, which [that reference](../api/index.md) describes.", ""]
    for header in re.findall(r"#include <braid/cpp/(\w+\.hpp)>", main_header):
        about, classes = read_header(os.path.join(include, "cpp", header))
        lines += [f"## {re.split('[:.]', about)[0]} (`cpp/{header}`)", "", _prose(about), ""]
        for name, comment, members in classes:
            if not members:
                continue
            lines += [f"### `braid::{public.get(name, name)}`", "", *([_prose(comment), ""] if comment else [])]
            for text, declarations in _groups(members):
                code = re.sub(r"\bbasic_(?!memory)(\w+)(?:<\w+>)?|\bbasic_(?=memory)", r"\1", "\n".join(declarations))
                lines += [*([_prose(text), ""] if text else []), "```cpp", code, "```", ""]
    with open(os.path.join(out, "index.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
