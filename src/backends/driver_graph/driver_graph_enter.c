// SPDX-License-Identifier: Apache-2.0
// Building loops and branches into a driver's graph: as nodes with bodies, or as a kernel each.
#include "backends/driver_graph/driver_graph_builder.h"

// If two loops or branches run at once, driver 580 may fail with CUDA_ERROR_LAUNCH_FAILED (719),
// and in the body of a third it may hang. Some of 250 random programs did on an H100 and an H200.
// So each is behind the one before; gpu_conditional_launch.c does the same for graphs.
static void collect_last_loop(struct graph_builder *builder)
{
    size_t i = 0;
    if (!builder->last_loop)
        return;
    while (i < builder->num_after && builder->after[i] != builder->last_loop)
        i++;
    if (i == builder->num_after)
        builder->after[builder->num_after++] = builder->last_loop;
}

braid_status braid_driver_graph_enter(struct graph_builder *builder, struct graph_lane *state,
                                      const braid_step *op)
{
    bool is_island = builder->stage->frame->tasks[op->node].kind == WORK_KERNEL;
    braid_driver_graph_collect_after(builder, state);
    if (is_island)
        return braid_driver_graph_build_task(builder, state, op);
    collect_last_loop(builder);
    braid_status status = braid_driver_graph_build_task(builder, state, op);
    builder->last_loop = state->last;
    return status;
}

braid_status braid_driver_graph_add_bodies(struct graph_builder *builder, const braid_step *op,
                                           const struct backend_task *task, gpu_node *out_node)
{
    const struct program *program = builder->stage->program;
    const struct program *body = &program->bodies[op->position];
    struct graph_playing *playing = builder->playing;
    const struct gpu_behind behind = graph_behind_here(builder);
    gpu_graph inside[2] = { NULL };
    braid_status status = braid_driver_graph_loops_add(playing->loops, &behind, program, body, task,
                                                       out_node, inside);
    playing->is_conditional = true;
    playing->num_nodes++; // the kernel before it
    for (uint32_t i = 0; i <= body->has_else && !status; i++)
        status = braid_driver_graph_build_region(builder, &body[i], inside[i]);
    return status;
}
