# SPDX-License-Identifier: Apache-2.0
"""Kernels of CuPy, and of things that look like them. The stand-in runs a text of tests/gpu/ptx."""
import re
import types

import numpy as np
import pytest
from conftest import PTX, Typed

import braid
from braid._kernel import ffi
from braid.cupy import raw, source_of, types_of

TWICE = 'extern "C" __global__ void twice(float *x) { x[blockIdx.x] *= 2; }'
LOADED = types.SimpleNamespace(ptr=0x1234)


def raw_kernel(**what):
    """As cupy.RawKernel looks."""
    return types.SimpleNamespace(**{**dict(name="twice", code=TWICE, options=(), backend="nvrtc", kernel=LOADED,
                                           enable_cooperative_groups=False), **what})


def options_of(kernel):
    return [ffi.string(kernel._struct.options[i]).decode() for i in range(kernel._struct.num_options)]


def test_raw_kernels_are_compiled_with_their_options():
    plain, tuned = raw(raw_kernel()), raw(raw_kernel(options=("-DX=1", "-DY")))
    assert ffi.string(plain._struct.source).decode() == TWICE and options_of(plain) == []
    assert options_of(tuned) == ["-DX=1", "-DY"]
    graph, x = braid.Graph(), np.zeros(4, "float32")
    kernel = raw_kernel()
    for _ in range(3):
        graph.kernel(kernel, 4, [x], updates=x)
    assert len({use.kernel for use in graph._kept.kernels.values()}) == 1  # one module
    assert graph.plan(costs=braid.CostModel()).info.num_lanes == 1


def test_plain_arrays_leave_their_accesses_to_source():
    graph, x = braid.Graph(), np.zeros(4, "float32")
    no_compiler = "run-time compiler.*Declare the node's accesses|without the add-on"
    for kernel, error, message in ((raw_kernel(), braid.UnsupportedError, no_compiler),
                                   (raw_kernel(code=None), braid.InvalidArgumentError, "does not say what it does to it")):
        try:
            graph.kernel(kernel, 4, [x])
            assert kernel.code and len(graph) == 1  # the compiler is here
        except error as caught:
            assert re.search(message, str(caught))


def test_of_what_cupy_compiles_by_itself_the_function_is_taken():
    for what in (dict(backend="nvcc"), dict(code=None), dict(enable_cooperative_groups=True), dict(name="_Z5twiceIfEvPT_")):
        kernel = raw(raw_kernel(**what))
        assert kernel._struct.source == ffi.NULL and int(ffi.cast("uintptr_t", kernel._struct.cuda.function)) == 0x1234


def test_entries_of_modules_have_names_or_expressions():
    module = types.SimpleNamespace(code=TWICE, options=("-DX",), backend="nvrtc", enable_cooperative_groups=False,
                                   name_expressions=["scale<float>"], get_function=lambda name: raw_kernel(name=name))
    template, plain = raw(module, "scale<float>"), raw(module, "twice")
    assert ffi.string(template._struct.name_expression) == b"scale<float>" and options_of(template) == ["-DX"]
    assert plain._struct.name_expression == ffi.NULL and plain.name == "twice"
    module.backend = "nvcc"
    assert int(ffi.cast("uintptr_t", raw(module, "twice")._struct.cuda.function)) == 0x1234
    with pytest.raises(braid.InvalidArgumentError, match="no kernel: .*a cupy.RawModule and a name in it"):
        raw(module)


def parameter(name, ctype, raw=False, is_const=True, dtype=None):
    return types.SimpleNamespace(name=name, ctype=ctype, raw=raw, is_const=is_const, dtype=dtype)


def blend(**what):
    """As the cupy.ElementwiseKernel of tests/gpu/ptx/make_cupy.py looks."""
    return types.SimpleNamespace(**{**dict(
        name="blend", preamble="// a preamble", operation="out += table[x] * factor + _ind.size() + table.size()",
        in_params=(parameter("table", "T", raw=True), parameter("x", "S"), parameter("factor", "float", dtype=np.dtype("f4"))),
        out_params=(parameter("out", "T", is_const=False),), kwargs={"loop_prep": "T zero = 0", "after_loop": "zero = 1"}),
        **what})


