# SPDX-License-Identifier: Apache-2.0
"""A few bytes of DOT can stand for millions of edges: the tool counts before it makes them."""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

# With this option the address sanitizer reads a whole string whenever the C library looks at its beginning.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "").replace("strict_string_checks=1", "strict_string_checks=0")


def names(letter, num):
    return ";".join(f"{letter}{i}" for i in range(num))


def words(text, num):
    return " ".join(text.replace("#", str(i)) for i in range(num))


def cross(num):
    return f"digraph {{\n{{{names('a', num)}}} ->\n{{{names('b', num)}}}\n}}"


def each(attributes, num, graph=""):
    return f"digraph {{ {graph} node [{attributes}]; {names('a', num)} }}"


# Each range ends where the last one begins, so that each is of as many parts as there are ranges.
STAIRS = " ".join(f"#0:{i}:4001" for i in range(4001))
NEST = ";".join(f"l{i} [kind=loop, most=2, body_of=l{i - 1}]" for i in range(1, 4001))

# The kind, a text that is over its limit, the line where counting stops, the count and the limit.
TOO_LARGE = [
    ("edges", cross(5000), 4, 25000000, 4000000),
    ("edges", f'digraph {{ resources=x; node [accesses=a0]; {names("a", 3000)}; node [accesses=r0]; {names("b", 3000)} }}',
     1, 4002000, 4000000),
    ("nodes", "digraph {" + names("a", 1000001) + "}", 1, 1000001, 1000000),
    ("subgraphs", "digraph {" + "{}" * 100001 + "}", 1, 100001, 100000),
    ("attributes", each(",".join(f"x{i}=1" for i in range(257)), 1), 1, 257, 256),
    ("accesses", each(f'accesses="{words("r#", 20000)}"', 801, f'resources="{words("r", 20000)}"'), 1,
     16020000, 16000000),
    ("accesses", f'digraph {{ resources="x:9000 {STAIRS}"; a [accesses="{words("r#", 4002)}"] }}', 1, 16000003, 16000000),
    ("accesses", f'digraph {{ resources="{words("r", 4000)}"; l0 [kind=loop, most=2]; {NEST}; '
     f'a [body_of=l4000, accesses="{words("r#", 4000)}"] }}', 1, 16003999, 16000000),
    ("arguments", each("inside=1024", 20000), 1, 16001024, 16000000),
    ("arguments", each(f'args="{words("8", 1000)}"', 16001), 1, 16001000, 16000000),
    ("arguments", each(f'uses="{words("0:0:4=grid.x", 10000)}"', 1601, 'parameters="p:4"'), 1, 16010000,
     16000000),
    ("blocks", each(f'args="{words("@#", 300)}"', 1000, f'resources="{words("t:1@node", 300)}"'), 1, 300000,
     100000),
    ("text", each(f'label="{"x" * 100000}"', 2685), 1, 268500000, 268435456),
]


def each_kind_is_refused():
    for kind, text, line, count, limit in TOO_LARGE:
        result = braid("plan", "-", text=text)
        assert result.status == 2 and result.out == "", f"{kind}: {result.out}"
        assert result.err.startswith(f"<stdin>:{line}: the graph has at least {count} "), result.err
        assert f" more than the limit of {limit}: '--most {kind}=N' " in result.err, result.err
        assert result.err.count("\n") == 1, result.err


def every_command_has_limits():
    for command in (["plan"], ["run"], ["tune"], ["report", "--out", "-"], ["simulate"],
                    ["simulate", "--ranks", "file"]):
        result = braid(*command, "-", text=cross(5000))
        assert result.status == 2 and "at least 25000000 edges" in result.err, result.err
        for most, status in (("99", 2), ("100", 0)):
            if command == ["tune"] and status == 0:
                continue
            result = braid(*command, "-", "--most", f"edges={most}", text=cross(10))
            assert result.status == status, f"{command}: {result.err}"


