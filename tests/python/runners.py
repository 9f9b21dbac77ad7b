# SPDX-License-Identifier: Apache-2.0
"""A runner plays each frame once, and ends with the fastest way."""
import numpy
import pytest

import braid


def counting():
    counts, graph = numpy.zeros(3, "int64"), braid.Graph()
    for place in range(3):
        part = counts[place:place + 1]
        graph.host(lambda part=part: part.__iadd__(1), updates=part)
    return counts, graph


def launch_until_chosen(runner):
    num = 0
    while not runner.info.is_chosen:
        assert num < 1000
        runner.launch()
        runner.wait()
        num += 1
    return num


def test_each_frame_is_played_once():
    counts, graph = counting()
    runner = braid.Runner(braid.Device("cpu"), graph)
    assert runner.exec is None and runner.info.way == "guessed costs"
    num = launch_until_chosen(runner)
    assert counts.tolist() == [num] * 3
    assert "measured costs: " in runner.info.reason and runner.info.frame_ns > 0 and runner.info.is_making is False
    runner.exec.launch()
    runner.exec.wait()
    assert counts.tolist() == [num + 1] * 3 and len(runner.exec.graph) == 3


def test_the_programs_own_way_is_tried():
    counts, graph = counting()
    device, streams = braid.Device("cpu"), []

    def play(stream):
        streams.append(stream)
        stream.host(lambda: counts.__iadd__(1))

    runner = braid.Runner(device, graph, as_before=play, max_lanes=2)
    stream = device.stream()
    for num in range(400):
        runner.launch(stream)
        if num % 3 == 0:
            runner.wait()
    runner.wait()
    assert counts.tolist() == [400] * 3
    assert streams and "as before: " in runner.info.reason and "4 lanes" not in runner.info.reason


def test_a_failure_of_the_programs_way_is_raised_once():
    counts, graph = counting()

    def fail(stream):
        raise KeyError("lost")

    runner = braid.Runner(braid.Device("cpu"), graph, as_before=fail)
    failures, num = [], 0
    while not runner.info.is_chosen:
        num += 1
        try:
            runner.launch()
        except braid.DeviceError as error:
            failures.append(error.__cause__)
        runner.wait()
    assert [str(failure) for failure in failures] == ["'lost'"]
    assert counts.tolist() == [num - 1] * 3


def test_plans_are_filled_before_each_launch():
    counts, graph = counting()
    fills, plays = [], []

    def play(stream):
        plays.append(stream)
        stream.host(lambda: counts.__iadd__(1))

    runner = braid.Runner(braid.Device("cpu"), graph, as_before=play, before_plan=fills.append)
    num = launch_until_chosen(runner)
    assert fills and plays and len(fills) + len(plays) == num and counts.tolist() == [num] * 3


def test_a_plan_that_cannot_be_filled_does_not_play():
    counts, graph = counting()

    def fail(stream):
        raise KeyError("lost")

    runner = braid.Runner(braid.Device("cpu"), graph, before_plan=fail)
    with pytest.raises(braid.DeviceError) as told:
        runner.launch()
    runner.wait()
    assert str(told.value.__cause__) == "'lost'" and counts.tolist() == [0] * 3


def test_what_no_runner_can_play_is_refused():
    counts, graph = counting()
    with pytest.raises(braid.InvalidArgumentError, match="a runner is made of a device and a graph"):
        braid.Runner(graph, braid.Device("cpu"))
    graph.use(graph.parameter("on", numpy.bool_(True)), graph.fill(counts, 0), "enabled")
    with pytest.raises(braid.InvalidArgumentError, match="knows no values of parameters"):
        braid.Runner(braid.Device("cpu"), graph)
