# SPDX-License-Identifier: Apache-2.0
"""Steps of MuJoCo Warp as its own CUDA graph, and the same captured step as a plan of Braid's, in one process by turns.

    captured_mujoco_warp.py [--models NAME...] [--worlds N...] [--deterministic] [--ways] [--islands] [--reload] [--orders N]
                            [--conditional] [--audit]

Needs warp-lang, mujoco, mujoco-warp and a CUDA device. The iterations of the solver are fixed. Each row has the medians of
rounds that alternate, their ratio to Warp's fastest graph, and how far the states are apart after 5 steps: of the way from
Warp's graph, and of that from itself.
--conditional also steps with graph_conditional, the default of MuJoCo Warp, by turns. Its loops end when the solver converges.
A line tells if Warp cannot load or capture them, as Warp 1.18 and 1.19 cannot with a driver of CUDA 13.0, or if Braid refuses.
--audit runs each node of the plan alone, and prints accesses outside those that Braid found in the PTX. The goal is none. It
also prints how many nodes it sees, and how many it does not for which reason, such as kernels that may not be loaded from
their PTX. A reason of a buffer tells that accesses to it are missed.
--reload lets kernels be loaded from their PTX, so that they start early. It tells how many may be, and why others may not.
--islands plays it with islands: stretches of lanes as one kernel each, and the whole graph as one kernel of so many
lanes. It prints the kernels that became islands, the nodes in them, the reasons of the others, and the time of creation.
--orders plays the plan on one lane in N random orders that it allows, and Warp's graph beside a loaded memory.
"""
import argparse
import collections
import os
import random
import re
import time

import mujoco
import numpy as np
import warp as wp

import braid
import braid.warp
import mujoco_warp as mjw

wp.config.quiet = True
FIELDS = ("qpos", "qvel", "qacc", "qacc_warmstart", "time", "act", "ctrl")
WARP, CONDITIONAL = "Warp's graph", "Warp's graph, conditional"
OUTSIDE = ("reads", "writes", "updates")  # an audit's findings of accesses that the plan does not know
MOST_LINES = 20  # that an audit prints of reasons, and of accesses


class Step:
    """A model in so many worlds, its step, and that step as Warp captures it."""

    def __init__(self, path, num_worlds, is_deterministic, is_conditional=False):
        model = mujoco.MjModel.from_xml_path(path)
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
        self.model = mjw.put_model(model)
        self.data = mjw.put_data(model, data, nworld=num_worlds, nconmax=max(64, 2 * data.ncon),
                                 njmax=max(192, 2 * data.nefc))
        self.model.opt.graph_conditional = is_conditional
        if is_deterministic:
            self.model.opt.deterministic = mjw.DeterminismType.ALL if hasattr(mjw, "DeterminismType") else 15
        self.run()
        wp.synchronize()
        self.start = {name: wp.clone(getattr(self.data, name)) for name in FIELDS if hasattr(self.data, name)}
        with wp.ScopedCapture() as capture:
            self.run()
        self.captured = capture.graph

    def run(self):
        mjw.step(self.model, self.data)

    def play(self):
        wp.capture_launch(self.captured)

    def begin(self):
        for name, values in self.start.items():
            if values.size:
                wp.copy(getattr(self.data, name), values)

    def states_after(self, play, num_steps=5):
        self.begin()
        for _ in range(num_steps):
            play()
        wp.synchronize()
        return {name: getattr(self.data, name).numpy().copy() for name in ("qpos", "qvel", "qacc")}


def distance(some, others):
    return max((float(np.abs(some[name] - others[name]).max()) for name in some if some[name].size), default=0.0)


