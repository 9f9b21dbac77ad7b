# SPDX-License-Identifier: Apache-2.0
"""Several devices that one exec runs on."""
from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from braid._binding import ffi, lib
from braid._device import Device
from braid._errors import check, refuse
from braid._lifetime import Owned, Owner, run_deferred
from braid._options import Link, Places


class DeviceGroup(Owned):
    """Devices in an order, which are places 0, 1 and so on of graphs: Exec(group, graph). The same device may be in
    it several times. They stay open as long as the group or an exec on it is used."""

    def __init__(self, devices: Sequence[Device]):
        run_deferred()
        for device in devices:
            if not isinstance(device, Device):
                raise refuse(f"{device!r} is no device")
        self.devices: Tuple[Device, ...] = tuple(devices)
        if not self.devices:
            raise refuse("a group has one device at least")
        owners = [device._owner for device in self.devices]
        pointers = ffi.new("braid_device *[]", [owner.pointer for owner in owners])
        out = ffi.new("braid_device_group **")
        check(lib.braid_device_group_create(pointers, len(owners), out))
        for owner in owners[1:]:
            owner.acquire()

        def destroy(pointer: Any) -> None:
            lib.braid_device_group_destroy(pointer)
            for owner in owners[1:]:
                owner.release()

        self._owner = Owner("device group", out[0], destroy, parent=owners[0])

    def __len__(self) -> int:
        with self._owner as pointer:
            return int(lib.braid_device_group_num_devices(pointer))

    def __getitem__(self, index: int) -> Device:
        with self._owner as pointer:
            found = lib.braid_device_group_device(pointer, index) if index >= 0 else ffi.NULL
        if found == ffi.NULL:
            raise IndexError(f"there is no device {index}: there are {len(self.devices)}")
        return self.devices[index]

    def reaches(self, origin: int, to: int) -> bool:
        """Whether a device reaches the memory of another by itself."""
        with self._owner as pointer:
            return bool(lib.braid_device_group_reaches(pointer, origin, to))

    def places(self) -> Places:
        """What the planner is told of the group, for Graph.plan(places=...)."""
        model = ffi.new("braid_place_model *")
        with self._owner as pointer:
            lib.braid_device_group_get_place_model(pointer, model)
            num = model.num_places
            speeds: List[int] = [model.speeds[i] if model.speeds != ffi.NULL else 1000 for i in range(num)]
            links = {} if model.links == ffi.NULL else {
                (i, k): _read_link(model.links[i * num + k]) for i in range(num) for k in range(num)}
            return Places(speeds, link=_read_link(model.link), links=links)

    def __enter__(self) -> DeviceGroup:
        return self

    def __exit__(self, *what: Any) -> None:
        self.close()


def _read_link(link: Any) -> Link:
    return Link(link.latency_ns, link.bytes_per_us, link.wait_ns)
