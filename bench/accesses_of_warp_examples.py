# SPDX-License-Identifier: Apache-2.0
"""A table of the examples that come with Warp: their kernels, and those that `braid kernel` proves.

    accesses_of_warp_examples.py build/tools/braid/braid FOLDER [EXAMPLE...]

Needs warp-lang, usd-core and Pillow, and no GPU: each example runs on the CPU, each launch notes its kernel, and none
runs. Warp then compiles the modules of these kernels to PTX for sm_90. FOLDER keeps the PTX and Warp's other files, so that
a later call compiles less. An example is named as "core/wave". An example ends early if it reads results that no kernel has
made, or if it lacks a file. It then has the kernels that it launched until there. The first call takes some minutes.
"""
import glob
import json
import os
import runpy
import signal
import subprocess
import sys

SECONDS_TO_RUN, SECONDS_TO_COMPILE, MOST_LAUNCHES = 90, 600, 20000
FRAMES = ("--device", "cpu", "--num-frames", "2")
SMALL = ("--device", "cpu", "--resolution", "4", "--headless", "--quiet")
EXAMPLES = {
    **{f"core/{name}": (*FRAMES, "--stage-path", "None") for name in ("wave", "dem", "sph", "mesh", "sample_mesh", "nvdb")},
    **{name: (*FRAMES, "--headless")
       for name in ("core/fluid", "core/graph_capture", "optim/particle_repulsion")},
    **{f"core/{name}": ("--device", "cpu", "--headless", "--width", "64", "--height", "64") for name in ("raymarch", "raycast")},
    "core/mesh_intersect": ("--device", "cpu", "--stage-path", "None"),
    "core/fdtd_3d": ("--device", "cpu", "--headless", "--resolution", "48", "--num-steps", "2"),
    "core/fft_poisson_navier_stokes_2d": ("--device", "cpu", "--headless", "--num-steps", "2"),
    **{f"tile/tile_{name}": ("--device", "cpu", "--headless") for name in ("block_cholesky", "cholesky", "matmul", "mcgp")},
    "tile/tile_nbody": ("--num-frames", "2", "--headless"),  # it refuses the name "cpu"
    "optim/diffray": ("--device", "cpu", "--headless", "--train-iters", "1", "--height", "32"),
    "optim/fluid_checkpoint": (*FRAMES, "--headless", "--train-iters", "1"),
    "optim/navier_stokes_perturbation":
        ("--device", "cpu", "--headless", "--train-iters", "1", "--spin-up-steps", "2", "--lead-steps", "2"),
    **{f"geometry/{name}": ("--device", "cpu", "--num-frames", "1", "--stage-path", "None")
       for name in ("isosurface", "sparse_marching_cubes")},
    "geometry/swept_volume": ("--device", "cpu", "--num-samples", "4", "--stage-path", "None"),
    **{f"fem/{name}": SMALL for name in ("diffusion", "stokes", "adaptive_grid", "deformed_geometry", "magnetostatics",
                                         "mixed_elasticity", "distortion_energy", "streamlines")},
    **{f"fem/{name}": (*SMALL, "--num-frames", "1")
       for name in ("burgers", "shallow_water", "navier_stokes", "convection_diffusion_dg", "taylor_green")},
    "fem/apic_fluid": ("--device", "cpu", "--num-frames", "1", "--stage-path", "None", "--quiet"),
    "fem/nonconforming_contact": ("--device", "cpu", "--resolution", "4", "--headless", "--num-steps", "1"),
}


