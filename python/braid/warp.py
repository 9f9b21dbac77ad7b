# SPDX-License-Identifier: Apache-2.0
"""Programs of Warp: braid.warp.optimize captures the launches of a function, and plays them by a plan of Braid's."""
from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import os
import re
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from braid._device import Device
from braid._errors import InvalidArgumentError, UnsupportedError, refuse
from braid._import import Conditional, Imported
from braid._planned import Planned
from braid._runner import Runner

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


class Optimized(Planned):
    """A function's launches as a plan. A call plays them once on Warp's current stream. Made by braid.warp.optimize."""

    imported: Imported
    _runner: Runner
    _captured: Any  # Warp's graph, with its modules and arrays

    def __init__(self, function: Callable[[], Any], device: Any, is_unwatched: bool, reload: bool):
        self._function = function
        self._device = device
        self._is_unwatched, self._reload = is_unwatched, reload
        self._on: Any = None  # Warp's stream of the call at hand
        self._plan(*_capture(function, device))

    def __call__(self, stream: Any = None) -> None:
        """Runs the launches, after all earlier work on `stream` and before all later. None is Warp's current stream. About
        150 calls try ways to play, Warp's own graph among them, and then all take the fastest. While a thread of Braid's makes
        the next way, calls play the best so far."""
        self._on = self._device.stream if stream is None else stream
        self._runner.launch(int(self._on.cuda_stream or 0))  # Warp's null stream has None

    def update(self, function: Optional[Callable[[], Any]] = None) -> Optional[str]:
        """Captures function() again, by default the same one, after its arrays or numbers have changed. If only values
        differ, later calls play the plan with these, and the result is None. Else the result says why not, and later calls
        play a new plan, which tries ways to play anew. It waits for the last call. An error changes nothing."""
        function = self._function if function is None else function
        captured, conditionals = _capture(function, self._device)
        self.wait()  # the arrays of the captured graph may go with it
        why = self._put_values(captured, conditionals)
        if why is None:
            self._captured = captured
        else:
            self._plan(captured, conditionals)
        self._function = function
        return why

    def _put_values(self, captured: Any, conditionals: List[Conditional]) -> Optional[str]:
        exec_ = self.exec
        if exec_ is None:
            return "Warp's own graph is the fastest" if self.info.is_chosen else "calls still try ways to play"
        try:
            self.imported.update(int(captured.graph.value), exec_, is_unwatched=self._is_unwatched,
                                 conditionals=conditionals, setters=_SETTERS)
        except (InvalidArgumentError, UnsupportedError) as failure:
            return str(failure)
        return None

    def _plan(self, captured: Any, conditionals: List[Conditional]) -> None:
        import warp

        texts = _texts_of(captured.module_execs)
        device = _adopt(self._device)
        imported = Imported(device, int(captured.graph.value), texts=[_FILLS, *([] if self._reload else texts)],
                            reloaded=texts if self._reload else [], is_unwatched=self._is_unwatched,
                            conditionals=conditionals, setters=_SETTERS)
        self._runner = Runner(device, imported.graph,
                              as_before=lambda stream: warp.capture_launch(captured, stream=self._on))
        self.imported, self._captured = imported, captured


def optimize(function: Callable[[], Any], device: Any = None, *, is_unwatched: bool = False,
             reload: bool = False) -> Optimized:
    """Captures function() with Warp on a CUDA device, and returns a callable that plays its launches. The function runs
    once, under capture, so its launches do not run yet. Braid reads the PTX of Warp's modules. Where Warp has loaded machine
    code, Warp makes the PTX once more. `is_unwatched`: nobody looks at pinned or managed memory before a call has ended.
    `reload`: one of the ways to play loads kernels from their PTX, so that they start early. Its numbers may differ in the
    last bit, since the driver makes the machine code, and the fastest way differs from run to run: so it is no default.
    A function that Warp cannot capture, or Braid cannot import, raises that error."""
    import warp

    on = warp.get_device(device)
    if not on.is_cuda:
        raise refuse(f"a plan needs a CUDA device, and Warp's device is '{on}'")
    return Optimized(function, on, is_unwatched, reload)


def _capture(function: Callable[[], Any], device: Any) -> Tuple[Any, List[Conditional]]:
    import warp

    with _record_conditionals() as conditionals, warp.ScopedCapture(device=device) as capture:
        function()
    return capture.graph, conditionals


def _adopt(device: Any) -> Device:
    context = int(getattr(device.context, "value", device.context))
    if context not in _devices:
        _devices[context] = Device.adopt_cuda(context)
    return _devices[context]


# ---- loops and branches, by wp.capture_while and wp.capture_if ----

# Warp's kernels that hand the word of a condition, or its opposite, to handles.
_SETTERS = ("set_conditional_if_handle_kernel", "set_conditional_else_handle_kernel", "set_conditional_if_else_handles_kernel")
_INSERTS = {prefix + name: name == "cuda_graph_insert_while" for prefix in ("wp_", "")
            for name in ("cuda_graph_insert_while", "cuda_graph_insert_if_else")}
_CONDITIONAL_NODE = 13

_lock = threading.Lock()
_inserts: Dict[str, Any] = {}  # Warp's own functions, while a capture replaces them
_num_recording = 0
_here = threading.local()  # .found: what this thread's capture has


@contextlib.contextmanager
def _record_conditionals() -> Iterator[List[Conditional]]:
    """The conditional nodes that Warp inserts in this thread. No driver before CUDA 13.2 tells their bodies later."""
    core = _find_core()
    before, found = getattr(_here, "found", None), []  # type: Any, List[Conditional]
    _replace_inserts(core, 1)
    _here.found = found
    try:
        yield found
    finally:
        _here.found = before
        _replace_inserts(core, -1)


