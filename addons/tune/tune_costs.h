// SPDX-License-Identifier: Apache-2.0
// Measuring the costs that tuning plans with.
#ifndef BRAID_TUNE_TUNE_COSTS_H
#define BRAID_TUNE_TUNE_COSTS_H

#include <braid/tune.h>

// Sets the graph's costs. If there is time in the budget, they are those in the plan from the costs
// of nodes alone. Writes how long a frame took. Errors: those of
// braid_exec_create and braid_exec_launch.
braid_status braid_tune_measure(braid_device *device, braid_graph *graph, uint64_t budget_ns,
                                uint64_t *out_frame_ns);

#endif
