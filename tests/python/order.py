# SPDX-License-Identifier: Apache-2.0
"""What nodes say they touch orders them, and nothing else does: parts of arrays, preludes, edges."""
import platform
import threading

import numpy as np
import pytest

import braid


def test_a_node_that_is_found_again_is_equal():
    graph, other = braid.Graph(), braid.Graph()
    first, second, elsewhere = graph.empty(), graph.empty(), other.empty()
    assert graph.nodes == [first, second] and first != second and first != elsewhere and first != 0
    assert len({first, graph.nodes[0], second, elsewhere}) == 3
    x = np.zeros(4)
    assert graph.buffer(x) != graph.resource("list") and graph.range(graph.buffer(x), 0, 8) != graph.buffer(x)

PATIENCE_S = 60


def meet(*sides):
    """Host calls that end only once all of them run at once."""
    barrier = threading.Barrier(len(sides))
    return [lambda side=side: barrier.wait(PATIENCE_S) and None for side in sides]


def test_nodes_that_share_nothing_run_at_once(device):
    a, b = np.zeros(8), np.zeros(8)
    graph = braid.Graph()
    for name, call, touched in zip("ab", meet("a", "b"), (a, b)):
        graph.host(call, name=name, writes=touched)
    braid.Exec(device, graph).run(3)


def test_nodes_that_no_output_needs_are_left_out(device):
    image, counts = np.zeros(8), np.zeros(8)
    graph, ran = braid.Graph(), []
    draw = graph.host(lambda: ran.append("draw"), writes=image)
    count = graph.host(lambda: ran.append("count"), name="count", reads=image, writes=counts)
    graph.output(image)
    schedule = graph.plan(costs=braid.CostModel())
    schedule.verify()
    assert schedule.info.num_left_out == 1 and schedule.info.num_nodes == 2
    assert schedule.placement(count).lane is None and schedule.placement(draw).lane == 0
    assert schedule.placement(count).place == 0 and schedule.placement(draw).place == 1
    assert schedule.explain(count) == "left out: no output of the graph needs its results"
    assert schedule.to_dict()["left_out"] == ["count"] and len(schedule.to_dict()["tasks"]) == 1
    braid.Exec(device, graph, schedule).run(2)
    assert ran == ["draw", "draw"]
    graph.output(graph.buffer(counts), image[:4])
    assert graph.plan(costs=braid.CostModel()).info.num_left_out == 0
    with pytest.raises(braid.InvalidArgumentError, match="transient"):
        graph.output(graph.transient("t", 8))


def test_a_saved_plan_serves_an_equal_graph(device, tmp_path):
    ran = []

    def build(num):
        graph = braid.Graph()
        for i in range(num):
            graph.host(lambda i=i: ran.append(i), name=str(i), cost_ns=1000, writes=np.zeros(8))
        return graph

    path = tmp_path / "plan"
    saved = build(3).plan(costs=braid.CostModel(), max_lanes=2)
    saved.save(path)
    graph = build(3)
    loaded = braid.Schedule.load(graph, path)
    assert loaded.steps == saved.steps and loaded.info == saved.info
    loaded.verify()
    with braid.Exec(device, graph, loaded) as frame:
        frame.schedule.save(str(path))
        frame.run()
    assert sorted(ran) == [0, 1, 2]
    with pytest.raises(braid.InvalidArgumentError, match="of 3 nodes, and this has 4"):
        braid.Schedule.load(build(4), path)


def test_parts_of_an_array_run_at_once_and_the_whole_waits_for_both(device):
    whole = np.zeros(8)
    graph = braid.Graph()
    left, right = [graph.host(call, writes=part) for call, part in zip(meet(0, 1), (whole[:4], whole[4:]))]
    total = []
    last = graph.host(lambda: total.append(whole.sum()), reads=whole)
    schedule = graph.plan(costs=braid.CostModel(), max_lanes=2, fixed_lanes=True)
    schedule.verify()
    braid.Exec(device, graph, schedule).run()
    assert total == [0.0]
    assert "no order" not in schedule.explain(left, last)
    assert schedule.placement(left).lane != schedule.placement(right).lane
    assert schedule.placement(last).start_ns >= schedule.placement(right).end_ns


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[::-1], np.s_[2:5]])
def test_views_of_an_array_conflict_with_it(view):
    whole = np.arange(8)
    graph = braid.Graph()
    graph.buffer(whole, "numbers")
    first = graph.host(lambda: None, name="first", writes=whole[view])
    second = graph.host(lambda: None, name="second", reads=whole)
    text = graph.plan(costs=braid.CostModel()).explain(first, second)
    assert "numbers" in text or "first" in text, text
    assert graph.plan(costs=braid.CostModel(), max_lanes=4, fixed_lanes=True).info.num_lanes == 1


def test_accumulating_nodes_are_free_among_each_other(device):
    total = np.zeros(1)
    graph = braid.Graph()
    for call in meet(0, 1):
        graph.host(call, accumulates=total)
    braid.Exec(device, graph).run()


