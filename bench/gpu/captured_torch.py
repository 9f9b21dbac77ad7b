# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision at batch 1 as PyTorch's CUDA graph, and the same work by braid.torch.optimize, in one process by turns.

    captured_torch.py [--models NAME...] [--batch N] [--compile] [--reuse] [--once]

Needs torch, torchvision and a CUDA device. Weights are random, in half precision. Each row has the medians of rounds that
alternate, and how far the results are apart: of Braid's from the graph's, and of the graph's from itself.
--compile compiles models by torch.compile first. --reuse also leaves PyTorch's reuse of memory as it is.
--once plays each a few times, without times, for tools that watch memory.
"""
import argparse
import time

import torch
import torchvision

import braid
import braid.torch


def model_of(name):
    torch.manual_seed(1)
    options = {"aux_logits": True, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return getattr(torchvision.models, name)(weights=None, **options).half().cuda().eval()


def times_of(plays, rounds=15, num=100):
    """The median time of one play of each, in microseconds."""
    found = {name: [] for name in plays}
    for play in plays.values():
        for _ in range(10):
            play()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for name, play in plays.items():
            begin = time.perf_counter()
            for _ in range(num):
                play()
            torch.cuda.synchronize()
            found[name].append((time.perf_counter() - begin) / num * 1e6)
    return {name: sorted(values)[rounds // 2] for name, values in found.items()}


def distance(some, others):
    return float((some.float() - others.float()).abs().max())


def graph_of(function):
    """PyTorch's own graph, its result and how to play it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph, result


def settle(optimized):
    num = 0
    while not optimized.info.is_chosen and num < 20000:
        while optimized.info.is_making:
            time.sleep(0.001)
        optimized()
        num += 1
        if num % 10 == 0:
            torch.cuda.synchronize()


def run(name, given):
    model = model_of(name)
    size = 299 if name == "inception_v3" else 224
    image = torch.rand(given.batch, 3, size, size, device="cuda", dtype=torch.half)
    eager = lambda: model(image)  # noqa: E731
    played = torch.compile(model) if given.compile else model
    function = lambda: played(image)  # noqa: E731
    graph, result = graph_of(eager)
    again, other = graph_of(eager)  # which tells how far equal graphs are apart
    plays = {"eager graph": graph.replay, "eager graph, captured again": again.replay}
    results = {"eager graph": result, "eager graph, captured again": other}
    if given.compile:
        compiled, results["compiled graph"] = graph_of(function)
        plays["compiled graph"] = compiled.replay
    for way, keeps in (("optimized", True), ("optimized, memory reused", False)):
        if not keeps and not given.reuse:
            continue
        begin = time.perf_counter()
        optimized = braid.torch.optimize(function, keep_memory=keeps)
        made = time.perf_counter() - begin
        if not given.once:
            settle(optimized)
        plays[way], results[way] = optimized, optimized.outputs
        info = optimized.imported.info
        print(f"# {name}, {way}: made in {made:.2f} s; {info.num_kernels} kernels, {info.num_stated} by statement, {info.num_unproven} "
              f"not proven; longest path {info.longest_captured} captured, {info.longest_kept} kept; {info.num_races} races")
        print("\n".join("# " + line[:250] for line in optimized.text.splitlines()[3:40]), flush=True)
        execs = {f"{way}, {lanes} lanes": braid.Exec(braid.torch._adopt(image.device), optimized.graph, max_lanes=lanes) for lanes in (1, 4, 8)}
        for label, made_exec in execs.items():
            plays[label] = lambda on=made_exec: on.launch(int(torch.cuda.current_stream().cuda_stream))
            results[label] = optimized.outputs
    times = times_of(plays, *((1, 1) if given.once else ()))
    base = "compiled graph" if given.compile else "eager graph"
    plays[base]()
    torch.cuda.synchronize()
    expected = results[base].clone()
    own = 0.0
    for _ in range(10):
        plays[base]()
        torch.cuda.synchronize()
        own = max(own, distance(results[base], expected))
    for way, play in plays.items():
        apart = 0.0
        for _ in range(10):
            results[way].zero_()
            play()
            torch.cuda.synchronize()
            apart = max(apart, distance(results[way], expected))
        print(f"| {name} | {given.batch} | {way} | {times[way]:.1f} | {times[way] / times[base]:.3f} | {apart:.1e} | {own:.1e} |",
              flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", nargs="+", default=["googlenet", "inception_v3", "resnet50", "densenet121"])
    options.add_argument("--batch", type=int, default=1)
    options.add_argument("--compile", action="store_true")
    options.add_argument("--reuse", action="store_true")
    options.add_argument("--once", action="store_true")
    given = options.parse_args()
    print(f"# torch {torch.__version__}, {torch.cuda.get_device_name()}")
    print("| model | batch | way | us | ratio | apart | graph from itself |\n|---|---|---|---|---|---|---|")
    with torch.inference_mode():
        for name in given.models:
            run(name, given)


if __name__ == "__main__":
    main()