class Command:
    """What a launch with record_cmd returns."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def note_launches():
    """Each launch of a kernel is noted in place of made."""
    import warp
    import warp._src.tape
    import warp.fem
    import warp.optim.linear
    import warp.sparse
    import warp.utils

    kernels = {}

    def launch(kernel, dim=None, inputs=(), outputs=(), *args, **kwargs):
        if kernel.is_generic:
            kernel = kernel._add_normalized_overload(kernel.infer_argument_types([*inputs, *outputs]))
        kernels[id(kernel)] = kernel
        launch.num += 1
        if launch.num > MOST_LAUNCHES:
            raise TimeoutError(f"{launch.num} launches")
        return Command()

    launch.num = 0
    for name in ("launch", "launch_tiled"):
        old = getattr(warp._src.context, name)
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").startswith("warp") and getattr(module, name, None) is old:
                setattr(module, name, launch)
    return kernels


def tell_failure(what, error):
    print(f"{what}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}", file=sys.stderr)


def run_and_compile(folder, name, path, args):
    """In a process of its own: runs an example, and writes NAME.MODULE_HASH.ptx of each module that it launches."""
    import warp

    def stop(number, frame):
        raise TimeoutError(f"{SECONDS_TO_RUN} s")

    warp.config.quiet = True
    warp.init()
    kernels = note_launches()
    sys.argv = [path, *args]
    sys.path.insert(0, os.path.dirname(path))
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS_TO_RUN)
    try:
        runpy.run_path(path, run_name="__main__")
    except BaseException as error:  # what it launched before counts
        if not isinstance(error, SystemExit) or error.code:
            tell_failure(f"{name} ended early", error)
    signal.alarm(0)
    for module in {id(kernel.module): kernel.module for kernel in kernels.values()}.values():
        made = os.path.join(folder, f"{name.replace('/', '_')}.{module.name[-60:]}_{module.get_module_hash().hex()[:8]}.ptx")
        if os.path.exists(made):
            continue
        try:
            module._compile(None, folder, output_name="unfinished.ptx", output_arch=90, use_ptx=True)
            os.rename(os.path.join(folder, "unfinished.ptx"), made)
        except Exception as error:
            tell_failure(f"{name}: Warp does not compile {module.name}", error)


def read_kernels(tool, folder, name):
    """The kernels of an example: by name, which has the hash of its code, why it is not proven; "" if it is."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, glob.escape(name.replace("/", "_")) + ".*.ptx"))):
        told = subprocess.run([tool, "kernel", "--json", "-", path], stdout=subprocess.PIPE, check=True)
        for kernel in json.loads(told.stdout)["kernels"]:
            why = kernel["not_proven"]
            found[kernel["name"]] = f"{os.path.basename(path)}:{why['line']}: {why['instruction']}: {why['why']}" if why else ""
    return found


def main():
    import warp

    tool, folder, *names = sys.argv[1:]
    tool, folder = os.path.abspath(tool), os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    environment = dict(os.environ, WARP_CACHE_PATH=os.path.join(folder, "cache"), PYTHONDONTWRITEBYTECODE="1")
    everything = {}
    print("| example | kernels | proven |\n|---|---|---|")
    for name in names or EXAMPLES:
        part, short = name.split("/")
        path = os.path.join(os.path.dirname(warp.__file__), "examples", part, f"example_{short}.py")
        try:
            subprocess.run([sys.executable, os.path.abspath(__file__), "--compile", folder, name, path, *EXAMPLES[name]],
                           cwd=folder, env=environment, stdout=subprocess.DEVNULL, timeout=SECONDS_TO_COMPILE, check=False)
        except subprocess.TimeoutExpired:
            print(f"{name}: Warp compiled for more than {SECONDS_TO_COMPILE} s", file=sys.stderr)
        found = read_kernels(tool, folder, name)
        everything.update(found)
        print(f"| {name} | {len(found)} | {list(found.values()).count('')} |", flush=True)
    print(f"| all, each kernel once | {len(everything)} | {list(everything.values()).count('')} |")
    for kernel, why in sorted(everything.items()):
        if why:
            print(f"{kernel}: {why}")


if __name__ == "__main__":
    if sys.argv[1] == "--compile":
        run_and_compile(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
    else:
        main()
