# SPDX-License-Identifier: Apache-2.0
"""A record of Quadrants, whose texts Quadrants made (quadrants/README.md): all kernels are proven, and what is wrong is noticed."""
import lzma
import os
import re
import struct
import subprocess
import sys

import pytest

import braid
import braid.quadrants
import braid.record

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quadrants")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("record") / "whole.braidrec"
    with lzma.open(os.path.join(FOLDER, "record.braidrec.xz")) as file:
        path.write_bytes(file.read())
    try:
        text = braid.quadrants.read(path).text
    except braid.UnsupportedError as error:
        pytest.skip(str(error))
    if "was built without" in text:
        pytest.skip("this Braid was built without the add-on 'accesses'")
    return path.read_bytes()


@pytest.fixture
def load(tmp_path):
    def write(data):
        path = tmp_path / "changed.braidrec"
        data = bytes(data[:-8])
        path.write_bytes(data + struct.pack("<Q", braid.record.digest(data)))
        return braid.record.Record(path)
    return write



def kernels_of(record, frame):
    return [record.operations[i].kernel for i in record.frames[frame]]


def bytes_of(record, address):
    """What the record has of the allocation at an address."""
    contents = record.contents
    kept = [(contents.allocations[one.allocation], one) for one in (contents.memory[i] for i in range(contents.num_memory))]
    row, memory = next((row, one) for row, one in kept if row.address <= address < row.address + row.bytes)
    return row, braid.quadrants.ffi.buffer(memory.bytes, memory.num_bytes)[:]


def test_all_kernels_are_proven(whole, load):
    record = load(whole)
    for frame in range(2):
        info = braid.quadrants.read(record, frame).imported.info
        assert (info.num_kernels, info.num_conditionals, info.num_unproven, info.num_races) == (24, 1, 0, 0)
        assert (info.longest_captured, info.longest_kept) == (35, 15)
        # one of these holds the condition behind the kernel that counts down, which its own text tells
        assert info.num_kept == 230


def test_the_last_frame_is_read_from_a_path(whole, tmp_path):
    path = tmp_path / "a.braidrec"
    path.write_bytes(whole)
    found = braid.quadrants.read(path)
    assert found.runtime[0] + found.runtime[1] == found.temporaries[0]
    assert "longest path: 35 nodes captured, 15 kept" in found.text
    with pytest.raises(ValueError, match="there is no frame 7"):
        braid.quadrants.read(path, 7)


def test_tasks_of_sparse_trees_keep_their_order(whole, load):
    """All tasks that touch lists or allocators stand one behind another, and so does no other kernel."""
    record = load(whole)
    found = braid.quadrants.read(record)
    assert found.closed
    with_lists = sum(name.startswith(("fill", "grow", "total")) for name in kernels_of(record, 1))
    assert with_lists == 11
    assert found.imported.info.longest_kept >= with_lists


def test_a_record_without_a_runtime_is_refused(whole, load):
    record = load(whole)
    found = braid.quadrants.read(record)
    row, data = bytes_of(record, found.runtime[0])
    begin = found.runtime[0] - row.address
    at = whole.index(data)
    cell = data.index(struct.pack("<Q", found.temporaries[0]), begin)
    changed = bytearray(whole)
    struct.pack_into("<Q", changed, at + cell, found.temporaries[0] + 8)
    with pytest.raises(ValueError, match="the record has no runtime of Quadrants"):
        braid.quadrants.read(load(changed))


def test_extents_that_are_too_short_prove_nothing(whole, load):
    record = load(whole)
    found = braid.quadrants.read(record)
    row, data = bytes_of(record, found.runtime[0])
    begin = found.runtime[0] - row.address
    cell = data.index(struct.pack("<Q", found.temporaries[0]), begin) - begin
    parts = [braid.Part(found.runtime[0], cell), braid.Part(*found.temporaries)]
    parts += [braid.Part(*one, is_closed=True) for one in found.closed]
    imported = braid.Imported.of_record(record, 1, buffers=parts, is_unwatched=True)
    assert imported.info.num_unproven > 20
    assert "it loads a pointer from beyond the memory that an address leads to" in imported.text


def test_without_closed_memory_sparse_trees_prove_nothing(whole, load):
    imported = braid.Imported.of_record(load(whole), 1, is_unwatched=True)
    assert imported.info.num_unproven > 20
    assert "it calls a function by its address" in imported.text


def test_confined_kernels_are_proven(whole, load):
    record = load(whole)
    alone = braid.Imported.of_record(record, 1, is_unwatched=True)
    names = [one.kernel for one in record.operations if one.kernel]
    found = braid.Imported.of_record(record, 1, is_unwatched=True, confined=names)
    assert alone.info.num_stated == 0 and found.info.num_stated > 0
    assert found.info.num_unproven < alone.info.num_unproven
    with pytest.raises(ValueError, match="confined is a list of strings"):
        braid.Imported.of_record(record, 1, confined=names[0])


def test_elementwise_kernels_of_pytorch_are_told_by_their_names():
    fill = "29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
    names = ["_ZN2at6native" + fill, "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastI",
             "_ZN2at6native37_GLOBAL__N__1e5ad4b3_7_Loss_cu_5f3e2a2b26unrolled_elementwise_kernelIN"]
    assert all(braid.quadrants._ELEMENTWISE.match(name) for name in names)
    others = ["_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEE", "_ZN3own6native" + fill, "scale"]
    assert not any(braid.quadrants._ELEMENTWISE.match(name) for name in others)


