# SPDX-License-Identifier: Apache-2.0
"""What nodes do changes from frame to frame without another plan: directly, by parameters, by what is in memory."""
import array
import ctypes
import gc
import mmap
import weakref

import numpy as np
import pytest

import braid


@pytest.fixture
def adding(device, add_scaled):
    """y[i] += 1 for as many i as the grid has, in an exec"""

    def make(num=4, **options):
        y, ones = np.zeros(8, "float32"), np.ones(8, "float32")
        graph = braid.Graph()
        node = graph.kernel(add_scaled, num, [y, ones, 1], updates=y, reads=ones, **options)
        return y, graph, node

    return make


def test_a_grid_changes_for_later_launches(device, adding):
    y, graph, node = adding()
    frame = braid.Exec(device, graph)
    for grid in (1, (2, 3), 4):
        frame.set_grid(node, grid)
        frame.launch()
    frame.wait()
    assert y.tolist() == [3, 2, 2, 2, 1, 1, 0, 0]
    with pytest.raises(braid.InvalidArgumentError, match="add_scaled"):
        frame.set_grid(node, 2**32)


@pytest.mark.parametrize("mode", ["streams", "graph"])
@pytest.mark.parametrize("none", [0, (0,), (3, 0), (2, 2, 0)])
def test_a_grid_of_nothing_runs_nothing(device, adding, none, mode):
    y, graph, node = adding(none)
    last = graph.host(lambda: None, name="last", reads=y)
    frame = braid.Exec(device, graph, mode=mode, frames_in_flight=2)
    assert frame.schedule.explain(node, last)
    frame.run(3)
    assert not y.any()
    frame.set_grid(node, (2, 2))
    frame.run(2)
    assert y.tolist() == [2] * 4 + [0] * 4
    frame.set_grid(node, none)
    frame.run(2)
    assert y.sum() == 8


def test_an_empty_list_is_not_written(device, store):
    items, beside = np.zeros(0, "int64"), np.zeros(1, "int64")
    graph = braid.Graph()
    graph.kernel(store, len(items), [braid.Pointer.of(beside), 7])
    braid.Exec(device, graph).run()
    assert beside[0] == 0


@pytest.mark.parametrize("target,values", [("grid_x", np.uint32([0, 3, 0])),
                                           ("grid", [np.uint32(v).tobytes() for v in ([2, 0, 1], [3, 1, 1], [0, 1, 1])])])
def test_a_parameter_may_take_all_blocks_away(device, adding, target, values):
    y, graph, node = adding()
    size = graph.parameter("size", values[0])
    graph.use(size, node, target)
    frame = braid.Exec(device, graph)
    sums = []
    for value in values:
        frame.set_parameter(size, value)
        frame.run()
        sums.append(y.sum())
    assert sums == [0, 3, 3]


def test_a_grid_is_read_from_memory(device, add_scaled):
    counts = np.zeros(3, "uint32")
    y, ones, wanted = np.zeros(8, "float32"), np.ones(8, "float32"), [3]
    graph = braid.Graph()
    graph.host(lambda: counts.__setitem__(slice(None), (wanted[0], 1, 1)), name="count", writes=counts)
    graph.kernel(add_scaled, 8, [y, ones, 1], updates=y, reads=ones, grid_from=counts)
    frame = braid.Exec(device, graph)
    frame.run()
    assert y.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    wanted[0] = 100  # more than the largest grid
    frame.run()
    assert y.tolist() == [2, 2, 2, 1, 1, 1, 1, 1]
    wanted[0] = 0
    frame.run()
    assert y.sum() == 11


def test_what_has_a_grid_has_three_numbers(adding):
    for counts in (np.zeros(2, "uint32"), np.zeros(3, "float64"), np.zeros(6, "uint32")[::2]):
        with pytest.raises(braid.InvalidArgumentError, match="add_scaled"):
            adding(grid_from=counts)


