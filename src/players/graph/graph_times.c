// SPDX-License-Identifier: Apache-2.0
// Times of the nodes of a driver's graph: what writes them, where, and reading them.
#include "players/graph/graph_times.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_island_code.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/array.h"
#include "base/error.h"

enum {
    MOST_STAMPS = 32,               // of a node; its blocks spread over them
    MOST_FRAME_BYTES = 4096 * 1024, // beyond which nodes have fewer
};

static const char what_times[] = "the times of frames";

struct graph_time {
    uint32_t first, num;       // its stamps
    bool inside;               // the task writes its times itself
    struct gpu_kernel *kernel; // that does; NULL: it is in an island, or between two stamps
};

struct graph_times {
    struct gpu_backend *gpu;
    const struct program *program;
    struct graph_time *nodes; // by task
    struct gpu_kernel stamp;  // GPU_OWN_STAMP
    void **args;              // of the launch at hand: its own and GPU_STAMP_PARAMETERS more
    void *stamps;             // of that launch
    uint32_t mask;
    unsigned char *memory; // on the device: the frame at hand, then those kept
    size_t frame_bytes;
    uint32_t room;
    bool *is_whole;      // a frame kept: it was launched without a failure
    uint64_t num_frames; // begun
    bool is_used;        // the frame at hand may hold what is not zero
};

static uint32_t spread_of(const struct backend_task *task, uint32_t most)
{
    const braid_dim3 grid = task->kind == WORK_KERNEL ? task->launch.grid : (braid_dim3){ 1, 1, 1 };
    uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    uint32_t num = 1;
    while (num < most && num < blocks)
        num *= 2;
    return num;
}

static bool in_island(const struct program *program, size_t op, uint32_t *island)
{
    const struct program_island *islands = program->islands;
    while (*island < program->num_islands &&
           islands[*island].first_op + islands[*island].num_ops <= op)
        ++*island;
    return *island < program->num_islands && islands[*island].first_op <= op;
}

// Gives each task its stamps, those of an island one each, in the order of its calls.
static uint64_t place_stamps(struct graph_times *times, const struct stage *stage, uint32_t most)
{
    const struct program *program = times->program;
    uint64_t num = 0;
    uint32_t island = 0;
    for (size_t i = 0; i < program->num_ops; i++) {
        if (program->ops[i].kind != PROGRAM_RUN)
            continue;
        struct graph_time *time = &times->nodes[program->ops[i].index];
        const struct backend_task *task = &stage->frame->tasks[program->ops[i].index];
        time->first = (uint32_t)num;
        time->num = in_island(program, i, &island) ? 1 : spread_of(task, most);
        num += time->num;
    }
    return num;
}

static void place_all(struct graph_times *times, const struct stage *stage)
{
    uint32_t most = MOST_STAMPS;
    uint64_t bytes = place_stamps(times, stage, most) * sizeof(struct gpu_stamp);
    for (; bytes > MOST_FRAME_BYTES && most > 1; most /= 2)
        bytes = place_stamps(times, stage, most / 2) * sizeof(struct gpu_stamp);
    times->frame_bytes = bytes ? (size_t)bytes : sizeof(struct gpu_stamp);
}

static braid_status fill(struct graph_times *times, const struct stage *stage)
{
    const struct tasks *tasks = stage->program->tasks;
    times->nodes = braid_allocate_zeroed(tasks->num, sizeof(*times->nodes));
    times->is_whole = braid_allocate_zeroed(times->room, sizeof(*times->is_whole));
    times->args =
        braid_allocate_zeroed((size_t)tasks->max_args + GPU_STAMP_PARAMETERS, sizeof(*times->args));
    if (!times->nodes || !times->is_whole || !times->args)
        return braid_error_no_memory(what_times);
    braid_status status = braid_gpu_find_own(times->gpu, GPU_OWN_STAMP, &times->stamp.function);
    if (status)
        return status;
    if (!times->stamp.function)
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: nodes of graphs keep no times: its driver takes "
                           "no text",
                           times->gpu->label);
    place_all(times, stage);
    void *memory = NULL;
    status = braid_gpu_allocate(&times->gpu->base, BRAID_MEMORY_DEVICE,
                                times->frame_bytes * ((uint64_t)times->room + 1), &memory);
    times->memory = memory;
    return status;
}

