#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs every block of code on a page of the book: check_blocks.py PAGE TREE LIBRARY_FOLDER TOOL CC... -- CXX...

What a block is, its language and the comment before it say:

    ```c with a main function      a program; where a ```text block follows, that is what it prints
    <!-- in NAME -->  ```c         a part of docs/book/code/NAME, put in place of its line `here`; ... prints, likewise
    <!-- goes on -->  ```c         put behind the parts in C before it, into the same program; the whole is compiled and runs
    ```cpp                         likewise, as C++17
    ```python                      a part of a program that tests/python/check_blocks.py runs

Parts of several languages may follow each other: a ```text behind them is printed by each.

    ```console                     commands of the tool, "$ braid ...", and what they print; a line "..." is any lines

Without a tool (TOOL is empty) its commands are skipped. Speaks TAP.
"""
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```+(\w*)\s*$")
COMMENT = re.compile(r"^<!-- (.*) -->$")
HERE = re.compile(r"^[ \t]*// here\n", re.MULTILINE)
FLAGS = {"c": ["-std=c11", "-D_GNU_SOURCE"], "cpp": ["-std=c++17"]}
KNOWN = ("c", "cpp", "console", "text")


@dataclasses.dataclass
class Block:
    language: str
    text: str
    line: int
    comment: str


    @property
    def is_part(self):
        return self.comment == "goes on" or self.comment.startswith("in ")


class Fault(Exception):
    pass


def read_blocks(path):
    blocks, comment, language, lines, begin = [], "", None, [], 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            fence = FENCE.match(line)
            if language is not None:
                if line.startswith("```"):
                    blocks.append(Block(language, "\n".join(lines) + "\n", begin, comment))
                    language, comment = None, ""
                else:
                    lines.append(line)
            elif fence:
                language, lines, begin = fence.group(1), [], number
            elif line.strip():
                found = COMMENT.match(line)
                comment = found.group(1) if found else ""
    return blocks


def said_behind(blocks, index):
    """What a text behind a block says that it prints; None: nothing is said."""
    for block in blocks[index + 1:]:
        if block.language == "text":
            return block.text
        if block.language == blocks[index].language or not block.is_part:
            return None
    return None


def run(command, **options):
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, **options)


class Page:
    def __init__(self, path, tree, library, tool, compilers, folder):
        self.blocks, self.name = read_blocks(path), os.path.splitext(os.path.relpath(path, os.path.join(tree, "docs")))[0]
        self.tree, self.lib_folder, self.tool = tree, os.path.abspath(library), tool
        self.compilers, self.folder = compilers, folder
        self.programs = {}  # by language: the program that parts go into, the parts, and what each says that it prints

    def source(self, index, block):
        """The program that a block is, or is a part of, and what all of it prints."""
        said = said_behind(self.blocks, index)
        if re.search(r"^int main\(", block.text, re.MULTILINE):
            return block.text, said
        where = re.fullmatch(r"in (\S+)", block.comment)
        if where:
            with open(os.path.join(self.tree, "docs", "book", "code", where.group(1)), encoding="utf-8") as file:
                self.programs[block.language] = file.read(), [], []
        elif block.comment != "goes on" or block.language not in self.programs:
            raise Fault("no program, and no comment says which one it is a part of")
        template, parts, texts = self.programs[block.language]
        parts.append(block.text)
        texts += [said] if said is not None else []
        if not HERE.search(template):
            raise Fault("the program has no line `// here`")
        return HERE.sub(lambda _: "\n".join(parts), template, count=1), "".join(texts) if texts else None

    def goes_on(self, index, language):
        following = [block for block in self.blocks[index + 1:] if block.language == language]
        return following and following[0].comment == "goes on"

    def compile_and_run(self, index, block):
        text, expected = self.source(index, block)
        if self.goes_on(index, block.language):
            return  # compiled with the last of its parts
        name = os.path.join(self.folder, f"block_{block.line}")
        path = f"{name}.{block.language}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        built = run([*self.compilers[block.language], *FLAGS[block.language], "-Wall", "-Wextra", "-Werror",
                     "-Wno-missing-field-initializers",
                     "-Wno-unused", "-I", os.path.join(self.tree, "include"), "-I",
                     os.path.join(self.tree, "docs", "book", "code"), path, "-o", name,
                     "-L", self.lib_folder, "-lbraid", "-pthread", "-lm"])
        if built.returncode:
            raise Fault("does not compile:\n" + built.stdout)
        ran = run([name], cwd=self.folder, env={**os.environ, "LD_LIBRARY_PATH": self.lib_folder})
        if ran.returncode:
            raise Fault(f"exit status {ran.returncode}:\n{ran.stdout}")
        if expected is not None:
            compare(expected, ran.stdout)

    def run_console(self, _, block):
        shell = {**os.environ, "PATH": os.path.dirname(self.tool) + ":" + os.environ["PATH"], "COLUMNS": "120"}
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            if not command.startswith("braid "):
                raise Fault(f"not a command of the tool: {command}")
            ran = run(["bash", "-c", command], cwd=self.folder, env=shell)
            if ran.returncode:
                raise Fault(f"{command}: exit status {ran.returncode}:\n{ran.stdout}")
            compare(expected, ran.stdout)

    def check(self, index, block):
        if block.language == "python":
            tested = os.path.join(self.tree, "tests", "python", "meson.build")
            with open(tested, encoding="utf-8") as file:
                if f"'{self.name}'" not in file.read():
                    raise Fault(f"{tested} does not run the page's blocks of Python")
            return
        if block.language not in KNOWN:
            raise Fault(f"nothing here can test a block of {block.language or 'no language'}")
        if block.language == "console":
            self.run_console(index, block)
        elif block.language != "text":
            self.compile_and_run(index, block)


def compare(expected, printed):
    pattern = "".join("(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"[ \t]*\n"
                      for line in expected.rstrip("\n").split("\n")) if expected.strip() else ""
    if not re.fullmatch(pattern, printed.rstrip("\n") + "\n" if printed.strip() else ""):
        raise Fault(f"printed:\n{printed}instead of:\n{expected}")


def main():
    path, tree, library, tool, *compilers = sys.argv[1:]
    split = compilers.index("--")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(tree, "examples"), os.path.join(folder, "examples"))
        page = Page(path, tree, library, tool, {"c": compilers[:split], "cpp": compilers[split + 1:]}, folder)
        tested = [(index, block) for index, block in enumerate(page.blocks) if block.language != "text"]
        print(f"1..{max(len(tested), 1)}")
        if not tested:
            print("ok 1 - no code on this page")
        failed = False
        for number, (index, block) in enumerate(tested, 1):
            name = f"{os.path.basename(path)} line {block.line}: {block.language}"
            if block.language == "console" and not tool:
                print(f"ok {number} - {name} # SKIP the tool was not built")
                continue
            try:
                page.check(index, block)
                print(f"ok {number} - {name}")
            except Fault as fault:
                failed = True
                print(f"not ok {number} - {name}")
                print("".join(f"# {line}\n" for line in str(fault).split("\n")), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
