# SPDX-License-Identifier: Apache-2.0
"""braid plan and run on files with outputs: nodes that no output needs are left out. Speaks TAP."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid, plan  # noqa: E402
from tap import run  # noqa: E402

FRAME = """digraph {
  resources="raw:64 image:64 counts:64 mean:64"; outputs="1"; load [accesses="w0", cost=3];
  blur [accesses="r0 w1", cost=4]; count [accesses="r0 w2", cost=5]; average [accesses="r2 w3", cost=6];
}"""


def good(*arguments, text=FRAME):
    result = braid(*arguments, text=text)
    assert result.status == 0, result.err
    return result.out


def the_plan_has_what_outputs_need():
    found = plan(FRAME)
    assert found["lanes"] == [["load", "blur"]] and found["makespan"] == 7 and found["work"] == 7, found
    assert found["left_out"] == ["count", "average"] and found["num_left_out"] == 2 and found["nodes"] == 4, found
    assert [task["id"] for task in found["tasks"]] == ["load", "blur"], found


def without_outputs_all_nodes_are_planned():
    found = plan(FRAME.replace('outputs="1";', ""))
    assert found["left_out"] == [] and found["num_left_out"] == 0 and len(found["tasks"]) == 4, found


def figures_and_the_table_name_nodes_left_out():
    text = good("plan", "-", "--table")
    assert "left out   2 nodes that no output needs" in text and "left out: count, average" in text, text


def drawings_show_nodes_left_out_in_grey():
    with tempfile.TemporaryDirectory() as folder:
        drawing, picture, trace = (os.path.join(folder, name) for name in ("plan.dot", "plan.svg", "plan.json"))
        good("plan", "-", "--dot", drawing, "--svg", picture, "--trace", trace)
        with open(drawing, encoding="utf-8") as file:
            lines = file.read().splitlines()
        grey = [line for line in lines if "#eeeeee" in line]
        assert len(grey) == 2 and 'label="count"' in grey[0] and 'label="average"' in grey[1], lines
        assert any("; 2 left out" in line for line in lines), lines
        with open(picture, encoding="utf-8") as file:
            assert ">left out: count, average<" in file.read()
        with open(trace, encoding="utf-8") as file:
            text = file.read()
        assert "blur" in text and "average" not in text, text


def a_run_leaves_them_out():
    for mode in ("graph", "streams"):
        outcome = json.loads(good("run", "-", "--device", "cpu", "--mode", mode, "--frames", "3", "--json", "-"))
        assert outcome["num_left_out"] == 2, outcome


def places_and_reports_have_none_of_them():
    found = plan(FRAME, "--places", "2")
    assert found["left_out"] == ["count", "average"] and found["num_copies"] == 0, found
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        good("report", "-", "--out", page)
        assert os.path.getsize(page) > 0


def wrong_outputs_are_refused():
    for wrong in ("4", "image", "1,2", "-1"):
        result = braid("plan", "-", text=FRAME.replace('outputs="1"', f'outputs="{wrong}"'))
        assert result.status == 2 and f"outputs '{wrong}': these are numbers of the graph's resources" in result.err, result.err
    result = braid("plan", "-", text=FRAME.replace("image:64", "image:64@none"))
    assert result.status == 2 and "'image' is a transient buffer, which nobody can read" in result.err, result.err


sys.exit(run([the_plan_has_what_outputs_need, without_outputs_all_nodes_are_planned, figures_and_the_table_name_nodes_left_out,
     drawings_show_nodes_left_out_in_grey, a_run_leaves_them_out, places_and_reports_have_none_of_them, wrong_outputs_are_refused]))