def test_a_copy_gets_other_ends(device):
    first, second = np.arange(4), np.arange(4, 8)
    one, two = np.zeros(4, int), np.zeros(4, int)
    graph = braid.Graph()
    node = graph.copy(one, first, name="save")
    frame = braid.Exec(device, graph)
    frame.set_copy(node, two)
    frame.run()
    assert (one.tolist(), two.tolist()) == ([0] * 4, [0, 1, 2, 3])
    frame.set_copy(node, source=second)
    frame.run()
    assert two.tolist() == [4, 5, 6, 7]
    frame.set_copy(node, one, first, nbytes=16)
    frame.run()
    assert one.tolist() == [0, 1, 0, 0]


def test_a_copy_keeps_the_type_of_its_elements(device):
    """Bytes that are read as another type are values that nobody meant."""
    x, y, n = np.zeros(4, "float32"), np.ones(4, "float32"), np.zeros(4, "int32")
    graph = braid.Graph()
    numbers = graph.transient("numbers", shape=4, dtype="int32")
    versions = graph.versioned("versions", arrays=[np.zeros(4, "int32"), np.zeros(4, "int32")])
    node = graph.copy(x, y, name="save")
    end = graph.parameter("end", n)
    frame, stream = braid.Exec(device, graph), device.stream()
    for to, source in ((x, n), (n, x), (x, numbers), (numbers, x), (versions, x), (x, memoryview(n)), (x, x.astype(">f4")),
                       (n, n.view("uint32")), (np.zeros(2), x)):
        with pytest.raises(braid.InvalidArgumentError, match="copy 'copy' is from elements of .*: give arrays of one"):
            graph.copy(to, source)
    for bad in ({"to": n}, {"source": n}, {"to": n, "source": n}, {"to": n[:2], "nbytes": 8}):
        with pytest.raises(braid.InvalidArgumentError, match="copy 'save' is from elements of .*: give arrays of one"):
            frame.set_copy(node, **bad)
    with pytest.raises(braid.InvalidArgumentError, match="a copy is from elements of int32 to float32"):
        stream.copy(x, n)
    for target, words in (("to", "float32 to int32"), ("from", "int32 to float32")):
        with pytest.raises(braid.InvalidArgumentError, match=f"copy 'save' is from elements of {words}"):
            graph.use(end, node, target)
    right = graph.parameter("right", y)
    graph.use(right, node, "from")
    frame.close()
    frame = braid.Exec(device, graph)
    with pytest.raises(braid.InvalidArgumentError, match="copy 'save' is from elements of int32 to float32"):
        frame.set_parameter(right, n)
    with pytest.raises(braid.InvalidArgumentError, match="copy 'save' is from elements of int32 to float32"):
        frame.launch_many(1, rows={right: [n]})
    frame.run()
    assert x.tolist() == [1] * 4
    # Who means the bytes says so, and bytes are anything.
    graph = braid.Graph()
    graph.copy(n, x.view("int32"))
    graph.copy(y, np.full(4, 2, "float32").tobytes())
    other = braid.Exec(device, graph)
    other.run()
    assert n.view("float32").tolist() == [1] * 4 and y.tolist() == [2] * 4
    for thing in (frame, other, stream):
        thing.close()


PAIRS = np.dtype([("a", "f4"), ("b", "i4")])


def test_a_copy_keeps_the_types_of_fields(device):
    graph = braid.Graph()
    pairs = np.zeros(2, PAIRS)
    for other in (np.dtype([("a", "i4"), ("b", "f4")]), np.dtype([("a", "f4", 2)]), np.dtype([("a", PAIRS)]), np.dtype("f8")):
        for thing in (np.zeros(2, other), graph.transient("other", shape=2, dtype=other)):
            with pytest.raises(braid.InvalidArgumentError, match="copy 'copy' is from elements of .*: give arrays of one"):
                graph.copy(pairs, thing)
    graph.copy(pairs, np.zeros(2, [("x", "f4"), ("y", "i4")]), name="other names")
    graph.copy(pairs, graph.versioned("versions", arrays=[np.zeros(2, PAIRS), np.zeros(2, PAIRS)]))
    graph.copy(pairs, np.zeros(2, "V8"), name="void")


