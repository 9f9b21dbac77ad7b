# SPDX-License-Identifier: Apache-2.0
"""braid kernel tells the accesses of kernels, what leaves them unproven, and why a file is no PTX."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 count;\n"
STEP = HEAD + """
.visible .entry step(.param .u64 from, .param .align 8 .b8 to[56], .param .u32 n)
{
    .reg .b64 %d<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %d0, [from];
    ld.param.u64 %d1, [to+8];
    ld.global.u32 %r0, [%d0];
    st.global.u32 [%d1], %r0;
    atom.global.add.u32 %r1, [count], 1;
    ret;
}
.entry lost(.param .u64 table)
{
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [table];
    ld.global.u64
        %d1,   [%d0+8]; // a comment
    st.global.u32 [%d1], 1;
    ret;
}
"""


def find(text, *options):
    result = braid("kernel", "-", "--json", "-", *options, text=text)
    assert result.status == 0 and not result.err, result.err
    return json.loads(result.out)


def accesses_are_told_by_parameter_and_offset():
    found = find(STEP)
    assert (found["kind"], found["version"], found["target"]) == ("kernels", "8.0", "sm_90")
    step, lost = found["kernels"]
    assert step["name"] == "step" and step["line"] == 6 and step["proven"] and step["not_proven"] is None
    assert [part["bytes"] for part in step["parameters"]] == [8, 56, 4]
    assert step["parameters"][0]["accesses"] == [{"offset": 0, "reads": True, "writes": False, "atomic": False,
                                                  "read_line": 12, "write_line": None}]
    assert step["parameters"][1]["accesses"] == [{"offset": 8, "reads": False, "writes": True, "atomic": False,
                                                  "read_line": None, "write_line": 13}]
    assert step["parameters"][2]["accesses"] == []
    assert step["reads_variables"] and step["writes_variables"]
    assert not lost["proven"] and lost["not_proven"] == {
        "line": 23, "instruction": "st.global.u32 [%d1], 1", "why": "an address is loaded from memory"}
    assert not lost["parameters"][0]["accesses"]


def the_text_says_the_same():
    lines = braid("kernel", "-", text=STEP).out.splitlines()
    for line in ["<stdin>: PTX 8.0 for sm_90, 2 kernels, 1 proven", "early start: yes",
                 "  parameter 0, 8 bytes: read (line 12)", "  parameter 1, 56 bytes: at 8 written (line 13)",
                 "  parameter 2, 4 bytes", "  variables of the module: read and written, atomically at least once",
                 "  not proven: <stdin>:23: 'st.global.u32 [%d1], 1': an address is loaded from memory",
                 "  inside an island: no: it has variables of its own on the device: 'count'"]:
        assert line in lines, (line, lines)


def facts_of_changes_are_those_of_the_library():
    found = find(STEP.replace("sm_90", "sm_60"))
    assert not found["early_start"] and found["early_start_reason"] == "it is for a device before sm_70"
    assert not found["prefetch"] and found["kernels"][1]["island_reason"] == "it is for a device before sm_70"
    found = find(STEP.replace("ret;", "griddepcontrol.wait;\nret;"))
    assert not found["early_start"] and "griddepcontrol" in found["early_start_reason"]
    found = find(STEP)
    assert found["early_start"] and found["prefetch"] and found["early_start_reason"] == ""
    assert found["kernels"][1]["island"]


def json_goes_beside_the_text():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        result = braid("kernel", "-", "--json", path, text=STEP)
        assert result.status == 0 and "1 proven" in result.out
        with open(path, encoding="utf-8") as file:
            assert len(json.load(file)["kernels"]) == 2


def files_that_are_no_ptx_are_told_from_each_other():
    for data, reason in [(b"", "<stdin> is empty"), (b"\0", "<stdin> is empty"), (b"\177ELF\2\1", "machine code"),
                         (b"\x50\xed\x55\xba\1\0\x10\0", "a fatbin"), (b"!<arch>\nx", "a library"),
                         (b"__CLANG_OFFLOAD_BUNDLE__\1\0", "AMD"), (b"a\0b", "no text"),
                         (b'#include <x>\n__global__ void f();', "'nvcc -ptx' compiles it"),
                         (b"import triton\n", "no PTX, which begins with .version"),
                         (b".entry k() {}", "no PTX, which begins with .version"),
                         (HEAD.encode(), "has no kernel"), (b".version 8.0 .func f() { ret; }", "has no kernel")]:
        result = braid("kernel", "-", data=data)
        assert result.status == 2 and reason in result.err and not result.out, (data, result.err)
        assert result.err.count("\n") == 1, result.err
    assert braid("kernel", "-", data=STEP.encode() + b"\0").status == 0  # programs keep it so
    result = braid("kernel", "/nonexistent")
    assert result.status == 2 and "unable to open /nonexistent" in result.err


def broken_texts_are_told_with_the_line():
    for text, begin in [(STEP[:STEP.index("atom") + 2], "<stdin>:14: no kernel of it is proven: a statement of it has no"),
                        (STEP[:STEP.index("st.global")], "<stdin>:13: no kernel of it is proven: it ends inside"),
                        (STEP.replace("[%d1], %r0;", "[%d1], %r0"), ""),
                        (STEP.replace("atom.", "frob."), "<stdin>:14: no kernel of it is proven: it has the instruct")]:
        result = braid("kernel", "-", text=text)
        if not begin:  # two instructions became one, which nobody knows
            assert "not proven: <stdin>:13: 'st.global.u32 [%d1], %r0 atom" in result.out, result.out
        else:
            assert result.status == 2 and result.err.startswith(begin), result.err


def instructions_are_printed_in_one_short_line():
    operands = "[%d1], {" + ",\n".join(["%r0"] * 90) + "}"
    found = find(STEP.replace("st.global.u32 [%d1], 1", "st.global.u32 " + operands))
    instruction = found["kernels"][1]["not_proven"]["instruction"]
    assert instruction.startswith("st.global.u32 [%d1], {%r0, %r0,") and instruction.endswith("...")
    assert len(instruction) < 100


if __name__ == "__main__":
    sys.exit(run([
        accesses_are_told_by_parameter_and_offset,
        the_text_says_the_same,
        facts_of_changes_are_those_of_the_library,
        json_goes_beside_the_text,
        files_that_are_no_ptx_are_told_from_each_other,
        broken_texts_are_told_with_the_line,
        instructions_are_printed_in_one_short_line,
    ]))
