# SPDX-License-Identifier: Apache-2.0
"""Execs tell how long nodes took, and plans use it."""
import time

import pytest

import braid

SLEEP = 0.004


@pytest.fixture
def graph():
    """A call that sleeps, a short one behind it, and a short one beside"""
    made = braid.Graph()
    long = made.host(lambda: time.sleep(SLEEP), name="long", blocking=True)
    made.host(lambda: None, name="behind", after=long)
    made.host(lambda: None, name="beside")
    return made


def test_nodes_lanes_and_frames_are_timed(device, graph):
    frame = braid.Exec(device, graph, frames_kept=4)
    frame.run(6)
    timings = frame.timings()
    assert timings.frames_kept == 4
    assert [timing.node.name for timing in timings.nodes] == ["long", "behind", "beside"]
    assert all(timing.timed_by == "around" for timing in timings.nodes)
    long, behind, _ = (timing.time for timing in timings.nodes)
    assert SLEEP * 1e9 <= long.least_ns <= long.median_ns <= long.most_ns
    assert timings.frame.least_ns >= long.least_ns
    assert len(timings.lanes) == frame.schedule.info.num_lanes == len(frame.schedule.lanes)
    assert sum(lane.num_nodes for lane in timings.lanes) == 3
    assert len(timings.waits) == frame.schedule.info.num_waits


def test_nodes_in_a_loop_have_the_times_of_their_runs(device):
    graph = braid.Graph()
    with graph.loop(times=5) as loop:
        inside = graph.host(lambda: None)
    frame = braid.Exec(device, graph, frames_kept=2)
    frame.run(3)
    runs = {timing.node: timing for timing in frame.timings().nodes}
    assert (runs[loop].num_runs, runs[inside].num_runs) == (2, 10)
    assert 0 < runs[inside].time.least_ns <= runs[inside].mean_ns <= runs[inside].time.most_ns


def test_waits_are_timed(device, graph):
    beside = graph.nodes[2]
    graph.edge(graph.nodes[0], beside)
    frame = braid.Exec(device, graph, frames_kept=2, max_lanes=4, fixed_lanes=True)
    frame.run(2)
    (wait,) = frame.timings().waits
    assert wait.waited_for.name == "long" and wait.node.name in ("behind", "beside")
    assert wait.lane != wait.waited_for_lane and wait.wait.most_ns > 0
    assert any(lane.waited_for is not None and lane.waited_for.name == "long" for lane in frame.timings().lanes)


def test_intervals_are_drawn(device, graph):
    frame = braid.Exec(device, graph, frames_kept=2)
    frame.run(3)
    graph.empty(name="added later")
    intervals = frame.intervals()
    assert len(intervals) == 2 * 3
    for long, behind, _ in (intervals[:3], intervals[3:]):
        assert long[1] - long[0] >= SLEEP * 1e9 and behind[0] >= long[1]
    assert intervals[3][0] >= intervals[0][1]
    with braid.Exec(device, graph, frames_kept=2) as whole:
        before = time.monotonic_ns()
        whole.run()
        (timing,) = whole.timings().frames
        assert before <= timing.launch[0] <= timing.launch[1]
        assert timing.launch[0] <= timing.frame[0] + timing.error_ns and timing.frame[1] <= time.monotonic_ns() + timing.error_ns
        assert "long" in whole.schedule.svg(intervals=whole.intervals())
        drawn = whole.schedule.svg(intervals=whole.intervals(), frames=[timing])
        assert "long" in drawn and "the host launches the frame" in drawn
        with pytest.raises(braid.InvalidArgumentError, match="2 frames"):
            whole.schedule.svg(intervals=whole.intervals(), frames=[timing, timing])


def test_an_exec_that_keeps_no_times_says_so(device, graph):
    frame = braid.Exec(device, graph)
    for ask in (frame.timings, frame.intervals, frame.measure):
        with pytest.raises(braid.UnsupportedError, match="frames_kept is 0"):
            ask()