def test_a_transient_array_may_have_fields_in_another_order():
    swapped = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0], "itemsize": 8})
    graph = braid.Graph()
    graph.copy(np.zeros(2, swapped), graph.transient("pairs", shape=2, dtype=swapped))


def test_a_part_of_a_buffer_keeps_the_type_of_its_elements(device):
    graph = braid.Graph()
    x, n, both = np.zeros(4, "float32"), np.zeros(4, "int32"), np.zeros(2, PAIRS)
    for whole in (graph.buffer(x), graph.transient("sums", shape=4, dtype="float32")):
        part = graph.range(whole, 4, 8)
        with pytest.raises(braid.InvalidArgumentError, match="copy 'copy' is from elements of float32 to int32"):
            graph.copy(n[:2], part)
        graph.copy(np.zeros(2, "float32"), part)
    graph.copy(n[:1], graph.range(graph.buffer(both), 4, 4))  # a field of an element


def test_a_copy_takes_bytes_without_a_type_for_anything(device):
    x = np.ones(4, "float32")
    graph = braid.Graph()
    with mmap.mmap(-1, 16) as memory, device.allocate(16, host=True) as host:
        for there in (memory, memoryview(bytearray(16)), host.view()):
            graph.copy(there, x)
        for typed in (np.zeros(16, "uint8"), memoryview(np.zeros(16, "uint8")), array.array("B", bytes(16)),
                      (ctypes.c_ubyte * 16)(), memoryview(bytearray(16)).cast("I")):
            with pytest.raises(braid.InvalidArgumentError, match="copy 'copy' is from elements of float32 to uint"):
                graph.copy(typed, x)
        with braid.Exec(device, graph) as frame:
            frame.run()
        assert bytes(memory) == bytes(host.view()) == x.tobytes()
        del graph, frame, there  # which hold the memory


def test_a_copy_of_text_takes_all_of_its_characters(device):
    to = np.zeros(2, "U3")
    graph = braid.Graph()
    graph.copy(to, np.array(["one", "two"]))
    with braid.Exec(device, graph) as frame:
        frame.run()
    assert to.tolist() == ["one", "two"]


def test_a_copy_never_goes_beyond_its_ends(device):
    one, two = np.zeros(4, int), np.arange(4)
    graph = braid.Graph()
    node = graph.copy(one, two, name="save")
    frame = braid.Exec(device, graph)
    frame.set_copy(node, nbytes=8)
    frame.run()
    assert one.tolist() == [0] * 4 and frame.num_launched == 1
    for bad in ({"to": np.zeros(2, int)}, {"nbytes": 33}, {"source": two[:2], "nbytes": 32}, {"nbytes": 0},
                {"to": one[::2], "nbytes": 8}, {"to": b"12345678" * 4}):
        with pytest.raises(braid.InvalidArgumentError, match="save"):
            frame.set_copy(node, **bad)
    with pytest.raises(braid.InvalidArgumentError, match="no copy"):
        frame.set_copy(graph.fill(one, 0), two)


def test_a_fill_gets_another_value_and_another_array(device):
    x, other = np.ones(4, "float32"), np.ones(2, "float32")
    graph = braid.Graph()
    node = graph.fill(x, 0.0, name="clear")  # whose bytes are all alike
    frame = braid.Exec(device, graph)
    frame.run()
    assert x.tolist() == [0] * 4
    frame.set_fill(node, 2.5)
    frame.run()
    assert x.tolist() == [2.5] * 4
    frame.set_fill(node, 7, other)
    frame.run()
    assert (x.tolist(), other.tolist()) == ([2.5] * 4, [7, 7])
    for value, to in (("many", None), (1, np.zeros(3, "uint8")), (1.5, np.zeros(4, "float64")), (1, bytes(4))):
        with pytest.raises(braid.InvalidArgumentError, match="clear"):
            frame.set_fill(node, value, to)


