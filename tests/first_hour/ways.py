# SPDX-License-Identifier: Apache-2.0
"""The ways from nothing to a first plan, as README.md and docs/install.md tell them to a reader.

A way is a section that says what its commands print. In such a section

    indented lines                          are commands, with the program of a shell;
    a block ```text                         is the end of what the command before it prints; a line "..." is any lines;
    Save [a link](page) as `NAME`           has the reader save the first program of that page in the language of NAME;
    this as `NAME`                          has the reader save the block that follows."""
import dataclasses
import os
import re

PAGES = ("README.md", "docs/install.md")
HEADING = re.compile(r"^#{2,3} (.+)\n", re.MULTILINE)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$|^    (\S[^\n]*)$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"(?:\[[^]]*\]\(([^)#]*)(?:#[^)]*)?\)|\bthis) as `([^`]+)`")
MARK = re.compile(r"== command \d+ of the text, at (\d+)\n")
LANGUAGES = {".c": "c", ".cpp": "cpp", ".py": "python"}


@dataclasses.dataclass
class Command:
    line: str
    prints: str = ""


@dataclasses.dataclass
class Way:
    name: str
    commands: list
    files: dict  # what the reader saves: {path: text}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def first_program(page, name):
    language = LANGUAGES[os.path.splitext(name)[1]]
    for block in BLOCK.finditer(read(page)):
        if block.group(1) == language:
            return block.group(2)
    raise ValueError(f"{page} has no program to save as {name}")


def read_section(page, name, text):
    way, place = Way(name, [], {}), os.path.dirname(page)
    for saved in SAVED.finditer(text):
        target, path = saved.groups()
        if target is None:
            way.files[path] = BLOCK.search(text, saved.end()).group(2)
        else:
            way.files[path] = first_program(os.path.join(place, target) if target else page, path)
    for block in BLOCK.finditer(text):
        if block.group(3) is not None:
            way.commands.append(Command(block.group(3).replace("sudo ", "")))  # the test is root
        elif block.group(1) == "text" and way.commands:
            way.commands[-1].prints = block.group(2)
    return way


def read_ways(source):
    """{name: Way}, in the order of the pages."""
    ways = {}
    for page in PAGES:
        parts = HEADING.split(read(os.path.join(source, page)))
        for name, text in zip(parts[1::2], parts[2::2]):
            way = read_section(os.path.join(source, page), name, text)
            if any(command.prints for command in way.commands):
                ways[name] = way
    return ways


def is_end_of(prints, said):
    lines = [r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\s*\n" for line in prints.splitlines()]
    return re.search(r"^" + "".join(lines) + r"\Z", said, re.MULTILINE) is not None


def write_script(way):
    """The commands of the text, and a mark with the time before each and behind the last."""
    def mark(number):
        return f'echo "== command {number} of the text, at $(date +%s)"\n'
    lines = [mark(number) + command.line + "\n" for number, command in enumerate(way.commands, 1)]
    return "".join(lines) + mark(len(lines) + 1)


def read_parts(way, said):
    """[(seconds, what was printed)] of each command that began; the last of a script that failed has no seconds."""
    _, *pairs = MARK.split(said)
    times = [int(time) for time in pairs[0::2]]
    seconds = [after - before for before, after in zip(times, times[1:])]
    return list(zip(seconds + [None], pairs[1::2]))[:len(way.commands)]
