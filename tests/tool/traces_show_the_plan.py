# SPDX-License-Identifier: Apache-2.0
"""--trace: every node is a slice of its lane at its time, every wait a flow; frames are marked."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

GRAPH = """digraph { cost_unit=us; "lo\\"ad" [cost=2]; left [cost=10]; right [cost=9.5]; mix [cost=3];
  pre [prelude_of=left, cost=1]; "lo\\"ad" -> left; "lo\\"ad" -> right; left -> mix; right -> mix }"""


def trace(*options, command="plan", text=GRAPH):
    """The events of the trace, and the JSON that the tool writes beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path, data = os.path.join(folder, "trace.json"), os.path.join(folder, "data.json")
        result = braid(command, "-", "--trace", path, "--json", data, *options, text=text)
        assert result.status == 0, result.err
        with open(path, encoding="utf-8") as file, open(data, encoding="utf-8") as plan:
            return json.load(file)["traceEvents"], json.load(plan)


def slices_of(events, kind):
    """(name, start, end, track) of each slice of a kind, in nanoseconds."""
    found = [event for event in events if event["ph"] == "X" and event["cat"].startswith(kind)]
    return [(event["name"], round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000), event["tid"])
            for event in found]


def every_node_and_wait_is_shown():
    events, plan = trace("--lanes", "2")
    nodes = {event["name"]: event for event in events if event.get("cat", "").startswith("node")}
    assert len(nodes) == 5, nodes
    for task in plan["tasks"]:
        event = nodes[task["name"]]
        assert event["tid"] == task["lane"] + 1 and event["ts"] == task["start"], event
        assert abs(event["ts"] + event["dur"] - task["end"]) < 1e-9, event
    assert nodes["pre"]["args"]["role"] == "prelude of left"
    starts = [event for event in events if event["ph"] == "s"]
    ends = [event for event in events if event["ph"] == "f"]
    assert len(starts) == len(ends) == plan["num_waits"] > 0
    assert {event["id"] for event in starts} == {event["id"] for event in ends}
    assert [event["name"] for event in events if event.get("cat") == "frame"] == ["frame 0"]


def measured_frames_follow_one_another():
    events, _ = trace("--frames", "20", "--device", "cpu", command="run")
    frames, nodes = slices_of(events, "frame"), slices_of(events, "node")
    assert len(frames) == 16  # the last of them
    assert all(one[2] <= two[1] for one, two in zip(frames, frames[1:])), frames
    for _, start, end, _ in frames:
        inside = [node for node in nodes if start <= node[1] and node[2] <= end]
        assert len(inside) == 5, inside
    flows = [event["id"] for event in events if event["ph"] == "s"]
    assert len(flows) == len(set(flows))


def launches_are_shown_beside_what_they_launch():
    events, _ = trace("--frames", "5", "--device", "cpu", "--profile", "--lanes", "2", command="run")
    launches, frames = slices_of(events, "launch"), slices_of(events, "frame")
    assert [launch[0] for launch in launches] == [f"launch {i}" for i in range(5)], launches
    starts = [launch[1] for launch in launches]
    assert starts[0] == 0 and starts == sorted(starts), launches
    assert all(start <= end for _, start, end, _ in launches), launches
    thread, = {launch[3] for launch in launches}
    assert [event["args"]["name"] for event in events if event["ph"] == "M" and event.get("tid") == thread] == ["host"]
    assert all(event["args"]["clock_error_ns"] > 0 for event in events
               if event.get("cat") == "launch" and event["ph"] == "X")
    flows = [event for event in events if event.get("name") == "launch"]
    begun = {event["id"] for event in flows if event["ph"] == "s"}
    ended = {event["id"]: round(event["ts"] * 1000) for event in flows if event["ph"] == "f"}
    assert begun == set(ended) and sorted(ended.values()) == sorted(frame[1] for frame in frames), (flows, frames)


if __name__ == "__main__":
    sys.exit(run([
        every_node_and_wait_is_shown,
        measured_frames_follow_one_another,
        launches_are_shown_beside_what_they_launch,
    ]))
