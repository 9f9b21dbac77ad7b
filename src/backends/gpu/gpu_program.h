// SPDX-License-Identifier: Apache-2.0
// A plan as the driver's own graph: what building and replaying share.
#ifndef BRAID_BACKENDS_GPU_GPU_PROGRAM_H
#define BRAID_BACKENDS_GPU_GPU_PROGRAM_H

#include "backends/gpu/gpu_backend.h"

// A task of the program, kept for what may be changed later.
struct program_task {
    gpu_node node;
    enum backend_task_kind kind;
    struct backend_task task; // for set_args and messages; its args are not kept
};

struct backend_program {
    gpu_graph graph; // owns the nodes; kept because changes name nodes of it
    gpu_executable executable;
    struct program_task *tasks; // by task index
    uint32_t num_tasks;
    uint32_t num_nodes;
    uint32_t num_roots;
};

// Adds the plan's nodes and edges to program->graph: exactly the lane orders and the waits, and
// perhaps one kernel that does nothing before many roots.
braid_status braid_gpu_program_build(struct gpu_backend *gpu, const struct backend_plan *plan,
                                     struct backend_program *program, gpu_stream capture_stream);

#endif
