# SPDX-License-Identifier: Apache-2.0
"""A program of Warp is captured and planned. A stand-in plays the driver, and a few lines play Warp."""
import ctypes
import os
import sys
import time
import types

import pytest
from imports import TEXT, Program

import braid
import braid.warp


class Kernel:
    """As Warp names it, in a module that compiles to PTX."""

    def __init__(self):
        self.module = self
        self.compiled, self.resolved_options = [], {256: {"block_dim": 256}}

    def get_module_hash(self, block_dim):
        return b"now"

    def _compile(self, device, folder, *, output_name, output_arch, use_ptx, options):
        os.makedirs(folder)
        with open(os.path.join(folder, output_name), "w", encoding="utf-8") as file:
            file.write(TEXT)
        self.compiled.append((output_arch, use_ptx, options["block_dim"]))


class Warp(types.ModuleType):
    """The part of Warp that braid.warp uses."""

    def __init__(self, program, binary):
        super().__init__("warp")
        binary.write_bytes(b"machine code")
        self.program, self.launched, self.kernel = program, 0, Kernel()
        self.loaded = types.SimpleNamespace(binary_path=str(binary), kernel_names={self.kernel: "step"}, block_dim=256,
                                            module_hash=b"now", compile_arch=90, device="cuda:0")
        self.device = types.SimpleNamespace(is_cuda=True, context=program.context,
                                            stream=types.SimpleNamespace(cuda_stream=program.stream.value))

    def get_device(self, device):
        return device or self.device

    def ScopedCapture(self, device):
        warp = self

        class Capture:
            def __enter__(self):
                warp.program.call("cuStreamBeginCapture_v2", warp.program.stream, 2)
                return self

            def __exit__(self, *failure):
                graph, exec_ = ctypes.c_void_p(), ctypes.c_void_p()
                warp.program.call("cuStreamEndCapture", warp.program.stream, ctypes.byref(graph))
                warp.program.call("cuGraphInstantiateWithFlags", ctypes.byref(exec_), graph, ctypes.c_uint64(0))
                self.graph = types.SimpleNamespace(graph=graph, graph_exec=exec_, module_execs=[warp.loaded])

        return Capture()

    def capture_launch(self, graph, stream=None):
        self.launched += 1
        self.program.call("cuGraphLaunch", graph.graph_exec, ctypes.c_void_p(stream.cuda_stream))


@pytest.fixture
def warp(tmp_path, monkeypatch):
    made = Warp(Program(), tmp_path / f"wp_module_{b'now'.hex()[:7]}.sm90.cubin")
    monkeypatch.setitem(sys.modules, "warp", made)
    return made


def test_a_program_of_warp_plays_by_the_fastest_way(warp):
    program = warp.program
    step = braid.warp.optimize(lambda: [program.step(*words) for words in ((0, 1), (1, 0))])
    assert step.report["unproven"] == [] and len(step.graph) == 2
    num = 0
    while not step.info.is_chosen:
        while step.info.is_making:
            time.sleep(0.001)
        step()
        step.wait()
        num += 1
        assert num < 1000
    assert warp.launched > 0 and program.words()[0] == 5 + 2 * num
    assert (step.exec is None) == (step.info.way == "as before")
    step(stream=warp.device.stream)
    step.wait()
    assert program.words()[0] == 7 + 2 * num
    assert f"plays by: {step.info.way}\ntried: guessed costs: " in step.text


def test_kernels_are_loaded_from_their_ptx_on_demand(warp):
    step = braid.warp.optimize(lambda: [warp.program.step(0, 1), warp.program.step(1, 0)], reload=True)
    assert step.imported.info.num_reloadable == 1 and step.report["not_reloadable"] == []
    while not step.info.is_chosen:
        step()
        step.wait()
    assert "functions from their text: " in step.info.reason
    plain = braid.warp.optimize(lambda: warp.program.step(0, 1))
    assert plain.imported.info.num_reloadable == 0 and "loaded" not in plain.text


