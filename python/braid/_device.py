# SPDX-License-Identifier: Apache-2.0
"""Devices, their memory, streams and events."""
from __future__ import annotations

import collections
import dataclasses
import gc
import itertools
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from braid._binding import ffi, lib
from braid._arguments import fill_value
from braid._calls import Failures, queue_call
from braid._errors import InUseError, check, refuse
from braid._interrupts import may_poll, poll
from braid._lifetime import Owned, Owner, _owners, run_deferred
from braid._memory import Span, check_same_elements, describe, whole_array
from braid._options import MODES, CostModel, Link, Mode, Places, choose, read_struct

if TYPE_CHECKING:
    from braid._memories import Memory


@dataclasses.dataclass(frozen=True)
class Backend:
    """Whether a backend can be used in this process; where not, `reason` says why."""

    name: str
    num_devices: int
    reason: str


def backends() -> List[Backend]:
    """All that Braid knows."""
    struct = ffi.new("braid_backend_info *")
    found = []
    for index in itertools.count():
        name = lib.braid_backend_get_name(index)
        if name == ffi.NULL:
            break
        check(lib.braid_backend_get_info(name, struct))
        found.append(read_struct(Backend, struct))
    return found


@dataclasses.dataclass(frozen=True)
class FoundDevice:
    """A device that need not be open; see braid_found_device."""

    backend: str
    ordinal: int
    name: str
    bus_id: str
    memory_bytes: int
    num_units: int
    max_threads_per_block: int


def devices() -> List[FoundDevice]:
    """The devices of all backends, best first. None of them is opened."""
    struct = ffi.new("braid_found_device *")
    found = []
    for backend in backends():
        for ordinal in range(backend.num_devices):
            check(lib.braid_backend_get_device(ffi.new("char[]", backend.name.encode()), ordinal, struct))
            found.append(read_struct(FoundDevice, struct))
    return found


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """See braid_device_info."""

    name: str
    backend: str
    ordinal: int
    memory_bytes: int
    num_units: int
    max_threads_per_block: int
    num_members: int
    streams_created: int
    streams_live: int
    streams_leased: int
    events_created: int
    events_live: int
    events_leased: int


def _read_info(pointer: Any) -> DeviceInfo:
    struct = ffi.new("braid_device_info *")
    lib.braid_device_get_info(pointer, struct)
    return read_struct(DeviceInfo, struct)


