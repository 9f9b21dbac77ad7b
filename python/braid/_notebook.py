# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: a graph as its DAG, numbers as tables."""
from __future__ import annotations

import html
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

MOST_DRAWN = 300  # nodes: a drawing of more is no picture
_EDGE = re.compile(r"^\s*(\d+) -> (\d+)(.*)$", re.MULTILINE)
_BOX = re.compile(r"^ *subgraph cluster_([a-z]+)_(\d+) {$|^ +(\d+);$|^ *(})$", re.MULTILINE)
_HEIGHT, _ROW, _GAP, _TITLE, _LETTER, _MOST_LETTERS = 26, 64, 18, 16, 7, 48
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


class _Box:
    """A loop, a branch, an arm, a bundle or the graph. A loop or branch is a node too, its head."""

    def __init__(self, kind: str, head: Optional[int] = None) -> None:
        self.kind, self.head = kind, head
        self.items: List[Union[int, _Box]] = []
        self.size = (0, 0)
        self.places: List[Tuple[int, int]] = []  # where each item is inside the box

    def nodes(self) -> List[int]:
        inside = [node for one in self.items for node in (one.nodes() if isinstance(one, _Box) else [one])]
        return inside if self.head is None else [self.head, *inside]


def _boxes_of(dot: str, num: int) -> _Box:
    """The boxes of a drawing of a graph, each inside another."""
    whole = _Box("graph")
    open_boxes, owner = [whole], [whole] * num
    for kind, name, member, end in _BOX.findall(dot):
        if kind:
            box = _Box(kind, int(name) if kind in ("loop", "branch") else None)
            open_boxes[-1].items.append(box)
            open_boxes.append(box)
        elif member:
            owner[int(member)] = open_boxes[-1]
        elif end and len(open_boxes) > 1:
            open_boxes.pop()
    for node in range(num):
        if owner[node].head != node:
            owner[node].items.append(node)
    return whole


def _shown(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else name[:_MOST_LETTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _title(box: _Box, names: Sequence[str]) -> str:
    return _shown(names[box.head]) if box.head is not None else box.kind if box.kind in ("if", "else") else ""


def _lay_out(box: _Box, names: Sequence[str], edges: Sequence[Tuple[int, int]]) -> None:
    """Places the items in rows, each below all that it waits for."""
    for one in box.items:
        if isinstance(one, _Box):
            _lay_out(one, names, edges)
    box.items.sort(key=lambda one: min(one.nodes(), default=0) if isinstance(one, _Box) else one)
    item_of = {node: i for i, one in enumerate(box.items) for node in (one.nodes() if isinstance(one, _Box) else [one])}
    between = {(item_of[a], item_of[b]) for a, b in edges if a in item_of and b in item_of and item_of[a] != item_of[b]}
    ranks = _ranks(len(box.items), sorted(between))
    sizes = [one.size if isinstance(one, _Box) else (len(_shown(names[one])) * _LETTER + 16, _HEIGHT) for one in box.items]
    rows = [[i for i, rank in enumerate(ranks) if rank == row] for row in range(max(ranks, default=-1) + 1)]
    widths = [sum(sizes[i][0] + _GAP for i in row) - _GAP for row in rows]
    title = _title(box, names)
    whole = max([len(title) * _LETTER, *widths])
    y = _GAP + (_TITLE if title else 0)
    box.places = [(0, 0)] * len(box.items)
    for row, width in zip(rows, widths):
        x = _GAP + (whole - width) // 2
        for i in row:
            box.places[i] = (x, y)
            x += sizes[i][0] + _GAP
        y += max(sizes[i][1] for i in row) + _ROW - _HEIGHT
    box.size = (whole + 2 * _GAP, y - (_ROW - _HEIGHT if rows else 0) + _GAP)


def _draw(box: _Box, x: int, y: int, names: Sequence[str], found: Dict[int, Tuple[int, int, int, int]],
          drawn: Tuple[List[str], List[str]]) -> None:
    """The boxes and the other nodes, and in `found` where each node is."""
    boxes, nodes = drawn
    if box.kind != "graph":
        dashes = ' stroke-dasharray="5 3"' if box.kind == "bundle" else ""
        boxes.append(f'<rect class="{box.kind}" x="{x}" y="{y}" width="{box.size[0]}" height="{box.size[1]}" rx="8" '
                     f'fill="#f8fafc" stroke="#5b7fb0"{dashes}/>')
        if _title(box, names):
            boxes.append(f'<text x="{x + _GAP}" y="{y + _TITLE}">{html.escape(_title(box, names))}</text>')
    if box.head is not None:
        found[box.head] = (x, y, *box.size)
    for one, (left, top) in zip(box.items, box.places):
        if isinstance(one, _Box):
            _draw(one, x + left, y + top, names, found, drawn)
            continue
        shown = _shown(names[one])
        width = len(shown) * _LETTER + 16
        found[one] = (x + left, y + top, width, _HEIGHT)
        nodes.append(f'<rect x="{x + left}" y="{y + top}" width="{width}" height="{_HEIGHT}" rx="5" fill="#eef3fa" '
                     f'stroke="#44546a"><title>{html.escape(names[one])}</title></rect><text x="{x + left + width // 2}" '
                     f'y="{y + top + 17}" text-anchor="middle">{html.escape(shown)}</text>')


def dag_svg(names: Sequence[str], dot: str) -> str:
    """The nodes in rows, each below all that it waits for. Loops, branches and bundles are boxes round theirs."""
    edges = edges_of(dot)
    whole = _boxes_of(dot, len(names))
    _lay_out(whole, names, edges)
    found: Dict[int, Tuple[int, int, int, int]] = {}
    boxes: List[str] = []
    nodes: List[str] = []
    _draw(whole, 0, 0, names, found, (boxes, nodes))
    lines = [f'<path d="M{found[a][0] + found[a][2] // 2} {found[a][1] + found[a][3]}'
             f'L{found[b][0] + found[b][2] // 2} {found[b][1]}" stroke="#8896a8" marker-end="url(#braid-end)"/>'
             for a, b in edges]
    marker = ('<marker id="braid-end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
              'orient="auto"><path d="M0 0L8 4L0 8z" fill="#8896a8"/></marker>')
    width, height = whole.size
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" style="{_STYLE}">{marker}{"".join(boxes + lines + nodes)}</svg>')
