#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A first graph: two sums that may be made at once, and a third that needs both. Nobody writes an edge or
a wait: they follow from what the nodes say they touch.

    python3 first_graph.py [PLAN.svg]
"""
import argparse

import numpy as np

import braid

parser = argparse.ArgumentParser()
parser.add_argument("picture", nargs="?", metavar="PLAN.svg", help="where to write the plan as a timeline")
picture = parser.parse_args().picture

source = np.arange(1000)
left, right, total = np.empty_like(source), np.empty_like(source), np.empty_like(source)

graph = braid.Graph()
for array, name in ((source, "in"), (left, "left"), (right, "right"), (total, "sum")):
    graph.buffer(array, name)  # for messages and pictures: a node would declare it as well
graph.host(lambda: np.add(source, source, out=left), name="left", reads=source, writes=left)
graph.host(lambda: np.add(source, source, out=right), name="right", reads=source, writes=right)
last = graph.host(lambda: np.add(left, right, out=total), name="sum", reads=[left, right], writes=total)

plan = graph.plan(costs=braid.CostModel(), max_lanes=2)  # waits are free; for a device: graph.plan(device)
plan.verify()  # proves that the plan keeps every order that the graph asks for
print(plan)
print(plan.explain(graph.nodes[0], last))
if picture:
    with open(picture, "w", encoding="utf-8") as file:
        file.write(plan.svg("first_graph.py"))  # in a notebook, `plan` alone shows it

frame = braid.Exec(braid.Device("cpu"), graph, plan)
for _ in range(100):
    frame.launch()  # replays; does not wait
frame.wait()
print(f"{source[-1]} + {source[-1]} and as much again is {total[-1]}")
assert np.array_equal(total, 4 * source)
