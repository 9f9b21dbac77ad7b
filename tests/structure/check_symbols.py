#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the libraries show to the linker: names with Braid's prefix only. Speaks TAP."""
import subprocess
import sys


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


def main():
    problems = list(check_static(sys.argv[1]))
    print("1..1")
    print(f"{'not ok' if problems else 'ok'} 1 - all global names of the static library begin with braid_")
    for problem in problems:
        print(f"# {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
