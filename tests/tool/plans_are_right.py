# SPDX-License-Identifier: Apache-2.0
"""braid plan: its JSON describes a plan that keeps every edge; its other outputs agree with it."""
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid, check_plan, corpus_folder, plan  # noqa: E402
from tap import Skip, run  # noqa: E402

DIAMOND = """digraph {
  load [cost=2]; left [cost=10]; right [cost=9]; mix [cost=3];
  load -> left; load -> right; left -> mix; right -> mix;
}"""
DIAMOND_NODES = ["load", "left", "right", "mix"]
DIAMOND_EDGES = [("load", "left"), ("load", "right"), ("left", "mix"), ("right", "mix")]
DIAMOND_COSTS = {"load": 2, "left": 10, "right": 9, "mix": 3}

NODE = re.compile(r'^(\d+) \[cost=(\d+)')
EDGE = re.compile(r"^(\d+) -> (\d+);")


def a_diamond_takes_two_lanes_and_two_waits():
    found = plan(DIAMOND, "--lanes", "2")
    check_plan(found, DIAMOND_NODES, DIAMOND_EDGES, DIAMOND_COSTS)
    assert found["nodes"] == 4 and found["edges"] == 4
    assert len(found["lanes"]) == 2 and len(found["waits"]) == 2
    assert found["makespan"] == 15 and found["bound"] == 15
    assert found["critical_path"] == ["load", "left", "mix"]
    assert found["format"] == 3 and found["kind"] == "plan" and found["plan_ns"] > 0


def the_text_and_the_json_agree():
    text = braid("plan", "-", "--lanes", "2", text=DIAMOND).out
    found = plan(DIAMOND, "--lanes", "2")
    for word, number in (("lanes", len(found["lanes"])), ("waits", len(found["waits"])),
                         ("records", found["records"]), ("makespan", found["makespan"]),
                         ("bound", found["bound"])):
        assert re.search(rf"^{word} +{number}\b", text, re.MULTILINE), f"{word} {number}: {text}"
    assert re.search(r"^ratio +1\.0000$", text, re.MULTILINE)
    assert re.search(r"^planned in [0-9.]+ ms", text, re.MULTILINE)


def tables_and_cycles_have_labels_that_are_unique():
    text = 'digraph { 0 [label="load"]; 1 [label="twin"]; 2 [label="twin"]; 3 [label="2"]; 4 [label=" \\n"]; 0 -> 1; 1 -> 2; 2 -> 3; 3 -> 4 }'
    table = braid("plan", "-", "--table", text=text).out
    assert re.findall(r"^ +0 +\d+ +\d+ +(\S+)$", table, re.MULTILINE) == ["load", "1", "2", "3", "4"], table
    result = braid("plan", "-", text=text.replace("2 -> 3", "2 -> 0"))
    assert "this edge closes a cycle: load -> 1 -> 2 -> load" in result.err, result.err


def the_table_has_lanes_and_times():
    text = braid("plan", "-", "--lanes", "2", "--table", text=DIAMOND).out
    found = plan(DIAMOND, "--lanes", "2")
    rows = [row.split(maxsplit=3) for row in text[text.index("\nlane "):].splitlines()[2:]]
    times = {task["id"]: [str(task[key]) for key in ("lane", "start", "end")] for task in found["tasks"]}
    assert [row[3].split()[0] for row in rows] == sum(found["lanes"], []), text
    waits = []
    for row in rows:
        name, *behind = row[3].split("  ")
        assert row[:3] == times[name], text
        waits += [[one, name] for text in behind for one in text[len("(waits for "):-1].split(", ")]
    assert sorted(waits) == sorted(found["waits"]), text
    assert text.startswith("graph      4 nodes") and "(times in" not in text
    assert "node (times in us)\n" in braid("plan", "-", "--table", text="digraph { cost_unit=us; a }").out
    refused = braid("plan", "-", "--table", "--json", "-", text=DIAMOND)
    assert refused.status == 2 and "--table" in refused.err, refused.err


def the_example_is_planned_as_the_readme_says():
    path = os.path.join(sys.argv[2], "..", "..", "examples", "render_frame.dot")
    result = braid("plan", path)
    assert result.status == 0, result.err
    for line in ("graph      16 nodes, 23 edges", "lanes      2", "waits      7",
                 "makespan   5200 us", "bound      5200 us", "one lane   9410 us"):
        assert line in result.out.splitlines(), result.out


