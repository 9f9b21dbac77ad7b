# SPDX-License-Identifier: Apache-2.0
"""The tool replays a captured frame, and Python gets what it found."""
import os
import stat

import numpy as np
import pytest

import braid

TOOL = os.environ["BRAID_TEST_TOOL"]
KERNELS = os.environ["BRAID_TEST_KERNELS"]


def captured(device, graph, path):
    with braid.Exec(device, graph, capture=True) as frame:
        frame.capture(path)
    return path


@pytest.fixture
def fills(device, tmp_path):
    x, y = np.zeros(4, "uint32"), np.zeros(4, "uint32")
    graph = braid.Graph()
    graph.fill(x, 2, name="fill")
    graph.copy(y, x, name="copy")
    graph.host(lambda: None, name="look")
    return captured(device, graph, tmp_path / "fills.braidcap")


def test_a_frame_that_repeats_has_no_difference(fills, device):
    found = braid.replay(fills, tool=TOOL)
    assert found == braid.Replay(0, "cpu", 3, ((2, "look"),), "serially", "as planned", None) and found
    assert braid.replay(fills, tool=TOOL, device="cpu", against=device, lanes=1, iterations=9, tolerance=0.5,
                        type="float64").right == "cpu"


def test_a_difference_has_its_node_and_iteration(device, library, tmp_path):
    counts = np.zeros(2, "int64")
    kernel = braid.Kernel("count", cpu=library.count, types=[braid.Pointer])
    graph = braid.Graph()
    with graph.loop(times=2, name="twice"):
        graph.kernel(kernel, 1, [counts], updates=graph.buffer(counts, name="counts"), name="counting")
    path = captured(device, graph, tmp_path / "counts.braidcap")
    found = braid.replay(path, kernels=KERNELS, against="cpu", tool=TOOL)
    what = found.difference
    assert not found and what == braid.Difference((1, "counting"), (1, "counting"), 0, (("twice", 1),), "counts", 0, "0x01",
                                                  "0x02", str(what))
    assert str(what).startswith("node 1 'counting' in iteration 1 of 'twice': buffer 'counts' differs from byte 0 on"), what


def test_what_cannot_be_replayed_is_named(device, store, fills, tmp_path):
    graph = braid.Graph()
    target = np.zeros(1, "int64")
    graph.kernel(store, 1, [target, 8], writes=target)
    path = captured(device, graph, tmp_path / "store.braidcap")
    with pytest.raises(braid.Error, match="kernel 'store' has no code for any device"):
        braid.replay(path, tool=TOOL)
    assert braid.replay(path, kernels=KERNELS, tool=TOOL)
    with pytest.raises(braid.InvalidArgumentError, match="--type takes float32 or float64, not 'int'"):
        braid.replay(fills, type="int", tool=TOOL)
    with pytest.raises(braid.InvalidArgumentError, match="no-file"):
        braid.replay(tmp_path / "no-file", tool=TOOL)
    with pytest.raises(braid.UnavailableError, match="there is no /no/tool"):
        braid.replay(fills, tool="/no/tool")


def test_a_tool_that_a_signal_ends_is_told_of(fills, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nkill -9 $$\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(braid.Error, match="was ended by signal 9"):
        braid.replay(fills, tool=tool)


def test_the_tool_is_found_on_the_path(fills, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(braid.UnavailableError, match="there is no braid on PATH"):
        braid.replay(fills)
    (tmp_path / "braid").symlink_to(TOOL)
    assert braid.replay(fills)
