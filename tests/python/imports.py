# SPDX-License-Identifier: Apache-2.0
"""A stream of a program that was captured becomes a graph. A stand-in plays the driver, and PTX runs on it."""
import ctypes
import gc
import html
import weakref
from html.parser import HTMLParser

import pytest

import braid

TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry step(.param .u64 from, .param .u64 to) {
.reg .u64 %d<3>; .reg .u32 %r<3>;
ld.param.u64 %d0, [from];
ld.param.u64 %d1, [to];
ld.global.u32 %r0, [%d0];
add.u32 %r0, %r0, 1;
st.global.u32 [%d1], %r0;
ret;
}
"""
WORDS = 4


class Program:
    """It knows nothing of Braid: it launches kernels on one stream."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.device = braid.Device("cuda")
        self.context, self.module, self.function = (ctypes.c_void_p() for _ in range(3))
        self.stream, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuModuleLoadData", ctypes.byref(self.module), TEXT.encode())
        self.call("cuModuleGetFunction", ctypes.byref(self.function), self.module, b"step")
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), 4 * WORDS)
        self.call("cuMemsetD32_v2", self.memory, 5, WORDS)

    def call(self, name, *args):
        assert getattr(self.cuda, name)(*args) == 0, name

    def step(self, source, to):
        words = [ctypes.c_uint64(self.memory.value + 4 * word) for word in (source, to)]
        args = (ctypes.c_void_p * 2)(*(ctypes.addressof(word) for word in words))
        self.call("cuLaunchKernel", self.function, 1, 1, 1, 1, 1, 1, 0, self.stream, args, None)

    def capture(self, steps):
        graph = ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, 2)
        for source, to in steps:
            self.step(source, to)
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        return graph.value

    def words(self):
        found = (ctypes.c_uint32 * WORDS)()
        self.call("cuMemcpyDtoH_v2", found, self.memory, 4 * WORDS)
        return list(found)


class Array:
    """As a framework has it that hands out parts of one block."""

    def __init__(self, program, word):
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<u4", "data": (program.memory.value + 4 * word, False),
                                         "version": 3}


@pytest.fixture
def program():
    return Program()


def test_a_captured_stream_is_planned_and_played(program):
    captured = program.capture([(0, 1), (2, 3), (1, 0)])
    parts = [Array(program, word) for word in range(WORDS)]
    found = braid.Imported(program.device, captured, texts=[TEXT], buffers=parts)
    program.call("cuGraphDestroy", ctypes.c_void_p(captured))
    assert found.info.num_kernels == 3 and found.info.num_unproven == 0
    assert found.info.longest_captured == 3 and found.info.longest_kept == 2
    assert found.report["kept_orders"] == 1 and "longest path: 3 nodes captured, 2 kept" in found.text
    assert found.report["nodes_by_level"] == [2, 1] and "by level: 2 1 (most 2, mean 1.5)" in found.text
    assert found.report["nodes_by_kernel"] == [{"name": "step", "nodes": 3}]
    graph = found.graph
    play = braid.Exec(program.device, graph)
    found.close()
    del graph  # the exec keeps all
    play.launch()
    play.wait()
    assert program.words() == [7, 6, 5, 6]
    play.close()


def test_an_exec_takes_a_later_capture(program):
    parts = [Array(program, word) for word in range(WORDS)]
    captured = program.capture([(0, 1), (2, 3)])
    found = braid.Imported(program.device, captured, texts=[TEXT], buffers=parts)
    play = braid.Exec(program.device, found.graph)
    found.update(program.capture([(0, 2), (1, 3)]), play, buffers=parts)
    play.run()
    assert program.words() == [5, 5, 6, 6]
    with pytest.raises(braid.InvalidArgumentError, match="nodes 0 and 1 .* may share memory now"):
        found.update(program.capture([(0, 2), (2, 3)]), play, buffers=parts)
    play.run()
    assert program.words() == [5, 5, 6, 6]
    play.close()
    found.close()


def test_a_function_gives_texts(program):
    captured, asked = program.capture([(0, 1), (2, 3)]), []

    def find(entry):
        asked.append(entry)
        return [TEXT, TEXT]

    parts = [Array(program, word) for word in range(WORDS)]
    assert braid.Imported(program.device, captured, find_text=find, buffers=parts).info.num_kept == 0
    assert asked == ["step"]
    without = braid.Imported(program.device, captured)
    assert without.info.num_unproven == 2
    assert without.report["unproven"][0] == {
        "node": "0", "name": "step", "line": 0, "reason": "no text has it, with parameters of these sizes"}