def test_machine_code_gets_its_ptx_once(warp):
    program = warp.program
    for _ in range(2):
        step = braid.warp.optimize(lambda: program.step(0, 1))
        assert step.report["unproven"] == []
    assert warp.kernel.compiled == [(90, True, 256)]


def test_kernels_that_have_changed_keep_their_orders(warp):
    warp.loaded.module_hash = b"before"
    step = braid.warp.optimize(lambda: [warp.program.step(0, 1), warp.program.step(2, 3)])
    assert [node["reason"] for node in step.report["unproven"]] == ["no text has it, with parameters of these sizes"] * 2
    assert step.report["kept_orders"] == 1 and warp.kernel.compiled == []


def unproven(warp):
    return len(braid.warp.optimize(lambda: warp.program.step(0, 1)).report["unproven"])


def test_ptx_that_may_be_of_other_kernels_is_not_read(warp, tmp_path):
    binary, old = warp.loaded.binary_path, tmp_path / "wp_module.sm90.braid.ptx"
    old.write_text(TEXT, encoding="utf-8")
    (tmp_path / "wp_module.sm90.cubin").write_bytes(b"machine code")
    warp.loaded.binary_path = str(tmp_path / "wp_module.sm90.cubin")  # without a hash
    assert unproven(warp) == 1 and warp.kernel.compiled == []
    warp.loaded.binary_path = binary
    warp.kernel.resolved_options[256]["extra_cuda_include_dirs"] = ["here"]
    assert unproven(warp) == 1 and warp.kernel.compiled == []


def test_ptx_older_than_its_machine_code_is_made_again(warp):
    path = warp.loaded.binary_path[:-len("cubin")] + "braid.ptx"
    with open(path, "w", encoding="utf-8") as file:
        file.write("half")
    os.utime(path, (1, 1))
    assert unproven(warp) == 0 and len(warp.kernel.compiled) == 1


def test_kernels_keep_their_orders_where_warp_makes_no_ptx(warp):
    def fail(*arguments, **options):
        raise Exception("no compiler")

    warp.kernel._compile = fail
    assert unproven(warp) == 1


def test_the_null_stream_of_warp_is_taken(warp):
    program = warp.program
    step = braid.warp.optimize(lambda: program.step(0, 1))
    step(stream=types.SimpleNamespace(cuda_stream=None))
    step.wait()


def test_ptx_that_warp_loaded_is_read(warp, tmp_path):
    path = tmp_path / "module.sm75.ptx"
    path.write_text(TEXT, encoding="utf-8")
    warp.loaded.binary_path = str(path)
    step = braid.warp.optimize(lambda: warp.program.step(0, 1))
    assert step.report["unproven"] == [] and warp.kernel.compiled == []


def test_the_module_of_an_older_warp_is_found(warp, tmp_path, monkeypatch):
    """Warp 1.17 does not tell which file it has loaded."""
    folder, loaded = tmp_path / "wp_module_6e6f77", warp.loaded
    folder.mkdir()
    name = os.path.basename(loaded.binary_path)
    os.rename(loaded.binary_path, folder / name)
    del loaded.binary_path, loaded.kernel_names
    warp.config = types.SimpleNamespace(kernel_cache_dir=str(tmp_path))
    module = warp.kernel
    module.execs = {}
    module.get_module_identifier = lambda block_dim: folder.name
    module._get_compile_output_name = lambda device, arch, block_dim: name
    monkeypatch.setitem(sys.modules, "warp._src.context", types.SimpleNamespace(user_modules={"module": module}))
    assert unproven(warp) == 1 and module.compiled == []  # the module was loaded anew, or is gone
    module.execs = {("context", 256): loaded}
    assert unproven(warp) == 0 and len(module.compiled) == 1
    loaded.module_hash = b"old"
    assert unproven(warp) == 1


def test_fills_of_warp_are_declared(warp):
    assert [name for name in ("s", "i", "l") if f"_Z20memtile_value_kernelI{name}EvPT_S0_m" in braid.warp._FILLS] == ["s", "i", "l"]
    found = braid.Imported(warp.program.device, warp.program.capture([(0, 1)]), texts=[braid.warp._FILLS, TEXT])
    assert found.info.num_unproven == 0


