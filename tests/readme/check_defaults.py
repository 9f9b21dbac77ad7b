#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks in docs/measured that the default is at most 2 % above the best of Braid's own ways. A comment before a table
names the headings, or the names of rows, of the default and of the other ways:
    <!-- default: Braid, as a graph | Braid, on streams -->
`; by: COLUMN | COLUMN` names the columns in which rows that are compared agree, `; figures: COLUMN | COLUMN` the columns
of rows to compare, and `; more is better` tells of rates. Other comments name columns of ratios (`<!-- default to other:
COLUMN -->`), or tell why a table that looks like one of ways has no default (`<!-- no default: REASON -->`).
known_misses.txt lists the cells that miss. A line there that misses no longer, or by other figures, is a fault, too.
With further files, outputs of benches, it checks the tables of these that have such a comment, and knows no misses.
Speaks TAP."""
import glob
import os
import re
import sys

MOST = 1.02
MARK = re.compile(r"<!-- (default|default to other|no default): (.*?) -->\s*")
# Two headings, or two rows, with such words look like two ways of Braid.
WAY = re.compile(r"\b(?:[Bb]raid|graph|streams|islands?|lanes?|chosen|planned|tuned|optimized)\b")
NUMBER = re.compile(r"(-?\d+(?:,\d{3})*(?:\.\d+)?)(?: ?([a-zA-Z%/]+))?")


def split(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


class Table:
    def __init__(self, section, number, lines, marks):
        self.section, self.number, self.marks = section, number, marks
        self.headings, self.rows = split(lines[0]), [split(line) for line in lines[2:]]

    def looks_like_ways(self):
        names = [row[i] for row in self.rows for i in (0, 1) if i < len(row)]
        return any(sum(bool(WAY.search(text)) for text in texts) > 1 for texts in (self.headings, names))


def tables_of(path):
    """The marks of a table stand before it, and nothing but empty lines between."""
    section, lines, marks, found = "", [], [], []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate([*file.read().split("\n"), ""], 1):
            if line.startswith("|"):
                lines.append(line)
                continue
            if lines:
                found.append(Table(section, number - len(lines), lines, marks))
                lines, marks = [], []
            mark = MARK.fullmatch(line)
            if mark:
                marks.append(mark.groups())
            elif line.strip():
                marks = []
                section = re.sub(r"^#+ ", "", line) if line.startswith("#") else section
    return found


def figures_of(cell):
    """The numbers of a cell that has one run or several; those in brackets and of other units are no runs."""
    found = NUMBER.findall(re.sub(r"\(.*?\)", "", cell))
    return [float(number.replace(",", "")) for number, unit in found if unit in ("to", found[0][1]) or found[0][1] == "to"]


def unit_of(cell):
    """The unit of a cell's last number; "": none."""
    found = NUMBER.findall(re.sub(r"\(.*?\)", "", cell))
    return found[-1][1] if found else ""


def mean_of(cell):
    figures = figures_of(cell)
    return sum(figures) / len(figures) if figures else None


class Comparison:
    """What a mark says of a table."""

    def __init__(self, table, text):
        self.table = table
        parts = [part.strip() for part in text.split(";")]
        self.names = self._list(parts[0])
        self.more = "more is better" in parts
        lists = dict(part.split(": ", 1) for part in parts[1:] if ": " in part)
        self.by = [self._column(name) for name in self._list(lists.get("by", ""))]
        self.figures = [self._column(name) for name in self._list(lists.get("figures", ""))]

    @staticmethod
    def _list(text):
        return [name.strip() for name in text.split("|") if name.strip()]

    def _column(self, name):
        if self.table.headings.count(name) != 1:
            raise ValueError(f"line {self.table.number}: not one column is '{name}'")
        return self.table.headings.index(name)

    def cells(self):
        """Of each comparison its name, the default's cell, and the cell of each other way by its name."""
        if self.names[0] in self.table.headings:
            yield from self._cells_of_rows([self._column(name) for name in self.names])
        else:
            yield from self._cells_of_columns()

    def _cells_of_rows(self, columns):
        for row in self.table.rows:
            if row[columns[0]]:
                name = ", ".join(row[i] for i in self.by or [0])
                yield name, row[columns[0]], {self.names[i]: row[column] for i, column in enumerate(columns) if i}

    def _cells_of_columns(self):
        groups = {}
        for row in self.table.rows:
            for name in self.names:
                if name in row:
                    groups.setdefault(tuple(row[i] for i in self.by), {})[name] = row
        for name in self.names:
            if not any(name in ways for ways in groups.values()):
                raise ValueError(f"line {self.table.number}: no row '{name}'")
        for key, ways in groups.items():
            if self.names[0] not in ways:
                raise ValueError(f"line {self.table.number}: no row '{self.names[0]}' of {', '.join(key)}")
            for i in self.figures or range(len(self.table.headings)):
                if ways[self.names[0]][i] not in (self.names[0], *key):
                    yield (", ".join([*key, self.table.headings[i]]), ways[self.names[0]][i],
                           {name: ways[name][i] for name in self.names[1:] if name in ways})