class Device(Owned):
    """An opened device. `backend` is one, or several with commas between them, of "cuda", "hip" and "cpu";
    without, the best that is here. It stays open as long as anything made from it is used. `cache`: the folder
    where code compiled for GPUs is kept, or "off"; see braid_device_options."""

    def __init__(self, backend: Union[str, Sequence[str], None] = None, *, ordinal: int = 0,
                 num_workers: int = 0, cache: Union[str, os.PathLike[str], None] = None):
        run_deferred()
        names = backend if backend is None or isinstance(backend, str) else ",".join(backend)
        options = ffi.new("braid_device_options *")
        text = ffi.NULL if names is None else ffi.new("char[]", names.encode())
        options.backend, options.ordinal, options.num_workers = text, ordinal, num_workers
        folder = ffi.NULL if cache is None else ffi.new("char[]", os.fsencode(cache))
        options.cache = folder
        out = ffi.new("braid_device **")
        check(lib.braid_device_open(options, out))
        self._hold(out[0])

    @classmethod
    def adopt_cuda(cls, context: int = 0) -> Device:
        """Opens a device on a CUcontext of the program; 0: the thread's current one."""
        run_deferred()
        options = ffi.new("braid_device_options *")
        options.context = ffi.cast("void *", context or -1)  # BRAID_CURRENT_CONTEXT
        out = ffi.new("braid_device **")
        check(lib.braid_device_open(options, out))
        device = cls.__new__(cls)
        device._hold(out[0])
        return device

    @classmethod
    def open_group(cls, members: Sequence[Device]) -> Device:
        """A device that stands for several: members[i] is place i + 1 of graphs. The same device may be a member several
        times. Memory, streams and events belong to a member. Members stay open as long as the group is used."""
        run_deferred()
        for member in members:
            if not isinstance(member, Device):
                raise refuse(f"{member!r} is no device")
        if not members:
            raise refuse("a group has one device at least")
        owners = [member._owner for member in members]
        out = ffi.new("braid_device **")
        check(lib.braid_device_open_group([owner.pointer for owner in owners], len(owners), out))
        for owner in owners[1:]:
            owner.acquire()

        def close(pointer: Any) -> None:
            lib.braid_device_close(pointer)
            for owner in owners[1:]:
                owner.release()

        device = cls.__new__(cls)
        device._hold(out[0], Owner("group", out[0], close, parent=owners[0]))
        device._members = tuple(members)
        return device

    def _hold(self, pointer: Any, owner: Optional[Owner] = None) -> None:
        self._owner = owner or Owner("device", pointer, lib.braid_device_close)
        self._members: Tuple[Device, ...] = ()
        self._first_info = _read_info(pointer)
        self._wrapped: Dict[int, Stream] = {}

    @property
    def backend(self) -> str:
        return self._first_info.backend

    @property
    def name(self) -> str:
        return self._first_info.name

    @property
    def info(self) -> DeviceInfo:
        """The device, and the streams and events that Braid has made on it and holds now."""
        with self._owner as pointer:
            return _read_info(pointer)

    @property
    def members(self) -> Tuple[Device, ...]:
        """Of a group its devices, by place; of a device alone itself."""
        return self._members or (self,)

    def places(self) -> Places:
        """What the planner is told of a group, for Graph.plan(places=...)."""
        info = ffi.new("braid_device_info *")
        with self._owner as pointer:
            lib.braid_device_get_info(pointer, info)
            if info.place_model == ffi.NULL:
                return Places([1000], links={})
            model = ffi.cast("braid_place_model *", info.place_model)
            num = model.num_places
            links = {(i + 1, k + 1): read_struct(Link, model.links + i * num + k) for i in range(num) for k in range(num)}
            return Places([model.speeds[i] for i in range(num)], links=links)

    def cost_model(self, mode: Mode = "auto") -> CostModel:
        """What ordering costs here, for Graph.plan."""
        info = ffi.new("braid_device_info *")
        with self._owner as pointer:
            lib.braid_device_get_info(pointer, info)
            if info.costs == ffi.NULL:
                raise refuse("a group has no cost model: its members have")
            return read_struct(CostModel, info.costs[choose("mode", MODES, mode)])

    def allocate(self, nbytes: int, *, host: bool = False, managed: bool = False) -> Memory:
        """Memory of the device, host memory that its copies reach asynchronously, or managed memory, which both reach."""
        from braid._memories import Memory

        return Memory(self, nbytes, host=host, managed=managed)

    def stream(self, priority: int = 0) -> Stream:
        """A new stream; smaller priorities are more urgent."""
        options = ffi.new("braid_stream_options *", [priority])
        out = ffi.new("braid_stream **")
        with self._owner as pointer:
            check(lib.braid_stream_create(pointer, options, out))
        return Stream(self._owner, out[0], owned=True)

    def wrap_stream(self, stream: Any) -> Stream:
        """A stream of the program: PyTorch's, CuPy's, whatever has __cuda_stream__, or its address. The
        same one is wrapped once."""
        if isinstance(stream, Stream):
            return stream
        address = stream_handle(stream)
        wrapped = self._wrapped.get(address)
        if wrapped is None:
            out = ffi.new("braid_stream **")
            with self._owner as pointer:
                check(lib.braid_stream_wrap(pointer, ffi.cast("void *", address), out))
            wrapped = self._wrapped[address] = Stream(self._owner, out[0], owned=True)
        return wrapped

    def event(self, *, timing: bool = False) -> Event:
        options = ffi.new("braid_event_options *", [timing])
        out = ffi.new("braid_event **")
        with self._owner as pointer:
            check(lib.braid_event_create(pointer, options, out))
        return Event(self._owner, out[0])

    def wait(self) -> None:
        """Blocks until the default stream's work has ended."""
        with self._owner as pointer:
            check(wait_for_stream(pointer, lib.braid_device_get_default_stream(pointer)))

    def close(self) -> None:
        """Closes the device. Raises InUseError while execs, streams, events or memory of it are left. Without
        it, and by a with statement too, the device is closed once nothing uses it any more."""
        if not self._owner.closed and self._owner.has_other_users:
            gc.collect()  # what is left may only be in circles of references
        run_deferred()
        for stream in self.__dict__.pop("_wrapped", {}).values():
            stream.close()
        self._wrapped = {}
        if not self._owner.closed and self._owner.has_other_users:
            left = collections.Counter(owner.what for owner in list(_owners) if owner._parent is self._owner)
            used = ", ".join(f"{num} {what}{'s' if num > 1 else ''}" for what, num in sorted(left.items()))
            raise InUseError(f"device '{self.name}' is still used by {used or 'a call'}: close or drop them first")
        super().close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *what: Any) -> None:
        try:
            self.close()
        except InUseError:
            pass

    def __repr__(self) -> str:
        return f"<braid.Device {self.backend} {self.name!r}{', closed' if self._owner.closed else ''}>"


def stream_handle(stream: Any) -> int:
    """The CUstream or hipStream_t of a stream of PyTorch, CuPy, or another library."""
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version_and_address = protocol() if callable(protocol) else protocol
        return int(version_and_address[1])
    for attribute in ("cuda_stream", "ptr"):  # PyTorch, CuPy
        address = getattr(stream, attribute, None)
        if isinstance(address, int):
            return address
    raise refuse(f"{stream!r} is no stream: give a braid.Stream, one of PyTorch or CuPy, something with "
                 "__cuda_stream__, or an address")


