#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs files of pytest and speaks TAP: run_pytest.py FILE..."""
import importlib.util
import sys

sys.dont_write_bytecode = True
for needed in ("pytest", "numpy"):
    if importlib.util.find_spec(needed) is None:
        print(f"python3-{needed} is not installed")
        sys.exit(77)
import pytest  # noqa: E402


class Tap:
    """One line for each case, with the reason before those that are skipped."""

    def __init__(self):
        self.num, self.reason = 0, None

    def pytest_configure(self, config):
        config.option.verbose = 0  # the terminal's, which is off; explanations of asserts ask for it

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed" and report.when == "setup":
            self.num += 1
            name = report.nodeid.split("::", 1)[1]
            if report.skipped:
                print(report.longrepr[2])
                print(f"ok {self.num} - {name} # SKIP")
            else:
                print(f"{'ok' if report.passed else 'not ok'} {self.num} - {name}")
        if report.failed:
            print(f"not ok - {report.when} of {report.nodeid}" if report.when == "teardown" else "")
            print(report.longreprtext)

    def pytest_collectreport(self, report):
        if report.skipped:
            self.reason = report.longrepr[2]  # the whole file's
        if report.failed:
            print(report.longreprtext)
            print("not ok 1 - the file can be read")


def main():
    tap = Tap()
    status = pytest.main(["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:capture", *sys.argv[1:]], [tap])
    if tap.reason and not tap.num:
        print(tap.reason)
        return 77
    print(f"1..{tap.num}")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
