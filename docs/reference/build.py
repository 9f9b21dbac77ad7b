#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the book: build.py TREE VERSION OUT. Writes OUT/html and OUT/man3; a warning is a failure.

Sphinx reads a copy of the tree's Markdown with the references of C, C++ and Python beside it, so that links
between documents are the same here, there and in the tree.
"""
import glob
import os
import shutil
import subprocess
import sys

COPIED = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "docs/**/*.md", "docs/**/*.svg",
          "docs/**/*.png", "docs/conf.py", "examples/**/*.md", "examples/**/*.svg", "examples/**/*.c", "examples/**/*.cpp",
          "examples/**/*.py", "examples/**/*.dot", "docs/book/code/*"]


def _copy(tree, to):
    for pattern in COPIED:
        for path in glob.glob(os.path.join(tree, pattern), recursive=True):
            target = os.path.join(to, os.path.relpath(path, tree))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(path, target)


def _write(program, *arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, os.path.join(here, program), *arguments], check=True)


def main():
    tree, version, out = (os.path.abspath(argument) if index != 1 else argument
                          for index, argument in enumerate(sys.argv[1:]))
    source = os.path.join(out, "source")
    for folder in ("source", "html", "man3"):
        shutil.rmtree(os.path.join(out, folder), ignore_errors=True)
    include = os.path.join(tree, "include", "braid")
    _copy(tree, source)
    _write("write_pages.py", include, os.path.join(source, "docs", "api"))
    _write("write_cpp.py", include, os.path.join(source, "docs", "api-cpp"))
    _write("write_python.py", os.path.join(tree, "python", "braid"), os.path.join(source, "docs", "api-python"))
    _write("write_man.py", include, version, os.path.join(out, "man3"))
    command = ["sphinx-build", "-q", "-W", "--keep-going", "-j", "auto", "-b", "html",
               "-c", os.path.join(source, "docs"), source, os.path.join(out, "html")]
    return subprocess.run(command, env={**os.environ, "BRAID_VERSION": version}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
