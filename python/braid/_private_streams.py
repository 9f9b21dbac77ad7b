# SPDX-License-Identifier: Apache-2.0
"""Streams of PyTorch that no program has. PyTorch keeps a workspace of cuBLAS for each stream, and graphs that were captured there use it
as long as they live. So each plan and each captured operation has a stream of its own."""
from __future__ import annotations

import ctypes
import weakref
from typing import Any, List, Tuple

Range = Tuple[int, int]  # an address and a number of bytes
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class Private:
    """A stream, and the workspace that cuBLAS has for it. Nothing else ever gets the workspace: the program's own graphs may have those of
    other streams. If it is not `told`, PyTorch allocates it where a product of matrices wants it."""

    free: List[Private] = []  # their owners are gone

    def __init__(self, device: Any, told: bool):
        import torch

        driver, handle, mode = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_int(_RELAXED)
        driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))  # this thread may be capturing
        result = driver.cuStreamCreate(ctypes.byref(handle), 1)  # apart from the default stream
        driver.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        if result or not handle.value:
            raise RuntimeError(f"cuStreamCreate returns {result}")
        self.device, self.told = device, told
        self.stream = torch.cuda.ExternalStream(handle.value, device=device)
        self.workspace: List[Range] = []
        if told:
            self._pool = torch.cuda.MemPool()  # never given back
            before = set(self._blocks())
            with torch.cuda.stream(self.stream), torch.cuda.use_mem_pool(self._pool, device):
                ones = torch.empty(16, 16, dtype=torch.float16, device=device)
                torch.mm(ones, ones)
                del ones
            self.workspace = [block for block in self._blocks() if block not in before]

    def _blocks(self) -> List[Range]:
        import torch

        return [(block["address"], block["size"]) for segment in torch.cuda.memory_snapshot() if segment["device"] == self.device.index
                for block in segment["blocks"] if block["state"] == "active_allocated"]


class Lease:
    """A private stream, until the lease is gone."""

    def __init__(self, device: Any, told: bool = True):
        mine = [index for index, private in enumerate(Private.free) if private.device == device and private.told == told]
        self.private = Private.free.pop(mine[-1]) if mine else Private(device, told)
        weakref.finalize(self, Private.free.append, self.private).atexit = False