# ---- loops and branches ----

SETTERS = """.version 8.3
.target sm_90
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);
""" + "".join(f""".visible .entry set_conditional_{name}_kernel({''.join(f'.param .u64 h{k}, ' for k in range(len(tests)))}.param .u64 word)
{{
.reg .u64 %d; .reg .u32 %r<2>; .reg .pred %p;
ld.param.u64 %d, [word];
ld.global.u32 %r0, [%d];
""" + "".join(f"""setp.{test}.u32 %p, %r0, 0;
selp.u32 %r1, 1, 0, %p;
ld.param.u64 %d, [h{k}];
{{
.param .b64 h; .param .b32 v;
st.param.b64 [h], %d; st.param.b32 [v], %r1;
call.uni cudaGraphSetConditional, (h, v);
}}
""" for k, test in enumerate(tests)) + "ret;\n}\n"
    for name, tests in (("if_handle", ["ne"]), ("else_handle", ["eq"]), ("if_else_handles", ["ne", "eq"])))
DOWN = TEXT.replace("step", "down").replace("add.u32", "sub.u32")


class Core:
    """Warp's native calls, as warp.cu has them."""

    def __init__(self, program):
        self.program, self.functions = program, {}

    def function(self, text, name):
        if (text, name) not in self.functions:
            self.functions[text, name] = self.load(text, name)
        return self.functions[text, name]

    def load(self, text, name):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.program.call("cuModuleLoadData", ctypes.byref(module), text.encode())
        self.program.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def launch(self, function, *words):
        words = [ctypes.c_uint64(word) for word in words]
        args = (ctypes.c_void_p * len(words))(*(ctypes.addressof(word) for word in words))
        self.program.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, self.program.stream, args, None)

    def captured(self):
        status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
        nodes, num = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
        self.program.call("cuStreamGetCaptureInfo_v2", self.program.stream, *(ctypes.byref(out) for out in (
            status, number, graph, nodes, num)))
        return graph, nodes, num

    def make_handle(self):
        handle = ctypes.c_uint64()
        self.program.call("cuGraphConditionalHandleCreate", ctypes.byref(handle), self.captured()[0], self.program.context, 0, 0)
        return handle.value

    def add(self, handle, kind):
        graph, nodes, num = self.captured()
        params, node = (ctypes.c_uint64 * 32)(), ctypes.c_void_p()
        params[0], params[2], params[3], params[5] = 13, handle, kind | 1 << 32, self.program.context.value
        self.program.call("cuGraphAddNode_v2", ctypes.byref(node), graph, nodes, None, num, params)
        self.program.call("cuStreamUpdateCaptureDependencies", self.program.stream, ctypes.byref(node), ctypes.c_size_t(1), 1)
        return ctypes.cast(params[4], ctypes.POINTER(ctypes.c_void_p))[0]

    def wp_cuda_graph_set_condition(self, context, stream, arch, use_ptx, condition, handle):
        self.launch(self.function(SETTERS, "set_conditional_if_handle_kernel"), handle, condition.value)

    def wp_cuda_graph_insert_while(self, context, stream, arch, use_ptx, condition, body, handle):
        handle._obj.value = self.make_handle()
        self.wp_cuda_graph_set_condition(context, stream, arch, use_ptx, condition, handle._obj.value)
        body._obj.value = self.add(handle._obj.value, 1)
        return True

    def wp_cuda_graph_insert_if_else(self, context, stream, arch, use_ptx, condition, first, second):
        name = "if_else_handles" if first and second else "if_handle" if first else "else_handle"
        handles = [self.make_handle() for body in (first, second) if body]
        self.launch(self.function(SETTERS, f"set_conditional_{name}_kernel"), *handles, condition.value)
        for handle, body in zip(handles, [body for body in (first, second) if body]):
            body._obj.value = self.add(handle, 0)
        return True

    def capture_body(self, body, function):
        _, nodes, num = self.captured()
        graph, ended, node = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_void_p * 1)(nodes[0])
        self.program.call("cuStreamEndCapture", self.program.stream, ctypes.byref(graph))
        self.program.call("cuStreamBeginCaptureToGraph", self.program.stream, body, None, None, ctypes.c_size_t(0), 2)
        function()
        self.program.call("cuStreamEndCapture", self.program.stream, ctypes.byref(ended))
        self.program.call("cuStreamBeginCaptureToGraph", self.program.stream, graph, node, None, ctypes.c_size_t(1), 2)

    def capture_while(self, condition, function):
        body, handle = ctypes.c_void_p(), ctypes.c_uint64()
        assert self.wp_cuda_graph_insert_while(None, self.program.stream.value, 90, True, condition, ctypes.byref(body),
                                               ctypes.byref(handle))

        def all_of_it():
            function()
            self.wp_cuda_graph_set_condition(None, None, 90, True, condition, handle.value)
        self.capture_body(body, all_of_it)

    def capture_if(self, condition, on_true, on_false):
        bodies = [ctypes.c_void_p() if function else None for function in (on_true, on_false)]
        assert self.wp_cuda_graph_insert_if_else(None, self.program.stream.value, 90, True, condition,
                                                 *(None if body is None else ctypes.byref(body) for body in bodies))
        for body, function in zip(bodies, (on_true, on_false)):
            if function:
                self.capture_body(body, function)


