#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a Meson build directory and counts cases, not executables.

Test programs speak TAP (cmocka does when asked); one that prints no TAP is one case, judged by its
exit status, where 77 means skipped. A crash, a time-out, or a plan not run to its end is a failure
that names the program. What a case prints just before it skips is the reason for the skip. Lines
that start with "summary: " are shown; everything else goes to the log file.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

RESULT = re.compile(r"^(not )?ok (\d+)\s*(?:- )?(.*)$")
GLUED_FAILURE = re.compile(r"(not )ok (\d+) - (.*)$")  # behind output without a newline
SKIP = re.compile(r"#\s*skip\b[:\s]*(.*)$", re.IGNORECASE)
PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*skip\b[:\s]*(.*))?$", re.IGNORECASE)
EXIT_SKIPPED = 77
SHORT = 0.3  # seconds of a test that nobody has measured


class Outcome:
    """What one test program came to."""

    def __init__(self, name):
        self.name = name
        self.passed = 0
        self.failures = []  # one line each
        self.skips = []  # one line each
        self.summaries = []
        self.seconds = 0.0
        self.output = ""

    def add_skip(self, case, reason):
        self.skips.append(f"{case}: {reason}" if case else reason)


def read_tap(outcome, lines):
    """Counts the cases of TAP lines; returns how many were planned, or None without a plan."""
    planned, seen, before = None, 0, []
    for line in lines:
        plan, result = PLAN.match(line), RESULT.match(line) or GLUED_FAILURE.search(line)
        if plan:
            planned = (planned or 0) + int(plan.group(1))
            if plan.group(1) == "0":
                outcome.add_skip("", plan.group(2) or "no reason given")
            before = []
        elif result:
            seen += result.group(2) != "0"
            count_case(outcome, result, before)
            before = []
        elif not line.startswith("#"):
            before.append(line)
    if planned is not None and seen < planned:
        missing = planned - seen
        outcome.failures += [f"case {seen + i + 1} of {planned} did not run" for i in range(missing)]
    return planned


def count_case(outcome, result, before):
    skip = SKIP.search(result.group(3))
    if skip:  # cmocka 1.1.5 writes "not ok N # SKIP name"
        name = result.group(3)[: skip.start()].strip()
        words = [text.strip() for text in before if text.strip()]
        reason = re.sub("^skipped: ", "", " ".join(words)) or "no reason given"
        outcome.add_skip(name or skip.group(1), reason)
    elif result.group(1):
        outcome.failures.append(result.group(3))
    else:
        outcome.passed += 1


def describe_exit(status):
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def judge(outcome, status, timed_out, limit):
    """Turns a program's output and exit status into counted cases."""
    lines = outcome.output.splitlines()
    outcome.summaries = [line for line in lines if line.startswith("summary: ")]
    planned = read_tap(outcome, lines)
    if timed_out:
        outcome.failures.insert(0, f"timed out after {limit:.0f} s")
    elif planned is None and status == 0:
        outcome.passed += 1
    elif planned is None and status == EXIT_SKIPPED:
        words = [line.strip() for line in lines if line.strip()]
        outcome.add_skip("", words[-1] if words else "no reason given")
    elif status < 0 or (status not in (0, EXIT_SKIPPED) and not outcome.failures):
        outcome.failures.insert(0, describe_exit(status))


