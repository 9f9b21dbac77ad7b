# SPDX-License-Identifier: Apache-2.0
"""Captures of PyTorch take work in proportion to their operations, and their random numbers are those of PyTorch. A few lines play
PyTorch, as in functions_of_torch."""
import functions_of_torch
import pytest

import braid
import braid.torch

torch = functions_of_torch.torch  # the fixture
optimize, tensors, told = functions_of_torch.optimize, functions_of_torch.tensors, functions_of_torch.told


def chain(torch, num):
    a, = tensors(torch, 2)

    def function():
        one = a
        for _ in range(num):
            one = torch.ops.through(one, a)
        return one

    return function


@pytest.mark.parametrize("keeps", [False, True])
def test_a_capture_reads_each_event_a_few_times(torch, keeps):
    reads = []
    for num in (20, 80):
        torch.allocator.told.clear()
        made = optimize(torch, chain(torch, num), keep_memory=keeps)
        assert told(made)[2] == 2 * num
        reads.append(sum(torch.allocator.told))
    assert reads[1] < 6 * reads[0]  # four times the operations


def test_nodes_that_the_driver_lists_in_another_order_are_found(torch, monkeypatch):
    from braid import _torch

    class Turned:
        """A driver that lists the last node first."""

        def __init__(self, driver):
            self.driver = driver

        def __getattr__(self, name):
            return getattr(self.driver, name)

        def cuGraphGetNodes(self, graph, nodes, num):
            result = self.driver.cuGraphGetNodes(graph, nodes, num)
            if nodes is not None:
                nodes[:] = nodes[::-1]
            return result

    init = _torch.Nodes.__init__

    def turned(self, stream):
        init(self, stream)
        self._cuda = Turned(self._cuda)

    monkeypatch.setattr(_torch.Nodes, "__init__", turned)
    made = optimize(torch, chain(torch, 5))
    assert told(made)[2:] == (10, 0)
