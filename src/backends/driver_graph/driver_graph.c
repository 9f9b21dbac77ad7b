// SPDX-License-Identifier: Apache-2.0
// Playing a plan's program as the driver's own graph: instantiated once, launched on the caller's
// stream.
//
// The driver gives the ordering laws. A launch of an executable graph starts after earlier work on
// its stream, and later work on the stream starts after it. It also starts after the executable's
// last launch, on any stream. Changes to an executable's node touch later launches only.
#include "backends/driver_graph/driver_graph.h"

#include <stdio.h>

#include "backends/driver_graph/driver_graph_frames.h"
#include "backends/gpu/gpu_conditional_launch.h"
#include "backends/gpu/gpu_driver.h"
#include "backends/players.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

static void destroy_handles(struct gpu_backend *gpu, struct graph_playing *playing)
{
    static const char what[] = "destruction of a program";
    const struct gpu_api *api = gpu->api;
    if (playing->executable)
        braid_gpu_check_freed(gpu, api->executable_destroy(playing->executable),
                              &api->executable_destroy, what);
    if (playing->graph)
        braid_gpu_check_freed(gpu, api->graph_destroy(playing->graph), &api->graph_destroy, what);
    playing->executable = NULL;
    playing->graph = NULL;
}

static void free_playing(struct graph_playing *playing)
{
    if (playing->islands.items)
        braid_graph_islands->finish(playing->gpu, &playing->islands);
    braid_driver_graph_times_destroy(playing->times);
    braid_driver_graph_prefetches_destroy(playing->prefetches);
    braid_driver_graph_loops_destroy(playing->loops);
    braid_driver_graph_frames_leave(playing->frames);
    braid_free(playing->nodes);
    braid_free(playing->states);
    braid_free(playing);
}

static bool has_priorities(const struct stage *stage)
{
    bool found = stage->priority;
    for (uint32_t i = 0; i < stage->program->tasks->num && !found; i++) {
        const struct backend_task *task = &stage->frame->tasks[i];
        found = task->kind == WORK_KERNEL && task->launch.priority;
    }
    return found;
}

// The first launch uploads the graph. A graph that is uploaded but not yet launched slows every
// other graph of the process down. On an H200 with driver 580 a chain of 1000 empty kernels then
// takes 680 instead of 502 us, until that graph is launched (docs/cuda.md).
static braid_status instantiate(const struct stage *stage, const struct gpu_backend *gpu,
                                struct graph_playing *playing)
{
    char what[96];
    snprintf(what, sizeof(what), "instantiation of a graph of %u node%s", playing->num_nodes,
             playing->num_nodes == 1 ? "" : "s");
    gpu_result result = gpu->api->graph_instantiate(
        &playing->executable, playing->graph, braid_gpu_priority_flag(gpu, has_priorities(stage)));
    if (result)
        playing->executable = NULL;
    return braid_gpu_check(gpu, result, &gpu->api->graph_instantiate, what);
}

// Loops have none inside.
static bool has_queue_calls(const struct program *program, uint32_t place)
{
    for (size_t i = 0; i < program->num_ops; i++) {
        const struct backend_task *task = &program->tasks->items[program->ops[i].node];
        bool is_captured = task->kind == WORK_QUEUE || task->kind == WORK_POST;
        if (is_captured && task->place == place)
            return true;
    }
    return false;
}

// The device of place 0 is current here and in the next.
static braid_status open_capture(const struct stage *stage, uint32_t place, gpu_stream *out_stream)
{
    static const char what[] = "creation of a program";
    const struct gpu_backend *gpu = graph_gpu_of(stage, place);
    struct gpu_scope scope;
    braid_status status = place ? braid_gpu_enter(gpu, &scope, what) : BRAID_OK;
    if (status)
        return status;
    gpu_result result = gpu->api->stream_create(out_stream, GPU_STREAM_NON_BLOCKING,
                                                braid_gpu_clamp_priority(gpu, stage->priority));
    if (result)
        *out_stream = NULL;
    if (place)
        braid_gpu_leave(gpu, &scope);
    return braid_gpu_check(gpu, result, &gpu->api->stream_create, what);
}

// A stream may be destroyed while the device of another is current.
static void close_capture(const struct stage *stage, uint32_t place, gpu_stream stream)
{
    struct gpu_backend *gpu = graph_gpu_of(stage, place);
    if (stream)
        braid_gpu_check_freed(gpu, gpu->api->stream_destroy(stream), &gpu->api->stream_destroy,
                              "destruction of a stream for captures");
}

