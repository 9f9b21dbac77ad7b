#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users of Python and of C++ reach every public function, but for those that their language does without.

usage: check_every_function_is_reached.py SOURCE_ROOT
"""
import glob
import os
import re
import sys

DECLARED = re.compile(r"BRAID_API\b[^;]*?\b(braid_\w+)\(")
BUNDLES = "the option prelude_of or epilogue_of of any node says it"
WITHOUT = {
    "python/braid/*.py": {
        "braid_exec_set_args": "set_arg, one by one: a loop in Python costs more than the call",
        "braid_graph_add_prelude": BUNDLES,
        "braid_graph_add_epilogue": BUNDLES,
        "braid_graph_reserve": "a graph grows by itself, and Python takes longer than that",
    },
    "include/braid/cpp/*.hpp": {
        "braid_graph_add_prelude": BUNDLES,
        "braid_graph_add_epilogue": BUNDLES,
        "braid_exec_set_user": "a lambda's captures are its user: what they refer to can change",
        "braid_backend_query": "a function without an object, as good in C++ as in C",
        "braid_num_backends": "likewise",
        "braid_log_set": "likewise",
        "braid_version": "likewise",
    },
}


def read(paths):
    texts = []
    for path in sorted(paths):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def main():
    root = sys.argv[1]
    declared = DECLARED.findall(read(glob.glob(os.path.join(root, "include", "braid", "*.h"))))
    functions = {name.removesuffix("_sized") for name in declared}
    failed = not functions
    print(f"1..{len(WITHOUT)}")
    for number, (pattern, without) in enumerate(WITHOUT.items(), 1):
        reached = set(re.findall(r"\bbraid_\w+", read(glob.glob(os.path.join(root, pattern)))))
        wrong = [f"{name} is not reached" for name in sorted(functions - reached - set(without))]
        wrong += [f"{name} is reached, or no function: it needs no excuse"
                  for name in sorted(without) if name in reached or name not in functions]
        for line in wrong:
            print(f"# {line}")
        print(f"{'not ok' if wrong else 'ok'} {number} - {pattern} reaches all {len(functions)} but {len(without)}")
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
