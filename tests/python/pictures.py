# SPDX-License-Identifier: Apache-2.0
"""Plans without a device: what they say, and how they look in a notebook."""
import json
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import braid


@pytest.fixture
def graph():
    """A fork and a join."""
    made = braid.Graph()
    a, b, c = (np.zeros(1) for _ in range(3))
    made.buffer(a, "source")
    made.host(print, name="load", writes=a, cost_ns=10)
    made.host(print, name="left", reads=a, writes=b, cost_ns=100)
    made.host(print, name="right", reads=a, writes=c, cost_ns=90)
    made.host(print, name="join", reads=[b, c], cost_ns=10)
    return made


def test_a_plan_is_plain_data(graph):
    plan = graph.plan(max_lanes=2, costs=braid.CostModel(wait_ns=1))
    plan.verify()
    load, left, right, join = graph.nodes
    assert plan.info.num_lanes == 2 and plan.info.num_nodes == 4
    assert [node.name for node in plan.critical_path] == ["load", "left", "join"]
    assert plan.placement(join).end_ns == plan.info.makespan_ns
    assert sorted(node.name for lane in plan.lanes for node in lane) == ["join", "left", "load", "right"]
    assert sum(step.kind == "wait" for step in plan.steps) == plan.info.num_waits
    assert "source" in plan.explain(load, left)
    assert "4 nodes: 2 lanes" in repr(plan)


def test_one_lane_says_what_it_serialises(graph):
    found = graph.plan(costs=braid.CostModel(), max_lanes=1).serialisations
    assert {(one.first.name, one.second.name) for one in found} == {("left", "right")}
    assert found[0].cause == "lanes"


def test_a_plan_follows_measured_costs(graph):
    plan = graph.plan(costs=braid.CostModel())
    graph.set_cost(graph.nodes[3], 500)
    assert graph.plan(costs=braid.CostModel()).info.makespan_ns == plan.info.makespan_ns + 490


def test_a_notebook_shows_the_plan(graph, device):
    for shown in (graph, graph.plan(costs=braid.CostModel()), braid.Exec(device, graph)):
        picture = xml.fromstring(shown._repr_svg_())
        assert picture.tag.endswith("svg")
        text = " ".join(picture.itertext())
        assert "left" in text and "join" in text
    assert braid.Graph()._repr_svg_() is None


def test_a_graph_shows_its_dag(graph):
    names, boxes, lines = drawn(graph)
    assert sorted(names) == ["join", "left", "load", "right"] and lines == 4
    assert boxes["load"] < boxes["left"] == boxes["right"] < boxes["join"]
    graph.edge(graph.nodes[3], graph.nodes[0])  # a cycle has no plan, and is drawn
    graph.empty(name="<&>")
    names, boxes, lines = drawn(graph)
    assert "<&>" in names and lines == 5
    large = braid.Graph()
    for _ in range(301):
        large.empty()
    assert "lane" in large._repr_svg_()


def test_loops_branches_and_bundles_are_boxes():
    graph = braid.Graph()
    a, more = np.zeros(1), np.zeros(1, "uint32")
    with graph.loop(more, most=9, name="until 0"):
        user = graph.host(print, name="use", updates=a)
        graph.host(print, name="make", excludes=a, prelude_of=user)
        with graph.branch(more, name="choose"):
            graph.host(print, name="yes", updates=a)
            graph.otherwise()
            graph.host(print, name="a long name " * 20, updates=a)
        graph.host(print, name="test", reads=a, updates=more)
    graph.host(print, name="behind", reads=a)
    picture = xml.fromstring(graph._repr_svg_())
    rects = {one.get("class") or one.find("{*}title").text: [float(one.get(key)) for key in ("x", "y", "width", "height")]
             for one in picture.iter() if one.tag.endswith("rect")}

    def is_inside(name, box):
        (x, y, width, height), (left, top, wide, high) = rects[name], rects[box]
        return left < x and x + width < left + wide and top < y and y + height < top + high

    inside = {box: {name for name in rects if is_inside(name, box)} for box in ("loop", "bundle", "branch", "if", "else")}
    assert inside == {"loop": {"use", "make", "yes", "a long name " * 20, "test", "bundle", "branch", "if", "else"},
                      "bundle": {"use", "make"}, "branch": {"yes", "a long name " * 20, "if", "else"},
                      "if": {"yes"}, "else": {"a long name " * 20}}
    names = [one.text for one in picture.iter() if one.tag.endswith("text")]
    assert {"until 0", "choose", "if", "else"} < set(names) and max(map(len, names)) == 48


