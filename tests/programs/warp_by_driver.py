# SPDX-License-Identifier: Apache-2.0
"""Runs a program of Warp, unchanged, with the driver for memory and captures.

    warp_by_driver.py PROGRAM ...

Warp itself asks the driver for launches, modules, streams and events. For the rest it has NVIDIA's runtime inside,
which refuses a driver that is not NVIDIA's. Here these few functions of Warp's library ask the driver, too.
"""
import ctypes
import runpy
import sys

try:
    import warp as wp
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

Pointer, Size = ctypes.c_void_p, ctypes.c_size_t


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def call(self, context, name, *arguments):
        """Whether the driver took the call, in that context."""
        self.cuda.cuCtxPushCurrent_v2(Pointer(context))
        answer = getattr(self.cuda, name)(*arguments)
        self.cuda.cuCtxPopCurrent_v2(ctypes.byref(Pointer()))
        if answer:
            print(f"{name} returns {answer}", file=sys.stderr)
        return answer == 0

    def give(self, context, name, *arguments):
        """The handle or address that the driver writes to its first argument; None: none."""
        given = Pointer()
        return given.value if self.call(context, name, ctypes.byref(given), *arguments) else None


driver = Driver()


def at(handle):
    return Pointer(getattr(handle, "value", handle))


def stream_of(context, stream):
    """No stream, and the last address, stand for the present one of the context."""
    stream = getattr(stream, "value", stream)
    if stream is None or stream == 2**64 - 1:
        stream = wp._src.context.runtime.core.wp_cuda_context_get_stream(context)
    return at(stream)


def alloc(context, size, tag):
    return driver.give(context, "cuMemAlloc_v2", Size(size))


def alloc_async(context, size, stream, tag):
    return driver.give(context, "cuMemAllocAsync", Size(size), stream_of(context, stream))


def alloc_pinned(size, tag):
    return driver.give(wp.get_device("cuda:0").context, "cuMemHostAlloc", Size(size), 0)


def free(context, address):
    driver.call(context, "cuMemFree_v2", at(address))


def free_async(context, address, stream=None):
    driver.call(context, "cuMemFreeAsync", at(address), stream_of(context, stream))


def free_pinned(address):
    driver.call(wp.get_device("cuda:0").context, "cuMemFreeHost", at(address))


def to_device(context, to, source, size, stream):
    return driver.call(context, "cuMemcpyHtoDAsync_v2", at(to), at(source), Size(size),
                       stream_of(context, stream))


def to_host(context, to, source, size, stream):
    return driver.call(context, "cuMemcpyDtoHAsync_v2", at(to), at(source), Size(size),
                       stream_of(context, stream))


def on_device(context, to, source, size, stream):
    return driver.call(context, "cuMemcpyDtoDAsync_v2", at(to), at(source), Size(size),
                       stream_of(context, stream))


def fill(context, to, value, size, stream):
    return driver.call(context, "cuMemsetD8Async", at(to), ctypes.c_ubyte(value & 255), Size(size),
                       stream_of(context, stream))


def begin_capture(context, stream, external, mode):
    return bool(external) or driver.call(context, "cuStreamBeginCapture_v2", at(stream), mode)


def end_capture(context, stream, out_graph):
    return driver.call(context, "cuStreamEndCapture", at(stream), out_graph)


def make_exec(context, stream, graph, out_exec):
    return driver.call(context, "cuGraphInstantiateWithFlags", out_exec, at(graph), ctypes.c_uint64(0))


def launch_exec(graph, stream):
    return driver.call(wp.get_device("cuda:0").context, "cuGraphLaunch", at(graph), at(stream))


def destroy_exec(context, graph):
    return driver.call(context, "cuGraphExecDestroy", at(graph))


def destroy_graph(context, graph):
    return driver.call(context, "cuGraphDestroy", at(graph))


def is_capturing(stream):
    status = ctypes.c_int()
    driver.cuda.cuStreamIsCapturing(at(stream), ctypes.byref(status))
    return status.value != 0


def suggest_block(context, function, shared, out_block, out_grid):
    out_block._obj.value, out_grid._obj.value = 256, 4
    return True


BY_DRIVER = {
    "wp_cuda_get_suggested_block_size": suggest_block,
    "wp_alloc_device": alloc, "wp_alloc_device_default": alloc, "wp_alloc_device_async": alloc_async,
    "wp_alloc_pinned": alloc_pinned, "wp_free_device": free, "wp_free_device_default": free,
    "wp_free_device_async": free_async, "wp_free_pinned": free_pinned, "wp_memcpy_h2d": to_device,
    "wp_memcpy_d2h": to_host, "wp_memcpy_d2d": on_device, "wp_memset_device": fill,
    "wp_cuda_stream_is_capturing": is_capturing,
    "wp_cuda_graph_begin_capture": begin_capture, "wp_cuda_graph_end_capture": end_capture,
    "wp_cuda_graph_create_exec": make_exec, "wp_cuda_graph_launch": launch_exec,
    "wp_cuda_graph_exec_destroy": destroy_exec, "wp_cuda_graph_destroy": destroy_graph,
}

if __name__ == "__main__":
    wp.config.quiet = True
    wp.config.cuda_output = "ptx"  # the stand-in runs no machine code
    wp.init()
    for name, function in BY_DRIVER.items():
        setattr(wp._src.context.runtime.core, name, function)
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
