#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run says at once what it supports where it cannot work: other systems, other package managers. Elsewhere it
lists what a command needs before it installs that. Speaks TAP. check_first_contact.py SOURCE_DIR"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(source, path, *arguments):
    """./run with a PATH of links to the few programs that every Linux has, and stand-ins."""
    done = subprocess.run([shutil.which("bash"), os.path.join(source, "run"), *arguments], cwd=source, env={"PATH": path},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
    return done.returncode, done.stdout


def make_path(folder, **stand_ins):
    for name in ("bash", "cat", "dirname", "env", "grep", "id", "mktemp", "rm", "sed", "sort", "tr", "uname"):
        if name not in stand_ins:
            os.symlink(shutil.which(name), os.path.join(folder, name))
    for name, said in stand_ins.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho '{said}'\n")
        os.chmod(os.path.join(folder, name), 0o755)
    return folder


def check_macos(source):
    for command in ("test", "demo", "build"):
        with tempfile.TemporaryDirectory() as folder:
            status, said = run(source, make_path(folder, uname="Darwin"), command)
        assert status == 1 and "this is Darwin, and Braid runs on Linux only" in said, (status, said)
        assert len(said.splitlines()) == 2, said


def check_other_managers(source):
    for manager, word in (("dnf", "libcmocka-devel"), ("pacman", "base-devel"), ("apk", "build-base"), (None, "")):
        with tempfile.TemporaryDirectory() as folder:
            stand_ins = {manager: ""} if manager else {}
            status, said = run(source, make_path(folder, **stand_ins), "test")
        assert status == 1 and "with apt-get only" in said and "meson" in said and word in said, (manager, status, said)
        assert "sudo apt-get" not in said, said
        assert "configuring" not in said, said


def ask(source, *command):
    """What ./run would install for a command on a machine that has none of it: packages, and optional ones."""
    with tempfile.TemporaryDirectory() as folder:
        status, said = run(source, make_path(folder), "-n", *command)
    assert status == 0, (command, status, said)
    found = re.fullmatch(r"(?:would install: (.+)\n)?(?:would install if the distribution has them: (.+)\n)?(?:nothing to install\n)?",
                         said)
    assert found, (command, said)
    return tuple(set((names or "").split()) for names in found.groups())


BUILD = {"gcc", "libc6-dev", "meson", "ninja-build", "pkg-config"}
# What some commands need beside BUILD. What Python has of its own is found wherever the PATH leads.
NEEDED = {"build": {"libjansson-dev"},
          "braid plan x.dot": {"libjansson-dev"},
          "demo": {"libpng-dev", "graphviz"},
          "bench": {"libjansson-dev"},
          "soak": {"libcmocka-dev", "python3"},
          "mutants": {"libcmocka-dev", "python3"},
          "docs": {"furo", "python3", "python3-myst-parser", "python3-sphinx"},
          "fuzz": {"clang", "libclang-rt-dev", "libcmocka-dev", "libjansson-dev", "python3"}}


def check_needs(source):
    for command, needed in NEEDED.items():
        said, optional = ask(source, *command.split())
        assert said == BUILD | needed, (command, said)
        assert not optional or command == "bench", (command, optional)


def check_all_needs(source):
    with tempfile.TemporaryDirectory() as folder:
        usage = run(source, make_path(folder), "help")[1]
    commands = re.findall(r"^  (package \w+|\w+)(?:( --sanitize)\S*)?(?: |$)", usage, re.MULTILINE)
    assert len(commands) > 15 and ("test", " --sanitize") in commands, commands
    required, optional = ask(source, "deps")
    assert not required & optional, required & optional
    for name, option in commands:
        some, more = ask(source, *(name + option).split())
        assert some <= required and more <= required | optional, (name, option, some, more)


def check_list_comes_first(source):
    """A stand-in of apt-get that fails has ./run print the stand-in's words."""
    with tempfile.TemporaryDirectory() as folder:
        make_path(folder, id="0")
        with open(os.path.join(folder, "apt-get"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "apt-get $*"\nexit 1\n')
        os.chmod(os.path.join(folder, "apt-get"), 0o755)
        status, said = run(source, folder, "braid", "plan", "x.dot")
    packages = " ".join(sorted(BUILD | NEEDED["braid plan x.dot"]))
    first, *rest = said.splitlines()
    assert status == 1 and first.startswith(f"run: installing {packages} "), (status, said)
    assert f"apt-get -q install -y --no-install-recommends {packages}" in rest, said


CHECKS = [("elsewhere than on Linux it says so and stops", check_macos),
          ("without apt-get it names the packages and stops", check_other_managers),
          ("a command needs its own packages alone", check_needs),
          ("deps has what any command needs", check_all_needs),
          ("what will be installed is listed first", check_list_comes_first)]


def main():
    failed = 0
    print(f"1..{len(CHECKS)}")
    for number, (title, check) in enumerate(CHECKS, 1):
        try:
            check(sys.argv[1])
            print(f"ok {number} - {title}")
        except AssertionError as error:
            failed = 1
            print(f"not ok {number} - {title}\n{error}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
