# SPDX-License-Identifier: Apache-2.0
"""Compares the accesses that `braid kernel` reads from MuJoCo Warp's PTX with what its authors and Warp say.

The authors list inputs and outputs of each launch; Warp's code generator notes which arrays a kernel reads and writes.
No device is needed, and no kernel runs: a launch is recorded, and the modules of all its kernels are compiled to PTX.

    pip install mujoco-warp warp-lang mujoco
    accesses_of_mujoco_warp.py build/tools/braid/braid FOLDER [MODEL.xml...]

FOLDER gets the PTX: a text that is there already is not made again. The exit status is 1 if a kernel is not proven, or
if a write of a list is not found. 2026-11-29, MuJoCo Warp 4.0.0: 197 kernels, all proven; of 679 writes in lists 89 are
of arrays that the variant of the kernel does not use, and the others are found.
"""
import json
import os
import re
import subprocess
import sys
import time

import mujoco
import warp as wp

import mujoco_warp as mjw

# Models with convex collisions take long: each pair of shapes is a module of its own.
MODELS = ("humanoid/humanoid.xml", "constraints.xml", "actuation/actuators.xml", "actuation/muscle.xml",
          "actuation/slidercrank.xml", "tendon/wrap.xml", "tendon/fixed.xml")
ARCHITECTURE = 90
MISSED = "a write of a list that is not found, of an array that the kernel uses"
launches = []  # (kernel, values of all arguments, how many of them are inputs)


def record(kernel, dim, inputs=(), outputs=(), *_, **__):
    values = [*inputs, *outputs]
    if kernel.is_generic:
        kernel = kernel._add_normalized_overload(kernel.infer_argument_types(values))
    launches.append((kernel, [isinstance(value, wp.array) for value in values], len(inputs)))


def run_once(condition, while_body, **arguments):
    while_body(**{name: value for name, value in arguments.items() if name != "stream"})


def replace(name, by):
    """In each module of both packages that has it."""
    old = getattr(wp._src.context, name)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith(("warp", "mujoco_warp")) and getattr(module, name, None) is old:
            setattr(module, name, by)


def step(path):
    """Records a step of a model. Its control flow does not depend on data of the device, or it could not be captured."""
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mjw.step(mjw.put_model(model), mjw.put_data(model, data, nworld=1, nconmax=64, njmax=192))


def compile_all(folder):
    """The PTX of all modules of the launches. Returns the paths, and what Warp notes of the arguments of kernels."""
    modules = {}
    for kernel, _, _ in launches:
        modules.setdefault(id(kernel.module), (kernel.module, []))[1].append(kernel)
    print(f"{len(modules)} modules", flush=True)
    paths, notes = [], {}
    for module, kernels in modules.values():
        paths.append(os.path.join(folder, f"{module.name}_{module.get_module_hash().hex()[:8]}.ptx"))
        if not os.path.exists(paths[-1]):
            module._compile(None, folder, output_name="unfinished.ptx", output_arch=ARCHITECTURE, use_ptx=True)
            with open(f"{paths[-1]}.json", "w", encoding="utf-8") as file:
                json.dump({kernel.get_mangled_name(): [(bool(argument.is_read), bool(argument.is_write))
                                                       for argument in kernel.adj.args] for kernel in kernels}, file)
            os.rename(os.path.join(folder, "unfinished.ptx"), paths[-1])
        with open(f"{paths[-1]}.json", encoding="utf-8") as file:  # they are made with the text, and only then
            notes.update(json.load(file))
    return paths, notes


def find_accesses(tool, paths):
    """By the name of the entry, what the tool says of it."""
    found = {}
    for path in paths:
        listed = subprocess.run([tool, "kernel", "--json", "-", path], stdout=subprocess.PIPE, check=True)
        found.update({kernel["name"]: kernel for kernel in json.loads(listed.stdout)["kernels"]})
    return found


