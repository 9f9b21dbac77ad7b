# SPDX-License-Identifier: Apache-2.0
"""Kernels for CUDA from functions of Triton (@triton.jit). Only compiling one imports Triton."""
from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

import numpy

from braid._errors import refuse
from braid._forms import Multiple
from braid._kernel import Kernel
from braid._memory import PointerTo, name_elements

_NUMBERS = {"i1": "bool_", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u1": "bool_", "u8": "uint8",
            "u16": "uint16", "u32": "uint32", "u64": "uint64", "fp16": "float16", "fp32": "float32", "f32": "float32",
            "fp64": "float64"}
_BFLOAT16 = name_elements("<V2")  # as PyTorch and CuPy say it
_MOST_HIDDEN = 2  # pointers to scratch that Triton's own launcher would allocate


def kernel(function: Any, signature: Optional[str] = None, *, arch: Optional[int] = None, name: Optional[str] = None,
           **given: Any) -> Kernel:
    """Makes a kernel of a @triton.jit function. `signature` has the types of the arguments that are no constants, as
    Triton calls them: "*fp32:16, *fp32:16, i32". With :16 each address or number must be a multiple of 16, which lets
    Triton load several elements at once. `given` has the constants (BLOCK=256) and Triton's options (num_warps=4). The
    code is for the current device, or for `arch`, such as 90. Without a signature `function` is what Triton has
    compiled: the result of function.warmup(...) or of a launch."""
    if signature is None:
        return _of_compiled(function, name)
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    if not isinstance(function, triton.JITFunction):
        raise refuse(f"{function!r} is no @triton.jit function; of an autotuned one give its .fn, and the constants")
    constants = {key: given.pop(key) for key in list(given) if key in function.arg_names}
    types, attributes = _read_signature(function, signature, constants)
    target = GPUTarget("cuda", arch, 32) if arch else triton.runtime.driver.active.get_current_target()
    source = ASTSource(function, types, constants, attributes)
    return _of_compiled(triton.compile(source, target=target, options=given), name)


def _read_signature(function: Any, signature: str, constants: Dict[str, Any]) -> Tuple[Dict[str, str], Dict[Any, Any]]:
    """The types and attributes of arguments as Triton's compiler takes them."""
    names = [key for key in function.arg_names if key not in constants]
    texts = [text.strip() for text in signature.split(",")] if signature.strip() else []
    if len(texts) != len(names):
        raise refuse(f"kernel '{function.__name__}' has a signature of {len(texts)} types, and {len(names)} arguments "
                     f"that are no constants: {', '.join(names)}")
    types, attributes = dict.fromkeys(function.arg_names, "constexpr"), {}
    for key, text in zip(names, texts):
        types[key], _, hint = text.partition(":")
        if hint not in ("", "16"):
            raise refuse(f"argument '{key}' of kernel '{function.__name__}' has the type '{text}': only :16 may follow "
                         "a type; an argument that is always 1 is a constant")
        if hint:
            attributes[(function.arg_names.index(key),)] = [["tt.divisibility", 16]]
    return types, attributes


def _of_compiled(made: Any, name: Optional[str]) -> Kernel:
    made = made.result() if hasattr(made, "result") and not hasattr(made, "asm") else made  # a compilation beside has a result
    if not hasattr(made, "asm") or not hasattr(made, "metadata"):
        raise refuse(f"{made!r} is nothing that Triton has compiled: give a @triton.jit function and a signature")
    facts, code = made.metadata, made.asm
    if "ptx" not in code:
        raise refuse(f"kernel '{facts.name}' of Triton has no PTX: it was compiled for {facts.target.backend}")
    _check(facts)
    types = _types(facts.name, made.src.signature, made.src.attrs)
    # The driver would fuse what Triton was told not to fuse.
    as_told = getattr(facts, "enable_fp_fusion", True) and not getattr(facts, "ptx_options", None)
    result = Kernel(name or facts.name, cuda=code["ptx"] if as_told else code["cubin"], cuda_entry=facts.name,
                    types=types, block=32 * facts.num_warps, shared_bytes=facts.shared)
    result.num_hidden = _num_parameters(code["ptx"], facts.name) - len(types)
    if not 0 <= result.num_hidden <= _MOST_HIDDEN:
        raise refuse(f"kernel '{facts.name}' of Triton takes {result.num_hidden + len(types)} parameters for "
                     f"{len(types)} arguments: Braid knows no version of Triton that adds so many")
    return result


def _check(facts: Any) -> None:
    """Refuses what the launch of a graph's node does not do."""
    for field, usual, what in (("num_ctas", 1, "blocks in clusters"), ("launch_cooperative_grid", False, "a cooperative launch"),
                               ("global_scratch_size", 0, "scratch in global memory"),
                               ("profile_scratch_size", 0, "scratch of a profiler")):
        if getattr(facts, field, usual) != usual:
            raise refuse(f"kernel '{facts.name}' of Triton takes {what} ({field} is {getattr(facts, field)})")


def _num_parameters(ptx: str, entry: str) -> int:
    head = re.search(rf"\.entry\s+{re.escape(entry)}\s*\((.*?)\)", ptx, re.DOTALL)
    if head is None:
        raise refuse(f"the PTX of kernel '{entry}' has no entry of that name")
    return len(re.findall(r"\.param\b", head.group(1)))


def _types(name: str, signature: Dict[str, Any], attributes: Dict[Tuple[int, ...], Any]) -> List[Any]:
    """Of the arguments that are no constants."""
    return [_type(f"argument '{key}' of kernel '{name}'", text, ["tt.divisibility", 16] in attributes.get((index,), []))
            for index, (key, text) in enumerate(signature.items()) if text != "constexpr"]


def _type(where: str, text: Any, aligned: bool) -> Any:
    elements = _NUMBERS.get(text.lstrip("*k")) if isinstance(text, str) else None
    if isinstance(text, str) and text.startswith("*") and "*" not in text[1:]:
        known = _BFLOAT16 if text.endswith("bf16") else (elements or "").rstrip("_")  # "" if NumPy does not know them
        return PointerTo(known, f"pointer to {text[1:]}", 16 if aligned else 1)
    if elements is None:
        raise refuse(f"{where} has the type '{text}', which Braid cannot hand over: give pointers and numbers")
    number = getattr(numpy, elements)
    return Multiple(number, 16) if aligned else number
