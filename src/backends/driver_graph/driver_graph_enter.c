// SPDX-License-Identifier: Apache-2.0
// Building loops and branches into a driver's graph: as nodes with bodies, or as one kernel.
#include "backends/driver_graph/driver_graph_builder.h"

static uint32_t count_calls(const struct program *body)
{
    uint32_t num = 0;
    for (size_t i = 0; i < body->num_ops; i++)
        num += program_runs(body, &body->ops[i]);
    for (uint32_t i = 0; i < body->num_bodies; i++)
        num += count_calls(&body->bodies[i]);
    return num;
}

static braid_status build_island(struct graph_builder *builder, struct graph_lane *state,
                                 struct graph_island *item)
{
    const struct backend_task *task = &item->task;
    const bool is_timed = builder->playing->times != NULL;
    braid_driver_graph_collect_after(builder, state);
    braid_status status =
        is_timed ? braid_driver_graph_build_begin_stamp(builder, state, task) : BRAID_OK;
    if (!status)
        status = braid_driver_graph_build_kernel(builder, task, &task->launch, state, &item->node);
    state->last = item->node;
    return status || !is_timed ? status
                               : braid_driver_graph_build_end_stamp(builder, task, &state->last);
}

// The loop or branch is one kernel; *out_done false: it cannot be.
static braid_status enter_island(struct graph_builder *builder, struct graph_lane *state,
                                 const struct program *body, bool *out_done)
{
    struct graph_playing *playing = builder->playing;
    struct graph_island *item = NULL;
    bool is_inside = builder->stage->program->region != PLAN_NONE;
    braid_status status = braid_graph_islands->make_loop(
        &playing->islands, builder->gpu, builder->stage, body, is_inside, playing->times, &item);
    *out_done = item != NULL;
    if (!item)
        return status;
    status = build_island(builder, state, item);
    state->last_is_kernel = false; // its successor would wait on the device for all iterations
    state->last_task = body->node;
    state->first_wait = state->num_done + 1;
    playing->num_nodes++;
    playing->base.num_islands++;
    for (uint32_t arm = 0; arm <= body->has_else; arm++)
        playing->base.num_island_nodes += count_calls(&body[arm]);
    return status;
}

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
    const struct program *body = &builder->stage->program->bodies[op->position];
    bool done = false;
    braid_status status = body->is_island ? enter_island(builder, state, body, &done) : BRAID_OK;
    if (status || done)
        return status;
    braid_driver_graph_collect_after(builder, state);
    collect_last_loop(builder);
    status = braid_driver_graph_build_task(builder, state, op);
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
