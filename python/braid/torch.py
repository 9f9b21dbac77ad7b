# SPDX-License-Identifier: Apache-2.0
"""Operations of PyTorch as nodes of a graph on CUDA. Adding one imports PyTorch."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Sequence

from braid._describe import ACCESSES, unwrap
from braid._errors import UnsupportedError, refuse
from braid._handles import Node
from braid._memory import as_list
from braid._options import NodeOptions, spell_out

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braid._device import Stream
    from braid._graph import Graph


@spell_out(NodeOptions)
def operation(graph: Graph, function: Callable[..., Any], args: Sequence[Any] = (),
              **options: Unpack[NodeOptions]) -> Node:
    """Adds function(*args) as a node, which queues work of PyTorch. Tensors among `args` are of a GPU and say what the
    operation does to them: braid.read(x), braid.write(x), braid.inout(x). Results go to tensors that are there
    (torch.mm(a, b, out=c)). In a driver graph the function is called once, under capture; run it once before, so that
    PyTorch has loaded and compiled what it needs. Where it cannot be captured, the exec plays the graph on streams."""
    import torch

    name = options["name"] = str(options.get("name") or getattr(function, "__name__", "operation"))
    values = unwrap(args, options)
    declared = [id(thing) for option in ACCESSES for thing in as_list(options.get(option))]
    devices = set()
    for index, value in enumerate(values):
        if not isinstance(value, torch.Tensor):
            continue
        where = f"argument {index} of operation '{name}'"
        if not value.is_cuda:
            raise refuse(f"{where} is a tensor of the CPU: give one of a GPU")
        if id(value) not in declared:
            raise refuse(f"{where} is a tensor: say what the operation does to it, as braid.read(x), braid.write(x) or "
                         "braid.inout(x)")
        devices.add(value.device)
    if len(devices) != 1:
        raise refuse(f"operation '{name}' has tensors of {len(devices)} devices: give those of one")
    return graph.queue_call(_Operation(function, values, devices.pop()), **options)


class _Operation:
    """A call of PyTorch's on a stream of Braid's, with memory of its own: what PyTorch's allocator gave to a captured
    operation must be nobody else's between two launches of the graph."""

    def __init__(self, function: Callable[..., Any], values: List[Any], device: Any):
        import torch

        self._function, self._values, self._device = function, values, device
        self._pool = torch.cuda.MemPool()
        self._captured: List[Any] = []  # memory of captures
        with torch.cuda.device(device):
            torch.cuda.current_blas_handle()  # made under capture, it would end the capture

    def __call__(self, stream: Stream) -> Any:
        import torch

        on = torch.cuda.ExternalStream(stream.handle, device=self._device)
        with torch.cuda.device(self._device), torch.cuda.stream(on), torch.no_grad():
            if torch.cuda.is_current_stream_capturing():
                return self._capture(torch)
            with torch.cuda.use_mem_pool(self._pool, self._device):
                return self._function(*self._values)

    def _capture(self, torch: Any) -> Any:
        """Each capture has its own memory, since frames in flight have a graph each."""
        self._captured.append(torch.cuda.MemPool())
        # PyTorch keeps a workspace for each stream, and other nodes are captured on the same stream.
        torch._C._cuda_clearCublasWorkspaces()
        try:
            with torch.cuda.use_mem_pool(self._captured[-1], self._device):
                return self._function(*self._values)
        except RuntimeError as error:
            raise UnsupportedError(f"PyTorch cannot be captured here: {str(error).splitlines()[0]}") from error
        finally:
            torch._C._cuda_clearCublasWorkspaces()