def what_list_scheduling_misses_is_found():
    graph = "digraph { a [cost=3]; b [cost=3]; c [cost=2]; d [cost=2]; e [cost=2]; }"
    found = plan(graph, "--lanes", "2")
    assert (found["makespan"], found["limit"]) == (6, "lanes")
    text = braid("plan", "-", "--lanes", "2", text=graph).out
    assert "limit      2 lanes: busy 100.0 % of the frame\n" in text, text


def one_lane_needs_no_wait():
    found = plan(DIAMOND, "--lanes", "1")
    check_plan(found, DIAMOND_NODES, DIAMOND_EDGES, DIAMOND_COSTS)
    assert found["waits"] == [] and found["makespan"] == 24


def waits_may_cost_a_fraction():
    graph = "digraph { cost_unit=us; a [cost=10]; b [cost=10]; c [cost=10]; d [cost=10]; a -> {b c} -> d; }"
    assert round(plan(graph, "--sync-cost", "0.3")["makespan"], 6) == 30.3


def dear_waits_keep_to_one_lane():
    assert len(plan(DIAMOND, "--sync-cost", "1000")["lanes"]) == 1


CHAIN = """digraph {
  a [cost=2, inside=1]; b [cost=2, inside=0]; c [cost=2]; d [cost=2, inside=3]; e [cost=2, inside=3];
  a -> b -> c -> d -> e;
}"""


def nodes_that_may_be_inside_are_where_that_is_shorter():
    options = ["--lanes", "1", "--start-cost", "5", "--call-cost", "1"]
    found = plan(CHAIN, *options)
    assert found["islands"] == [["a", "b"], ["d", "e"]], found
    assert found["num_islands"] == 2 and found["num_island_nodes"] == 4
    assert found["makespan"] == 5 * 2 + 2 * 1 + 2 * 5, found
    text = braid("plan", "-", *options, text=CHAIN).out
    assert re.search(r"^islands +2 of 4 nodes$", text, re.MULTILINE), text
    drawing = braid("plan", "-", *options, "--dot", "-", text=CHAIN).out
    assert 'label="island 1"' in drawing, drawing
    assert plan(CHAIN, "--lanes", "1", "--start-cost", "5")["islands"] == []
    assert plan(CHAIN, "--lanes", "1", "--start-cost", "1", "--call-cost", "5")["islands"] == []
    odd = 'digraph { graph [resources="m:64"]; a [inside=2, user=0]; }'  # a user, and no arguments
    assert plan(odd)["lanes"] == [["a"]]


def what_parameters_change_is_passed_on():
    found = plan('digraph { a [changes="position: argument 2; n: \\"x\\""]; b; a -> b }')
    assert found["tasks"][0]["changes"] == 'position: argument 2; n: "x"', found["tasks"]
    assert "changes" not in found["tasks"][1], found["tasks"]


def parameters_of_a_file_are_in_the_plans_drawing():
    text = """digraph {
      resources="state:64*2 ^0:1 scratch:16:512@node" parameters="position:8 on:1"
      a [accesses="r1 w0", args="@0 @1 @2 4", uses="0:4:4=argument3 0:0:4=grid.x"];
      b [kind=host, blocking=true, accesses="r0", user=0, uses="1:0:1=enabled"];
    }"""
    drawing = braid("plan", "-", "--dot", "-", text=text).out
    assert "position: argument 3, grid.x" in drawing and "on: enabled" in drawing, drawing


def random_graphs_keep_every_edge():
    for seed in range(60):
        dice = random.Random(seed)
        num = dice.randint(1, 40)
        nodes = [f"n{i}" for i in range(num)]
        costs = {node: dice.randint(1, 50) for node in nodes}
        edges = sorted({tuple(sorted(dice.sample(range(num), 2)))
                        for _ in range(dice.randint(0, 2 * num)) if num > 1})
        edges = [(nodes[start], nodes[end]) for start, end in edges]
        lines = [f"{node} [cost={costs[node]}]" for node in nodes]
        lines += [f"{start} -> {end}" for start, end in edges]
        dice.shuffle(lines)
        options = ["--lanes", str(dice.randint(1, 6))]
        check_plan(plan("digraph {\n" + "\n".join(lines) + "\n}", *options), nodes, edges, costs)