// Queue calls are captured on streams of its own, so that no stream of the program's is touched.
static braid_status build(const struct stage *stage, struct graph_playing *playing)
{
    gpu_stream streams[MOST_PLACES] = { NULL };
    uint32_t num = stage->places ? stage->places->num : 1;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        if (has_queue_calls(stage->program, i))
            status = open_capture(stage, i, &streams[i]);
    }
    if (!status)
        status = braid_driver_graph_playing_build(stage, playing, streams);
    for (uint32_t i = 0; i < num; i++)
        close_capture(stage, i, streams[i]);
    return status;
}

static braid_status create_frames(const struct stage *stage, struct graph_playing *playing)
{
    const struct graph_playing *first = (const struct graph_playing *)stage->first;
    return braid_driver_graph_frames_create(stage, first ? first->frames : NULL, &playing->frames);
}

// Islands write their times themselves, but the times are there before.
static braid_status create_islands(const struct stage *stage, struct graph_playing *playing)
{
    if (!braid_graph_islands)
        return BRAID_OK;
    struct graph_islands *islands = &playing->islands;
    braid_status status =
        braid_graph_islands->create(playing->gpu, stage, playing->loops, playing->times, islands);
    playing->base.num_islands = islands->num_made;
    playing->base.num_island_nodes = islands->num_nodes;
    return status;
}

// With the islands' program, if there are any.
static braid_status build_graph(const struct stage *stage, struct graph_playing *playing)
{
    struct gpu_backend *gpu = playing->gpu;
    struct stage left = *stage;
    if (playing->islands.items) {
        left.program = &playing->islands.program;
        left.frame = &playing->islands.frame;
    }
    gpu_result result = gpu->api->graph_create(&playing->graph, 0);
    if (result) {
        playing->graph = NULL;
        return braid_gpu_check(gpu, result, &gpu->api->graph_create, "creation of a graph");
    }
    braid_status status = build(&left, playing);
    if (!status)
        status = instantiate(&left, gpu, playing);
    braid_free(playing->islands.frame.tasks);
    playing->islands.frame.tasks = NULL;
    return status;
}

// A program that is one kernel can be launched without a graph. With times it has other parameters
// in each frame.
static braid_status build_whole(const struct stage *stage, struct graph_playing *playing)
{
    struct error_attempt attempt;
    if (playing->times)
        return BRAID_OK;
    braid_error_begin_attempt(&attempt);
    braid_status status = build_graph(stage, playing);
    bool is_refused = status == BRAID_DEVICE_ERROR && !failure_is_noted(&playing->device->failure);
    if (status == BRAID_UNSUPPORTED || is_refused)
        destroy_handles(playing->gpu, playing);
    if (is_refused)
        braid_error_end_noted(
            &attempt, braid_error(status, "an island has no graph: %s", braid_error_get_message()));
    else
        braid_error_end_attempt(&attempt, status == BRAID_UNSUPPORTED ? BRAID_OK : status);
    return is_refused || status == BRAID_UNSUPPORTED ? BRAID_OK : status;
}

static braid_status fill(const struct stage *stage, struct graph_playing *playing)
{
    playing->nodes = braid_allocate_zeroed(stage->program->tasks->num, sizeof(*playing->nodes));
    playing->states = braid_allocate_zeroed(stage->program->tasks->num, sizeof(*playing->states));
    if (!playing->nodes || !playing->states)
        return braid_error_no_memory("a program");
    braid_status status = braid_driver_graph_loops_create(stage, &playing->loops);
    if (!status && stage->num_profiled)
        status = braid_driver_graph_times_create(stage, &playing->times);
    if (!status)
        status = create_islands(stage, playing);
    if (!status)
        status = braid_driver_graph_prefetches_create(stage, &playing->prefetches);
    if (!status)
        status = create_frames(stage, playing);
    if (playing->frames)
        playing->base.num_events = stage->program->num_frame_positions;
    if (!status && playing->islands.is_whole)
        status = build_whole(stage, playing);
    else if (!status)
        status = build_graph(stage, playing);
    playing->base.overlaps = !playing->executable;
    if (!status)
        playing->base.num_prefetches = braid_driver_graph_prefetches_count(playing->prefetches);
    return status;
}

