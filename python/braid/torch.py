# SPDX-License-Identifier: Apache-2.0
"""Programs of PyTorch: braid.torch.optimize captures a function as a CUDA graph, and plays it by a plan of Braid's.
Operations of PyTorch as nodes of a graph: braid.torch.operation. Both import PyTorch when they are called."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence

from braid._describe import ACCESSES, unwrap
from braid._device import Device
from braid._errors import UnsupportedError, refuse
from braid._exec import Exec
from braid._graph import Graph
from braid._handles import Node
from braid._import import Imported, ImportInfo
from braid._memory import as_list
from braid._options import NodeOptions, spell_out
from braid._planned import Found, Planned
from braid._private_streams import Lease
from braid._runner import RunnerInfo
from braid._torch_plays import AsCaptured, ByPlan, OwnGraph, Plain, capturing
from braid._triton_texts import Texts

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braid._device import Stream


_devices: Dict[int, Device] = {}  # by the ordinal of PyTorch's device


class Optimized(Planned):
    """A function's work on the GPU. A call plays it once on PyTorch's current stream, and returns the tensors that the function
    returned, with new values. Made by braid.torch.optimize."""

    def __init__(self, found: Found, play: Any, inputs: Sequence[Any], device: Any):
        self.found, self.inputs = found, tuple(inputs)
        self._play, self._device = play, device

    @property
    def outputs(self) -> Any:
        """What the function returned, with the values of the last call. These are other tensors once measured times have chosen
        PyTorch's own graph."""
        return self._play.outputs

    def __call__(self, *inputs: Any) -> Any:
        """Copies these tensors to `inputs`, if there are any, and plays the work. The next call overwrites what it returns."""
        import torch

        if inputs and len(inputs) != len(self.inputs):
            raise refuse(f"the function was captured with {len(self.inputs)} inputs, and the call has {len(inputs)}")
        for mine, given in zip(self.inputs, inputs):
            if mine.shape != given.shape or mine.dtype != given.dtype:
                raise refuse(f"an input was captured with {tuple(mine.shape)} elements of {mine.dtype}, and the call gives "
                             f"{tuple(given.shape)} of {given.dtype}")
        with torch.inference_mode(), torch.cuda.device(self._device):  # in which any tensor may be written, also PyTorch's own
            for mine, given in zip(self.inputs, inputs):
                if mine is not given:
                    mine.copy_(given, non_blocking=True)
            self._play(torch.cuda.current_stream(self._device))
        return self.outputs

    def wait(self) -> None:
        self._play.wait()

    @property
    def imported(self) -> Imported:  # type: ignore[override]
        """The import. Where calls play PyTorch's own graph by its orders, there is none: `found` has its numbers."""
        imported: Imported = self._planned().imported
        return imported

    @property
    def graph(self) -> Graph:
        return self.imported.graph

    def _planned(self) -> Any:
        if not isinstance(self._play, ByPlan):
            raise UnsupportedError("the function has no plan: the import removes no order, so that calls play PyTorch's own graph")
        return self._play

    @property
    def exec(self) -> Optional[Exec]:
        made: Optional[Exec] = self._play.exec
        return made

    @property
    def info(self) -> RunnerInfo:
        info: RunnerInfo = self._play.info
        return info

    @property
    def report(self) -> Dict[str, Any]:
        return {**self.found.report, **self._ways()}

    @property
    def text(self) -> str:
        return self.found.text + self._text_of_ways()


def optimize(function: Callable[..., Any], *inputs: Any, keep_memory: bool = True, num_warm: int = 3) -> Optimized:
    """Captures function(*inputs) as a CUDA graph, and returns a callable that plays its work. It runs `num_warm` times
    before, so that PyTorch has compiled and chosen what it needs. The tensors `inputs`, parameters and all others that the
    function uses stay where they are, and are read anew by each call. Memory of ATen's operations is that of their tensors,
    by the operations' schemas. Kernels of Triton tell by their PTX. All others keep their captured orders.
    `keep_memory`: no tensor gets memory that an earlier one had, since that would order their operations. The work then
    takes as much memory as all its tensors together. If only the results outlive the function, PyTorch captures it once more
    as it is. Where the import removes no order, calls play that graph, and there is no plan. Else about 150 calls try ways to
    play, that graph among them, and then all take the fastest. The function and its results live as long as the plan.
    Random numbers are those that PyTorch's own graph would draw, and each call advances PyTorch's generator as it does.
    Raises UnsupportedError if PyTorch cannot capture the function, or records the history of its memory for the program, or
    if the function draws from a generator of the program's."""
    import torch

    from braid import _torch, _torch_draws, _torch_results

    device = _device_of(inputs)
    if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
        raise UnsupportedError("braid.torch.optimize takes PyTorch 2.8 or newer, which shows its graphs")
    with torch.cuda.device(device):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            may_draw = not num_warm
            for _ in range(num_warm):
                state = torch.cuda.get_rng_state(device).tolist()
                function(*inputs)
                may_draw = torch.cuda.get_rng_state(device).tolist() != state
            side.synchronize()
        captured = torch.cuda.CUDAGraph(keep_graph=True)
        try:
            lease = Lease(device)
            side = lease.private.stream
            recorder, memory, box = _capture(_torch, captured, lease.private, lambda: function(*inputs), keep_memory)
            recorder.drop()
            again = keep_memory and _torch_results.are_all(box, memory, device)
            plain = Plain(side, lambda: function(*inputs), box[0]) if again else None
        except RuntimeError as error:
            raise UnsupportedError(f"PyTorch cannot capture the function: {str(error).splitlines()[0]}") from error
        imported = _import(captured, recorder, memory, device)
        found = Found(imported.info, imported.report, imported.text)
        kept, may_draw = (lease, function, inputs, recorder.outside), bool(may_draw or recorder.random)
        play: Any
        own: Any
        if _may_gain(found.info):
            imported._owner.kept = (captured, kept, box[0])  # execs of the graph outlive what is returned
            draws, own = None, plain
            if may_draw:
                own, draws = _torch_draws.take(captured, plain, device)
            elif plain is None:
                own = OwnGraph(_instantiated(captured))
            play = ByPlan(_adopt(device), imported, captured, own, draws, box[0], kept)
        elif plain is not None:
            del imported  # before the graph that it has read
            play = AsCaptured(plain.graph, plain.outputs, kept, may_draw)
        else:
            play = AsCaptured(_instantiated(captured), box[0], kept, may_draw)
    return Optimized(found, play, inputs, device)


