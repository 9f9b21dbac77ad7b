# SPDX-License-Identifier: Apache-2.0
"""Kernels that Numba made for CUDA, by the texts of tests/gpu/ptx. The stand-in runs them."""
import numpy as np
import pytest
from conftest import PTX, Typed

import braid

numba = pytest.importorskip("numba", reason="Numba is not installed (python3-numba)")
from numba import cuda  # noqa: E402

from braid.numba_cuda import _type, kernel as of_function, of_ptx  # noqa: E402


def kernel(name, *arguments):
    return of_ptx(name, (PTX / f"numba_{name}_80.ptx").read_text(encoding="utf-8"), arguments)


@pytest.mark.parametrize("mode", ["graph", "streams"])
def test_a_kernel_of_numba_takes_arrays_with_their_strides(gpu, mode):
    scale = kernel("scale", numba.float32[:], numba.float32)
    memory, back, graph = gpu.allocate(4 * 20), np.zeros(20, "float32"), braid.Graph()
    every, third = Typed(memory, (20,)), Typed(memory, (5,), strides=(12,), offset=4)
    graph.copy(memory, np.ones(20, "float32"))
    factor = graph.parameter("factor", np.float32(3))
    node = graph.kernel(scale, 1, [third, factor], block=32, updates=third)
    graph.kernel(scale, 1, [memory, 2], block=32, updates=memory)
    graph.copy(back, memory)
    with braid.Exec(gpu, graph, mode=mode) as frame:
        frame.run()
        assert back.tolist() == [6 if i in range(1, 16, 3) else 2 for i in range(20)]
        frame.set_parameter(factor, 5)
        frame.set_arg(node, 0, Typed(memory, (2,), strides=(-4,), offset=4))
        frame.run()
        assert back.tolist() == [10] * 2 + [2] * 18
    with pytest.raises(braid.InvalidArgumentError, match="argument 0 .* of int32 .* takes an array of float32 with 1 dim"):
        graph.kernel(scale, 1, [Typed(memory, (20,), "int32"), 2], block=32, updates=every)
    with pytest.raises(braid.InvalidArgumentError, match=r"argument 0 .* of shape \(4, 5\) .* takes an array of float32"):
        graph.kernel(scale, 1, [Typed(memory, (4, 5)), 2], block=32, updates=every)
    with pytest.raises(braid.InvalidArgumentError, match="argument 0 of kernel 'scale' is parameter 'array'"):
        graph.kernel(scale, 1, [graph.parameter("array", every), 2], block=32, updates=every)
    with pytest.raises(braid.InvalidArgumentError, match="argument 0 of kernel 'scale' is parameter 'array'"):
        graph.use(graph.parameter("array", every), node, "argument", argument=0)


def test_a_kernel_of_numba_has_shared_memory_and_barriers(gpu):
    back, graph = np.zeros(64, "float32"), braid.Graph()
    values = graph.transient("values", shape=64, dtype="float32")
    graph.copy(values, np.arange(64, dtype="float32"))
    graph.kernel(kernel("reverse", numba.float32[:]), 1, [values], block=64, updates=values)
    graph.copy(back, values)
    with braid.Exec(gpu, graph) as frame:
        frame.run()
    assert back.tolist()[1:] == list(range(62, -1, -1)) and 63 < back[0] <= 63 + 64  # threads add to the first meanwhile


def negate(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = -x[i]


@pytest.mark.parametrize("make", [lambda: negate, lambda: cuda.jit(negate), lambda: cuda.jit(device=True)(negate)])
def test_numba_compiles_for_a_device_that_is_not_here(gpu, make):
    from numba.cuda.cudadrv import nvvm

    try:
        nvvm.NVVM()
    except Exception as error:
        pytest.skip(f"Numba finds no compiler for CUDA: {str(error).strip().splitlines()[0]}")
    made = of_function("float32[::1]", arch=(8, 0))(make())
    memory, back, graph = gpu.allocate(4 * 20), np.zeros(20, "float32"), braid.Graph()
    graph.copy(memory, np.arange(20, dtype="float32"))
    graph.kernel(made, 3, [braid.inout(memory)], block=8)
    graph.copy(back, memory)
    with braid.Exec(gpu, graph) as frame:
        frame.run()
    assert back.tolist() == [-i for i in range(20)]


def test_functions_that_are_no_kernels_are_refused():
    for signature, message in (("float32[", "the signature of kernel 'negate' is 'float32\\[', which Numba does not read"),
                               ("int32(float32[:])", "kernel 'negate' returns int32")):
        with pytest.raises(braid.InvalidArgumentError, match=message):
            of_function(signature, arch=(8, 0))(negate)
    linked = cuda.jit(negate)
    linked.targetoptions["link"] = ["more.cu"]
    with pytest.raises(braid.InvalidArgumentError, match="kernel 'negate' is linked with .*more.cu"):
        of_function("float32[:]", arch=(8, 0))(linked)
    with pytest.raises(braid.InvalidArgumentError, match="the PTX of kernel 'none' has no entry"):
        of_ptx("none", "", ())


def test_an_array_is_taken_apart_as_numbas_launcher_does():
    whole = np.zeros((3, 4), "float32")
    form = _type(numba.float32[:, :], "it")
    numbers = [int.from_bytes(argument.data, "little", signed=True) for argument in form.encode(whole[::-1, ::2], "it")]
    address = whole.ctypes.data + 2 * 16  # where the last row begins
    assert numbers == [0, 0, 6, 4, address, 3, 2, -16, 8] and len(numbers) == form.num


def test_arrays_in_an_order_are_checked():
    whole = np.zeros((3, 4), "float32")
    rows, columns, any_ = (_type(type_, "it") for type_ in (numba.float32[:, ::1], numba.float32[::1, :], numba.float32[:, :]))
    for form, fine, wrong in ((rows, whole, whole.T), (columns, whole.T, whole), (rows, whole[:, :], whole[:, ::2]),
                              (rows, whole[:1, :], whole[::-1])):
        form.encode(fine, "it")
        any_.encode(wrong, "it")
        with pytest.raises(braid.InvalidArgumentError, match="where the kernel takes an array of float32 with 2 dimensions in"):
            form.encode(wrong, "it")
    with pytest.raises(braid.InvalidArgumentError, match="an array of complex64 with"):
        _type(numba.complex64[:], "it").encode(whole[0], "it")
    for type_ in (numba.types.unicode_type, numba.complex64, numba.types.Array(numba.types.NPDatetime("s"), 1, "C")):
        with pytest.raises(braid.InvalidArgumentError, match="^it is a"):
            _type(type_, "it")
