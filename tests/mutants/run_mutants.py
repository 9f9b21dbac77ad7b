#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the result of one driver call at a time as success, and shows that the tests notice.

usage: run_mutants.py --sources FILE... --tests PROGRAM... [--calls NAME...] [--jobs N]

Prints a table of the calls, each with the test that noticed; exit status 1 when one survives. With
--calls only calls of these names are tried, the first of each in each file. BRAID_MUTANTS, when set,
holds words: only sites (FILE:LINE) that contain one of them are tried.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutate  # noqa: E402

SECONDS = 120  # a test that hangs has noticed


def notices(program, site):
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", CMOCKA_TEST_ABORT="1")
    if site:
        environment["BRAID_MUTANT"] = site
    try:
        done = subprocess.run([program], env=environment, stdin=subprocess.DEVNULL, timeout=SECONDS,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def short_name(program):
    return os.path.basename(program).replace("mutants_", "")


def find_witness(programs, site):
    return next((short_name(program) for program in programs if notices(program, site)), None)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", nargs="+", required=True)
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--calls", nargs="+")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    already = find_witness(arguments.tests, None)
    if already:
        print(f"{already} fails without any mutant")
        return 1
    mutants = list_mutants(arguments.sources, arguments.calls)
    survivors = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        witnesses = pool.map(lambda mutant: find_witness(arguments.tests, mutant[0]), mutants)
        for (site, name), witness in zip(mutants, witnesses):
            survivors += witness is None
            print(f"{site:32} {name:24} {witness or 'SURVIVED'}", flush=True)
    print(f"summary: {len(mutants)} results read as success, {survivors} not noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