def graphs_of_the_corpus_keep_every_edge():
    folder = corpus_folder()
    if not os.path.isdir(folder):
        raise Skip("no corpus of task graphs here: BRAID_CORPUS names its folder")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".dot")
                   and os.path.getsize(os.path.join(folder, name)) < 60000)[::12]
    assert names
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        matches = [NODE.match(line) for line in text.splitlines()]
        costs = {match.group(1): int(match.group(2)) for match in matches if match}
        matches = [EDGE.match(line) for line in text.splitlines()]
        edges = [match.groups() for match in matches if match]
        check_plan(plan(text, "--lanes", "4"), list(costs), edges, costs)


def names_of_any_kind_come_through():
    found = plan('digraph { "a \\"b\\"" -> "\\\\x"; "ä" -> "{}"; "" -> n [label="x\\ny"]; }')
    names = {node for lane in found["lanes"] for node in lane}
    assert {'a "b"', "ä", "{}", "", "n"} <= names, names


def names_that_begin_alike_are_different():
    names = ["togethe", "together", "together1", "together176546", "together373080"]  # the last two of one hash
    found = plan(f"digraph {{ {'; '.join(names)}; {' -> '.join(names)} }}")
    assert [task["id"] for task in found["tasks"]] == names and found["edges"] == 4, found


# What Graphviz reads in a text: the names of its nodes, their costs and the number of its edges.
LANGUAGE = [
    ("strict digraph { node [cost=7]; a -> {b c} -> d; a -> b; subgraph cluster_x { e [cost=1] } }",
     "a7 b7 c7 d7 e1", 4),
    ("digraph { a -> b [key=k]; a -> b [key=k]; a -> b [key=l]; a -> b; a -> b }", "a1 b1", 4),
    ("digraph { a; node [cost=2] b; { node [cost=3] a b c; { d } node [cost=4] e } f }",
     "a1 b2 c3 d3 e4 f2", 0),
    ("digraph { subgraph x { node [cost=2] } subgraph x { a } subgraph y { subgraph x { b } } }", "a2 b1", 0),
    ("digraph { subgraph x { b } a -> subgraph x { c; c -> d [cost=9] } [cost=8] }", "b1 a1 c1 d1", 4),
    ("digraph { a, b:p:n [cost=2] [cost=3, color=red; label=q] c:p }", "q3 q3 c1", 0),
    ("digraph { node [cost=2]; a [cost=\"\"]; b [cost=<3>]; c [cost=\"1\" + \"2\"] }", "a1 b1 c12", 0),
    ("digraph { 1abc; -.5; 1.2.3; \"x\\\ny\" }", "11 abc1 -.51 1.21 .31 xy1", 0),
    ("DIGRAPH g { Node [cost=2]; \"node\"; SUBGRAPH { a } }", "node2 a2", 0),
    ("digraph { edge [implied=access]; a -> b; { edge [implied=\"\"]; b -> c }; c -> d [implied=\"\"] }",
     "a1 b1 c1 d1", 2),
    ("strict digraph { a -> b; a -> b [implied=access]; b -> c }", "a1 b1 c1", 1),
]


def the_language_is_that_of_graphviz():
    for text, nodes, edges in LANGUAGE:
        found = plan(text)
        tasks = " ".join(f"{task['name']}{task['end'] - task['start']}" for task in found["tasks"])
        assert tasks == nodes and found["edges"] == edges, f"{text}: {tasks}, {found['edges']} edges"


def long_and_deep_statements_are_read():
    chain = " -> ".join(f"n{i}" for i in range(20000))
    assert plan(f"digraph {{ {chain} }}")["edges"] == 19999
    assert plan("digraph {" + "{" * 20000 + "a" + "}" * 20000 + "}")["nodes"] == 1
    assert plan("digraph { " + "x" * 2000000 + " }")["nodes"] == 1


def verbose_names_each_step():
    steps = ["reading", "parsing", "reading attributes", "checking costs and cycles", "building the graph",
             "planning", "verifying", "writing"]
    result = braid("plan", "-", "--verbose", "--json", os.devnull, text="digraph { a -> b }")
    lines = result.err.splitlines()
    assert [line[:26].rstrip() for line in lines] == steps, result.err
    assert all(re.search(r" [0-9]+\.[0-9]{3} ms$", line) for line in lines), result.err
    assert braid("plan", "-", text="digraph { a -> b }").err == ""


