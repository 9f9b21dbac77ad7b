#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public headers keep the rules of docs/stability.md for names, callbacks, units and sizes.

usage: check_rules.py INCLUDE_FOLDER

Prints each declaration that breaks a rule; exit status 1 when there is one.
"""
import glob
import os
import re
import sys

FUNCTION = re.compile(r"BRAID_(?:API|INLINE)\s+(?:BRAID_MUST_CHECK\s+)?([\w\s\*]+?)(\bbraid_\w+)\s*\(([^;]*?)\)\s*;", re.DOTALL)
CALLBACK = re.compile(r"typedef\s+([\w\s\*]+?)(\bbraid_\w+)\s*\(([^;]*?)\)\s*;", re.DOTALL)
STRUCT = re.compile(r"typedef struct (braid_\w+) \{(.*?)\n\} \1;", re.DOTALL)
FIELD = re.compile(r"\b(\w+)(?:\[\w*\])?\s*[,;]")

# Names of times end in _ns. Rates name both their units.
OTHER_UNITS = re.compile(r"_(ms|us|s|sec|seconds|kb|mb|kib|mib)$")
RATES = {"bytes_per_us"}
# A CPU kernel has `user` in its blocks: the calls of all its blocks share it.
WITHOUT_USER = {"braid_cpu_function"}
# Structs that keep their size for ever: handles, values, elements of lists, and all parts of a record.
FIXED = {"braid_" + name for name in (
    "access arg copy_values dim3 fill_values frame_timing header image import_buffer import_conditional import_range "
    "import_statement interval lane_timing node node_timing parameter parameter_rows place_link planned_copy "
    "record_allocation record_contents record_end record_frame record_graph record_kernel record_memory record_module record_node "
    "record_operation record_parameter record_stranger record_stream record_work resource "
    "rows running_node serialisation spread step trap wait_timing").split()}
EXPORTED = re.compile(r"BRAID_API\s[^;{]*?\b(braid_\w+)\(([^;{]*?)\);", re.DOTALL)
INLINE = re.compile(r"^BRAID_INLINE [^;{]*?\b(braid_\w+)\([^;{]*?\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
STRUCT_NAMES = re.compile(r"typedef struct (braid_\w+) \{")
# The object that each name begins with, where it is not the first parameter. These make the object.
MAKERS = re.compile(r"_(create|create_sized|open|open_group|wrap|allocate)$")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def parameters_of(text):
    return [" ".join(one.split()) for one in text.split(",") if one.strip() and one.strip() != "void"]


def check_function(result, name, parameters):
    """A function that answers with a value is a getter or a question; one of an exec takes an exec."""
    returned = " ".join(result.split())
    if returned not in ("void", "braid_status", "bool") and "_get_" not in name:
        yield f"{name} answers with a value, and has no _get_ in its name"
    owner = name.split("_")[1]
    if owner == "exec" and not MAKERS.search(name) and "braid_exec *exec" not in "".join(parameters[:1]):
        yield f"{name} does not take an exec first"
    if "FILE *file" in parameters and "_write" not in name:
        yield f"{name} takes a FILE, and has no _write in its name"
    if "const char *path" in parameters and not re.search("_(save|load)(_|$)", name):
        yield f"{name} takes a path, and has neither _save nor _load in its name"


def check_callback(name, parameters):
    """The program's pointer comes last, where the program finds it in each callback."""
    if name in WITHOUT_USER:
        return
    if not parameters or parameters[-1] != "void *user":
        yield f"{name}: its last parameter is not `void *user`"


def check_units(name, names):
    for one in names:
        if OTHER_UNITS.search(one) and one not in RATES:
            yield f"{name}: {one} is not in nanoseconds or bytes"


def pointed_to(text, structs):
    return {name for name in re.findall(r"\b(braid_\w+) (?:\*const )?\*", text) if name in structs and name not in FIXED}


def check_sizes(text, structs):
    """A struct that may grow crosses the border with its size, and lies in no other one."""
    bodies = {name: body for name, body in INLINE.findall(text)}
    for name, parameters in EXPORTED.findall(text):
        grown = pointed_to(parameters, structs)
        plain = name.removesuffix("_sized")
        if grown and plain == name:
            yield f"{name} takes {', '.join(sorted(grown))} without its size: FIXED lists what never grows"
        if plain == name:
            continue
        for given in re.findall(r"\bconst (braid_\w+) \*", parameters):  # and what it points to
            grown = grown | pointed_to(structs.get(given, ""), structs)
        for struct in sorted(grown):
            if f"sizeof({struct})" not in bodies.get(plain, ""):
                yield f"{plain} does not pass the size of {struct}"
    for name in STRUCT_NAMES.findall(text):
        inside = re.findall(r"^ {4}(braid_\w+) \w+;", structs[name], re.MULTILINE)
        for place, struct in enumerate(inside):
            is_first = place == 0 and structs[name].lstrip().startswith(struct)
            if struct in structs and struct not in FIXED and not (struct == "braid_node_options" and is_first):
                yield f"{name} has {struct} inside, which may grow"


def check_file(text, structs):
    text = without_comments(text)
    yield from check_sizes(text, structs)
    for result, name, parameters in FUNCTION.findall(text):
        parameters = parameters_of(parameters)
        yield from check_function(result, name, parameters)
        yield from check_units(name, [one.split()[-1].lstrip("*") for one in parameters])
    for _, name, parameters in CALLBACK.findall(text):
        yield from check_callback(name, parameters_of(parameters))
    for name, body in STRUCT.findall(text):
        yield from check_units(name, FIELD.findall(body))


def main():
    paths = sorted(glob.glob(os.path.join(sys.argv[1], "braid", "*.h")))
    texts = [open(path, encoding="utf-8").read() for path in paths]
    functions = sum(len(FUNCTION.findall(without_comments(text))) for text in texts)
    callbacks = sum(len(CALLBACK.findall(without_comments(text))) for text in texts)
    structs = dict(STRUCT.findall(without_comments("\n".join(texts))))
    broken = [fault for text in texts for fault in check_file(text, structs)]
    for fault in broken:
        print(fault)
    if functions < 80 or callbacks < 8:
        print(f"only {functions} functions and {callbacks} callbacks were found in {sys.argv[1]}")
        return 1
    print(f"{functions} functions and {callbacks} callbacks were looked at")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