braid_status braid_graph_times_create(const struct stage *stage, struct graph_times **out_times)
{
    struct graph_times *times = calloc(1, sizeof(*times));
    if (!times)
        return braid_error_no_memory(what_times);
    times->gpu = gpu_from(stage->device->backend);
    times->program = stage->program;
    times->room = stage->num_profiled;
    times->is_used = true;
    braid_status status = fill(times, stage);
    if (status)
        braid_graph_times_destroy(times);
    else
        *out_times = times;
    return status;
}

void braid_graph_times_destroy(struct graph_times *times)
{
    if (!times)
        return;
    for (uint32_t i = 0; times->nodes && i < times->program->tasks->num; i++) {
        if (times->nodes[i].kernel)
            braid_gpu_kernel_unload(&times->gpu->base, &times->nodes[i].kernel->base);
    }
    braid_gpu_island_memory_leave(times->gpu, BRAID_MEMORY_DEVICE, times->memory);
    free(times->nodes);
    free(times->is_whole);
    free(times->args);
    free(times);
}

static unsigned char *stamps_of(const struct graph_times *times, uint32_t task)
{
    return times->memory + (size_t)times->nodes[task].first * sizeof(struct gpu_stamp);
}

bool braid_graph_times_launch_again(struct graph_times *times, const struct backend_task *task,
                                    struct backend_launch *out_launch)
{
    const struct graph_time *time = &times->nodes[task->node];
    const struct backend_launch *launch = &task->launch;
    if (!time->kernel)
        return false;
    if (launch->num_args)
        memcpy(times->args, launch->args, launch->num_args * sizeof(*times->args));
    times->stamps = stamps_of(times, task->node);
    times->mask = time->num - 1;
    times->args[launch->num_args] = &times->stamps;
    times->args[launch->num_args + 1] = &times->mask;
    *out_launch = *launch;
    out_launch->kernel = &time->kernel->base;
    out_launch->starts_early = launch->starts_early && time->kernel->base.waits_first;
    out_launch->args = times->args;
    out_launch->num_args = launch->num_args + GPU_STAMP_PARAMETERS;
    return true;
}

braid_status braid_graph_times_launch(struct graph_times *times, const struct backend_task *task,
                                      struct backend_launch *out_launch)
{
    struct graph_time *time = &times->nodes[task->node];
    braid_status status = braid_gpu_kernel_load_stamped(
        times->gpu, gpu_kernel_from(task->launch.kernel), &time->kernel);
    if (status)
        return status;
    time->inside = braid_graph_times_launch_again(times, task, out_launch);
    return BRAID_OK;
}

braid_status braid_graph_times_add_stamp(struct graph_times *times, const struct gpu_place *place,
                                         const struct backend_task *task, bool ended,
                                         gpu_node *out_node)
{
    unsigned char *at =
        stamps_of(times, task->node) +
        (ended ? offsetof(struct gpu_stamp, ended) : offsetof(struct gpu_stamp, not_begun));
    uint64_t mask = ended ? 0 : UINT64_MAX;
    void *args[] = { &at, &mask };
    const struct backend_launch launch = {
        .kernel = &times->stamp.base,
        .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 },
        .num_args = 2,
        .args = args,
    };
    const void *slot = NULL;
    gpu_result result = times->gpu->vendor->add_kernel(times->gpu, place, &launch, out_node, &slot);
    return braid_gpu_check_task(times->gpu, result, slot, task, NULL);
}

