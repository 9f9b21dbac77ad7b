#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of PyTorch play functions with collectives of NCCL by braid.torch.optimize, on two NVIDIA GPUs: the same bytes as
by PyTorch's own graphs, and the same order of collectives on both ranks.
ranks_of_torch_on_gpus.py [number of random functions [the first one [--alone]]]
--alone: PyTorch's graph is played in place of the plan."""
import os
import random
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing

import braid
import braid.torch
from braid._torch_plays import ByPlan

RANKS, WIDTH, CALLS = 2, 256, 30


class Layers(torch.nn.Module):
    """Layers of a tensor-parallel network with `branches` beside each other. The sum of each is a collective."""

    def __init__(self, width, branches, layers):
        super().__init__()
        self.split = torch.nn.ModuleList(torch.nn.ModuleList(torch.nn.Linear(width, 2 * width, bias=False) for _ in range(branches))
                                         for _ in range(layers))
        self.join = torch.nn.ModuleList(torch.nn.ModuleList(torch.nn.Linear(2 * width, width, bias=False) for _ in range(branches))
                                        for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        for split, join in zip(self.split, self.join):
            parts = [b(torch.nn.functional.gelu(a(self.norm(x)))) for a, b in zip(split, join)]
            for part in parts:
                dist.all_reduce(part)
            x = x + sum(parts) / len(parts)
        return x


def random_function(seed):
    """Both ranks make the same one: collectives of several kinds among operations on four tensors."""
    source = random.Random(seed)
    steps = [(source.randrange(8), source.randrange(4), source.randrange(4), source.randrange(2)) for _ in range(source.randrange(6, 30))]

    def function(x):
        live = [x + 1, x * 0.5, x.clone(), torch.sin(x)]
        for kind, a, b, flag in steps:
            one, other = live[a], live[b]
            if kind == 0:
                dist.all_reduce(one, op=dist.ReduceOp.MAX if flag else dist.ReduceOp.SUM)
            elif kind == 1:
                work = dist.all_reduce(one, async_op=True)
                live[b] = torch.cos(other) if other is not one else other
                work.wait()
            elif kind == 2:
                gathered = torch.empty(RANKS * WIDTH, WIDTH, device=x.device)
                dist.all_gather_into_tensor(gathered, other)
                live[a] = gathered[:WIDTH] - gathered[WIDTH:]
            elif kind == 3:
                part = torch.empty(WIDTH // RANKS, WIDTH, device=x.device)
                dist.reduce_scatter_tensor(part, other)
                live[a] = torch.cat([part, part])
            elif kind == 4:
                dist.broadcast(one, flag)
            elif kind == 5:
                live[a] = torch.tanh(one @ other / WIDTH)
            elif kind == 6:
                one.add_(other, alpha=0.5).clamp_(-4, 4)
            else:
                live[b] = torch.relu(one) - other.mean(dim=0)
        return torch.stack(live)

    return function


def graph_of(function, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        function(x)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = function(x)
    return graph, result


def compare(function, x, seed):
    """The plan's results, by a runner and by execs with some lanes, beside those of PyTorch's graph."""
    graph, expected = graph_of(function, x)
    optimized = braid.torch.optimize(function, x)
    is_planned = isinstance(optimized._play, ByPlan)
    execs = [braid.Exec(braid.torch._adopt(x.device), optimized.graph, max_lanes=lanes) for lanes in (1, 4, 8) if is_planned]
    stream, planned = int(torch.cuda.current_stream().cuda_stream), optimized.outputs
    plays = [optimized, *((lambda on=on: on.launch(stream)) for on in execs)]
    if "--alone" in sys.argv:
        plays = [graph.replay]
    torch.manual_seed(seed + 100 * dist.get_rank())
    for call in range(CALLS):
        x.copy_(torch.randn_like(x))
        graph.replay()
        plays[call % len(plays)]()
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise RuntimeError(f"function {seed}, call {call}, way {call % len(plays)}, rank {dist.get_rank()}") from error
        found = planned if call % len(plays) else optimized.outputs
        assert "--alone" in sys.argv or torch.equal(expected, found), (seed, call)
    return graph, optimized, execs


def times_of(plays, rounds=11, num=50):
    """Medians in microseconds. Ranks begin each round together."""
    found = {name: [] for name in plays}
    for _ in range(rounds):
        for name, play in plays.items():
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(num):
                play()
            torch.cuda.synchronize()
            found[name].append((time.perf_counter() - begin) / num * 1e6)
    return {name: statistics.median(values) for name, values in found.items()}


def measure(rank, width, branches):
    torch.manual_seed(7 + rank)
    model = Layers(width, branches, 4).half().cuda().eval()
    x = torch.randn(16, width, device="cuda", dtype=torch.half)
    graph, optimized, execs = compare(model, x, width)
    num = 0
    while num < 400:  # each rank chooses a way by itself
        optimized()
        num += 1
    torch.cuda.synchronize()
    stream = int(torch.cuda.current_stream().cuda_stream)
    times = times_of({"graph": graph.replay, "optimized": optimized, "4 lanes": (lambda: execs[1].launch(stream)) if execs else optimized})
    info = optimized.found.info
    if rank == 0:
        print(f"| {branches} branches of {width} | {info.num_captured} to {info.num_kept} orders, {info.longest_captured} to "
              f"{info.longest_kept} nodes, {info.num_unproven} not proven | {times['graph']:.1f} | {times['optimized']:.1f} | "
              f"{times['optimized'] / times['graph']:.3f} | {times['4 lanes'] / times['graph']:.3f} |", flush=True)
        print(f"# {optimized.info.way}; tried: {optimized.info.reason}", flush=True)


def work(rank, path, num):
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{path}", rank=rank, world_size=RANKS)
    with torch.inference_mode():
        x = torch.randn(WIDTH, WIDTH, device="cuda")
        dist.all_reduce(x.clone())
        first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
        infos = [compare(random_function(seed), x, seed)[1].found.info for seed in range(first, first + num)]
        kept, captured, unproven = (sum(getattr(info, name) for info in infos) for name in ("num_kept", "num_captured", "num_unproven"))
        if rank == 0:
            print(f"{num} of {num} functions are bit-equal in {CALLS} calls; {kept} of {captured} orders kept, {unproven} nodes not proven")
            print("| layers | orders and longest path | graph, us | optimized, us | ratio | 4 lanes, ratio |\n|---|---|---|---|---|---|")
        for width, branches in ((1024, 2), (2048, 2), (1024, 4), (4096, 3)):
            measure(rank, width, branches)
    dist.barrier()
    dist.destroy_process_group()  # NCCL waits here for graphs with its collectives, so all have to be gone


def main():
    num = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (os.path.join(folder, "ranks"), num), nprocs=RANKS)


if __name__ == "__main__":
    main()
