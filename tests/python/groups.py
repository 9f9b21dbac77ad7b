# SPDX-License-Identifier: Apache-2.0
"""Several devices run one graph; the CPU several times is as many."""
import numpy as np
import pytest

import braid


def test_nodes_run_where_they_say(device, store):
    one, two = np.zeros(1, "int64"), np.zeros(1, "int64")
    graph = braid.Graph()
    graph.set_home(graph.buffer(two), 2)
    first = graph.kernel(store, 1, [one, 5], writes=one, place=1)
    second = graph.kernel(store, 1, [two, 6], writes=two, place=2, after=first)
    with braid.Device.open_group([device, device]) as group:
        assert group.members == (device, device) and group.info.num_members == 2
        places = group.places()
        assert list(places.speeds) == [1000, 1000] and places.links[1, 2].is_direct
        assert device.members == (device,) and list(device.places().speeds) == [1000]
        schedule = graph.plan(costs=braid.CostModel(), places=places)
        assert [schedule.placement(node).place for node in (first, second)] == [1, 2]
        frame = braid.Exec(group, graph)
        with pytest.raises(braid.InvalidArgumentError, match="is a group: give a member"):
            group.stream()
    frame.run()  # lives on
    assert (one[0], two[0]) == (5, 6)


def test_a_device_stays_open_for_its_group():
    devices = [braid.Device("cpu"), braid.Device("cpu")]
    with pytest.raises(braid.InvalidArgumentError):
        braid.Device.open_group(devices)  # two of the CPU
    group = braid.Device.open_group(devices[:1] * 2)
    with pytest.raises(braid.InUseError, match="1 group"):
        devices[0].close()
    group.close()
    for device in devices:
        device.close()


def test_what_is_no_group_is_refused():
    with pytest.raises(braid.InvalidArgumentError, match="is no device"):
        braid.Device.open_group(["cpu"])
    with pytest.raises(braid.InvalidArgumentError):
        braid.Device.open_group([])
