# SPDX-License-Identifier: Apache-2.0
"""A captured frame gives the same in a replay, and a replay names the first node that differs."""
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import Skip, run  # noqa: E402

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


def what_was_found_is_written_as_json():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cpu", "race")
        report = json.loads(replay(path, "--kernels", KERNELS, "--json", "-", status=1).out)
        found = report["difference"]
        assert (report["kind"], report["backend"], report["right"]) == ("replay", "cpu", "as planned"), report
        assert report["left_out"][0]["name"] == "abs", report
        assert found["first"] == {"node": 2, "name": "reads"} and found["last"]["name"] == "goes on", found
        assert (found["writers"], found["buffer"], found["byte"], found["iterations"]) == (2, "out", 2, []), found
        whole = replay(capture(folder, "cpu", "whole"), "--kernels", KERNELS, "--json", "-")
        assert json.loads(whole.out)["difference"] is None, whole.out
        refused = braid("replay", path, "--audit", "--json", "-")
        assert refused.status == 2 and "leave --json out" in refused.err, refused.err
        same = capture(folder, "cpu", "whole")
        assert "/no/folder" in replay(same, "--kernels", KERNELS, "--json", "/no/folder/x", status=1).err


def an_audit_names_accesses_that_are_not_declared():
    with tempfile.TemporaryDirectory() as folder:
        if platform.machine() != "x86_64":
            raise Skip("audits need x86-64")
        path = capture(folder, "cpu", "race")
        result = replay(path, "--audit", "--kernels", KERNELS, status=1)
        found = "node 1 'writes' writes bytes from 0 to 252 of 'in', 64 times, which it does not declare"
        assert found in result.out.split("\n"), result.out
        assert result.err == f"braid: the audit of {path} has 1 finding\n", result.err
        whole = replay(capture(folder, "cpu", "whole"), "--audit", "--kernels", KERNELS)
        assert "all accesses are declared, and made" in whole.out, whole.out
        refused = braid("replay", path, "--audit", "--against", "cpu")
        assert refused.status == 2 and "leave --against out" in refused.err, refused.err


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


def loops_and_branches_are_replayed():
    with tempfile.TemporaryDirectory() as folder:
        for what in ("bodies", "bodies-streams"):
            replay(capture(folder, "cpu", what), "--kernels", KERNELS)
            path = capture(folder, "cuda", what)
            replay(path)
            replay(path, "--against", "cpu", "--kernels", KERNELS)


def a_difference_in_an_iteration_is_named():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cuda", "bodies")
        result = replay(path, "--against", "cpu", "--kernels", WRONG, status=1)
        assert ("node 3 'grow' in iteration 1 of 'inner' in iteration 3 of 'outer': buffer 'out' "
                "differs from byte 22 on") in result.err, result.err


def a_race_in_an_iteration_is_named():
    with tempfile.TemporaryDirectory() as folder:
        result = replay(capture(folder, "cpu", "bodies-race"), "--kernels", KERNELS, status=1)
        assert "node 2 'gathers' in iteration 3 of 'outer': buffer 'out'" in result.err, result.err


def with_sum(data):
    """A file of these bytes, with the size and the sum that fit."""
    data = data[:12] + struct.pack("<Q", len(data) + 8) + data[20:]
    total = 0xcbf29ce484222325
    for byte in data:
        total = (total ^ byte) * 0x100000001b3 % 2 ** 64
    return data + struct.pack("<Q", total)


def region_at(data, name):
    """Where a loop or branch has its condition, most, expected, tests first and numbers of nodes."""
    begin = struct.pack("<I", len(name) + 1) + name + b"\0"
    at = data.index(begin, data.index(b"NODE")) + len(begin) + 19
    return at + 4 + 5 * struct.unpack_from("<I", data, at)[0]


def refused(data, text):
    result = braid("replay", "-", data=data)
    assert result.status == 2 and text in result.err, (result.status, result.err)
    assert result.err.count("\n") == 1 and "section " in result.err, result.err


def damaged_loops_and_branches_are_refused():
    none, endless = 2 ** 32 - 1, 2 ** 64 - 1
    with tempfile.TemporaryDirectory() as folder:
        with open(capture(folder, "cpu", "bodies"), "rb") as file:
            whole = file.read()[:-8]
    for name, values, text in (
            (b"outer", (99, 10, 10, 0, 9, 0), "there is no resource 99 for a condition"),
            (b"odd?", (none, 1, 1, 1, 1, 2), "a loop or branch has no condition"),
            (b"fixed", (none, endless, 3, 0, 1, 0), "a loop or branch has no condition"),
            (b"fixed", (none, 0, 3, 0, 1, 0), "a loop with 0 iterations"),
            (b"odd?", (4, 2, 1, 1, 1, 2), "a branch with 2 iterations"),
            (b"fixed", (none, 3, 3, 0, 1, 1), "a loop with 3 iterations and 1 other nodes"),
            (b"outer", (4, 10, 10, 0, 1000, 0), "node 0 has a body of 1000 nodes"),
            (b"outer", (4, 10, 10, 0, 0, 0), "node 0 has a body of 0 nodes"),
            (b"inner", (9, 10, 10, 0, 9, 0), "node 2 has a body of 9 nodes, and 8 are left"),
            (b"odd?", (8, 1, 1, 1, 4, none - 3), "node 6 has a body of 4294967296 nodes")):
        at = region_at(whole, name)
        damaged = whole[:at] + struct.pack("<IQQBII", *values) + whole[at + 29:]
        refused(with_sum(damaged), text)
    order = whole.index(b"EDGE") + 4 + 8 + 4
    for first, second, node in ((9, 11, 0), (7, 8, 6)):  # a body and what is behind, and two arms
        moved = list(struct.unpack_from("<17I", whole, order))
        moved[first], moved[second] = moved[second], moved[first]
        refused(with_sum(whole[:order] + struct.pack("<17I", *moved) + whole[order + 68:]),
                f"the nodes of a body do not run behind node {node}")


