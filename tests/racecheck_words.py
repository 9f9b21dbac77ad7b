# SPDX-License-Identifier: Apache-2.0
"""Judges what racecheck says of islands: python3 tests/racecheck_words.py [--lane THREADS] [--partial] LOG...

The lanes of an island that are in one block tell each other how far they are by words of its shared
memory, which one lane writes (st.release) and others read while it may (ld.acquire). racecheck knows
barriers only and so reports each such pair. All it may report is that: a read and a write of a word
that only the writer's lane writes. The words stand in a line of 128 bytes of their own, word g for
lane g (addons/islands/gpu_island_walker.cu), so the address tells. LOG is what

    compute-sanitizer --tool racecheck --racecheck-report hazard --print-limit 100000 PROGRAM

printed of kernels whose lanes have so many threads (a warp). Ends with 1 where it reports anything
else, or where no kernel was looked at.

If only half of a lane takes part in a barrier of a kernel, racecheck loses the order of the other
half: tests/gpu/racecheck_of_partial_barriers.cu shows it without Braid. The first thread of a lane
writes the lane's position (struct braid_island_words), the lane meets, and its other threads read
the block's number from it. With --partial such reports are no failure either.
"""
import re
import sys

LINE, WORD, WARP = 128, 4, 32
POSITION = 9 * WORD  # in a lane: where its block is, the grid, and the block's size
HAZARD = re.compile(r"(RAW|WAR|WAW) hazard detected at __shared__ (0x[0-9a-f]+) in block")
ACCESS = re.compile(r"(Read|Write) Thread \((\d+), *(\d+), *(\d+)\)")
SUMMARY = re.compile(r"RACECHECK SUMMARY: (\d+) hazard")


def read_hazards(lines):
    """(kind, address, writer's thread, reader's) of each; None where there is not one."""
    hazards = []
    for line in lines:
        found = HAZARD.search(line)
        if found:
            hazards.append((found[1], int(found[2], 16), {"Write": [], "Read": []}))
        found = ACCESS.search(line)
        if found and hazards:
            hazards[-1][2][found[1]].append(int(found[2]))
    return [(kind, at, *(threads[0] if len(threads) == 1 else None for threads in by.values())) for kind, at, by in hazards]


def is_polled(kind, address, writer, reader, lane):
    return kind != "WAW" and writer is not None and address % LINE // WORD == writer // lane


def is_position(kind, address, writer, reader, lane):
    if kind != "RAW" or writer is None or reader is None:
        return False
    group, first = divmod(writer, lane)
    return first == 0 and reader // lane == group and (address - group * POSITION) % LINE < WORD


def judge(name, lane, partial):
    with open(name, errors="replace") as file:
        lines = file.readlines()
    hazards = read_hazards(lines)
    summaries = [int(SUMMARY.search(line)[1]) for line in lines if SUMMARY.search(line)]
    others = [hazard for hazard in hazards if not is_polled(*hazard, lane)]
    positions = [hazard for hazard in others if partial and is_position(*hazard, lane)]
    others = [hazard for hazard in others if hazard not in positions]
    if not summaries or sum(summaries) != len(hazards):
        print(f"{name}: racecheck tells of {sum(summaries)} hazards, and {len(hazards)} are there to be read")
        return False
    print(f"{name}: {len(hazards)} reports, {len(positions)} of positions, {len(others)} of others than polled words")
    for kind, address, writer, reader in others[:10]:
        print(f"    {kind} at {address:#x}, written by thread {writer}, read by {reader}")
    return not others


if __name__ == "__main__":
    names, lane = sys.argv[1:], WARP
    if names[:1] == ["--lane"]:
        lane, names = int(names[1]), names[2:]
    partial = names[:1] == ["--partial"]
    names = names[partial:]
    if not names:
        sys.exit(__doc__)
    sys.exit(0 if all([judge(name, lane, partial) for name in names]) else 1)
