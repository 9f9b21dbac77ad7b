# SPDX-License-Identifier: Apache-2.0
"""braid run --profile tells where frames went, and braid tune finds a way that a file keeps."""
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import TOOL, braid  # noqa: E402
from tap import Skip, run  # noqa: E402

# b takes ten times what a does, so the lane of a waits for it.
FORK = """digraph { cost_unit=us; a [cost=200]; b [cost=2000]; c [cost=100]; a -> c; b -> c;
          p [cost=50, prelude_of=c] }"""


def run_fork(*options, text=FORK):
    result = braid("run", "-", "--frames", "4", "--device", "cpu", "--workers", "2", "--lanes",
                   "2", *options, text=text)
    assert result.status == 0, result.err
    return result.out


def profile_of(mode):
    return json.loads(run_fork("--profile", "--mode", mode, "--json", "-"))["profile"]


# Nodes are busy by the system's clock and timed by the processor's, whose rate is found by comparing the two.
CLOCKS_AGREE = 0.99


def nodes_take_what_they_are_busy_for():
    for mode in ("graph", "streams"):
        found = profile_of(mode)
        assert found["frames"] == 4
        took = {node["id"]: node["took_ns"]["least"] for node in found["nodes"]}
        for name, least in (("a", 200000), ("b", 2000000), ("c", 100000), ("p", 50000)):
            assert took[name] >= least * CLOCKS_AGREE, f"{mode}: {name} took {took[name]}"
        assert found["frame_ns"]["least"] >= 2100000 * CLOCKS_AGREE


def waits_and_lanes_add_up():
    for mode in ("graph", "streams"):
        found = profile_of(mode)
        assert len(found["lanes"]) == 2 and len(found["waits"]) >= 1
        for number, lane in enumerate(found["lanes"]):
            whole = lane["busy_ns"] + lane["waiting_ns"] + lane["idle_ns"]
            assert found["frame_ns"]["least"] <= whole + 8 and whole <= found["frame_ns"]["most"] + 8
            waits = [wait for wait in found["waits"] if wait["lane"] == number]
            if lane["waited_for"] is not None:
                assert lane["waited_for"] in [wait["waited_for"] for wait in waits]


def measured_costs_are_planned_with():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "costs.json")
        run_fork("--costs", path)
        with open(path, encoding="utf-8") as file:
            costs = json.load(file)
        assert costs["kind"] == "costs" and len(costs["costs_ns"]) == 4, costs
        assert costs["costs_ns"][1] >= 2000000 * CLOCKS_AGREE, costs
        planned = braid("plan", "-", "--costs", path, "--json", "-", text=FORK.replace("2000", "3"))
        assert planned.status == 0, planned.err
        assert json.loads(planned.out)["makespan"] >= 2100 * CLOCKS_AGREE, planned.out
        refused = braid("plan", "-", "--costs", path, text=FORK.replace("b ->", "p ->"))
        assert refused.status == 2 and "another graph" in refused.err, refused.err


def a_file_of_costs_is_not_replaced():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "costs.json")
        for before in ("{}", " "):
            with open(path, "w", encoding="utf-8") as file:
                file.write(before)
            result = braid("run", "-", "--device", "cpu", "--costs", path, text=FORK)
            assert result.status == 2 and path in result.err and result.out == "", result.err
            assert "'braid plan --costs' reads" in result.err and result.err.count("\n") == 1, result.err
            with open(path, encoding="utf-8") as file:
                assert file.read() == before
        with open(path, "w", encoding="utf-8"):
            pass  # as mktemp makes it: nothing is lost
        run_fork("--costs", path)
        assert os.path.getsize(path) > 2
        run_fork("--costs", "/dev/null")


