# SPDX-License-Identifier: Apache-2.0
"""--trace: every node is a slice of its lane at its time, every wait a flow; frames are marked."""
import json
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import Skip, run  # noqa: E402

GRAPH = """digraph { cost_unit=us; "lo\\"ad" [cost=2]; left [cost=10]; right [cost=9.5]; mix [cost=3];
  pre [prelude_of=left, cost=1]; "lo\\"ad" -> left; "lo\\"ad" -> right; left -> mix; right -> mix }"""


def trace(ending, *options, command="plan", text=GRAPH):
    """The trace's bytes and, of a plan, its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path, data = os.path.join(folder, "trace" + ending), os.path.join(folder, "data.json")
        result = braid(command, "-", "--trace", path, "--json", data, *options, text=text)
        assert result.status == 0, result.err
        with open(path, "rb") as file, open(data, encoding="utf-8") as plan:
            return file.read(), json.load(plan)


def events_of_chrome(bytes_):
    return json.loads(bytes_)["traceEvents"]


def fields(message):
    """The fields of a protobuf message as a list of (number, value), by the wire format alone."""
    found, at = [], 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        elif tag & 7 == 1:
            found.append((tag >> 3, int.from_bytes(message[at:at + 8], "little")))
            at += 8
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            length = varint()
            found.append((tag >> 3, message[at:at + length]))
            at += length
    assert at == len(message)
    return found


def slices_of_perfetto(bytes_):
    """(track, name, start, end, flows, ending flows) of each slice, and the names of tracks. As Perfetto reads
    them: sorted by time, what ends a slice ends the one of its track that began last."""
    tracks, slices, events, open_ = {}, [], [], {}
    for number, packet in fields(bytes_):
        assert number == 1
        packet = dict(fields(packet))
        assert packet[10] == 1  # all of one sequence
        if 60 in packet:
            descriptor = dict(fields(packet[60]))
            tracks[descriptor[1]] = descriptor.get(2)
        if 11 in packet:
            events.append((packet[8], fields(packet[11])))
    for time, listed in sorted(events, key=lambda event: event[0]):
        event = dict(listed)
        begun = open_.setdefault(event[11], [])
        if event[9] == 1:
            begun.append((event[23].decode(), time, [value for field, value in listed if field == 47],
                          [value for field, value in listed if field == 48]))
        else:
            assert event[9] == 2
            name, start, flows, ending = begun.pop()
            slices.append((event[11], name, start, time, flows, ending))
    assert not any(open_.values())
    return slices, tracks


def chrome_has_every_node_and_wait():
    bytes_, plan = trace(".json", "--lanes", "2")
    events = events_of_chrome(bytes_)
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


def perfetto_has_every_node_and_wait():
    bytes_, plan = trace(".pftrace", "--lanes", "2")
    slices, tracks = slices_of_perfetto(bytes_)
    assert tracks[2] == b"frames" and tracks[3] == b"lane 0" and tracks[4] == b"lane 1", tracks
    found = {name: slice_ for slice_ in slices for name in [slice_[1]]}
    for task in plan["tasks"]:
        track, _, start, end, _, _ = found[task["name"]]
        assert track == task["lane"] + 3, task
        assert (start, end) == (round(task["start"] * 1000), round(task["end"] * 1000)), task
    begun = [flow for slice_ in slices for flow in slice_[4]]
    ended = [flow for slice_ in slices for flow in slice_[5]]
    assert sorted(begun) == sorted(ended) == list(range(1, plan["num_waits"] + 1))
    assert found["frame 0"][3] == round(plan["makespan"] * 1000)


def measured_frames_follow_one_another():
    bytes_, _ = trace(".pftrace", "--frames", "20", "--device", "cpu", command="run")
    slices, _ = slices_of_perfetto(bytes_)
    frames = [slice_ for slice_ in slices if slice_[1].startswith("frame ")]
    assert len(frames) == 16  # the last of them
    assert all(one[3] <= two[2] for one, two in zip(frames, frames[1:])), frames
    for frame in frames:
        inside = [slice_ for slice_ in slices if frame[2] <= slice_[2] and slice_[3] <= frame[3]]
        assert len(inside) == 6, inside
    flows = [flow for slice_ in slices for flow in slice_[4]]
    assert len(flows) == len(set(flows))


def launches_are_shown_beside_what_they_launch():
    options = ("--frames", "5", "--device", "cpu", "--profile", "--lanes", "2")
    bytes_, _ = trace(".pftrace", *options, command="run")
    slices, tracks = slices_of_perfetto(bytes_)
    host = [slice_ for slice_ in slices if tracks[slice_[0]] == b"host"]
    frames = [slice_ for slice_ in slices if tracks[slice_[0]] == b"frames"]
    assert [slice_[1] for slice_ in host] == [f"launch {i}" for i in range(5)], host
    for launch, frame in zip(host, frames):
        assert launch[4] == frame[5] and len(launch[4]) == 1, (launch, frame)
        assert launch[2] <= launch[3], launch
    assert host[0][2] == 0 and [slice_[2] for slice_ in host] == sorted(slice_[2] for slice_ in host), host
    events = events_of_chrome(trace(".json", *options, command="run")[0])
    launches = [event for event in events if event.get("cat") == "launch" and event["ph"] == "X"]
    thread, = {event["tid"] for event in launches}
    assert [event["args"]["name"] for event in events if event["ph"] == "M" and event.get("tid") == thread] == ["host"]
    assert len(launches) == 5 and all(event["args"]["clock_error_ns"] > 0 for event in launches)
    flows = [event for event in events if event.get("name") == "launch"]
    assert len([event for event in flows if event["ph"] == "s"]) == len([event for event in flows if event["ph"] == "f"]) == 5


def perfettos_own_reader_takes_it():
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError as error:
        raise Skip(f"Perfetto's Python package is not here (pip install perfetto): {error}") from error
    found = perfetto_trace_pb2.Trace()
    found.ParseFromString(trace(".pftrace")[0])
    events = [packet.track_event for packet in found.packet if packet.HasField("track_event")]
    begin = perfetto_trace_pb2.TrackEvent.TYPE_SLICE_BEGIN
    names = [event.name for event in events if event.type == begin]
    assert sorted(names) == sorted(["frame 0", 'lo"ad', "left", "right", "mix", "pre"]), names
    assert not any(packet.ListFields()[0][0].name == "for_testing" for packet in found.packet)


def perfettos_trace_processor_finds_no_error():
    try:
        from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
    except ImportError as error:
        raise Skip(f"Perfetto's Python package is not here (pip install perfetto): {error}") from error
    program = shutil.which("trace_processor_shell")
    if not program:
        raise Skip("no trace_processor_shell in PATH; the Python package would fetch it, tests do not")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pftrace")
        bytes_, plan = trace(".pftrace", "--lanes", "2")
        with open(path, "wb") as file:
            file.write(bytes_)
        processor = TraceProcessor(trace=path, config=TraceProcessorConfig(bin_path=program))
        errors = list(processor.query("select name from stats where severity = 'error' and value > 0"))
        assert not errors, [row.name for row in errors]
        assert [row.n for row in processor.query("select count(*) n from slice")] == [6]
        assert [row.n for row in processor.query("select count(*) n from flow")] == [plan["num_waits"]]
        processor.close()


def names_that_are_not_utf8_stay_readable():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pftrace")
        result = braid("plan", "-", "--trace", path, data=b'digraph { "caf\xe9" }')
        assert result.status == 0, result.err
        with open(path, "rb") as file:
            slices, _ = slices_of_perfetto(file.read())
        assert "caf\\xe9" in [slice_[1] for slice_ in slices], slices


if __name__ == "__main__":
    sys.exit(run([
        chrome_has_every_node_and_wait,
        perfetto_has_every_node_and_wait,
        measured_frames_follow_one_another,
        launches_are_shown_beside_what_they_launch,
        perfettos_own_reader_takes_it,
        perfettos_trace_processor_finds_no_error,
        names_that_are_not_utf8_stay_readable,
    ]))
