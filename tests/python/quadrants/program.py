# SPDX-License-Identifier: Apache-2.0
"""A program of Quadrants: arrays, loops with bounds that are computed, a graph with a loop, and a sparse tree.

record.braidrec.xz is its record; README.md says how it was made."""
import numpy as np
import quadrants as qd

SIZE = 8
qd.init(arch=qd.cuda, offline_cache=False, device_memory_GB=0.05)

Array = qd.types.ndarray(ndim=1)


@qd.kernel
def scale(x: Array, y: Array):
    for i in range(x.shape[0]):
        y[i] = x[i] * 2.0


@qd.kernel
def shift(x: Array, y: Array):
    for i in range(x.shape[0] - 1):
        y[i] = x[i + 1]


@qd.kernel
def sums(x: Array, y: Array, sums_of: Array, differences: Array):
    for i in range(x.shape[0]):
        sums_of[i] = x[i] + y[i]
    for i in range(y.shape[0]):
        differences[i] = y[i] - x[i]


@qd.kernel(graph=True)
def halve(x: Array, counter: qd.types.ndarray(qd.i32, ndim=0)):
    while qd.graph.do_while(counter):
        for i in range(x.shape[0]):
            x[i] = x[i] * 0.5
        for i in range(1):
            counter[()] = counter[()] - 1


pixels = qd.field(qd.f32)
qd.root.pointer(qd.i, 4).dense(qd.i, 4).place(pixels)


@qd.kernel
def fill(x: Array):
    for i in range(SIZE):
        pixels[i] = x[i]


@qd.kernel
def grow():
    for i in pixels:
        pixels[i] = pixels[i] + 1.0


@qd.kernel
def total(out: Array):
    for i in pixels:
        qd.atomic_add(out[0], pixels[i])


def array(values):
    made = qd.ndarray(qd.f32, shape=(SIZE,))
    made.from_numpy(np.asarray(values, dtype=np.float32))
    return made


first, second = array(np.arange(SIZE)), array(np.arange(SIZE) * 3)
scaled, shifted, added, subtracted, sum_of_all = (array(np.zeros(SIZE)) for _ in range(5))
counter = qd.ndarray(qd.i32, shape=())

for _ in range(5):
    scale(first, scaled)
    shift(second, shifted)
    sums(first, second, added, subtracted)
    counter.from_numpy(np.array(3, dtype=np.int32))
    halve(scaled, counter)
    fill(first)
    grow()
    total(sum_of_all)
assert (scaled.to_numpy() == np.arange(SIZE) / 4).all()
assert (shifted.to_numpy()[:-1] == np.arange(1, SIZE) * 3).all()
assert (added.to_numpy() == np.arange(SIZE) * 4).all()
assert (subtracted.to_numpy() == np.arange(SIZE) * 2).all()
assert sum_of_all.to_numpy()[0] == 5 * (28 + SIZE)
