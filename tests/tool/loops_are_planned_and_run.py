# SPDX-License-Identifier: Apache-2.0
"""braid plan, simulate, report and run on files with loops and branches. Speaks TAP."""
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

LOOP = """digraph {
  resources="left:4 which:4"; cost_unit=us; before [cost=100];
  solve [kind=loop, condition=0, most=50, expected=20]; less [body_of=solve, accesses="rw0", cost=2];
  before -> solve; less -> step; step [cost=3, body_of=solve]; before -> after; solve -> after; after [cost=10];
"""
NESTED = LOOP + "choose [kind=branch, condition=1, body_of=solve]; a [body_of=choose, cost=3]; b [else_of=choose, cost=7]; step -> choose }"
LOOP += "}"


def good(*arguments, text):
    result = braid(*arguments, text=text)
    assert result.status == 0, result.err
    return result.out


def a_plan_counts_on_the_expected_iterations():
    for text, expected in ((LOOP, 100 + 20 * 5 + 10), (NESTED, 100 + 20 * 12 + 10)):
        plan = json.loads(good("plan", "-", "--json", "-", text=text))
        assert plan["makespan"] == expected and plan["without_cost"] == 0, plan
        assert plan["lanes"] == [["before", "solve", "after"]] and plan["critical_path"] == plan["lanes"][0], plan
        inside = {task["id"]: (task["start"], task["end"]) for task in plan["tasks"]}
        assert inside["solve"] == (100, expected - 10) and inside["step"] == (102, 105), plan
    assert inside["a"] == (105, 108) and inside["b"] == (105, 112), inside


def all_of_a_loop_is_on_one_device():
    text = NESTED.replace("step [cost=3,", "step [cost=3, lane_hint=1, on=2,").replace("before [cost=100", "before [cost=100, on=1")
    plan = json.loads(good("plan", "-", "--places", "2", "--json", "-", text=text))
    places = {task["id"]: task["place"] for task in plan["tasks"]}
    assert places["before"] == 1 and all(places[id] == 2 for id in ("solve", "less", "step", "choose", "a", "b")), places
    assert [copy["buffer"] for copy in plan["copies"]] == ["left", "which", "left"], plan["copies"]
    refused = braid("plan", "-", "--places", "2", text=text.replace("less [", "less [on=1, "))
    assert refused.status != 0 and "'solve' runs on one place, but node 2 'less' in it" in refused.err, refused.err


def a_loop_is_a_row_of_the_table():
    rows = good("plan", "-", "--table", text=NESTED)
    assert "solve" in rows and "after" in rows and "0         100         340  solve" in rows, rows


def a_faster_node_shortens_each_iteration():
    outcome = json.loads(good("simulate", "-", "--lanes", "1", "--faster", "less=2", "--json", "-", text=NESTED))
    assert (outcome["plans"][0]["makespan"], outcome["plans"][0]["faster"]) == (350, 330), outcome


def a_faster_loop_or_branch_has_faster_nodes():
    for node, expected in (("solve", 100 + 20 * 6 + 10), ("choose", 350 - 20 * 3.5)):
        outcome = json.loads(good("simulate", "-", "--lanes", "1", "--faster", f"{node}=2", "--json", "-", text=NESTED))
        assert outcome["plans"][0]["faster"] == expected, outcome


def nodes_of_bodies_matter_with_all_their_iterations():
    page = good("report", "-", "--out", "-", text=NESTED)
    half = dict(re.findall(r"<i>(\w+)</i> took half</td><td>([0-9.]+)&nbsp;us", page))
    assert half == {"solve": "230.0", "before": "300.0", "choose": "280.0", "b": "280.0", "step": "320.0"}, half
    shares = re.findall(r"<tr><td>(\w+)</td><td>[0-9.]+&nbsp;us</td><td>([0-9.]+)&nbsp;%</td>", page)
    assert shares == [("solve", "68.6"), ("choose", "40.0"), ("b", "40.0"), ("before", "28.6"), ("step", "17.1"), ("a", "17.1"),
                      ("less", "11.4"), ("after", "2.9")], shares


def nodes_of_bodies_matter_in_a_measured_frame():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "page.html")
        good("run", "-", "--device", "cpu", "--frames", "3", "--profile", "--report", file, text=LOOP)
        with open(file, encoding="utf-8") as opened:
            page = opened.read()
    assert set(re.findall(r"<i>(\w+)</i> took half</td>", page)) >= {"solve", "before", "step", "less"}, page
    for node, is_measured in (("solve", True), ("step", False), ("less", False)):  # a body is measured whole
        row = re.search(rf"<tr><td>{node}</td><td>[^<]+</td><td>[0-9.]+&nbsp;%</td><td>([^<]+)</td>", page)
        assert row and (row[1] != "-") == is_measured, (node, row)


def a_report_and_drawings_have_the_loop():
    with tempfile.TemporaryDirectory() as folder:
        page, drawing = os.path.join(folder, "page.html"), os.path.join(folder, "plan.dot")
        good("report", "-", "--out", page, text=NESTED)
        good("plan", "-", "--dot", drawing, text=NESTED)
        with open(page, encoding="utf-8") as file:
            assert "solve" in file.read()
        with open(drawing, encoding="utf-8") as file:
            text = file.read()
        assert "cluster_region_1" in text and "_else {" in text, text


def a_run_makes_the_expected_iterations():
    for mode in ("graph", "streams"):
        found = json.loads(good("run", "-", "--frames", "5", "--device", "cpu", "--mode", mode, "--json", "-", text=LOOP))
        assert found["measured_makespan_ns"]["least"] >= (100 + 20 * 5 + 10) * 1000, found
    result = braid("run", "-", "--device", "cpu", text=NESTED)
    assert result.status and "node 'choose' is a branch: it can be planned, and not run" in result.err, result.err


if __name__ == "__main__":
    sys.exit(run([
        a_plan_counts_on_the_expected_iterations,
        all_of_a_loop_is_on_one_device,
        a_loop_is_a_row_of_the_table,
        a_faster_node_shortens_each_iteration,
        a_faster_loop_or_branch_has_faster_nodes,
        nodes_of_bodies_matter_with_all_their_iterations,
        nodes_of_bodies_matter_in_a_measured_frame,
        a_report_and_drawings_have_the_loop,
        a_run_makes_the_expected_iterations,
    ]))
