# SPDX-License-Identifier: Apache-2.0
"""Prints a TAP case for each thing that is checked."""


def print_cases(items, name_of, faults_of):
    """Returns the exit status: 1 if something has a fault, or if there is nothing to check."""
    failed = not items
    print(f"1..{len(items)}")
    for number, item in enumerate(items, 1):
        faults = list(faults_of(item))
        print(f"{'not ok' if faults else 'ok'} {number} - {name_of(item)}")
        for fault in faults:
            print(f"# {fault}")
        failed |= bool(faults)
    return int(failed)