class Stream(Owned):
    """A queue whose work runs in order. Made by Device.stream or Device.wrap_stream."""

    def __init__(self, device: Owner, pointer: Any, *, owned: bool):
        destroy = lib.braid_stream_destroy if owned else lambda pointer: None
        self._device = device
        self._failures = Failures()
        self._is_lent = not owned
        self._owner = Owner("stream", pointer, destroy, parent=device)

    @classmethod
    def _lent(cls, device: Any, pointer: Any) -> Stream:
        """For the time of a queue call."""
        return cls(Owner("device", device, lambda pointer: None), pointer, owned=False)

    def _take_back(self) -> None:
        self._owner.destroy()

    @property
    def handle(self) -> int:
        """The CUstream or hipStream_t, for instance for torch.cuda.ExternalStream(stream.handle)."""
        with self._owner as pointer:
            return int(ffi.cast("uintptr_t", lib.braid_stream_get_handle(pointer)))

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self.handle

    def wait(self) -> None:
        """Blocks until all work queued so far has ended. Raises HostCallError where calls of host() raised."""
        with self._owner as pointer:
            status = wait_for_stream(self._device.pointer_for_children, pointer)
        self._failures.report()
        check(status)

    @property
    def done(self) -> bool:
        with self._owner as pointer:
            return is_ready(lib.braid_stream_query(pointer))

    def fill(self, to: Any, value: Any) -> None:
        """Queues a fill of all elements of an array. It must live until that has ended."""
        span = whole_array(to, "the target of a fill")
        if span.readonly:
            raise refuse(f"the target of a fill is {span.kind} that is read-only")
        number, nbytes = fill_value(value, span.typestr, span.address & -span.address or 1, "a fill")
        if nbytes > 4:
            raise refuse(f"a fill of a stream: {value!r} has 8 bytes; those of streams are of 1, 2 or 4 bytes, and "
                         "those of graphs of 8 as well")
        with self._owner as pointer:
            check(lib.braid_stream_fill(pointer, ffi.cast("void *", span.address), number, nbytes,
                                        span.nbytes // nbytes))

    def host(self, function: Callable[[], Any]) -> None:
        """Queues a call of a Python function on a host thread, which must not call Braid. The next wait
        raises what it raised."""
        with self._owner as pointer:
            check(queue_call(pointer, function, self._failures))

    def follow(self, event: Event) -> None:
        """Work queued from now on starts after the event's latest record."""
        with self._owner as pointer, event._owner as other:
            check(lib.braid_stream_follow(pointer, other))

    def copy(self, to: Any, source: Any) -> None:
        """Queues a copy of an array to another of as many bytes. Both must live until it has ended."""
        with self._owner as pointer:
            queue_copy(pointer, to, source)


def wait_for_stream(device: Any, stream: Any) -> int:
    """Asks for what is queued now, since other threads may queue more all the time."""
    out = ffi.new("braid_event **")
    try:
        if may_poll() and lib.braid_event_create(device, ffi.NULL, out) == lib.BRAID_OK and \
                lib.braid_event_record(out[0], stream) == lib.BRAID_OK:
            poll(lambda: bool(lib.braid_event_query(out[0]) != lib.BRAID_NOT_READY))
    finally:
        lib.braid_event_destroy(out[0])
    return int(lib.braid_stream_wait(stream))


def is_ready(status: int) -> bool:
    if status == lib.BRAID_NOT_READY:
        return False
    check(status)
    return True


def queue_copy(stream: Any, to: Any, source: Any) -> None:
    target, origin = describe(to), describe(source)
    for what, span in (("target", target), ("source", origin)):
        if not span.contiguous:
            raise refuse(f"the {what} of a copy is {span.kind} whose elements do not follow each other in memory")
    if target.readonly:
        raise refuse(f"the target of a copy is {target.kind} that is read-only")
    if target.nbytes != origin.nbytes:
        raise refuse(f"a copy is from {origin.nbytes} bytes to {target.nbytes}")
    check_same_elements("a copy", target.copied, origin.copied)
    check(lib.braid_stream_copy(stream, ffi.cast("void *", target.address), ffi.cast("void *", origin.address),
                                target.nbytes))


class Event(Owned):
    """A point in a stream. Made by Device.event."""

    def __init__(self, device: Owner, pointer: Any):
        self._owner = Owner("event", pointer, lib.braid_event_destroy, parent=device)

    def record(self, stream: Optional[Stream] = None) -> None:
        """None is the default stream."""
        with self._owner as pointer:
            if stream is None:
                check(lib.braid_event_record(pointer, ffi.NULL))
            else:
                with stream._owner as queue:
                    check(lib.braid_event_record(pointer, queue))

    @property
    def done(self) -> bool:
        with self._owner as pointer:
            return is_ready(lib.braid_event_query(pointer))

    def wait(self) -> None:
        """Blocks until the latest record has been reached."""
        with self._owner as pointer:
            poll(lambda: bool(lib.braid_event_query(pointer) != lib.BRAID_NOT_READY))
            check(lib.braid_event_wait(pointer))

    def elapsed_ns(self, end: Event) -> int:
        """From this event's latest record to that of another; both with timing."""
        out = ffi.new("uint64_t *")
        with self._owner as first, end._owner as second:
            check(lib.braid_event_get_elapsed(first, second, out))
        return int(out[0])
