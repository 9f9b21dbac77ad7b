#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the tree: includes go one way, and every file keeps the house style. Speaks TAP."""
import os
import re
import shutil
import subprocess
import sys

# What each folder of src/ may include, besides itself and the public headers. A row of a folder below another, or of
# a file, stands for itself alone: the folder above may not include it, unless it says so.
PLAYER = {"base", "ptx", "backends", "backends/players", "device", "device/backend", "tasks"}
CORE = {
    "base": set(),
    "ptx": {"base"},
    "graph": {"base"},
    "plan": {"base", "graph"},
    "plan/places": {"base", "graph", "plan"},
    "plan/memory": {"base", "graph", "plan"},
    "plan/schedule_create": {"base", "graph", "plan", "plan/places"},
    "device/backend": {"base"},
    "device": {"base", "device/backend"},
    "tasks": {"base", "graph", "plan", "device", "device/backend"},
    "verify": {"base", "graph", "plan", "plan/memory", "tasks"},
    "backends": {"base", "ptx", "device/backend"},
    "backends/players": {"tasks"},
    "backends/cpu/walker": PLAYER,
    "backends/streams": PLAYER,
    "backends/driver_graph": PLAYER,
    "exec": {"base", "graph", "plan", "plan/places", "plan/memory", "verify", "device", "tasks"},
}
# Whole folders of src/ have one order, too: none includes a later one, whatever the rows say.
FLOORS = ("base", "ptx", "graph", "plan", "device", "tasks", "verify", "backends", "exec")
# The same of addons/. Nothing in src/ includes an add-on, and no add-on another.
ADDONS = {
    "accesses": {"base", "graph", "ptx"},
    "audit": {"base", "ptx", "graph", "plan", "backends", "device", "device/backend", "exec", "tasks"},
    "capture": {"base", "graph", "plan", "exec", "tasks"},
    "export": PLAYER | {"plan", "exec", "backends/driver_graph", "backends/players"},
    "external": {"base", "device", "device/backend", "backends", "exec"},
    "import": {"base", "ptx", "graph", "device", "device/backend", "backends", "exec", "tasks"},
    "islands": PLAYER | {"graph", "plan", "exec", "backends/driver_graph"},
    "managed": {"base", "device", "device/backend", "backends"},
    "pool": {"base", "device", "device/backend", "exec"},
    "record": {"base"},  # and a library of its own
    "report": {"base", "graph", "plan"},
    "saved": {"base", "graph", "plan"},
    "tune": {"base", "graph", "plan", "device", "exec", "tasks"},
    "ranks": {"base", "graph", "plan", "exec"},  # a library of its own
    "left_out": {"base", "graph", "plan", "exec", "backends/driver_graph"},  # in place of any of them
}
MAY_INCLUDE = {**CORE, **ADDONS}
# They need nothing of the library, and are built into both.
SHARED_WITH_TOOLS = ("base/array.h", "base/big_memory.h", "base/hash.h", "base/host_memory.h", "base/spread.h", "base/store.h",
                     "base/text.h", "base/whole_file.h", "accesses/kernel_accesses.h", "ptx/ptx_words.h",
                     "backends/gpu/gpu_ptx_early.h", "backends/gpu/gpu_ptx_prefetch.h", "islands/gpu_ptx_callable.h",
                     "islands/gpu_ptx_symbols.h")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
PUBLIC = re.compile(r"^\s*#\s*include\s+<(?!braid/)([^>]+)>", re.MULTILINE)
PLAIN_GETENV = re.compile(r"\bgetenv\b")
LIBC_MEMORY = re.compile(r"(?<![\w.>])((?:malloc|calloc|realloc|reallocarray|free|strn?dup|aligned_alloc|posix_memalign|memalign"
                         r"|v?asprintf|open_w?memstream|getline|getdelim|realpath)(?=\()|(?<=, )free(?=\)))")
# Where libc's memory is used all the same: the file, and how often.
LIBC_MEMORY_OF = {
    "src/base/host_memory.c": None,  # the module for it
    "src/backends/gpu/gpu_disk_cache.c": 1,  # getcwd allocates
    "addons/ranks/mpi_engine.c": None,  # a module of its own
}
C_FILES = (".c", ".h", ".cpp", ".hpp")
DEVICE_FILES = (".cu", ".ptx")
TEXT_FILES = C_FILES + (".py", ".sh", ".build", ".md", ".txt", ".1", ".map")
SCRIPTS = ("run", ".ci/run")
LONGEST_FILE = {"src/": 1000, "addons/": 1000, "examples/sparse_mpm/": 500, "examples/ranks/": 500, "examples/": 120,
                "": 500}  # lines, by where it is
