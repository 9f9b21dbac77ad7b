#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The step of from_code.c in Python: arrays as arguments leave their accesses to the kernel's code.

    python3 from_code.py [PLAN.svg]

Without a GPU the step is planned and drawn, not run."""
import argparse
import pathlib
import sys

import numpy as np

import braid

NUM, THREADS, FRAMES = 1 << 14, 256, 20

parser = argparse.ArgumentParser()
parser.add_argument("picture", nargs="?", metavar="PLAN.svg", help="where to write the plan as a timeline")
picture = parser.parse_args().picture
text = (pathlib.Path(__file__).parent / "pond.ptx").read_text(encoding="utf-8")

height, force, speed, white, heat, following, image = fields = [np.zeros(NUM, "int32") for _ in range(7)]
height[np.arange(NUM) % 4096 < 1024] = 4000
heat[:] = np.arange(NUM) % 1000
expected = [field.astype("int64") for field in fields]
graph = braid.Graph()
try:
    device = braid.Device("cuda")
    height, force, speed, white, heat, following, image = (graph.device_buffer(device, field) for field in fields)
except braid.UnavailableError:
    device = None


def launch(name, *args):
    kernel = braid.Kernel(name, cuda=text, types=[braid.Pointer] * len(args) + [np.int32])
    graph.kernel(kernel, NUM // THREADS, [*args, NUM], block=THREADS, cost_ns=1000)


launch("slope", height, force)
launch("push", speed, force)
launch("rise", height, speed)
launch("foam", white, speed)
launch("warm", heat, following)
launch("cool", heat, following)
launch("draw", image, height, white, heat)

plan = graph.plan(costs=braid.CostModel())  # waits are free
plan.verify()
info = plan.info
print(f"{info.num_nodes} kernels on {info.num_lanes} lanes: longest path {info.critical_path_ns // 1000} us, "
      f"sum {info.work_ns // 1000} us")
if picture:
    with open(picture, "w", encoding="utf-8") as file:
        file.write(plan.svg("from_code.py"))
if device is None:
    sys.exit(print("planned only: there is no CUDA here"))


def neighbours(field):
    return np.concatenate([field[:1], field[:-1]]) + np.concatenate([field[1:], field[-1:]])


def divide(field, by):
    """As C does, towards 0."""
    return np.sign(field) * (np.abs(field) // by)


frame = braid.Exec(device, graph)
for _ in range(FRAMES):
    frame.launch()
frame.wait()
found = np.zeros(NUM, "int32")
image.copy_to(found)
height, force, speed, white, heat, following, image = expected
for _ in range(FRAMES):
    speed += divide(neighbours(height) - 2 * height, 4)
    height += speed
    white = divide(white, 2) + (speed > 8) * 100
    following = divide(neighbours(heat) + 2 * heat, 4)
    heat = following - divide(following, 64)
print(f"{FRAMES} frames: the picture adds up to {found.sum(dtype='int64')}")
assert np.array_equal(found, height + white + heat)