# What has a node or an edge more, and how many.
COUNTED = [
    ("a -> b -> c; a -> c", 3, 3),
    ("a, b -> c, d", 4, 4),
    ("a:p -> b:p:n; a:n", 2, 1),
    ("{a b; a} -> {b c d}", 4, 6),
    ("a -> {b -> {c d}} -> e", 5, 8),
    ("subgraph x {a} subgraph x {b c} -> d", 4, 3),
    ("subgraph x {a} -> subgraph x {b}", 2, 4),
    ("{subgraph x {a}} subgraph x {b c} -> d", 4, 2),
    ('"a" + "b" -> ab; "a\\"b" -> "c;d -> e"', 3, 2),
    ("a -> <<b>x; y</b>> // -> c\n", 2, 1),
    ("node [label=\"x -> y\"]; edge [w=1]; x = y; rank=\"same\"\n a\n-> b [w=2;v=3][u=4]\n c", 3, 1),
    ("-1.5 -> .5 -> 7 Node [w=1] Edge\n[w=1]\n nodes", 4, 2),
]


def counts_are_exact():
    for body, num_nodes, num_edges in COUNTED:
        for kind, num in (("nodes", num_nodes), ("edges", num_edges)):
            for most in (num, num - 1):
                if most == 0:
                    continue
                result = braid("plan", "-", "--most", f"{kind}={most}", text=f"digraph {{ {body} }}")
                assert ("--most" in result.err) == (most < num), f"{body}: {kind}={most}: {result.err}"


# Resources, nodes, and the edges between groups of nodes that accumulate and readers.
ACCUMULATED = [
    ("x", "a [accesses=a0]; b [accesses=a0]; c [accesses=r0]; d [accesses=r0]; e [accesses=r0]", 6),
    ("x", "a [accesses=r0]; b [accesses=r0]; c [accesses=r0]; d [accesses=a0]; e [accesses=a0]", 6),
    ("x", "a [accesses=a0]; b [accesses=a0]; c [accesses=w0]; d [accesses=r0]; e [accesses=r0]", 0),
    ("x", "a [accesses=a0]; b [accesses=r0]; c [accesses=a0]; d [accesses=r0]", 3),
    ("x y", "a [accesses=a0]; b [accesses=a0]; c [accesses=r1]; d [accesses=r1]", 0),
    ("x:8 #0:0:4 #0:4:4", "a [accesses=a1]; b [accesses=a2]; c [accesses=r0]; d [accesses=r2]", 3),
    ("x", "a [accesses=a0]; b [accesses=w0, prelude_of=a]; c [accesses=r0]; d [accesses=w0]", 1),
    ("x:4", "a [accesses=a0]; b [accesses=a0]; c [kind=loop, most=2, condition=0]; d [body_of=c, accesses=rw0]", 2),
]


def edges_that_accumulating_nodes_imply_count():
    for resources, nodes, num in ACCUMULATED:
        text = f'digraph {{ resources="{resources}"; a -> z; {nodes} }}'
        assert braid("plan", "-", "--most", f"edges={num + 1}", text=text).status == 0, nodes
        if num:
            result = braid("plan", "-", "--most", f"edges={num}", text=text)
            assert result.status == 2 and f"at least {num + 1} edges" in result.err, (nodes, result.err)


def accesses_count_in_each_part_and_body():
    text = """digraph { resources="x:8 #0:0:4"; l [kind=loop, most=2]; m [kind=loop, most=2, body_of=l]
      a [body_of=m, accesses="r0 w1"]; b [accesses=r0] }"""
    assert braid("plan", "-", "--most", "accesses=11", text=text).status == 0
    result = braid("plan", "-", "--most", "accesses=10", text=text)
    assert result.status == 2 and "at least 11 accesses" in result.err, result.err


def members_of_subgraphs_count_in_each():
    for body, num in (("{{a b}}", 4), ("{a} {{a b} b}", 5), ("{{{a} -> {b}}}", 8)):
        text = f"digraph {{ {body} }}"
        assert braid("plan", "-", "--most", f"members={num}", text=text).status == 0, body
        result = braid("plan", "-", "--most", f"members={num - 1}", text=text)
        assert result.status == 2 and f"at least {num} members of subgraphs" in result.err, result.err


# What the statements of a graph count as text.
TEXTS = [
    (f"{','.join(f'a{i}' for i in range(100))} [costs=1, labels=1, kinds=1]", 300),
    ("node [costs=1, labels=1]; " + names("a", 100), 200),
    (words("a -> b# [key=abcdefghij];", 100), 1000),
    (words("a -> b# [implied=frame];", 100), 500),
    ("edge [implied=abcdefghij]; " + words("a -> b#;", 100), 1000),
]


