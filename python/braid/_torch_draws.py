# SPDX-License-Identifier: Apache-2.0
"""Random numbers of functions that PyTorch captured. Kernels that draw them read a seed and an offset from memory, which PyTorch
fills before each replay of its graph. Then it advances its generator by the numbers that the graph draws."""
from __future__ import annotations

import ctypes
import weakref
from typing import Any, Tuple

from braid._errors import UnsupportedError
from braid._torch_plays import OwnGraph

_LIKE_PYTORCH = 1 | 8  # cuGraphInstantiate frees memory on launch, and uses priorities of nodes
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


def _call(name: str, *args: Any) -> None:
    result = getattr(ctypes.CDLL("libcuda.so.1"), name)(*args)
    if result:
        raise UnsupportedError(f"{name} returns {result}, so that the function's random numbers stay unknown")


def _destroy(exec: int) -> None:
    driver, mode = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(_RELAXED)
    driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))  # this thread may be capturing
    driver.cuGraphExecDestroy(ctypes.c_void_p(exec))
    driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


def take(captured: Any, plain: Any, device: Any) -> Tuple[Any, Any]:
    """PyTorch's graph as calls play it, and the Draws of the imported graph, which fill before each play of a plan. None: it
    draws no numbers. `plain` is another graph of the same function, which fills by itself, or None."""
    whole = _Whole(captured, device) if plain is None else None
    draws = Draws(captured, device)
    fill = draws.begin if draws.any else None
    return plain or OwnGraph(whole, fill), draws if draws.any else None


class _Whole:
    """A graph as it was captured, which is played without its prologue."""

    def __init__(self, captured: Any, device: Any):
        made = ctypes.c_void_p()
        _call("cuGraphInstantiateWithFlags", ctypes.byref(made), ctypes.c_void_p(captured.raw_cuda_graph()),
              ctypes.c_uint64(_LIKE_PYTORCH))
        self._exec, self._device = made, device
        weakref.finalize(self, _destroy, made.value or 0).atexit = False

    def replay(self) -> None:
        import torch

        _call("cuGraphLaunch", self._exec, ctypes.c_void_p(torch.cuda.current_stream(self._device).cuda_stream))


class Draws:
    """The prologue of a captured graph, which loses its nodes: a replay fills the memory and advances the generator, and runs no
    kernel. All graphs of a generator may share the memory, or each may have its own: that depends on PyTorch's version."""

    def __init__(self, captured: Any, device: Any):
        import torch

        graph, num = ctypes.c_void_p(captured.raw_cuda_graph()), ctypes.c_size_t()
        _call("cuGraphGetNodes", graph, None, ctypes.byref(num))
        nodes = (ctypes.c_void_p * num.value)()
        _call("cuGraphGetNodes", graph, nodes, ctypes.byref(num))
        for node in nodes:
            _call("cuGraphDestroyNode", ctypes.c_void_p(node))
        captured.instantiate()
        self._captured, self._generator = captured, torch.cuda.default_generators[device.index]
        before = self._generator.get_offset()
        with torch.inference_mode():  # in which any tensor may be written
            self.begin()
        self.any: bool = bool(self._generator.get_offset() != before)
        self._generator.set_offset(before)

    def begin(self) -> None:
        """Before a play of the function's work, on the current stream, which follows the play before."""
        self._captured.replay()
