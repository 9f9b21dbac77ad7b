#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From nothing to a first plan: each way of docs/install.md on a Debian that was installed this minute.

fresh_machines.py SOURCE_DIR WORK_DIR SUITE [WAY...]

Speaks TAP, and prints how many seconds each way took from the bare system on."""
import os
import re
import sys

sys.dont_write_bytecode = True
from bare_machine import install_machine, run_cases, run_inside  # noqa: E402

SECTION = "## From nothing to a first plan"
MOST_COMMANDS = 3
# What shows that a plan was made, in what the last command prints.
EXPECTED = {
    "C": r"lane 0: wait for left",
    "C++": r"frames, spread",
    "CMake": r"lane 0: wait for left",
    "CMake, with Braid's sources": r"lane 0: wait for left",
    "Meson": r"lane 0: wait for left",
    "Meson, with a wrap": r"lane 0: wait for left",
    "Python": r"and as much again is 3996",
    "Debian packages": r"makespan +5200 us",
}


def read_ways(page):
    """{heading: commands} of the section's indented blocks."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    section = text.split(SECTION + "\n", 1)[1].split("\n## ", 1)[0]
    ways = {}
    for part in section.split("\n### ")[1:]:
        name, body = part.split("\n", 1)
        ways[name.strip()] = re.findall(r"^    (\S.*)$", body, re.MULTILINE)
    return ways


def try_way(source, work, suite, commands, expected):
    assert 0 < len(commands) <= MOST_COMMANDS, f"{len(commands)} commands"
    script = "apt-get update -q >/dev/null\n" + "\n".join(
        f"echo '== {number}'\n{command}" for number, command in enumerate(commands, 1))
    status, said = run_inside(install_machine(work, suite), work, source, "/braid", script)
    assert status == 0, f"exit status {status}:\n{said[-4000:]}"
    last = said.rsplit(f"== {len(commands)}\n", 1)[1]
    assert re.search(expected, last), last


def main():
    source, work, suite, *chosen = sys.argv[1:]
    ways = read_ways(os.path.join(source, "docs", "install.md"))
    assert ways.keys() == EXPECTED.keys(), f"docs/install.md has {sorted(ways)}"
    names = [name for name in ways if not chosen or name in chosen]
    return run_cases(work, suite, names, lambda name: try_way(source, work, suite, ways[name], EXPECTED[name]))


if __name__ == "__main__":
    sys.exit(main())
