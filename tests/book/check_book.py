#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The book builds without a warning, shows every function of the library, every class in C++ and every name of Python, and each function has a manual page without a
warning and with a summary: check_book.py TREE VERSION. Speaks TAP."""
import glob
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile


def exported_names(tree):
    names = []
    for library in ("braid", "braid_ranks"):
        with open(os.path.join(tree, "src", library + ".map"), encoding="utf-8") as file:
            names += re.findall(r"^\s+(braid_(?!private_)\w+);", file.read(), re.MULTILINE)
    return [name.removesuffix("_sized") for name in names]  # as programs call them


def check_man(tree, version, out):
    """Faults of the manual pages."""
    folder = os.path.join(out, "man3")
    subprocess.run([sys.executable, os.path.join(tree, "docs", "reference", "write_man.py"),
                    os.path.join(tree, "include", "braid"), version, folder], check=True)
    faults = [f"no manual page for {name}" for name in exported_names(tree)
              if not os.path.exists(os.path.join(folder, name + ".3"))]
    for path in sorted(glob.glob(os.path.join(folder, "*.3"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        alias = re.match(r"\.so (man3/\S+)\n", text)
        if alias and not os.path.exists(os.path.join(out, alias.group(1))):
            faults.append(f"{path} leads nowhere")
        if not alias and not re.search(r"^\.SH NAME\n.+ \\- .{8}", text, re.MULTILINE):
            faults.append(f"{path} has no summary")
        if shutil.which("groff") and not alias:
            printed = subprocess.run(["groff", "-man", "-ww", "-z", "-Kutf8", path], check=False, capture_output=True, text=True)
            faults += [line for line in printed.stderr.split("\n") if line]
    return faults


def missing_parts():
    """What the book needs and this machine lacks."""
    missing = [] if shutil.which("sphinx-build") else ["sphinx-build"]
    if not missing:
        with open(shutil.which("sphinx-build"), encoding="utf-8") as file:
            python = file.readline().removeprefix("#!").strip().split()
        for module in ("myst_parser", "furo"):
            if subprocess.run([*python, "-c", f"import {module}"], check=False, capture_output=True).returncode:
                missing.append(module)
    return missing


def check_html(tree, version, out):
    built = subprocess.run([sys.executable, os.path.join(tree, "docs", "reference", "build.py"), tree, version, out],
                           check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode:
        return built.stdout.split("\n")
    shown = ""
    for path in glob.glob(os.path.join(out, "html", "docs", "api", "*.html")):
        with open(path, encoding="utf-8") as file:
            shown += file.read()
    lost = [name for name in exported_names(tree) if f'id="c.{name}"' not in shown]
    shown = read(os.path.join(out, "html", "docs", "api-python", "index.html"))
    lost += [f"braid.{name}" for name in names_of_python(tree) if f'id="braid.{name}"' not in shown]
    shown = html.unescape(re.sub(r"<[^>]*>", "", read(os.path.join(out, "html", "docs", "api-cpp", "index.html"))))
    lost += [f"braid::{name}" for name in names_of_cpp(tree) if not re.search(rf"^braid::{name}\b", shown, re.M)]
    return [f"{name} is not in the book" for name in lost]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def names_of_python(tree):
    exported = re.search(r"^__all__ = \[(.*?)\]", read(os.path.join(tree, "python", "braid", "__init__.py")), re.M | re.S).group(1)
    return re.findall(r'"(\w+)"', exported)


def names_of_cpp(tree):
    return re.findall(r"^(?:template <class T> )?using (\w+) =", read(os.path.join(tree, "include", "braid", "braid.hpp")), re.M) + ["kernel", "task"]


def report(number, name, faults):
    print(f"{'not ok' if faults else 'ok'} {number} - {name}")
    for fault in faults:
        print(f"# {fault}")
    return bool(faults)


def main():
    tree, version = sys.argv[1:]
    print("1..2")
    with tempfile.TemporaryDirectory() as out:
        failed = report(1, "manual pages are whole", check_man(tree, version, out))
        missing = missing_parts()
        if missing:
            print(f"ok 2 - the book builds without a warning # SKIP no {', '.join(missing)}")
        else:
            failed = report(2, "the book builds without a warning", check_html(tree, version, out)) or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