def patched(data, *patches):
    for at, form, value in patches:
        data = data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form):]
    return with_sum(data)


def damaged_chains_of_buffers_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        with open(capture(folder, "cpu", "bodies"), "rb") as file:
            whole = file.read()[:-8]
    high, low = (whole.index(name) + len(name) + 1 for name in (b"high\0", b"low\0"))
    size = region_at(whole, b"copy both") + 2 * 13
    assert struct.unpack_from("<I", whole, high)[0] == 5  # "low"
    refused(patched(whole, (high, "<I", 99)), "resource 4 is not alone behind a buffer")
    refused(patched(whole, (low, "<I", 3), (high, "<I", 3)), "is not alone behind a buffer")
    refused(patched(whole, (size, "<Q", 29)), "29 bytes reach beyond resource 5")
    circle = patched(whole, (low, "<I", 4))
    for data in (circle, patched(circle[:-8], (size, "<Q", 2 ** 63 - 1))):
        refused(data, "buffer 'high' stands behind itself, in a circle")


def nested(depth, times=1):
    """A file with so many loops of so many iterations in each other, round an empty node."""
    def section(tag, *parts):
        return tag + struct.pack("<Q", len(b"".join(parts))) + b"".join(parts)

    def node(index, kind):
        return struct.pack("<I2sBBIBQII", 2, b"n\0", kind, 0, index, 1, 0, 0, 0)
    loops = [node(i, 8) + struct.pack("<IQQBII", 2 ** 32 - 1, times, 1, 0, depth - i, 0)
             for i in range(depth)]
    return with_sum(
        b"BRAIDCAP" + struct.pack("<IQ", 1, 0)
        + section(b"EXEC", struct.pack("<I4sIQ", 4, b"cpu\0", 1, 0))
        + section(b"RSRC", struct.pack("<I", 0)) + section(b"KERN", struct.pack("<I", 0))
        + section(b"NODE", struct.pack("<I", depth + 1), *loops, node(depth, 5))
        + section(b"EDGE", struct.pack("<I", 0),
                  struct.pack(f"<{depth + 1}I", *range(depth + 1))) + section(b"DATA"))


def loops_are_nested_so_deep_and_no_deeper():
    assert braid("replay", "-", data=nested(64)).status == 0
    refused(nested(65), "node 64 is nested deeper than 64")
    refused(nested(3000), "node 64 is nested deeper than 64")


def loops_that_would_take_too_long_are_refused():
    for options in ((), ("--audit",), ("--against", "cpu")):
        for depth, times, node in ((1, 2 ** 40, 0), (4, 100, 2), (64, 2 ** 63, 0), (9, 9, 6)):
            result = braid("replay", "-", *options, data=nested(depth, times))
            text = (f"loop {node} 'n', of at most {times} iterations, loops have over 1000000 in all: "
                    "--iterations allows more")
            assert result.status == 1 and text in result.err, (depth, times, result)
    few = nested(2, 3)  # 3 and 9 iterations
    assert braid("replay", "-", "--iterations", "12", data=few).status == 0
    refused_one = braid("replay", "-", "--iterations", "11", data=few)
    assert refused_one.status == 1 and "over 11 in all" in refused_one.err, refused_one
    with tempfile.TemporaryDirectory() as folder:  # conditions tell as the frame runs
        path = capture(folder, "cpu", "bodies")
        for limit, status in ((3, 1), (1000, 0)):
            result = braid("replay", path, "--kernels", KERNELS, "--iterations", str(limit))
            assert result.status == status, result
            assert status == 0 or f"loops have over {limit} in all" in result.err, result


def damaged_files_are_refused_in_one_line():
    with tempfile.TemporaryDirectory() as folder:
        path = capture(folder, "cpu", "race")
        with open(path, "rb") as file:
            whole = file.read()
        for data, word in ((whole[:-1], "should have"), (b"no capture at all" * 9, "no capture"),
                           (whole[:99] + b"\x7f" + whole[100:], "sum is wrong"), (b"", "HEAD")):
            refused(data, word)
    refused(with_sum(whole[:-8].replace(b"cpu", b"\x1b[A", 1)), "there is no backend '\\x1b[A'")


def no_more_is_read_than_the_head_tells():
    with tempfile.TemporaryDirectory() as folder:
        with open(capture(folder, "cpu", "race"), "rb") as file:
            whole = file.read()
    refused(whole + bytes(10 ** 6), f"should have {len(whole)} bytes, and has at least {len(whole) + 1}")
    result = braid("replay", "/dev/zero")
    assert result.status == 2 and "this is no capture" in result.err, result


if __name__ == "__main__":
    sys.exit(run([
        a_frame_of_the_cpu_is_replayed,
        kernels_of_the_cpu_need_a_plug_in,
        a_race_is_named_by_the_nodes_that_ran,
        what_was_found_is_written_as_json,
        an_audit_names_accesses_that_are_not_declared,
        functions_of_other_libraries_are_no_part_of_a_plug_in,
        a_frame_of_cuda_is_replayed,
        a_node_that_differs_on_another_device_is_named,
        numbers_within_the_tolerance_are_equal,
        loops_and_branches_are_replayed,
        a_difference_in_an_iteration_is_named,
        a_race_in_an_iteration_is_named,
        damaged_loops_and_branches_are_refused,
        damaged_chains_of_buffers_are_refused,
        loops_are_nested_so_deep_and_no_deeper,
        loops_that_would_take_too_long_are_refused,
        damaged_files_are_refused_in_one_line,
        no_more_is_read_than_the_head_tells,
    ]))