def costs_and_ways_go_through_pipes():
    with tempfile.TemporaryDirectory() as folder:
        graph, saved = os.path.join(folder, "fork.dot"), os.path.join(folder, "run.json")
        with open(graph, "w", encoding="utf-8") as file:
            file.write(FORK)
        costs = run_fork("--costs", "-")
        assert json.loads(costs)["kind"] == "costs", costs
        planned = braid("plan", graph, "--costs", "-", "--json", "-", text=costs)
        assert planned.status == 0 and json.loads(planned.out)["makespan"] >= 2100 * CLOCKS_AGREE, planned.err
        _, way, _ = tune(folder)
        arguments = ("--device", "cpu", "--frames", "2", "--workers", "2", "--tuned", "-")
        result = braid("run", graph, *arguments, text=json.dumps(way))
        assert result.status == 0, result.err
        report = run_fork("--json", "-")
        with open(saved, "w", encoding="utf-8") as file:
            file.write(report)
        assert braid("diff", "-", saved, text=report).status == 0
        assert braid("diff", saved, "-", text=report).status == 0
        for refused in (["plan", "-", "--costs", "-"], ["plan", "-", "--places", "-"], ["run", "-", *arguments],
                        ["diff", "-", "-"], ["run", "-", "--json", "-", "--costs", "-"]):
            result = braid(*refused, text=report if refused[0] == "diff" else FORK)
            assert result.status == 2 and result.err.count("\n") == 1, (refused, result.err)
            assert "from" in result.err or "only one of" in result.err, (refused, result.err)


def the_summary_names_nodes():
    out = run_fork("--profile")
    assert "The last 4 frames:" in out and "longest nodes" in out, out
    nodes = out.split("longest nodes\n")[1].splitlines()
    assert nodes[0].endswith("b"), nodes
    for heading in ("waits longest for (means of these frames)", "     median, us   of the frame   longest nodes",
                    "     median, us   longest waits"):  # what each number is
        assert heading in out, out
    assert "longest nodes" not in run_fork()


def times_have_the_unit_of_the_file():
    for unit, cost, time in (("ns", "1000000", r"\d{7,}"), ("us", "1000", r"\d{4,}\.\d{3}"), ("ms", "1", r"\d+\.\d{6}"),
                             ("s", "0.001", r"\d+\.\d{9}"), ("cycles", "1000", r"\d{4,}\.\d{3}")):
        graph = f"digraph {{ cost_unit={unit}; a [cost={cost}]; b [cost={cost}]; a -> c; b -> c; c [cost={cost}] }}"
        named = "us" if unit == "cycles" else unit
        out = run_fork("--profile", "--lanes", "2", text=graph)
        for line in (rf"makespan   planned {time} {named}, measured {time} {named} \(median; {time} to {time}\)",
                     rf"The last 4 frames: {time} {named} \(median; {time} to {time}\),",
                     rf" +median, {named}   of the frame   longest nodes\n *{time}  ", rf" +median, {named}   longest waits\n *\d"):
            assert re.search(f"^{line}", out, re.MULTILINE), (line, out)
        assert ("1 cost = 1000 ns" if unit == "cycles" else f"1 cost = 1 {unit}") in out, out
    result = braid("tune", "-", "--budget", "1", "--device", "cpu", "--workers", "2", text="digraph { cost_unit=ms; a [cost=0.5] }")
    assert re.search(r"^ +frame, ms +least .*\n\* *0\.\d{6} +0\.\d{6} ", result.out, re.MULTILINE), result.out


def names_do_not_reach_the_terminal_as_they_are():
    bad, long = "x\x1b[2Jy\nz\x7f\x9b", "n" * 5000
    shown = "x\\x1b[2Jy\\x0az\\x7f\\xc2\\x9b"
    graph = f"""digraph {{ resources="list"; s [cost=3]; "{bad}" [cost=3000]; "{long}" [cost=2000];
                s -> "{bad}"; s -> "{long}"; "{bad}" -> t; "{long}" -> t; t [cost=1] }}"""
    copied = f"""digraph {{ resources="{bad.replace(chr(10), '')}:64"; p [accesses=w0, on=1, cost=4];
                 c [accesses=r0, on=2, cost=4] }}"""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("old.json", "new.json")]
        for path, cost in zip(paths, (3000, 3001)):
            assert braid("plan", "-", "--json", path, text=graph.replace("3000", f"{cost}")).status == 0
        tables = [run_fork("--profile", text=graph), braid("plan", "-", text=graph).out,
                  braid("diff", *paths).out, braid("plan", "-", "--places", "2", text=copied).out]
    for table in tables:
        assert not set(table) & {chr(i) for i in [*range(10), *range(11, 32), *range(0x7f, 0xa0)]}, table
        assert all(len(line) < 300 for line in table.splitlines()), table
    assert shown in tables[0] and "nnn..." in tables[0] and shown in tables[2], tables
    assert shown.replace("\\x0a", "") in tables[3], tables[3]


