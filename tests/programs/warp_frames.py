# SPDX-License-Identifier: Apache-2.0
"""A program of Warp: eager frames on two streams with events, then frames that launch a captured graph.

It knows nothing of Braid. The way is "eager" (default) or "captured".
"""
import sys

try:
    import numpy as np
    import warp as wp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

NUM, FRAMES = 64, 8


@wp.kernel
def push(positions: wp.array(dtype=wp.vec3), speeds: wp.array(dtype=wp.vec3), step: float):
    i = wp.tid()
    speeds[i] = speeds[i] + wp.vec3(0.0, -9.81, 0.0) * step
    positions[i] = positions[i] + speeds[i] * step


@wp.kernel
def bounce(positions: wp.array(dtype=wp.vec3), speeds: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    position = positions[i]
    if position[1] < 0.0:
        speed = speeds[i]
        positions[i] = wp.vec3(position[0], -position[1], position[2])
        speeds[i] = wp.vec3(speed[0], -0.5 * speed[1], speed[2])


@wp.kernel
def measure(positions: wp.array(dtype=wp.vec3), heights: wp.array(dtype=float), cells: wp.array(dtype=int)):
    i = wp.tid()
    heights[i] = positions[i][1]
    wp.atomic_add(cells, int(wp.clamp(positions[i][0], 0.0, 7.0)), 1)


@wp.kernel
def blow(gusts: wp.array(dtype=float), step: float):
    i = wp.tid()
    gusts[i] = gusts[i] * (1.0 - step) + step * float(i)


@wp.kernel
def smooth(heights: wp.array(dtype=float), smoothed: wp.array(dtype=float)):
    i = wp.tid()
    left, right = wp.max(i - 1, 0), wp.min(i + 1, heights.shape[0] - 1)
    smoothed[i] = (heights[left] + heights[i] + heights[right]) / 3.0


def expected(positions, speeds):
    """The same by NumPy, in double precision."""
    for _ in range(FRAMES):
        speeds = speeds + np.array((0.0, -9.81, 0.0)) * 0.01
        positions = positions + speeds * 0.01
        below = positions[:, 1] < 0
        positions[below, 1] *= -1
        speeds[below, 1] *= -0.5
    heights = positions[:, 1]
    around = np.concatenate((heights[:1], heights, heights[-1:]))
    return (around[:-2] + around[1:-1] + around[2:]) / 3


def main(way):
    wp.config.quiet = True
    wp.config.enable_backward = False
    wp.init()
    if not wp.get_cuda_devices():
        print("skipped: there is no CUDA device")
        sys.exit(77)
    start = np.random.default_rng(1).random((NUM, 3)) * (8.0, 0.2, 8.0)
    with wp.ScopedDevice("cuda:0"):
        positions = wp.array(start, dtype=wp.vec3)
        speeds = wp.zeros(NUM, dtype=wp.vec3)
        heights, smoothed = wp.zeros(NUM, dtype=float), wp.zeros(NUM, dtype=float)
        cells, gusts = wp.zeros(8, dtype=int), wp.zeros(NUM, dtype=float)
        main_stream, side = wp.get_stream(), wp.Stream()
        moved, measured = wp.Event(), wp.Event()
        wp.load_module(device="cuda:0")

        def frame():
            wp.launch(push, NUM, inputs=[positions, speeds, 0.01])
            wp.launch(bounce, NUM, inputs=[positions, speeds])
            wp.launch(blow, NUM, inputs=[gusts, 0.01])
            main_stream.record_event(moved)
            side.wait_event(moved)
            wp.launch(measure, NUM, inputs=[positions, heights, cells], stream=side)
            wp.launch(smooth, NUM, inputs=[heights, smoothed], stream=side)
            side.record_event(measured)
            main_stream.wait_event(measured)

        if way == "captured":
            with wp.ScopedCapture() as capture:
                frame()
        for _ in range(FRAMES):
            if way == "captured":
                wp.capture_launch(capture.graph)
            else:
                frame()
            wp.synchronize_device()
        assert np.allclose(smoothed.numpy(), expected(start, np.zeros((NUM, 3))), atol=1e-4)
        assert cells.numpy().sum() == NUM * FRAMES
    print(f"{way}: {FRAMES} frames of 5 kernels")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["eager"])