def drawn(graph):
    """The names, in which row each is, and how many lines there are."""
    picture = xml.fromstring(graph._repr_svg_())
    texts = [one for one in picture.iter() if one.tag.endswith("text")]
    lines = [one for one in picture.iter() if one.tag.endswith("path") and one.get("stroke")]
    return [one.text for one in texts], {one.text: float(one.get("y")) for one in texts}, len(lines)


def test_timings_and_tuning_are_tables_and_an_exec_reports(graph, device):
    frame = braid.Exec(device, graph, frames_kept=2)
    assert "a frame took" not in frame.report()
    frame.run(2)
    rows = [["".join(cell.itertext()) for cell in row] for row in xml.fromstring(frame.timings()._repr_html_()).iter("tr")]
    assert [row[0] for row in rows] == ["node", "a frame", "load", "left", "right", "join"]
    assert [float(row[1].replace(",", "")) > 0 for row in rows[1:]] == [True] * 5
    report = frame.report()
    assert report.startswith("<braid.Exec of 4 nodes on cpu>") and "limited by" in report
    assert "frames in flight: 1" in report and "a frame took" in report and "'join'" in report
    handed = braid.Graph()
    state = handed.resource("state")
    for name in ("one", "two"):
        handed.host(lambda: None, name=name, excludes=state)
    report = braid.Exec(device, handed, frames_in_flight=2).report()
    assert "frames in flight: 2" in report and "no gain: a further frame takes as long as one alone" in report
    tuned = braid.tune(device, graph, budget_ns=1, max_lanes=1)
    table = xml.fromstring(tuned._repr_html_())
    assert len(list(table.iter("tr"))) == len(tuned.trials) + 1
    assert sum("".join(row.itertext()).startswith("*") for row in table.iter("tr")) == 1


def test_a_report_is_a_page(graph, device, tmp_path):
    plain, timed = braid.Exec(device, graph), braid.Exec(device, graph, frames_kept=2)
    assert "the plan" in plain.report_html() and "<table" not in plain.report_html()
    timed.run(2)
    page = timed.report_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    body = xml.fromstring(page.partition("\n")[2]).find("body")
    assert body.find("h1").text == repr(timed) and body.find("pre").text.startswith(repr(timed))
    assert any(one.tag.endswith("svg") for one in body) and len(list(body.iter("tr"))) == 6
    assert "the last frames" in page


def test_measured_times_are_drawn_and_traced(graph):
    plan = graph.plan(costs=braid.CostModel())
    times = [(i * 10, i * 10 + 5) for i in range(8)]
    assert "two frames" in plan.svg("two frames", times)
    assert {event["ph"] for event in json.loads(plan.chrome_trace("t", times))["traceEvents"]} >= {"X"}
    with pytest.raises(braid.InvalidArgumentError, match="3 intervals for 4 nodes"):
        plan.svg(intervals=times[:3])


def test_json_is_as_the_tool_writes_it(graph):
    plan = json.loads(graph.plan(costs=braid.CostModel(), max_lanes=2).json())
    assert (plan["kind"], plan["format"], plan["cost_unit"]) == ("plan", 3, "ns")
    ends = {task["id"]: task for task in plan["tasks"]}
    for before, after in plan["waits"]:
        assert ends[before]["end"] <= ends[after]["start"]
    assert len(plan["waits"]) == plan["num_waits"]
    assert sorted(sum(plan["lanes"], [])) == ["join", "left", "load", "right"]


def test_nodes_of_one_name_have_ids_of_their_own():
    graph = braid.Graph()
    graph.empty(name="x")
    graph.empty(name="x")
    assert sorted(task["id"] for task in graph.plan(costs=braid.CostModel()).to_dict()["tasks"]) == ["x#0", "x#1"]


def test_dot(graph):
    assert "digraph" in graph.dot() and "source" in graph.dot()
    assert "cluster" in graph.plan(costs=braid.CostModel(), max_lanes=2).dot()