def compare(table, comparison):
    """The cells that miss: (section, name, the default's figure, the best other one)."""
    num, missed = 0, []
    for name, cell, others in comparison.cells():
        default = mean_of(cell)
        figures = {way: mean_of(text) for way, text in others.items()}
        figures = {way: figure for way, figure in figures.items() if figure is not None}
        if default is None or not figures:
            continue
        units = {unit_of(text) for text in (cell, *(others[way] for way in figures))}
        if len(units) > 1:
            raise ValueError(f"line {table.number}: '{name}' has figures of several units")
        num += 1
        best = (max if comparison.more else min)(figures, key=figures.get)
        more, less = (figures[best], default) if comparison.more else (default, figures[best])
        if more > MOST * less:
            missed.append((table.section, name, cell, f"{best}: {others[best]}"))
    return num, missed


def compare_ratios(table, text):
    num, missed = 0, []
    for heading in text.split("|"):
        column = table.headings.index(heading.strip())
        for row in table.rows:
            num += 1
            if max(figures_of(row[column]), default=0) > MOST:
                missed.append((table.section, f"{row[0]}, {heading.strip()}", row[column], "other: 1"))
    return num, missed


def judge(table):
    """The faults of a table, and the cells that miss."""
    faults, missed = [], []
    if not table.marks and table.looks_like_ways():
        faults.append(f"line {table.number}: no comment tells which way is the default, or why none is")
    for kind, text in table.marks:
        if kind == "no default":
            continue
        try:
            num, more = compare_ratios(table, text) if kind != "default" else compare(table, Comparison(table, text))
        except ValueError as error:
            faults.append(f"{error} ({text})")
            continue
        missed += more
        if not num:
            faults.append(f"line {table.number}: '{text}' compares no figures")
    return faults, missed


def read_known(path):
    """Lines: page | section | row or cell | default | way: best | reason."""
    known = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                fields = tuple(field.strip() for field in line.split(" | "))
                known.setdefault(fields[0], []).append(fields[1:])
    return known


def faults_of_page(path, known, is_page=True):
    faults, missed = [], []
    tables = [table for table in tables_of(path) if is_page or table.marks]
    if not tables and not is_page:
        faults.append("no table tells which way is the default")
    for table in tables:
        more = judge(table)
        faults += more[0]
        missed += more[1]
    listed = [line[:4] for line in known]
    faults += [f"the default misses by over 2 %: {' | '.join(miss)}" for miss in missed if miss not in listed]
    faults += [f"listed, and no such miss: {' | '.join(line)}" for line in listed if line not in missed]
    faults += [f"a miss without a reason: {' | '.join(line)}" for line in known if len(line) != 5 or not line[4]]
    return faults


def main():
    folder = os.path.join(os.path.abspath(sys.argv[1]), "docs/measured")
    known = read_known(sys.argv[2])
    pages = sorted(glob.glob(os.path.join(folder, "*.md")))
    cases = [(os.path.basename(page), faults_of_page(page, known.pop(os.path.basename(page), []))) for page in pages]
    cases.append(("known misses", [f"no page {page}" for page in known] + ([] if pages else ["no page"])))
    if sys.argv[3:]:
        cases = [(output, faults_of_page(output, [], False)) for output in sys.argv[3:]]
    print(f"1..{len(cases)}")
    for number, (name, faults) in enumerate(cases, 1):
        print(f"{'not ok' if faults else 'ok'} {number} - the default is near the best in {name}")
        for fault in faults:
            print(f"# {fault}")
    return int(any(faults for _, faults in cases))


if __name__ == "__main__":
    sys.exit(main())