def acts_of(kernel, parameter):
    """Of the pointer at the begin of an array: "", "r", "w" or "rw"."""
    for access in kernel["parameters"][parameter]["accesses"]:
        if access["offset"] in (0, None):
            return "r" * access["reads"] + "w" * access["writes"]
    return ""


def is_used(folder, kernel, argument):
    """Whether Warp's C++ of the kernel names an argument behind its signature. A variant may lack all uses of one."""
    with open(os.path.join(folder, kernel.module.get_module_identifier() + ".cu"), encoding="utf-8") as file:
        _, _, text = file.read().partition(f"{kernel.get_mangled_name()}_cuda_kernel_forward(")
    return len(re.findall(rf"\bvar_{argument.label}\b", text.split('extern "C"')[0])) > 1


def compare(folder, found, notes):
    """Differences by kind, each told once a kernel and argument."""
    told = {MISSED: set(), "a write of a list, of an array that the kernel does not use": set(),
            "a write that no list has": set(),
            "a write that Warp notes and the code does not make": set(), "a write that Warp does not note": set(),
            "a read that Warp notes and the code does not make": set()}
    num_lists, num_notes, arrays = 0, 0, set()
    for kernel, are_arrays, num_inputs in launches:
        entry = found[kernel.get_mangled_name() + "_cuda_kernel_forward"]
        if not entry["proven"]:
            continue
        for i, (argument, is_array) in enumerate(zip(kernel.adj.args, are_arrays)):
            if not is_array or (entry["name"], i) in arrays and i < num_inputs:
                continue
            acts, what = acts_of(entry, i + 1), f"{kernel.key}: {argument.label}"
            is_read, is_written = notes[kernel.get_mangled_name()][i]
            is_first = (entry["name"], i) not in arrays
            arrays.add((entry["name"], i))
            num_lists += is_first and i >= num_inputs
            num_notes += is_first and is_written
            is_missed = i >= num_inputs and "w" not in acts
            is_in_code = is_missed and is_used(folder, kernel, argument)
            for kind, differs in zip(told, (is_in_code, is_missed and not is_in_code, i < num_inputs and "w" in acts,
                                            is_written and "w" not in acts, "w" in acts and not is_written,
                                            is_read and "r" not in acts)):
                if differs:
                    told[kind].add(what)
    print(f"{len(arrays)} arrays of kernels: the lists have {num_lists} writes, Warp notes {num_notes}")
    return told


def main():
    tool, folder, *models = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    wp.config.quiet = True
    wp.config.enable_backward = False
    wp.config.verify_autograd_array_access = True  # so that the generator notes accesses
    root = os.path.join(os.path.dirname(mjw.__file__), "test_data")
    replace("launch", record)
    replace("capture_while", run_once)
    for model in models or [os.path.join(root, name) for name in MODELS if os.path.exists(os.path.join(root, name))]:
        before = len(launches)
        try:
            step(model)
            print(f"{os.path.relpath(model, root)}: {len(launches) - before} launches")
        except Exception as error:  # some models need what a recorded launch does not do
            print(f"{os.path.relpath(model, root)}: {len(launches) - before} launches, then {type(error).__name__}: {error}")
    paths, notes = compile_all(folder)
    start = time.monotonic()
    found = find_accesses(tool, paths)
    seconds = time.monotonic() - start
    unproven = [kernel for kernel in found.values() if not kernel["proven"]]
    print(f"{len(paths)} modules, {len(found)} kernels, {len(found) - len(unproven)} proven, in {seconds:.2f} s")
    for kernel in unproven:
        print(f"  not proven: {kernel['name']}: {kernel['not_proven']}")
    told = compare(folder, found, notes)
    for kind, whats in told.items():
        print(f"{len(whats)}: {kind}")
        for what in sorted(whats):
            print(f"  {what}")
    return 1 if unproven or told[MISSED] else 0


if __name__ == "__main__":
    sys.exit(main())
