# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries by their protocols, and a GPU's streams and calls on the stand-in driver.

The stand-in's device memory is the host's, so what a GPU library would own is played by NumPy."""
import ctypes
import sys
import types

import numpy as np
import pytest

import braid


class OnGpu:
    """As CuPy's arrays look: views know their base."""

    def __init__(self, array, base=None):
        self.array, self.base = array, base

    @property
    def __cuda_array_interface__(self):
        known = self.array.__array_interface__
        return {"shape": known["shape"], "typestr": known["typestr"], "data": known["data"],
                "strides": known["strides"], "version": 3}

    def __getitem__(self, index):
        return OnGpu(self.array[index], self)


class Tensor:
    """As PyTorch's tensors on the CPU look: DLPack, and a storage that views share."""

    def __init__(self, array, whole=None):
        self.array, self.whole = array, array if whole is None else whole

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: self.whole.ctypes.data, nbytes=lambda: self.whole.nbytes)


@pytest.mark.parametrize("kind", [OnGpu, Tensor])
def test_views_of_foreign_arrays_are_parts_of_their_memory(kind):
    whole = np.zeros(8, "float32")
    make = (lambda part: OnGpu(whole)[part]) if kind is OnGpu else (lambda part: Tensor(whole[part], whole))
    graph = braid.Graph()
    graph.host(print, name="left", writes=make(np.s_[:4]))
    graph.host(print, name="right", writes=make(np.s_[4:]))
    assert graph.plan(costs=braid.CostModel(), max_lanes=4, fixed_lanes=True).info.num_lanes == 2
    graph.host(print, name="both", updates=make(np.s_[2:6]))
    assert graph.plan(costs=braid.CostModel(), max_lanes=4, fixed_lanes=True).info.num_waits == 1


class OfUnknownElements(Tensor):
    """As PyTorch's tensors on a GPU look whose elements NumPy does not have."""

    @property
    def __cuda_array_interface__(self):
        raise KeyError("float8")


def test_elements_that_numpy_does_not_know_may_be_known_to_dlpack():
    assert braid.Pointer.of(OfUnknownElements(np.zeros(4, "int8"))).nbytes == 4


def test_a_trap_is_raised_once(device, store):
    graph = braid.Graph()
    graph.kernel(store, 1, [braid.Trap(), np.int64(7)], name="trapping")
    frame = braid.Exec(device, graph)
    frame.launch()
    with pytest.raises(braid.TrappedError, match="node 0 'trapping' .* trapped in frame 0: code 7, payload 0"):
        frame.wait()
    frame.wait()


def test_tensors_are_arguments(device, store):
    target = np.zeros(3, "int64")
    graph = braid.Graph()
    tensor = Tensor(target[2:], target)
    graph.kernel(store, 1, [tensor, 8], writes=tensor)
    braid.Exec(device, graph).run()
    assert target.tolist() == [0, 0, 8]


def test_a_gpus_memory_is_refused_on_the_cpu(device, store):
    graph = braid.Graph()
    array = OnGpu(np.zeros(1, "int64"))
    graph.kernel(store, 1, [array, 8], writes=array)
    with pytest.raises(braid.InvalidArgumentError, match="kernel 'store' is given .*OnGpu as argument 0, which is a GPU's"):
        braid.Exec(device, graph)


def test_pageable_memory_is_refused_on_a_gpu(gpu):
    graph = braid.Graph()
    array = np.zeros(1, "int64")
    kernel = braid.Kernel("k", source='extern "C" __global__ void k(long *x) {}')
    node = graph.kernel(kernel, 1, [array], writes=array)
    with pytest.raises(braid.InvalidArgumentError, match="kernel 'k' is given a numpy.ndarray .*Pointer.of"):
        braid.Exec(gpu, graph)
    assert node.name == "k"


