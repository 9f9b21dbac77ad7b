// SPDX-License-Identifier: Apache-2.0
// Kernels that stand for those of a file's nodes: they take the arguments that the file tells of.
#ifndef BRAID_TOOL_TASK_KERNEL_H
#define BRAID_TOOL_TASK_KERNEL_H

#include <stdbool.h>

#include <braid/kernel.h>

#include "dot_file.h"

// One for each list of sizes, since all nodes of one kernel take the same; it lasts as long as the
// program. NULL: no memory.
const braid_kernel *task_kernel(const struct dot_arg *args, uint32_t num_args, bool may_be_inside,
                                bool reads_grid);

#endif
