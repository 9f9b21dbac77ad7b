# SPDX-License-Identifier: Apache-2.0
"""A table of Triton kernels of two libraries, and of those that `braid kernel` proves.

    accesses_of_triton.py build/tools/braid/braid FOLDER [liger] [fla]

Needs torch, triton, liger-kernel, fla-core, flash-linear-attention, einops and packaging, and no GPU: tensors are on the CPU,
each launch compiles the kernel for sm_90, and none runs. FOLDER gets the PTX. FLA's functions take tensors whose shapes are
guessed from the names of their arguments: those that want others are left out. All of FLA takes an hour.
"""
import collections
import glob
import hashlib
import importlib
import inspect
import itertools
import json
import os
import pkgutil
import subprocess
import sys
import types

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction


class NoDevice:
    """What Triton asks of a device when it compiles."""

    utils = types.SimpleNamespace(get_device_properties=lambda device: {
        "max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32})

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=0):
        return 0

    def get_active_torch_device(self):
        return torch.device("cpu")

    def get_device_capability(self, device=0):
        return 9, 0


def keep_texts(folder):
    """Each launch writes the kernel's PTX to FOLDER/LIBRARY__KERNEL_DIGEST.ptx, and returns the name of the library to set."""
    library, compile_only = [""], JITFunction.run

    def run(self, *args, grid, warmup, **kwargs):
        kernel = compile_only(self, *args, grid=grid, warmup=True, **kwargs)
        text = kernel.asm["ptx"]
        name = f"{library[0]}__{self.fn.__name__}_{hashlib.sha1(text.encode()).hexdigest()[:8]}.ptx"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return kernel

    def run_first(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        return self.fn.run(*args, **kwargs, **self.prune_configs(kwargs)[0].all_kwargs())

    driver.set_active(NoDevice())
    JITFunction.run, Autotuner.run = run, run_first
    torch.cuda.get_device_capability = lambda *device: (9, 0)
    torch.cuda.get_device_name = lambda *device: "NVIDIA H200"
    return library


def try_call(name, call, *args, **kwargs):
    """A call and its backward pass. It tells whether both came to their end."""
    try:
        made = call(*args, **kwargs)
        made = [one for one in (made if isinstance(made, (tuple, list)) else [made])
                if isinstance(one, torch.Tensor) and one.requires_grad]
        if made:
            sum(one.float().sum() for one in made).backward()
        return True
    except Exception as error:  # what ran before it has compiled its kernels
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", file=sys.stderr)
        return False


def liger():
    import liger_kernel.ops as ops

    def some(*sizes):
        return torch.randn(*sizes, requires_grad=True)

    rows, width, words = 64, 512, 1000
    labels, x, target = torch.randint(0, words, (rows,)), (rows, width), torch.randn(rows, width)
    turns, angles = torch.randn(1, 64, 64), torch.randn(3, 2, 64, 64)
    calls = {
        "LayerNorm": (some(*x), some(width), some(width), 1e-5), "RMSNorm": (some(*x), some(width), 1e-5),
        "FusedAddRMSNorm": (some(*x), some(*x), some(width), 1e-5),
        "GroupNorm": (some(4, 32, width), some(32), some(32), 32, 8, 1e-5), "PolyNorm": (some(*x), some(3), some(1)),
        "CrossEntropy": (some(rows, words), labels, None, -100), "Softmax": (some(*x),), "Sparsemax": (some(*x), -1),
        "SiLUMul": (some(*x), some(*x)), "GELUMul": (some(*x), some(*x)), "ReLUSquared": (some(*x),),
        "KLDivLoss": (some(*x), target), "JSD": (some(*x), target), "TVDLoss": (some(*x), target),
        "Rope": (some(2, 8, 64, 64), some(2, 4, 64, 64), turns, turns),
        "Qwen2VLMRope": (some(2, 8, 64, 64), some(2, 4, 64, 64), angles, angles, [8, 12, 12]),
        "FusedLinearCrossEntropy": (some(*x), some(words, width), labels),
        "FusedLinearJSD": (some(*x), some(words, width), target, torch.randn(words, width), None, .5, -100, 1.0),
        "MultiTokenAttention": (some(2, 4, 32, 32), some(4, 4, 3, 3), some(4), 1, 1, 1, 1, False),
        "FusedNeighborhoodAttention": (some(2, 4, 64, 32), some(2, 4, 64, 32), some(2, 4, 64, 32), 7, 1),
    }
    for name, args in calls.items():
        try_call(name, getattr(ops, f"Liger{name}Function").apply, *args)


def fla():
    import fla.ops

    batch, length, heads, width = 1, 128, 2, 64
    shapes = {"g": ((batch, length, heads, width), (batch, length, heads)),
              "beta": ((batch, length, heads), (batch, length, heads, width)), "u": ((heads, width),)}

    def some(name, shape):
        if name == "output_final_state":
            return True
        made = torch.randn(shape, dtype=torch.bfloat16)
        return (torch.nn.functional.logsigmoid(made.float()) if name == "g" else made).requires_grad_()

    for module in pkgutil.iter_modules(fla.ops.__path__):
        for name, call in sorted(vars(importlib.import_module(f"fla.ops.{module.name}")).items()):
            if not name.startswith(("chunk_", "fused_", "parallel_")) or not callable(call):
                continue
            formals = inspect.signature(call).parameters
            wanted = [formal.name for formal in formals.values() if formal.default is formal.empty and formal.kind in (1, 3)]
            wanted += [more for more in ("g", "beta", "output_final_state") if more in formals and more not in wanted]
            for chosen in itertools.product(*(shapes.get(one, ((batch, length, heads, width),)) for one in wanted)):
                lengths = [{}] + [{"cu_seqlens": torch.tensor([0, 64, 128])}] * ("cu_seqlens" in formals)
                if all([try_call(name, call, **dict(zip(wanted, map(some, wanted, chosen))), **more) for more in lengths]):
                    break


def tell(tool, folder):
    counts, unproven = collections.defaultdict(lambda: [0, 0]), []
    for path in sorted(glob.glob(os.path.join(folder, "*.ptx"))):
        name = os.path.basename(path).split("__")[0]
        told = subprocess.run([tool, "kernel", "--json", "-", path], stdout=subprocess.PIPE, check=True)
        for kernel in json.loads(told.stdout)["kernels"]:
            counts[name][0] += 1
            counts[name][1] += kernel["proven"]
            if not kernel["proven"]:
                unproven.append(f"{os.path.basename(path)}: {kernel['not_proven']}")
    print("| library | kernels | proven |\n|---|---|---|")
    for name, (num, proven) in sorted(counts.items()):
        print(f"| {name} | {num} | {proven} |")
    print("\n".join(unproven))


def main():
    tool, folder, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    library = keep_texts(folder)
    for name in names:
        library[0] = name
        {"liger": liger, "fla": fla}[name]()
    tell(tool, folder)


if __name__ == "__main__":
    main()