def refused_text(gpu, **case):
    """All that the compiler wrote of a kernel; None: there is no compiler."""
    graph, memory = braid.Graph(), gpu.allocate(4)
    source = '#include "types.h"\nextern "C" __global__ void broken(element *x) {}'
    graph.kernel(braid.Kernel("broken", source=source, **case), 1, [memory], updates=memory)
    with pytest.raises((braid.DeviceError, braid.UnsupportedError), match="kernel 'broken'") as caught:
        braid.Exec(gpu, graph)
    return None if "there is no run-time compiler" in str(caught.value) else caught.value.details


def test_kernels_say_how_they_are_compiled(gpu):
    """The compiler refuses each, and its message tells what reached it."""
    known = {"types.h": "typedef int element;\n"}
    text = refused_text(gpu, headers={"types.h": "// no element\n"})
    if text is None:
        pytest.skip("there is no run-time compiler for CUDA (libnvrtc)")
    assert "element" in text
    assert "of a text\n" in refused_text(gpu, headers={"types.h": "#error of a text\n"})
    assert "option" in refused_text(gpu, headers=known, options=["no option"])
    refused_text(gpu, headers=known, name_expression="broken<1, 2>(")
    with pytest.raises(braid.InvalidArgumentError, match="options of kernel 'k' is one text"):
        braid.Kernel("k", source="", options="-DN=4")


@pytest.mark.parametrize("where", ["cpu", "gpu"])
def test_a_copy_of_an_array_becomes_a_buffer(where, request):
    device = request.getfixturevalue("device" if where == "cpu" else "gpu")
    graph, source, back = braid.Graph(), np.arange(4), np.zeros(4, int)
    memory = graph.device_buffer(device, source, "numbers")
    source[:] = 7
    assert memory.nbytes == 32 and graph.buffer(memory).name == "numbers"
    node = graph.copy(back, memory)
    with braid.Exec(device, graph) as frame:
        frame.run()
    assert back.tolist() == [0, 1, 2, 3] and node.index == 0
    assert graph.resource("next")._handle[0] == 2  # behind the buffer and the target of the copy
    with pytest.raises(braid.InvalidArgumentError, match="buffer 'none': its size is 0 bytes"):
        graph.device_buffer(device, source[:0], "none")
    with pytest.raises(braid.InvalidArgumentError, match="the content of buffer 'gaps' is a numpy.ndarray whose"):
        graph.device_buffer(device, source[::2], "gaps")
    with pytest.raises(braid.InvalidArgumentError, match="is a group"):
        graph.device_buffer(braid.Device.open_group([device]), source, "group")
    del frame, graph
    memory.close()


def test_copies_reach_the_device_and_come_back(gpu):
    memory, source, back = gpu.allocate(32), np.arange(4), np.zeros(4, int)
    with pytest.raises(braid.InvalidArgumentError, match="copy_to"):
        memory.view()
    assert memory.__cuda_array_interface__["shape"] == (32,)
    graph = braid.Graph()
    graph.copy(memory, source)
    graph.copy(back, memory)
    with braid.Exec(gpu, graph) as frame:
        frame.run()
    assert back.tolist() == [0, 1, 2, 3]
    memory.copy_from(source + 1)
    memory.copy_to(back)
    assert back.tolist() == [1, 2, 3, 4]
    memory.close()


@pytest.mark.parametrize("look", ["torch", "cupy", "protocol", "address"])
def test_a_launch_takes_streams_of_others(gpu, look):
    own = gpu.stream()
    handle = own.handle
    stream = {"torch": types.SimpleNamespace(cuda_stream=handle), "cupy": types.SimpleNamespace(ptr=handle),
              "protocol": types.SimpleNamespace(__cuda_stream__=lambda: (0, handle)), "address": handle}[look]
    source, target = np.arange(4), np.zeros(4, int)
    graph = braid.Graph()
    graph.copy(target, source)
    frame = braid.Exec(gpu, graph)
    created = None
    for _ in range(20):
        frame.launch(stream)
        frame.wait()
        created = created or gpu.info
    assert gpu.info == created  # it is wrapped once
    assert target.tolist() == [0, 1, 2, 3]
    frame.close()
    own.close()


