#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mypy --strict finds nothing in the package nor in a user's program, and does find a user's mistakes.
Speaks TAP. check_types.py PYPROJECT"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MISTAKES = [
    ("a misspelt option", 'braid.Graph().empty(read=3)'),
    ("an option of plans that does not exist", 'braid.Graph().plan(costs=braid.CostModel(), policy="best")'),
    ("a use of code that does not exist", 'braid.Graph().kernel(braid.Kernel("k"), 1, code_use="reads")'),
    ("a number for a node", 'braid.Graph().edge(1, 2)'),
    ("a frame count in words", 'braid.Exec(braid.Device(), braid.Graph()).run("twice")'),
    ("an option of execs that does not exist", 'braid.Exec(braid.Device(), braid.Graph(), when_full="panics")'),
]


def check(pyproject, *what):
    # Versions before 1.8 want to be asked for typed keyword arguments (PEP 692).
    options = ["--config-file", pyproject, "--cache-dir", os.path.join(os.getcwd(), "mypy-cache"),
               "--enable-incomplete-feature=Unpack"]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, *what], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]})
    return done.returncode, done.stdout


def main():
    pyproject = sys.argv[1]
    if subprocess.run([sys.executable, "-m", "mypy", "--version"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, check=False).returncode:
        print("mypy is not installed")
        return 77
    cases = [("the package and a program", *check(pyproject, "-p", "braid"), 0)]
    cases.append(("a user's program", *check(pyproject, os.path.join(HERE, "typed_program.py")), 0))
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "mistakes.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("import braid\n" + "".join(line + "\n" for _, line in MISTAKES))
        status, said = check(pyproject, program)
    for number, (name, _) in enumerate(MISTAKES, 2):
        cases.append((name + " is found", int(f"mistakes.py:{number}:" in said), said, 1))
    print(f"1..{len(cases)}")
    for number, (name, status, said, wanted) in enumerate(cases, 1):
        print(f"{'ok' if status == wanted else 'not ok'} {number} - {name}")
        if status != wanted:
            print(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