BLEND = "float32*, int32*, float32, float32*"


def test_an_elementwise_kernel_takes_addresses_and_lengths(gpu):
    assert source_of(blend(), BLEND) == (PTX / "cupy_blend.cu").read_text(encoding="utf-8")
    made = braid.Kernel("blend", cuda=(PTX / "cupy_blend_80.ptx").read_text(encoding="utf-8"), types=types_of(blend(), BLEND))
    table, x, out = gpu.allocate(4 * 10), gpu.allocate(4 * 100), gpu.allocate(4 * 60)
    back, graph = np.zeros(60, "float32"), braid.Graph()
    graph.copy(table, np.arange(10, dtype="float32"))
    graph.copy(x, np.arange(100, dtype="int32") % 10)
    graph.fill(out, np.float32(0))
    node = graph.kernel(made, 2, [braid.read(table), braid.read(Typed(x, (10, 10), "int32")), 3, braid.inout(out)], block=16)
    graph.copy(back, out)
    with braid.Exec(gpu, graph) as frame:
        frame.run()
        assert back.tolist() == [i % 10 * 3 + 60 + 10 for i in range(60)]
        frame.set_arg(node, 1, Typed(x, (20,), "int32", offset=20))
        frame.run()
        assert back.tolist() == [(i + 5) % 10 * 3 + 20 + 10 if i < 20 else 0 for i in range(60)]
    for wrong, message in ((Typed(x, (5, 10), "int32", strides=(80, 4)), "takes an array of int32 in C order"),
                           (Typed(x, (100,)), "of float32 .* takes an array of int32 in C order")):
        with pytest.raises(braid.InvalidArgumentError, match=f"argument 1 of kernel 'blend' .* {message}"):
            graph.kernel(made, 1, [table, wrong, 3, out], updates=[table, x, out])


def test_signatures_that_do_not_fit_are_refused():
    for signature, message in (("float32*", "a signature of 1 types, and 4 parameters"),
                               ("float32*, int32*, float32, float31*", "parameter 'out' .* cannot be 'float31\\*'"),
                               ("float32, int32*, float32, float32*", "parameter 'table' .* give 'float32\\*'"),
                               ("float32*, int32*, float32, float32", "parameter 'out' .* give 'float32\\*'"),
                               ("float32*, int32*, int32, float32*", "'factor' .* declared as float32, and cannot be 'int32'")):
        with pytest.raises(braid.InvalidArgumentError, match=message):
            types_of(blend(), signature)
    with pytest.raises(braid.InvalidArgumentError, match="one type 'T', and is given float and double for it"):
        source_of(blend(), "float32*, int32*, float32, float64*")
    with pytest.raises(braid.InvalidArgumentError, match="no array that is not raw"):
        source_of(blend(out_params=(parameter("out", "T", raw=True, is_const=False),)), "float32*, int32, float32, float32*")


def test_cupys_own_kernels_look_so():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    from braid.cupy import elementwise

    kernel = cupy.ElementwiseKernel("raw T table, S x, float32 factor", "T out", blend().operation, "blend",
                                    preamble="// a preamble", **blend().kwargs)
    assert source_of(kernel, BLEND) == source_of(blend(), BLEND)
    made = elementwise(kernel, BLEND)
    assert options_of(made)[-1] == "-ftz=true" and any("cupy/_core/include" in option for option in options_of(made))
    made = raw(cupy.RawKernel(TWICE, "twice", options=("-DX=1",)))
    assert options_of(made) == ["-DX=1", "-ftz=true"]
    made = raw(cupy.RawModule(code=TWICE, options=("-DX=1",), name_expressions=["twice"]), "twice")
    assert options_of(made) == ["-DX=1", "-ftz=true"]