def pictures_are_of_the_times_kept():
    with tempfile.TemporaryDirectory() as folder:
        trace, drawing = os.path.join(folder, "t.json"), os.path.join(folder, "t.svg")
        run_fork("--profile", "--trace", trace, "--svg", drawing)
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        assert sum(event.get("cat") == "frame" for event in events) == 4
        assert sum(event.get("name") == "b" for event in events) == 4
        assert os.path.getsize(drawing) > 1000


def tune(folder, text=FORK, name="way.json"):
    path = os.path.join(folder, name)
    result = braid("tune", "-", "--device", "cpu", "--workers", "2", "--budget", "20", "--out",
                   path, text=text)
    assert result.status == 0, result.err
    with open(path, encoding="utf-8") as file:
        return path, json.load(file), result.out


def tuning_tells_all_that_it_tried():
    with tempfile.TemporaryDirectory() as folder:
        _, found, out = tune(folder)
        assert found["kind"] == "tuning" and len(found["costs_ns"]) == 4
        assert found["costs_ns"][1] >= 1900000
        names = [trial["name"] for trial in found["trials"]]
        assert any(name.startswith("graph, 2 lanes") for name in names), names
        assert any(name.startswith("streams, 1 lane") for name in names), names
        assert sum(trial["is_best"] for trial in found["trials"]) == 1
        assert all(name in out for name in names)
        rows = [("costs ignored" in line, line[1:].split()[3]) for line in out.split("\n")[1:] if line]
        assert {ignored for ignored, _ in rows} == {False, True}, out
        assert all((planned == "-") == ignored for ignored, planned in rows), out
        best = next(trial for trial in found["trials"] if trial["is_best"])
        assert best["median_ns"] <= 1.01 * found["trials"][0]["median_ns"]


def nothing_but_the_file_goes_to_standard_output():
    result = braid("tune", "-", "--device", "cpu", "--workers", "2", "--budget", "20", "--out", "-", text=FORK)
    assert result.status == 0, result.err
    found = json.loads(result.out)
    assert found["kind"] == "tuning" and all(trial["name"] in result.err for trial in found["trials"]), result.err


