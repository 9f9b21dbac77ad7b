// SPDX-License-Identifier: Apache-2.0
// A kernel that keeps its lane busy for a time and writes down when it started and ended.
#ifndef BRAID_TOOL_BUSY_KERNEL_H
#define BRAID_TOOL_BUSY_KERNEL_H

#include <stdint.h>

#include <braid/kernel.h>

// When a node ran, by the device's clock; both 0 while it has not.
struct interval {
    uint64_t start_ns, end_ns;
};

// Arguments: struct interval *intervals, uint64_t node, uint64_t busy_ns. One block of one thread.
extern const braid_kernel busy_kernel;

#endif
