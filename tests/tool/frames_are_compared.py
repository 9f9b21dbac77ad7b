# SPDX-License-Identifier: Apache-2.0
"""braid simulate and braid diff: what would change a frame, and what did; braid help TOPIC."""
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid, plan  # noqa: E402
from tap import run  # noqa: E402

GRAPH = """digraph { cost_unit=us; load [cost=2]; "a=b" [cost=40, label=left]; right [cost=30]; mix [cost=8]
  load -> "a=b"; load -> right; "a=b" -> mix; right -> mix }"""

FOLDER = tempfile.TemporaryDirectory()  # goes with the process


def simulate(*options, text=GRAPH):
    result = braid("simulate", "-", "--json", "-", *options, text=text)
    assert result.status == 0, result.err
    return json.loads(result.out)


def a_simulation_says_what_plans_say():
    found = simulate("--lanes", "1,2,3")
    assert found["kind"] == "simulation" and found["cost_unit"] == "us"
    for one in found["plans"]:
        planned = plan(GRAPH, "--lanes", str(one["max_lanes"]))
        for name in ("num_lanes", "num_waits", "makespan", "bound"):
            assert one[name] == planned[name], (name, one, planned)
    assert [one["makespan"] for one in found["plans"]] == [80, 50, 50]


def what_changes_nothing_changes_no_figure():
    for text in ("digraph { a [cost=1]; b [cost=1]; c [cost=1]; d [cost=1] }", "digraph { a [cost=7]; b; a -> b }"):
        planned, plain = plan(text, "--lanes", "3"), simulate("--lanes", "3", text=text)["plans"][0]
        faster = simulate("--lanes", "3", "--faster", "a=1", text=text)["plans"][0]
        assert plain == {name: faster[name] for name in plain}, (plain, faster)
        assert plain["bound"] == planned["bound"] and plain["makespan"] == planned["makespan"], (plain, planned)


def faster_nodes_shorten_the_frame_as_far_as_others_let_them():
    for name in ("a=b", "left"):  # by id, by name
        found = simulate("--lanes", "1,2", "--faster", f"{name}=4")
        assert [one["faster"] for one in found["plans"]] == [50, 40], found
    found = simulate("--lanes", "2", "--faster", "a=b=4", "--faster", "right=0.5")
    assert found["plans"][0]["faster"] == 70, found
    out = braid("simulate", "-", "--lanes", "2", "--faster", "left=4", text=GRAPH).out
    assert re.search(r"^ +2 +50 us +2 +1\.000 +40 us +20\.0 %$", out, re.MULTILINE), out


def wrong_simulations_are_refused():
    for options, reason in ((["--lanes", "1,x"], "--lanes takes"), (["--lanes", ""], "--lanes takes"),
                            (["--faster", "left"], "NODE=X"), (["--faster", "nobody=2"], "no node 'nobody'"),
                            (["--faster", "left=0"], "greater than 0"),
                            (["--faster", "left=1e-12", "--lanes", "1"], None)):
        result = braid("simulate", "-", *options, text=GRAPH)
        assert result.status == (2 if reason else 0), (options, result.err)
        assert (reason or "") in result.err, result.err


def reports(*texts, command="plan", options=()):
    """Paths of JSON files, one for each graph; `texts` that are no graph are written as they are."""
    folder = tempfile.mkdtemp(dir=FOLDER.name)
    paths = [os.path.join(folder, f"{i}.json") for i in range(len(texts))]
    for path, text in zip(paths, texts):
        if "digraph" not in text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            continue
        result = braid(command, "-", "--json", path, *options, text=text)
        assert result.status == 0, result.err
    return paths


