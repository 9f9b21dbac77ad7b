# SPDX-License-Identifier: Apache-2.0
"""Kernels that Triton made, by the texts of tests/gpu/ptx. The stand-in runs them."""
import types

import numpy as np
import pytest
from conftest import PTX, Typed

import braid
from braid.triton import kernel as of_triton


def compiled(ptx="triton_add_90.ptx", aligned=(), **facts):
    """As Triton keeps what it has compiled."""
    usual = dict(name="add", num_warps=4, num_ctas=1, shared=0, launch_cooperative_grid=False, global_scratch_size=0,
                 profile_scratch_size=0, enable_fp_fusion=True, ptx_options=None)
    source = types.SimpleNamespace(
        signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constants={(4,): 256},
        attrs={(index,): [["tt.divisibility", 16]] for index in aligned})
    text = (PTX / ptx).read_text(encoding="utf-8")
    return types.SimpleNamespace(asm={"ptx": text, "cubin": b"\x7fELF"}, src=source,
                                 metadata=types.SimpleNamespace(**{**usual, **facts}))


def sum_of_triton(gpu, kernel, **how):
    """x + y of 300 numbers, twice: with all of them, and with 10."""
    x, y, out = (gpu.allocate(4 * 300) for _ in range(3))
    back, graph = np.zeros(300, "float32"), braid.Graph()
    graph.copy(x, np.arange(300, dtype="float32"))
    graph.fill(y, np.float32(5))
    graph.fill(out, np.float32(0))
    node = graph.kernel(kernel, 2, [braid.read(x), braid.read(y), braid.inout(out), 300])
    graph.copy(back, out)
    with braid.Exec(gpu, graph, **how) as frame:
        frame.run()
        assert back.tolist() == [i + 5 for i in range(300)]
        frame.set_arg(node, 3, 10)
        frame.run()
        assert back.tolist() == [i + 5 if i < 10 else 0 for i in range(300)]
        with pytest.raises(braid.InvalidArgumentError, match="kernel 'add' has 4 arguments, and no argument 4"):
            frame.set_arg(node, 4, 0)  # one of those that Triton adds


@pytest.mark.parametrize("mode", ["graph", "streams"])
def test_a_kernel_of_triton_takes_what_is_no_constant(gpu, mode):
    sum_of_triton(gpu, of_triton(compiled()), mode=mode)


def test_a_launch_that_triton_alone_can_make_is_refused():
    for fact, message in ((dict(num_ctas=2), "kernel 'add' of Triton takes blocks in clusters"),
                          (dict(launch_cooperative_grid=True), "a cooperative launch"),
                          (dict(global_scratch_size=64), "scratch in global memory"),
                          (dict(name="sum"), "no entry of that name")):
        with pytest.raises(braid.InvalidArgumentError, match=message):
            of_triton(compiled(**fact))
    more = compiled()
    more.asm["ptx"] = more.asm["ptx"].replace(".param .u32 add_param_3,", ".param .u32 add_param_3, .param .u32 more,")
    with pytest.raises(braid.InvalidArgumentError, match="takes 7 parameters for 4 arguments"):
        of_triton(more)
    with pytest.raises(braid.InvalidArgumentError, match="nothing that Triton has compiled"):
        of_triton(len)


def test_the_drivers_compiler_gets_no_text_whose_options_it_lacks():
    machine_code, text = of_triton(compiled(enable_fp_fusion=False)), of_triton(compiled())
    assert (machine_code._struct.cuda.bytes, text._struct.cuda.bytes) == (4, 0)


