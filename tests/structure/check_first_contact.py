#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run says at once what it supports where it cannot work: other systems, other package managers. Speaks
TAP. check_first_contact.py SOURCE_DIR"""
import os
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
    for name in ("bash", "cat", "dirname", "grep", "id", "sed", "sort", "tr", "uname"):
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


CHECKS = [("elsewhere than on Linux it says so and stops", check_macos),
          ("without apt-get it names the packages and stops", check_other_managers)]


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