def test_a_changed_argument_is_noticed(whole, load):
    """scale(first, scaled) of the last frame gets the array that `total` writes in place of `scaled`."""
    record = load(whole)
    arrays = before_arrays(record)
    before = braid.quadrants.read(record)
    contents = record.contents
    copies = [contents.operations[i].work for i in record.frames[1] if record.operations[i].kind == "copy"]
    words = [braid.quadrants._words(copy.bytes, copy.num_bytes) for copy in copies if copy.bytes]
    scale, total = words[0], words[-1]
    sent = struct.pack(f"<{len(scale)}Q", *scale)
    pointers = [word for word in scale if word in arrays]
    out = [word for word in total if word in arrays][0]
    changed = bytearray(whole)
    struct.pack_into("<Q", changed, whole.rindex(sent) + sent.index(struct.pack("<Q", pointers[1])), out)
    after = braid.quadrants.read(load(changed))
    assert any(re.search(f"the pointer at [0-9]+ is 0x{out:x}, and was 0x{pointers[1]:x}", one) for one in after.changes)
    assert not any(f"is 0x{out:x}" in one for one in before.changes)
    assert after.imported.info.num_unproven == 0
    assert after.imported.info.num_kept != before.imported.info.num_kept


def before_arrays(record):
    contents = record.contents
    return {contents.allocations[i].address for i in range(contents.num_allocations)}


def test_a_kernel_that_writes_a_pointer_makes_its_readers_unproven(whole, load):
    """A kernel that writes the bound of a loop now writes the place of the pointer to all temporaries."""
    name = kernels_of(load(whole), 1)[1].encode()
    begin = whole.index(b".entry " + name)
    end = whole.index(b"\n", whole.index(b"-- End function", begin))
    text = whole[begin:end]
    runtime, place = re.search(rb"ld\.global\.b64 \t%rd[0-9]+, \[(%rd[0-9]+)\+([0-9]+)\];\n\tst\.b32", text).groups()
    changed = re.sub(rb"st\.b32 \t\[%rd[0-9]+\], ", rb"st.global.b32 [" + runtime + rb"+" + place + rb"], ", text)
    changed = changed[:changed.rindex(b"//")].rstrip().ljust(len(text))  # in place of a comment
    assert len(changed) == len(text) and changed != text
    found = braid.quadrants.read(load(whole[:begin] + changed + whole[end:]))
    assert found.imported.info.num_unproven >= 10
    assert "it loads a pointer from memory that node" in found.text


def test_the_package_runs_on_the_stand_in(tmp_path):
    """With BRAID_TEST_QUADRANTS, a Python that has the package `quadrants`; BRAID_TEST_BUILD is the folder of the build."""
    python, build = os.environ.get("BRAID_TEST_QUADRANTS"), os.environ.get("BRAID_TEST_BUILD")
    if not python or not build:
        pytest.skip("BRAID_TEST_QUADRANTS names no Python that has the package quadrants")
    path = tmp_path / "now.braidrec"
    subprocess.run([os.path.join(FOLDER, "remake.sh"), build, python, path], check=True, stdout=sys.stderr)
    info = braid.quadrants.read(path).imported.info
    assert (info.num_kernels, info.num_unproven) == (24, 0)


def test_a_record_of_an_older_format_has_no_first_values(whole, load):
    """The record in the folder has format 3. Its loop is told, and cannot run again."""
    record = load(whole)
    contents = record.contents
    assert struct.unpack_from("<Q", whole, 8) == (3,)
    loops = [contents.nodes[i].work for i in range(contents.num_nodes) if contents.nodes[i].work.num_bodies]
    assert loops and not any(loop.has_first_value or loop.first_value for loop in loops)


def test_a_text_with_a_longer_name_hides_no_condition(whole, load, monkeypatch):
    """Braid brings the condition's text, whatever other texts have kernels whose names begin so."""
    texts = [".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry _qd_graph_do_while_cond_2()\n{\nret;\n}\n"]
    of_record = braid.quadrants.Imported.of_record
    monkeypatch.setattr(braid.quadrants.Imported, "of_record", lambda *given, **named: of_record(*given, texts=texts, **named))
    info = braid.quadrants.read(load(whole)).imported.info
    assert (info.num_conditionals, info.num_unproven) == (1, 0)


def test_recorded_loops_run_in_the_process_of_the_package(tmp_path):
    """As above, and that Python has cffi, too."""
    python, build = os.environ.get("BRAID_TEST_QUADRANTS"), os.environ.get("BRAID_TEST_BUILD")
    if not python or not build:
        pytest.skip("BRAID_TEST_QUADRANTS names no Python that has the package quadrants")
    command = [os.path.join(FOLDER, "remake.sh"), build, python, tmp_path / "again.braidrec", "again.py"]
    done = subprocess.run([*command, "--marks", "--from", "0", "--frames", "5"], stdout=subprocess.PIPE, text=True, check=True)
    assert "all iterations are those of the counter\n" in done.stdout
