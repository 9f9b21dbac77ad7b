# SPDX-License-Identifier: Apache-2.0
"""Results of a captured function: whether a call leaves anything else, and how values go from one capture's results to another's."""
from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Set

import torch
from torch.utils import _pytree

from braid._torch import _is_plain, _ranges_of

_KNOWN = (type(None), bool, int, float, complex, str)


def are_all(box: List[Any], memory: Any, device: Any) -> bool:
    """Whether the results in this list are all that a call leaves. A second capture would take the place of other tensors, such
    as gradients that the function has made. Values in an object that PyTorch does not know cannot be found. Results that the
    program holds too may be what the next call reads. Results that the GPU writes to memory of the host are copied by nobody."""
    leaves = _pytree.tree_leaves(box[0])
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if any(tensor.device != device or not _is_plain(tensor) for tensor in tensors):
        return False
    if not all(isinstance(leaf, (torch.Tensor, *_KNOWN)) for leaf in leaves):
        return False
    live = [block["address"] for segment in torch.cuda.memory_snapshot() if segment["device"] == device.index
            for block in segment["blocks"] if block["state"] == "active_allocated"]
    if memory.left(tensors, live):
        return False
    del leaves, tensors
    return not _is_held(box, memory)


class _Like:
    """In a tensor's place."""


def _is_held(box: List[Any], memory: Any) -> bool:
    """Whether anyone but this list has a result that the capture made. Copies of the structure, with other objects, tell how many
    references it has itself."""
    own = {id(leaf): leaf for leaf in _pytree.tree_leaves(box[0])
           if isinstance(leaf, torch.Tensor) and memory.has(leaf.untyped_storage().data_ptr())}
    likes = {key: _Like() for key in own}
    try:
        like = [_pytree.tree_map(lambda leaf: likes.get(id(leaf), leaf), box[0])]  # noqa: F841
    except Exception:  # an object of the program's that takes nothing but tensors
        return True
    num_own, num_likes = ([sys.getrefcount(value) for value in found.values()] for found in (own, likes))
    if any(mine > other for mine, other in zip(num_own, num_likes)):
        return True
    num_more = _owners_of_a_fresh_storage() - 1
    return any(torch._C._storage_Use_Count(storage) > num + num_more for storage, num in _storages(list(own.values())).items())


def _storages(tensors: List[Any]) -> Dict[int, int]:
    """The handles of storages, and how many of these tensors each has, and of those that they are views of. The storage of a
    tensor that is differentiated may have other owners."""
    objects: Dict[int, Set[int]] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        if not tensor.requires_grad:
            owners = [one for one in (tensor, tensor._base) if one is not None]
            objects.setdefault(storage._cdata, set()).update(map(id, owners))
    return {handle: len(found) for handle, found in objects.items()}


def _owners_of_a_fresh_storage() -> int:
    """From PyTorch 2.10 on, the storage's object of Python is one beside the tensor."""
    probe = torch.empty(1, dtype=torch.uint8, device="cpu")
    return int(torch._C._storage_Use_Count(probe.untyped_storage()._cdata))


def check_alike(found: List[Any], own: List[Any]) -> None:
    """Refuses a function whose second capture returns other kinds of results."""
    if len(found) != len(own):
        raise RuntimeError(f"it returns {len(own)} values, and returned {len(found)} before")
    for index, (mine, other) in enumerate(zip(found, own)):
        if isinstance(mine, torch.Tensor) and _form(mine) != _form(other):
            raise RuntimeError(f"result {index} has another shape, or other strides, than before")


def _form(tensor: Any) -> Any:
    return isinstance(tensor, torch.Tensor) and (tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


def copies_of(expected: Any, outputs: Any) -> List[Callable[[], Any]]:
    """What copies these results to the expected ones: bytes, since elements of an expanded tensor share theirs."""
    found, own = _pytree.tree_leaves(expected), _pytree.tree_leaves(outputs)
    check_alike(found, own)
    pairs = [(mine, other) for mine, other in zip(found, own)
             if isinstance(mine, torch.Tensor) and mine.is_cuda and mine.numel() and mine.data_ptr() != other.data_ptr()]
    with torch.inference_mode():
        return [_copy(_bytes_of(mine), _bytes_of(other)) for mine, other in pairs]


def _copy(to: Any, source: Any) -> Callable[[], Any]:
    return lambda: to.copy_(source, non_blocking=True)


def _bytes_of(tensor: Any) -> Any:
    """From the first byte to behind the last."""
    (address, num), storage = _ranges_of([tensor])[0], tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage, address - storage.data_ptr(), (num,), (1,))
