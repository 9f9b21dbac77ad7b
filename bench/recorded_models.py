# SPDX-License-Identifier: Apache-2.0
"""A table of models of MuJoCo Warp: the kernels of a recorded step, those proven by their PTX, and the orders that stay.

    recorded_models.py BUILD FOLDER [MODEL...]

Needs warp-lang, mujoco and mujoco-warp, and no GPU: the stand-in for CUDA takes the calls and runs no kernel. Models are
names in MuJoCo Warp's test_data; without any, all are tried. FOLDER keeps records and Warp's compiled modules, so that a
model that is there already is not recorded again. Modules for convex collisions take a minute each to compile.
"""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BY_DRIVER = os.path.join(HERE, "..", "tests", "programs", "warp_by_driver.py")
STEPS, MOST_ITERATIONS, SECONDS = 4, 5, 1800


def run_steps(path):
    """The program that is recorded. It knows nothing of Braid."""
    import mujoco
    import mujoco_warp as mjw
    import warp as wp

    wp.config.quiet = True
    wp.config.enable_backward = False
    wp.init()
    host = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(host)
    if host.nkey:
        mujoco.mj_resetDataKeyframe(host, data, 0)
    mujoco.mj_forward(host, data)
    with wp.ScopedDevice("cuda:0"):
        model = mjw.put_model(host)
        model.opt.graph_conditional = False
        model.opt.iterations = min(int(model.opt.iterations), MOST_ITERATIONS)
        model.opt.ls_iterations = min(int(model.opt.ls_iterations), MOST_ITERATIONS)
        state = mjw.put_data(host, data, nworld=1, nconmax=max(64, 2 * data.ncon), njmax=max(192, 2 * data.nefc))
        for _ in range(STEPS):
            mjw.step(model, state)
            wp.synchronize_device()


def record(build, folder, path, to):
    environment = dict(os.environ, BRAID_STANDIN_PTX="3", BRAID_STANDIN_VERSION="13050",
                       LD_LIBRARY_PATH=os.path.join(build, "standin", "cuda"),
                       BRAID_RECORDER=os.path.join(build, "src", "libbraid_record.so"),
                       WARP_CACHE_PATH=os.path.join(folder, "cache"), PYTHONDONTWRITEBYTECODE="1")
    with open(to + ".log", "w", encoding="utf-8") as log:
        try:
            done = subprocess.run([os.path.join(build, "tools", "braid", "braid"), "record", "--out", to + ".unfinished", "--",
                                   sys.executable, BY_DRIVER, os.path.abspath(__file__), "--steps", path],
                                  cwd=os.path.dirname(to), stdout=log, stderr=log, env=environment, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            log.write("it took too long\n")
            return
    if done.returncode == 0:
        os.rename(to + ".unfinished", to)


def row_of(build, name, to):
    """A row, and the kernels that are not proven, with their reasons."""
    if not os.path.exists(to):
        with open(to + ".log", encoding="utf-8") as log:
            lines = [line.strip() for line in log if line.strip()]
        errors = [line for line in lines if "Error" in line and "CUDA error 500" not in line]
        return f"| {name} | | | | | not recorded: {(errors or lines)[-1]} |", []
    told = subprocess.run([os.path.join(build, "tools", "braid", "braid"), "report", "--json", "-", to],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if told.returncode:
        return f"| {name} | | | | | refused: {told.stderr.strip()} |", []
    found = json.loads(told.stdout)
    return (f"| {name} | {found['kernels']} of {len(found['nodes_by_kernel'])} kinds "
            f"| {found['kernels'] - len(found['unproven'])} | {found['kept_orders']:,} of {found['captured_orders']:,} "
            f"| {found['longest_captured']}, then {found['longest_kept']} | |",
            [f"{name}: {one['name']}: {one['reasons']}" for one in found["unproven_functions"]])


def main():
    import mujoco_warp

    build, folder, *names = sys.argv[1:]
    build, folder = os.path.abspath(build), os.path.abspath(folder)
    root = os.path.join(os.path.dirname(mujoco_warp.__file__), "test_data")
    paths = sorted(glob.glob(os.path.join(root, "**", "*.xml"), recursive=True))
    names = names or [os.path.relpath(path, root)[:-len(".xml")] for path in paths]
    os.makedirs(folder, exist_ok=True)
    print("| model | kernels | proven | orders kept | longest path | |\n|---|---|---|---|---|---|")
    unproven = []
    for name in names:
        to = os.path.join(folder, name.replace("/", "_") + ".rec")
        if not os.path.exists(to):
            record(build, folder, os.path.join(root, name + ".xml"), to)
        row, more = row_of(build, name, to)
        unproven += more
        print(row, flush=True)
    for line in unproven:
        print(line)


if __name__ == "__main__":
    if sys.argv[1] == "--steps":
        run_steps(sys.argv[2])
    else:
        main()