def test_what_triton_took_for_granted_is_checked(gpu):
    kernel = of_triton(compiled(aligned=(0, 3)))
    memory, graph = gpu.allocate(4 * 300), braid.Graph()
    fine, shifted = Typed(memory, (200,)), Typed(memory, (200,), offset=4)
    for arguments, message in (([shifted, fine, fine, 160], "argument 0 .* no multiple of 16"),
                               ([braid.Pointer.of(shifted), fine, fine, 160], "argument 0 .* no multiple of 16"),
                               ([fine, fine, fine, 150], "argument 3 .* is 150, which is no multiple of 16"),
                               ([Typed(memory, (9,), "int32"), fine, fine, 16], "argument 0 .* of int32, .* pointer to fp32"),
                               ([fine, fine, fine], "is given 3 arguments, and takes 4"),
                               ([fine, fine, fine, graph.parameter("n", np.int32(16))], "argument 3 .* is parameter 'n'")):
        with pytest.raises(braid.InvalidArgumentError, match=message):
            graph.kernel(kernel, 1, arguments, updates=fine)
    with pytest.raises(braid.InvalidArgumentError, match="blocks of 64 threads, and was compiled for 128"):
        graph.kernel(kernel, 1, [fine, shifted, fine, 160], block=64, updates=fine)
    node = graph.kernel(kernel, 1, [fine, shifted, fine, 160], updates=fine)
    with braid.Exec(gpu, graph) as frame, pytest.raises(braid.InvalidArgumentError, match="no multiple of 16"):
        frame.set_arg(node, 0, shifted)


def test_elements_that_numpy_does_not_have_are_told_apart(gpu):
    made = compiled()
    made.src.signature.update(x="*bf16", y="*fp8e4nv")
    memory, graph = gpu.allocate(4 * 300), braid.Graph()
    half, single, byte = (Typed(memory, (300,), kind) for kind in ("V2", "float32", "uint8"))
    half.__cuda_array_interface__["typestr"] = "<V2"
    graph.kernel(of_triton(made), 2, [half, byte, single, 300], updates=single)
    with pytest.raises(braid.InvalidArgumentError, match="argument 0 .* of float32, where the kernel takes a pointer to bf16"):
        graph.kernel(of_triton(made), 2, [single, byte, single, 300], updates=single)


def test_the_shared_memory_is_what_triton_says(gpu):
    x, graph = gpu.allocate(1200), braid.Graph()
    graph.kernel(of_triton(compiled(shared=1 << 30)), 2, [x, x, x, 300], updates=x)
    with pytest.raises(braid.DeviceError, match="'add' .*1073741824 bytes of dynamic"):
        braid.Exec(gpu, graph)


def test_a_kernel_of_triton_with_shared_memory_runs(gpu):
    made = compiled("triton_softmax_80.ptx", name="softmax", shared=16)
    made.src.signature = {"out": "*fp32", "x": "*fp32", "columns": "i32", "BLOCK": "constexpr"}
    x, out, graph = gpu.allocate(4000), gpu.allocate(4000), braid.Graph()
    row, back = np.sin(np.arange(1000, dtype="float32")), np.zeros(1000, "float32")
    graph.copy(x, row)
    graph.kernel(of_triton(made), 1, [braid.write(out), braid.read(x), 1000])
    graph.copy(back, out)
    with braid.Exec(gpu, graph) as frame:
        frame.run()
    wanted = np.exp(row - row.max())
    assert np.allclose(back, wanted / wanted.sum(), rtol=1e-5)


def test_transient_memory_is_as_aligned_as_triton_wants(gpu):
    kernel, graph = of_triton(compiled(aligned=(0, 1, 2))), braid.Graph()
    odd, even = graph.transient("odd", 1200, alignment=8), graph.transient("even", shape=300, dtype="float32")
    with pytest.raises(braid.InvalidArgumentError, match="argument 1 .* no multiple of 16"):
        graph.kernel(kernel, 2, [even, odd, even, 300], updates=[odd, even])
    graph.fill(even, 3)
    graph.kernel(kernel, 2, [even, even, even, 300], updates=even)
    back = np.zeros(300, "float32")
    graph.copy(back, even)
    with braid.Exec(gpu, graph) as frame:
        frame.run()
    assert back.tolist() == [6] * 300


def test_triton_compiles_for_a_device_that_is_not_here(gpu):
    pytest.importorskip("triton", reason="Triton is not installed")
    from triton_add import add

    sum_of_triton(gpu, of_triton(add, "*fp32:16, *fp32:16, *fp32:16, i32", arch=80, BLOCK=256, num_warps=2))
    with pytest.raises(braid.InvalidArgumentError, match="a signature of 1 types, and 4 arguments .*: x, y, out, n"):
        of_triton(add, "*fp32", arch=80, BLOCK=256)
    with pytest.raises(braid.InvalidArgumentError, match="argument 'n' .* 'i32:1': only :16"):
        of_triton(add, "*fp32, *fp32, *fp32, i32:1", arch=80, BLOCK=256)
