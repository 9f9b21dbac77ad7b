# SPDX-License-Identifier: Apache-2.0
"""Programs of Warp, CuPy and Numba are recorded unchanged, and their frames are read again.

usage: programs_of_others_are_recorded.py BRAID

Two records of Warp's program are stored here, so that they are read also where Warp is not installed. BRAID_TEST_PYTHON
names a Python that has the packages.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
from braid_tool import braid  # noqa: E402
from tap import Skip, run  # noqa: E402

PYTHON = os.environ.get("BRAID_TEST_PYTHON", sys.executable)
FOLDER = tempfile.mkdtemp()

# One kernel has memory of its own: it has no order with the other four, which are one behind another.
WARP = {"kernels": 5, "copies": 0, "fills": 0, "host_calls": 0, "captured_orders": 10, "kept_orders": 6,
        "longest_captured": 5, "longest_kept": 4, "waits": 1, "unproven": [], "races": [], "frames": 2,
        "plan": {"lanes": 2, "waits": 0, "steps": 4, "steps_on_one_lane": 5}}
WARP_EAGER, WARP_CAPTURED = dict(WARP, nodes=10), dict(WARP, nodes=8)
NAMES = ["blow", "bounce", "measure", "push", "smooth"]


def check_report(path, expected, names):
    done = braid("report", "--json", "-", path)
    assert done.status == 0, done.err
    found = json.loads(done.out)
    told = {name: found[name] for name in expected}
    assert told == expected, (told, expected)
    kernels = [(kernel["name"].split("_")[0], kernel["nodes"]) for kernel in found["nodes_by_kernel"]]
    assert kernels == [(name, 1) for name in names], kernels


def stored_eager_frames_are_read():
    check_report(os.path.join(HERE, "warp_eager.braidrec"), WARP_EAGER, NAMES)


def stored_captured_frames_are_read():
    check_report(os.path.join(HERE, "warp_captured.braidrec"), WARP_CAPTURED, NAMES)


def record(name, *program):
    """The path of a record. The program runs alone first: it may have a reason to skip."""
    path = os.path.join(FOLDER, name)
    program = [PYTHON, *(os.path.join(HERE, word) if word.endswith(".py") else word for word in program)]
    environment = dict(os.environ, WARP_CACHE_PATH=os.path.join(FOLDER, "cache"), CUPY_CACHE_DIR=os.path.join(FOLDER, "cache"),
                       BRAID_STANDIN_VERSION="13050",
                       CUPY_COMPILE_WITH_PTX="1")  # by itself CuPy compiles to machine code, of which nothing is proven
    os.environ.update(environment)
    alone = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if alone.returncode == 77:
        raise Skip(alone.stdout.strip().split("\n")[-1].removeprefix("skipped: "))
    assert alone.returncode == 0, alone.stderr
    done = braid("record", "--out", path, "--", *program)
    assert done.status == 0, done
    return path


def eager_frames_of_warp():
    check_report(record("eager", "warp_by_driver.py", "warp_frames.py", "eager"), WARP_EAGER, NAMES)


def captured_frames_of_warp():
    check_report(record("captured", "warp_by_driver.py", "warp_frames.py", "captured"), WARP_CAPTURED, NAMES)


def tell_all_kernels(path):
    """Each kernel is proven, or named with a reason. Returns what is told."""
    found = json.loads(braid("report", "--json", "-", path).out)
    for function in found["unproven_functions"]:
        assert function["name"] and function["reasons"], function
    print(f"summary: {found['kernels']} kernels, {len(found['unproven'])} nodes without proof, "
          f"{found['captured_orders']} orders captured, {found['kept_orders']} kept")
    return found


def steps_of_mujoco_warp():
    found = tell_all_kernels(record("steps", "warp_by_driver.py", "mujoco_warp_steps.py"))
    assert found["kernels"] > 50, found["kernels"]


def frames_of_cupy():
    found = tell_all_kernels(record("cupy", "cupy_frames.py"))
    assert found["kernels"] >= 3, found["kernels"]


def frames_of_numba():
    assert tell_all_kernels(record("numba", "numba_frames.py"))["kernels"] == 2


if __name__ == "__main__":
    cases = [stored_eager_frames_are_read, stored_captured_frames_are_read, eager_frames_of_warp, captured_frames_of_warp,
             frames_of_cupy, frames_of_numba]
    if "BRAID_TEST_PYTHON" in os.environ:  # it takes minutes
        cases.append(steps_of_mujoco_warp)
    sys.exit(run(cases))
