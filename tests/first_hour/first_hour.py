#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From nothing to a first plan: each way of README.md and docs/install.md on a Debian that was installed this minute.

first_hour.py SOURCE_DIR WORK_DIR SUITE [WAY...]

It saves the files that the text has a reader save, runs the commands of the text as root, and compares what they print with what the
text says. Speaks TAP, and prints how many seconds each command, each way and all of them took from the bare system on. WORK_DIR/WAY.log
has the whole output."""
import glob
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from bare_machine import install_machine, run_cases, run_inside  # noqa: E402
from ways import Command, Way, is_end_of, read, read_parts, read_ways, write_script  # noqa: E402

PLACE = "/root/braid"
WHEELS = "build-package/*manylinux*.whl"
# What README's first commands print. The dry run tells of packages on the bare system, and of none after the command.
RUNS = {
    "demo": r"(?ms)^would install: .*^wrote +build/demo/\S+\.svg$.*^wrote +build/demo/\S+\.png$.*^nothing to install$",
    "test": r"(?ms)^would install: .*^[1-9]\d* passed, 0 failed, \d+ skipped$.*^nothing to install$",
}
RESULTS = re.compile(r"^FAIL .*\n(?:     .*\n)*|^\d+ passed, \d+ failed, \d+ skipped\n", re.MULTILINE)


def read_runs(source):
    """{name: Way} of the commands on README's first screen."""
    names = re.findall(r"^    \./run (\w+) +# ", read(os.path.join(source, "README.md")).split("```", 1)[0], re.MULTILINE)
    assert names == list(RUNS), f"README.md begins with {names}"
    return {name: Way(name, [Command(f"./run -n {name}"), Command(f"./run {name}"), Command(f"./run -n {name}")], {})
            for name in names}


def save_files(way, source, folder):
    """What a reader has beside the sources: the files to save, and a wheel that was built elsewhere."""
    wheels = [wheel for wheel in glob.glob(os.path.join(source, WHEELS))
              if any("manylinux" in command.line for command in way.commands)]
    for path in [*way.files, *([WHEELS] if wheels else [])]:
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
    for path, text in way.files.items():
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    for wheel in wheels:
        shutil.copy(wheel, os.path.join(folder, os.path.dirname(WHEELS)))


def try_way(source, work, suite, way):
    log = os.path.join(work, re.sub(r"\W+", "-", way.name) + ".log")
    print(f"# {way.name}: the output goes to {log}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        save_files(way, source, folder)
        status, said = run_inside(install_machine(work, suite), work, source, folder, PLACE, write_script(way), log)
    results = "".join(RESULTS.findall(said))
    print(results, end="", flush=True)
    parts = read_parts(way, said)
    for command, (seconds, _) in zip(way.commands, parts):
        print(f"# {'   failed' if seconds is None else f'{seconds:7} s'}: {command.line}", flush=True)
    assert status == 0, f"exit status {status}\n{'' if results else said[-4000:]}"
    for command, (_, part) in zip(way.commands, parts):
        assert is_end_of(command.prints, part), \
            f"'{command.line}' does not print at its end:\n{command.prints}\nbut:\n{part[-4000:]}"
    assert re.search(RUNS.get(way.name, ""), said), f"unexpected output:\n{said[-4000:]}"


def main():
    source, work, suite, *chosen = sys.argv[1:]
    ways = {**read_runs(source), **read_ways(source)}
    unknown = set(chosen) - set(ways)
    if unknown:
        sys.exit(f"no way is called {', '.join(sorted(unknown))}: there are {', '.join(ways)}")
    return run_cases(work, suite, chosen or list(ways), lambda name: try_way(source, work, suite, ways[name]))


if __name__ == "__main__":
    sys.exit(main())