class Outline(HTMLParser):
    """The tags of a page that are open, and the cells of its tables."""

    def __init__(self, page):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "img"), "it needs more than itself"
        self.open += [] if tag == "meta" else [tag]
        self.cells += [""] if tag == "td" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def test_functions_are_loaded_from_their_text(program):
    found = braid.Imported(program.device, program.capture([(0, 1), (1, 2)]), reloaded=[TEXT])
    assert found.info.num_reloadable == 1
    assert braid.Exec(program.device, found.graph, islands="never").info.num_early_starts == 1
    assert braid.Exec(program.device, found.graph, no_rewriting=True).info.num_early_starts == 0
    variable = TEXT.replace("ret;", "st.global.u32 [number], %r0;\nret;").replace(
        ".visible", ".global .u32 number;\n.visible")
    kept = braid.Imported(program.device, program.capture([(0, 1), (1, 2)]), reloaded=[variable])
    assert kept.report["not_reloadable"] == [{"name": "step", "reason": "its text uses variables of its module"}]
    assert kept.report["reloadable"] == 0 and "not loaded from their text" in kept.page


def test_a_page_tells_the_same(program):
    without = braid.Imported(program.device, program.capture([(0, 1), (2, 3), (1, 0)]))
    assert without.report["unproven_functions"] == [
        {"kind": "kernel", "name": "step", "nodes": 3, "longest_if_proven": 1,
         "reasons": [{"nodes": 3, "line": 0, "reason": "no text has it, with parameters of these sizes"}]}]
    assert without.report["longest_if_all_proven"] == 1 and not without.report["longest_is_left_out"]
    page = Outline(without.page)
    assert not page.open
    assert page.cells[:6] == ["step", "no text has it, with parameters of these sizes", "", "3", "0, 1, 2", "1"]
    assert f'<iframe srcdoc="{html.escape(without.page)}" ' in without._repr_html_()


def test_failures_are_told(program):
    captured = program.capture([(0, 1)])

    def fail(entry):
        raise KeyError(entry)

    with pytest.raises(KeyError, match="step"):
        braid.Imported(program.device, captured, find_text=fail)
    with pytest.raises(braid.InputOutputError, match="cannot open 'missing.ptx'"):
        braid.Imported(program.device, captured, files=["missing.ptx"])
    with pytest.raises(braid.InvalidArgumentError, match="texts is a list of strings"):
        braid.Imported(program.device, captured, texts=TEXT)
    graph = braid.Imported(program.device, captured).graph
    with pytest.raises(braid.InvalidArgumentError, match="takes no further nodes"):
        graph.empty()
    with pytest.raises(braid.UnsupportedError, match="an import needs CUDA devices"):
        braid.Imported(braid.Device("cpu"), captured)


def launch_captured(program, play):
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    program.call("cuStreamBeginCapture_v2", program.stream, 0)
    play.launch(program.stream.value)
    program.call("cuStreamEndCapture", program.stream, ctypes.byref(graph))
    program.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    program.call("cuGraphDestroy", graph)
    return executable


def replay(program, executable):
    program.call("cuGraphLaunch", executable, program.stream)
    program.call("cuStreamSynchronize", program.stream)
    return program.words()


def plan_of_steps(program):
    kernel = braid.Kernel("step", cuda=TEXT, types=[braid.Pointer, braid.Pointer])
    graph = braid.Graph()
    parts = [Array(program, word) for word in range(WORDS)]
    node = graph.kernel(kernel, grid=1, args=parts[:2], reads=parts[0], writes=parts[1])
    return braid.Exec(program.device, graph), node


def test_a_launch_becomes_part_of_a_graph_of_the_program(program):
    play, node = plan_of_steps(program)
    executable = launch_captured(program, play)
    assert play.num_launched == 0 and program.words() == [5, 5, 5, 5]
    play.set_arg(node, 1, Array(program, 3))
    assert replay(program, executable) == [5, 6, 5, 5]
    play.run()
    assert program.words() == [5, 6, 5, 6]
    program.call("cuGraphExecDestroy", executable)
    play.close()


def test_captured_launches_keep_what_setters_gave(program):
    play, node = plan_of_steps(program)
    given = Array(program, 2)
    kept = weakref.ref(given)
    play.set_arg(node, 1, given)
    executable = launch_captured(program, play)
    for _ in range(3):
        play.set_arg(node, 1, Array(program, 3))
        play.run()
    del given
    gc.collect()
    assert kept() is not None
    assert replay(program, executable) == [5, 5, 6, 6]
    program.call("cuGraphExecDestroy", executable)
    play.close()
    del play
    gc.collect()
    assert kept() is None


def test_a_plan_is_a_graph_that_the_program_launches(program):
    play, _ = plan_of_steps(program)
    executable = ctypes.c_void_p()
    graph = ctypes.c_void_p(play.cuda_graph())
    program.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    assert replay(program, executable) == [5, 6, 5, 5]
    program.call("cuGraphExecDestroy", executable)
    play.close()
    with pytest.raises(braid.UnsupportedError, match="has no graphs"):
        braid.Exec(braid.Device("cpu"), braid.Graph()).cuda_graph()
