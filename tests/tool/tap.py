# SPDX-License-Identifier: Apache-2.0
"""Runs a list of test functions and speaks TAP."""
import sys
import traceback


class Skip(Exception):
    """Raised with the reason."""


def run(tests):
    failed = False
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            test()
        except Skip as reason:
            print(f"skipped: {reason}")
            print(f"ok {number} # SKIP {test.__name__}")
        except Exception:  # whatever went wrong, the test failed
            failed = True
            print(f"not ok {number} - {test.__name__}")
            for line in traceback.format_exc().splitlines()[-40:]:
                print(f"# {line}")
        else:
            print(f"ok {number} - {test.__name__}")
        sys.stdout.flush()
    return 1 if failed else 0
