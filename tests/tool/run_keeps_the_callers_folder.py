# SPDX-License-Identifier: Apache-2.0
"""./run braid and ./run demo: relative paths are the caller's, wherever ./run is called from.

A copy of the script stands in a folder of its own, with stand-ins for what it builds with and for
the programs that it builds, which only tell where they run and with what."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from tap import run  # noqa: E402

RUN = os.path.join(sys.argv[2], "..", "..", "run")
TOOL = "build/tools/braid/braid"
DEMO = "build/examples/sparse_mpm/sparse_mpm"


def write_script(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)


def make_tree(top):
    """A tree whose programs say where they are; a folder of the caller; a PATH that builds."""
    tree, caller, tools = (os.path.join(top, name) for name in ("the tree", "a caller", "tools"))
    for program in (TOOL, DEMO):
        write_script(os.path.join(tree, program), 'pwd; printf "%s\\n" "$@"')
    for name in ("gcc", "g++", "meson", "ninja", "pkg-config", "dot", "clang", "python3"):
        write_script(os.path.join(tools, name), "exit 0")
    write_script(os.path.join(tools, "apt-get"), "exit 1")  # the machine stays as it is
    shutil.copy(RUN, tree)
    os.mkdir(caller)
    return tree, caller, tools


def call(where, *arguments, new=False):
    """Calls ./run from the caller's folder or from the tree's, with its programs still to be built
    if `new`: (lines of its output, stderr)."""
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        tree, caller, tools = make_tree(top)
        if new:
            shutil.move(os.path.join(tree, TOOL), top)
            write_script(os.path.join(tools, "ninja"), f"mv {top}/braid '{tree}/{TOOL}'")
        process = subprocess.run([os.path.join(tree, "run"), *arguments], check=False,
                                 cwd=caller if where == "caller" else tree,
                                 env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.returncode == 0, process.stderr.decode()
        lines = process.stdout.decode().splitlines()
        return [line.replace(top, "TOP") for line in lines], process.stderr.decode()


def the_tool_runs_where_it_is_called():
    arguments = ["plan", "my graph.dot", "--dot", "plan.dot"]
    assert call("caller", "braid", *arguments)[0] == ["TOP/a caller", *arguments]
    assert call("tree", "braid", *arguments)[0] == ["TOP/the tree", *arguments]


def the_demo_writes_into_the_tree_unless_told():
    assert call("caller", "demo")[0] == ["TOP/a caller", "--out", "TOP/the tree/build/demo"]
    assert call("tree", "demo")[0] == ["TOP/the tree", "--out", "build/demo"]
    told = call("caller", "demo", "--out", "here")[0]
    assert told[0] == "TOP/a caller" and told[-2:] == ["--out", "here"], told


def what_takes_long_is_told():
    words = call("tree", "demo")[1].splitlines()
    assert words[-2:] == ["run: building build",
                          "run: running build/examples/sparse_mpm/sparse_mpm --out build/demo"], words
    assert "run: building build" in call(
        "tree", "braid", new=True)[1].splitlines()
    assert call("tree", "braid")[1] == "run: configuring build\n"


if __name__ == "__main__":
    sys.exit(run([
        the_tool_runs_where_it_is_called,
        what_takes_long_is_told,
        the_demo_writes_into_the_tree_unless_told,
    ]))
