#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package with CuPy and PyTorch on an NVIDIA GPU: arrays, raw kernels, streams, queue calls,
misuse. Prints one line for each part: on_a_gpu.py, with braid installed or on PYTHONPATH."""
import gc
import sys
import traceback

import numpy as np

import braid

ADD = r"""extern "C" __global__ void add_scaled(float *y, const float *x, float factor, int num)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < num)
        y[i] += factor * x[i];
}"""
SPIN = r"""extern "C" __global__ void spin(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
}"""
NUM = 1 << 16
GRID = dict(grid=NUM // 256, block=256)


def memory_of_braid(device):
    y, x, back = device.allocate(4 * NUM), device.allocate(4 * NUM), np.zeros(NUM, "float32")
    kernel = braid.Kernel("add_scaled", source=ADD, types=[braid.Pointer, braid.Pointer, np.float32, np.int32])
    graph = braid.Graph()
    graph.fill(y, 0)
    graph.copy(x, np.arange(NUM, dtype="float32"))
    node = graph.kernel(kernel, args=[y, x, 1, NUM], updates=y, reads=x, **GRID)
    graph.copy(back, y)
    for mode in ("streams", "graph"):
        with braid.Exec(device, graph, mode=mode) as frame:
            frame.run(3)
            assert np.array_equal(back, np.arange(NUM)), mode
            frame.set_arg(node, 2, 2)
            frame.run(2)
            assert np.array_equal(back, 2 * np.arange(NUM)), mode


def cupy_arrays_and_raw_kernels(device):
    import cupy

    a, b = cupy.zeros(2 * NUM, "float32"), cupy.arange(NUM, dtype="float32")
    plain = cupy.RawKernel(ADD, "add_scaled")
    tuned = cupy.RawKernel(ADD, "add_scaled", options=("--use_fast_math",))
    for raw in (plain, tuned):
        a[:] = 0
        cupy.cuda.Device().synchronize()
        graph = braid.Graph()
        for half in (a[:NUM], a[NUM:]):  # parts of one array: free of each other
            graph.kernel(raw, args=[half, b, np.float32(2), np.int32(NUM)], updates=half, reads=b, **GRID)
        assert graph.plan(costs=braid.CostModel(), max_lanes=4, fixed_lanes=True).info.num_lanes == 2
        frame = braid.Exec(device, graph)
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            a += 1  # on the stream, before the frame
            frame.launch(stream)
            total = a.sum()  # and after it
        assert float(total) == float(2 * 2 * np.arange(NUM).sum() + 2 * NUM), raw.options
        frame.close()


def torch_tensors_and_streams(device):
    import torch

    y, x = torch.zeros(NUM, device="cuda"), torch.arange(NUM, device="cuda", dtype=torch.float32)
    kernel = braid.Kernel("add_scaled", source=ADD, types=[braid.Pointer, braid.Pointer, np.float32, np.int32])
    graph = braid.Graph()
    factor = graph.parameter("factor", 1, np.float32)
    for half in (slice(None, NUM // 2), slice(NUM // 2, None)):
        graph.kernel(kernel, NUM // 512, [y[half], x[half], factor, NUM // 2], block=256, updates=y[half], reads=x[half])
    assert graph.plan(costs=braid.CostModel(), max_lanes=4, fixed_lanes=True).info.num_lanes == 2
    frame = braid.Exec(device, graph)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for value in (1, 2, 3):
            y.mul_(2)
            frame.set_parameter(factor, value)
            frame.launch(stream)
        result = y.sum()
    expected = ((1 * 2 + 2) * 2 + 3) * torch.arange(NUM, dtype=torch.float64).sum()
    assert abs(float(result) - float(expected)) < 1e-4 * float(expected)
    frame.launch(torch.cuda.current_stream())
    frame.wait()
    frame.close()


def torch_as_a_queue_call(device):
    import torch

    a, b, c, d = (torch.rand(256, 256, device="cuda") for _ in range(4))
    torch.mm(a, b, out=c)  # so that cuBLAS has set itself up
    torch.cuda.synchronize()
    expected = (a @ b) @ b

    def multiply(left, right, out):
        def queue(stream):
            with torch.cuda.stream(torch.cuda.ExternalStream(stream.handle)):
                torch.mm(left, right, out=out)
        return queue

    graph = braid.Graph()
    graph.queue_call(multiply(a, b, c), name="first", reads=[a, b], writes=c)
    graph.queue_call(multiply(c, b, d), name="second", reads=[b, c], writes=d)
    said = []
    for mode in ("streams", "auto"):
        d.zero_()
        torch.cuda.synchronize()
        with braid.Exec(device, graph, mode=mode) as frame:
            frame.run(3)
            said.append(f"{mode}: {frame.info.mode} ({frame.info.reason})")
        assert torch.allclose(d, expected, rtol=1e-3), mode
    return "; ".join(said)


def torch_operations_have_memory_of_their_own(device):
    import torch

    from braid.torch import operation

    def multiply(left, right, out):
        torch.mm(torch.relu(left - 0.5), right + 1, out=out)

    a, b, *outs = (torch.rand(300, 300, device="cuda") for _ in range(6))
    multiply(a, b, outs[0])  # so that cuBLAS has set itself up
    wanted = outs[0].clone()
    for how in ({"mode": "streams"}, {"mode": "graph"}, {"mode": "graph", "frames_in_flight": 3}):
        graph = braid.Graph()
        for out in outs:  # which may run at once
            operation(graph, multiply, [braid.read(a), braid.read(b), braid.write(out)])
        with braid.Exec(device, graph, **how) as frame:
            for _ in range(5):
                for out in outs:
                    out.zero_()
                torch.cuda.synchronize()
                frame.launch()
                noise = [torch.full((300, 300), float("nan"), device="cuda") for _ in range(20)]  # would get that memory
                frame.wait()
                torch.cuda.synchronize()
                assert all(torch.allclose(out, wanted, rtol=1e-3) for out in outs), how
                del noise


def torch_operations_that_cannot_be_captured_run_on_streams(device):
    import torch

    from braid.torch import operation

    def wait_for_all(out):
        out.add_(1)
        torch.cuda.synchronize()

    out, graph = torch.zeros(NUM, device="cuda"), braid.Graph()
    operation(graph, wait_for_all, [braid.inout(out)])
    with braid.Exec(device, graph) as frame:
        frame.run(2)
        assert frame.info.mode == "streams" and float(out[0]) == 2
        return frame.info.reason


def a_launch_does_not_block(device):
    kernel = braid.Kernel("spin", source=SPIN)
    graph = braid.Graph()
    graph.kernel(kernel, 1, [np.int64(500_000_000)])
    with braid.Exec(device, graph) as frame:
        frame.launch()
        assert not frame.done, "the kernel spins for a quarter of a second"
        frame.wait()
        assert frame.done


def a_replaced_tensor_outlives_its_frame(device):
    import torch

    spin, add = braid.Kernel("spin", source=SPIN), braid.Kernel("add_scaled", source=ADD)
    y, x = torch.zeros(NUM, device="cuda"), torch.ones(NUM, device="cuda")
    graph = braid.Graph()
    order = graph.resource("order")
    graph.kernel(spin, 1, [np.int64(200_000_000)], excludes=order)
    node = graph.kernel(add, args=[y, x, np.float32(1), np.int32(NUM)], updates=y, reads=x, excludes=order, **GRID)
    with braid.Exec(device, graph) as frame:
        frame.set_arg(node, 1, torch.full((NUM,), 5.0, device="cuda"))
        torch.cuda.synchronize()
        frame.launch()
        frame.set_arg(node, 1, x)  # the frame in flight still reads the other one
        gc.collect()
        noise = torch.full((NUM,), 9.0, device="cuda")  # would get its memory
        frame.wait()
        torch.cuda.synchronize()
    assert float(y[0]) == 5 and float(noise[0]) == 9


def misuse_is_refused_before_the_device_sees_it(device):
    x = np.zeros(4, "float32")
    graph = braid.Graph()
    graph.kernel(braid.Kernel("add_scaled", source=ADD), 1, [x], updates=x)
    try:
        braid.Exec(device, graph)
    except braid.InvalidArgumentError as error:
        assert "numpy.ndarray" in str(error)
    else:
        raise AssertionError("host memory was taken")
    graph = braid.Graph()
    graph.kernel(braid.Kernel("broken", source='extern "C" __global__ void broken() { no such code }'), 1)
    try:
        braid.Exec(device, graph)
    except braid.Error as error:
        return str(error)[:100]
    raise AssertionError("it compiled")


def a_thousand_frames_make_nothing_grow(device):
    import torch

    ys = [torch.zeros(NUM, device="cuda") for _ in range(2)]
    x = torch.ones(NUM, device="cuda")
    graph = braid.Graph()
    node = graph.kernel(braid.Kernel("add_scaled", source=ADD), args=[ys[0], x, np.float32(1), np.int32(NUM)],
                        updates=ys[0], reads=x, **GRID)
    with braid.Exec(device, graph) as frame:
        def play(num):
            for i in range(num):
                frame.set_arg(node, 0, ys[i % 2])
                frame.launch(torch.cuda.current_stream())
                if i % 100 == 99:
                    frame.wait()
            return device.info, sys.getallocatedblocks()
        play(200)
        stats, blocks = play(200)
        later, later_blocks = play(1000)
    assert later == stats and later_blocks - blocks < 100, (stats, later, blocks, later_blocks)
    assert float(ys[0][0]) == 700


PARTS = [memory_of_braid, cupy_arrays_and_raw_kernels, torch_tensors_and_streams, torch_as_a_queue_call,
         torch_operations_have_memory_of_their_own, torch_operations_that_cannot_be_captured_run_on_streams,
         a_launch_does_not_block, a_replaced_tensor_outlives_its_frame,
         misuse_is_refused_before_the_device_sees_it, a_thousand_frames_make_nothing_grow]


def main():
    device = braid.Device("cuda")
    print(f"{device!r}, braid {braid.__version__}, Python {sys.version.split()[0]}")
    failed = 0
    for part in PARTS:
        try:
            said = part(device)
            print(f"ok   {part.__name__}{': ' + said if said else ''}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {part.__name__}\n{traceback.format_exc()}", flush=True)
        gc.collect()
    device.close()
    print(f"{len(PARTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
