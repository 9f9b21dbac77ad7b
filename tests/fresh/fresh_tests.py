#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README's commands, as root in /root/braid, each on a Debian that was installed this minute.

fresh_tests.py SOURCE_DIR WORK_DIR SUITE [TEST...]

Speaks TAP, and prints the failures and the closing line of the tests. With TESTs, `./run test TEST...` is the
only case. WORK_DIR/CASE.log has the whole output of a case."""
import os
import re
import shlex
import sys

sys.dont_write_bytecode = True
from bare_machine import install_machine, run_cases, run_inside  # noqa: E402

PLACE = "/root/braid"
# What each case prints. The dry run tells of packages on the bare system, and of none after the command.
EXPECTED = {
    "demo": r"(?ms)^would install: .*^wrote +build/demo/\S+\.svg$.*^wrote +build/demo/\S+\.png$.*^nothing to install$",
    "test": r"(?ms)^would install: .*^[1-9]\d* passed, 0 failed, \d+ skipped$.*^nothing to install$",
    "using it": r"(?m)^17$",
}
RESULTS = re.compile(r"^FAIL .*\n(?:     .*\n)*|^\d+ passed, \d+ failed, \d+ skipped\n", re.MULTILINE)


def read_scripts(page, tests):
    """{case: the commands of README.md and those around them}."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    scripts = {}
    for name in re.findall(r"^    \./run (\w+) +# ", text.split("```", 1)[0], re.MULTILINE):
        words = " ".join(map(shlex.quote, [name, *tests]))
        scripts[name] = f"./run -n {name}\n./run {words}\n./run -n {name}\n"
    section = text.split("\n## Using it in your program\n", 1)[1]
    commands = re.search(r"(?:^    .*\n)+", section, re.MULTILINE).group().replace("sudo ", "")  # it is root already
    scripts["using it"] = f"./run build\npython3 tests/readme/extract_program.py README.md program.c\n{commands}./a.out\n"
    return scripts


def try_script(source, work, suite, name, script):
    machine = install_machine(work, suite)
    log = os.path.join(work, name.replace(" ", "-") + ".log")
    print(f"# {name}: the output goes to {log}", flush=True)
    status, said = run_inside(machine, work, source, PLACE, script, log)
    results = "".join(RESULTS.findall(said))
    print(results, end="", flush=True)
    assert status == 0, f"exit status {status}\n{'' if results else said[-4000:]}"
    assert re.search(EXPECTED[name], said), f"unexpected output:\n{said[-4000:]}"


def main():
    source, work, suite, *tests = sys.argv[1:]
    scripts = read_scripts(os.path.join(source, "README.md"), tests)
    assert scripts.keys() == EXPECTED.keys(), f"README.md has {sorted(scripts)}"
    names = ["test"] if tests else list(scripts)
    return run_cases(work, suite, names, lambda name: try_script(source, work, suite, name, scripts[name]))


if __name__ == "__main__":
    sys.exit(main())