@pytest.mark.parametrize("mode", ["streams", "auto"])
def test_a_queue_call_gets_a_stream_that_others_can_use(gpu, mode):
    source, target, seen = np.arange(4), np.zeros(4, int), []

    def queue(stream):
        seen.append(stream.__cuda_stream__())
        stream.copy(target, source)

    graph = braid.Graph()
    graph.queue_call(queue, writes=target)
    with braid.Exec(gpu, graph, mode=mode) as frame:
        frame.run()
    assert target.tolist() == [0, 1, 2, 3]
    assert {version for version, _ in seen} == {0}  # the address of the default stream may be 0


def test_no_library_is_imported_unasked():
    import subprocess
    import sys

    text = "import braid, sys; print([m for m in ('numpy', 'cupy', 'torch', 'numba') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, check=True).stdout == "[]\n"


def test_ctypes_structs_are_values(device, library):
    class Pair(ctypes.Structure):
        _fields_ = [("low", ctypes.c_int32), ("high", ctypes.c_int32)]

    target = np.zeros(1, "int64")
    graph = braid.Graph()
    graph.kernel(braid.Kernel("store", cpu=library.store), 1, [target, Pair(1, 2)], writes=target)
    braid.Exec(device, graph).run()
    assert target[0] == 1 + (2 << 32)


@pytest.fixture
def scale():
    """x[i] *= factors[i] of float32 and int8"""
    pytest.importorskip("numba", reason="Numba is not installed (python3-numba)")
    from braid.numba import kernel

    @kernel("float32*, int8*")
    def scale(begin, end, x, factors):
        for i in range(begin, end):
            x[i] *= factors[i]

    return scale


def test_numba_kernels_take_arrays_of_their_types_alone(device, scale):
    x, two = np.ones(4, "float32"), np.full(4, 2, "int8")
    graph = braid.Graph()
    for wrong, kind in ((np.ones(4), "float64"), (np.ones(4, ">f4"), "float32 in the other byte order"),
                        (np.ones(4, "int32"), "int32"), (np.zeros(4, "M8[s]"), "type '<M8.s.'"),
                        ((ctypes.c_int32 * 4)(), "int32"), (bytearray(16), "uint8"), (np.ones(4, bool), "bool"),
                        (Tensor(np.ones(4)), "float64"), (OnGpu(np.ones(4)), "float64")):
        with pytest.raises(braid.InvalidArgumentError,
                           match=f"argument 0 of kernel 'scale' is a .* of {kind}, where the kernel takes a float32\\*"):
            graph.kernel(scale, 4, [wrong, two], updates=wrong, reads=two)
    with pytest.raises(braid.InvalidArgumentError, match="argument 1 .* of float32, .* int8\\*"):
        graph.kernel(scale, 4, [x, x], updates=x)
    node = graph.kernel(scale, 4, [x, two], updates=x, reads=two)
    frame = braid.Exec(device, graph)
    with pytest.raises(braid.InvalidArgumentError, match="argument 0 of kernel 'scale' .* of float64, .* float32"):
        frame.set_arg(node, 0, np.ones(4))
    frame.run()
    assert x.tolist() == [2] * 4


def test_parameters_keep_to_the_types_of_the_kernels_that_take_them(device, scale):
    x, two, wrong = np.ones(4, "float32"), np.full(4, 2, "int8"), np.ones(4)
    graph = braid.Graph()
    with pytest.raises(braid.InvalidArgumentError, match="parameter 'x', which is argument 0 of kernel 'scale', is a"):
        graph.kernel(scale, 4, [graph.parameter("x", wrong), two], updates=wrong, reads=two)
    assert len(graph) == 0
    fine = graph.parameter("fine", x)
    node = graph.kernel(scale, 4, [fine, two], updates=x, reads=two)
    with pytest.raises(braid.InvalidArgumentError, match="parameter 'y', which is argument 0 of kernel 'scale', is a"):
        graph.use(graph.parameter("y", wrong), node, "argument", argument=0)
    frame = braid.Exec(device, graph)
    with pytest.raises(braid.InvalidArgumentError, match="'fine', which is argument 0 .* of float64, .* float32"):
        frame.set_parameter(fine, wrong)
    frame.run()
    assert x.tolist() == [2] * 4


