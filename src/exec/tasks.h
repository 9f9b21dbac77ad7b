// SPDX-License-Identifier: Apache-2.0
// A graph's nodes as tasks of a backend, with storage for argument bytes and loaded kernels.
#ifndef BRAID_EXEC_TASKS_H
#define BRAID_EXEC_TASKS_H

#include "backends/backend.h"
#include "graph/graph.h"

struct tasks {
    struct backend *backend;
    struct backend_task *items; // one a node, by node index
    uint32_t num;
    unsigned char *arg_bytes; // as in the graph, then as set for the next launch
    size_t num_arg_bytes;
    void **args;                     // pointers into arg_bytes, node by node
    uint32_t *arg_sizes;             //
    uint32_t max_args;               // of any node
    void **scratch_args;             // max_args pointers, for changing arguments
    struct backend_kernel **kernels; // loaded, each once
    size_t num_kernels;
    bool has_native;
};

// Loads the kernels of all nodes and copies their arguments. Names live in the schedule.
// Errors: BRAID_UNSUPPORTED (a kernel has no code for the device), BRAID_INVALID_ARGUMENT (two
// nodes give one kernel arguments of different sizes), BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_tasks_create(braid_device *device, const braid_graph *graph,
                                struct tasks *out_tasks);

void braid_tasks_finish(struct tasks *tasks);

// Gives each task the name and lane it has in the schedule, for messages.
void braid_tasks_name(struct tasks *tasks, const braid_schedule *schedule);

#endif
