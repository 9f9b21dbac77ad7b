#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the sources to a first plan in Python: an archive, a wheel made of that, a fresh environment that it
is installed into; and what is in the wheel. Speaks TAP. check_wheel.py SOURCE_DIR

The wheel is built by the packages of the system, without the network."""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "structure"))
from check_structure import list_files  # noqa: E402

# A build as any other, whose compiler takes a fifth of the time.
QUICKLY = {"setup-args": ["-Doptimization=0"]}
FIRST_PLAN = """
import braid, numpy as np
x = np.zeros(4, "float32")
graph = braid.Graph()
graph.fill(x, 2.0)
graph.host(lambda: np.sqrt(x, out=x), updates=x)
braid.Exec(braid.Device("cpu"), graph).run()
print(braid.__version__, round(float(x.sum()), 3), graph.plan(costs=braid.CostModel()).info.num_lanes)
"""


def run(*command, **more):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**environment, "BRAID_BACKENDS": "cpu"}, **more)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}:\n{done.stdout[-4000:]}")
    return done.stdout


def unpack_sources(source, folder):
    """As an archive of a release has them: no git, nothing built."""
    top = os.path.join(folder, "sources")
    for name in list_files(source):
        os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
        with open(os.path.join(source, name), "rb") as old, open(os.path.join(top, name), "wb") as new:
            new.write(old.read())
        os.chmod(os.path.join(top, name), os.stat(os.path.join(source, name)).st_mode)
    return top


def check_wheel(wheel, version):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"braid-{version}.dist-info/METADATA").decode()
    outside = [name for name in names if not name.startswith(("braid/", f"braid-{version}.dist-info/"))]
    assert not outside, f"the wheel has more than the package: {outside}"
    assert "braid/py.typed" in names and "braid/_binding.pyi" in names and "braid/numba.py" in names, names
    assert re.search(r"^Requires-Dist: cffi", metadata, re.MULTILINE), metadata
    assert re.search(r"^Requires-Python: >=3.9", metadata, re.MULTILINE), metadata


def main():
    source = sys.argv[1]
    for needed in ("mesonpy", "ensurepip", "numpy"):
        if importlib.util.find_spec(needed) is None:
            print(f"python3-{needed.replace('ensurepip', 'venv')} is not installed")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        top = unpack_sources(source, folder)
        wheels = os.path.join(folder, "wheels")
        os.makedirs(wheels)
        run(sys.executable, "-c", f"import mesonpy; mesonpy.build_wheel({wheels!r}, {QUICKLY!r})", cwd=top)
        wheel = os.path.join(wheels, os.listdir(wheels)[0])
        version = os.path.basename(wheel).split("-")[1]
        check_wheel(wheel, version)
        place = os.path.join(folder, "venv")
        venv.create(place, with_pip=True, system_site_packages=True)  # for NumPy and cffi
        python = os.path.join(place, "bin", "python")
        run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", wheel)
        said = run(python, "-c", FIRST_PLAN, cwd=folder)
        assert said == f"{version} 5.657 1\n", said
        for example in ("first_graph.py", "from_code/from_code.py"):
            run(python, os.path.join(top, "examples", example), cwd=folder)
        needed = run("sh", "-c", f"readelf --dynamic {place}/lib/python3*/site-packages/braid/_binding*.so")
        assert "libbraid" not in needed, needed
    print("1..1\nok 1 - from the sources to a first plan in Python")
    return 0


if __name__ == "__main__":
    sys.exit(main())
