# SPDX-License-Identifier: Apache-2.0
"""Reports and timelines: what they say follows from the plan, and they need no network."""
import html
import json
import os
import re
import sys
import tempfile
from xml.etree import ElementTree

sys.dont_write_bytecode = True
from braid_tool import braid, plan  # noqa: E402
from tap import run  # noqa: E402

GRAPH = """digraph { cost_unit=us; load [cost=2]; left [cost=40]; right [cost=30]; "mix <&>" [cost=8]
  pre [prelude_of=right, cost=3]
  load -> left; load -> right; left -> "mix <&>"; right -> "mix <&>" }"""


def large(num):
    lines = [f'n{i} [cost={1 + i * 7 % 13}, label="step_{i}"];' for i in range(num)]
    lines += [f"n{i // 3} -> n{i};" for i in range(1, num)]
    return "digraph { cost_unit=us;\n" + "\n".join(lines) + "\n}"


def report(text, *options):
    result = braid("report", "-", "--out", "-", *options, text=text)
    assert result.status == 0, result.err
    return result.out


def rows(page, name):
    table = re.search(rf'<table id="{name}">(.*?)</table>', page, re.DOTALL).group(1)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in table.split("</tr>")]
    clean = [[html.unescape(re.sub(r"<[^>]*>", "", cell)).replace("\xa0", " ") for cell in row]
             for row in cells]
    assert {len(row) for row in clean if row} <= {table.count("<th")}, table  # each column has its heading
    return [row for row in clean if row]


def a_report_says_what_would_change_the_frame():
    page = report(GRAPH, "--lanes", "2")
    changes = {row[0]: row[1:] for row in rows(page, "changes")}
    halved = plan(GRAPH.replace("cost=40", "cost=20"), "--lanes", "2")
    before = plan(GRAPH, "--lanes", "2")
    assert before["makespan"] == 50 and halved["makespan"] == 41
    assert changes["left took half"] == ["41.0 us", "18.0 % shorter"], changes
    assert changes["there were one more lane"] == ["50.0 us", "nothing"], changes
    assert "The critical path" in page and "<td>mix &lt;&amp;>" in page.replace("&gt;", ">")
    nodes = rows(page, "nodes")
    assert [row[0] for row in nodes] == ["left", "mix <&>", "load"], nodes
    assert nodes[0][1:3] == ["40.0 us", "80.0 %"], nodes


def times_are_rounded_alike_in_reports_and_their_pictures():
    for ns, shown in ((999960, "1.00 ms"), (9996, "10.0 us"), (1990000, "1.99 ms"), (999, "999 ns")):
        page = report(f"digraph {{ cost_unit=ns; a [cost={ns}] }}").replace("&nbsp;", " ")
        assert f"<dt>planned</dt><dd>{shown}<" in page and f"planned: {shown}, no" in page, shown


def a_report_and_a_simulation_say_the_same_of_a_faster_node():
    for unit, shown in (("", "{}"), ("cost_unit=none;", "{}"), ("cost_unit=flops;", "{} flops"),
                        ("cost_unit=us;", "{:.2f} us"), ("cost_unit=ns;", "{:.0f} ns")):
        text = f"digraph {{ {unit} a [cost=5]; b [cost=1]; c [cost=2]; a -> b; b -> c }}"
        for node, takes in (("a", 5.5), ("b", 7.5), ("c", 7)):
            takes += 0.5 if unit == "cost_unit=ns;" and takes % 1 else 0  # the planner counts in ns
            found = json.loads(braid("simulate", "-", "--lanes", "1", "--faster", f"{node}=2", "--json", "-",
                                     text=text).out)["plans"][0]
            assert found["makespan"] == 8 and found["faster"] == takes, (unit, found)
            row, = [row for row in rows(report(text, "--lanes", "1"), "changes") if row[0] == f"{node} took half"]
            assert row[1] == shown.format(takes), (unit, row)
    guess = "digraph { h [kind=host]; k; h -> k }"  # a host call is taken for a hundred kernels
    found = json.loads(braid("simulate", "-", "--faster", "h=2", "--json", "-", text=guess).out)["plans"][0]
    assert (found["makespan"], found["faster"]) == (101, 51), found
    assert ["h took half", "51", "49.5 % shorter"] in rows(report(guess), "changes")
    chain = braid("simulate", "-", "--lanes", "1", "--faster", "b=100000", text="digraph { a -> b -> c -> d }").out
    assert "3.001                25.0 %" in chain, chain


def nodes_matter_that_hold_a_lane():
    text = "digraph { cost_unit=us; a [cost=10]; b [cost=10]; c [cost=10]; x [cost=26]; a -> b -> c }"
    nodes = rows(report(text, "--lanes", "1"), "nodes")
    assert [row[0] for row in nodes] == ["x", "a", "b", "c"], nodes
    assert nodes[0][-1] == "23.2 % shorter", nodes
    alone = rows(report(text, "--lanes", "2"), "nodes")
    assert [row[0] for row in alone] == ["a", "b", "c"], alone


def a_report_says_what_waits_cost():
    # b's lane is idle until a ends; e ends long after b, on the lane of late.
    page = report("""digraph { cost_unit=us; a [cost=5]; b [cost=4]; e [cost=20]; late [cost=3]
      a -> b; a -> e; b -> late; e -> late }""", "--lanes", "2")
    waits = rows(page, "waits")
    assert waits == [["b", "a", "5.00 us"]], waits
    assert "1 of 2 waits kept a lane idle" in page
    free = report("digraph { a [cost=3]; b [cost=4] }")
    assert "0 of 0 waits" in free and 'id="waits"' not in free


