# SPDX-License-Identifier: Apache-2.0
"""Steps of the robot go2 in Genesis, and the same step as a recorded frame that Braid runs in Genesis' process, by turns.

    recorded_genesis.py BRAID [--envs N...] [--steps K] [--graphs on|off|both] [--checked K]

Needs genesis-world, torch and a CUDA device. Genesis' solver is a loop in a graph, or its iterations are launched one by one
(QD_GRAPH=0), so that a frame has no loop. A time is that of K steps and a wait, as the median of rounds. Each way also runs alone in
a process, and the digest of positions and velocities after --checked steps is compared with that of Genesis. If one differs, the
bench fails.
"""
import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

POSE = [0.0, 0.0, 0.0, 0.0, 0.8, 0.8, 1.0, 1.0, -1.5, -1.5, -1.5, -1.5]
WARM = 40


def build(num_envs):
    import genesis as gs  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel
    from genesis.vis.rasterizer import Rasterizer  # pylint: disable=import-outside-toplevel

    def build_nothing(rasterizer):  # else it wants a display also for a scene that nobody looks at
        rasterizer.visualizer = rasterizer._context.visualizer if rasterizer._context is not None else None

    Rasterizer.build = build_nothing
    gs.init(backend=gs.cuda, seed=0, logging_level="warning", use_deterministic_algorithms=True)
    scene = gs.Scene(rigid_options=gs.options.RigidOptions(dt=0.01), show_viewer=False)
    scene.add_entity(gs.morphs.Plane())
    robot = scene.add_entity(gs.morphs.URDF(file="urdf/go2/urdf/go2.urdf"), vis_mode="collision")
    scene.build(n_envs=num_envs)
    values = lambda numbers: gs.torch.tensor(numbers, dtype=gs.tc_float, device=gs.device)  # noqa: E731
    robot.control_dofs_position(values(POSE), dofs_idx_local=slice(6, None))
    places = values([[0.0, 0.0, 0.42, 1.0, 0.0, 0.0, 0.0] + POSE]).repeat((num_envs, 1))
    low, high = robot.get_dofs_limit()
    places[:, 7:] = low[6:] + (high[6:] - low[6:]) * values(np.random.RandomState(0).rand(num_envs, robot.n_dofs - 6))
    robot.set_qpos(places)
    return scene, robot


def digest_of(robot):
    state = [robot.get_qpos(), robot.get_dofs_velocity()]
    return hashlib.sha256(b"".join(one.detach().cpu().numpy().tobytes() for one in state)).hexdigest()[:16]


def record_frames(scene, synchronize):
    import braid.record  # pylint: disable=import-outside-toplevel

    synchronize()
    braid.record.frame()
    for _ in range(3):
        scene.step()
        braid.record.frame()
    synchronize()


def ways_of(path, scene):
    """How to play a step. The device is that of PyTorch, whose context Genesis uses."""
    import torch  # pylint: disable=import-outside-toplevel

    import braid.quadrants  # pylint: disable=import-outside-toplevel
    import braid.torch  # pylint: disable=import-outside-toplevel

    device = braid.torch._adopt(torch.device("cuda", 0))
    begin = time.perf_counter()
    frame = braid.quadrants.read(path, device=device)
    print("\n".join("# " + line[:200] for line in frame.text.splitlines()[:9]))
    print("\n".join("# " + line[:200] for line in frame.text.splitlines() if "address is" in line or "keep all" in line))
    ways = {"Genesis": scene.step}
    without = braid.quadrants.read(path, device=device, leaves_constants=True)
    print(f"# kernels that compute the same in each frame: {without.imported.info.num_constants}, left out: "
          f"{without.imported.info.num_left_out}")
    graph, fewer = frame.imported.graph, without.imported.graph
    for name, of, options in (("Braid, one lane", graph, {"max_lanes": 1}), ("Braid", graph, {}), ("Braid, no constants", fewer, {})):
        on = braid.Exec(device, of, **options)
        ways[name] = lambda on=on, _=(frame, without): on.launch(int(torch.cuda.current_stream().cuda_stream))
    print(f"# read and planned in {time.perf_counter() - begin:.2f} s", flush=True)
    return ways


def serve(given):
    import torch  # pylint: disable=import-outside-toplevel

    scene, robot = build(given.envs[0])
    for _ in range(WARM):
        scene.step()
    record_frames(scene, torch.cuda.synchronize)
    ways = ways_of(given.record, scene) if given.record else {"Genesis": scene.step}
    if given.check:
        for _ in range(given.checked):
            ways[given.check]()
        torch.cuda.synchronize()
        print(f"# digest {given.check}: {digest_of(robot)}")
        return
    times = {name: [] for name in ways}
    for _ in range(7):
        for name, play in ways.items():
            begin = time.perf_counter()
            for _ in range(given.steps):
                play()
            torch.cuda.synchronize()
            times[name].append((time.perf_counter() - begin) / given.steps * 1e6)
    for name, found in times.items():
        ratio = statistics.median(one / alone for one, alone in zip(found, times["Genesis"]))
        recorded = "after recording" if given.record else "without the recorder"
        print(f"| {given.envs[0]} | {given.loops} | {name}, {recorded} | {statistics.median(found):.1f} | {ratio:.3f} |", flush=True)


def run(given, num_envs, loops, check, path):
    """Its lines."""
    program = [sys.executable, __file__, "", "--serve", "--envs", str(num_envs), "--steps", str(given.steps)]
    program += ["--checked", str(given.checked), "--loops", loops]
    program += ["--record", path] if path else []
    program += ["--check", check] if check else []
    if path:
        program = [given.braid, "record", "--marks", "--memory", "end:65536", "--out", path, "--", *program]
    environment = dict(os.environ, QD_GRAPH="1" if loops == "on" else "0")
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment)
    lines = done.stdout.splitlines()
    told = [line for line in lines if line.startswith(("#", "|"))] if done.returncode == 0 else lines[-12:]
    print("\n".join(told), flush=True)
    return told


def check_digests(given, num_envs, loops, path):
    """Whether each way ends as Genesis does."""
    found = {}
    for way in ("Genesis", "Braid, one lane", "Braid", "Braid, no constants"):
        prefix = f"# digest {way}: "
        found[way] = [line[len(prefix):] for line in run(given, num_envs, loops, way, path) if line.startswith(prefix)]
    is_equal = all(digest and digest == found["Genesis"] for digest in found.values())
    print(f"# {num_envs} envs, loops {loops}: {given.checked} steps end {'as' if is_equal else 'OTHERWISE THAN'} in Genesis", flush=True)
    return is_equal


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("braid")
    options.add_argument("--envs", type=int, nargs="+", default=[1, 64, 1024, 4096])
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--checked", type=int, default=200)
    options.add_argument("--graphs", choices=("on", "off", "both"), default="both")
    options.add_argument("--keep", action="store_true", help="leave the records in the present folder")
    for name in ("--record", "--check", "--loops"):
        options.add_argument(name, default="", help=argparse.SUPPRESS)
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve(given)
        return 0
    print("| envs | solver's loop | step | us | ratio |\n|---|---|---|---|---|")
    is_equal = True
    with tempfile.TemporaryDirectory() as folder:
        for num_envs in given.envs:
            for loops in ("on", "off") if given.graphs == "both" else (given.graphs,):
                path = os.path.join("." if given.keep else folder, f"go2_{num_envs}_{loops}.braidrec")
                run(given, num_envs, loops, "", "")
                run(given, num_envs, loops, "", path)
                is_equal = check_digests(given, num_envs, loops, path) and is_equal
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
