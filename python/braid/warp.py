# SPDX-License-Identifier: Apache-2.0
"""Programs of Warp: braid.warp.optimize captures the launches of a function, and plays them by a plan of Braid's."""
from __future__ import annotations

import concurrent.futures
import os
import re
import tempfile
from typing import Any, Callable, Dict, List, Optional

from braid._device import Device
from braid._errors import refuse
from braid._exec import Exec
from braid._graph import Graph
from braid._import import Imported
from braid._runner import Runner, RunnerInfo

# Warp fills arrays by kernels of its own, whose PTX it does not have. They write to what their first parameter points to.
_FILL = """
.visible .entry {name}(.param .u64 to, .param {value} value, .param .u64 num)
{{
.reg .u64 %d;
ld.param.u64 %d, [to];
st.global.u8 [%d], 0;
ret;
}}
"""
_FILLS = ".version 7.0\n.target sm_70\n.address_size 64\n" + "".join(
    _FILL.format(name=f"_Z20memtile_value_kernelI{letter}EvPT_S0_m", value=value)
    for letter, value in (("s", ".u16"), ("i", ".u32"), ("l", ".u64")))

_devices: Dict[int, Device] = {}  # by the address of Warp's context


class Optimized:
    """A function's launches as a plan. A call plays them once on Warp's current stream. Made by braid.warp.optimize."""

    def __init__(self, imported: Imported, device: Any, captured: Any):
        import warp

        self.imported = imported
        self._device = device
        self._on: Any = None  # Warp's stream of the call at hand
        self._captured = captured  # with its modules and arrays
        self._runner = Runner(_adopt(device), imported.graph,
                              as_before=lambda stream: warp.capture_launch(captured, stream=self._on))

    def __call__(self, stream: Any = None) -> None:
        """Runs the launches, after all earlier work on `stream` and before all later. None is Warp's current stream. About
        150 calls try ways to play, Warp's own graph among them, and then all take the fastest."""
        self._on = self._device.stream if stream is None else stream
        self._runner.launch(int(self._on.cuda_stream or 0))  # Warp's null stream has None

    def wait(self) -> None:
        """Blocks until the last call's work has ended."""
        self._runner.wait()

    @property
    def graph(self) -> Graph:
        return self.imported.graph

    @property
    def exec(self) -> Optional[Exec]:
        """The exec that calls play by from now on. None while they try ways, and where Warp's own graph is the fastest."""
        return self._runner.exec

    @property
    def info(self) -> RunnerInfo:
        """How calls play, and the time of each way that was tried."""
        return self._runner.info

    @property
    def report(self) -> Dict[str, Any]:
        """Nodes, orders, and each node that keeps all its captured orders with the reason."""
        return self.imported.report

    @property
    def text(self) -> str:
        """The same as `report` and `info`, to read."""
        info = self.info
        return f"{self.imported.text}plays by: {info.way}{'' if info.is_chosen else ', and tries others'}\n" \
               f"tried: {info.reason or 'nothing yet'}\n"


def optimize(function: Callable[[], Any], device: Any = None, *, is_unwatched: bool = False) -> Optimized:
    """Captures function() with Warp on a CUDA device, and returns a callable that plays its launches. The function runs
    once, under capture, so its launches do not run yet. Braid reads the PTX of Warp's modules. Where Warp has loaded machine
    code, Warp makes the PTX once more. `is_unwatched`: nobody looks at pinned or managed memory before a call has ended.
    A function that Warp cannot capture, or Braid cannot import, raises that error."""
    import warp

    on = warp.get_device(device)
    if not on.is_cuda:
        raise refuse(f"a plan needs a CUDA device, and Warp's device is '{on}'")
    with warp.ScopedCapture(device=on) as capture:
        function()
    texts = [_FILLS, *_texts_of(capture.graph.module_execs)]
    imported = Imported(_adopt(on), int(capture.graph.graph.value), texts=texts, is_unwatched=is_unwatched)
    return Optimized(imported, on, capture.graph)


def _adopt(device: Any) -> Device:
    context = int(getattr(device.context, "value", device.context))
    if context not in _devices:
        _devices[context] = Device.adopt_cuda(context)
    return _devices[context]


# ---- texts of Warp's modules ----


def _texts_of(modules: Any) -> List[str]:
    """PTX of loaded modules. One without PTX is left out: its kernels keep their orders."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(_text_of, list(modules)) if text is not None]


def _text_of(loaded: Any) -> Optional[str]:
    path = str(loaded.binary_path or "")
    if path.endswith(".cubin"):
        path = _compile(loaded, path)
    if not path.endswith(".ptx"):
        return None
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _compile(loaded: Any, binary: str) -> str:
    """The path of PTX beside machine code, made once by Warp from the same kernels; "" if nobody knows that they are the
    same, or Warp cannot make it. A name without the hash of its kernels (strip_hash) tells of none."""
    path = re.sub(r"\.cubin$", ".braid.ptx", binary)
    if loaded.module_hash.hex()[:7] not in os.path.basename(binary):
        return ""
    if os.path.exists(path) and os.path.getmtime(path) >= os.path.getmtime(binary):
        return path
    module = next((kernel.module for kernel in loaded.kernel_names), None)
    if module is None or module.get_module_hash(loaded.block_dim) != loaded.module_hash:
        return ""
    options = module.resolved_options[loaded.block_dim]
    if options.get("extra_cuda_include_dirs"):  # their files are not in the hash
        return ""
    try:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
            module._compile(loaded.device, os.path.join(folder, "made"), output_name="made.ptx",
                            output_arch=loaded.compile_arch, use_ptx=True, options=options)
            os.replace(os.path.join(folder, "made", "made.ptx"), path)
    except Exception:  # a full or closed folder, or no compiler: Warp raises no narrower class
        return ""
    return path
