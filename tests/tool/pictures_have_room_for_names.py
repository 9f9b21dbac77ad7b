# SPDX-License-Identifier: Apache-2.0
"""Timelines: no text stands on another or outside the picture, and bodies stand inside the bars of their loops and branches."""
import re
import sys
from xml.etree import ElementTree

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

LETTER = {"title": 10.5, "name": 6.5, "note": 5.5, "time": 6.5, "busy": 5.5}  # pixels on average; of others 6.6
BODIES = """digraph { cost_unit=us; resources="c:4 x:4"; a [cost=2, accesses="w0 w1"]
  until [kind=loop, condition=0, most=192]; first [cost=5, body_of=until, accesses="rw1"]
  second [cost=5, body_of=until, accesses="r1 w0"]; aside [cost=5, body_of=until]
  pick [kind=branch, condition=0]; yes [cost=90, body_of=pick, accesses="rw1"]; no [cost=90, else_of=pick, accesses="rw1"]
  outer [kind=loop, most=3]; inner [kind=loop, most=4, body_of=outer]; deep [cost=9, body_of=inner, accesses="rw1"] }"""


def bare(one):
    return one.tag.rpartition("}")[2]


class Picture:
    """Bars by name: x, y, width and height, their classes, and the text that stands in them."""

    def __init__(self, graph, *options):
        self.text = braid("plan", "-", "--svg", "-", *options, text=graph).out
        root = ElementTree.fromstring(self.text)
        self.size = [float(one) for one in root.get("viewBox").split()[2:]]
        self.bars, self.inside, self.texts, last = {}, {}, [], None
        for one in root.iter():
            title = one.find("{*}title")
            if bare(one) == "rect" and one.get("class", "").startswith("node") and title is not None:
                last = title.text.rpartition(": ")[0]
                self.bars[last] = [float(one.get(key)) for key in ("x", "y", "width", "height")]
                self.bars[last].append(one.get("class").split())
            elif bare(one) == "text":
                self.texts.append(one)
                if one.get("class") in ("name", "note"):
                    self.inside[last] = one
        self.check()

    def boxes(self):
        for text in self.texts:
            parts = [(text.get("class"), float(text.get("x")), float(text.get("y")), text.text or "")]
            small = 0
            for part in text:
                if part.get("dy"):
                    parts.append(("lane", float(part.get("x")), float(text.get("y")) + float(part.get("dy")), part.text))
                else:
                    small += len(part.text)
                    parts[0] = parts[0][:3] + (parts[0][3] + part.text + (part.tail or ""),)
            for name, x, y, shown in parts:
                name, _, where = name.partition(" ")
                width = LETTER.get(name, 6.6) * len(shown) - 1.1 * small
                left = width if name == "lane" or where == "last" or text.get("text-anchor") == "end" else 0
                left = width / 2 if name == "note" or (name == "time" and not where) else left
                yield x - left, y - 9, x - left + width, y + 2, shown

    def check(self):
        boxes = sorted(self.boxes())
        for i, (left, top, right, bottom, shown) in enumerate(boxes):
            assert left >= 0 and right <= self.size[0] and top >= 0 and bottom <= self.size[1], shown
            for other in boxes[i + 1:]:
                assert other[0] >= right or other[1] >= bottom or other[3] <= top, (shown, other[4])
        for bar, text in self.inside.items():
            x, y, width, height = self.bars[bar][:4]
            shown = "".join(text.itertext())
            assert len(shown) * 5.5 <= width and y + 8 <= float(text.get("y")) <= y + height, (bar, shown)

    def label(self, bar):
        return "".join(self.inside[bar].itertext()) if bar in self.inside else None


def bodies_leave_the_names_of_their_bars():
    picture = Picture(BODIES, "--lanes", "2")
    for bar, *names in (("until", "first", "second", "aside"), ("pick", "yes", "no"), ("outer", "inner"), ("inner", "deep")):
        x, y, width, height = picture.bars[bar][:4]
        assert picture.label(bar).startswith(bar), bar
        for name in names:
            inner = picture.bars[name]
            assert "inside" in inner[4] and x <= inner[0] and inner[0] + inner[2] <= x + width + 0.02, name
            assert float(picture.inside[bar].get("y")) < inner[1] and inner[1] + inner[3] < y + height, name
    yes, no = picture.bars["yes"], picture.bars["no"]
    arms = {text.text: float(text.get("y")) for text in picture.texts if text.text in ("if", "else")}
    assert arms["if"] < yes[1] < yes[1] + yes[3] < arms["else"] < no[1], arms


