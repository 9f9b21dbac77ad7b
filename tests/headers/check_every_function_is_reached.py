#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users of Python and of C++ reach every public function, and Python every field of a struct that the library
writes, but for those that their language does without. Who adds a function adds it there too, or a line here that says why not.

usage: check_every_function_is_reached.py SOURCE_ROOT
"""
import ast
import glob
import os
import re
import sys

# Each in the form in which programs call it: the library exports some of them as NAME_sized.
DECLARED = re.compile(r"\bBRAID_(?:API|INLINE)\b[^;{]*?\b(braid_\w+)\([^;{]*;")
STRUCT = re.compile(r"typedef struct (braid_\w+) \{(.*?)\n\} \1;", re.DOTALL)
WITHOUT = {
    "python/braid/*.py": {
        "braid_exec_set_args": "set_arg, one by one: a loop in Python costs more than the call",
    },
    "include/braid/cpp/*.hpp": {
        "braid_log_set": "a function without an object, as good in C++ as in C",
        "braid_get_version": "likewise",
    },
}

# The package's classes, the structs that they stand for, and the fields that they do without.
PLAN = {name: "PlanOptions has it" for name in ("max_lanes", "fixed_lanes", "ignore_costs", "costs", "places")}
CLASSES = {
    "Backend": ("braid_backend_info", {}),
    "CostModel": ("braid_cost_model", {}),
    "DeviceInfo": ("braid_device_info", {"place_model": "Device.places() reads it", "costs": "Device.cost_model() does"}),
    "ExecInfo": ("braid_exec_info", {}),
    "ExecOptions": ("braid_exec_options", {**PLAN, "schedule": "an argument of its own",
                                           "on_frame_end_user": "a function of Python needs none",
                                           "on_deadline_user": "likewise"}),
    "Finding": ("braid_audit_finding", {"resource": "`buffer` is its name"}),
    "FoundDevice": ("braid_found_device", {}),
    "FrameTiming": ("braid_frame_timing", {}),
    "ImportInfo": ("braid_import_info", {}),
    "LaneTiming": ("braid_lane_timing", {}),
    "Link": ("braid_place_link", {}),
    "Placement": ("braid_placement", {}),
    "PlanOptions": ("braid_schedule_options", {"device": "an argument of its own"}),
    "RunningNode": ("braid_running_node", {"num_words": "the length of `arguments`"}),
    "ScheduleInfo": ("braid_schedule_info", {
        "critical_path": "Schedule.critical_path is the list of its nodes",
        "num_critical": "the length of that list",
        "copies": "Schedule.copies is the list of them",
        "serialisations": "Schedule.serialisations is the list of them",
        "steps": "Schedule.steps is the list of them",
        "num_steps": "the length of that list",
    }),
    "Spread": ("braid_spread", {}),
    "Trial": ("braid_tune_trial", {}),
    "WaitTiming": ("braid_wait_timing", {}),
}


def read(paths):
    texts = []
    for path in sorted(paths):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def find_fields(text):
    """Of each struct, the names of its fields."""
    structs = {}
    for name, body in STRUCT.findall(re.sub(r"//[^\n]*", "", text)):
        fields = [re.sub(r"\[.*?\]", "", part).split()[-1].lstrip("*")
                  for line in body.split(";") if line.strip() for part in line.split(",")]
        structs[name] = set(fields)
    return structs


def find_classes(text):
    """Of each class, the names of its annotated fields."""
    return {node.name: {field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}
            for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}


def compare_structs(headers, package):
    structs, classes, wrong = find_fields(headers), find_classes(package), []
    for name, (struct, without) in CLASSES.items():
        fields, wanted = classes[name], structs[struct] - set(without)
        wrong += [f"{name} has no {field}, which {struct} has" for field in sorted(wanted - fields)]
        wrong += [f"{name} has {field}, which {struct} has not" for field in sorted(fields - wanted)]
    return wrong


def report(number, what, wrong):
    for line in wrong:
        print(f"# {line}")
    print(f"{'not ok' if wrong else 'ok'} {number} - {what}")
    return bool(wrong)


def main():
    root = sys.argv[1]
    headers = read(glob.glob(os.path.join(root, "include", "braid", "*.h")))
    functions = {name for name in DECLARED.findall(headers) if not name.endswith("_sized")}
    failed = not functions
    print(f"1..{len(WITHOUT) + 1}")
    for number, (pattern, without) in enumerate(WITHOUT.items(), 1):
        reached = set(re.findall(r"\bbraid_\w+", read(glob.glob(os.path.join(root, pattern)))))
        wrong = [f"{name} is not reached" for name in sorted(functions - reached - set(without))]
        wrong += [f"{name} is reached, or no function: it needs no excuse"
                  for name in sorted(without) if name in reached or name not in functions]
        failed |= report(number, f"{pattern} reaches all {len(functions)} but {len(without)}", wrong)
    package = "\n".join(read([path]).replace("from __future__ import annotations", "")
                        for path in glob.glob(os.path.join(root, "python", "braid", "*.py")))
    failed |= report(len(WITHOUT) + 1, f"{len(CLASSES)} classes of Python have all fields",
                     compare_structs(headers, package))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
