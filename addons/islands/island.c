// SPDX-License-Identifier: Apache-2.0
// Playing a whole program as one kernel: an island. Lanes are groups of its threads.
//
// A frame is one launch on the caller's stream, so the driver orders it with earlier and later work
// there. The caller queues launches on other streams behind the last. A frame's arguments are
// parameters of that launch, of the kernel or of a graph of it alone (island_graph.h). So a frame
// in flight keeps its own.
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "islands/island_graph.h"
#include "islands/island_model.h"
#include "islands/island_program.h"
#include "islands/island_times.h"

struct island_playing {
    struct playing base;
    struct gpu_backend *gpu;
    struct gpu_island *island;
    int32_t priority;           // the most urgent of its calls
    struct island_graph *graph; // NULL: frames are launched as kernels
    uint32_t *call_of;          // by node
    struct island_times *times; // NULL: nobody asked for times
};

static struct backend_launch with_priority(const struct island_playing *playing,
                                           const struct backend_launch *island)
{
    struct backend_launch launch = *island;
    launch.priority = playing->priority;
    return launch;
}

static braid_status create_graph(struct island_playing *playing)
{
    const struct backend_launch launch =
        with_priority(playing, braid_gpu_island_launch(playing->island, 1));
    return braid_island_graph_create(playing->gpu, &launch, &playing->graph);
}

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
        playing->base.num_island_nodes += program_runs(stage->program, &stage->program->ops[i]);
    playing->base.num_islands = 1;
    bool chain = lists.num_lanes == 1;
    playing->priority = braid_island_lists_priority(&lists);
    status = braid_gpu_island_create(playing->gpu, &lists, chain, &playing->island);
    if (!status)
        status = braid_gpu_island_reserve(playing->gpu, playing->island);
    if (!status && stage->num_profiled)
        status =
            braid_island_times_create(stage, playing->island, playing->call_of, &playing->times);
    else if (!status) // the parameters of a timed island are others in each frame
        status = create_graph(playing);
    if (status)
        braid_gpu_island_destroy(playing->gpu, playing->island);
    return status;
}

static void free_playing(struct island_playing *playing)
{
    braid_island_times_destroy(playing->times);
    free(playing->call_of);
    free(playing);
}

// Whether a node of it, or of a body, has work.
static bool has_calls(const struct program *program)
{
    bool has = false;
    for (size_t i = 0; i < program->num_ops && !has; i++)
        has = program_runs(program, &program->ops[i]);
    for (uint32_t i = 0; i < program->num_bodies && !has; i++)
        has = has_calls(&program->bodies[i]);
    return has;
}