def marks(picture):
    return [path.count("v") for path in re.findall(r'class="iteration" d="([^"]*)"', picture.text)]


def loops_show_their_iterations():
    picture = Picture(BODIES, "--lanes", "2")
    assert picture.label("until") == "untilat most 192 times, 10 times assumed"
    assert marks(picture) == [9, 2, 3]
    dense = Picture(BODIES.replace("most=192", "most=1000, expected=1000"), "--lanes", "2")
    assert "at most 1000 times" in dense.label("until")
    assert marks(dense) == [2]


def branches_are_lighter_than_kernels():
    """Then they differ for those, too, who see fewer colours."""
    text = Picture(BODIES, "--lanes", "2").text
    light = {}
    for kind in ("", ".branch", ".loop"):
        fill = re.search(rf"\.node{re.escape(kind)}{{fill:#(\w+)", text).group(1)
        red, green, blue = (int(fill[i:i + 2], 16) / 255 for i in (0, 2, 4))
        light[kind] = 0.2126 * red ** 2.2 + 0.7152 * green ** 2.2 + 0.0722 * blue ** 2.2
    assert light[".branch"] > light[""] + 0.3 and light[".branch"] > light[".loop"] + 0.2, light


def narrow_bars_have_numbers_and_a_list_their_names():
    picture = Picture("digraph { cost_unit=us; a [cost=1]; b [cost=90]; c [cost=2]; a -> b -> c }")
    assert (picture.label("a"), picture.label("b"), picture.label("c")) == ("1", "b", "2")
    assert [text.text for text in picture.texts if text.text in ("1 a", "2 c")] == ["1 a", "2 c"]
    alike = Picture("digraph { cost_unit=us; a [cost=1]; b [cost=90]; c [cost=1, name=a]; a -> b -> c }")
    assert alike.label("a") == "1" and [text.text for text in alike.texts].count("1 a") == 1

    def chain(num):
        return Picture(f"digraph {{ node [cost=1]; {' -> '.join(f'n{i}' for i in range(num))} }}")

    assert chain(50).label("n49") == "50"  # the list has rows
    crowd = chain(80)
    assert crowd.bars["n7"][2] > 14 and crowd.inside == {}


def long_names_are_cut():
    name = "a_rather_long_name_" * 9
    picture = Picture(f'digraph {{ cost_unit=us; a [cost=10, name="{name}1"]; b [cost=1, name="{name}2"]; '
                      f'c [cost=60, name="{name}3"]; a -> b -> c }}')
    assert picture.label(name + "1") == "a_rather_long_name_a_rather\N{HORIZONTAL ELLIPSIS}"
    assert any(text.text == f"1 {name[:39]}\N{HORIZONTAL ELLIPSIS}" for text in picture.texts)
    unit = Picture('digraph { cost_unit="a_long_unit_of_work_done_by_all"; a [cost=10] }')
    assert sum(text.get("class").startswith("time") for text in unit.texts) == 3


def all_keys_and_lanes_have_room():
    kinds = ("copy", "fill", "host", "queue", "empty", "loop", "branch")
    nodes = ";".join(f"{kind} [kind={kind}, cost=9{', most=2' * (kind == 'loop')}{', condition=0' * (kind == 'branch')}]" for kind in kinds)
    nodes = nodes.replace("kind=loop, cost=9", "kind=loop").replace("kind=branch, cost=9", "kind=branch")
    Picture(f'digraph {{ resources="x:4"; w [accesses=w0]; {nodes}; l [body_of=loop]; b [body_of=branch] }}', "--lanes", "20")
    outputs = " ".join(f"r{i}:4" for i in range(20))
    left_out = ";".join(f'n{i} [accesses=w{i}, name="{"left_out_" * 5}{i}"]' for i in range(1, 20))
    Picture(f'digraph {{ resources="{outputs}"; outputs=0; n0 [accesses=w0]; {left_out} }}')
    places = 'digraph { cost_unit=us; resources="x:8@place2"; a [cost=10]; b [cost=9, accesses="w0", on=2] }'
    for lanes in ("4", "20"):
        wide = ";".join(f"n{i} [cost=9]" for i in range(int(lanes)))
        Picture(places.replace("; a", f"; {wide}; a"), "--places", "2", "--lanes", lanes)


if __name__ == "__main__":
    sys.exit(run([
        bodies_leave_the_names_of_their_bars,
        loops_show_their_iterations,
        branches_are_lighter_than_kernels,
        narrow_bars_have_numbers_and_a_list_their_names,
        long_names_are_cut,
        all_keys_and_lanes_have_room,
    ]))