def test_measured_costs_are_planned_with_and_kept_in_files(device, graph, tmp_path):
    assert graph.plan(costs=braid.CostModel()).info.num_guessed == 3
    with braid.Exec(device, graph, frames_kept=3) as frame:
        frame.measure(3)
    plan = graph.plan(costs=braid.CostModel())
    assert plan.info.num_guessed == 0
    assert plan.placement(graph.nodes[0]).end_ns >= SLEEP / 2 * 1e9
    path = tmp_path / "costs.json"
    graph.save_costs(device, path)

    again = braid.Graph()
    first = again.host(print, name="long", blocking=True)
    again.host(print, name="behind", after=first)
    again.host(print, name="beside")
    assert again.digest == graph.digest
    again.load_costs(path, device)
    assert again.plan(costs=braid.CostModel()).info.work_ns == plan.info.work_ns
    again.load_costs(str(path))
    again.empty()
    assert again.digest != graph.digest
    with pytest.raises(braid.InvalidArgumentError, match="graph"):
        again.load_costs(path)
    with pytest.raises(braid.InputOutputError, match="nowhere"):
        graph.load_costs(tmp_path / "nowhere")


def test_what_raises_while_measuring_is_told(device):
    graph = braid.Graph()
    graph.host(lambda: 1 / 0, name="divide")
    with braid.Exec(device, graph, frames_kept=3) as frame:
        with pytest.raises(braid.HostCallError, match="divide"):
            frame.measure()


def test_tuning_tells_how_to_make_the_exec(device, graph):
    tuned = braid.tune(device, graph, budget_ns=100_000_000)
    (best,) = (trial for trial in tuned.trials if trial.is_best)
    assert not best.was_dropped and not tuned.trials[0].was_dropped
    assert best.frame.median_ns <= 1.01 * tuned.trials[0].frame.median_ns
    assert best.way == tuned.way and best.frames_timed > 0 and best.frame.median_ns >= SLEEP * 1e9
    with braid.Exec(device, graph, **tuned.way) as frame:
        frame.run()
        assert frame.schedule.info.num_lanes == best.num_lanes
        assert frame.info.mode == tuned.way["mode"]


def test_tuning_states_how_long_it_takes_first(device, graph):
    told = []
    tuned = braid.tune(device, graph, budget_ns=1, max_lanes=1, progress=lambda used, total: told.append((used, total)))
    total = told[0][1]
    assert told[0][0] == 0 and {one[1] for one in told} == {total} and told[-1][0] == total
    num_frames = sum(trial.frames_timed + 1 for trial in tuned.trials)  # the first of each way does not count
    assert total >= num_frames * SLEEP * 1e9
    assert [used for used, _ in told] == sorted(used for used, _ in told)


def test_tuning_tries_frames_in_flight_where_it_may(device):
    """Two nodes that sleep one after the other, and overlap from frame to frame."""
    graph, active, overlaps = braid.Graph(), [], []

    def work():
        active.append(None)
        overlaps.append(len(active) > 1)
        time.sleep(SLEEP)
        active.pop()

    first, second = graph.resource("first"), graph.resource("second")
    one = graph.host(work, name="one", blocking=True, excludes=first)
    graph.host(work, name="two", blocking=True, excludes=second, after=one)
    assert all("frames_in_flight" not in trial.way for trial in braid.tune(device, graph, budget_ns=1).trials)
    assert not any(overlaps)
    tuned = braid.tune(device, graph, budget_ns=1, max_frames_in_flight=3)
    assert any(overlaps)
    depths = {trial.way.get("frames_in_flight", 1) for trial in tuned.trials}
    assert depths == {1, 2, 3} and any("2 frames in flight" in trial.name for trial in tuned.trials)
    deepest = next(trial for trial in tuned.trials if trial.way.get("frames_in_flight") == 3)
    with braid.Exec(device, graph, **deepest.way) as frame:
        assert frame.info.frames_in_flight == 3
    graph.host(lambda: None, name="alone")  # which declares nothing, so that frames do not overlap
    assert {trial.way.get("frames_in_flight", 1) for trial in braid.tune(device, graph, budget_ns=1, max_frames_in_flight=2).trials} == {1}


def test_a_reset_gives_each_frame_its_state(device):
    state, seen = [0], []
    graph = braid.Graph()
    graph.host(lambda: seen.append(state.pop() if state else None))
    streams = []

    def reset(stream):
        streams.append(stream)
        state[:] = [1]

    braid.tune(device, graph, budget_ns=1, reset=reset)
    assert len(seen) == len(streams) and set(seen) == {1}
    with pytest.raises(braid.DeviceError, match="its reset returned BRAID_DEVICE_ERROR") as caught:
        braid.tune(device, graph, budget_ns=1, reset=lambda stream: 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