@pytest.fixture
def core(warp, monkeypatch):
    core = Core(warp.program)
    monkeypatch.setitem(sys.modules, "warp._src.context", types.SimpleNamespace(runtime=types.SimpleNamespace(core=core)))
    return core


def play(warp, step):
    """By Warp's graph, and by the import's."""
    program, found = warp.program, []
    program.call("cuMemsetD32_v2", program.memory, 5, 4)
    warp.capture_launch(step._captured, stream=warp.device.stream)
    program.call("cuStreamSynchronize", program.stream)
    found.append(program.words())
    program.call("cuMemsetD32_v2", program.memory, 5, 4)
    braid.Exec(program.device, step.graph).run()
    return [*found, program.words()]


def test_loops_of_warp_become_loops(warp, core):
    program, word = warp.program, ctypes.c_void_p(warp.program.memory.value)
    down = core.function(DOWN, "down")
    step = braid.warp.optimize(lambda: core.capture_while(
        word, lambda: [program.step(1, 1), core.launch(down, word.value, word.value)]))
    assert step.imported.info.num_conditionals == 1 and len(step.report["unproven"]) == 1
    assert play(warp, step) == [[0, 10, 5, 5]] * 2
    assert "wp_cuda_graph_insert_while" not in vars(core) or core.wp_cuda_graph_insert_while.__name__ != "insert_and_tell"


@pytest.mark.parametrize("arms", [(True, True), (True, False), (False, True)])
def test_branches_of_warp_become_branches(warp, core, arms):
    program, word = warp.program, ctypes.c_void_p(warp.program.memory.value)
    clear = core.function(DOWN.replace("sub.u32 %r0, %r0, 1", "mov.u32 %r0, 0"), "down")

    def capture():
        for _ in range(2):
            core.capture_if(word, *(arm and function for arm, function in zip(arms, (
                lambda: [program.step(1, 1), core.launch(clear, word.value, word.value)], lambda: program.step(2, 2)))))

    step = braid.warp.optimize(capture)
    assert step.imported.info.num_conditionals == 2
    first, second = play(warp, step)
    assert first == second == [0 if arms[0] else 5, 5 + arms[0], 5 + (arms == (True, True)), 5]


def test_warp_has_its_calls_back_after_a_failure(warp, core):
    def fail():
        raise KeyError("of the program")

    with pytest.raises(KeyError):
        braid.warp.optimize(fail)
    assert core.wp_cuda_graph_insert_while.__name__ == "wp_cuda_graph_insert_while"


