#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the test harness itself: nothing that went wrong may be counted as passed. Speaks TAP."""
import contextlib
import io
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

# title, output, exit status, (passed, failed, skipped)
CASES = [
    ("all pass", "1..2\nok 1 - a\nok 2 - b\n", 0, (2, 0, 0)),
    ("one fails", "1..2\nok 1 - a\nnot ok 2 - b\n# reason\n", 1, (1, 1, 0)),
    ("a crash half-way fails what did not run too", "1..3\nok 1 - a\n", -11, (1, 3, 0)),
    ("a failure at exit after all passed", "1..1\nok 1 - a\n", 1, (1, 1, 0)),
    ("a leak report of the sanitizer at exit", "1..1\nok 1 - a\nleaks!\n", 23, (1, 1, 0)),
    ("a plan that ends early with status 0", "1..2\nok 1 - a\n", 0, (1, 1, 0)),
    ("two groups in one program", "1..1\nok 1 - a\n1..1\nok 1 - b\n", 0, (2, 0, 0)),
    ("a second group that dies", "1..1\nok 1 - a\n1..2\n", -6, (1, 3, 0)),
    ("a group whose set-up fails", "1..2\nnot ok 0 - t [  FAILED  ] GROUP SETUP\n# ok - t\n", 2, (0, 3, 0)),
    ("a skip as old cmocka writes it", "1..1\nno GPU\nnot ok 1 # SKIP a\n", 0, (0, 0, 1)),
    ("a skip as new cmocka writes it", "1..1\nno GPU\nok 1 # SKIP a\n", 0, (0, 0, 1)),
    ("output glued to a result", "1..1\nprogress..ok 1 - a\n", 0, (0, 1, 0)),
    ("no TAP, status 0", "fine\n", 0, (1, 0, 0)),
    ("no TAP, status 1", "bad\n", 1, (0, 1, 0)),
    ("no TAP, status 77", "no device\n", 77, (0, 0, 1)),
    ("no TAP, killed", "", -9, (0, 1, 0)),
]


def count(output, status, timed_out):
    outcome = harness.Outcome("t")
    outcome.output = output
    harness.judge(outcome, status, timed_out, 1.0)
    return outcome, (outcome.passed, len(outcome.failures), len(outcome.skips))


def run_nothing():
    """What a name says that no test has."""
    harness.list_tests = lambda *_: []
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as build, contextlib.redirect_stdout(printed):
        sys.argv = ["harness.py", build, "--only", "plannr"]
        return harness.main(), printed.getvalue()


def main():
    results = [(title, count(output, status, False)[1] == wanted)
               for title, output, status, wanted in CASES]
    results.append(("a time-out fails", count("1..1\nok 1 - a\n", -9, True)[1] == (1, 1, 0)))
    outcome, _ = count("1..1\nnot here:\nno GPU\nok 1 # SKIP a\n", 0, False)
    results.append(("a skip keeps its reason", outcome.skips == ["a: not here: no GPU"]))
    outcome, _ = count("1..1\nno end of linenot ok 1 - a\n", 1, False)
    results.append(("a failure keeps its name whatever stands before it", outcome.failures == ["a"]))
    caches = [harness.choose_cache({"suite": suite}, "b") for suite in (["braid", "braid:gpu"], ["braid", "braid:gpu", "braid:compiles"])]
    results.append(("only tests that compile keep code", caches == ["off", os.environ.get("BRAID_TEST_CACHE") or os.path.abspath("b/compiled")]))
    status, printed = run_nothing()
    results.append(("running no test at all fails", status == 1 and "plannr" in printed))
    print(f"1..{len(results)}")
    for number, (title, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {title}")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