def test_elements_with_gaps_are_no_argument_of_any_kernel(device, store, library):
    big = np.zeros(8, "int64")
    graph = braid.Graph()
    for kernel in (store, braid.Kernel("store", cpu=library.store)):
        for view in (big[::2], big[::-1], np.zeros((2, 3), "int64").T, OnGpu(big[::2]), Tensor(big[::2], big)):
            with pytest.raises(braid.InvalidArgumentError,
                               match="argument 0 of kernel 'store' is a .* of int64 .* takes a pointer.*ascontiguousarray"):
                graph.kernel(kernel, 1, [view, np.int64(3)], writes=view)
    with pytest.raises(braid.InvalidArgumentError, match="parameter 'view' .* do not follow each other"):
        graph.parameter("view", big[::2])
    with pytest.raises(braid.InvalidArgumentError, match="argument 0 .* do not follow each other"):
        graph.kernel(store, 1, [graph.buffer(big[::2]), 3], writes=big)
    graph.kernel(store, 1, [braid.Pointer.of(big[::2]), 3], writes=big)  # by its address it is
    braid.Exec(device, graph).run()
    assert big[0] == 3


def test_what_looks_like_an_address_of_a_buffer(device, store):
    x, y = np.zeros(2, "int64"), np.zeros(2, "int64")
    graph = braid.Graph()
    first = graph.fill(x, 0)
    graph.kernel(store, 1, [y, x.ctypes.data], writes=y)  # a number
    graph.kernel(store, 1, [braid.Pointer(x.ctypes.data + 8), 5], writes=y, after=first)  # as the program wants it
    braid.Exec(device, graph).run()
    assert y[0] == x.ctypes.data and x[1] == 5
    graph.kernel(store, 1, [x.ctypes.data, 5], writes=y, name="bare")
    with pytest.raises(braid.InvalidArgumentError, match="'bare': argument 0 is an address in buffer 'array 0'"):
        graph.plan(costs=braid.CostModel())


def test_arrays_of_one_element_and_read_only_arrays_are_arguments(device, scale):
    number, two = np.array(1, "float32"), np.full(1, 2, "int8")
    two.flags.writeable = False
    graph = braid.Graph()
    graph.kernel(scale, 1, [number, two], updates=number, reads=two)
    braid.Exec(device, graph).run()
    assert number == 2


def test_a_fill_of_a_ctypes_array_sets_its_elements(device):
    numbers = (ctypes.c_int32 * 3)()
    graph = braid.Graph()
    graph.fill(numbers, 7)
    braid.Exec(device, graph).run()
    assert list(numbers) == [7, 7, 7]


def count_lines(call):
    """That Python runs in a call."""
    count = [0]

    def trace(frame, event, argument):
        count[0] += event == "line"
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return count[0]


def test_adding_arrays_takes_linear_time():
    lines = []
    for num in (200, 400):
        graph, arrays = braid.Graph(), [np.zeros(2) for _ in range(num)]
        lines.append(count_lines(lambda: [graph.buffer(array) for array in arrays]))
        lines[-1] += count_lines(lambda: [graph.host(print, reads=array[1:]) for array in arrays])
    assert lines[1] < 2.2 * lines[0]


def test_managed_memory_is_both_sides(gpu):
    memory = gpu.allocate(32, managed=True)
    values = np.frombuffer(memory.view(), "int32")
    graph = braid.Graph()
    move = graph.prefetch(memory)
    fill = graph.fill(memory, 7, after=move)
    graph.prefetch(memory, to_host=True, name="back", after=fill)
    frame = braid.Exec(gpu, graph)
    assert frame.info.mode == "streams" and "a driver graph has no prefetches" in frame.info.reason
    frame.run()
    assert memory.__cuda_array_interface__["data"][0] == memory.address and set(values.tolist()) == {0x07070707}
    del values
    frame.close()
    memory.close()
    with pytest.raises(braid.InvalidArgumentError, match="the host's or managed, not both"):
        gpu.allocate(32, host=True, managed=True)