def test_slots_let_so_many_nodes_run_at_once(device):
    graph = braid.Graph()
    seats = graph.slots("seats", 2)
    first, second = (graph.host(call, excludes=seats) for call in meet(0, 1))
    third = graph.host(lambda: None, excludes=seats)
    frame = braid.Exec(device, graph)
    frame.run()
    assert "seats" in frame.schedule.explain(first, third)
    assert "free" in frame.schedule.explain(first, second)
    with pytest.raises(braid.InvalidArgumentError, match="'seats': 0 slots"):
        graph.slots("seats", 0)


def test_reading_and_writing_is_an_update():
    x = np.zeros(1)
    graph = braid.Graph()
    graph.host(lambda: None, name="a", reads=x, writes=x)
    graph.host(lambda: None, name="b", updates=x)
    assert graph.plan(costs=braid.CostModel(), max_lanes=4, fixed_lanes=True).info.num_lanes == 1


def test_preludes_epilogues_and_edges(device):
    seen, graph = [], braid.Graph()
    made = graph.resource("list")
    loop = graph.host(lambda: seen.append("loop"), name="loop", reads=made)
    graph.host(lambda: seen.append("list"), prelude_of=loop, writes=made)
    graph.host(lambda: seen.append("free"), epilogue_of=loop, excludes=made)
    end = graph.empty(name="end", after=loop)
    late = graph.host(lambda: seen.append("late"), lane_hint=2, cost_ns=5)
    graph.edge(end, late)
    graph.set_cost(late, 7)
    braid.Exec(device, graph).run()
    assert [word for word in seen if word != "late"] == ["list", "loop", "free"]
    assert seen.index("loop") < seen.index("late")  # which waits for the loop, and not for its epilogue
    assert [node.name for node in graph.nodes][0] == "loop"


def test_a_cycle_is_named():
    graph = braid.Graph()
    hen, egg = graph.empty(name="hen"), graph.empty(name="egg")
    graph.edge(hen, egg)
    graph.edge(egg, hen)
    with pytest.raises(braid.CycleError, match="hen.*egg|egg.*hen"):
        graph.plan(costs=braid.CostModel())


def test_a_launch_follows_its_stream(device):
    stream = device.stream()
    source, middle, last = np.arange(4), np.zeros(4, int), np.zeros(4, int)
    graph = braid.Graph()
    graph.copy(last, middle)
    frame = braid.Exec(device, graph)
    stream.copy(middle, source)
    frame.launch(stream)
    stream.wait()
    assert last.tolist() == [0, 1, 2, 3]


def test_graphs_are_planned_for_several_devices(store):
    second = np.zeros(1000, "int64")
    graph = braid.Graph()
    far = graph.buffer(second, "far")
    graph.set_home(far, 2)
    graph.set_home(graph.resource("list"), "everywhere")
    middle = graph.transient("middle", 8000)
    graph.kernel(store, 1, [middle, 1], writes=middle, name="begin", place=1, cost_ns=1000)
    end = graph.kernel(store, 1, [middle, 2], updates=[middle, far], name="end", place=2, cost_ns=1000)
    plan = graph.plan(costs=braid.CostModel(), places=braid.Places(2, braid.Link(latency_ns=100, bytes_per_us=1000), {(2, 1): braid.Link(5)}))
    assert plan.placement(end).place == 2 and plan.info.num_places == 2 and plan.info.one_place_ns == 0
    copies = plan.copies
    assert {(copy.resource, copy.source, copy.to, copy.nbytes) for copy in copies} >= {("middle", 1, 2, 8000)}
    assert {copy.index for copy in copies} <= {node.index for lane in plan.lanes for node in lane}
    assert plan.critical_path and copies[0].name in plan.dot() and plan.svg()
    assert len(plan.to_dict()["tasks"]) == 2
    alone = graph.plan(costs=braid.CostModel())
    assert alone.info.num_copies == 0 and alone.placement(end).place == 1
    for bad in ({"places": braid.Places(2, links={(0, 1): braid.Link()})},
                {"places": braid.Places(65)}):
        with pytest.raises(braid.InvalidArgumentError):
            graph.plan(costs=braid.CostModel(), **bad)
    for place in (0, 65, "nowhere"):
        with pytest.raises(braid.InvalidArgumentError):
            graph.set_home(far, place)
        with pytest.raises(braid.InvalidArgumentError):
            graph.empty(place=place)


def test_an_argument_may_say_what_the_kernel_does_to_it(device, add_scaled):
    x, y, z = np.ones(8, "float32"), np.zeros(8, "float32"), np.zeros(8, "float32")
    graph = braid.Graph()
    own, cell = graph.transient("own", 32), graph.resource("cell")
    fill = graph.fill(own, np.float32(1))
    first = graph.kernel(add_scaled, 8, [braid.inout(y), braid.read(own), 2])
    second = graph.kernel(add_scaled, 8, [braid.inout(z), braid.read(y), 3], reads=x, excludes=cell, name="second")
    free = graph.kernel(add_scaled, 8, [braid.inout(x[:4]), braid.read(x[4:]), 0], excludes=cell)
    plan = graph.plan(costs=braid.CostModel())
    assert plan.explain(fill, first).startswith("ordered by data in own")
    assert plan.explain(first, second).startswith("ordered by data in array 0")
    assert plan.explain(second, free).startswith("serialised by array 1")
    braid.Exec(device, graph).run()
    assert y.tolist() == [2] * 8 and z.tolist() == [6] * 8
    with pytest.raises(braid.InvalidArgumentError, match="node 'add_scaled' changes 'array .*read-only"):
        x.flags.writeable = False
        graph.kernel(add_scaled, 8, [braid.inout(x), braid.read(y), 2])
    with pytest.raises(braid.InvalidArgumentError, match="node 'add_scaled': 3 is neither an array nor a resource"):
        graph.kernel(add_scaled, 8, [braid.inout(y), braid.read(3), 2])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="audits need x86-64")
