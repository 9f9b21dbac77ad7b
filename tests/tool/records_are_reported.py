# SPDX-License-Identifier: Apache-2.0
"""braid report tells what the orders of a recorded frame are for.

usage: records_are_reported.py BRAID PROGRAM
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

FOLDER = tempfile.mkdtemp()
FILE = os.path.join(FOLDER, "a.braidrec")


def report(*arguments):
    return braid("report", FILE, *arguments)


def a_frame_is_reported():
    done = braid("record", "--out", FILE, "--", sys.argv[2], "9")
    assert done.status == 0, done
    done = report()
    assert done.status == 0, done
    # A copy, two kernels that change one word, a kernel that touches none, and a copy back.
    for line in ("frame 1 of 2: ", "recorded frame: 6 nodes: 3 kernels, 2 copies, 0 fills, 0 host calls\n",
                 "longest path: 5 nodes captured, 4 kept\n", " in 1 wait, and ", "2 nodes keep all captured orders",
                 "plan: 2 lanes, 4 steps of one node each; one lane takes 5. Times of kernels are not known\n"):
        assert line in done.out, (line, done.out)


def a_report_is_json():
    done = report("--json", "-", "--frame", "0", "--unwatched")
    found = json.loads(done.out)
    assert (found["kind"], found["frame"], found["frames"]) == ("record", 0, 2), found
    assert (found["kernels"], found["kept_orders"], found["waits"], found["unproven"]) == (3, 6, 1, []), found
    assert found["plan"] == {"lanes": 2, "waits": 0, "steps": 4, "steps_on_one_lane": 5}, found


def a_report_is_a_page():
    page = os.path.join(FOLDER, "a.html")
    done = report("--out", page)
    assert done.status == 0 and done.out == "", done
    with open(page, encoding="utf-8") as file:
        text = file.read()
    assert "add" in text and text.endswith("</body></html>\n") and text.count("</body>") == 1, text
    assert "<h2>The frame as the host called it</h2>" in text and "on 1 stream<" in text, text
    assert "<h2>The frame as planned</h2>" in text and text.count("<svg") == 3, text


# Each end of work takes 1 us on the clock of the device, and so does each event.
def times_of_the_device_are_reported():
    os.environ["BRAID_STANDIN_CLOCK_NS"] = "1000"
    file = os.path.join(FOLDER, "times.braidrec")
    done = braid("record", "--times", "--marks", "--from", "0", "--out", file, "--", sys.argv[2], "4", "mark")
    assert done.status == 0, done
    done = braid("report", file, "--unwatched")
    for line in ("device: 14.0 us, of which no work ran in 4.0 us; kernels took 6.0 us in all\n",
                 "plan: 2 lanes, 8.0 us by the measured times; one lane takes 10.0 us\n"):
        assert line in done.out, (line, done.out)
    found = json.loads(braid("report", file, "--unwatched", "--json", "-").out)
    assert [round(found[name] / 1000) for name in ("device_ns", "kernel_ns", "idle_ns")] == [14, 6, 4], found
    assert [round(found["plan"][name] / 1000) for name in ("makespan_ns", "one_lane_ns")] == [8, 10], found
    assert "steps" not in found["plan"], found
    page = os.path.join(FOLDER, "times.html")
    done = braid("report", file, "--out", page)
    assert done.status == 0, done
    with open(page, encoding="utf-8") as opened:
        text = opened.read()
    assert "<h2>The frame as it ran</h2>\n<p>14.0 us on 1 stream</p>" in text, text
    assert text.count(", 2.0 us</title></rect>") == 5, text
    done = braid("record", "--times", "--out", file, "--", sys.argv[2], "4")
    assert done.status == 2 and "--times needs --marks" in done.err, done


def mistakes_are_told():
    done = report("--frame", "2")
    assert done.status == 2 and "has 2 frames, and none is number 2" in done.err, done
    done = braid("report", "-", "--json", "-", text="digraph { a }")
    assert done.status == 2 and "is no record" in done.err, done
    for options in ([], ["--json", "-"], ["--out", os.path.join(FOLDER, "b.html")]):
        done = braid("report", "missing.braidrec", *options)
        assert done.status == 2 and done.err == "braid: cannot open missing.braidrec: No such file or directory\n", done
    with open(FILE, "rb") as file:
        whole = file.read()
    with open(FILE, "wb") as file:
        file.write(whole[:-9])
    done = report()
    assert done.status == 2 and FILE in done.err, done


sys.exit(run([a_frame_is_reported, a_report_is_json, a_report_is_a_page, times_of_the_device_are_reported, mistakes_are_told]))
