# SPDX-License-Identifier: Apache-2.0
"""braid run and braid devices on the CPU device, and the tool's words about itself."""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
from braid_tool import TOOL, braid  # noqa: E402
from tap import run  # noqa: E402

DIAMOND = "digraph { a [cost=2000]; b [cost=2000]; a -> b; a -> c; b -> d; c -> d }"


def a_diamond_runs_in_each_mode():
    for mode in ("auto", "streams", "graph"):
        result = braid("run", "-", "--frames", "5", "--device", "cpu", "--lanes", "2", "--mode",
                       mode, text=DIAMOND)
        assert result.status == 0, f"{mode}: {result.err}"
        assert "5, the order of 4 edges kept in each" in result.out, result.out
        assert re.search(r"^mode +(streams|graph)\b.*[^.]$", result.out, re.MULTILINE), result.out  # and is whole
        assert re.search(r"^makespan +planned [0-9.]+ us, measured [0-9.]+ us", result.out,
                         re.MULTILINE), result.out


def a_saved_plan_is_run_without_planning():
    text = "digraph { a [cost=1]; b [cost=200000]; c [cost=200000]; a -> b; a -> c; b -> d; c -> d }"
    with tempfile.TemporaryDirectory() as folder:
        path, on_cpu = os.path.join(folder, "plan"), ("--device", "cpu", "--frames", "2")
        result = braid("run", "-", *on_cpu, "--lanes", "2", "--save-plan", path, text=text)
        assert result.status == 0, result.err
        for mode in ("streams", "graph"):
            result = braid("run", "-", *on_cpu, "--mode", mode, "--plan", path, text=text)
            assert result.status == 0, result.err
            assert "plan       2 lanes" in result.out and "the order of 4 edges kept in each" in result.out, result.out
        result = braid("run", "-", *on_cpu, "--plan", path, text=text.replace("a -> b;", ""))
        assert result.status == 2 and "is of another graph: of digest" in result.err, result.err
        result = braid("run", "-", *on_cpu, "--plan", path, text=text.replace("cost=200000", "cost=300000", 1))
        assert "a cost or a number of threads in region 0 differs" in result.err, result.err
        result = braid("run", "-", *on_cpu, "--save-plan", os.path.join(folder, "none", "plan"), text=text)
        assert result.status and "cannot be written" in result.err, result.err
        for option in (("--lanes", "2"), ("--tuned", path), ("--report", path + ".html")):
            result = braid("run", "-", *on_cpu, "--plan", path, *option, text=text)
            assert result.status == 2 and f"so {option[0]} does not go with it" in result.err, result.err
        for option in ("--plan", "--save-plan"):
            result = braid("run", "-", *on_cpu, "--places", "2", option, path, text=text)
            assert result.status == 2 and "are of one device" in result.err, result.err


def what_leads_to_a_later_frame_orders_nothing_of_one():
    text = """digraph {
      resources="state:64*2 ^0:1"; read [cost=2000, accesses="r1"]; write [cost=2000, accesses="w0"];
      write -> read [implied=frame]; read -> late
    }"""
    result = braid("run", "-", "--frames", "20", "--device", "cpu", "--lanes", "2", text=text)
    assert result.status == 0, result.err
    assert "the order of 1 edge kept in each" in result.out, result.out


def one_of_a_thing_is_not_many():
    result = braid("run", "-", "--frames", "1", "--device", "cpu", "--lanes", "1",
                   text="digraph { a -> b }")
    for line in (r"graph +2 nodes, 1 edge; .*", r"plan +1 lane, 0 waits, 0 records",
                 r"frames +1, the order of 1 edge kept in each"):
        assert re.search(f"^{line}$", result.out, re.MULTILINE), result.out


# Buffers without memory have addresses from 4096 on. The cost of a busy node, or its number, may be one of these.
def a_number_of_a_busy_node_is_no_address():
    graphs = ["digraph { cost_unit=ns; resources=\"x:4 y:65536\"; a [cost=30000, accesses=w0]; b [cost=10, accesses=w1] }",
              "digraph { cost_unit=ns; resources=\"x:65536\"; reads [accesses=w0]; %s }" %
              " ".join(f"n{i} [cost=1]" for i in range(4200))]
    for text in graphs:
        result = braid("run", "-", "--frames", "1", "--device", "cpu", "--lanes", "1", text=text)
        assert result.status == 0, result.err
        result = braid("tune", "-", "--budget", "1000", "--device", "cpu", text=text)
        assert result.status == 0, result.err


