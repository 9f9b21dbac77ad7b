# SPDX-License-Identifier: Apache-2.0
"""A program of Warp is captured and planned. A stand-in plays the driver, and a few lines play Warp."""
import ctypes
import os
import sys
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


def test_fills_of_warp_are_declared(warp):
    assert [name for name in ("s", "i", "l") if f"_Z20memtile_value_kernelI{name}EvPT_S0_m" in braid.warp._FILLS] == ["s", "i", "l"]
    found = braid.Imported(warp.program.device, warp.program.capture([(0, 1)]), texts=[braid.warp._FILLS, TEXT])
    assert found.info.num_unproven == 0


def test_a_cpu_is_refused(warp):
    with pytest.raises(braid.InvalidArgumentError, match="a plan needs a CUDA device"):
        braid.warp.optimize(lambda: None, types.SimpleNamespace(is_cuda=False))
