# SPDX-License-Identifier: Apache-2.0
"""A bad file or command line: one line with file, line and reason, and exit status 2."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

# text of the file, the line that is to blame, and what the reason must say
BAD_FILES = [
    ("digraph {\n a -> b;\n b -> \n}", 4, "syntax error near '}'"),
    ("hello", 1, "syntax error near 'hello'"),
    ("", 1, "no graph"),
    ("\n// nothing\n", 1, "no graph"),
    ("digraph {\n a -> b;\n", 2, "is a '}' missing?"),
    ("digraph {\n a -> \"b;\n}", 2, "quoted string"),
    ("graph {\n a -- b;\n}", 1, "'digraph'"),
    ("digraph { a -> b }\ndigraph { c -> d }", 2, "one graph"),
    ("digraph { a -> b }\n\ngarbage", 3, "one graph"),
    ("digraph {\n\n a [cost=x];\n}", 3, "node 'a' has cost 'x'"),
    ("digraph {\n a [cost=x]\n b\n}", 2, "node 'a' has cost 'x'"),
    ("digraph {\n a\n b [label=q\n cost=\"1.5us\"]\n c\n}", 4, "node 'b' has cost '1.5us'"),
    ("digraph {\n a [cost=-3];\n}", 2, "a number, 0 or more"),
    ("digraph {\n a [cost=1.2.3];\n}", 2, "syntax error"),
    ("digraph {\n a [cost=\"1e\"];\n}", 2, "a number, 0 or more"),
    ("digraph {\n a [cost=\".\"];\n}", 2, "a number, 0 or more"),
    ("digraph {\n a [cost=\"1e400\"];\n}", 2, "less than 2^64"),
    ("digraph {\n a [cost=99999999999999999999];\n}", 2, "less than 2^64"),
    ("digraph {\n a [cost=4611686018427387904];\n}", 2, "sum to 4611686018427387904 or more"),
    ("digraph {\n cost_unit=ms a [cost=4611686018426];\n b [cost=2]\n}", 3,
     "sum to 4611686018427 ms or more"),
    ("digraph {\n a [cost=4611686018427387903];\n b\n}", 1,
     "sum to 4611686018427387904 or more"),
    ("digraph { a }\n\n\"b", 3, "a quoted string that does not end"),
    ("digraph {\n a [label=<x\n]}", 2, "a <string> that does not end"),
    ("digraph {\n a /* x\n b -> c }", 2, "a comment that does not end"),
    ("digraph {\n a -> b // x\n b -> b # y\n}", 3, "from node 'b' to itself"),
    ("digraph {\n a;\n;\n}", 3, "syntax error near ';'"),
    ("digraph {\n a,\n {b}\n}", 3, "syntax error near '{'"),
    ("digraph {\n {a},\n b\n}", 2, "syntax error near ','"),
    ("digraph {\n a -> node\n}", 2, "syntax error near 'node'"),
    ("digraph {\n a -- b\n}", 2, "syntax error near '-'"),
    ("digraph {\n a [cost]\n}", 2, "syntax error near ']'"),
    ("digraph {\n node;\n}", 2, "syntax error near ';'"),
    ("digraph {\n subgraph x;\n}", 2, "syntax error near ';'"),
    ("digraph {\n a -> b = c\n}", 2, "syntax error near '='"),
    ("digraph {\n a:\n}", 3, "syntax error near '}'"),
    ("digraph {\n a [cost=\"1\" + 2]\n}", 2, "syntax error near '+'"),
    ("strict a {\n}", 1, "syntax error near 'a'"),
    ("digraph {\n}\n}", 3, "one graph"),
    ("digraph {\n a\n a [prelude_of=b];\n}", 3, "prelude_of 'b': there is no such node"),
    ("digraph {\n a [prelude_of=a];\n}", 2, "that is the node itself"),
    ("digraph {\n b; c\n a [prelude_of=b, epilogue_of=c];\n}", 3, "it has prelude_of as well"),
    ("digraph {\n b [prelude_of=c]; c\n a [prelude_of=b];\n}", 3, "itself a prelude"),
    ("digraph {\n c -> a; a [prelude_of=b];\n b -> c }", 1, "cycle"),
    ("digraph {\n a [lane_hint=x];\n}", 2, "a whole number"),
    ("digraph {\n a [launch=\"1,1\"];\n}", 2, "8,1,1x256,1,1"),
    ("digraph {\n a [inside=1025];\n}", 2, "up to 1024"),
    ("digraph {\n resources=\"x\"\n a [accesses=r1];\n}", 3, "there is no resource 1: those in 'resources' are numbered from 0 to 0"),
    ("digraph {\n a [accesses=r0];\n}", 2, "has no resources: its attribute 'resources' lists them"),
    ("digraph {\n resources=\"x y\"\n a [to=2];\n}", 3, "node 'a' has to '2': there is no resource 2"),
    ("digraph {\n resources=\"x y\"\n a [to=x];\n}", 3, "that is the number of a resource"),
    ("digraph {\n resources=\"x\"\n a [accesses=\"r0 q0\"];\n}", 3, "written as r0 w1"),
    ("digraph {\n resources=\"x:10 #0:5:6\" a\n}", 1, "resource 1, '#0:5:6'"),
    ("digraph {\n resources=\"x:0\" a\n}", 1, "NAME:BYTES"),
    ("digraph {\n resources=\"x:8*17\" a\n}", 1, "resource 0, 'x:8*17'"),
    ("digraph {\n resources=\"x:8*2@none\" a\n}", 1, "resource 0, 'x:8*2@none'"),
    ("digraph {\n resources=\"x:8*2 ^0:2\" a\n}", 1, "resource 1, '^0:2'"),
    ("digraph {\n resources=\"x:8*2 #0:0:4\" a\n}", 1, "resource 1, '#0:0:4'"),
    ("digraph {\n resources=\"x:8:16\" a\n}", 1, "resource 0, 'x:8:16'"),
    ("digraph {\n resources=\"x@node\" a\n}", 1, "resource 0, 'x@node'"),
    ("digraph {\n parameters=\"p:4 q\" a\n}", 1, "parameter 1, 'q': a parameter is NAME:BYTES"),
    ("digraph {\n parameters=\"p:4097\" a\n}", 1, "of up to 4096 bytes"),
    ("digraph {\n a [args=\"8 0\"];\n}", 2, "arguments are numbers of bytes"),
    ("digraph {\n a [args=\"@x\"];\n}", 2, "arguments are numbers of bytes"),
    ("digraph {\n resources=x a [args=\"4 @1\"];\n}", 2, "there is no resource 1"),
    ("digraph {\n resources=x a [args=\"@99999999999\"];\n}", 2, "there is no resource 99999999999"),
    ("digraph {\n a [args=\"40000 40000\"];\n}", 2, "up to 65536 bytes in all"),
    ("digraph {\n a [grid_from=x];\n}", 2, "that is the number of a resource"),
    ("digraph {\n a [kind=copy, to=0];\n}", 2, "node 'a' has to '0': the graph has no resources"),
    ("digraph {\n a [kind=loop];\n}", 1, "loop 'a': nothing ends it: give .times"),
    ("digraph {\n a [kind=loop, most=2];\n}", 1, "loop 'a': it has no node"),
    ("digraph {\n a;\n b [body_of=c];\n}", 3, "node 'b' has body_of 'c': there is no such node"),
    ("digraph {\n a;\n b [body_of=a];\n}", 3, "node 'b' has body_of 'a': that node is no loop and no branch"),
    ("digraph {\n a [kind=loop, most=2];\n b [else_of=a];\n}", 3, "node 'b' has else_of 'a': that node is no branch"),
    ("digraph {\n a [kind=branch];\n b [body_of=a, else_of=a];\n}", 3,
     "node 'b' has else_of 'a': it has body_of as well"),
    ("digraph {\n a [kind=loop, body_of=a];\n}", 2, "node 'a' has body_of 'a': that node is inside of it"),
    ("digraph {\n a [prelude_of=c];\n b [kind=loop, most=3];\n c [body_of=b];\n}", 2,
     "node 'a' has prelude_of 'c': that node is not in the same body"),
    ("digraph {\n a [kind=loop, most=3];\n b [body_of=a, epilogue_of=c];\n c;\n d [body_of=a];\n}", 3,
     "node 'b' has epilogue_of 'c': that node is not in the same body"),
    ("digraph {\n resources=\"c:4\"\n a [kind=branch, condition=0];\n b [prelude_of=c, body_of=a];\n c [else_of=a];\n}", 4,
     "node 'b' has prelude_of 'c': that node is not in the same body"),
    ("digraph {\n a [kind=loop, most=0];\n}", 2, "node 'a' has most '0': that is a number of iterations, from 1"),
    ("digraph {\n a [kind=loop, condition=1];\n}", 2, "node 'a' has condition '1'"),
    ("digraph {\n a [kind=loop, tests_first=no];\n}", 2, "node 'a' has tests_first 'no': it is true or false"),
    ("digraph {\n a [kind=fill, value_bytes=3];\n}", 2, "it is 1, 2 or 4"),
    ("digraph {\n parameters=\"p:4\"\n a [uses=\"0:0:4=grib\"];\n}", 3, "uses are written as"),
    ("digraph {\n parameters=\"p:4\"\n a [uses=\"1:0:4=grid.x\"];\n}", 3, "uses are written as"),
    ("digraph {\n parameters=\"p:4\"\n a [uses=\"0:0:4=argument0\"];\n}", 1,
     "node 'a' has 0 arguments, there is no number 0"),
    ("digraph {\n a -> b;\n b -> b;\n}", 3, "from node 'b' to itself"),
    ("digraph {\n b [label=solve]\n a -> b;\n b -> b;\n}", 4, "from node 'solve' to itself"),
    ("digraph {\n a -> b\n b -> b\n\n # comment\n c\n}", 3, "from node 'b' to itself"),
    ("digraph {\n a -> b;\n b -> c;\n c -> a;\n d -> a;\n}", 4, "a -> b -> c -> a"),
    ("digraph {\n c -> a\n a -> b\n b -> c\n \"d e\" -> a\n}", 4, "c -> a -> b -> c"),
    ("digraph {\n a -> b\n b -> c -> a; x\n}", 3, "a -> b -> c -> a"),
    ("digraph {\n a -> b [implied=access];\n b -> a [implied=access]\n}", 3, "a -> b -> a"),
    ("digraph {\n b -> a [implied=bundle];\n a -> b\n}", 2, "a -> b -> a"),
    ("digraph {\n a;\n a -> a [implied=access]\n}", 3, "from node 'a' to itself"),
]


def each_kind_of_bad_file_is_told():
    for text, line, reason in BAD_FILES:
        result = braid("plan", "-", text=text)
        assert result.status == 2, f"{text!r}: status {result.status}"
        assert result.out == "", f"{text!r}: {result.out}"
        assert result.err.count("\n") == 1 and result.err.endswith("\n"), f"{text!r}: {result.err}"
        assert result.err.startswith(f"<stdin>:{line}: "), f"{text!r}: {result.err}"
        assert reason in result.err, f"{text!r}: {result.err}"


def misspelt_attributes_are_told():
    for name, meant in (("costs", "cost"), ("cots", "cost"), ("csot", "cost"), ("otsc", None), ("Cost", "cost"), ("lanehint", "lane_hint"), ("labal", "label"),
                        ("xlabel", None), ("color", None), ("prelude_off", "prelude_of")):
        result = braid("plan", "-", text=f"digraph {{\n b\n a [{name}=4, cost=1]\n}}")
        told = f"<stdin>:3: node 'a' has '{name}', which Braid ignores: is '{meant}' meant?\n" if meant else ""
        assert result.status == 0 and result.err == told, result.err


def misspelt_attributes_of_the_graph_are_told():
    for name, meant in (("cost_units", "cost_unit"), ("unit", "cost_unit"), ("Cost_Unit", "cost_unit"), ("output", "outputs"),
                        ("size", None), ("cost", None)):
        for text in (f"digraph {{\n {name}=us\n a }}", f"digraph {{ cost_unit=us;\n graph [{name}=us] a }}"):
            result = braid("plan", "-", text=text)
            told = f"<stdin>:2: the graph has '{name}', which Braid ignores: is '{meant}' meant?\n" if meant else ""
            assert result.status == 0 and result.err == told, result.err
    assert braid("plan", "-", text="digraph { a [unit=us] subgraph s { unit=us b } }").err == ""


def the_line_names_the_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bad graph.dot")
        with open(path, "w", encoding="utf-8") as file:
            file.write("digraph {\n a -> ;\n}\n")
        for command in ("plan", "run"):
            result = braid(command, path)
            assert result.status == 2 and result.err.startswith(f"{path}:2: "), result.err


def binary_files_are_refused():
    result = braid("plan", "-", data=b"\x7fELF\x02\x01\n\0\0")
    assert result.status == 2 and result.err.startswith("<stdin>:2: "), result.err


def files_that_cannot_be_read_are_told():
    for path, reason in (("/nonexistent/x.dot", "No such file"), ("/", "Is a directory")):
        result = braid("plan", path)
        assert result.status == 2 and path in result.err and reason in result.err, result.err
        assert result.err.count("\n") == 1


def files_without_an_end_are_left():
    result = braid("plan", "/dev/zero")
    assert result.status == 2 and result.err.startswith("/dev/zero:1: a NUL byte"), result.err
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "long")
        with open(path, "wb") as file:
            file.write(b"{ ")
            file.truncate(1 << 32)
        for arguments in (["plan", path], ["plan", "-", "--places", path], ["run", "-", "--tuned", path],
                          ["diff", path, path]):
            result = braid(*arguments, text="digraph { a }")
            assert result.status == 2 and result.err.count("\n") == 1, result.err
            assert path in result.err and "more than 1024 MiB" in result.err, result.err


def names_with_line_breaks_stay_on_the_line():
    for text, reason in [
            ('digraph { "a\n\tb\x1b[2J" [cost=x] }', "node 'a  b [2J' has cost 'x'"),
            ('digraph { "a\x9b2Jb" [cost=x] }', "node 'a  2Jb' has cost 'x'"),
            ('digraph { "a\r\nb" -> c -> "a\r\nb" }', "cycle: a  b -> c -> a  b"),
            ('digraph { a [cost="1\n2"] }', "cost '1 2'")]:
        result = braid("plan", "-", text=text)
        assert result.status == 2 and reason in result.err, result.err
        assert result.err[:-1].isprintable(), repr(result.err)
    for arguments in (["no\nfile"], ["a", "b\nc"], ["-", "--lanes", "1\n2"]):
        result = braid("plan", *arguments, text="digraph { a }")
        assert result.status == 2 and result.err[:-1].isprintable(), repr(result.err)


def the_drawing_of_a_plan_is_no_graph():
    graph = "digraph { a [cost=260001]; b [cost=130001]; c [cost=5]; a -> b; a -> c }"
    for lanes in ("1", "2"):
        drawing = braid("plan", "-", "--lanes", lanes, "--dot", "-", text=graph).out
        for command in ("plan", "run"):
            result = braid(command, "-", text=drawing)
            assert result.status == 2 and result.out == "", result.out
            assert result.err == ("<stdin>:1: the drawing of a plan: its arrows are not the "
                                  "graph's, so give the graph that was planned\n"), result.err
    assert braid("plan", "-", text='digraph "schedule" { a -> b }').status == 0


def a_long_cycle_is_cut():
    text = "digraph {\n" + "".join(f"n{i} -> n{(i + 1) % 500};\n" for i in range(500)) + "}"
    result = braid("plan", "-", text=text)
    assert result.status == 2 and result.err.startswith("<stdin>:501: "), result.err
    assert "(484 more)" in result.err and len(result.err) < 400, result.err


def bad_command_lines_are_told():
    for arguments, reason in [
            ([], "usage:"), (["frob"], "no command 'frob'"), (["plan"], "which file?"),
            (["plan", "a", "b"], "one file"),
            (["plan", "--frob", "a"], "no option '--frob'"),
            (["plan", "--lanes"], "'--lanes' needs a value"), (["run", "--profile", "-xh"], "option '-x'"),
            (["devices", "--help=me"], "'--help=me' takes no value"),
            (["plan", "--fr\nob=3"], "no option '--fr ob=3'"),
            (["plan", "-", "--lanes", "0"], "--lanes takes"),
            (["plan", "-", "--lanes", "4x"], "--lanes takes"),
            (["plan", "-", "--sync-cost", "-1"], "--sync-cost takes"),
            (["plan", "-", "--sync-cost", "nan"], "--sync-cost takes"),
            (["plan", "-", "--dot", "-", "--json", "-"], "only one"),
            (["plan", "-", "--svg", "-", "--trace", "-"], "only one"),
            (["run", "-", "--svg", "-", "--json", "-"], "only one"),
            (["report", "-"], "where to?"), (["report", "--out", "-"], "which file?"),
            (["run", "-", "--device", "tpu"], "--device takes"),
            (["run", "-", "--frames", "0"], "--frames takes"),
            (["run", "-", "--mode", "x"], "--mode takes"),
            (["run", "-", "--time-scale", "0"], "--time-scale takes"),
            (["run", "-", "--time-scale", "nan"], "--time-scale takes"),
            (["run", "-", "--time-scale", "1e13"], "greater than 0, up to 1e12"),
            (["simulate", "-", "--faster", "a=1e13"], "greater than 0, up to 1e12"),
            (["diff", "a", "b", "--limit", "1e7"], "from 0 to 1e6"),
            (["kernel"], "which file? braid kernel FILE.ptx"), (["kernel", "a", "b"], "one file"),
            (["devices", "x"], "takes no 'x'")]:
        result = braid(*arguments, text="digraph { a -> b }")
        assert result.status == 2, f"{arguments}: status {result.status} {result.err}"
        assert reason in result.err and result.out == "", f"{arguments}: {result.err}"
        assert result.err.count("\n") == 1 or not arguments, f"{arguments}: {result.err}"


def outputs_that_cannot_be_written_are_told():
    for option in ("--dot", "--svg", "--trace", "--json"):
        result = braid("plan", "-", option, "/dev/full", text="digraph { a -> b }")
        assert result.status == 1 and "/dev/full" in result.err, result.err
        result = braid("plan", "-", option, "/nonexistent/x", text="digraph { a -> b }")
        assert result.status == 1 and "/nonexistent/x" in result.err, result.err


if __name__ == "__main__":
    sys.exit(run([
        each_kind_of_bad_file_is_told,
        misspelt_attributes_are_told,
        misspelt_attributes_of_the_graph_are_told,
        the_line_names_the_file,
        binary_files_are_refused,
        files_that_cannot_be_read_are_told,
        files_without_an_end_are_left,
        names_with_line_breaks_stay_on_the_line,
        the_drawing_of_a_plan_is_no_graph,
        a_long_cycle_is_cut,
        bad_command_lines_are_told,
        outputs_that_cannot_be_written_are_told,
    ]))