def times_of(plays, rounds=9):
    """The median time of one play of each, in microseconds. `plays` has a step and its player for each. Each time is that of
    some plays from the first state on, since a later state may need more iterations of the solver."""
    found, num = {name: [] for name in plays}, 60
    for step, play in plays.values():
        step.begin()
        for _ in range(10):
            play()
        wp.synchronize()
        begin = time.perf_counter()
        play()
        wp.synchronize()
        num = max(5, min(num, int(0.03 / (time.perf_counter() - begin))))  # so that slow steps do not take minutes
    for _ in range(rounds):
        for name, (step, play) in plays.items():
            step.begin()
            wp.synchronize()
            begin = time.perf_counter()
            for _ in range(num):
                play()
            wp.synchronize()
            found[name].append((time.perf_counter() - begin) / num * 1e6)
    return {name: sorted(values)[rounds // 2] for name, values in found.items()}


def show(name, num_worlds, captured, ways):
    """A row for each way to play the step. `captured` has the steps that Warp plays, and `ways` a step and its player each."""
    times = times_of({**{way: (step, step.play) for way, step in captured.items()}, **ways})
    fastest = min(times[way] for way in captured)
    ours = {step: step.states_after(step.play) for step in captured.values()}
    own = {step: distance(step.states_after(step.play), states) for step, states in ours.items()}
    for way, microseconds in times.items():
        step, play = ways.get(way, (captured.get(way), None))
        apart = "" if play is None else f"{distance(step.states_after(play), ours[step]):.1e}"
        print(f"| {name} | {num_worlds} | {way} | {microseconds:.1f} | {microseconds / fastest:.3f} | {apart} | {own[step]:.1e} |",
              flush=True)


def player_of(device, graph, **how):
    made = braid.Exec(device, graph, **how)
    return lambda: made.launch(int(wp.get_stream().cuda_stream))


def find_ways(optimized, wants_all):
    device, graph = braid.warp._adopt(wp.get_device()), optimized.graph
    ways = {"optimized": optimized}
    if wants_all:
        ways["planned by measured costs"] = player_of(device, graph)
        for lanes in (1, 2, 3, 4, 8, 16):
            ways[f"{lanes} lanes"] = player_of(device, graph, max_lanes=lanes)
            if optimized.imported.info.num_reloadable:
                ways[f"{lanes} lanes, own functions"] = player_of(device, graph, max_lanes=lanes, no_rewriting=True)
        ways["own functions"] = player_of(device, graph, no_rewriting=True)
    return ways


def outside(made, graph):
    """The reasons why nodes are in no island, each with its number of nodes, most first."""
    plan, found = made.schedule, collections.Counter()
    for node in graph.nodes:
        place = plan.placement(node)
        if place.lane is not None and place.island is None:
            found[plan.explain(node).partition("not in an island: ")[2].partition(";")[0]] += 1
    return "; ".join(f"{num}: {reason}" for reason, num in found.most_common(8))


def find_islands(optimized, wanted):
    """Execs whose plans have islands, by the name of the row. One that is refused has a line with the reason."""
    device, graph = braid.warp._adopt(wp.get_device()), optimized.graph
    ways = {"no islands, 1 lane": {"islands": "never", "max_lanes": 1},
            "no islands, 8 lanes": {"islands": "never", "max_lanes": 8}}
    for lanes in wanted:
        ways[f"islands: {lanes} lane{'s' if lanes > 1 else ''}"] = {"islands": "always", "max_lanes": lanes}
    ways["islands: as it pays"] = {"islands": "auto"}
    ways["islands: whole"] = {"islands": "whole"}
    for lanes in wanted:
        ways[f"islands: whole, {lanes} lane{'s' if lanes > 1 else ''}"] = {"islands": "whole", "max_lanes": lanes}
    made = {}
    for way, how in ways.items():
        begin = time.perf_counter()
        try:
            found = braid.Exec(device, graph, **how)
        except braid.Error as error:
            print(f"# {way}: refused after {time.perf_counter() - begin:.2f} s: {error}", flush=True)
            continue
        seconds, info = time.perf_counter() - begin, found.info
        all_inside = info.reason.startswith("graph: one island")
        reasons = "" if all_inside or how["islands"] == "never" else f"; outside {outside(found, graph)}"
        print(f"# {way}: made in {seconds:.2f} s, {info.reason}; {info.num_islands} islands with {info.num_island_nodes} of "
              f"{len(graph.nodes)} nodes on {found.schedule.info.num_lanes} lanes{reasons}", flush=True)
        made[way] = lambda played=found: played.launch(int(wp.get_stream().cuda_stream))
    return made


def settle(optimized):
    """Calls until the fastest way is chosen, and waits now and then, as a program does."""
    num = 0
    while not optimized.info.is_chosen and num < 20000:
        while optimized.info.is_making:
            time.sleep(0.001)
        optimized()
        num += 1
        if num % 10 == 0:
            wp.synchronize()
    return num


def play_in_orders(step, optimized, num_orders):
    """One lane plays nodes one after another, so that only their order differs."""
    device, graph = braid.warp._adopt(wp.get_device()), optimized.graph
    expected = step.states_after(step.play)
    again = sum(distance(step.states_after(step.play), expected) > 0 for _ in range(20))
    side = wp.Stream()
    big = [wp.zeros(1 << 28, dtype=wp.uint8) for _ in range(2)]

    def beside_load():
        for _ in range(8):
            wp.copy(big[0], big[1], stream=side)
        step.play()

    loaded = sum(distance(step.states_after(beside_load), expected) > 0 for _ in range(20))
    chosen = sum(distance(step.states_after(optimized), expected) > 0 for _ in range(20))
    differing, unstable, worst = 0, 0, 0.0
    for seed in range(num_orders):
        source = random.Random(seed)
        for node in graph.nodes:
            graph.set_cost(node, source.randrange(1, 1_000_000))
        play = player_of(device, graph, max_lanes=1, islands="never")
        first, second = step.states_after(play), step.states_after(play)
        differing, worst = differing + (distance(first, expected) > 0), max(worst, distance(first, expected))
        unstable += distance(first, second) > 0
    print(f"# of 20 runs of 5 steps {again} of Warp's graph differ from the first, {loaded} beside a loaded memory, and {chosen} of "
          f"the plan; of {num_orders} random orders on one lane {differing} differ, by at most {worst:.1e}, and {unstable} differ "
          "from themselves", flush=True)


def find_conditional(name, path, num_worlds, given):
    """The step with graph_conditional as Warp captures it, and as a plan. A line has the reason of each that there is not."""
    what = f"# {name}, {num_worlds} worlds, conditional: "
    try:
        step = Step(path, num_worlds, given.deterministic, is_conditional=True)
        step.play()
        wp.synchronize()
    except Exception as error:
        print(f"{what}Warp does not step or capture it: {str(error)[:200]}", flush=True)
        return {}, {}
    captured = {CONDITIONAL: step}
    try:
        optimized = braid.warp.optimize(step.run, reload=given.reload)
        num = settle(optimized)
    except (braid.Error, RuntimeError) as error:
        print(f"{what}refused: {str(error)[:400]}", flush=True)
        return captured, {}
    print(f"{what}chosen after {num} calls; {optimized.text.splitlines()[-2]}", flush=True)
    return captured, {"optimized, conditional": (step, optimized)}


def reason_of(finding):
    """Why an audit does not see a node or a buffer, without the names and numbers that differ from one to the next."""
    reason = finding.text.rpartition(" is not audited: ")[2]
    return re.sub(r"\d+", "N", re.sub(r"(?<!\w)'[^']*'", "...", reason) if finding.node else reason)


def audit(name, num_worlds, step):
    """Accesses that nodes make and the plan does not know. What an audit does to the state stays done. It sees inside kernels
    that may be loaded from their PTX."""
    begin = time.perf_counter()
    try:
        optimized = braid.warp.optimize(step.run, reload=True)
        step.begin()
        findings = braid.audit(braid.warp._adopt(wp.get_device()), optimized.graph)
    except braid.Error as error:
        print(f"# {name}, {num_worlds} worlds: no audit: {str(error)[:400]}", flush=True)
        return
    kinds = collections.Counter(finding.kind for finding in findings)
    unseen = [finding for finding in findings if finding.kind == "unseen"]
    num_nodes, num_unseen = len(optimized.graph.nodes), len({one.node.index for one in unseen if one.node})
    print(f"# {name}, {num_worlds} worlds: an audit of {num_nodes} nodes took {time.perf_counter() - begin:.1f} s, "
          f"saw {num_nodes - num_unseen} in full, and found {sum(kinds[kind] for kind in OUTSIDE)} accesses outside those of the code; {dict(kinds)}", flush=True)
    for reason, num in collections.Counter(map(reason_of, unseen)).most_common(MOST_LINES):
        print(f"#   {num} unseen: {reason[:200]}", flush=True)
    for finding in [one for one in findings if one.kind in OUTSIDE][:MOST_LINES]:
        print("#   " + finding.text[:400], flush=True)


def run(name, num_worlds, given):
    root = os.path.join(os.path.dirname(mjw.__file__), "test_data")
    try:
        step = Step(os.path.join(root, name), num_worlds, given.deterministic)
    except Exception as error:
        print(f"# {name}, {num_worlds} worlds: Warp does not step or capture it: {str(error)[:200]}", flush=True)
        return
    begin = time.perf_counter()
    try:
        optimized = braid.warp.optimize(step.run, reload=given.reload)
    except braid.Error as error:
        print(f"# {name}, {num_worlds} worlds: refused: {str(error)[:400]}", flush=True)
        return
    made = time.perf_counter()
    num = settle(optimized)
    print(f"# {name}, {num_worlds} worlds: optimized in {made - begin:.2f} s, chosen after {num} calls and "
          f"{time.perf_counter() - made:.2f} s")
    if given.reload:
        print(f"# {optimized.imported.info.num_reloadable} functions may be loaded from their PTX, and not: "
              f"{optimized.report['not_reloadable']}", flush=True)
    lines = optimized.text.splitlines()
    print("\n".join("# " + line[:300] for line in [*lines[:12], *lines[-2:]]), flush=True)
    steps, more = {WARP: step}, {}
    if given.conditional:
        found, more = find_conditional(name, os.path.join(root, name), num_worlds, given)
        steps.update(found)
    show(name, num_worlds, steps, {way: (step, play) for way, play in find_ways(optimized, given.ways).items()} | more)
    if given.islands:
        show(name, num_worlds, {WARP: step}, {way: (step, play) for way, play in find_islands(optimized, given.islands).items()})
    if given.orders:
        play_in_orders(step, optimized, given.orders)
    if given.audit:
        audit(name, num_worlds, step)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", nargs="+", default=["humanoid/humanoid.xml"])
    options.add_argument("--worlds", nargs="+", type=int, default=[1])
    options.add_argument("--deterministic", action="store_true")
    options.add_argument("--ways", action="store_true", help="also other numbers of lanes")
    options.add_argument("--islands", nargs="*", type=int, metavar="LANES", help="also islands of so many lanes: 1, 4 and 8")
    options.add_argument("--reload", action="store_true", help="kernels may be loaded from their PTX")
    options.add_argument("--orders", type=int, default=0, metavar="N")
    options.add_argument("--conditional", action="store_true", help="also with loops that end when the solver converges")
    options.add_argument("--audit", action="store_true", help="tell of accesses outside those of the code")
    given = options.parse_args()
    if given.islands == []:
        given.islands = [1, 4, 8]
    print("| model | worlds | way | us | ratio | apart | Warp from itself |\n|---|---|---|---|---|---|---|")
    for name in given.models:
        for num_worlds in given.worlds:
            run(name, num_worlds, given)


if __name__ == "__main__":
    main()
