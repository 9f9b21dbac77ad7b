# SPDX-License-Identifier: Apache-2.0
"""A wrong call raises before anything is lost, and the message names the thing."""
import ctypes
import inspect
import pydoc

import numpy as np
import pytest

import braid


class World:
    """What the lines below speak of."""

    def __init__(self, device, add_scaled):
        self.device, self.k = device, add_scaled
        self.x, self.y = np.zeros(8, "float32"), np.zeros(8, "float32")
        self.frozen = np.zeros(8, "float32")
        self.frozen.flags.writeable = False
        self.g, self.other = braid.Graph(), braid.Graph()
        self.node = self.g.kernel(self.k, 8, [self.y, self.x, 1], updates=self.y, reads=self.x)
        self.call = self.g.host(lambda: None, name="call")
        self.param = self.g.parameter("step", np.float32(1))
        self.stranger = self.other.empty(name="stranger")
        self.bare = braid.Kernel("bare")
        self.wide, self.count = self.g.parameter("wide", np.float64(1)), self.g.parameter("count", np.int32(1))
        self.loose = braid.Kernel("loose", source="extern \"C\" __global__ void loose(float) {}")
        self.other.kernel(self.loose, 1, [np.float32(1)])
        self.frame = braid.Exec(device, self.g)


LINES = [
    ("w.g.kernel(w.k, 8, [w.y, w.x, 1], reads=w.x)", "'add_scaled' is given a numpy.ndarray as argument 0"),
    ("w.g.kernel(w.k, 8, [w.y, w.x], updates=w.y, reads=w.x)", "given 2 arguments, and takes 3"),
    ("w.g.kernel(w.k, 8, [w.y, 3.5, 1], updates=w.y)", "argument 1 of kernel 'add_scaled' is 3.5.*pointer"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, w.x], updates=w.y, reads=w.x)", "argument 2 .* takes a float32"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, 'wide'], updates=w.y, reads=w.x)", "argument 2 of kernel 'add_scaled' is 'wide'"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, np.float64(1)], updates=w.y, reads=w.x)", "has 8 bytes.*takes a float32"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, np.int32(1)], updates=w.y, reads=w.x)", "argument 2 .* is of type int32, not float32"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, ctypes.c_uint(1)], updates=w.y, reads=w.x)", "argument 2 .* is of type c_uint, not float32"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, w.wide], updates=w.y, reads=w.x)", "argument 2 .* parameter 'wide' has another size"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, w.count], updates=w.y, reads=w.x)", "parameter 'count', .* is of type int32, not float32"),
    ("w.other.kernel(w.loose, 1, [np.float64(1)])", "argument 0 of kernel 'loose' has 8 bytes, and 4 in node"),
    ("w.g.kernel(w.k, 8, [w.y, w.x, 1], updates=w.y, reads=w.x, grid_from=w.x[:2])", "three numbers of uint32"),
    ("w.g.use(w.wide, w.node, 'argument', argument=2)", "8 bytes at 0 of argument 2 of node 'add_scaled' end beyond its 4"),
    ("[w.g.use(w.count, w.node, 'argument', argument=0), braid.Exec(w.device, w.g)]",
     "parameter 'count' changes 4 of the 8 bytes of argument 0, an address"),
    ("w.g.kernel(w.bare, 1, [3.5])", "the Python number 3.5.*numpy.float32"),
    ("w.g.kernel(w.bare, -1)", "grid of kernel 'bare' -1"),
    ("w.g.kernel(w.bare, (1, 2, 3, 4))", "grid of kernel 'bare' has 4 sizes"),
    ("w.g.kernel(print, 1)", "is no kernel: give .*braid.numba.kernel"),
    ("w.g.kernel(w.k, 8, [w.frozen, w.x, 1], updates=w.frozen, reads=w.x)", "changes 'array 2'.*read-only"),
    ("w.g.host(3)", "host call 'host call': 3 cannot be called"),
    ("w.g.host(print, name='p', reads='text')", "node 'p': 'text' is neither"),
    ("w.g.host(print, name='p', after=w.stranger)", "node 'p': .*is not a node of this graph"),
    ("w.g.host(print, name='p', after=3)", "3 is no node"),
    ("w.g.host(print, name='p', reads=w.x, accumulates=w.x)", "node 'p' touches 'array 0' in two ways"),
    ("w.g.buffer(np.zeros(0), 'none')", "'none' is empty"),
    ("w.g.buffer(w.x, 'again')", "'again': the memory of this array is declared already, as 'array 0'"),
    ("w.g.range(w.g.resource('list'), 0, 8)", "list"),
    ("w.g.copy(w.x, w.y[:4], name='half')", "copy 'half' is from 16 bytes to 32"),
    ("w.g.copy(w.x[::2], w.y[:4], name='half')", "target of copy 'half'.*do not follow"),
    ("w.g.copy(w.x, [1, 2], name='half')", "source of copy 'half'"),
    ("w.g.copy(w.frozen, w.x, name='melt')", "node 'melt' changes 'array 2'"),
    ("w.g.fill(w.x, 'zero', name='wipe')", "fill 'wipe': 'zero'"),
    ("w.g.fill(np.zeros(9, 'u1')[1:].view('f8'), 2.0, name='wipe')", "fill 'wipe': 2.0 has 8 bytes that do not repeat"),
    ("w.device.stream().fill(np.zeros(2), 2.0)", "a fill of a stream: 2.0 has 8 bytes"),
    ("w.g.fill(np.array([print]), 1, name='wipe')", "type '.O' has Python objects for elements"),
    ("w.g.copy(np.array([print]), w.x, name='half')", "type '.O' has Python objects for elements"),
    ("w.frame.run(frames=-1)", "not -1"),
    ("braid.Exec(w.g, w.device)", r"Exec\(device, graph\), and not Exec\(Graph, Device\)"),
    ("braid.Exec(w.device, w.g, frames_in_flight=17)", "17 frames in flight, and 16 are the most"),
    ("braid.audit(w.g, w.device)", r"audit\(device, graph\), and not audit\(Graph, Device\)"),
    ("braid.tune(w.g, w.device)", r"tune\(device, graph\), and not tune\(Graph, Device\)"),
    ("w.g.plan(costs=braid.CostModel(), max_lanes=1).explain(w.node, w.stranger)", "is not in this schedule"),
    ("w.g.plan(braid.CostModel())", r"plan\(costs=model\), and not plan\(CostModel\)"),
    ("w.g.plan(costs=3)", "the costs of a plan are 3, which is no CostModel"),
    ("w.g.device_buffer(w.x, w.device, 'swapped')", "buffer 'swapped': .* is no device"),
    ("w.frame.set_arg(w.node, 3, 1)", "'add_scaled' has 3 arguments, and no argument 3"),
    ("w.frame.set_arg(w.call, 0, 1)", "node 'call' is no kernel"),
    ("w.frame.set_arg(w.node, 2, None)", "argument 2 of kernel 'add_scaled' is None"),
    ("w.frame.set_arg(w.node, 2, np.int32(1))", "argument 2 of kernel 'add_scaled' is of type int32, not float32"),
    ("w.frame.set_parameter(w.param, np.int32(2))", "parameter 'step' is of type int32, not float32"),
    ("w.frame.set_parameter(w.param, np.float64(2))", "parameter 'step' has 8 bytes.*float32"),
    ("w.frame.set_parameter(w.node, 2)", "is no parameter"),
    ("w.frame.launch('fast')", "'fast' is no stream"),
    ("w.frame.launch(1234)", "."),
    ("braid.Exec(w.device, w.g, mode='fast')", "mode 'fast' does not exist"),
    ("braid.Exec(w.device, w.g, w.g.plan(costs=braid.CostModel()), max_lanes=2)", "a schedule or options"),
    ("braid.Device('abacus')", "abacus"),
    ("braid.Device('cpu', ordinal=7)", "7"),
    ("braid.Kernel('')", "no name"),
    ("braid.Kernel('k', cpu=print)", "CPU code of kernel 'k' is <built-in function print>"),
]


