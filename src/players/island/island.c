// SPDX-License-Identifier: Apache-2.0
// Playing a whole program as one kernel: an island. Lanes are groups of its threads.
//
// A frame is one launch on the caller's stream, so that what is before and behind it there is
// ordered by the driver; launches on other streams are queued behind the last by the caller. A
// frame's arguments are parameters of that launch: one in flight keeps its own.
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "players/island/island_program.h"
#include "players/players.h"

struct island_playing {
    struct playing base;
    struct gpu_backend *gpu;
    struct gpu_island *island;
    uint32_t *call_of; // by node
};

static braid_status create_inside(const struct stage *stage, struct island_playing *playing)
{
    struct island_lists lists;
    playing->call_of = braid_allocate_zeroed(stage->program->tasks->num, sizeof(*playing->call_of));
    if (!playing->call_of)
        return braid_error_no_memory("an island");
    braid_status status = braid_island_lists_of_program(stage, playing->call_of, &lists);
    if (status)
        return status;
    for (size_t i = 0; i < stage->program->num_ops; i++)
        playing->base.num_island_nodes += stage->program->ops[i].kind == PROGRAM_RUN;
    playing->base.num_islands = 1;
    bool chain = stage->program->num_lanes == 1;
    return braid_gpu_island_create(playing->gpu, &lists, chain, &playing->island);
}

static void free_playing(struct island_playing *playing)
{
    free(playing->call_of);
    free(playing);
}

static braid_status check(const struct stage *stage)
{
    const struct gpu_backend *gpu = gpu_from(stage->device->backend);
    if (stage->program->num_lanes == 0)
        return braid_error(BRAID_UNSUPPORTED, "there is nothing to put into an island");
    const struct program *program = stage->program;
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program->ops[i].kind != PROGRAM_RUN)
            continue;
        const struct backend_task *task = &stage->frame->tasks[program->ops[i].index];
        braid_status status = braid_gpu_island_check(gpu, task);
        if (status)
            return status;
    }
    return BRAID_OK;
}

static braid_status create(const struct stage *stage, struct playing **out_playing)
{
    struct island_playing *playing = calloc(1, sizeof(*playing));
    if (!playing)
        return braid_error_no_memory("an island");
    playing->gpu = gpu_from(stage->device->backend);
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(playing->gpu, &scope, "creation of an island");
    if (!status) {
        status = create_inside(stage, playing);
        braid_gpu_leave(playing->gpu, &scope);
    }
    if (status)
        free_playing(playing);
    else
        *out_playing = &playing->base;
    return status;
}

static braid_status set_bindings(struct playing *base, const struct backend_task *task)
{
    struct island_playing *playing = (struct island_playing *)base;
    braid_gpu_island_set_args(playing->island, playing->call_of[task->node], &task->launch);
    return BRAID_OK;
}

static braid_status launch(struct playing *base, braid_stream *stream,
                           struct play_result *out_result)
{
    struct island_playing *playing = (struct island_playing *)base;
    struct gpu_backend *gpu = playing->gpu;
    gpu_stream queue = gpu_stream_of(device_backend_stream(stream));
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "launch of an island");
    if (status)
        return status;
    braid_gpu_note_stream(gpu, queue);
    const struct backend_launch *island = braid_gpu_island_launch(playing->island, 1);
    gpu_result result = braid_gpu_launch_with_attributes(gpu, queue, island);
    braid_gpu_leave(gpu, &scope);
    out_result->queued = result == GPU_SUCCESS;
    return braid_gpu_check(gpu, result, &gpu->api->launch_config, "launch of an island");
}

static void destroy(struct playing *base)
{
    struct island_playing *playing = (struct island_playing *)base;
    struct gpu_scope scope;
    if (braid_gpu_enter_to_free(playing->gpu, &scope, "destruction of an island")) {
        braid_gpu_island_destroy(playing->gpu, playing->island);
        braid_gpu_leave(playing->gpu, &scope);
    }
    free_playing(playing);
}

// In an island a node is a call. The warps of one block see each other's progress in its shared
// memory, lanes of several blocks in the device's second cache.
static void get_model(struct backend *backend, bool narrow, braid_cost_model *out_model)
{
    const struct gpu_backend *gpu = gpu_from(backend);
    braid_cost_model graph;
    gpu->vendor->graph_cost_model(gpu, &graph);
    *out_model = (braid_cost_model){
        .default_cost_ns = graph.default_cost_ns,
        .node_ns = graph.island_call_ns,
        .wait_ns = narrow ? graph.island_wait_ns : graph.island_block_wait_ns,
        .root_ns = 20,
        .max_concurrent = narrow ? 32 : 128,
    };
}

static void get_narrow_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, true, out_model);
}

static void get_wide_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    get_model(backend, false, out_model);
}

#define ISLAND_PLAYER                                                                              \
    .mode = BRAID_MODE_NATIVE, .is_island = true, .launches_overlap = true, .check = check,        \
    .create = create, .set_bindings = set_bindings, .launch = launch, .destroy = destroy

const struct player braid_narrow_island_player = { .name = "island",
                                                   .get_cost_model = get_narrow_cost_model,
                                                   ISLAND_PLAYER };
const struct player braid_wide_island_player = { .name = "wide island",
                                                 .get_cost_model = get_wide_cost_model,
                                                 ISLAND_PLAYER };

#undef ISLAND_PLAYER
