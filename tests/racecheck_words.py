# SPDX-License-Identifier: Apache-2.0
"""Judges what racecheck says of islands: python3 tests/racecheck_words.py [--lane THREADS] LOG...

The lanes of an island that are in one block tell each other how far they are by words of its shared
memory, which one lane writes (st.release) and others read while it may (ld.acquire). racecheck knows
barriers only and so reports each such pair. All it may report is that: a read and a write of a word
that only the writer's lane writes. The words stand in a line of 128 bytes of their own, word g for
lane g (backends/gpu/gpu_island_walker.c), so the address tells. LOG is what

    compute-sanitizer --tool racecheck --racecheck-report hazard --print-limit 100000 PROGRAM

printed of kernels whose lanes have so many threads (a warp). Ends with 1 where it reports anything
else, or where no kernel was looked at.
"""
import re
import sys

LINE, WORD, WARP = 128, 4, 32
HAZARD = re.compile(r"(RAW|WAR|WAW) hazard detected at __shared__ (0x[0-9a-f]+) in block")
ACCESS = re.compile(r"(Read|Write) Thread \((\d+), *(\d+), *(\d+)\)")
SUMMARY = re.compile(r"RACECHECK SUMMARY: (\d+) hazard")


def read_hazards(lines):
    """(kind, address, writer's thread, or None where there is not one) of each."""
    hazards = []
    for line in lines:
        found = HAZARD.search(line)
        if found:
            hazards.append([found[1], int(found[2], 16), []])
        found = ACCESS.search(line)
        if found and hazards and found[1] == "Write":
            hazards[-1][2].append(int(found[2]))
    return [(kind, at, writers[0] if len(writers) == 1 else None) for kind, at, writers in hazards]


def is_polled(kind, address, writer, lane):
    return kind != "WAW" and writer is not None and address % LINE // WORD == writer // lane


def judge(name, lane):
    with open(name, errors="replace") as file:
        lines = file.readlines()
    hazards = read_hazards(lines)
    summaries = [int(SUMMARY.search(line)[1]) for line in lines if SUMMARY.search(line)]
    others = [hazard for hazard in hazards if not is_polled(*hazard, lane)]
    if not summaries or sum(summaries) != len(hazards):
        print(f"{name}: racecheck tells of {sum(summaries)} hazards, and {len(hazards)} are there to be read")
        return False
    print(f"{name}: {len(hazards)} reports of polled words, {len(others)} of others")
    for kind, address, writer in others[:10]:
        print(f"    {kind} at {address:#x}, written by thread {writer}")
    return not others


if __name__ == "__main__":
    names, lane = sys.argv[1:], WARP
    if names[:1] == ["--lane"]:
        lane, names = int(names[1]), names[2:]
    if not names:
        sys.exit(__doc__)
    sys.exit(0 if all([judge(name, lane) for name in names]) else 1)