def kill_group(process):
    """Ends the program and all it started, so that nothing outlives its test."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def full_name(test):
    """Meson names suites "project:suite"; a test without one has the project alone."""
    suites = [suite.split(":", 1)[1] for suite in test["suite"] if ":" in suite]
    return "/".join(suites[:1] + [test["name"]])


def is_in_suite(test, name):
    return any(suite.endswith(f":{name}") for suite in test["suite"])


def choose_cache(test, build):
    """Where Braid keeps what NVRTC made: tests in the suite "compiles" share it, and compile a text once."""
    if not is_in_suite(test, "compiles"):
        return "off"
    return os.environ.get("BRAID_TEST_CACHE") or os.path.join(os.path.abspath(build), "compiled")


def run_test(test, build, wrapper, multiplier):
    outcome = Outcome(full_name(test))
    ours = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "BRAID_CACHE": choose_cache(test, build), "BRAID_NVJITLINK": "off"}
    environment = {**os.environ, **ours, **test["env"]}
    limit = test["timeout"] * multiplier if test["timeout"] > 0 else None
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            wrapper + test["cmd"], cwd=test["workdir"] or build, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except OSError as error:
        outcome.failures.append(f"cannot start {test['cmd'][0]}: {error.strerror}")
        return outcome
    timed_out = False
    try:
        data, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        kill_group(process)
        data, _ = process.communicate()
    kill_group(process)
    outcome.seconds = time.monotonic() - start
    outcome.output = data.decode("utf-8", "replace")
    judge(outcome, process.returncode, timed_out, limit or 0)
    return outcome


def report(outcome, label, log):
    cases = outcome.passed + len(outcome.failures) + len(outcome.skips)
    word = "FAIL" if outcome.failures else "ok" if outcome.passed else "skip"
    print(f"{word:4} {label}{outcome.name}: {cases} case{'s' if cases != 1 else ''}, "
          f"{outcome.seconds:.1f} s")
    for line in outcome.summaries:
        print(f"     {line[len('summary: '):]}")
    for line in outcome.skips:
        print(f"     skipped: {line}")
    for line in outcome.failures:
        print(f"     failed: {line}")
    if outcome.failures:
        telling = [line for line in outcome.output.splitlines() if not line.startswith(("ok ", "# ok "))]
        for line in telling[-60:]:
            print(f"     | {line}")
    sys.stdout.flush()
    log.write(f"==== {label}{outcome.name}\n{outcome.output}\n")


def times_file(build):
    return os.path.join(build, "test-times.json")


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def read_seconds(build):
    """The seconds that each test took when it last ran in this build, by name. Before, those of the
    long tests elsewhere."""
    elsewhere = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seconds.json")
    return {**read_json(elsewhere), **read_json(times_file(build))}


def write_seconds(build, seconds):
    measured = read_json(times_file(build))
    measured.update({name: round(duration, 2) for duration, name in seconds})
    with open(times_file(build), "w", encoding="utf-8") as file:
        json.dump(measured, file, indent=1, sort_keys=True)


class Progress:
    """On a terminal, one line below the results: how many tests have ended, which still run, and the
    time left by what earlier runs measured."""

    def __init__(self, tests, build, jobs):
        self.left = [full_name(test) for test in tests]
        self.num, self.jobs, self.measured = len(tests), jobs, read_seconds(build)
        self.is_shown = sys.stderr.isatty()

    def clear(self):
        if self.is_shown:
            sys.stderr.write("\r\033[K")

    def show(self, ended=None):
        if ended:
            self.left.remove(ended)
        if not self.is_shown or not self.left:
            return
        seconds = sum(self.measured.get(name, SHORT) for name in self.left) / self.jobs
        line = (f"{self.num - len(self.left)} of {self.num} tests, about {seconds:.0f} s left, "
                f"now {self.left[0]}")
        sys.stderr.write(line[:shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()


def list_tests(build, patterns):
    text = subprocess.run(["meson", "introspect", "--tests", build], check=True,
                          stdout=subprocess.PIPE).stdout
    tests = json.loads(text)
    if patterns:
        tests = [test for test in tests if any(part in full_name(test) for part in patterns)]
    # Long ones first, so that the end is not one program alone.
    measured = read_seconds(build)
    return sorted(tests, key=lambda test: -measured.get(full_name(test), SHORT))


def mostly_waits(test):
    """A test in the suite "waiting" sleeps until some time is over, and needs no core for that."""
    return is_in_suite(test, "waiting")


def run_all(tests, arguments):
    """Yields outcomes as they come: parallel tests at once, then the others one by one."""
    together = [test for test in tests if test["is_parallel"]]
    alone = [test for test in tests if not test["is_parallel"]]
    rest = (arguments.build, arguments.wrapper.split(), arguments.patience)
    pools = [concurrent.futures.ThreadPoolExecutor(num) for num in (arguments.jobs, 1)]
    futures = [pools[mostly_waits(test)].submit(run_test, test, *rest) for test in together]
    for future in concurrent.futures.as_completed(futures):
        yield future.result()
    for test in alone:
        yield run_test(test, *rest)


def print_longest(seconds, label):
    """Where the time of a long run went."""
    if len(seconds) < 100:
        return
    print(f"{label}programs took {sum(pair[0] for pair in seconds):.0f} s together; the longest:")
    for duration, name in sorted(seconds, reverse=True)[:10]:
        print(f"{duration:8.1f} s  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="a configured and built Meson build directory")
    parser.add_argument("--only", action="append", default=[], help="run tests whose name has this in it")
    parser.add_argument("--label", default="", help="printed before each test's name")
    parser.add_argument("--totals", help="append 'passed failed skipped' to this file")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--patience", type=float, default=4.0, help="multiplies all time limits")
    parser.add_argument("--wrapper", default="", help="a command to run each test under")
    arguments = parser.parse_args()
    counts = [0, 0, 0]
    seconds = []
    with open(os.path.join(arguments.build, "test-log.txt"), "w", encoding="utf-8") as log:
        tests = list_tests(arguments.build, arguments.only)
        progress = Progress(tests, arguments.build, arguments.jobs)
        progress.show()
        for outcome in run_all(tests, arguments):
            progress.clear()
            report(outcome, arguments.label, log)
            progress.show(outcome.name)
            seconds.append((outcome.seconds, outcome.name))
            for i, num in enumerate((outcome.passed, len(outcome.failures), len(outcome.skips))):
                counts[i] += num
    write_seconds(arguments.build, seconds)
    print_longest(seconds, arguments.label)
    if not any(counts):
        wanted = f" whose name has {' or '.join(arguments.only)} in it" if arguments.only else ""
        print(f"FAIL {arguments.build} has no test{wanted}")
        counts[1] += 1
    if arguments.totals:
        with open(arguments.totals, "a", encoding="utf-8") as totals:
            totals.write("{} {} {}\n".format(*counts))
    else:
        print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