LONGEST_README = 25  # for a folder of src/ or addons/
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:c|h|cu|ptx|py|map|md))`")
FORMATTER = "clang-format-14"  # other versions format some lines differently


def list_files(root):
    """Tracked files where git knows them, else every file outside build folders."""
    names = list(walk(root))
    if shutil.which("git") and os.path.exists(os.path.join(root, ".git")):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, check=False)
        if listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".git", "build"))]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def is_source(name):
    """A source of C, or one of the library for devices. Other PTX is from compilers."""
    return name.endswith(C_FILES) or (name.startswith(("src/", "addons/")) and name.endswith(DEVICE_FILES))


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def find_row(path):
    """The row of MAY_INCLUDE for a path below src/ or addons/: the longest that it begins with."""
    rows = [row for row in MAY_INCLUDE if path.startswith(row + "/") or ("/" in row and path.startswith(row + "."))]
    return max(rows, key=len, default=None)


def find_floor(path):
    return FLOORS.index(path.split("/")[0])


def check_includes(root, names):
    for name in names:
        ring, _, path = name.partition("/")
        if ring not in ("src", "addons") or not name.endswith(C_FILES):
            continue
        here = find_row(path)
        if here is None or (path.split("/")[0] in ADDONS) != (ring == "addons"):
            yield f"{name}: its folder has no rule in {os.path.basename(__file__)}"
            continue
        for target in INCLUDE.findall(read(root, name)):
            there = find_row(target)
            if "/" not in target or there is None:
                yield f'{name}: write "{target}" with its folder, from src/ or addons/'
            elif there != here and there not in MAY_INCLUDE[here]:
                yield f'{name}: {here} may not include "{target}"'
            elif ring == "src" and find_floor(target) > find_floor(path):
                yield f'{name}: "{target}" stands above it'


def find_circles(edges):
    """Groups of files that reach each other (Tarjan, 1972)."""
    order, low, path, circles = {}, {}, [], []

    def visit(name):
        order[name] = low[name] = len(order)
        path.append(name)
        for target in sorted(edges.get(name, ())):
            if target not in order:
                visit(target)
            if target in path:
                low[name] = min(low[name], low[target])
        if low[name] == order[name]:
            circle = path[path.index(name):]
            del path[path.index(name):]
            if len(circle) > 1:
                circles.append(sorted(circle))

    for name in sorted(edges):
        if name not in order:
            visit(name)
    return circles


def check_circles(root, names):
    """A file and its header count as one."""
    edges = {}
    for name in names:
        ring, _, path = name.partition("/")
        if ring not in ("src", "addons") or not name.endswith(C_FILES):
            continue
        here = os.path.splitext(path)[0]
        targets = {os.path.splitext(target)[0] for target in INCLUDE.findall(read(root, name))}
        edges.setdefault(here, set()).update(targets - {here})
    for circle in find_circles(edges):
        yield "these include each other: " + ", ".join(circle)


def check_public(root, names):
    """Programs of the tree that show the public interface use nothing else."""
    for name in names:
        if name.startswith(("examples/", "tools/")) and name.endswith(C_FILES):
            for target in INCLUDE.findall(read(root, name)):
                shared = name.startswith("tools/") and target in SHARED_WITH_TOOLS
                if find_row(target) and not shared:
                    yield f'{name}: "{target}" is internal to the library'
        if name.startswith("include/") and name.endswith(".h"):
            for target in PUBLIC.findall(read(root, name)):
                if target not in ("stdbool.h", "stddef.h", "stdint.h", "stdio.h"):
                    yield f"{name}: public headers need no <{target}>"


def check_environment(root, names):
    """In a program with more rights than its user (setuid), no variable of that user counts."""
    for name in names:
        if name.startswith(("src/", "addons/", "include/", "tools/")) and name.endswith(C_FILES):
            for number, line in enumerate(read(root, name).splitlines(), 1):
                if PLAIN_GETENV.search(line):
                    yield f"{name}:{number}: call secure_getenv, not getenv"


def check_host_memory(root, names):
    """The program may allocate the host memory of a device: all of it comes from base/host_memory.h."""
    for name in names:
        if not name.startswith(("src/", "addons/")) or not name.endswith(C_FILES) or LIBC_MEMORY_OF.get(name, 0) is None:
            continue
        lines = [re.sub(r'//.*|"[^"]*"', "", line) for line in read(root, name).splitlines()]
        found = [(number, line) for number, line in enumerate(lines, 1) if LIBC_MEMORY.search(line)]
        for number, line in found[LIBC_MEMORY_OF.get(name, 0):]:
            yield f"{name}:{number}: {LIBC_MEMORY.search(line).group(1)}: call base/host_memory.h"


def check_whitespace(root, names):
    for name in names:
        if not is_source(name) and not name.endswith(TEXT_FILES) and name not in SCRIPTS:
            continue
        text = read(root, name)
        if text and not text.endswith("\n"):
            yield f"{name}: no newline at the end"
        if text.endswith("\n\n"):
            yield f"{name}: empty line at the end"
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                yield f"{name}:{number}: trailing space"
            if "\t" in line:
                yield f"{name}:{number}: tab"


def check_licence_lines(root, names):
    for name in names:
        if not is_source(name) and not name.endswith((".py", ".sh")) and name not in SCRIPTS:
            continue
        head = read(root, name).split("\n", 2)[:2]
        if is_source(name):
            head = head[:1]
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
            yield f"{name}: no SPDX line at the top"


def check_purpose(root, names):
    """After the licence each source says in a comment what it is for."""
    for name in names:
        if is_source(name):
            lines = read(root, name).split("\n")
            if len(lines) < 2 or not lines[1].startswith("// "):
                yield f"{name}: the second line does not say what the file is for"


def check_readmes(root, names):
    """Each folder of the library tells a newcomer in which order to read its files."""
    folders = {os.path.dirname(name) for name in names if name.startswith(("src/", "addons/")) and name.endswith(C_FILES)}
    for folder in sorted(folders):
        if f"{folder}/README.md" not in names:
            yield f"{folder}: it has no README.md"
    for readme in names:
        if not readme.startswith(("src/", "addons/")) or os.path.basename(readme) != "README.md":
            continue
        text, folder = read(root, readme), os.path.dirname(readme)
        if len(text.splitlines()) > LONGEST_README:
            yield f"{readme}: {len(text.splitlines())} lines; a README of a folder has at most {LONGEST_README}"
        for target in NAMED_FILE.findall(text):
            if not any(os.path.normpath(os.path.join(where, target)) in names for where in (folder, "", "src", "addons")):
                yield f"{readme}: there is no {target} beside it, nor from the root, src/ or addons/"


def check_length(root, names):
    for name in names:
        if is_source(name):
            number = len(read(root, name).splitlines())
            most = next(most for where, most in LONGEST_FILE.items() if name.startswith(where))
            if number > most:
                yield f"{name}: {number} lines; there, files have at most {most}"


def check_format(root, names):
    sources = [name for name in names if is_source(name) and not name.endswith(".ptx")]
    run = subprocess.run([FORMATTER, "--dry-run", "--ferror-limit=3", *sources], cwd=root,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return [line for line in run.stdout.splitlines() if "warning:" in line or "error:" in line]


CHECKS = [
    ("includes go one way", check_includes),
    ("no files include each other in a circle", check_circles),
    ("examples, tools and public headers use the public interface", check_public),
    ("the environment is read by secure_getenv", check_environment),
    ("host memory comes from base/host_memory.h", check_host_memory),
    ("no tabs, no trailing space, a newline at the end", check_whitespace),
    ("every source has its licence line", check_licence_lines),
    ("every source says what it is for", check_purpose),
    ("every folder of the library has a short README that names files which exist", check_readmes),
    ("no file of the library is over 1,000 lines, and no other over 500", check_length),
    ("clang-format changes nothing", check_format),
]


def main():
    root = sys.argv[1]
    names = list_files(root)
    failed = False
    print(f"1..{len(CHECKS)}")
    for number, (title, check) in enumerate(CHECKS, 1):
        if check is check_format and not shutil.which(FORMATTER):
            print(f"{FORMATTER} is not installed")
            print(f"ok {number} - {title} # SKIP")
            continue
        problems = list(check(root, names))
        failed = failed or bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} - {title}")
        for problem in problems:
            print(f"# {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