def test_a_cpu_is_refused(warp):
    with pytest.raises(braid.InvalidArgumentError, match="a plan needs a CUDA device"):
        braid.warp.optimize(lambda: None, types.SimpleNamespace(is_cuda=False))


# ---- later captures ----


class Chosen:
    """A runner that has chosen an exec, or Warp's own graph."""

    def __init__(self, device, graph, as_before):
        self.as_before, self.exec = as_before, braid.Exec(device, graph)
        self.info = types.SimpleNamespace(is_chosen=True, way="exec", reason="")

    def launch(self, stream):
        self.exec.launch(stream) if self.exec else self.as_before(stream)

    def wait(self):
        if self.exec:
            self.exec.wait()


@pytest.fixture
def chosen(monkeypatch):
    monkeypatch.setattr(braid.warp, "Runner", Chosen)


def call(warp, step):
    warp.program.call("cuMemsetD32_v2", warp.program.memory, 5, 4)
    step()
    step.wait()
    warp.program.call("cuStreamSynchronize", warp.program.stream)
    return warp.program.words()


def test_values_of_a_later_capture_go_into_the_plan(warp, chosen):
    words = [(0, 1)]
    step = braid.warp.optimize(lambda: [warp.program.step(*pair) for pair in words])
    imported, exec_, captured = step.imported, step.exec, step._captured
    words[:] = [(2, 3)]
    assert step.update() is None
    assert (step.imported, step.exec) == (imported, exec_) and step._captured is not captured
    assert call(warp, step) == [5, 5, 5, 6]
    assert step.update(lambda: warp.program.step(0, 2)) is None
    assert call(warp, step) == [5, 5, 6, 5]
    assert step.update() is None
    assert call(warp, step) == [5, 5, 6, 5]


def test_another_shape_gets_a_plan_of_its_own(warp, chosen):
    step = braid.warp.optimize(lambda: warp.program.step(0, 1))
    exec_ = step.exec
    assert "has 2 nodes, and had 1: import it anew" in step.update(lambda: [warp.program.step(0, 1), warp.program.step(1, 2)])
    assert step.exec is not exec_ and step.imported.info.num_kernels == 2
    assert call(warp, step) == [5, 6, 7, 5]


def test_the_fastest_way_of_warp_gets_a_new_plan(warp, chosen):
    step = braid.warp.optimize(lambda: warp.program.step(0, 1))
    step._runner.exec = None
    assert step.update(lambda: warp.program.step(2, 3)) == "Warp's own graph is the fastest"
    step._runner.exec = None
    assert call(warp, step) == [5, 5, 5, 6] and warp.launched == 1


def test_calls_that_try_ways_get_a_new_plan(warp):
    step = braid.warp.optimize(lambda: warp.program.step(0, 1))
    assert step.update(lambda: warp.program.step(2, 3)) == "calls still try ways to play"
    while not step.info.is_chosen:
        assert call(warp, step) == [5, 5, 5, 6]
    assert step.update(lambda: warp.program.step(0, 1)) in (None, "Warp's own graph is the fastest")
    assert call(warp, step) == [5, 6, 5, 5]


def test_a_failed_capture_changes_nothing(warp, chosen):
    step = braid.warp.optimize(lambda: warp.program.step(0, 1))
    with pytest.raises(KeyError):
        step.update(lambda: {}["of the program"])
    assert step.update() is None
    assert call(warp, step) == [5, 6, 5, 5]


def test_values_in_a_loop_of_warp_change(warp, core, chosen):
    program, word = warp.program, ctypes.c_void_p(warp.program.memory.value)
    down, to = core.function(DOWN, "down"), [1]
    step = braid.warp.optimize(lambda: core.capture_while(
        word, lambda: [program.step(to[0], to[0]), core.launch(down, word.value, word.value)]))
    assert call(warp, step) == [0, 10, 5, 5]
    to[0] = 3
    assert step.update() is None
    assert call(warp, step) == [0, 5, 5, 10]
