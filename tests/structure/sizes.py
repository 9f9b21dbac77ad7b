#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how large the library is: lines and files of each folder, exports, fields of the exec, and words in headers.

sizes.py SOURCE_DIR [COMMIT]: with a commit, the table has two columns, at that commit and now."""
import os
import re
import subprocess
import sys
import tarfile
import tempfile


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def sources(folder):
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".cpp", ".hpp", ".cu", ".ptx")):
                yield os.path.join(where, name)


def measure_folders(tree):
    """{folder of src or addons: (files, lines)}; a file of src/backends/cuda counts for that folder."""
    found = {}
    for path in [*sources(os.path.join(tree, "src")), *sources(os.path.join(tree, "addons"))]:
        folder = os.path.relpath(os.path.dirname(path), tree)
        files, lines = found.get(folder, (0, 0))
        found[folder] = (files + 1, lines + read(path).count("\n"))
    return found


def count_fields(tree):
    body = re.search(r"^struct braid_exec \{\n(.*?)^\};", read(tree, "src", "exec", "exec.h"), re.M | re.S).group(1)
    text = re.sub(r"//[^\n]*", "", body)
    return sum(1 + declaration.count(",") for declaration in text.split(";") if declaration.strip())


def count_words(tree):
    """Words of comments in the C headers."""
    text = "".join(read(path) for path in sources(os.path.join(tree, "include", "braid")) if path.endswith(".h"))
    return sum(len(comment.split()) for comment in re.findall(r"//([^\n]*)", text))


def measure(tree):
    folders = measure_folders(tree)
    table = {f"{name}: files, lines": f"{files}, {lines:,}" for name, (files, lines) in folders.items()}
    for ring in ("src", "addons"):
        of_ring = [size for name, size in folders.items() if name.split("/")[0] == ring]
        files, lines = sum(files for files, _ in of_ring), sum(lines for _, lines in of_ring)
        table[f"**{ring}: files, lines**"] = f"{files}, {lines:,}"
    table["exported functions"] = str(len(re.findall(r"^\s+braid_\w+;", read(tree, "src", "braid.map"), re.M)))
    table["fields of struct braid_exec"] = str(count_fields(tree))
    table["words of comments in C headers"] = f"{count_words(tree):,}"
    return table


def measure_commit(source, commit):
    with tempfile.TemporaryDirectory() as folder:
        archive = os.path.join(folder, "tree.tar")
        listed = subprocess.run(["git", "-C", source, "ls-tree", "--name-only", commit], stdout=subprocess.PIPE, text=True, check=True)
        folders = [name for name in ("src", "addons", "include") if name in listed.stdout.split("\n")]
        subprocess.run(["git", "-C", source, "archive", "-o", archive, commit, *folders], check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        return measure(folder)


def main():
    source, *commit = sys.argv[1:]
    columns = {"now": measure(source)}
    if commit:
        columns = {commit[0]: measure_commit(source, commit[0]), **columns}
    rows = list(dict.fromkeys(row for column in columns.values() for row in column))
    rows.sort(key=lambda row: (not row.startswith(("src/", "addons/")), row if row.startswith(("src/", "addons/")) else ""))
    print("| | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for row in rows:
        print(f"| {row} | " + " | ".join(column.get(row, "") for column in columns.values()) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
