#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree is checked from an archive too: without git's data, and where only what ./run installs is
found. Speaks TAP. check_archive.py SOURCE_DIR"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from check_structure import list_files  # noqa: E402

NEVER_NEEDED = ("git",)
SLOW = "clang-format-14"  # it says the same of the same files, and the house style is checked once more


def unpack(source, folder):
    """The tree as an archive of it would be unpacked."""
    for name in list_files(source):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(os.path.join(source, name), target)


def listed_packages(source):
    """What ./run installs for tests, by its own lists."""
    with open(os.path.join(source, "run"), encoding="utf-8") as file:
        text = file.read()
    lists = re.findall(r"^(?:packages_(?:build|tool|demo|test)|optional_test)=\((.*?)\)", text,
                       re.MULTILINE)
    return [name for name in " ".join(lists).split() if name != SLOW]


def make_path(source, folder):
    """Links to the programs of those packages, of what they need, and of any Debian."""
    essential = subprocess.run(["dpkg-query", "-W", "-f", "${Essential} ${Package}\n"],
                               stdout=subprocess.PIPE, text=True, check=True).stdout
    packages = [line.split()[1] for line in essential.splitlines() if line.startswith("yes ")]
    wanted, known = packages + listed_packages(source), set()
    while wanted:
        package = wanted.pop()
        if package in known:
            continue
        known.add(package)
        needs = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}, ${Pre-Depends}", package],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               check=False).stdout
        wanted += re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", needs)
    files = subprocess.run(["dpkg", "-L", *sorted(known)], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False).stdout.split("\n")
    for path in files:
        name = os.path.basename(path)
        if re.match(r"(/usr)?/s?bin/[^/]+$", path) and os.access(path, os.X_OK) \
                and not os.path.lexists(os.path.join(folder, name)):
            os.symlink(path, os.path.join(folder, name))
    for name in ("awk", "cc", "c++", "which"):  # Debian's alternatives
        if os.path.exists(f"/usr/bin/{name}") and not os.path.lexists(os.path.join(folder, name)):
            os.symlink(f"/usr/bin/{name}", os.path.join(folder, name))
    for name in NEVER_NEEDED:
        assert not os.path.lexists(os.path.join(folder, name)), f"{name} is on the path"


def run(command, folder, path):
    done = subprocess.run(command, cwd=folder, env={"PATH": path, "HOME": folder},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}"
    return done.stdout


def check_style(folder, path):
    said = run(["python3", "tests/structure/check_structure.py", "."], folder, path)
    assert "not ok" not in said, said


def check_harness(folder, path):
    run(["python3", "tests/structure/check_harness.py"], folder, path)


def check_headers(folder, path):
    run(["sh", "tests/headers/compile_headers.sh", "c", "c11", "include", "gcc"], folder, path)


def check_configures(folder, path):
    run(["meson", "setup", "build", "-Ddefault_library=both"], folder, path)


CASES = [
    ("the house style is checked without git", check_style),
    ("the harness is checked without git", check_harness),
    ("the headers compile with what ./run installs", check_headers),
    ("the build is configured with what ./run installs", check_configures),
]


def main():
    if not shutil.which("dpkg-query"):
        print("dpkg does not know here which package a program is of")
        return 77
    failed = False
    print(f"1..{len(CASES)}")
    with tempfile.TemporaryDirectory() as top:
        folder, path = os.path.join(top, "braid"), os.path.join(top, "bin")
        os.makedirs(path)
        unpack(sys.argv[1], folder)
        make_path(sys.argv[1], path)
        for number, (title, check) in enumerate(CASES, 1):
            try:
                check(folder, path)
                print(f"ok {number} - {title}")
            except AssertionError as error:
                failed = True
                print(f"not ok {number} - {title}")
                print("".join(f"# {line}\n" for line in str(error).splitlines()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
