# SPDX-License-Identifier: Apache-2.0
# Runs the benches of two builds by turns and prints, row by row, the figures of the second over those of the first.
#
#   python3 bench/gpu/beside.py BEFORE NOW ROUNDS PROGRAM [ARGUMENT...]
#
# BEFORE and NOW are build folders of two trees, PROGRAM is a path in both. A row is a line of cells between '|' or ','.
# The cells without figures name it, with a number if an earlier row has the same name. The figures are its first two
# cells with a decimal point, for example microseconds a frame and of the host. Of ROUNDS runs of each build the median
# counts.
import math
import os
import re
import statistics
import subprocess
import sys

FIGURE = re.compile(r"^\d+\.\d+$")
NUMBER = re.compile(r"^\d+(\.\d+)?$")


def read_rows(text):
    """The figures of each row of the tables in a bench's output, by the row's name."""
    rows, seen = {}, {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split("[|,]", line.strip("|"))]
        name = " ".join(cell for cell in cells if cell and not NUMBER.match(cell))
        figures = [float(cell) for cell in cells if FIGURE.match(cell)]
        if len(cells) > 1 and name and figures:
            seen[name] = seen.get(name, 0) + 1
            rows[name if seen[name] == 1 else f"{name} {seen[name]}"] = figures[:2]
    return rows


def run(folder, command):
    path = os.path.join(folder, command[0])
    done = subprocess.run([path] + command[1:], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{path} ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return read_rows(done.stdout)


def median_of(runs, name, which):
    found = [rows[name][which] for rows in runs if name in rows and len(rows[name]) > which]
    return statistics.median(found) if found else None


def print_row(name, before, now, ratios):
    cells = []
    for which in range(2):
        old, new = median_of(before, name, which), median_of(now, name, which)
        if not old or not new:
            cells += ["", "", ""]
            continue
        cells += [f"{old:.1f}", f"{new:.1f}", f"{new / old:.3f}"]
        ratios[which].append(new / old)
    print("| " + " | ".join([name] + cells) + " |")


def print_mean(what, ratios):
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"summary: {what}: {mean:.3f} of before in the geometric mean of {len(ratios)} rows, "
              f"{min(ratios):.3f} at best, {max(ratios):.3f} at worst")


def main():
    before_folder, now_folder, rounds, *command = sys.argv[1:]
    before, now, ratios = [], [], ([], [])
    for round_number in range(int(rounds)):  # each build is first in every other round
        turns = [(before, before_folder), (now, now_folder)]
        for runs, folder in turns if round_number % 2 == 0 else reversed(turns):
            runs.append(run(folder, command))
    print(f"| {' '.join(command)} | before, us | now, us | ratio | before, host us | now, host us | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name in before[0]:
        print_row(name, before, now, ratios)
    print_mean("time of a frame", ratios[0])
    print_mean("time of the host", ratios[1])


if __name__ == "__main__":
    main()
