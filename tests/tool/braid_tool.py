# SPDX-License-Identifier: Apache-2.0
"""Calls the braid tool, and checks its plans with code that shares nothing with the library."""
import json
import os
import subprocess
import sys

TOOL = sys.argv[1]


class Result:
    def __init__(self, process):
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr


def braid(*arguments, text=None, data=None):
    """Runs the tool; `text` or `data` is its standard input."""
    if text is not None:
        data = text.encode()
    process = subprocess.run([TOOL, *arguments], input=data if data is not None else b"",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                             timeout=300)
    result = Result(process)
    result.out = result.out.decode("utf-8", "replace")
    result.err = result.err.decode("utf-8", "replace")
    return result


def plan(text, *options):
    """The plan of a graph, read from the JSON."""
    result = braid("plan", "-", "--json", "-", *options, text=text)
    assert result.status == 0, result.err
    return json.loads(result.out)


def corpus_folder():
    return os.environ.get("BRAID_CORPUS", "")


def check_plan(found, nodes, edges, costs):
    """Every node runs once, every edge is ordered by lanes and waits alone, and the makespan is
    what comes out when each node starts as soon as lane and waits allow."""
    ran = [node for lane in found["lanes"] for node in lane]
    assert sorted(ran) == sorted(nodes), "a node is missing or runs twice"
    before = {node: set() for node in nodes}
    for lane in found["lanes"]:
        for first, second in zip(lane, lane[1:]):
            before[second].add(first)
    for waited_on, waiting in found["waits"]:
        before[waiting].add(waited_on)
    order = topological(nodes, before)
    position = {node: i for i, node in enumerate(order)}
    reach = {}
    for node in order:  # a bit a node: all that must have ended before it starts
        bits = 0
        for other in before[node]:
            bits |= reach[other] | 1 << position[other]
        reach[node] = bits
    for start, end in edges:
        assert reach[end] >> position[start] & 1, f"edge {start} -> {end} is not ordered"
    ends = {}
    for node in order:
        ends[node] = max((ends[other] for other in before[node]), default=0) + costs[node]
    makespan = max(ends.values(), default=0)
    assert makespan <= found["makespan"], f"makespan {found['makespan']}, not {makespan}"
    assert found["makespan"] >= found["bound"]
    path = found["critical_path"]
    assert all((start, end) in set(edges) for start, end in zip(path, path[1:]))
    assert len({waited_on for waited_on, _ in found["waits"]}) == found["records"]


def topological(nodes, before):
    left = {node: len(before[node]) for node in nodes}
    after = {node: [] for node in nodes}
    for node in nodes:
        for other in before[node]:
            after[other].append(node)
    ready = [node for node in nodes if left[node] == 0]
    for node in ready:
        for other in after[node]:
            left[other] -= 1
            if left[other] == 0:
                ready.append(other)
    assert len(ready) == len(nodes), "lanes and waits wait for each other in a circle"
    return ready
