#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the result of one driver call at a time as success, and shows that the tests notice.

usage: run_mutants.py --sources FILE... --tests COMMAND... [--calls NAME...] [--jobs N]

Prints a table of the calls, each with the test that noticed; exit status 1 when one survives. With
--calls only calls of these names are tried, the first of each in each file. BRAID_MUTANTS, when set,
holds words: only sites (FILE:LINE) that contain one of them are tried.
"""
import argparse
import concurrent.futures
import os
import shlex
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutate  # noqa: E402

# A test that hangs has noticed: it takes so many times as long as without a mutant, and so many
# seconds more for a machine that becomes busy.
TIMES, SECONDS = 5, 8

# A part of the driver's names for what has such a word in its name; others are called as it is without
# its underscores. A sweep that fails such functions alone is tried first: mostly it notices, in a
# second instead of minutes.
FUNCTIONS = (("host_call", "hostfunc"), ("launch", "launch"), ("fill", "memset"), ("copy", "memcpy"),
             ("allocate", "alloc"), ("free", "free"), ("capture", "capture"), ("current", "ctx"),
             ("context", "ctx"), ("executable", "exec"), ("function", "func"), ("kernel", "kernel"),
             ("edges", "dependenc"), ("module", "module"))


def find_functions(name):
    return next((part for word, part in FUNCTIONS if word in name), name.replace("_", ""))


def notices(command, site, seconds, only=None):
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", CMOCKA_TEST_ABORT="1", BRAID_CACHE="off")
    if only:
        environment["BRAID_SWEEP_ONLY"] = only
    if site:
        environment["BRAID_MUTANT"] = site
    try:
        done = subprocess.run(shlex.split(command), env=environment, stdin=subprocess.DEVNULL,
                              timeout=seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def short_name(command):
    names = [os.path.basename(word) for word in shlex.split(command)]
    return next(name for name in names if name.startswith("mutants_")).replace("mutants_", "")


class Programs:
    """The tests, and how long each takes without any mutant: found out once it is asked for."""

    def __init__(self, commands):
        self.commands, self.limits, self.lock = commands, {}, threading.Lock()
        self.failing = None  # a test that fails without any mutant would notice all of them

    def limit(self, command, only):
        with self.lock:
            if (command, only) not in self.limits:
                begin = time.monotonic()
                if notices(command, None, 600, only):
                    self.failing = short_name(command)
                self.limits[command, only] = TIMES * (time.monotonic() - begin) + SECONDS
            return self.limits[command, only]

    def first_that_notices(self, site, only):
        """Those of HIP first for what is HIP's alone, then the quickest."""
        commands = self.commands
        if not only:
            commands = sorted(commands, key=lambda command: self.limit(command, None))
        for command in sorted(commands, key=lambda command: "hip" in site and "hip" not in command):
            limit = self.limit(command, only)
            if self.failing:
                return None
            if notices(command, site, limit, only):
                return short_name(command)
        return None

    def find_witness(self, site, name):
        return (self.first_that_notices(site, find_functions(name)) or
                self.first_that_notices(site, None))


def list_mutants(sources, calls):
    chosen, seen, words = [], set(), os.environ.get("BRAID_MUTANTS", "").split()
    for source in sources:
        for _, _, site, name in mutate.find_calls(source):
            if words and not any(word in site for word in words):
                continue
            if calls and (name not in calls or (source, name) in seen):
                continue
            seen.add((source, name))
            chosen.append((site, name))
    return chosen


def find_forgotten(sources):
    """Files beside the sources that have calls too, and are not among them."""
    known = {os.path.realpath(source) for source in sources}
    top = os.path.commonpath(list(known))
    rings = sorted({os.path.relpath(path, top).split(os.sep)[0] for path in known})  # src and addons
    found = (os.path.join(folder, name) for ring in rings for folder, _, names in os.walk(os.path.join(top, ring)) for name in names)
    return sorted(path for path in found if path.endswith(".c") and path not in known
                  and any(mutate.find_calls(path)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", nargs="+", required=True)
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--calls", nargs="+")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    forgotten = find_forgotten(arguments.sources)
    if forgotten:
        print("tests/mutants/meson.build does not list", ", ".join(forgotten))
        return 1
    mutants = list_mutants(arguments.sources, arguments.calls)
    programs = Programs(arguments.tests)
    survivors = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        witnesses = pool.map(lambda mutant: programs.find_witness(*mutant), mutants)
        for (site, name), witness in zip(mutants, witnesses):
            survivors += witness is None
            print(f"{site:32} {name:24} {witness or 'SURVIVED'}", flush=True)
    if programs.failing:
        print(f"{programs.failing} fails without any mutant")
        return 1
    print(f"summary: {len(mutants)} results read as success, {survivors} not noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