@pytest.mark.parametrize("line,message", LINES, ids=[line for line, _ in LINES])
def test_misuse_names_the_thing(device, add_scaled, line, message):
    world = World(device, add_scaled)
    before = len(world.g)
    with pytest.raises(braid.Error, match=message) as caught:
        eval(line, {"w": world, "np": np, "braid": braid, "ctypes": ctypes})
    assert caught.value.status.startswith("BRAID_")
    assert len(world.g) == before
    world.frame.run()  # nothing is broken
    world.frame.close()


def test_a_kernel_without_code_for_the_device_is_named(device):
    graph = braid.Graph()
    graph.kernel(braid.Kernel("bare", source="extern \"C\" __global__ void bare() {}"), 1)
    with pytest.raises(braid.UnsupportedError, match="bare"):
        braid.Exec(device, graph)


def test_options_that_do_not_exist_are_type_errors(device):
    graph = braid.Graph()
    with pytest.raises(TypeError, match="read: no such option of nodes; there are name, reads"):
        graph.empty(read=3)
    with pytest.raises(TypeError, match="'lanes' is no option of plans"):
        graph.plan(costs=braid.CostModel(), lanes=3)
    with pytest.raises(TypeError, match="'frame' is no option of execs: there are .*mode, .*frames"):
        braid.Exec(device, graph, frame=2)


def test_one_node_is_no_nodes(device):
    graph = braid.Graph()
    graph.empty()
    with braid.Exec(device, graph) as frame:
        assert repr(frame) == "<braid.Exec of 1 node on cpu>"
        assert repr(frame.schedule) == "<braid.Schedule of 1 node: 1 lane, 0 waits>"


def test_signatures_have_each_option():
    for function, options in ((braid.Graph.kernel, ("reads", "cost_ns", "block")), (braid.Graph.plan, ("max_lanes",)),
                              (braid.Exec, ("frames_in_flight", "max_lanes"))):
        signature = inspect.signature(function)
        assert all(signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in options)
        assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values())
    assert "reads: 'Things' = ..., " in pydoc.plain(pydoc.render_doc(braid.Graph.empty))


def test_two_arrays_that_share_memory_unknown_to_us_are_refused():
    data = bytearray(64)
    graph = braid.Graph()
    graph.host(print, name="a", writes=np.frombuffer(data, "uint8", 32))
    graph.host(print, name="b", writes=np.frombuffer(data, "uint8", 32, 16))
    with pytest.raises(braid.InvalidArgumentError, match="array 0.*array 1|array 1.*array 0"):
        graph.plan(costs=braid.CostModel())
