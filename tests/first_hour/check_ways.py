#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The text of README.md and docs/install.md has each way to a first plan, with all that a reader needs. Speaks TAP.

check_ways.py SOURCE_DIR"""
import subprocess
import sys

sys.dont_write_bytecode = True
from ways import Command, Way, is_end_of, read_parts, read_ways, write_script  # noqa: E402

# Each way, and what a reader saves. Beside these, first_hour.py runs the commands on README's first screen.
EXPECTED = {
    "See a plan": [],
    "C": ["program.c"],
    "Python": ["first.py"],
    "C++": ["program.cpp"],
    "CMake, with Braid installed": ["first/program.cpp", "first/CMakeLists.txt"],
    "CMake, with Braid's sources": ["first/program.cpp", "first/CMakeLists.txt"],
    "CMake, which fetches Braid": ["first/program.cpp", "first/CMakeLists.txt"],
    "Meson": ["first/program.c", "first/meson.build"],
    "A wheel for Python": ["first.py"],
    "A CUDA program, without a GPU": [],
    "Debian packages": [],
}
MOST_COMMANDS = 4  # to a first plan


def find_faults(way):
    if list(way.files) != EXPECTED.get(way.name):
        yield f"'{way.name}' has a reader save {list(way.files)}"
    first = [bool(command.prints) for command in way.commands].index(True) + 1
    if first > MOST_COMMANDS:
        yield f"'{way.name}' has {first} commands before a plan"


def run_here(lines, status):
    way = Way("", [Command(line) for line in lines], {})
    done = subprocess.run(["sh", "-euc", write_script(way)], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == status, done
    return read_parts(way, done.stdout)


def main():
    ways = read_ways(sys.argv[1])
    faults = [f"no section is called '{name}', or it does not say what is printed" for name in EXPECTED if name not in ways]
    faults += [fault for way in ways.values() for fault in find_faults(way)]
    compared = [is_end_of("a\n...\nd\n", "x\na\nb\nc\nd\n"), is_end_of("a.\n", "ab\n"), is_end_of("a\n", "a\nb\n")]
    parts = [[seconds is None, said] for lines, status in ((["printf a", "echo b"], 0), (["printf a", "false", "echo b"], 1))
             for seconds, said in run_here(lines, status)]
    print("1..3")
    print(f"{'not ok' if faults else 'ok'} 1 - the text has each way, with all that is to be saved")
    for fault in faults:
        print(f"# {fault}")
    print(f"{'ok' if compared == [True, False, False] else 'not ok'} 2 - what is printed is compared")
    told = parts == [[False, "a"], [False, "b\n"], [False, "a"], [True, ""]]
    print(f"{'ok' if told else 'not ok'} 3 - each command has its time, and one that failed has none\n# {parts}")
    return 1 if faults or compared != [True, False, False] or not told else 0


if __name__ == "__main__":
    sys.exit(main())
