# SPDX-License-Identifier: Apache-2.0
"""braid record runs a program as it is, and writes down its frames.

usage: programs_are_recorded.py BRAID PROGRAM
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from braid_tool import braid  # noqa: E402
from tap import run  # noqa: E402

PROGRAM = sys.argv[2]
FOLDER = tempfile.mkdtemp()
FILE = os.path.join(FOLDER, "a.braidrec")


def record(*arguments):
    return braid("record", "--out", FILE, *arguments)


def frames_are_found_by_their_launches():
    done = record("--", PROGRAM, "9")
    assert done.status == 0, done
    alone = subprocess.run([PROGRAM, "9"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert alone == "sum 11\n" and done.out.startswith(alone), (alone, done.out)
    # A copy, three launches, a copy back and the wait.
    assert re.findall(r"frame \d: (\d+) operations", done.out) == ["6", "6"], done.out
    assert "6 launches of kernels, 0 of graphs, 4 copies and fills, 1 stream\n" in done.out, done.out


def the_number_of_frames_is_the_users():
    done = record("--from", "3", "--frames", "4", "--", PROGRAM, "9")
    assert re.findall(r"frame \d: (\d+) operations", done.out) == ["6"] * 4, done.out


def marks_are_frames():
    done = record("--marks", "--from", "0", "--frames", "1", "--", PROGRAM, "3", "mark")
    assert re.findall(r"frame \d: (\d+) operations", done.out) == ["6"], done.out


def without_frames_all_is_recorded():
    done = record("--", PROGRAM, "1")
    assert "0 frames, 10 operations" in done.out, done.out
    assert "no part of the launches repeats" in done.out, done.out


def failures_are_told():
    done = record("--", PROGRAM, "9", "fail")
    assert done.status == 1 and "ended with status 3" in done.err, done
    assert "2 frames" in done.out, done.out
    done = record("--", "/bin/true")
    assert done.status == 1 and "no record was written" in done.err, done
    done = record("--", os.path.join(FOLDER, "nothing"))
    assert done.status == 1 and "nothing" in done.err, done
    done = record()
    assert done.status == 2 and "which program?" in done.err, done


def digest(data):
    """As braid_record_get_digest makes it."""
    words = [len(data)] + [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data) - 7, 8)]
    words.append(int.from_bytes(data[len(data) // 8 * 8:], "little"))
    found = 0
    for word in words:
        found = (found ^ word) * 0x9E3779B97F4A7C15 % 2 ** 64
        found ^= found >> 32
    return found or 1


def change_the_end_of_memory():
    """The digest behind the frame, of the first block."""
    with open(FILE, "rb") as file:
        data = bytearray(file.read())
    begin = struct.unpack_from("<Q", data, 32 + 24 * 12)[0]
    struct.pack_into("<Q", data, begin + 8 * 4, 77)
    struct.pack_into("<Q", data, len(data) - 8, digest(data[:-8]))
    with open(FILE, "wb") as file:
        file.write(data)


def recorded_frames_run_again():
    done = record("--marks", "--memory", "begin:100", "--from", "0", "--", PROGRAM, "5", "mark")
    assert "memory of the last frame: 1 block with 4 bytes" in done.out, done.out
    done = braid("run", FILE, "--frames", "3")
    if "are taken in this process" in done.err:  # by chance
        return
    assert done.status == 0, done
    assert "frame 1 of 2: " in done.out and "1 block with 4 bytes, at the recorded addresses" in done.out, done.out
    assert len(re.findall(r"us, the median of 3 frames.*; all memory ends as in the program", done.out)) == 2, done.out
    change_the_end_of_memory()
    done = braid("run", FILE)
    assert done.status == 1 and done.out.count("    4 bytes at 0x") == 2, done
    assert done.out.count("; 1 block differs:") == 2, done.out


def recorded_loops_run_again():
    """The third frame begins with 2, and adds 2 in each of 3 iterations. Its setter has a text."""
    done = record("--marks", "--memory", "begin:100", "--from", "0", "--frames", "3", "--", PROGRAM, "4", "loop")
    assert done.status == 0 and "sum 11\n" in done.out and "3 blocks with 16 bytes" in done.out, done
    for mode in ("graph", "streams"):
        done = braid("run", FILE, "--frames", "3", "--mode", mode)
        if "are taken in this process" in done.err:  # by chance
            continue
        assert done.status == 0, done
        assert len(re.findall(r"us, the median of 3 frames.*; all memory ends as in the program", done.out)) == 2, done.out


def frames_without_an_end_are_not_compared():
    record("--marks", "--memory", "begin:100", "--from", "0", "--", PROGRAM, "2", "mark")
    done = braid("run", FILE, "--frames", "3")
    if "are taken in this process" in done.err:  # by chance
        return
    assert done.status == 0 and done.out.count("; nothing is compared: ") == 2, done


def records_without_memory_do_not_run():
    done = record("--marks", "--memory", "begin:3", "--from", "0", "--", PROGRAM, "5", "mark")
    assert "the program has 4 bytes of memory, and --memory allows 3" in done.err, done.err
    done = braid("run", FILE)
    assert done.status == 2 and "record it with --memory begin:N" in done.err, done
    done = braid("run", FILE, "--json", "-")
    assert done.status == 2 and "takes only --frames, --lanes, --device and --mode" in done.err, done
    done = record("--memory", "begin:3", "--", PROGRAM, "5")
    assert done.status == 2 and "--memory begin:N needs --marks" in done.err, done


def memory_is_kept_at_both_moments():
    done = record("--marks", "--memory", "begin:100", "--memory", "end:2", "--from", "0", "--", PROGRAM, "5", "mark")
    assert "memory of the last frame: 1 block with 4 bytes" in done.out, done.out
    done = braid("run", FILE, "--frames", "3")
    if "are taken in this process" not in done.err:  # by chance
        assert done.status == 0 and "1 block with 4 bytes" in done.out and "all memory ends as in the program" in done.out, done
    for wrong in ("3", "begin", "middle:3"):
        done = record("--memory", wrong, "--", PROGRAM, "5")
        assert done.status == 2 and f"--memory takes begin:N or end:N, with N bytes, and not '{wrong}'" in done.err, done
    for when, wrong in (("end", ""), ("end", "x"), ("begin", "3x"), ("begin", "-1"), ("end", "0"), ("begin", 20 * "9")):
        done = record("--marks", "--memory", f"{when}:{wrong}", "--", PROGRAM, "5")
        assert done.status == 2 and f"--memory {when}:N takes a whole number from 1 to " in done.err and f"not '{wrong}'" in done.err, done


def taken_addresses_are_tried_in_other_processes():
    record("--marks", "--memory", "begin:100", "--from", "0", "--", PROGRAM, "5", "mark")
    taken = os.path.join(FOLDER, "taken")
    os.environ["BRAID_STANDIN_TAKEN"] = taken
    # Each process wishes for three sizes of pieces, one after the other.
    for wishes, refused, left in ((3 * 30, True, 3 * 9), (3 * 3, False, 0), (1, False, 0)):
        with open(taken, "wb") as file:
            file.write(bytes(wishes))
        done = braid("run", FILE, "--frames", "3", "--device", "cuda:0")
        assert os.path.getsize(taken) == left, (left, os.path.getsize(taken))
        if refused:
            assert done.status == 2 and done.err.count("are taken in this process") == 1, done
            assert "; none of 21 processes had them free\n" in done.err, done
        elif "are taken in this process" not in done.err:  # by chance
            assert done.status == 0 and done.err == "" and done.out.count("the median of 3 frames") == 2, done
    del os.environ["BRAID_STANDIN_TAKEN"]


def pinned_memory_beside_the_devices_is_told():
    record("--marks", "--memory", "begin:100", "--from", "0", "--", PROGRAM, "5", "pinned")
    taken = os.path.join(FOLDER, "taken")
    os.environ["BRAID_STANDIN_TAKEN"] = taken
    with open(taken, "wb") as file:
        file.write(bytes(1))  # so that the driver gives a large piece
    done = braid("run", FILE, "--frames", "3")
    del os.environ["BRAID_STANDIN_TAKEN"]
    if "are taken in this process" not in done.err:  # by chance
        assert done.status == 0 and done.out.count("; 1 of 2 blocks end as in the program") == 2, done
        assert "memory: 2 blocks with 12 bytes" in done.out, done.out
        assert "pinned memory: 8 bytes are memory of the device here" in done.out, done.out
        assert "memory of the host: 1 block ends otherwise than in the program, whose host may have written there\n" in done.out, done.out


def a_record_that_cannot_be_written_changes_no_result():
    # Counters of coverage are too large files, too: they are not written.
    done = record("--", "/bin/sh", "-c", f"ulimit -f 1; GCOV_PREFIX=/dev/null exec {PROGRAM} 9")
    assert "sum 11\n" in done.out and f"'{FILE}': File too large" in done.err and "signal" not in done.err, done
    assert done.status != 0 and "the file should have" in done.err, done
    done = record("--", "/bin/sh", "-c", f"BRAID_RECORD_FILE=/dev/null/a exec {PROGRAM} 9")
    assert "sum 11\n" in done.out and "'/dev/null/a': Not a directory" in done.err, done


def a_recorder_is_no_driver():
    folder = os.path.join(FOLDER, "in-place-of-the-driver")
    os.makedirs(folder, exist_ok=True)
    if not os.path.lexists(os.path.join(folder, "libcuda.so.1")):
        os.symlink(os.environ["BRAID_RECORDER"], os.path.join(folder, "libcuda.so.1"))
    before = os.environ["LD_LIBRARY_PATH"]
    os.environ["LD_LIBRARY_PATH"] = folder
    done = record("--", PROGRAM, "5")
    os.environ["LD_LIBRARY_PATH"] = before
    assert done.status != 0 and "is a recorder, and no CUDA driver" in done.err, done


def a_recorder_may_have_a_relative_path():
    before = os.environ["BRAID_RECORDER"]
    os.environ["BRAID_RECORDER"] = os.path.relpath(before)
    done = record("--", PROGRAM, "5")
    assert done.status == 0 and "2 frames" in done.out, done
    os.environ["BRAID_RECORDER"] = "no/recorder.so"
    done = record("--", PROGRAM, "5")
    os.environ["BRAID_RECORDER"] = before
    assert done.status == 1 and "there is no recorder 'no/recorder.so': No such file or directory\n" in done.err, done


def nothing_is_left_behind():
    assert not [name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("braid-record-")]


os.environ["TMPDIR"] = FOLDER
sys.exit(run([frames_are_found_by_their_launches, the_number_of_frames_is_the_users, marks_are_frames,
              without_frames_all_is_recorded, failures_are_told, recorded_frames_run_again, recorded_loops_run_again,
              frames_without_an_end_are_not_compared,
              records_without_memory_do_not_run, memory_is_kept_at_both_moments, taken_addresses_are_tried_in_other_processes,
              pinned_memory_beside_the_devices_is_told, a_record_that_cannot_be_written_changes_no_result, a_recorder_is_no_driver,
              a_recorder_may_have_a_relative_path, nothing_is_left_behind]))
