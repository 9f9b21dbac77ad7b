#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wheel that was built elsewhere, on a Debian that was installed this minute and has no compiler.

fresh_wheel.py SOURCE_DIR WORK_DIR SUITE WHEEL

Speaks TAP."""
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from bare_machine import install_machine, run_cases, run_inside  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging"))
from manylinux import FIRST_PLAN  # noqa: E402

COMMANDS = """apt-get update -q >/dev/null
apt-get install -y -q python3-venv >/dev/null
! command -v cc && ! command -v gcc && ! command -v clang
python3 -m venv tried && tried/bin/pip install --quiet --only-binary :all: ./*.whl
BRAID_BACKENDS=cpu tried/bin/python first_plan.py"""


def try_wheel(work, suite, wheel):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(wheel, folder)
        with open(os.path.join(folder, "first_plan.py"), "w", encoding="utf-8") as file:
            file.write(FIRST_PLAN)
        status, said = run_inside(install_machine(work, suite), work, folder, "/wheel", COMMANDS)
    assert status == 0 and "a first plan on 1 lane" in said, f"exit status {status}:\n{said[-4000:]}"


def main():
    _, work, suite, wheel = sys.argv[1:]
    return run_cases(work, suite, [os.path.basename(wheel)], lambda _: try_wheel(work, suite, wheel))


if __name__ == "__main__":
    sys.exit(main())