def labels_are_the_names_in_drawings():
    drawing = braid("plan", "-", "--dot", "-",
                    text='digraph { 0 [label="p2g\\n\\"x\\""]; 1; 0 -> 1 }').out
    assert 'label="p2g\\n\\"x\\""' in drawing, drawing
    assert 'label="1"' in drawing, drawing


def times_in_a_unit_stay_in_it():
    text = 'digraph { graph [cost_unit="us"]; a [cost=5]; b [cost=7]; a -> b }'
    found = plan(text)
    assert found["makespan"] == 12 and found["cost_unit"] == "us"
    assert found["tasks"][1] == {"id": "b", "name": "b", "lane": 0, "start": 5, "end": 12}
    assert "7.00 us" in braid("plan", "-", "--dot", "-", text=text).out
    assert re.search(r"makespan +12 us", braid("plan", "-", text=text).out)


def no_unit_is_invented():
    for text in ("digraph { a [cost=5] }", 'digraph { cost_unit="none"; a [cost=5] }'):
        result = braid("plan", "-", text=text)
        for name in ("makespan", "bound", "one lane"):
            assert re.search(rf"^{name} +5$", result.out, re.MULTILINE), result.out


def costs_that_are_missing_are_told():
    for text, line, number in [
            ("digraph { a -> b }", "costs      none in the file: 1 for each node", 2),
            ("digraph { a [cost=3]; a -> b }", "costs      1 of 2 nodes without one: 1 each", 1),
            ('digraph { cost_unit=ms; a [cost=3]; a -> b -> c; c [cost=""] }',
             "costs      2 of 3 nodes without one: 1 ms each", 2),
            ("digraph { node [cost=2]; a -> b }", None, 0),
            ("digraph { a [cost=0] }", None, 0),
            ("digraph {}", None, 0)]:
        for command in (["plan"], ["run", "--frames", "1", "--device", "cpu"]):
            if command[0] == "run" and text == "digraph {}":
                continue  # nothing to run
            out = braid(*command, "-", text=text).out
            assert (line in out.splitlines()) if line else ("costs" not in out), out
            found = json.loads(braid(*command, "-", "--json", "-", text=text).out)
            assert found["without_cost"] == number, found


def what_is_planned_without_a_cost_is_told():
    for text, line, guessed in [
            ("digraph { cost_unit=us; node [kind=empty]; a -> b }", "none in the file: next to nothing an empty node", 0),
            ("digraph { node [kind=empty]; a -> b }", "none in the file: next to nothing an empty node", 0),
            ("digraph { cost_unit=ns; node [kind=empty]; a -> b }", "none in the file: 1 ns an empty node", 0),
            ("digraph { cost_unit=us; node [kind=host]; a -> b }", "none in the file: 100 us a host call", 2),
            ("digraph { cost_unit=ms; a [cost=3]; b; c [kind=host]; d [kind=empty]; a -> b -> c -> d }",
             "3 of 4 nodes without one: 1 ms a node, 100 ms a host call, next to nothing an empty node", 2)]:
        out = braid("plan", "-", text=text).out
        assert f"costs      {line}" in out.splitlines(), out
        assert plan(text)["guessed"] == guessed, text
        assert braid("plan", "-", "--svg", "-", text=text).out.count(", a guess</title>") == guessed, text
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            assert braid("report", "-", "--out", path, text=text).status == 0
            with open(path, encoding="utf-8") as file:
                page = file.read()
        assert (f"{guessed} nodes have no cost" in page) if guessed else ("no cost" not in page), text
        out = braid("run", "-", "--device", "cpu", "--frames", "1", "--time-scale", "1", text=text).out
        assert "1 ms each" in out or re.search("none in the file: 1( us| ns)? for each node", out), out


def a_cost_of_zero_is_next_to_nothing():
    nodes = "a [cost=2]; join [cost=0]; b [cost=3]; a -> join -> b"
    for unit in ("cost_unit=s;", "cost_unit=ms;", "cost_unit=none;", "cost_unit=flops;", ""):
        found = plan(f"digraph {{ {unit} {nodes} }}")
        assert found["makespan"] == 5 and found["work"] == 5, f"{unit}: {found}"
        assert [task["end"] for task in found["tasks"]] == [2, 2, 5], f"{unit}: {found}"
    found = plan(f"digraph {{ cost_unit=ns; {nodes} }}")
    assert found["makespan"] == 6  # the planner counts in ns
    found = plan("digraph { cost_unit=s; node [cost=0]; a -> b; c }")
    assert found["makespan"] == 0 and found["without_cost"] == 0
    largest = 2**61
    found = plan(f"digraph {{ a [cost={largest}]; b [cost=0]; }}", "--lanes", "1")
    assert found["makespan"] == largest + 1  # too large to count in parts