def _find_core() -> Any:
    """Warp's native library."""
    for name in ("warp._src.context", "warp.context"):
        runtime = getattr(sys.modules.get(name), "runtime", None)
        if runtime is not None:
            return runtime.core
    return None


def _replace_inserts(core: Any, change: int) -> None:
    global _num_recording
    with _lock:
        if core is not None and _num_recording == 0:
            for name, is_loop in _INSERTS.items():
                if hasattr(core, name):
                    _inserts[name] = getattr(core, name)
                    setattr(core, name, _record(_inserts[name], is_loop))
        _num_recording += change
        if core is not None and _num_recording == 0:
            for name, insert in _inserts.items():
                setattr(core, name, insert)
            _inserts.clear()


def _record(insert: Any, is_loop: bool) -> Any:
    def insert_and_tell(*args: Any) -> Any:
        done = insert(*args)
        found: Optional[List[Conditional]] = getattr(_here, "found", None)
        if done and found is not None:
            found.append(_read_loop(*args) if is_loop else _read_branch(*args))
        return done
    return insert_and_tell


def _read_loop(context: Any, stream: Any, *args: Any) -> Conditional:
    condition, body, handle = args[-3:]
    return Conditional(_Driver().last_node(stream), True, handle._obj.value, _address(condition), [body._obj.value])


def _read_branch(context: Any, stream: Any, *args: Any) -> Conditional:
    """Warp has one node with one body or two, or a second node right behind the first that has the second body."""
    driver = _Driver()
    bodies = [None if body is None else body._obj.value for body in args[-2:]]
    last = driver.last_node(stream)
    node = before = driver.node_before(last)
    if driver.is_conditional(before):
        setter = driver.node_before(node)
        return Conditional(node, False, driver.handle(setter, 0), _address(args[-3]), bodies, last, driver.handle(setter, 1))
    return Conditional(last, False, driver.handle(before, 0), _address(args[-3]), bodies)


def _address(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


class _Driver:
    """Questions about the graph that a stream captures."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")

    def _call(self, name: str, *args: Any) -> None:
        result = getattr(self._cuda, name)(*args)
        if result:
            raise RuntimeError(f"{name} returns {result} while braid.warp.optimize reads a conditional node")

    def last_node(self, stream: Any) -> int:
        """The node behind which the stream's next one stands."""
        status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
        nodes, num = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
        self._call("cuStreamGetCaptureInfo_v2", ctypes.c_void_p(getattr(stream, "value", stream)), ctypes.byref(status),
                   ctypes.byref(number), ctypes.byref(graph), ctypes.byref(nodes), ctypes.byref(num))
        return nodes[0] or 0 if num.value == 1 else 0

    def node_before(self, node: int) -> int:
        num = ctypes.c_size_t(1)
        found = ctypes.c_void_p()
        self._call("cuGraphNodeGetDependencies", ctypes.c_void_p(node), ctypes.byref(found), ctypes.byref(num))
        return found.value or 0

    def is_conditional(self, node: int) -> bool:
        kind = ctypes.c_int()
        self._call("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
        return kind.value == _CONDITIONAL_NODE

    def handle(self, setter: int, index: int) -> int:
        """An argument of a kernel. CUDA_KERNEL_NODE_PARAMS_v2 has their addresses behind eight numbers."""
        told = (ctypes.c_uint64 * 16)()
        self._call("cuGraphKernelNodeGetParams_v2", ctypes.c_void_p(setter), told)
        argument = ctypes.cast(told[5], ctypes.POINTER(ctypes.c_void_p))[index]
        return int(ctypes.cast(argument or 0, ctypes.POINTER(ctypes.c_uint64))[0])


# ---- texts of Warp's modules ----


def _texts_of(modules: Any) -> List[str]:
    """PTX of loaded modules. One without PTX is left out: its kernels keep their orders."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(_text_of, list(modules)) if text is not None]


def _text_of(loaded: Any) -> Optional[str]:
    module = _module_of(loaded)
    path = _binary_of(loaded, module)
    if path.endswith(".cubin"):
        path = _compile(loaded, module, path)
    if not path.endswith(".ptx"):
        return None
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _module_of(loaded: Any) -> Any:
    """The module that the code was made from. Before Warp 1.18 its loaded code does not tell."""
    if hasattr(loaded, "kernel_names"):
        return next((kernel.module for kernel in loaded.kernel_names), None)
    modules = getattr(sys.modules.get("warp._src.context"), "user_modules", {})
    return next((module for module in list(modules.values()) if loaded in list(module.execs.values())), None)


def _binary_of(loaded: Any, module: Any) -> str:
    """The path of the file that Warp has loaded, or "". Before Warp 1.18 it is that of a module that has not changed since."""
    if hasattr(loaded, "binary_path"):
        return str(loaded.binary_path or "")
    if module is None or module.get_module_hash(loaded.block_dim) != loaded.module_hash:
        return ""
    import warp

    name = module._get_compile_output_name(loaded.device, loaded.compile_arch, block_dim=loaded.block_dim)
    return str(os.path.join(warp.config.kernel_cache_dir, module.get_module_identifier(loaded.block_dim), name))


def _compile(loaded: Any, module: Any, binary: str) -> str:
    """The path of PTX beside machine code, made once by Warp from the same kernels; "" if nobody knows that they are the
    same, or Warp cannot make it. A name without the hash of its kernels (strip_hash) tells of none."""
    path = re.sub(r"\.cubin$", ".braid.ptx", binary)
    if loaded.module_hash.hex()[:7] not in os.path.basename(binary):
        return ""
    if os.path.exists(path) and os.path.getmtime(path) >= os.path.getmtime(binary):
        return path
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
