#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the libraries show to the linker: names with Braid's prefix, and as exports just what
the headers declare, each with its version. Speaks TAP."""
import glob
import os
import re
import subprocess
import sys

# What libbraid_ranks exports; and what libbraid exports for it alone, under a version of its own.
RANKS_HEADER = "rank.h"
PRIVATE = "braid_private_for_ranks"
DECLARED = re.compile(r"^BRAID_API\b[^;{]*?\b(braid_\w+)\(", re.MULTILINE)


def list_symbols(library, *options):
    """Global symbols that the library defines; those of sanitizers (__asan_...) are not ours."""
    listed = subprocess.run(["nm", "--defined-only", *options, library], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=True)
    fields = (line.split() for line in listed.stdout.splitlines())
    return sorted({field[2].split("@")[0] for field in fields
                   if len(field) == 3 and not field[2].startswith("__")})


def check_static(library):
    names = list_symbols(library, "--extern-only")
    if not names:
        yield f"{library} defines nothing"
    for name in names:
        if not name.startswith("braid_"):
            yield f"{library}: {name} would clash with a program's own {name}: prefix it, or make it static"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_exports(library, root, of_ranks):
    declared = set() if of_ranks else {PRIVATE}
    for header in glob.glob(os.path.join(root, "include", "braid", "*.h")):
        if (os.path.basename(header) == RANKS_HEADER) == of_ranks:
            declared.update(DECLARED.findall(read(header)))
    exported = {name for name in list_symbols(library, "--dynamic") if not name.startswith("BRAID_")}
    for name in sorted(declared - exported):
        yield f"{name} is declared and not exported: list it in the .map file of src (docs/stability.md)"
    for name in sorted(exported - declared):
        yield f"{name} is exported, but no public header declares it"


def check_versions(library, root):
    """The private name has Braid's own version, so that the loader refuses libraries of two versions."""
    header = read(os.path.join(root, "include", "braid", "braid.h"))
    version = ".".join(re.findall(r"#define BRAID_VERSION_[A-Z]* (\d+)", header))
    listed = subprocess.run(["nm", "--dynamic", "--defined-only", "--with-symbol-versions", library],
                            stdout=subprocess.PIPE, text=True, check=True)
    for line in listed.stdout.splitlines():
        name = line.split()[-1]
        if name.startswith("braid_") and "@@BRAID_" not in name:
            yield f"{name} has no version"
        if name.startswith(PRIVATE) and not name.endswith(f"@@BRAID_PRIVATE_{version}"):
            yield f"{name} is not of version BRAID_PRIVATE_{version}: change src/braid.map"


def main():
    static, shared, ranks_static, ranks_shared, root = sys.argv[1:]
    results = [
        ("all global names of the static library begin with braid_", check_static(static)),
        ("the shared library exports what the headers declare", check_exports(shared, root, False)),
        ("every exported name has a version", check_versions(shared, root)),
        ("all global names of the static library of ranks begin with braid_", check_static(ranks_static)),
        ("the shared library of ranks exports what its header declares", check_exports(ranks_shared, root, True)),
        ("every exported name of ranks has a version", check_versions(ranks_shared, root)),
    ]
    failed = False
    print(f"1..{len(results)}")
    for number, (title, check) in enumerate(results, 1):
        problems = list(check)
        failed = failed or bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {title}")
        for problem in problems:
            print(f"# {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
