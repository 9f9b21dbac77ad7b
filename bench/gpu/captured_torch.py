# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision at batch 1 as PyTorch's CUDA graph, and the same work by braid.torch.optimize, in one process by turns.

    captured_torch.py [--models NAME[:compiled]...] [--batch N] [--compile] [--reuse] [--lanes] [--once]

Needs torch, torchvision and a CUDA device. Weights are random, in half precision. Each row has the medians of rounds that
alternate, and how far the results are apart: of Braid's from the graph's, and of the graph's from itself. The last column
tells which way the optimized function plays.
NAME:compiled is compiled by torch.compile first, and --compile compiles all. --lanes also plays plans of 1, 4 and 8
lanes. --reuse also leaves PyTorch's reuse of memory as it is.
--once plays each a few times, without times, for tools that watch memory.
"""
import argparse
import sys
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


def tell(label, optimized, made):
    info = optimized.found.info
    print(f"# {label}: made in {made:.2f} s; {info.num_kernels} kernels, {info.num_stated} by statement, {info.num_unproven} not "
          f"proven; orders {info.num_captured} captured, {info.num_kept} kept; longest path {info.longest_captured} captured, "
          f"{info.longest_kept} kept; {info.num_races} races")
    lines = optimized.text.splitlines()
    print("\n".join("# " + line[:800] for line in (lines[3:] if len(lines) < 40 else [*lines[3:38], *lines[-2:]])))
    sys.stdout.flush()


def run(name, is_compiled, given):
    model = model_of(name)
    size = 299 if name == "inception_v3" else 224
    image = torch.rand(given.batch, 3, size, size, device="cuda", dtype=torch.half)
    eager = lambda: model(image)  # noqa: E731
    played = torch.compile(model) if is_compiled else model
    function = lambda: played(image)  # noqa: E731
    graph, result = graph_of(eager)
    again, other = graph_of(eager)  # which tells how far equal graphs are apart
    plays = {"eager graph": graph.replay, "eager graph, captured again": again.replay}
    results, ways = {"eager graph": result, "eager graph, captured again": other}, {}
    if is_compiled:
        compiled, results["compiled graph"] = graph_of(function)
        plays["compiled graph"] = compiled.replay
    for way, keeps in (("optimized", True), ("optimized, memory reused", False)):
        if not keeps and not given.reuse:
            continue
        begin = time.perf_counter()
        optimized = braid.torch.optimize(function, keep_memory=keeps)
        made, planned = time.perf_counter() - begin, optimized.outputs
        if not given.once:
            settle(optimized)
        plays[way], results[way], ways[way] = optimized, optimized.outputs, optimized.report["plays_by"]
        tell(f"{name}{', compiled' if is_compiled else ''}, {way}", optimized, made)
        has_plan = optimized.found.info.num_kept < optimized.found.info.num_captured
        for lanes in (1, 4, 8) if given.lanes and has_plan else ():
            frame = braid.Exec(braid.torch._adopt(image.device), optimized.graph, max_lanes=lanes)
            plays[f"{way}, {lanes} lanes"] = lambda on=frame: on.launch(int(torch.cuda.current_stream().cuda_stream))
            results[f"{way}, {lanes} lanes"] = planned
    times = times_of(plays, *((1, 1) if given.once else ()))
    base = "compiled graph" if is_compiled else "eager graph"
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
        label = f"{name}{', compiled' if is_compiled else ''} | {given.batch} | {way}"
        print(f"| {label} | {times[way]:.1f} | {times[way] / times[base]:.3f} | {apart:.1e} | {own:.1e} | {ways.get(way, '')} |",
              flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", nargs="+", default=["googlenet", "inception_v3", "googlenet:compiled", "inception_v3:compiled",
                                                         "resnet50", "densenet121"])
    options.add_argument("--batch", type=int, default=1)
    options.add_argument("--compile", action="store_true")
    options.add_argument("--reuse", action="store_true")
    options.add_argument("--lanes", action="store_true")
    options.add_argument("--once", action="store_true")
    given = options.parse_args()
    print(f"# torch {torch.__version__}, {torch.cuda.get_device_name()}")
    print("| model | batch | way | us | ratio | apart | graph from itself | plays by |\n|---|---|---|---|---|---|---|---|")
    with torch.inference_mode():
        for name in given.models:
            name, _, how = name.partition(":")
            run(name, given.compile or how == "compiled", given)


if __name__ == "__main__":
    main()
