# SPDX-License-Identifier: Apache-2.0
"""braid record runs a program as it is, and writes down its frames.

usage: programs_are_recorded.py BRAID PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

PROGRAM = sys.argv[2]
FOLDER = tempfile.mkdtemp()
FILE = os.path.join(FOLDER, "a.braidrec")


def record(*arguments):
    return braid("record", "--out", FILE, *arguments)


def frames_are_found_by_their_launches():
    done = record("--", PROGRAM, "9")
    assert done.status == 0, done
    alone = subprocess.run([PROGRAM, "9"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert alone == "sum 11\n" and done.out.startswith(alone), (alone, done.out)
    # A copy, three launches, a copy back and the wait.
    assert re.findall(r"frame \d: (\d+) operations", done.out) == ["6", "6"], done.out
    assert "6 launches of kernels, 0 of graphs, 4 copies and fills, 1 stream\n" in done.out, done.out


def the_number_of_frames_is_the_users():
    done = record("--from", "3", "--frames", "4", "--", PROGRAM, "9")
    assert re.findall(r"frame \d: (\d+) operations", done.out) == ["6"] * 4, done.out


def marks_are_frames():
    done = record("--marks", "--from", "0", "--frames", "1", "--", PROGRAM, "3", "mark")
    assert re.findall(r"frame \d: (\d+) operations", done.out) == ["6"], done.out


def without_frames_all_is_recorded():
    done = record("--", PROGRAM, "1")
    assert "0 frames, 10 operations" in done.out, done.out
    assert "no part of the launches repeats" in done.out, done.out


def failures_are_told():
    done = record("--", PROGRAM, "9", "fail")
    assert done.status == 1 and "ended with status 3" in done.err, done
    assert "2 frames" in done.out, done.out
    done = record("--", "/bin/true")
    assert done.status == 1 and "no record was written" in done.err, done
    done = record("--", os.path.join(FOLDER, "nothing"))
    assert done.status == 1 and "nothing" in done.err, done
    done = record()
    assert done.status == 2 and "which program?" in done.err, done


def nothing_is_left_behind():
    assert not [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("braid-record-")]


os.environ["TMPDIR"] = FOLDER
sys.exit(run([frames_are_found_by_their_launches, the_number_of_frames_is_the_users, marks_are_frames,
              without_frames_all_is_recorded, failures_are_told, nothing_is_left_behind]))