def a_longer_frame_fails_past_the_limit():
    old, new = reports(GRAPH, GRAPH.replace("cost=40", "cost=43"))
    for arguments, status in (([old, old], 0), ([old, new], 1), ([new, old], 0),
                              ([old, new, "--limit", "6"], 0), ([old, new, "--limit", "5.9"], 1),
                              ([old, old, "--limit", "0"], 0)):
        result = braid("diff", *arguments)
        assert result.status == status, (arguments, result.out, result.err)
        assert ("the frame became 6.0 % longer" in result.err) == (status == 1), result.err
    out = braid("diff", old, new).out
    assert re.search(r"^makespan +50 +53 +\+6\.0 %$", out, re.MULTILINE), out
    assert "costs of 1 node changed" in out and re.search(r"^  left +40 +43 +\+7\.5 %$", out, re.MULTILINE)


def limits_are_exact():
    old, new = reports(json.dumps(frame(0.5, cost_unit="us")), json.dumps(frame(0.53, cost_unit="us")))
    for limit, status in (("6", 0), ("5.999999", 1)):
        result = braid("diff", old, new, "--limit", limit)
        assert result.status == status, (limit, result.out, result.err)
    for limit in range(1, 1000, 7):  # tenths of a percent
        result = braid("diff", *reports(json.dumps(frame(1000)), json.dumps(frame(1000 + limit))),
                       "--limit", f"{limit / 10}")
        assert result.status == 0, (limit, result.out, result.err)


def frame(makespan, **more):
    return {"format": 3, "kind": "plan", "makespan": makespan, **more}


def costs_that_did_not_change_are_not_told():
    tasks = "".join(f"n{i} [cost={i * 0.1 + 0.1:.1f}]; " for i in range(40))
    chain = " -> ".join(f"n{i}" for i in range(40))
    old, new = reports(f"digraph {{ cost_unit=us; {tasks} {chain} }}",
                       f"digraph {{ cost_unit=us; first [cost=0.7]; {tasks} first -> {chain} }}")
    out = braid("diff", old, new).out  # each starts at another time
    assert "nodes: 0 gone, 1 new" in out and "changed" not in out, out


def a_report_without_its_frame_is_refused():
    good, = reports(json.dumps(frame(5)))
    older, = reports(json.dumps(frame(5, format=2)))  # which means the same, without its places
    assert braid("diff", good, good).status == 0 and braid("diff", older, good).status == 0
    run_ = {"format": 3, "kind": "run"}
    for bad, reason in (({"format": 3, "kind": "plan"}, "no number 'makespan'"),
                        (frame("5"), "no number 'makespan'"), (frame(None), "no number 'makespan'"),
                        (frame(-5), "'makespan' is -5"),
                        (run_, "no number 'measured_makespan_ns.median'"),
                        (dict(run_, measured_makespan_ns={"median": -1}), "is -1"),
                        (dict(run_, measured_makespan_ns=7), "no number 'measured_makespan_ns.median'"),
                        (frame(5, format=1), "of format 1, and this version reads 2"),
                        (frame(5, format=4), "of format 4, and this version reads 2 to 3"),
                        (frame(5, format="2"), "no whole number 'format'"),
                        ({"kind": "plan", "makespan": 5}, "no whole number 'format'")):
        path, = reports(json.dumps(bad))
        for arguments in ([path, good], [good, path]):
            result = braid("diff", *arguments)
            assert result.status == 2 and result.out == "", (bad, result.out, result.err)
            assert path in result.err and reason in result.err, (bad, result.err)
            assert result.err.count("\n") == 1, result.err


def nodes_that_came_and_went_are_told():
    old, new = reports(GRAPH, GRAPH.replace("load -> right", "load -> extra -> right"))
    out = braid("diff", old, new).out
    assert "nodes: 0 gone, 1 new" in out, out