def the_json_has_the_figures():
    result = braid("run", "-", "--frames", "3", "--device", "cpu:0", "--workers", "2", "--json",
                   "-", text=DIAMOND)
    assert result.status == 0, result.err
    found = json.loads(result.out)
    assert found["kind"] == "run" and found["backend"] == "cpu" and found["frames"] == 3
    measured = found["measured_makespan_ns"]
    assert 4000 <= measured["least"] <= measured["median"] <= measured["most"]


# Two of a chain's buffers are alive at once; the side branch's lives beside all of them.
TRANSIENTS = """digraph {
  resources="x:1000:256@none y:3000:256@none z:2000:256@none side:100:256@none out:8";
  a [cost=5, accesses="w0 w3"]; b [cost=5, accesses="r0 w1"]; c [cost=5, accesses="r1 w2"];
  d [cost=5, accesses="r2 r3 w4"];
}"""


def memory_of_transient_buffers_is_told():
    found = json.loads(braid("run", "-", "--frames", "1", "--device", "cpu", "--json", "-", text=TRANSIENTS).out)
    assert found["unshared_transient_bytes"] == 1024 + 3072 + 2048 + 256
    assert found["transient_bytes"] == 3072 + 2048 + 256
    lines = braid("run", "-", "--frames", "1", "--device", "cpu", text=TRANSIENTS).out.splitlines()
    assert "memory     5376 bytes for transient buffers, 6400 unshared" in lines, lines
    result = braid("run", "-", "--frames", "1", "--device", "cpu", text=DIAMOND)
    assert not any(line.startswith("memory") for line in result.out.splitlines()), result.out


def a_transient_buffer_that_is_read_first_is_refused():
    result = braid("run", "-", "--device", "cpu", text='digraph { resources="x:8@none"; early [accesses="r0"]; }')
    assert result.status == 2 and "'x'" in result.err and "early" in result.err, result.err
    assert not result.out and result.err.count("\n") == 1, result.err


def costs_are_scaled():
    text = 'digraph { graph [cost_unit="us"]; a [cost=300]; b [cost=200]; a -> b }'
    least = lambda *options: json.loads(  # noqa: E731
        braid("run", "-", "--frames", "2", "--device", "cpu", "--json", "-", *options,
              text=text).out)["measured_makespan_ns"]["least"]
    assert least() >= 500000
    assert least("--time-scale", "2000") >= 1000000


def times_are_in_one_unit():
    text = 'digraph { graph [cost_unit="us"]; a [cost=20.5]; b [cost=10]; a -> b }'
    found = json.loads(braid("run", "-", "--frames", "1", "--device", "cpu", "--json", "-",
                             text=text).out)
    assert found["cost_unit"] == "ns" and found["work"] == 30500, found
    assert found["measured_makespan_ns"]["least"] >= found["work"] and found["time_scale"] == 1000
    # One behind the other, whatever the lanes: no time of the plan is in the file's unit.
    for name in ("makespan", "bound", "one_lane"):
        assert 30500 <= found[name] < 1000000, (name, found)


def names_of(value):
    """Of the fields of an object, and of all inside."""
    if isinstance(value, dict):
        items = value.items()
    else:
        items = enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        if isinstance(name, str):
            yield name
        yield from names_of(inner)


def every_field_is_listed():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "json.md")
    with open(path, encoding="utf-8") as file:
        listed = set(re.findall(r"`([a-z_]+)`", file.read()))
    for options in ((), ("--profile",), ("--places", "2")):
        result = braid("run", "-", "--frames", "3", "--device", "cpu", "--json", "-", *options,
                       text="digraph { cost_unit=us; a [cost=5]; b [cost=7]; a -> b; a -> c }")
        assert result.status == 0, result.err
        missing = set(names_of(json.loads(result.out))) - listed
        assert not missing, f"{options}: {missing}"


def preludes_and_accesses_are_kept():
    text = """digraph { resources="list"; node [cost=50]; cost_unit=us
      loop [accesses="r0"]; gen [prelude_of=loop, accesses="w0"]; reader [accesses="r0"] }"""
    result = braid("run", "-", "--frames", "3", "--device", "cpu", text=text)
    assert result.status == 0, result.err


def a_cost_of_zero_keeps_no_lane_busy():
    text = "digraph { cost_unit=s; node [cost=0]; a -> b -> c }"
    found = json.loads(braid("run", "-", "--frames", "2", "--device", "cpu", "--json", "-",
                             text=text).out)
    assert found["work"] < 1000000, found


def work_for_days_is_refused():
    result = braid("run", "-", text='digraph { graph [cost_unit="s"]; a [cost=100000]; }')
    assert result.status == 2 and "--time-scale" in result.err, result.err


