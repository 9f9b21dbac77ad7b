#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wraps the result of every call of the driver, and of what stands before it, in a C file, so that
one of them at a time can be read as success. Or lists them.

usage: mutate.py IN.c OUT.c
       mutate.py --list IN.c...

A site is called FILE:LINE, or FILE:LINE.N for the Nth of a line. The program that is built from the
output reads BRAID_MUTANT: the site whose result becomes 0, BRAID_OK and GPU_SUCCESS.
"""
import os
import re
import sys

# The driver's functions, what differs between vendors, and backends and players as others see them.
CALL = re.compile(r"\b(?:[a-z_]+(?:->|\.))*(?:api|vendor|nodes|ops|player)->([a-z_0-9]+)\(")

# These return no status.
NO_STATUS = {"describe", "close_device", "stream_cost_model", "graph_cost_model", "hip_error_name",
             "hip_error_string", "close", "get_info", "get_cost_model", "get_link", "release", "stream_handle",
             "kernel_unload", "task_finish", "task_goes_on", "destroy", "query", "follow", "most_frames",
             "find_running", "orders_frames", "num_iterations", "get_room", "make_operations"}
VOID_OPS = {"stream_destroy", "event_destroy", "finish", "settle", "end_launch"}  # the backend's and parts'; the driver's have one

# Results that mean nothing, or calls that no library under test makes: with the reason.
LEFT_OUT = {
    "gpu_host_call.c": "only HIP 5.2 needs it: any_hip_call_may_fail fails it on AMD's library",
    "hip_vendor.c host_call": "the interposer stands for HIP 5.2, which lacks it; CUDA's is tried",
    "hip_vendor.c device_properties": "as before: any_hip_call_may_fail fails it on AMD's library",
    "read_architecture": "does nothing but that call, which has a message of its own",
    "check_image": "Braid's own look: see code_objects_are_checked_before_they_are_loaded",
    "error_name": "only the text of a message",
    "error_string": "only the text of a message",
    "log_bytes": "only the text of a message",
    "log": "only the text of a message",
    "exec_launch.c update": "tells of no task, so no player fails: see islands_run_many_frames",
    "gpu_context.c hip_peek_error": "gives an error of before: see hip_errors_stay_the_programs",
    "gpu_context.c hip_take_error": "as before",
    "gpu_context.c exchange_capture_mode": "made a second time: see destroying_is_safe_whatever_the_driver_answers",
    "exec_launch.c event_query": "only the text of a message",
    "stream_wrap": "fails only for want of memory: see any_allocation_may_fail",
    "nccl_library.c": "calls NCCL, which these tests do not: see the_table_fits_nccl_h",
    "rank_link.c": "calls NCCL, which these tests do not: see ranks_fail_on_devices; ncclGetUniqueId is failed by no test",
    "cpu_blocker.c": "calls the table of ranks, which these tests do not: see tests/ranks",
    "cpu_task.c": "as before",
    "add.c": "as before",
    "audit_by_kernels.c kernel_text": "fails only for want of memory: see audits_see_what_kernels_access",
    "audit_reach.c run_here": "fails only for want of memory: see audits_find_undeclared_accesses",
    "clone.c": "as before",
    "memory.c pointer_attribute": "memory of which the driver tells nothing counts as watched",
    "captured.c kernel_function": "only drivers that tell a kernel and no function need it; the stand-in tells both",
    "rank_exec.c event_query": "of ranks on a device, which these tests do not have: see ranks_work_on_devices",
    "exec_idle.c": "no sweep has a graph with outputs: see nodes_rest_while_all_that_need_them_do",
    "gpu_driver.c event_synchronize": "takes the place of a call that failed: a sweep fails one call",
    "streams_driven.c drive": "fails only for want of memory: see any_allocation_may_fail",
    "exec_traps.c": "no sweep of failures has a kernel with a trap yet",
}

HEAD = """\
#include <stdlib.h>
#include <string.h>
static inline int braid_mutate(const char *site, int result)
{
    static const char *chosen;
    if (!chosen)
        chosen = getenv("BRAID_MUTANT") ? getenv("BRAID_MUTANT") : "";
    return strcmp(site, chosen) == 0 ? 0 : result;
}
"""


def is_left_out(base, name):
    return name in LEFT_OUT or base in LEFT_OUT or f"{base} {name}" in LEFT_OUT


def end_of_call(text, start):
    """The place behind the parenthesis that closes the one before start."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[start], 0)
        start += 1
    return start


def find_calls(path):
    """Yields (start, end, site, name) of each call whose result is a status."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    base, seen = os.path.basename(path), {}
    for match in CALL.finditer(text):
        name, line = match.group(1), text.count("\n", 0, match.start()) + 1
        in_comment = "//" in text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        void = name in VOID_OPS and "ops->" in match.group(0)
        void = void or text.endswith("(void)", 0, match.start())  # ignored on purpose, as it says
        if in_comment or void or name in NO_STATUS or is_left_out(base, name):
            continue
        seen[line] = seen.get(line, 0) + 1
        site = f"{base}:{line}" + (f".{seen[line]}" if seen[line] > 1 else "")
        yield match.start(), end_of_call(text, match.end()), site, name


def mutate(path, out):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    marks = []
    for start, end, site, _ in find_calls(path):
        marks.append((start, f'braid_mutate("{site}", (int)('))
        marks.append((end, "))"))
    for place, mark in sorted(marks, key=lambda item: -item[0]):
        text = text[:place] + mark + text[place:]
    with open(out, "w", encoding="utf-8") as file:
        file.write(HEAD + f'#line 1 "{path}"\n' + text)


def main():
    if sys.argv[1] == "--list":
        for path in sys.argv[2:]:
            for _, _, site, name in find_calls(path):
                print(site, name)
    else:
        mutate(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
