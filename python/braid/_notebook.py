# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: a graph as its DAG, numbers as tables."""
from __future__ import annotations

import html
import re
from typing import Any, Dict, List, Sequence, Tuple

MOST_DRAWN = 300  # nodes: a drawing of more is no picture
_EDGE = re.compile(r"^\s*(\d+) -> (\d+)(.*)$", re.MULTILINE)
_HEIGHT, _ROW, _GAP, _LETTER = 26, 64, 18, 7
_STYLE = "font:12px sans-serif"


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """As HTML. Numbers stand to the right."""
    def cell(value: Any, tag: str = "td") -> str:
        side = "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"
        shown = f"{value:,.3f}" if isinstance(value, float) else str(value)
        return f'<{tag} style="text-align:{side}">{html.escape(shown)}</{tag}>'

    head = "".join(cell(name, "th") for name in header)
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(caption)}</caption><tr>{head}</tr>{body}</table>"


def edges_of(dot: str) -> List[Tuple[int, int]]:
    """Those of a drawing of a graph, in one frame; by index."""
    return [(int(first), int(second)) for first, second, rest in _EDGE.findall(dot) if "dashed" not in rest]


def _ranks(num: int, edges: Sequence[Tuple[int, int]]) -> List[int]:
    """How many edges lead to a node at most. Nodes of cycles stay at 0."""
    waiting = [0] * num
    after: Dict[int, List[int]] = {}
    for first, second in edges:
        waiting[second] += 1
        after.setdefault(first, []).append(second)
    rank, ready = [0] * num, [node for node in range(num) if not waiting[node]]
    for node in ready:
        for one in after.get(node, ()):
            rank[one] = max(rank[one], rank[node] + 1)
            waiting[one] -= 1
            if not waiting[one]:
                ready.append(one)
    return rank


def dag_svg(names: Sequence[str], edges: Sequence[Tuple[int, int]]) -> str:
    """The nodes in rows, each below all that it waits for."""
    ranks = _ranks(len(names), edges)
    filled: Dict[int, int] = {}  # how wide each row is so far
    places = []
    for name, rank in zip(names, ranks):
        width = max(len(name), 2) * _LETTER + 16
        places.append((filled.get(rank, _GAP), rank * _ROW + _GAP, width))
        filled[rank] = filled.get(rank, _GAP) + width + _GAP
    whole, height = max(filled.values()), (max(ranks) + 1) * _ROW
    places = [(x + (whole - filled[rank]) // 2, y, width) for (x, y, width), rank in zip(places, ranks)]
    lines = [f'<path d="M{places[a][0] + places[a][2] // 2} {places[a][1] + _HEIGHT}'
             f'L{places[b][0] + places[b][2] // 2} {places[b][1]}" stroke="#8896a8" marker-end="url(#braid-end)"/>'
             for a, b in edges]
    boxes = [f'<rect x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="5" fill="#eef3fa" stroke="#44546a"/>'
             f'<text x="{x + width // 2}" y="{y + 17}" text-anchor="middle">{html.escape(name)}</text>'
             for (x, y, width), name in zip(places, names)]
    marker = ('<marker id="braid-end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
              'orient="auto"><path d="M0 0L8 4L0 8z" fill="#8896a8"/></marker>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{height}" '
            f'viewBox="0 0 {whole} {height}" style="{_STYLE}">{marker}{"".join(lines + boxes)}</svg>')