// A copy in a graph is not staged through the host.
static braid_status check_reach(const struct stage *stage)
{
    const struct places *places = stage->places;
    for (uint32_t from = 0; places && places->num > 1 && from < places->num; from++) {
        for (uint32_t to = 0; to < places->num; to++) {
            if (from != to && !(places->reaches[from] >> to & 1))
                return braid_error(BRAID_UNSUPPORTED,
                                   "%s does not reach the memory of %s, as copies in a graph must",
                                   places->devices[from]->label, places->devices[to]->label);
        }
    }
    return BRAID_OK;
}

static braid_status check(const struct stage *stage)
{
    if (stage->program->is_island) // no task of it is the driver's
        return BRAID_OK;
    braid_status status = check_reach(stage);
    if (!status)
        status = braid_driver_graph_loops_check(stage);
    return status ? status : braid_driver_graph_playing_check_changes(stage);
}

static braid_status create(const struct stage *stage, struct playing **out_playing)
{
    struct gpu_backend *gpu = gpu_from(stage->device->backend);
    struct graph_playing *playing = braid_allocate_zeroed(1, sizeof(*playing));
    if (!playing)
        return braid_error_no_memory("a program");
    playing->gpu = gpu;
    playing->device = stage->device;
    playing->priority = stage->priority;
    playing->places = stage->places;
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "creation of a program");
    if (status) {
        braid_free(playing);
        return status;
    }
    status = fill(stage, playing);
    if (status)
        destroy_handles(gpu, playing);
    braid_gpu_leave(gpu, &scope);
    if (status)
        free_playing(playing);
    else
        *out_playing = &playing->base;
    return status;
}

static bool is_inside(const struct graph_playing *playing, const struct backend_task *task)
{
    return graph_islands_have(&playing->islands, task->node);
}

// Hands changed arguments of islands to the executable's nodes.
static braid_status apply_islands(struct graph_playing *playing)
{
    struct graph_islands *islands = &playing->islands;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; islands->changed && i < islands->num && !status; i++) {
        struct graph_island *item = &islands->items[i];
        if (item->changed)
            status = braid_driver_graph_playing_set(playing, &item->task);
        item->changed = item->changed && status;
    }
    islands->changed = islands->changed && status;
    return status;
}

static braid_status update(struct playing *base, const struct backend_task *const *tasks,
                           uint32_t num, uint32_t frame)
{
    struct graph_playing *playing = (struct graph_playing *)base;
    braid_status status = BRAID_OK;
    if (playing->islands.is_whole) {
        braid_graph_islands->keep_rows(&playing->islands, frame);
        playing->base.overlaps = true; // it is launched as a kernel
    }
    for (uint32_t i = 0; i < num && !status; i++) {
        if (is_inside(playing, tasks[i]))
            status = braid_graph_islands->set(&playing->islands, playing->gpu, tasks[i]);
        else
            status = braid_driver_graph_playing_set(playing, tasks[i]);
    }
    return status || playing->islands.is_whole ? status : apply_islands(playing);
}

static braid_status check_task(const struct playing *base, const struct backend_task *task)
{
    const struct graph_playing *playing = (const struct graph_playing *)base;
    return is_inside(playing, task) ? braid_graph_islands->check(&playing->islands, task)
                                    : braid_driver_graph_playing_check(playing, task);
}

// Launches a program that is one kernel. On an H200 launching a kernel of 4 KB of arguments takes
// the host 4.5 to 5.7 us. Launching a graph of that kernel alone takes 1.4 to 2.2: the driver has
// its arguments already. So a frame with the arguments of the frame before is launched that way.
// Others are launched as a kernel, since telling the driver of new arguments takes as long as
// launching with them.
static gpu_result launch_whole(struct graph_playing *playing, gpu_stream queue, uint32_t num_frames,
                               bool *out_queued, const void **out_slot)
{
    struct gpu_backend *gpu = playing->gpu;
    struct graph_islands *islands = &playing->islands;
    struct graph_island *whole = &islands->items[0];
    const uint32_t first = playing->times ? braid_driver_graph_times_next(playing->times) : 0;
    const bool as_graph = playing->executable && num_frames == 1 && !islands->changed;
    if (num_frames == 1)
        islands->changed = false;
    *out_slot = &gpu->api->copy;
    gpu_result result =
        braid_graph_islands->begin(islands, gpu, queue, num_frames, first, out_queued);
    if (result)
        return result;
    playing->base.overlaps = playing->base.overlaps || !as_graph;
    if (!as_graph)
        return braid_gpu_launch(gpu, queue, &whole->task.launch, out_slot);
    *out_slot = &gpu->api->executable_set_kernel;
    if (whole->changed)
        result = gpu->vendor->nodes->set_kernel(
            gpu, playing->executable, playing->nodes[whole->task.node], &whole->task.launch);
    if (result)
        return result;
    whole->changed = false;
    *out_slot = &gpu->api->executable_launch;
    result = gpu->api->executable_launch(playing->executable, queue);
    playing->base.overlaps = playing->base.overlaps && result;
    return result;
}