def statements_count_as_text():
    for body, num in TEXTS:
        text = f"digraph {{ {body} }}"
        assert braid("plan", "-", "--most", f"text={num}", text=text).status == 0, body
        result = braid("plan", "-", "--most", f"text={num - 1}", text=text)
        assert result.status == 2 and f"at least {num} bytes of attributes" in result.err, result.err


def the_last_of_several_settings_counts():
    repeated = ",".join(["cost=1"] * 1000)
    text = f"digraph {{ {','.join(f'a{i}' for i in range(100))} [{repeated}, cost=7] }}"
    result = braid("plan", "-", "--json", "-", "--most", "text=100", text=text)
    assert result.status == 0, result.err
    assert json.loads(result.out)["work"] == 700, result.out
    keys = ",".join(["key=a"] * 1000)
    text = f"digraph {{ a -> b [{keys}, key=b]; a -> b [key=b]; a -> b [key=a] }}"
    assert braid("plan", "-", "--most", "edges=3", "--most", "text=3", text=text).status == 0


# Each arrow would copy and sort the nodes of an end: together, for hours.
def arrows_to_nothing_are_read_at_once():
    arrows = "subgraph x{}->subgraph e{}->" * 200000
    text = f"digraph {{ subgraph x {{ {names('a', 100000)} }} {arrows} subgraph x{{}}; ] }}"
    result = braid("plan", "-", text=text)
    assert result.status == 2 and "']'" in result.err, result.err


# Each pointer would be looked for among all accesses: together, for hours.
def pointers_of_many_accesses_are_read_at_once():
    text = f'digraph {{ resources="x:8 y:8"; a [accesses="{"r0 " * 1000000}", pointers="{"0 " * 1000000}END"] }}'
    result = braid("plan", "-", text=text.replace("END", "1"))
    assert result.status == 2 and "numbers of resources that the node accesses" in result.err, result.err
    assert braid("plan", "-", text=text.replace("END", "")).status == 0


# Versions would be looked for as long.
def names_of_earlier_versions_are_found_at_once():
    text = f'digraph {{ resources="v:64*2 {"r " * 500000} {"^0:1 " * 500000}"; a [accesses=w0] }}'
    assert braid("plan", "-", text=text).status == 0


def transient_buffers_and_scratch_are_blocks():
    text = ('digraph { resources="t:8@none #0:0:4 s:8@node u:8@none"; a [args="@2 @2", accesses="w0 r1"];'
            'b [kind=fill, to=2, accesses=w1]; a -> b }')
    assert braid("plan", "-", "--most", "blocks=3", text=text).status == 0
    result = braid("plan", "-", "--most", "blocks=2", text=text)
    assert result.status == 2 and "at least 3 blocks" in result.err, result.err


def help_has_every_limit():
    text = braid("help", "files").out
    for kind, _, _, _, limit in TOO_LARGE:
        assert re.search(rf"^  {kind} +{limit}\b", text, re.MULTILINE), kind


def a_limit_can_be_raised():
    text = each(",".join(f"x{i}=1" for i in range(257)), 1)
    assert braid("plan", "-", "--most", "attributes=257", "--most", "nodes=1", text=text).status == 0


def bad_limits_are_told():
    for value, reason in (("edges", "KIND=N"), ("edges=", "from 1 to"), ("edges=0", "from 1 to"),
                          ("edge=5", "the kinds are nodes, edges"), ("=5", "KIND=N"),
                          ("nodes=4294967295", "from 1 to 4294967294")):
        result = braid("plan", "-", "--most", value, text="digraph { a }")
        assert result.status == 2 and reason in result.err, result.err
        assert "--most" in result.err and result.err.count("\n") == 1, result.err


if __name__ == "__main__":
    sys.exit(run([
        each_kind_is_refused,
        every_command_has_limits,
        counts_are_exact,
        edges_that_accumulating_nodes_imply_count,
        accesses_count_in_each_part_and_body,
        members_of_subgraphs_count_in_each,
        statements_count_as_text,
        the_last_of_several_settings_counts,
        arrows_to_nothing_are_read_at_once,
        pointers_of_many_accesses_are_read_at_once,
        names_of_earlier_versions_are_found_at_once,
        transient_buffers_and_scratch_are_blocks,
        help_has_every_limit,
        a_limit_can_be_raised,
        bad_limits_are_told,
    ]))