def fractions_of_a_unit_are_planned_exactly():
    nodes = 'a [cost=1.5]; b [cost="2.25e1"]; c [cost=".000001"]; a -> b -> c'
    found = plan(f'digraph {{ cost_unit=ms; {nodes} }}')
    assert found["makespan"] == 24.000001, found
    assert [task["end"] for task in found["tasks"]] == [1.5, 24, 24.000001], found
    text = braid("plan", "-", text=f"digraph {{ cost_unit=ms; {nodes} }}").out
    assert re.search(r"^makespan   24\.000001 ms$", text, re.MULTILINE), text
    found = plan(f"digraph {{ cost_unit=flops; {nodes} }}")
    assert found["makespan"] == 24.001, found  # a thousandth is the least that is planned
    assert plan("digraph { cost_unit=us; a [cost=2.0] }")["makespan"] == 2
    assert plan('digraph { cost_unit=s; a [cost="3e-05"] }')["makespan"] == 3e-5


def times_of_whole_costs_may_have_fractions():
    text = """digraph { cost_unit=us; a [cost=5]; b [cost=4]; e [cost=20]; late [cost=3]
      a -> b; a -> e; b -> late; e -> late }"""
    simulate = ["simulate", "-", "--lanes", "2", "--faster", "a=2"]
    assert "25.5 us" in braid(*simulate, text=text).out
    run = json.loads(braid(*simulate, "--json", "-", text=text).out)["plans"][0]
    assert run["makespan"] == 28 and run["faster"] == 25.5, run
    run = json.loads(braid(*simulate, "--json", "-", text=text.replace("cost=4", "cost=0")).out)["plans"][0]
    assert run["makespan"] == 28 and run["faster"] == 25.5, run
    text = "digraph { cost_unit=us; a [cost=2]; join [kind=empty]; c [cost=2]; a -> join -> c }"
    assert plan(text)["makespan"] == 4  # a join is next to nothing


def costs_file(folder, text, costs_ns):
    """As braid run writes it, with these costs."""
    path = os.path.join(folder, "costs.json")
    result = braid("run", "-", "--device", "cpu", "--frames", "1", "--time-scale", "1000", "--costs", path, text=text)
    assert result.status == 0, result.err
    with open(path, encoding="utf-8") as file:
        costs = json.load(file)
    assert len(costs["costs_ns"]) == len(costs_ns)
    costs["costs_ns"] = costs_ns
    with open(path, "w", encoding="utf-8") as file:
        json.dump(costs, file)
    return path


def measured_costs_are_told_to_the_nanosecond():
    text = "digraph { cost_unit=ms; a [cost=1]; b [cost=2]; a -> b; }"
    with tempfile.TemporaryDirectory() as folder:
        path = costs_file(folder, text, [400000, 1203004])
        found = plan(text, "--costs", path)
        assert found["makespan"] == 1.603004, found
        assert [task["end"] for task in found["tasks"]] == [0.4, 1.603004], found
        assert "makespan   1.603004 ms\n" in braid("plan", "-", "--costs", path, text=text).out


def measured_costs_are_times_whatever_the_files_unit():
    for unit, cost_unit, makespan, text_of in (
            ("", "ns", 1603004, "1603004 ns"), ("cost_unit=flops;", "ns", 1603004, "1603004 ns"),
            ("cost_unit=none;", "ns", 1603004, "1603004 ns"), ("cost_unit=us;", "us", 1603.004, "1603.004 us")):
        text = f"digraph {{ {unit} a [cost=0.5]; b; a -> b }}"
        with tempfile.TemporaryDirectory() as folder:
            path = costs_file(folder, text, [400000, 1203004])
            found = plan(text, "--costs", path)
            assert (found["cost_unit"], found["makespan"], found["without_cost"]) == (cost_unit, makespan, 0), found
            out = braid("plan", "-", "--costs", path, text=text).out
            assert f"makespan   {text_of}\n" in out and "costs " not in out, out
            picture = braid("plan", "-", "--costs", path, "--svg", "-", text=text).out
            assert "400.0 us" in picture and "flops" not in picture, picture