static gpu_result launch_frames(struct graph_playing *playing, gpu_stream queue,
                                uint32_t num_frames, bool *out_queued, const void **out_slot)
{
    struct gpu_backend *gpu = playing->gpu;
    *out_slot = &gpu->api->executable_launch;
    if (playing->is_conditional)
        return braid_gpu_launch_conditional(gpu, playing->executable, queue, out_queued, out_slot);
    gpu_result result = playing->islands.is_whole
                            ? launch_whole(playing, queue, num_frames, out_queued, out_slot)
                            : gpu->api->executable_launch(playing->executable, queue);
    *out_queued = *out_queued || result == GPU_SUCCESS;
    return result;
}

static braid_status launch_many(struct playing *base, braid_stream *stream, uint32_t num_frames,
                                struct play_result *out_result)
{
    struct graph_playing *playing = (struct graph_playing *)base;
    struct gpu_backend *gpu = playing->gpu;
    gpu_stream queue = gpu_stream_of(stream->backend);
    const char *what = playing->islands.is_whole ? "launch of an island" : "launch of a graph";
    struct gpu_scope scope;
    const void *slot;
    braid_gpu_driver_await(gpu, stream->backend);
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    braid_gpu_note_stream(gpu, queue);
    gpu_result result = launch_frames(playing, queue, num_frames, &out_result->queued, &slot);
    braid_gpu_leave(gpu, &scope);
    if (out_result->queued && playing->times && (!result || !playing->islands.is_whole))
        braid_driver_graph_times_launched(playing->times, num_frames);
    return braid_gpu_check(gpu, result, slot, what);
}

static braid_status launch(struct playing *base, braid_stream *stream,
                           struct play_result *out_result)
{
    return launch_many(base, stream, 1, out_result);
}

static uint32_t most_frames(const struct playing *base, bool in_rows)
{
    const struct graph_playing *playing = (const struct graph_playing *)base;
    return playing->islands.is_whole ? braid_graph_islands->most_frames(&playing->islands, in_rows)
                                     : 1;
}

static braid_status read_times(struct playing *base, struct profile *out_profile)
{
    return braid_driver_graph_times_read(((const struct graph_playing *)base)->times, out_profile);
}

static braid_status read_clock(struct playing *base, struct profile *profile)
{
    return braid_driver_graph_times_read_clock(((const struct graph_playing *)base)->times,
                                               profile);
}

static uint64_t num_iterations(const struct playing *base, uint32_t loop, enum iterations which)
{
    return braid_driver_graph_loops_num_iterations(((const struct graph_playing *)base)->loops,
                                                   loop, which);
}

static void find_running(const struct playing *base, struct running *running)
{
    const struct graph_playing *playing = (const struct graph_playing *)base;
    if (playing->islands.items)
        braid_graph_islands->find_running(&playing->islands, running);
}

static void destroy(struct playing *base)
{
    struct graph_playing *playing = (struct graph_playing *)base;
    struct gpu_backend *gpu = playing->gpu;
    struct gpu_scope scope;
    if (braid_gpu_enter_to_free(gpu, &scope, "destruction of a program")) {
        destroy_handles(gpu, playing);
        braid_gpu_leave(gpu, &scope);
    }
    free_playing(playing);
}

static void get_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    const struct gpu_backend *gpu = gpu_from(backend);
    gpu->vendor->graph_cost_model(gpu, out_model);
}

const struct player braid_graph_player = {
    .name = "graph",
    .mode = BRAID_MODE_GRAPH,
    .plays_loops = true,
    .get_cost_model = get_cost_model,
    .check = check,
    .makes_islands = true,
    .create = create,
    .update = update,
    .check_task = check_task,
    .orders_frames = braid_driver_graph_frames_orders,
    .launch = launch,
    .most_frames = most_frames,
    .launch_many = launch_many,
    .read_times = read_times,
    .read_clock = read_clock,
    .num_iterations = num_iterations,
    .find_running = find_running,
    .destroy = destroy,
};