void *braid_graph_times_of_island(struct graph_times *times, uint32_t first_task)
{
    return stamps_of(times, first_task);
}

void braid_graph_times_note_inside(struct graph_times *times, uint32_t task)
{
    times->nodes[task].inside = true;
}

static gpu_result zero(struct graph_times *times, gpu_stream stream, const void **out_slot)
{
    *out_slot = &times->gpu->api->fill32;
    gpu_result result =
        times->gpu->api->fill32(times->memory, 0, times->frame_bytes / sizeof(uint32_t), stream);
    times->is_used = result != GPU_SUCCESS;
    return result;
}

gpu_result braid_graph_times_begin(struct graph_times *times, gpu_stream stream,
                                   const void **out_slot)
{
    gpu_result result = times->is_used ? zero(times, stream, out_slot) : GPU_SUCCESS;
    if (result)
        return result;
    times->is_used = true;
    times->is_whole[times->num_frames++ % times->room] = false;
    return GPU_SUCCESS;
}

gpu_result braid_graph_times_end(struct graph_times *times, gpu_stream stream,
                                 const void **out_slot)
{
    size_t index = (times->num_frames - 1) % times->room;
    gpu_result result =
        times->gpu->vendor->copy(times->gpu, times->memory + (index + 1) * times->frame_bytes,
                                 times->memory, times->frame_bytes, stream, out_slot);
    if (result)
        return result;
    times->is_whole[index] = true;
    return zero(times, stream, out_slot);
}

// Stamps that no block wrote stay zero.
static struct profile_span span_of(const struct graph_time *time, const struct gpu_stamp *stamps)
{
    struct profile_span span = { 0 };
    for (uint32_t i = time->first; i < time->first + time->num; i++) {
        uint64_t begun = ~stamps[i].not_begun;
        if (stamps[i].not_begun && (!span.begin || begun < span.begin))
            span.begin = begun;
        if (stamps[i].ended > span.end)
            span.end = stamps[i].ended;
    }
    return span.begin && span.end ? span : (struct profile_span){ 0 };
}

static braid_status read_frame(const struct graph_times *times, const struct gpu_stamp *stamps,
                               struct profile *profile)
{
    const struct program *program = times->program;
    struct profile_span *ops = &profile->ops[profile->num_frames * profile->num_ops];
    for (size_t i = 0; i < program->num_ops; i++) {
        const struct graph_time *time = &times->nodes[program->ops[i].index];
        if (program->ops[i].kind != PROGRAM_RUN)
            continue;
        ops[i] = span_of(time, stamps);
        profile->timers[i] = time->inside ? PROFILE_INSIDE : PROFILE_AROUND;
    }
    return braid_profile_fill_in(program, ops, &profile->frames[profile->num_frames++]);
}

static braid_status read_frames(const struct graph_times *times, const unsigned char *memory,
                                struct profile *profile)
{
    uint64_t num = times->num_frames < times->room ? times->num_frames : times->room;
    braid_status status = BRAID_OK;
    for (uint64_t i = times->num_frames - num; i < times->num_frames && !status; i++) {
        size_t index = i % times->room;
        if (times->is_whole[index])
            status = read_frame(
                times, (const struct gpu_stamp *)(memory + index * times->frame_bytes), profile);
    }
    return status;
}

braid_status braid_graph_times_read(const struct graph_times *times, struct profile *out_profile)
{
    struct gpu_backend *gpu = times->gpu;
    size_t bytes = times->frame_bytes * times->room;
    unsigned char *memory = malloc(bytes);
    if (!memory)
        return braid_error_no_memory(what_times);
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "reading the times of frames");
    if (!status) {
        status = braid_gpu_copy_now(gpu, memory, times->memory + times->frame_bytes, bytes,
                                    "reading the times of frames");
        braid_gpu_leave(gpu, &scope);
    }
    if (!status)
        status = read_frames(times, memory, out_profile);
    free(memory);
    return status;
}
