# SPDX-License-Identifier: Apache-2.0
"""Memory that Braid allocates: of a device, or of the host for a device."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict

from braid._binding import ffi, lib
from braid._calls import Failures, queue_call
from braid._device import Device, Stream, queue_copy, wait_for_stream
from braid._errors import check, refuse
from braid._lifetime import Owned, Owner, run_deferred
from braid._memory import Span
from braid._options import read_struct

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclasses.dataclass(frozen=True)
class MemoryPoolInfo:
    """See braid_memory_pool_info."""

    bytes: int
    unshared_bytes: int
    num_execs: int
    num_blocks: int


class MemoryPool(Owned):
    """Transient memory that execs of a device or group share: Exec(device, graph, pool=pool). Frames of its execs never
    run at once. It lives as long as its execs, also when it is closed. `nbytes` are allocated at once."""

    def __init__(self, device: Device, nbytes: int = 0):
        run_deferred()
        if not isinstance(device, Device):
            raise refuse(f"a pool is of a device: MemoryPool(device), and not MemoryPool({type(device).__name__})")
        out = ffi.new("braid_memory_pool **")
        with device._owner as pointer:
            check(lib.braid_memory_pool_create(pointer, ffi.new("braid_memory_pool_options *", [nbytes]), out))
        self._owner = Owner("memory pool", out[0], lib.braid_memory_pool_destroy, parent=device._owner)

    @property
    def info(self) -> MemoryPoolInfo:
        """Its memory, and that which its execs would have without it."""
        struct = ffi.new("braid_memory_pool_info *")
        with self._owner as pointer:
            lib.braid_memory_pool_get_info(pointer, struct)
            return read_struct(MemoryPoolInfo, struct)


class Memory(Owned):
    """Memory of a device, or host memory that it reaches. Made by Device.allocate and Graph.device_buffer. Nodes
    and kernels take it like an array; on a GPU it has __cuda_array_interface__, else it is read and written by view().
    Managed memory has both."""

    def __init__(self, device: Device, nbytes: int, *, host: bool, managed: bool = False):
        if host and managed:
            raise refuse("memory is the host's or managed, not both")
        kind = lib.BRAID_MEMORY_HOST if host else lib.BRAID_MEMORY_MANAGED if managed else lib.BRAID_MEMORY_DEVICE
        out = ffi.new("void **")
        with device._owner as pointer:
            check(lib.braid_memory_allocate(pointer, kind, nbytes, out))

        self._hold(device, out[0], nbytes, host, managed)

    @classmethod
    def _made(cls, device: Device, pointer: Any, nbytes: int) -> Memory:
        """Of a device's own memory that C has allocated for the program."""
        memory = cls.__new__(cls)
        memory._hold(device, pointer, nbytes, False)
        return memory

    def _hold(self, device: Device, pointer: Any, nbytes: int, host: bool, managed: bool = False) -> None:
        def free(memory: Any, device: Owner = device._owner) -> None:
            lib.braid_memory_free(device.pointer_for_children, memory)

        self._device, self.nbytes, self._on_gpu = device._owner, nbytes, device.backend != "cpu" and not host
        self._has_view = not self._on_gpu or managed
        self._owner = Owner("memory", pointer, free, parent=device._owner)

    @property
    def address(self) -> int:
        return int(ffi.cast("uintptr_t", self._owner.pointer))

    def __braid_span__(self) -> Span:
        begin = self.address
        end = begin + self.nbytes
        return Span(begin, begin, end, begin, end, self, "memory of braid", on_gpu=self._on_gpu)

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if not self._on_gpu:
            raise AttributeError("this memory is the host's: use view()")
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (self.address, False), "version": 3,
                "strides": None}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *what: Any) -> None:
        self.close()

    def view(self) -> memoryview:
        """The bytes, for instance for numpy.frombuffer. They live as long as views of them do."""
        if not self._has_view:
            raise refuse("this memory is the device's: copy it to an array with copy_to()")
        owner = self._owner
        owner.acquire()
        held = ffi.gc(ffi.cast(f"char(*)[{self.nbytes}]", owner.pointer), lambda pointer: owner.release())
        return memoryview(ffi.buffer(held))

    def copy_from(self, array: Any) -> None:
        """Copies an array of as many bytes here, and waits for that."""
        self._copy(self, array)

    def copy_to(self, array: Any) -> None:
        """Copies this to an array of as many bytes, and waits for that."""
        self._copy(array, self)

    def _copy(self, to: Any, source: Any) -> None:
        with self._owner:
            device, stream = self._device.pointer_for_children, self._stream
            try:
                queue_copy(stream, to, source)
                check(wait_for_stream(device, stream))
            except KeyboardInterrupt:  # the copy goes on, and needs both
                if queue_call(stream, lambda: (to, source), Failures()):
                    lib.braid_stream_wait(stream)
                raise

    @property
    def _stream(self) -> Any:
        return lib.braid_device_get_default_stream(self._device.pointer_for_children)