def tuning_needs_no_folder_but_that_of_its_file():
    closed = ["unshare", "-rm", "sh", "-c", 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*closed, "true"], capture_output=True, check=False).returncode:
        raise Skip("this system lets nobody close /tmp for a process")
    result = subprocess.run([*closed, TOOL, "tune", "-", "--device", "cpu", "--workers", "2", "--budget", "20",
                             "--out", "-"], input=FORK.encode(), capture_output=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["kind"] == "tuning"


def a_tuning_that_takes_longer_than_its_budget_says_so_first():
    slow = FORK.replace("digraph {", "digraph { slow [cost=20000];")
    result = braid("tune", "-", "--device", "cpu", "--workers", "2", "--lanes", "1", "--budget", "1", text=slow)
    assert result.status == 0, result.err
    assert re.match(r"tuning takes about \d+\.\d s, longer than the budget", result.err), result.err
    result = braid("tune", "-", "--device", "cpu", "--workers", "2", "--lanes", "1", "--budget", "2000", text="digraph { a -> b }")
    assert result.status == 0 and "tuning takes" not in result.err, result.err


def a_file_is_used_and_refused():
    with tempfile.TemporaryDirectory() as folder:
        path, found, _ = tune(folder)
        arguments = ("--device", "cpu", "--frames", "2", "--workers", "2", "--tuned")
        result = braid("run", "-", *arguments, path, text=FORK)
        assert result.status == 0, result.err
        result = braid("run", "-", *arguments, path, text=FORK.replace("a -> c; ", ""))
        assert result.status == 2 and "another graph" in result.err, result.err
        for field, what in (("device", "device"), ("backend", "backend"), ("braid", "version")):
            changed = dict(found, **{field: "other"})
            other = os.path.join(folder, "other.json")
            with open(other, "w", encoding="utf-8") as file:
                json.dump(changed, file)
            result = braid("run", "-", *arguments, other, text=FORK)
            assert result.status == 2 and f"another {what}" in result.err, result.err
            assert result.err.count("\n") == 1
        for text in ("{", "[]", "{}", json.dumps(dict(found, way={})),
                     json.dumps(dict(found, costs_ns=[1]))):
            with open(other, "w", encoding="utf-8") as file:
                file.write(text)
            result = braid("run", "-", *arguments, other, text=FORK)
            assert result.status == 2 and result.err.count("\n") == 1, result.err


def values_that_no_tuning_writes_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        _, found, _ = tune(folder)
        costs = found["costs_ns"]
        for changed, reason in ((dict(format=1), "of format 1, and this version reads 2"), (dict(format="2"), "'format'"),
                                (dict(way=dict(found["way"], mode="x")), "no way.mode 'x'"),
                                (dict(way=dict(found["way"], islands="zz")), "no way.islands 'zz'"),
                                (dict(way=dict(found["way"], fixed_lanes=1)), "'way' is not as"),
                                (dict(way=dict(found["way"], max_concurrency=True)),
                                 "way.max_concurrency is true, which is a way of an earlier Braid; tune again"),
                                (dict(way=dict(found["way"], max_lanes=2.5)), "way.max_lanes is 2.5, and must be"),
                                (dict(way=dict(found["way"], max_lanes=65536)),
                                 "way.max_lanes is 65536, and must be a whole number from 0 to 65535"),
                                (dict(costs_ns=[1.5] + costs[1:]), "costs_ns[0] is no whole number"),
                                (dict(costs_ns=costs[:1] + ["7"] + costs[2:]), "costs_ns[1] is no whole number"),
                                (dict(costs_ns=[(1 << 63) - 1] * len(costs)), "the numbers of costs_ns add up to more"),
                                (dict(costs_ns=costs[1:]), "costs_ns[2] is no whole number, or not one of 4")):
            result = braid("run", "-", "--device", "cpu", "--frames", "2", "--workers", "2", "--tuned",
                           write_way(folder, dict(found, **changed)), text=FORK)
            assert result.status == 2 and reason in result.err and result.out == "", (changed, result.err)
            assert result.err.count("\n") == 1 and f"{folder}/changed.json:" in result.err, result.err
        del found["format"]
        result = braid("run", "-", "--device", "cpu", "--tuned", write_way(folder, found), text=FORK)
        assert result.status == 2 and "'format'" in result.err, result.err
        found["format"] = 2
        del found["costs_ns"]
        for more, reason in ((dict(), "'costs_ns' is missing"), (dict(costs_ns=7), "'costs_ns' is missing, or is no list"),
                             (dict(costs_ns=costs, inside_ns=7), "'inside_ns' is missing, or is no list")):
            result = braid("run", "-", "--device", "cpu", "--tuned", write_way(folder, dict(found, **more)), text=FORK)
            assert result.status == 2 and f"changed.json: {reason}" in result.err, result.err
        found["costs_ns"] = costs
        for way in (dict(mode="streams"), dict(mode="graph"), dict(islands="never"),
                    dict(max_lanes=2**32 - 1, fixed_lanes=True)):
            changed = dict(found, way=dict(found["way"], **way))
            result = braid("run", "-", "--device", "cpu", "--frames", "2", "--workers", "2", "--json", "-", "--tuned",
                           write_way(folder, changed), text=FORK)
            assert json.loads(result.out)["mode"] == changed["way"]["mode"], result.err


def run_way(folder, way, *options, text):
    result = braid("run", "-", "--device", "cpu", "--frames", "2", "--workers", "2", "--tuned", write_way(folder, way),
                   *options, text=text)
    assert result.status == 0, result.err
    return json.loads(result.out)


def a_way_has_all_that_was_measured():
    text = FORK[:-1] + "; c -> d; d [kind=loop, most=9, expected=3]; e [cost=20, body_of=d] }"
    with tempfile.TemporaryDirectory() as folder:
        _, found, _ = tune(folder, text)
        assert found["iterations"] == [3], found
        found.update(costs_ns=[1000000, 1000000, 10, 10, 0, 10000])
        found["way"] = dict(found["way"], islands="never", max_lanes=2, fixed_lanes=True, ignore_costs=False)
        makespan = run_way(folder, found, "--json", "-", text=text)["makespan"]
        longer = run_way(folder, dict(found, iterations=[103]), "--json", "-", text=text)["makespan"]
        assert longer >= makespan + 900000, (makespan, longer)


def write_way(folder, way):
    path = os.path.join(folder, "changed.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(way, file)
    return path


def a_way_and_options_that_say_another_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        path, _, _ = tune(folder)
        for option in (["--lanes", "2"], ["--mode", "streams"], ["--mode", "graph"]):
            result = braid("run", "-", "--device", "cpu", "--workers", "2", "--tuned", path, *option, text=FORK)
            assert result.status == 2 and f"--tuned and {option[0]} both" in result.err, (option, result.err)
            assert result.out == "" and result.err.count("\n") == 1, result.err
        result = braid("run", "-", "--device", "cpu", "--workers", "2", "--tuned", path, "--mode", "auto",
                       "--frames", "2", text=FORK)
        assert result.status == 0, result.err


def open_terminal():
    """Both ends of a pseudo-terminal. A system without /dev/pts has none, and others can run out of them."""
    try:
        return os.openpty()
    except OSError as error:
        if error.errno in (errno.ENODEV, errno.ENOENT, errno.ENOSPC):
            raise Skip(f"the system is out of pty devices: {error.strerror}") from error
        raise


def run_on_a_terminal(is_slow):
    """What a run shows there. A slow one gets the end of its graph only when it shows something."""
    terminal, other_end = open_terminal()
    with subprocess.Popen([TOOL, "run", "-", "--device", "cpu", "--workers", "2", "--frames", "3"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=other_end) as process:
        shown = b""
        if is_slow:
            process.stdin.write(b" " * 70000)
            process.stdin.flush()
            shown = os.read(terminal, 65536)
        process.communicate(FORK.encode(), timeout=100)
        os.write(other_end, b"end")
        os.close(other_end)
        while not shown.endswith(b"end"):
            shown += os.read(terminal, 65536)
    os.close(terminal)
    assert process.returncode == 0, shown
    return shown[:-3].decode()


def long_work_says_on_a_terminal_how_far_it_is():
    lines = run_on_a_terminal(True).split("\r\033[K")
    assert "reading" in lines and "planning" in lines and "running 0 %" in lines, lines
    assert lines[0] == "" and lines[-1] == "", lines  # one line in place of another, and none in the end
    assert "running" not in braid("run", "-", "--device", "cpu", "--frames", "1", text=FORK).err


def short_work_shows_nothing():
    """But where a busy machine stops the tool for half a second, now and then."""
    assert any(run_on_a_terminal(False) == "" for _ in range(20))


def tuning_says_how_far_it_is_and_begins_its_table_on_a_line_of_its_own():
    terminal, other_end = open_terminal()
    with subprocess.Popen([TOOL, "tune", "-", "--device", "cpu", "--workers", "2", "--budget", "700"],
                          stdin=subprocess.PIPE, stdout=other_end, stderr=other_end) as process:
        process.communicate(FORK.encode(), timeout=100)
        os.close(other_end)
        shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert process.returncode == 0, shown
    assert re.search(r"\r\033\[Ktuning \d+ %\r\033\[K   frame, us", shown), repr(shown)


if __name__ == "__main__":
    sys.exit(run([
        nodes_take_what_they_are_busy_for,
        waits_and_lanes_add_up,
        measured_costs_are_planned_with,
        a_file_of_costs_is_not_replaced,
        costs_and_ways_go_through_pipes,
        the_summary_names_nodes,
        times_have_the_unit_of_the_file,
        names_do_not_reach_the_terminal_as_they_are,
        pictures_are_of_the_times_kept,
        tuning_tells_all_that_it_tried,
        nothing_but_the_file_goes_to_standard_output,
        tuning_needs_no_folder_but_that_of_its_file,
        a_tuning_that_takes_longer_than_its_budget_says_so_first,
        a_file_is_used_and_refused,
        values_that_no_tuning_writes_are_refused,
        a_way_has_all_that_was_measured,
        a_way_and_options_that_say_another_are_refused,
        long_work_says_on_a_terminal_how_far_it_is,
        short_work_shows_nothing,
        tuning_says_how_far_it_is_and_begins_its_table_on_a_line_of_its_own,
    ]))