@pytest.mark.parametrize("dtype", [">f4", "<f4", ">i2", "f2", "u1", "?", "m8[s]"])
@pytest.mark.parametrize("kind", [int, np.int32, np.float64, np.uint8])
def test_a_fill_sets_elements_to_what_a_number_is_not_to_its_bytes(device, dtype, kind):
    if dtype in (">i2", "u1") and kind is np.float64 or dtype == "m8[s]":
        with pytest.raises(braid.InvalidArgumentError, match="clear"):
            braid.Graph().fill(np.zeros(8, dtype), kind(1), name="clear")
        return
    x = np.zeros(8, dtype)
    graph = braid.Graph()
    node = graph.fill(x, kind(1), name="clear")
    frame = braid.Exec(device, graph)
    frame.run()
    assert x.tolist() == [1] * 8
    frame.set_fill(node, kind(0))
    frame.run()
    assert x.tolist() == [0] * 8


def test_a_call_gets_another_function(device):
    heard = []
    graph = braid.Graph()
    node = graph.host(lambda: heard.append("one"), name="say")
    frame = braid.Exec(device, graph)
    frame.launch()
    frame.set_function(node, lambda: heard.append("two"))
    frame.run()
    assert heard == ["one", "two"]
    frame.set_function(node, lambda: 1 / 0)
    frame.launch()
    with pytest.raises(braid.HostCallError, match="'say' raised ZeroDivisionError"):
        frame.wait()
    with pytest.raises(braid.InvalidArgumentError, match="say"):
        frame.set_function(node, 5)
    with pytest.raises(braid.InvalidArgumentError, match="no call"):
        frame.set_function(graph.empty(), print)


def test_a_queue_call_gets_another_function(device):
    x = np.zeros(2, int)
    graph = braid.Graph()
    node = graph.queue_call(lambda stream: stream.copy(x, np.array([1, 1])), name="give", writes=x)
    frame = braid.Exec(device, graph, mode="streams")
    later = np.array([2, 2])
    frame.set_function(node, lambda stream: stream.copy(x, later))
    frame.run()
    assert x.tolist() == [2, 2]
    frame.set_function(node, lambda stream: 1 / 0)
    with pytest.raises(braid.DeviceError, match="give") as caught:
        frame.launch()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("mode", ["streams", "graph"])
def test_a_disabled_node_does_nothing_and_keeps_its_place(device, mode):
    ran = []
    graph = braid.Graph()
    first = graph.host(lambda: ran.append(1))
    second = graph.host(lambda: ran.append(2), after=first)
    graph.host(lambda: ran.append(3), after=second)
    frame = braid.Exec(device, graph, mode=mode)
    frame.set_enabled(second, False)
    frame.run()
    frame.set_enabled(second, True)
    frame.run()
    assert ran == [1, 3, 1, 2, 3]


def test_parameters_are_grids_ends_values_and_switches(device, add_scaled):
    y, ones = np.zeros(4, "float32"), np.ones(4, "float32")
    saved, elsewhere, filled, ran = np.zeros(4, "float32"), np.zeros(4, "float32"), np.zeros(2, "float32"), []
    graph = braid.Graph()
    blocks = graph.parameter("blocks", np.uint32(2))
    target = graph.parameter("target", saved)
    level = graph.parameter("level", np.float32(0.5))
    wanted = graph.parameter("wanted", np.bool_(False))
    graph.use(blocks, graph.kernel(add_scaled, 4, [y, ones, 1], updates=y, reads=ones), "grid_x")
    graph.use(target, graph.copy(saved, y, writes=elsewhere), "to")
    graph.use(level, graph.fill(filled, 0.0), "value")
    graph.use(wanted, graph.host(lambda: ran.append(1)), "enabled")
    frame = braid.Exec(device, graph)
    frame.run()  # with the first values
    assert saved.tolist() == [1, 1, 0, 0] and filled.tolist() == [0.5, 0.5] and ran == []
    for parameter, value in ((blocks, 3), (target, elsewhere), (level, 8), (wanted, True)):
        frame.set_parameter(parameter, value)
    frame.run()
    assert saved.tolist() == [1, 1, 0, 0] and elsewhere.tolist() == [2, 2, 1, 0]
    assert filled.tolist() == [8, 8] and ran == [1]