def long_comments_take_no_time():
    """9 MB in one comment. What else the machine does is not counted."""
    long = "x " * 1500000
    text = f"digraph {{ // {long}\n a /* {long} */ -> /**/ b # {long}\n }}\n# {long}"
    process = subprocess.run([sys.argv[1], "plan", "-"], input=text.encode(),
                             stdout=subprocess.PIPE, check=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
    assert b"2 nodes, 1 edge" in process.stdout
    found = plan('digraph { "a//b" -> "/*" -> <<b>/*</b>> -> "#"; a[label=<<i>//</i>>]; x/**/y }')
    assert {task["id"] for task in found["tasks"]} >= {"a//b", "/*", "#", "a", "x", "y"}, found


def more_lanes_can_be_asked_for():
    """Three nodes of which one is so short that a lane of its own gains nothing."""
    graph = "digraph { cost_unit=us; a [cost=50]; b [cost=50]; c [cost=1]; a -> last; b -> last; last [cost=9] }"
    assert len(plan(graph)["lanes"]) == 2
    found = plan(graph, "--lanes", "4")
    check_plan(found, ["a", "b", "c", "last"], [("a", "last"), ("b", "last")],
               {"a": 50, "b": 50, "c": 1, "last": 9})
    assert len(found["lanes"]) == 3 and len(found["waits"]) == 1, found


def bundles_and_accesses_are_planned():
    found = plan("""digraph {
      resources="list:64 #0:0:32 other"
      gen [prelude_of=loop, accesses="w1"]  // before its main node
      free; loop [cost=9, accesses="r1 a2"]; gc [epilogue_of=loop]
      late [accesses="r0"]; more [accesses="a2"]
    }""", "--lanes", "4")
    lane = next(lane for lane in found["lanes"] if "loop" in lane)
    place = lane.index("loop")
    assert lane[place - 1:place + 2] == ["gen", "loop", "gc"], found["lanes"]
    times = {task["id"]: task for task in found["tasks"]}
    assert times["late"]["start"] >= times["gen"]["end"], found
    assert times["more"]["start"] == 0, found
    assert found["edges"] == 0


def one_of_a_thing_is_not_many():
    few = braid("plan", "-", "--lanes", "2", text="digraph { a -> b; a -> c }").out
    assert re.search(r"^graph +3 nodes, 2 edges$", few, re.MULTILINE), few
    assert re.search(r"^records +1$", few, re.MULTILINE), few
    one = braid("plan", "-", text="digraph { a -> b }").out
    assert re.search(r"^graph +2 nodes, 1 edge$", one, re.MULTILINE), one
    assert re.search(r"^records +0$", one, re.MULTILINE), one


def a_unit_with_a_line_break_stays_on_its_line():
    out = braid("plan", "-", text='digraph { cost_unit="m\n\x1bs"; a [cost=5] }').out
    assert re.search(r"^makespan   5 m  s$", out, re.MULTILINE), out


def a_byte_order_mark_is_passed_over():
    result = braid("plan", "-", data=b"\xef\xbb\xbfdigraph { a -> b }")
    assert result.status == 0, result.err
    result = braid("plan", "-", data=b"\xef\xbb\xbfdigraph {\n a -> a }")
    assert result.err.startswith("<stdin>:2: "), result.err


def outputs_go_to_files():
    with tempfile.TemporaryDirectory() as folder:
        drawing, data = os.path.join(folder, "x.dot"), os.path.join(folder, "x.json")
        result = braid("plan", "-", "--dot", drawing, "--json", data, text=DIAMOND)
        assert result.status == 0 and "makespan" in result.out
        with open(drawing, encoding="utf-8") as file:
            assert file.read().startswith("digraph")
        with open(data, encoding="utf-8") as file:
            assert file.read().startswith("{")


def dot_renders_what_it_draws():
    drawing = braid("plan", "-", "--lanes", "2", "--dot", "-", text=DIAMOND).out
    try:
        process = subprocess.run(["dot", "-Tsvg"], input=drawing.encode(), check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError as error:
        raise Skip("Graphviz' dot is not installed") from error
    assert process.returncode == 0 and not process.stderr, process.stderr
    assert b"lane 1" in process.stdout


PLACES = """digraph { cost_unit=us; resources="field:1000@place2 rest:200000 list@all #0:0:100";
  a [cost=10, accesses="w0 w1"]; b [cost=20, accesses="r1 rw3", on=1];
  c [cost=30, accesses="rw0 x2", pointers="0"]; d [cost=40]; e [cost=40]; a -> d; a -> e }"""


def copies_between_devices_are_told():
    options = ("--places", "2", "--copy-cost", "3", "--copy-rate", "100000", "--edge-cost", "1")
    found = plan(PLACES, *options)
    place = {task["id"]: task["place"] for task in found["tasks"]}
    assert found["num_places"] == 2 and found["one_place"] is None and found["nodes"] == 5
    assert place["b"] == 1 and place["c"] == 2, place
    copies = found["copies"]
    assert len(copies) == found["num_copies"] > 0
    assert sum(copy["bytes"] for copy in copies) == found["copy_bytes"]
    ids = {copy["id"] for copy in copies}
    assert ids == {node for lane in found["lanes"] for node in lane} - set("abcde")
    for copy in copies:
        took = 3 + copy["bytes"] / 100000
        assert copy["buffer"] in ("field", "rest") and copy["from"] != copy["to"], copy
        assert abs(copy["end"] - copy["start"] - took) <= 1, (copy, took)
        assert copy["id"] in found["lanes"][copy["lane"]]
    assert "copies" not in plan(PLACES) and "place" not in plan(PLACES)["tasks"][0]
    text = braid("plan", "-", *options, text=PLACES).out
    assert re.search(rf"^devices    2, {len(copies)} cop(y|ies) of {found['copy_bytes']} bytes$",
                     text, re.MULTILINE), text
    assert text.count("  'field' from place ") + text.count("  'rest' from place ") == len(copies)
    drawing = braid("plan", "-", "--dot", "-", *options, text=PLACES).out
    assert drawing.count("copy of ") == len(copies) and "place 2, lane" in drawing
    timeline = braid("plan", "-", "--svg", "-", *options, text=PLACES).out
    assert timeline.count("copy of ") >= len(copies) and "2 devices" in timeline


def devices_are_read_from_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "devices.json")

        def planned(text, graph=PLACES):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return braid("plan", "-", "--json", "-", "--places", path, text=graph)
        chain = "digraph { a [cost=100]; b [cost=100]; a -> b }"
        slow = json.loads(planned('{"speeds": [0.5, 0.25]}', chain).out)
        assert slow["makespan"] == 400 and slow["one_place"] == 400, slow
        fast = json.loads(planned('{"speeds": [0.5, 4]}', chain).out)
        assert fast["makespan"] == 50 and {task["place"] for task in fast["tasks"]} == {2}
        links = ('{"speeds": [1, 1, 1], "link": {"copy_cost": 2},'
                 '"links": [{"from_place": 2, "to_place": 1, "copy_cost": 7}]}')
        ways = {(copy["from"], copy["to"]): copy["end"] - copy["start"]
                for copy in json.loads(planned(links).out)["copies"]}
        assert ways and all(took == (7 if way == (2, 1) else 2) for way, took in ways.items()), ways
        for cost in ("copy_cost", "edge_cost"):  # each is 31,000 years
            result = planned(f'{{"speeds": [1, 1], "link": {{"{cost}": 1e12}}}}', PLACES.replace("=us", "=s"))
            assert result.status == 2 and "more than 2^63 ns" in result.err, (cost, result.err)
        for text, reason in (("{", ":1: "), ('{"speeds": []}', "speeds"),
                             ('{"speeds": [1, -1]}', "speed of place 2"),
                             ('{"speeds": [1, 1], "link": 3}', '"link"'),
                             ('{"speeds": [1, 1], "links": {}}', '"links"'),
                             ('{"speeds": [1, 1], "links": [{"from_place": 0, "to_place": 2}]}', "link 0"),
                             ('{"speeds": [1, 1], "links": [{"from_place": 1, "to_place": 3}]}', "1 to 2"),
                             ('{"speeds": [1, 1], "links": [{"from": 0, "to": 1}]}', "counted places from 0")):
            result = planned(text)
            assert result.status == 2 and reason in result.err and not result.out, result.err
            assert result.err.count("\n") == 1, result.err


def wrong_devices_are_refused():
    for options, reason in ((("--places", "0"), "--places"), (("--places", "65"), "1 to 64"),
                            (("--places", "/nonexistent"), "--places takes a number"),
                            (("--copy-cost", "3"), "give --places"),
                            (("--places", "2", "--copy-rate", "x"), "--copy-rate")):
        result = braid("plan", "-", *options, text=PLACES)
        assert result.status == 2 and reason in result.err, (options, result.err)
    for attributes, reason in (('on=0', "1 to 64"), ('on=65', "1 to 64"), ('on=x', "1 to 64"), ('place=64', "0 to 63"),
                               ('accesses="r0", pointers="1"', "numbers of resources"),
                               ('accesses="r0", pointers="all 0"', "numbers of resources")):
        result = braid("plan", "-", text=f'digraph {{ resources="a:8 b:8"; n [{attributes}] }}')
        assert result.status == 2 and reason in result.err, (attributes, result.err)
    for resources in ("a:8@", "a:8@64", "a:8@place0", "a:8@place65", "a:8@place", "a:8@one", "a@none", "a:8@1:8"):
        result = braid("plan", "-", text=f'digraph {{ resources="{resources}"; n }}')
        assert result.status == 2 and "a resource is" in result.err, (resources, result.err)
    far = braid("plan", "-", "--places", "2", text="digraph { n [on=6] }")
    assert far.status == 2 and "place 6" in far.err, far.err


def older_files_keep_their_places():
    older = PLACES.replace("@place2", "@1").replace("on=1", "place=0")
    assert "on=" not in older and "@place" not in older
    options = ("--places", "3", "--copy-cost", "3", "--copy-rate", "100000")
    now, then = plan(PLACES, *options), plan(older, *options)
    for found in (now, then):
        del found["plan_ns"]
    assert now == then and {copy["to"] for copy in now["copies"]} <= {1, 2, 3}, (now, then)


def simulations_know_devices():
    found = json.loads(braid("simulate", "-", "--places", "2", "--lanes", "1,4", "--json", "-",
                             text=PLACES).out)["plans"]
    assert [run["num_places"] for run in found] == [2, 2] and found[0]["num_lanes"] <= 2
    assert all(run["makespan"] >= run["bound"] and run["copy_bytes"] > 0 for run in found)
    text = braid("simulate", "-", "--places", "2", text=PLACES).out
    assert "bytes" in text.splitlines()[0], text


def a_graph_without_nodes_is_planned():
    found = plan("digraph {}")
    assert found["nodes"] == 0 and found["makespan"] == 0 and found["waits"] == []


if __name__ == "__main__":
    sys.exit(run([
        a_diamond_takes_two_lanes_and_two_waits,
        the_text_and_the_json_agree,
        tables_and_cycles_have_labels_that_are_unique,
        the_table_has_lanes_and_times,
        what_list_scheduling_misses_is_found,
        the_example_is_planned_as_the_readme_says,
        one_lane_needs_no_wait,
        nodes_that_may_be_inside_are_where_that_is_shorter,
        what_parameters_change_is_passed_on,
        parameters_of_a_file_are_in_the_plans_drawing,
        dear_waits_keep_to_one_lane,
        waits_may_cost_a_fraction,
        random_graphs_keep_every_edge,
        graphs_of_the_corpus_keep_every_edge,
        names_of_any_kind_come_through,
        names_that_begin_alike_are_different,
        the_language_is_that_of_graphviz,
        long_and_deep_statements_are_read,
        verbose_names_each_step,
        labels_are_the_names_in_drawings,
        times_in_a_unit_stay_in_it,
        no_unit_is_invented,
        what_is_planned_without_a_cost_is_told,
        a_cost_of_zero_is_next_to_nothing,
        costs_that_are_missing_are_told,
        fractions_of_a_unit_are_planned_exactly,
        times_of_whole_costs_may_have_fractions,
        measured_costs_are_told_to_the_nanosecond,
        measured_costs_are_times_whatever_the_files_unit,
        long_comments_take_no_time,
        more_lanes_can_be_asked_for,
        bundles_and_accesses_are_planned,
        one_of_a_thing_is_not_many,
        a_unit_with_a_line_break_stays_on_its_line,
        a_byte_order_mark_is_passed_over,
        outputs_go_to_files,
        dot_renders_what_it_draws,
        copies_between_devices_are_told,
        devices_are_read_from_a_file,
        wrong_devices_are_refused,
        older_files_keep_their_places,
        simulations_know_devices,
        a_graph_without_nodes_is_planned,
    ]))
