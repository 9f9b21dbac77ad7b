# SPDX-License-Identifier: Apache-2.0
"""Loops run until their condition is 0."""
import numpy as np
import pytest

import braid


def count_down(left):
    left -= 1


def test_a_loop_ends_with_its_condition(device):
    left, sums = np.array([3], "uint32"), np.zeros(1)
    graph = braid.Graph()
    graph.fill(left, 3)
    with graph.loop(left, most=500, name="until 0") as loop:
        graph.host(lambda: count_down(left), updates=left)
        graph.host(lambda: np.add(sums, 2, out=sums), updates=sums)
    frame = braid.Exec(device, graph)
    frame.run(4)
    assert (left[0], sums[0], frame.iterations(loop)) == (0, 24, 3)
    frame.set_times(loop, 2)
    frame.run()
    assert (left[0], frame.iterations(loop)) == (1, 2)
    frame.set_times(loop, 0)
    frame.run()
    assert (left[0], frame.iterations(loop)) == (3, 0)
    assert "until 0" in graph.dot()
    assert [step.kind for step in frame.schedule.steps if step.node == loop.index and step.kind != "record"][0] == "loop"
    assert frame.schedule._repr_svg_() and graph._repr_svg_()


def test_a_loop_of_a_resource_may_run_no_iteration(device):
    left = np.zeros(2, "int32")
    graph = braid.Graph()
    part = graph.range(graph.buffer(left), 4, 4)
    with graph.loop(part, unbounded=True, tests_first=True) as loop:
        graph.host(lambda: count_down(left), updates=part)
        with graph.loop(times=2) as inside:
            graph.host(lambda: None, reads=part)
    frame = braid.Exec(device, graph)
    frame.run()
    assert frame.iterations(loop) == frame.iterations(inside) == 0
    left[1] = 4
    frame.run()
    assert (frame.iterations(loop), frame.iterations(inside)) == (4, 8)


def test_loops_that_cannot_end_are_refused(device):
    left, wide = np.zeros(1, "uint32"), np.zeros(1, "uint64")
    graph = braid.Graph()
    for wrong, why in ((lambda: graph.loop(left, name="no bound"), "'no bound'"), (lambda: graph.loop(name="none"), "'none'"),
                       (lambda: graph.loop(wide, most=3, name="wide"), "'wide'.*u8")):
        with pytest.raises(braid.InvalidArgumentError, match=why):
            with wrong():
                pass
    with graph.loop(left, most=3, name="until converged"):
        graph.host(lambda: None, reads=left)
    with pytest.raises(braid.InvalidArgumentError, match="'until converged' never ends"):
        braid.Exec(device, graph)


def test_an_error_in_the_block_leaves_the_loop_open(device):
    graph = braid.Graph()
    with pytest.raises(ZeroDivisionError):
        with graph.loop(times=2, name="broken"):
            graph.host(lambda: None)
            1 / 0
    with pytest.raises(braid.WrongStateError, match="'broken' was begun and has not ended: .* or an error left the block"):
        graph.plan(costs=braid.CostModel())


def test_a_branch_runs_one_arm(device):
    which, sums = np.ones(1, "uint32"), np.zeros(2)
    graph = braid.Graph()
    with graph.branch(which, name="choose") as branch:
        graph.host(lambda: sums.__setitem__(0, sums[0] + 1), updates=sums)
        graph.otherwise()
        graph.host(lambda: sums.__setitem__(1, sums[1] + 1), updates=sums)
    frame = braid.Exec(device, graph)
    frame.run(2)
    assert (list(sums), frame.iterations(branch)) == ([2, 0], 1)
    which[0] = 0
    frame.run()
    assert (list(sums), frame.iterations(branch)) == ([2, 1], 0)
    assert "cluster_else" in graph.dot()


def test_branches_that_cannot_choose_are_refused():
    graph = braid.Graph()
    with pytest.raises(braid.InvalidArgumentError, match="'wide'.*u8"):
        graph.branch(np.zeros(1, "uint64"), name="wide")
    with pytest.raises(braid.WrongStateError, match="no branch is open"):
        graph.otherwise()
