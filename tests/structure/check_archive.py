#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree is checked from an archive too: without git's data, and where only what ./run installs is
found. Speaks TAP. check_archive.py SOURCE_DIR"""
import json
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
PC = "pkgconfig"
TOOL = "build|tool"  # the lists of ./run braid, and those of ./run test
TESTS = "build|tool|demo|harness|test"


def unpack(source, folder):
    """The tree as an archive of it would be unpacked."""
    for name in list_files(source):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(os.path.join(source, name), target)


def listed_packages(source, lists):
    """What ./run installs, by its own lists of these names."""
    with open(os.path.join(source, "run"), encoding="utf-8") as file:
        text = file.read()
    found = re.findall(rf"^(?:packages_(?:{lists})|optional_(?:{lists}))=\((.*?)\)", text, re.MULTILINE)
    return " ".join(found).split()


def make_path(source, folder, lists):
    """Links to the programs of those packages, of what they need, and of any Debian; and to their files for pkg-config."""
    os.makedirs(os.path.join(folder, PC))
    installed = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Essential}\t${Depends}, ${Pre-Depends}\n"],
                               stdout=subprocess.PIPE, text=True, check=True).stdout
    needs = {name: (essential, others) for name, essential, others in (line.split("\t") for line in installed.splitlines())}
    packages = [name for name, (essential, _) in needs.items() if essential == "yes"]
    wanted, known = packages + listed_packages(source, lists), set()
    while wanted:
        package = wanted.pop()
        if package in known:
            continue
        known.add(package)
        wanted += re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", needs.get(package, ("", ""))[1])
    files = subprocess.run(["dpkg", "-L", *sorted(known)], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=False).stdout.split("\n")
    for path in files:
        name = os.path.basename(path)
        if re.match(r"(/usr)?/s?bin/[^/]+$", path) and os.access(path, os.X_OK) \
                and not os.path.lexists(os.path.join(folder, name)):
            os.symlink(path, os.path.join(folder, name))
        if re.search(r"/pkgconfig/[^/]+\.pc$", path) and not os.path.lexists(os.path.join(folder, PC, name)):
            os.symlink(path, os.path.join(folder, PC, name))
    for name in ("awk", "cc", "c++", "which"):  # Debian's alternatives
        if os.path.exists(f"/usr/bin/{name}") and not os.path.lexists(os.path.join(folder, name)):
            os.symlink(f"/usr/bin/{name}", os.path.join(folder, name))
    for name in NEVER_NEEDED:
        assert not os.path.lexists(os.path.join(folder, name)), f"{name} is on the path"


def run(command, folder, path):
    done = subprocess.run(command, cwd=folder, env={"PATH": path, "HOME": folder, "PKG_CONFIG_LIBDIR": os.path.join(path, PC)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}"
    return done.stdout


def check_style(folder, path):
    """The house style is that of the tree, if the files are."""
    said = run(["python3", "-B", "-c", "import sys; sys.path.insert(0, 'tests/structure')\n"
                "from check_structure import list_files; print(*sorted(list_files('.')), sep='\\n')"], folder, path)
    tracked = [name for name in list_files(sys.argv[1]) if not name.startswith(".github/")]
    differ = set(said.splitlines()) ^ set(tracked)
    assert not differ, sorted(differ)


def check_harness(folder, path):
    run(["python3", "tests/structure/check_harness.py"], folder, path)


def check_headers(folder, path):
    run(["sh", "tests/headers/compile_headers.sh", "c", "c11", "include", "gcc"], folder, path)


def compilations(folder):
    """{object: command} of what the tool is made of."""
    with open(os.path.join(folder, "build", "compile_commands.json"), encoding="utf-8") as file:
        return {entry["output"]: entry["command"] for entry in json.load(file) if entry["output"].startswith(("src/", "tools/"))}


def check_configures(folder, path):
    """With what ./run braid installs, then with the rest: nothing of the tool is compiled again."""
    few = f"{path} of the tool"
    os.makedirs(few)
    make_path(folder, few, TOOL)
    said = run(["meson", "setup", "build", "-Ddefault_library=both"], folder, few)
    assert "cmocka found: NO" in said, said
    before = compilations(folder)
    assert any("/main.c" in command for command in before.values()), said
    said = run(["meson", "setup", "--reconfigure", "build"], folder, path)
    assert "cmocka found: YES" in said, said
    after = compilations(folder)
    changed = [name for name in before if before[name] != after.get(name)]
    assert not changed, changed


CASES = [
    ("the files whose style is checked are found without git", check_style),
    ("the harness is checked without git", check_harness),
    ("the headers compile with what ./run installs", check_headers),
    ("the build is configured with what ./run braid installs, and again with the rest", check_configures),
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
        make_path(sys.argv[1], path, TESTS)
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