static braid_status check(const struct stage *stage)
{
    struct gpu_backend *gpu = gpu_from(stage->device->backend);
    if (!has_calls(stage->program))
        return braid_error(BRAID_UNSUPPORTED, "there is nothing to put into an island");
    const struct program *program = stage->program;
    for (size_t i = 0; i < program->num_ops; i++) {
        if (!program_runs(program, &program->ops[i]))
            continue;
        const struct backend_task *task = &stage->frame->tasks[program->ops[i].node];
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

static braid_status let_grids_vary(struct island_playing *playing, const struct backend_task *task)
{
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter_task(playing->gpu, &scope, task);
    if (status)
        return status;
    status = braid_gpu_island_let_grids_vary(playing->gpu, &playing->island);
    braid_gpu_leave(playing->gpu, &scope);
    return status;
}

static braid_status update_call(struct island_playing *playing, const struct backend_task *task)
{
    braid_status status = BRAID_OK;
    uint32_t call = playing->call_of[task->node];
    if (task->kind == WORK_EMPTY)
        return BRAID_OK;
    if (braid_gpu_island_must_change(playing->island, call, task))
        status = let_grids_vary(playing, task);
    return status ? status : braid_gpu_island_set(playing->gpu, playing->island, call, task);
}

static braid_status update(struct playing *base, const struct backend_task *const *tasks,
                           uint32_t num, uint32_t frame)
{
    struct island_playing *playing = (struct island_playing *)base;
    braid_status status = BRAID_OK;
    braid_gpu_island_keep_rows(playing->island, frame);
    if (num)
        braid_island_graph_change(playing->graph);
    for (uint32_t i = 0; i < num && !status; i++)
        status = update_call(playing, tasks[i]);
    return status;
}

static braid_status check_task(const struct playing *base, const struct backend_task *task)
{
    const struct island_playing *playing = (const struct island_playing *)base;
    if (task->kind != WORK_KERNEL)
        return BRAID_OK;
    return braid_gpu_island_check_call(playing->island, playing->call_of[task->node], task);
}

// *out_slot is the call that failed.
static gpu_result queue_frames(struct island_playing *playing, gpu_stream queue,
                               uint32_t num_frames, struct play_result *out_result,
                               const void **out_slot)
{
    struct gpu_backend *gpu = playing->gpu;
    const struct backend_launch *island = NULL;
    bool in_rows = num_frames > 1 && braid_gpu_island_has_rows(playing->island);
    gpu_result result = GPU_SUCCESS;
    braid_gpu_note_stream(gpu, queue);
    *out_slot = &gpu->api->copy;
    if (playing->times)
        braid_island_times_begin(playing->times, playing->island);
    if (in_rows)
        result = braid_gpu_island_launch_in_rows(gpu, playing->island, queue, num_frames, &island);
    else
        island = braid_gpu_island_launch(playing->island, num_frames);
    if (result)
        return result;
    out_result->queued = in_rows; // the rows' copy
    const struct backend_launch launch = with_priority(playing, island);
    if (num_frames == 1 && !in_rows && braid_island_graph_takes(playing->graph))
        result = braid_island_graph_launch(playing->graph, &launch, queue, out_slot);
    else
        result = braid_gpu_launch(gpu, queue, &launch, out_slot);
    out_result->queued = out_result->queued || result == GPU_SUCCESS;
    if (!result && playing->times)
        braid_island_times_launched(playing->times, num_frames);
    return result;
}

static braid_status launch_many(struct playing *base, braid_stream *stream, uint32_t num_frames,
                                struct play_result *out_result)
{
    struct island_playing *playing = (struct island_playing *)base;
    struct gpu_backend *gpu = playing->gpu;
    struct gpu_scope scope;
    const void *slot = NULL;
    braid_status status = braid_gpu_enter(gpu, &scope, "launch of an island");
    if (status)
        return status;
    gpu_result result = queue_frames(playing, gpu_stream_of(device_backend_stream(stream)),
                                     num_frames, out_result, &slot);
    braid_gpu_leave(gpu, &scope);
    return braid_gpu_check(gpu, result, slot, "launch of an island");
}

static braid_status launch(struct playing *base, braid_stream *stream,
                           struct play_result *out_result)
{
    return launch_many(base, stream, 1, out_result);
}

static uint32_t most_frames(const struct playing *base, bool in_rows)
{
    return braid_gpu_island_most_frames(((const struct island_playing *)base)->island, in_rows);
}

static braid_status read_times(struct playing *base, struct profile *out_profile)
{
    return braid_island_times_read(((const struct island_playing *)base)->times, out_profile);
}

static braid_status read_clock(struct playing *base, struct profile *profile)
{
    return braid_island_times_read_clock(((const struct island_playing *)base)->times, profile);
}

static void find_running(const struct playing *base, struct running *running)
{
    braid_gpu_island_find_running(((const struct island_playing *)base)->island, NULL, running);
}

static void destroy(struct playing *base)
{
    struct island_playing *playing = (struct island_playing *)base;
    struct gpu_scope scope;
    bool current = braid_gpu_enter_to_free(playing->gpu, &scope, "destruction of an island");
    braid_island_graph_destroy(playing->graph, current);
    braid_gpu_island_destroy(playing->gpu, playing->island);
    if (current)
        braid_gpu_leave(playing->gpu, &scope);
    free_playing(playing);
}

#define ISLAND_PLAYER                                                                              \
    .mode = BRAID_MODE_GRAPH, .is_island = true, .launches_overlap = true, .check = check,         \
    .create = create, .update = update, .check_task = check_task, .launch = launch,                \
    .most_frames = most_frames, .launch_many = launch_many, .find_running = find_running,          \
    .read_times = read_times, .read_clock = read_clock, .destroy = destroy
static const struct player chain_player = {
    .name = "island of one lane",
    .get_cost_model = braid_island_get_chain_model,
    .get_room = braid_island_get_chain_room,
    ISLAND_PLAYER,
};
static const struct player narrow_player = {
    .name = "island",
    .get_cost_model = braid_island_get_narrow_model,
    .get_room = braid_island_get_narrow_room,
    ISLAND_PLAYER,
};
static const struct player wide_player = {
    .name = "wide island",
    .get_cost_model = braid_island_get_wide_model,
    .get_room = braid_island_get_wide_room,
    ISLAND_PLAYER,
};

#undef ISLAND_PLAYER

const struct player *const braid_island_players[] = {
    &chain_player,
    &narrow_player,
    &wide_player,
    NULL,
};
