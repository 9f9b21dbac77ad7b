# SPDX-License-Identifier: Apache-2.0
"""What a user's program looks like to a type checker; check_types.py runs it."""
from typing import List, Optional, Union

import braid


def build(values: bytearray) -> braid.Exec:
    graph = braid.Graph()
    step = graph.parameter("step", 1, braid.Pointer)
    kernel = braid.Kernel("k", source="", types=[braid.Pointer, braid.Pointer])
    node: braid.Node = graph.kernel(kernel, (4, 4), [values, step], block=128, updates=values, cost_ns=5)
    graph.kernel(kernel, 4, [values, step], code_use="declares")
    graph.host(lambda: None, name="after", after=[node], reads=values)
    plan: braid.Schedule = graph.plan(max_lanes=2, fixed_lanes=True, costs=braid.CostModel(wait_ns=3))
    picture: str = plan.svg()
    lanes: List[List[Union[braid.Node, braid.PlannedCopy]]] = plan.lanes
    shown: Optional[str] = plan._repr_svg_()
    print(picture, lanes, shown, plan.info.num_lanes + 1)
    return braid.Exec(braid.Device("cpu"), graph, plan, mode="streams")


def change(frame: braid.Exec, node: braid.Node, values: bytearray) -> float:
    frame.set_grid(node, (2, 2))
    frame.set_copy(node, source=values)
    frame.set_enabled(node, False)
    waits: List[braid.WaitTiming] = frame.timings().waits
    how: braid.ExecOptions = {"frames_in_flight": 2, "when_full": "waits", "on_frame_end": print, "max_lanes": 2}
    tuned = braid.tune(frame.device, frame.graph, budget_ns=10)
    braid.Exec(frame.device, frame.graph, **how)
    return braid.Exec(frame.device, frame.graph, **tuned.way).timings().frame.median_ns / len(waits)
