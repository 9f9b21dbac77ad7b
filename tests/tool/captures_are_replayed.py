# SPDX-License-Identifier: Apache-2.0
"""A captured frame gives the same in a replay, and a replay names the first node that differs."""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

WRITER, KERNELS, WRONG, NEARLY = sys.argv[2:6]


def capture(folder, backend, what):
    path = os.path.join(folder, "frame.braidcap")
    process = subprocess.run([WRITER, backend, what, path], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False)
    assert process.returncode == 0, process.stdout.decode()
    stated = int(re.search(rb"bytes: (\d+)", process.stdout).group(1))
    assert stated == os.path.getsize(path), stated
    return path


def replay(path, *options, status=0):
    result = braid("replay", path, *options)
    assert result.status == status, (result.status, result.out, result.err)
    return result


def a_frame_of_the_cpu_is_replayed():
    with tempfile.TemporaryDirectory() as folder:
        result = replay(capture(folder, "cpu", "whole"), "--kernels", KERNELS)
        assert "frame 2 of cpu" in result.out and "no output differs" in result.out, result.out


def kernels_of_the_cpu_need_a_plug_in():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cpu", "whole")
        assert "'note'" in replay(path, status=1).err
        path = capture(folder, "cpu", "race")
        assert "'add_value' has no CPU function" in replay(path, status=1).err
        missing = replay(path, "--kernels", "/there/is/none.so", status=2)
        assert "none.so" in missing.err and missing.err.count("\n") == 1, missing.err


def a_race_is_named_by_the_nodes_that_ran():
    with tempfile.TemporaryDirectory() as folder:
        result = replay(capture(folder, "cpu", "race"), "--kernels", KERNELS, status=1)
        assert ("one of 2 nodes from 2 'reads' to 3 'goes on': buffer 'out' differs from byte 2 on"
                in result.err), result.err


def functions_of_other_libraries_are_no_part_of_a_plug_in():
    with tempfile.TemporaryDirectory() as folder:
        result = replay(capture(folder, "cpu", "race"), "--kernels", KERNELS, status=1)
        assert "'abs', a host call, is left out" in result.out, result.out


def a_frame_of_cuda_is_replayed():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cuda", "whole")
        assert "frame 2 of cuda" in replay(path).out
        replay(path, "--against", "cpu", "--kernels", KERNELS)
        replay(path, "--device", "cpu", "--kernels", KERNELS)
        with open(path, "rb") as file:
            again = braid("replay", "-", data=file.read())
        assert again.status == 0, again.err


def a_node_that_differs_on_another_device_is_named():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cuda", "whole")
        wrong = ("--against", "cpu", "--kernels", WRONG)
        result = replay(path, *wrong, status=1)
        assert "node 0 'to middle': buffer 'middle' differs from byte 2" in result.err, result.err
        result = replay(path, *wrong, "--tolerance", "1e-3", status=1)
        assert "'middle' differs from byte 21 on: 864 cuda, 865 cpu" in result.err, result.err


def numbers_within_the_tolerance_are_equal():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cuda", "whole")
        nearly = ("--against", "cpu", "--kernels", NEARLY)
        replay(path, *nearly, status=1)
        replay(path, *nearly, "--tolerance", "1e-3")
        replay(path, *nearly, "--tolerance", "1e-9", status=1)


def damaged_files_are_refused_in_one_line():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cpu", "race")
        with open(path, "rb") as file:
            whole = file.read()
        for data, word in ((whole[:-1], "should have"), (b"no capture at all" * 9, "no capture"),
                           (whole[:99] + b"\x7f" + whole[100:], "sum is wrong"), (b"", "HEAD")):
            result = braid("replay", "-", data=data)
            assert result.status == 2 and word in result.err, result.err
            assert result.err.count("\n") == 1 and "standard input: section" in result.err


if __name__ == "__main__":
    sys.exit(run([
        a_frame_of_the_cpu_is_replayed,
        kernels_of_the_cpu_need_a_plug_in,
        a_race_is_named_by_the_nodes_that_ran,
        functions_of_other_libraries_are_no_part_of_a_plug_in,
        a_frame_of_cuda_is_replayed,
        a_node_that_differs_on_another_device_is_named,
        numbers_within_the_tolerance_are_equal,
        damaged_files_are_refused_in_one_line,
    ]))