def _may_gain(info: ImportInfo) -> bool:
    """Whether a plan has less to wait for than the captured graph, or code that Braid may change."""
    return info.num_kept < info.num_captured or info.num_reloadable > 0


def _instantiated(captured: Any) -> Any:
    captured.instantiate()
    return captured


def _device_of(inputs: Sequence[Any]) -> Any:
    import torch

    for index, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor) or not value.is_cuda:
            raise refuse(f"input {index} is no tensor of a GPU: put what stays the same into the function, by a lambda")
    devices = {value.device for value in inputs} or {torch.device("cuda", torch.cuda.current_device())}
    if len(devices) != 1:
        raise refuse(f"the inputs are on {len(devices)} devices: give those of one")
    return devices.pop()


def _adopt(device: Any) -> Device:
    """The device with PyTorch's context, which is the primary one."""
    import ctypes

    if device.index not in _devices:
        context = ctypes.c_void_p()
        if ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(context)) or not context.value:
            raise UnsupportedError(f"PyTorch has no context of '{device}'")
        _devices[device.index] = Device.adopt_cuda(context.value)
    return _devices[device.index]


def _capture(_torch: Any, captured: Any, private: Any, function: Callable[[], Any], keeps: bool) -> Any:
    device, side = private.device, private.stream
    with _torch.History(device) as events, capturing(captured, side):
        memory = _torch.Memory(events, keeps, device, private.workspace)
        recorder = _torch.Recorder(_torch.Nodes(int(side.cuda_stream)), memory, device)
        with recorder:
            box = [function()]  # which has the only reference
        memory.begin()
    return recorder, memory, box


def _import(captured: Any, recorder: Any, memory: Any, device: Any) -> Imported:
    import torch

    graph = int(captured.raw_cuda_graph())
    texts = Texts(graph)
    others = [(block["address"], block["size"]) for segment in torch.cuda.memory_snapshot() if segment["device"] == device.index
              for block in segment["blocks"] if block["state"] != "inactive"]
    statements = recorder.statements()
    memory.blocks += others
    imported = Imported(_adopt(device), graph, find_text=texts.find, statements=statements,
                        buffers=[_Part(part) for part in memory.parts()])
    if not texts.num_found:  # parts of tensors, where no code counts on whole ones
        cuts = [range_ for statement in statements for range_ in (*statement.reads, *statement.writes)]
        imported = Imported(_adopt(device), graph, statements=statements, buffers=[_Part(part) for part in memory.parts(cuts)])
    return imported


class _Part:
    """Bytes as an array of the GPU."""

    def __init__(self, part: Any):
        self.__cuda_array_interface__ = {"data": (part[0], False), "shape": (part[1],), "typestr": "|u1", "version": 2}


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
        self._captured: List[Any] = []  # memory and streams of captures
        with torch.cuda.device(device):
            torch.cuda.current_blas_handle()  # made under capture, it would end the capture

    def __call__(self, stream: Stream) -> Any:
        import torch

        on = torch.cuda.ExternalStream(stream.handle, device=self._device)
        with torch.cuda.device(self._device), torch.cuda.stream(on), torch.no_grad():
            if torch.cuda.is_current_stream_capturing():
                return self._capture(torch, on)
            with torch.cuda.use_mem_pool(self._pool, self._device):
                return self._function(*self._values)

    def _capture(self, torch: Any, on: Any) -> Any:
        """Each capture has its own memory, since frames in flight have a graph each. It also has its own stream: PyTorch keeps a
        workspace for each, and other nodes are captured on `on`."""
        try:
            lease, pool = Lease(self._device, told=False), torch.cuda.MemPool()
            self._captured.append((lease, pool))
            side = lease.private.stream
            side.wait_stream(on)
            with torch.cuda.stream(side), torch.cuda.use_mem_pool(pool, self._device):
                result = self._function(*self._values)
            on.wait_stream(side)
        except RuntimeError as error:
            raise UnsupportedError(f"PyTorch cannot be captured here: {str(error).splitlines()[0]}") from error
        return result