# As dumps name nodes: their numbers are ids, which move when a node is added.
def nodes_go_by_labels():
    old, new = reports('digraph { 0 [name=load, cost=5]; 1 [name=blur, cost=50]; 2 [name=sum, cost=7]; 0 -> 1 -> 2 }',
                       'digraph { 0 [name="warm up", cost=1]; 1 [name=load, cost=5]; 2 [name=blur, cost=51]; '
                       '3 [name=sum, cost=7]; 0 -> 1 -> 2 -> 3 }')
    out = braid("diff", old, new).out
    assert "nodes: 0 gone, 1 new" in out and "costs of 1 node changed" in out, out
    assert re.search(r"^  blur +50 +51 +\+2\.0 %$", out, re.MULTILINE), out
    for first, second, shown in (("0", "1", r"twin \(2\)"), ("1", "2", r"twin \(2\)"), ("left", "right", "right")):
        old, new = reports(f"digraph {{ {first} [name=twin, cost=5]; {second} [name=twin, cost=6] }}",
                           "digraph { 0 [name=other, cost=1]; 1 [name=twin, cost=5]; 2 [name=twin, cost=8] }"
                           if shown != "right" else
                           "digraph { over [name=other, cost=1]; right [name=twin, cost=8]; left [name=twin, cost=5] }")
        out = braid("diff", old, new).out
        assert "nodes: 0 gone, 1 new" in out and "costs of 1 node changed" in out, out
        assert re.search(f"^  {shown} +6 +8 ", out, re.MULTILINE), out


def runs_are_compared_by_what_was_measured():
    old, new = reports(GRAPH, GRAPH.replace("us;", "ms;"), command="run",
                       options=("--frames", "2", "--device", "cpu"))
    result = braid("diff", old, new)
    assert result.status == 1 and "measured makespan" in result.out, result.out
    assert braid("diff", new, old).status == 0


def what_cannot_be_compared_is_refused():
    graph, millis, devices, broken = reports(GRAPH, GRAPH.replace("us;", "ms;"), '{"kind": "devices"}',
                                             '{\n "kind": "plan",\n}')
    run_, = reports(GRAPH, command="run", options=("--frames", "1", "--device", "cpu"))
    for arguments, reason in (([graph, millis], "differ in their cost_unit: 'us' and 'ms'"),
                              ([graph, run_], "differ in their kind"), ([graph], "which two?"),
                              ([graph, devices], "not what 'braid plan --json'"),
                              ([broken, graph], "0.json"), ([graph, "/nonexistent"], "/nonexistent"),
                              ([graph, graph, "--limit", "-1"], "--limit takes")):
        result = braid("diff", *[path.replace("0.json", "0.json") for path in arguments])
        assert result.status == 2 and result.out == "", (arguments, result.out, result.err)
        assert reason in result.err.replace("3.json", "0.json"), (reason, result.err)
        assert result.err.count("\n") == 1, result.err


def help_has_topics():
    for topic in ("plan", "run", "report", "simulate", "diff", "devices"):
        assert braid("help", topic).out == braid(topic, "--help").out != "", topic
    for topic, word in (("files", "prelude_of"), ("pictures", "--svg"), ("status", "1 a device")):
        result = braid("help", topic)
        assert result.status == 0 and word in result.out, topic
        assert all(len(line) <= 100 for line in result.out.splitlines()), topic
    result = braid("help", "nothing")
    assert result.status == 2 and "no help on 'nothing'" in result.err, result.err


def the_file_in_help_is_planned():
    text = braid("help", "files").out
    graph = text[text.index("digraph"):text.index("}\n", text.index("mix;")) + 1]
    assert plan(graph)["makespan"] == 61.5


if __name__ == "__main__":
    sys.exit(run([
        a_simulation_says_what_plans_say,
        what_changes_nothing_changes_no_figure,
        faster_nodes_shorten_the_frame_as_far_as_others_let_them,
        wrong_simulations_are_refused,
        a_longer_frame_fails_past_the_limit,
        limits_are_exact,
        costs_that_did_not_change_are_not_told,
        a_report_without_its_frame_is_refused,
        nodes_that_came_and_went_are_told,
        nodes_go_by_labels,
        runs_are_compared_by_what_was_measured,
        what_cannot_be_compared_is_refused,
        help_has_topics,
        the_file_in_help_is_planned,
    ]))
