// SPDX-License-Identifier: Apache-2.0
// A kernel that keeps its lane busy for a time and writes down when it started and ended.
#ifndef BRAID_TOOL_BUSY_KERNEL_H
#define BRAID_TOOL_BUSY_KERNEL_H

#include <stdint.h>

#include <braid/kernel.h>
#include <braid/timeline.h>

// Arguments: braid_interval *intervals, uint64_t node, uint64_t busy_ns, and so many addresses that
// it does not use. One block of one thread. NULL: no memory. It lives as long as the program.
const braid_kernel *busy_kernel(uint32_t num_addresses);

#endif
