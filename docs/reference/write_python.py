#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the Python package as Markdown for Sphinx: write_python.py PACKAGE_FOLDER OUT_FOLDER.

The package is read and not imported, since it needs the library: signatures and texts are those of its sources.
"""
import ast
import os
import sys

PARTS = (("Graphs", ("Graph", "Memory", "Kernel", "Node", "Resource", "Parameter", "Trap", "inout", "read", "write")),
         ("Devices", ("Device", "DeviceInfo", "Backend", "backends", "Stream", "Event", "Pointer", "Places", "Link")),
         ("Plans", ("Schedule", "ScheduleInfo", "Placement", "Step", "Serialisation", "PlannedCopy", "CostModel")),
         ("Execs", ("Exec", "ExecOptions", "ExecInfo", "RunningNode")),
         ("Times and tuning", ("Timings", "FrameTiming", "NodeTiming", "LaneTiming", "WaitTiming", "Spread", "tune", "Tuning", "Trial")),
         ("Several ranks", ("Ranks", "Communicator")),
         ("Errors", ("Error", "HostCallError", "Failure", "log_to", "version")))


def read_package(folder):
    """Definitions by name, of all modules, and the names that the package exports."""
    found, exported = {}, []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.setdefault(node.name, node)
            elif name == "__init__.py" and isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
                exported = ast.literal_eval(node.value)
    return found, exported


def options_of(found, annotation):
    """What `**how: Unpack[Options]` stands for: those of the class and of its bases."""
    name = annotation.slice.id if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Unpack" else None
    return fields_of(found, name) if name else []


def fields_of(found, name):
    node = found.get(name)
    if not isinstance(node, ast.ClassDef):
        return []
    inherited = [field for base in node.bases for field in fields_of(found, ast.unparse(base))]
    return inherited + [(one.target.id, ast.unparse(one.annotation)) for one in node.body
                        if isinstance(one, ast.AnnAssign) and not one.target.id.startswith("_")]


def signature_of(found, node):
    how = node.args.kwarg
    spelled = options_of(found, how.annotation) if how and how.annotation else []
    node.args.kwarg = None if spelled else how
    arguments = [argument for argument in ast.unparse(node.args).split(", ") if argument and argument != "self"]
    if spelled and "*" not in arguments and not node.args.kwonlyargs and not node.args.vararg:
        arguments.append("*")
    arguments += [f"{name}: {annotation} = ..." for name, annotation in spelled]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return f"({', '.join(arguments)}){returns}"


def text_of(node):
    return (ast.get_docstring(node) or "").split("\n")


def directive(kind, signature, lines, fence="::::"):
    return [f"{fence}{{py:{kind}}} {signature}", *lines, "", fence, ""]


def is_property(node):
    return any(ast.unparse(one).split(".")[-1] == "property" for one in node.decorator_list)


def describe_member(found, node):
    lines = [""] + text_of(node)
    if is_property(node):
        kind = f":type: {ast.unparse(node.returns)}" if node.returns else ""
        return directive("property", node.name, ([kind] if kind else []) + lines, ":::")
    static = any(ast.unparse(one) in ("staticmethod", "classmethod") for one in node.decorator_list)
    return directive("method", node.name + signature_of(found, node), ([":staticmethod:"] if static else []) + lines, ":::")


def describe(found, name):
    node = found[name]
    if isinstance(node, ast.FunctionDef):
        return directive("function", name + signature_of(found, node), [""] + text_of(node))
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    start = next((one for one in methods if one.name == "__init__"), None)
    lines = [""] + text_of(node) + [""]
    if start and text_of(start) != [""]:
        lines += text_of(start) + [""]
    for field, annotation in fields_of(found, name):
        lines += directive("attribute", field, [f":type: {annotation}"], ":::")
    for one in methods:
        if not one.name.startswith("_") and not any("setter" in ast.unparse(mark) for mark in one.decorator_list):
            lines += describe_member(found, one)
    return directive("class", name + (signature_of(found, start) if start else ""), lines, "::::")


def main():
    package, out = sys.argv[1:]
    found, exported = read_package(package)
    parts = [(title, [name for name in names if name in exported]) for title, names in PARTS]
    told = {name for _, names in parts for name in names}
    rest = [name for name in exported if name not in told]
    parts[-1][1].extend(name for name in rest if name.endswith("Error"))
    more = [name for name in rest if not name.endswith("Error")]
    parts += [("More", more)] if more else []
    os.makedirs(out, exist_ok=True)
    lines = ["# The Python package", "", "What the package says of itself; `help(braid.Graph)` prints the same. [Python](../python.md) shows how it is used.", "",
             "```{py:module} braid", "```", ""]
    for title, names in parts:
        lines += [f"## {title}", ""]
        for name in names:
            lines += describe(found, name)
    with open(os.path.join(out, "index.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
