# SPDX-License-Identifier: Apache-2.0
"""Ways to play a function that PyTorch captured: its own graph, or a plan with that graph beside it."""
from __future__ import annotations

import contextlib
import sys
import warnings
from typing import Any, Callable, Iterator, Optional, Tuple

from braid._device import Device
from braid._exec import Exec
from braid._import import Imported
from braid._runner import Runner, RunnerInfo

OWN = "PyTorch's own graph"


@contextlib.contextmanager
def capturing(graph: Any, stream: Any) -> Iterator[None]:
    """A capture. PyTorch warns of a graph without nodes: one that the adapter has given up is no news."""
    import torch

    whole = torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local")
    whole.__enter__()
    try:
        yield
    except BaseException:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The CUDA Graph is empty")
            if not whole.__exit__(*sys.exc_info()):
                raise
    else:
        whole.__exit__(None, None, None)


class OwnGraph:
    """A graph whose results are those of the plan, so that nothing is copied."""

    outputs: Any = None  # the plan's

    def __init__(self, graph: Any, fill: Optional[Callable[[], None]] = None):
        self._graph, self._fill = graph, fill

    def replay(self) -> None:
        if self._fill is not None:
            self._fill()
        self._graph.replay()


class Plain:
    """PyTorch's graph of the function with memory that it uses again, and with results of its own."""

    def __init__(self, stream: Any, function: Callable[[], Any], expected: Any):
        import torch

        from braid import _torch_results

        self.graph = torch.cuda.CUDAGraph()
        with capturing(self.graph, stream):
            self.outputs = function()
        self._copies = _torch_results.copies_of(expected, self.outputs)

    def replay(self) -> None:
        self.graph.replay()

    def copy_results(self) -> None:
        """To the tensors of the plan, while ways are tried."""
        for copy in self._copies:
            copy()


class AsCaptured:
    """Calls replay PyTorch's own graph. There is no plan and no exec, and no result is copied."""

    exec: Optional[Exec] = None
    draws: Any = None
    info = RunnerInfo(OWN, "nothing, since the import removes no order", 0, True, False)

    def __init__(self, graph: Any, outputs: Any, kept: Tuple[Any, ...], may_draw: bool):
        import torch

        self.outputs, self.captured, self.kept = outputs, graph, kept
        self._stream: Any = None
        self._end = torch.cuda.Event() if may_draw else None  # the last call reads its seeds until then

    def __call__(self, stream: Any) -> None:
        self._stream = stream
        if self._end is None:
            self.captured.replay()
            return
        stream.wait_event(self._end)
        self.captured.replay()
        stream.record_event(self._end)

    def wait(self) -> None:
        if self._stream is not None:
            self._stream.synchronize()


class _Own:
    """PyTorch's graph as the runner plays it. It is no part of the plan, since a plan goes with its last reference."""

    def __init__(self, graph: Any):
        self.graph, self.was_played = graph, False

    def __call__(self, stream: Any) -> None:
        self.graph.replay()
        self.was_played = True


class ByPlan:
    """Calls try plans and PyTorch's own graph, and then take the fastest. Results are those of the plan until the graph is
    chosen: from then on they are the graph's, and no longer copied."""

    def __init__(self, device: Device, imported: Imported, captured: Any, own: Any, draws: Any, outputs: Any,
                 kept: Tuple[Any, ...]):
        self.imported, self.captured, self.draws = imported, captured, draws  # the captured graph has the plan's memory
        self.outputs, self.kept = outputs, kept
        self._own, self._is_chosen = _Own(own), False
        self._copied: Any = None  # the end of copies that no launch has followed
        fill = None if draws is None else lambda stream: draws.begin()
        self._runner = Runner(device, imported.graph, as_before=self._own, before_plan=fill)

    def __call__(self, stream: Any) -> None:
        self._own.was_played = False
        if self._copied is not None:  # perhaps on another stream
            stream.wait_event(self._copied)
            self._copied = None
        self._runner.launch(int(stream.cuda_stream))
        if self._is_chosen:
            return
        self._is_chosen = self.info.is_chosen
        own = self._own.graph
        if not self._own.was_played or own.outputs is None:
            return
        if self._is_chosen and self.exec is None:
            self.outputs = own.outputs
        else:
            own.copy_results()
            self._copied = stream.record_event()

    def wait(self) -> None:
        if self._copied is not None:
            self._copied.synchronize()
        self._runner.wait()

    @property
    def exec(self) -> Optional[Exec]:
        return self._runner.exec

    @property
    def info(self) -> RunnerInfo:
        return self._runner.info