def test_a_part_of_a_parameter_goes_to_a_part_of_an_argument(device, store):
    cell = np.zeros(1, "int64")
    graph = braid.Graph()
    node = graph.kernel(store, 1, [cell, 0], writes=cell)
    both = graph.parameter("both", np.array([1, 2], "uint32").tobytes())
    graph.use(both, node, "argument", argument=1, argument_offset=4, offset=4, nbytes=4)
    frame = braid.Exec(device, graph)
    frame.run()
    assert cell[0] == 2 << 32


def test_a_use_that_does_not_fit_is_refused_by_name(device):
    graph, x = braid.Graph(), np.zeros(4, "float32")
    node, wide = graph.fill(x, 1.0, name="clear"), graph.parameter("wide", np.float64(2))
    narrow = graph.parameter("narrow", np.int16(2))
    for parameter, target in ((wide, "grid"), (wide, "value"), (narrow, "value"), (wide, "bytes"), (wide, "user"),
                              (narrow, "num_values"), (3, "value")):
        with pytest.raises(braid.InvalidArgumentError):
            graph.use(parameter, node, target)
    with braid.Exec(device, graph) as frame:  # and what was refused is not set
        frame.run()
    assert x.tolist() == [1] * 4


def test_what_is_given_lives_as_long_as_its_frames(device):
    x, other = np.zeros(4, int), np.arange(4)
    graph = braid.Graph()
    node = graph.copy(x, np.zeros(4, int))
    frame = braid.Exec(device, graph)
    frame.set_copy(node, source=other)
    gone = weakref.ref(other)
    del other
    gc.collect()
    frame.run()
    assert x.tolist() == [0, 1, 2, 3] and gone() is not None
    frame.set_copy(node, source=np.ones(4, int))
    frame.run()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("dtype, first, second", [("f8", 1.5, -2.25), ("i8", 7, -(2**40) - 1), (">f8", 1.5, 3.0)])
def test_a_fill_may_have_values_of_eight_bytes(device, dtype, first, second):
    x, other = np.zeros(3000, dtype), np.zeros(2, dtype)
    graph = braid.Graph()
    fill = graph.fill(x, first, name="set")
    after = graph.host(lambda: seen.append(x.copy()), reads=x)
    seen = []
    plan = graph.plan(costs=braid.CostModel())
    assert plan.explain(fill, after).startswith("ordered by data in array 0") and fill.name == "set"
    frame = braid.Exec(device, graph)
    frame.run()
    assert (seen[0] == first).all()
    frame.set_fill(fill, second)
    frame.run()
    assert (seen[1] == second).all()
    frame.set_fill(fill, first, other)
    frame.run()
    assert (other == first).all() and (x == second).all()
    frame.close()


def test_parameters_and_resources_reach_fills_of_eight_bytes(device):
    x, y, seen = np.zeros(4), np.zeros(4), []
    graph = braid.Graph()
    level, where = graph.parameter("level", np.float64(2.5)), graph.parameter("where", y)
    part = graph.transient("part", 32)
    fill = graph.fill(x, 1.25, writes=y)
    graph.use(level, fill, "value")
    graph.use(where, fill, "to")
    with pytest.raises(braid.InvalidArgumentError, match="fill 'fill' of 8 bytes is a kernel"):
        graph.use(graph.parameter("num", np.uint64(1)), fill, "num_values")
    graph.fill(part, np.float64(0.1))
    graph.host(lambda memory: seen.extend(np.frombuffer(memory, "f8").tolist()), user=part, reads=part)
    frame = braid.Exec(device, graph)
    frame.run()
    assert y.tolist() == [2.5] * 4 and not x.any() and seen == [0.1] * 4
    frame.set_parameter(level, 3.5)
    frame.set_parameter(where, x)
    frame.run()
    assert x.tolist() == [3.5] * 4 and y.tolist() == [2.5] * 4
    frame.close()
