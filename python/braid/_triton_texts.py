# SPDX-License-Identifier: Apache-2.0
"""The PTX of Triton's kernels in a captured graph: that of the very functions, since caches of Triton keep old texts of equal names."""
from __future__ import annotations

import base64
import ctypes
import gc
import glob
import os
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Set

_KERNEL_NODE, _CHILD_GRAPH = 0, 4  # CUgraphNodeType
# Objects of Triton and of PyTorch's compiler that have loaded a kernel.
_OWNERS = ("CompiledKernel", "StaticallyLaunchedCudaKernel")


class _KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2"""

    _fields_ = [("function", ctypes.c_void_p), ("sizes", ctypes.c_uint * 7), ("params", ctypes.c_void_p), ("extra", ctypes.c_void_p),
                ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p)]


class Texts:
    """Texts of the functions in a graph. A program that has loaded a function has an object with its handle. If one function of a name
    is of no such object, or of several with other texts, the name has no text."""

    def __init__(self, graph: int):
        self.num_found = 0
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._functions: Dict[str, Dict[int, int]] = {}  # by name, those with their modules
        self._find_functions(graph)
        self._owners = [one for one in gc.get_objects() if type(one).__name__ in _OWNERS]
        user = os.path.join(os.environ.get("TRITON_HOME") or os.path.expanduser("~"), ".triton", "cache")
        compiled = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or os.path.join(
            tempfile.gettempdir(), "torchinductor_" + _user_name())
        self._folders = {os.environ.get("TRITON_CACHE_DIR") or user, os.path.join(compiled, "triton")}

    def find(self, entry: str) -> List[str]:
        known: Dict[int, Set[Optional[str]]] = {}
        for owner in self._owners:
            if getattr(owner, "name", None) == entry and self._is_loaded(owner):
                for handle in _handles_of(owner):
                    known.setdefault(handle, set()).add(self._text_of(owner, entry))
        texts = [known.get(handle, {None}) for handle in sorted(self._functions.get(entry, {}))]
        # If owners with other texts have one handle, all but one have lost it to a later module.
        found = list(dict.fromkeys(text for one in texts if len(one) == 1 for text in one if text is not None))
        if len(found) == 0 or any(len(one) > 1 or None in one for one in texts):
            return []
        self.num_found += len(found)
        return found

    def _is_loaded(self, owner: Any) -> bool:
        """Whether the owner's module has its functions still. After an unload the driver gives their handles to others."""
        module = getattr(owner, "module", None)
        modules = {of for functions in self._functions.values() for handle, of in functions.items() if handle in _handles_of(owner)}
        return not isinstance(module, int) or modules <= {module}

    def _call(self, name: str, *args: Any) -> None:
        result = getattr(self._driver, name)(*args)
        if result:
            raise RuntimeError(f"{name} returns {result} while braid.torch.optimize reads a capture")

    def _find_functions(self, graph: int) -> None:
        """Those of a graph and its child graphs, by name."""
        num, name, module = ctypes.c_size_t(), ctypes.c_char_p(), ctypes.c_void_p()
        self._call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(num))
        nodes = (ctypes.c_void_p * num.value)()
        if num.value:
            self._call("cuGraphGetNodes", ctypes.c_void_p(graph), nodes, ctypes.byref(num))
        for node in nodes:
            kind, child, of = ctypes.c_int(), ctypes.c_void_p(), _KernelNode()
            self._call("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
            if kind.value == _CHILD_GRAPH:
                self._call("cuGraphChildGraphNodeGetGraph", ctypes.c_void_p(node), ctypes.byref(child))
                self._find_functions(child.value or 0)
            if kind.value != _KERNEL_NODE:
                continue
            self._call("cuGraphKernelNodeGetParams_v2", ctypes.c_void_p(node), ctypes.byref(of))
            function = ctypes.c_void_p(of.function)
            if not of.function:
                self._call("cuKernelGetFunction", ctypes.byref(function), ctypes.c_void_p(of.kernel))
            self._call("cuFuncGetName", ctypes.byref(name), function)
            self._call("cuFuncGetModule", ctypes.byref(module), function)
            self._functions.setdefault((name.value or b"").decode(), {})[function.value or 0] = module.value or 0

    def _text_of(self, owner: Any, entry: str) -> Optional[str]:
        """Its own, or that in the folder that the cache has for it. None: nobody has it."""
        text = getattr(owner, "asm", {}).get("ptx")
        if text is not None:
            return str(text)
        names = _folder_names(str(getattr(owner, "hash", "")))
        for folder in sorted(self._folders | set(_told_folders())):
            for path in glob.iglob(os.path.join(glob.escape(folder), "**", glob.escape(entry) + ".ptx"), recursive=True):
                if os.path.basename(os.path.dirname(path)) in names:
                    with open(path, encoding="utf-8", errors="surrogateescape") as file:
                        return file.read()
        return None


def _handles_of(owner: Any) -> Iterator[int]:
    """The functions that it has loaded, on each device."""
    values = [getattr(owner, "function", None), getattr(owner, "cu_function", None), *getattr(owner, "functions", {}).values()]
    return (value for value in values if isinstance(value, int) and value)


def _folder_names(hashed: str) -> Set[str]:
    """Triton names a folder by what it has compiled: by digits, or in newer versions by letters, too."""
    try:
        return {hashed, base64.b32encode(bytes.fromhex(hashed)).decode().rstrip("=")} if hashed else set()
    except ValueError:
        return {hashed}


def _told_folders() -> List[str]:
    """Where the program told Triton to keep its cache."""
    knobs = getattr(sys.modules.get("triton"), "knobs", None)
    folder = getattr(getattr(knobs, "cache", None), "dir", None)
    return [folder] if isinstance(folder, str) else []


def _user_name() -> str:
    import getpass
    import re

    try:
        return re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except Exception:  # no name, as in a container
        return ""