def test_an_audit_finds_what_nodes_do_not_say(device, store):
    x, y = np.zeros(8, "int64"), np.zeros(1024)
    graph = braid.Graph()
    wrong = graph.kernel(store, 1, [x[2:], 7], reads=x)
    graph.host(lambda: y.fill(1), name="fill", writes=y)
    graph.host(lambda: None, name="idle", reads=y)
    written, idle = braid.audit(device, graph)
    assert str(written) == "node 0 'store' writes byte 16 of 'array 0', which it does not declare"
    assert written.node == wrong and (written.kind, written.buffer, written.kernel) == ("writes", "array 0", "store")
    assert (written.begin, written.end, written.num, written.address) == (16, 17, 1, x.ctypes.data + 16)
    assert idle.text == "node 2 'idle' declares to read 'array 1', and in this frame never does"
    assert (idle.kind, idle.kernel, idle.address, idle.num, idle.by_code) == ("never reads", None, None, 0, False)
    assert x[2] == 7 and y[-1] == 1


@pytest.mark.skipif(platform.machine() != "x86_64", reason="audits need x86-64")
def test_an_audit_sees_nodes_that_wait_for_threads(device):
    """The interpreter's handler of a signal may run meanwhile."""
    x, begins, goes_on = np.zeros(1 << 20), threading.Event(), threading.Event()

    def wait():
        begins.set()
        goes_on.wait(PATIENCE_S)
        x[0] = 1

    thread = threading.Thread(target=lambda: begins.wait(PATIENCE_S) and goes_on.set())
    thread.start()
    graph = braid.Graph()
    node = graph.host(wait, reads=x)
    found = [each.kind for each in braid.audit(device, graph) if each.node == node]
    thread.join()
    assert "writes" in found and "unseen" not in found


@pytest.mark.skipif(platform.machine() != "x86_64", reason="audits need x86-64")
def test_an_audit_tells_of_spare_waits(device):
    x, y = np.zeros(1024), np.zeros(1024)
    graph = braid.Graph()
    graph.host(lambda: x.fill(1), writes=x)
    graph.host(lambda: y.fill(1), writes=y)
    graph.host(lambda: x.sum(), name="sum", reads=[x, y])
    never, spare = braid.audit(device, graph)
    assert never.text == "node 2 'sum' declares to read 'array 1', and in this frame never does"
    assert (spare.kind, spare.num, spare.node, spare.buffer) == ("spare waits", 1, None, None)
    assert str(spare).startswith("the plan loses 1 of its 1 wait without ")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="audits need x86-64")
def test_an_audit_finds_orders_that_nothing_declares(device):
    x, seen = np.zeros(1024), []
    graph = braid.Graph()
    begin = graph.host(seen.clear)
    one = graph.host(lambda: seen.append(1), name="one", after=begin)
    two = graph.host(lambda: seen.append(2), name="two", after=begin)
    graph.host(lambda: x.fill(seen[0]), after=[one, two], writes=x)
    assert braid.audit(device, graph) == []
    found, = braid.audit(device, graph, orders=True)
    assert (found.kind, found.node, found.other) == ("order", one, two)
    assert found.text.startswith("nothing orders nodes 1 'one' and 2 'two', and byte ")
    assert x[0] == 1


@pytest.mark.skipif(platform.machine() != "x86_64", reason="audits need x86-64")
def test_an_audit_does_not_know_the_node_of_results_that_seldom_differ(device):
    x, calls = np.zeros(1024), []

    def clock():
        calls.append(1)
        x.fill(len(calls) > 2)

    graph = braid.Graph()
    graph.host(clock, writes=x)
    graph.host(lambda: None)
    found, = braid.audit(device, graph, orders=True)
    assert (found.kind, found.node, found.other) == ("unrepeatable", None, None)
    assert found.text.startswith("the frame does not always repeat its results: byte ")


def test_a_frame_is_captured(device, store, tmp_path):
    x = np.zeros(8, "int64")
    graph = braid.Graph()
    graph.kernel(store, 1, [x, 7], writes=x)
    path = tmp_path / "frame"
    with braid.Exec(device, graph, capture=True) as frame:
        assert frame.capture() == frame.capture(path) == path.stat().st_size
    assert path.read_bytes().startswith(b"BRAIDCAP")
    with braid.Exec(device, graph) as frame, pytest.raises(braid.UnsupportedError, match="capture"):
        frame.capture()