def a_report_tells_of_memory():
    """Two transient buffers of 1,000 and 500 bytes, which are alive one after the other but for a node."""
    text = """digraph { cost_unit=us; resources="given:64 one:1000@none two:500@none"
      a [cost=10, accesses="w1"]; b [cost=10, accesses="r1 w2"]; c [cost=10, accesses="r2 w0"] }"""
    page = report(text)
    assert rows(page, "memory") == [["with an address of the program's", "1", "64"], ["that live inside a frame", "2", "1500"]], page
    assert "at most 1500 bytes are alive at once, as planned" in page
    apart = report(text.replace("r1 w2", "r1").replace("r2 w0", "w2"), "--lanes", "1")
    assert "at most 1000 bytes are alive at once" in apart
    curve = re.search(r'class="memory" d="([^"]*)"', apart).group(1)
    assert curve == "M0 120H0V0H1066V120H1066V60H1600V120H1600V120", curve
    assert 'id="memory"' not in report(GRAPH)
    # The second copy, and the buffer that it makes, are left out.
    left_out = report("""digraph { outputs=2; resources="one:1000@none two:1000@none out:8 more:8"; node [cost=100]
      a [accesses=w1]; b [accesses="r1 w2"]; c [accesses="r2 w0"]; d [accesses="r0 rw2"]; e [accesses="r0 w3"] }""")
    assert "at most 1000 bytes are alive at once" in left_out, left_out
    assert "all that the exec allocated" in braid("run", "-", "--device", "cpu", "--frames", "2", "--report", "-", text=text).out


def a_measured_report_has_both_frames():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.html")
        result = braid("run", "-", "--device", "cpu", "--frames", "3", "--report", path, text=GRAPH)
        assert result.status == 0, result.err
        with open(path, encoding="utf-8") as file:
            page = file.read()
    assert "As measured" in page and "As planned" in page and "<th>measured</th>" in page
    path = re.search(r'id="measured-path">As measured, the frame ended by (\d+) nodes? that each began behind the one '
                     r"before and took ([0-9.]+)&nbsp;(\w+) \(([0-9.]+)&nbsp;%", page)
    assert path and int(path[1]) >= 1 and float(path[2]) > 0, page[page.find("measured-path"):][:300]
    assert page.count("<svg") == 2


def a_report_of_a_tuned_run_plans_again_as_its_way_does():
    text = "digraph { cost_unit=us; a [cost=10]; b [cost=10]; long [cost=100] }"
    device = ("--device", "cpu", "--workers", "2")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "way.json")
        result = braid("tune", "-", *device, "--budget", "5", "--out", path, text=text)
        assert result.status == 0, result.err
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        found["way"].update(max_lanes=2, fixed_lanes=True, ignore_costs=True)
        found["costs_ns"] = [100000000, 100000000, 1000000000]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file)
        result = braid("run", "-", *device, "--frames", "1", "--tuned", path, "--report", "-", text=text)
        assert result.status == 0, result.err
    changes = rows(result.out, "changes")  # all nodes are taken for short
    value, unit = changes[0][1].split(" ")  # as measured, and a loaded machine takes longer
    assert changes[0][0] == "there were one more lane", changes
    assert unit == "us" or (unit == "ms" and float(value) < 100), changes


def a_profiled_report_says_how_long_after_its_launch_the_frame_began():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.html")
        result = braid("run", "-", "--device", "cpu", "--frames", "3", "--profile", "--report", path, text=GRAPH)
        assert result.status == 0, result.err
        with open(path, encoding="utf-8") as file:
            page = file.read()
    assert re.search(r'id="launched">Its first node began [0-9.]+&nbsp;\w+ after the host began to launch it', page)
    assert page.count('class="launch"') == 1  # only what was measured has one


def nothing_is_fetched():
    for page in (report(GRAPH), braid("plan", "-", "--svg", "-", text=GRAPH).out):
        links = set(re.findall(r"[a-z]+://[^\s\"'<>)]*", page))
        assert links <= {"http://www.w3.org/2000/svg"}, links
        assert not re.search(r"<(link|img|iframe)\b|@import|\bsrc=|\burl\((?!#)", page)


def a_unit_of_any_kind_stays_text():
    for unit in ("<script>document.title='x'</script>", '<b>&\\"x', "]]></metadata>", "&amp;", "a\x01b"):
        text = f'digraph {{ cost_unit="{unit}"; a [cost=3]; b [cost=4]; a -> b }}'
        shown = unit.replace('\\"', '"').replace("\x01", " ")
        picture = braid("plan", "-", "--svg", "-", text=text).out
        titles = [title.text for title in ElementTree.fromstring(picture).iter() if title.tag.endswith("title")]
        assert any(title.endswith(f"(3 {shown})") for title in titles), (unit, titles)
        page = report(text)
        assert "<script" not in page and "<b>&" not in page, unit
        assert ["b took half", f"5 {shown}", "28.6 % shorter"] in rows(page, "changes"), rows(page, "changes")


if __name__ == "__main__":
    sys.exit(run([
        a_report_says_what_would_change_the_frame,
        times_are_rounded_alike_in_reports_and_their_pictures,
        a_report_and_a_simulation_say_the_same_of_a_faster_node,
        nodes_matter_that_hold_a_lane,
        a_report_says_what_waits_cost,
        a_report_tells_of_memory,
        a_measured_report_has_both_frames,
        a_report_of_a_tuned_run_plans_again_as_its_way_does,
        a_profiled_report_says_how_long_after_its_launch_the_frame_began,
        nothing_is_fetched,
        a_unit_of_any_kind_stays_text,
    ]))