def first_words(text, *options):
    """The first line that a run writes to standard error; the run is then killed."""
    process = subprocess.Popen([TOOL, "run", "-", "--device", "cpu", *options],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    process.stdin.write(text.encode())
    process.stdin.close()
    watch = threading.Timer(20, process.kill)  # a run that says nothing is ended
    watch.start()
    line = process.stderr.readline().decode()
    watch.cancel()
    process.kill()
    process.wait()
    process.stderr.close()
    return line


def a_long_run_says_so_before_it_starts():
    text = "digraph { cost_unit=s; a [cost=90]; b [cost=1]; c [cost=8]; a -> b; c -> b }"
    for frames, length in (("100", "152 min"), ("1", "91 s"), ("1000", "25 h")):
        line = first_words(text, "--frames", frames)
        many = "" if frames == "1" else "s"
        assert line == (f"braid: at least {length} for {frames} frame{many}; --frames and "
                        "--time-scale shorten it\n"), line
    assert "25 h" in first_words(text, "--frames", "1000000", "--time-scale", "1e6")
    result = braid("run", "-", "--device", "cpu", text=DIAMOND)
    assert result.status == 0 and result.err == "", result.err


def one_device_runs_as_several():
    text = ('digraph { cost_unit=us; resources="a:4096@place2 b:100000 t:64@none";'
            'x [cost=5, accesses="w0 w1"]; y [cost=9, accesses="r0", on=1];'
            'z [cost=9, accesses="rw1 w2", on=2]; u [cost=3, accesses="r2 r1"];'
            'x -> y; x -> z; z -> u }')
    result = braid("run", "-", "--device", "cpu", "--places", "2", "--frames", "20", "--json", "-",
                   text=text)
    assert result.status == 0, result.err
    found = json.loads(result.out)
    assert found["num_places"] == 2 and found["num_copies"] > 0 and found["nodes"] == 4
    report = braid("run", "-", "--device", "cpu", "--places", "2", "--frames", "2", text=text).out
    assert "devices    2, " in report and "kept in each" in report, report
    for option in (("--svg", "-"), ("--costs", "/dev/null")):
        result = braid("run", "-", "--device", "cpu", "--places", "2", *option, text=text)
        assert result.status == 2 and "--places" in result.err, result.err


def nothing_to_run_is_told():
    result = braid("run", "-", text="digraph {}")
    assert result.status == 2 and result.err.startswith("<stdin>:1: no nodes"), result.err


def devices_lists_every_backend():
    result = braid("devices")
    assert result.status == 0, result.err
    for backend in ("cuda", "hip", "cpu"):
        assert re.search(rf"^{backend} +(\d+: |not here: .)", result.out, re.MULTILINE), result.out
    found = json.loads(braid("devices", "--json", "-").out)
    assert [backend["name"] for backend in found["backends"]][-1] == "cpu"
    cpu = found["backends"][-1]["devices"][0]
    assert cpu["units"] >= 2 and cpu["memory_bytes"] > 0 and cpu["bus_id"] == ""


def a_device_that_is_not_here_is_told():
    result = braid("run", "-", "--device", "cuda:900", text=DIAMOND)
    assert result.status == 1 and "cuda" in result.err, result.err


def help_and_version_are_there():
    for arguments in (["help"], ["--help"], ["plan", "--help"], ["run", "--help"],
                      ["devices", "--help"]):
        result = braid(*arguments)
        assert result.status == 0 and result.out.startswith("usage: braid"), arguments
        assert all(len(line) <= 100 for line in result.out.splitlines()), arguments
    assert re.match(r"^braid \d+\.\d+\.\d+\n$", braid("version").out)


if __name__ == "__main__":
    sys.exit(run([
        a_diamond_runs_in_each_mode,
        a_saved_plan_is_run_without_planning,
        what_leads_to_a_later_frame_orders_nothing_of_one,
        one_of_a_thing_is_not_many,
        a_number_of_a_busy_node_is_no_address,
        the_json_has_the_figures,
        memory_of_transient_buffers_is_told,
        a_transient_buffer_that_is_read_first_is_refused,
        costs_are_scaled,
        times_are_in_one_unit,
        every_field_is_listed,
        preludes_and_accesses_are_kept,
        a_cost_of_zero_keeps_no_lane_busy,
        work_for_days_is_refused,
        a_long_run_says_so_before_it_starts,
        one_device_runs_as_several,
        nothing_to_run_is_told,
        devices_lists_every_backend,
        a_device_that_is_not_here_is_told,
        help_and_version_are_there,
    ]))
