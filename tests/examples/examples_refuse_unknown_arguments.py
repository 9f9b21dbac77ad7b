#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An example given an argument that it does not take names it, prints its usage and writes no file. Speaks TAP.

examples_refuse_unknown_arguments.py PROGRAM..."""
import os
import subprocess
import sys
import tempfile

# Arguments, and the exit status. No program takes four words.
CASES = [(["--help"], 0),
         (["--unknown"], 2),
         (["--dot=plan.dot"], 2),
         (["plan.dot", "--unknown"], 2),
         (["plan.dot", "cuda", "third", "fourth"], 2)]


def call(program, arguments):
    """(exit status, output, errors, files that it wrote)"""
    interpreter = [sys.executable] if program.endswith(".py") else []
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*interpreter, os.path.abspath(program), *arguments], cwd=folder, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout, done.stderr, os.listdir(folder)


def find_faults(program):
    for arguments, expected in CASES:
        status, output, errors, written = call(program, arguments)
        said = output if expected == 0 else errors
        if status != expected or "usage:" not in said or written:
            yield f"{arguments}: exit status {status}, files {written}, said: {output}{errors}"
        if expected != 0 and not any(argument in errors for argument in arguments):
            yield f"{arguments}: the message names none of them: {errors}"


def main():
    programs = sys.argv[1:]
    failed = not programs
    print(f"1..{len(programs)}")
    for number, program in enumerate(programs, 1):
        faults = list(find_faults(program))
        failed |= bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {os.path.basename(program)}")
        for fault in faults:
            print("".join(f"# {line}\n" for line in fault.splitlines()), end="")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
