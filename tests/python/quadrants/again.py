# SPDX-License-Identifier: Apache-2.0
"""A program of Quadrants that runs a recorded frame with a loop in its own process, with other numbers of iterations.

again.py RECORD, which `braid record --marks --from 0 --frames 5` writes while this runs."""
import ctypes
import sys

import numpy as np
import quadrants as qd

import braid
import braid.quadrants
import braid.record

SIZE = 8
ctypes.CDLL("libcuda.so.1")  # Quadrants opens the driver by another name alone, and the mark would find none
qd.init(arch=qd.cuda, offline_cache=False, device_memory_GB=0.05)

Array = qd.types.ndarray(ndim=1)


@qd.kernel
def scale(x: Array, y: Array):
    for i in range(x.shape[0]):
        y[i] = x[i] * 2.0


@qd.kernel(graph=True)
def halve(x: Array, counter: qd.types.ndarray(qd.i32, ndim=0)):
    while qd.graph.do_while(counter):
        for i in range(x.shape[0]):
            x[i] = x[i] * 0.5
        for i in range(1):
            counter[()] = counter[()] - 1


first, scaled = (qd.ndarray(qd.f32, shape=(SIZE,)) for _ in range(2))
counter = qd.ndarray(qd.i32, shape=())


def begin(iterations):
    first.from_numpy(np.arange(SIZE, dtype=np.float32))
    scaled.from_numpy(np.zeros(SIZE, dtype=np.float32))
    counter.from_numpy(np.array(iterations, dtype=np.int32))
    qd.sync()


for frame in range(3):
    begin(3 + frame)
    braid.record.frame()
    scale(first, scaled)
    halve(scaled, counter)
    qd.sync()
    braid.record.frame()

device = braid.Device("cuda")
found = braid.quadrants.read(sys.argv[1], device=device)
assert found.imported.info.num_conditionals == 1 and found.imported.info.num_unproven == 0, found.text
for mode in ("streams", "graph"):
    step = braid.Exec(device, found.imported.graph, mode=mode)
    for iterations in (1, 2, 7):
        begin(iterations)
        step.launch()
        step.wait()
        assert (scaled.to_numpy() == np.arange(SIZE) * 2 / 2 ** iterations).all(), (mode, iterations, scaled.to_numpy())
        assert counter.to_numpy() == 0
print("all iterations are those of the counter")
