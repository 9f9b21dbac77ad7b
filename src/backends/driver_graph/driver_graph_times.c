// SPDX-License-Identifier: Apache-2.0
// Times of the nodes of a driver's graph: writing them, their memory, and reading them.
#include "backends/driver_graph/driver_graph_times.h"

#include <string.h>

#include "backends/driver_graph/driver_graph_tally.h"
#include "backends/gpu/gpu_clock.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/store.h"

enum {
    MOST_STAMPS = 32,               // a node has no more; its blocks spread over them
    MOST_FRAME_BYTES = 4096 * 1024, // beyond which nodes have fewer
    KEEP_THREADS = 256,
    ROWS_A_BLOCK = KEEP_THREADS / 32,
    MOST_KEEP_BLOCKS = 128,
};

static const char what_times[] = "the times of frames";

// The stamps of a node, as the kernels that read them find it.
struct stamp_row {
    uint32_t first, num;
};

struct graph_time {
    uint32_t row;
    bool inside;               // the task writes its times itself
    struct gpu_kernel *kernel; // that does; NULL: it is in an island, or between two stamps
};

struct graph_times {
    struct gpu_backend *gpu;
    braid_device *device;
    braid_stream *stream; // leased, for reading the clock
    const struct program *program;
    struct graph_time *nodes; // by task
    struct stamp_row *rows;
    uint32_t num_rows;
    struct stamp_row *bodies;      // rows of its nodes, by region
    struct graph_tallies *tallies; // NULL: the plan has no body
    struct gpu_kernel stamp, keep; // GPU_OWN_STAMP and GPU_OWN_KEEP
    void **args;                   // the launch's own and GPU_STAMP_PARAMETERS more
    void *stamps;                  // where that launch writes
    uint32_t mask;
    // On the device: rows, the counter, the stamps of the frame at hand, and the times kept.
    // These have one stamp a row, for `room` frames in turn.
    unsigned char *memory;
    size_t counter_at, stamps_at, kept_at, num_bytes;
    uint32_t room;
    uint64_t num_frames; // launched
    struct store store;  // holds the arrays
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

// Gives each task its stamps, those of an island one each, in the order of its calls. *end: how far
// the stamps reach.
static void lay_out_program(struct graph_times *times, const struct stage *stage,
                            const struct program *program, uint32_t most, uint64_t *end)
{
    uint32_t island = 0, first = times->num_rows;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[program->lane_ops[i]];
        if (!program_takes_time(program, op))
            continue;
        const struct backend_task *task = &stage->frame->tasks[op->node];
        struct stamp_row *row = &times->rows[times->num_rows];
        row->first = (uint32_t)*end;
        row->num = program_in_island(program, i, &island) ? 1 : spread_of(task, most);
        times->nodes[op->node].row = times->num_rows++;
        *end += row->num == 1 ? 1 : row->num * GPU_STAMPS_APART;
    }
    if (program->region != PLAN_NONE)
        times->bodies[program->region] = (struct stamp_row){ first, times->num_rows - first };
    for (uint32_t i = 0; i < program->num_bodies; i++)
        lay_out_program(times, stage, &program->bodies[i], most, end);
}

// Returns how many stamps there are.
static uint64_t lay_out_stamps(struct graph_times *times, const struct stage *stage, uint32_t most)
{
    uint64_t end = 0;
    times->num_rows = 0;
    lay_out_program(times, stage, times->program, most, &end);
    return end;
}

static void lay_out(struct graph_times *times, const struct stage *stage)
{
    uint32_t most = MOST_STAMPS;
    uint64_t num = lay_out_stamps(times, stage, most);
    for (; num * sizeof(struct gpu_stamp) > MOST_FRAME_BYTES && most > 1; most /= 2)
        num = lay_out_stamps(times, stage, most / 2);
    times->counter_at = ((size_t)times->num_rows * sizeof(struct stamp_row) + 15) / 16 * 16;
    times->stamps_at = times->counter_at + sizeof(struct gpu_stamp);
    times->kept_at = times->stamps_at + (size_t)num * sizeof(struct gpu_stamp);
    times->num_bytes =
        times->kept_at + (size_t)times->num_rows * times->room * sizeof(struct gpu_stamp);
}

static braid_status take_memory(struct graph_times *times)
{
    void *memory = NULL;
    braid_status status =
        braid_gpu_kept_memory_take(times->gpu, BRAID_MEMORY_DEVICE,
                                   times->num_bytes + sizeof(uint64_t), // the last: a clock's
                                   &memory);
    times->memory = memory;
    return status;
}

// All except the times kept, which every frame writes.
static braid_status upload(struct graph_times *times)
{
    unsigned char *begin = braid_allocate_zeroed(times->kept_at, 1);
    if (!begin)
        return braid_error_no_memory(what_times);
    if (times->num_rows)
        memcpy(begin, times->rows, times->num_rows * sizeof(*times->rows));
    braid_status status = take_memory(times);
    if (!status)
        status = braid_gpu_copy_now(times->gpu, times->memory, begin, times->kept_at,
                                    "making room for times");
    braid_free(begin);
    return status;
}

static braid_status find_kernels(struct graph_times *times)
{
    struct gpu_backend *gpu = times->gpu;
    braid_status status = braid_gpu_clock_check(gpu);
    if (!status)
        status = braid_gpu_find_graph_kernel(gpu, GPU_OWN_STAMP, &times->stamp.function);
    if (!status)
        status = braid_gpu_find_graph_kernel(gpu, GPU_OWN_KEEP, &times->keep.function);
    if (status || times->keep.function)
        return status;
    return braid_error(BRAID_UNSUPPORTED,
                       "%s: nodes of graphs keep no times: its driver does not take the text of "
                       "the kernel that gathers them",
                       gpu->label);
}

static uint32_t count_keep_blocks(const struct graph_times *times)
{
    uint32_t blocks = (times->num_rows + ROWS_A_BLOCK - 1) / ROWS_A_BLOCK;
    return blocks > MOST_KEEP_BLOCKS ? MOST_KEEP_BLOCKS : blocks ? blocks : 1;
}

static braid_status fill(struct graph_times *times, const struct stage *stage)
{
    const struct tasks *tasks = stage->program->tasks;
    times->nodes = braid_store_take(&times->store, tasks->num, sizeof(*times->nodes));
    times->rows = braid_store_take(&times->store, tasks->num, sizeof(*times->rows));
    times->bodies = braid_store_take(&times->store, tasks->num_regions, sizeof(*times->bodies));
    times->args = braid_store_take(&times->store, (size_t)tasks->max_args + GPU_STAMP_PARAMETERS,
                                   sizeof(*times->args));
    if (times->store.failed)
        return braid_error_no_memory(what_times);
    if (times->program->is_island)
        return braid_gpu_clock_check(times->gpu);
    braid_status status = find_kernels(times);
    if (status)
        return status;
    lay_out(times, stage);
    status = upload(times);
    if (status || !times->program->num_bodies)
        return status;
    const struct graph_stamps stamps = { .stamps = times->memory + times->stamps_at,
                                         .rows = times->memory,
                                         .counter = times->memory + times->counter_at,
                                         .num_rows = times->num_rows,
                                         .room = times->room,
                                         .keep_blocks = count_keep_blocks(times),
                                         .num_tasks = tasks->num,
                                         .num_regions = tasks->num_regions };
    return braid_driver_graph_tallies_create(times->gpu, &stamps, &times->tallies);
}

braid_status braid_driver_graph_times_create(const struct stage *stage,
                                             struct graph_times **out_times)
{
    struct graph_times *times = braid_allocate_zeroed(1, sizeof(*times));
    if (!times)
        return braid_error_no_memory(what_times);
    times->gpu = gpu_from(stage->device->backend);
    times->program = stage->program;
    times->room = stage->num_profiled;
    times->device = stage->device;
    braid_status status = braid_device_lease_stream(stage->device, 0, &times->stream);
    if (!status)
        status = fill(times, stage);
    if (status)
        braid_driver_graph_times_destroy(times);
    else
        *out_times = times;
    return status;
}

void braid_driver_graph_times_destroy(struct graph_times *times)
{
    if (!times)
        return;
    for (uint32_t i = 0; times->nodes && i < times->program->tasks->num; i++) {
        if (times->nodes[i].kernel)
            braid_gpu_kernel_unload(&times->gpu->base, &times->nodes[i].kernel->base);
    }
    if (times->stream)
        braid_device_return_stream(times->device, times->stream);
    braid_gpu_kept_memory_leave(times->gpu, times->memory);
    braid_driver_graph_tallies_destroy(times->tallies);
    braid_store_finish(&times->store);
    braid_free(times);
}

static unsigned char *stamps_of(const struct graph_times *times, uint32_t task)
{
    const struct stamp_row *row = &times->rows[times->nodes[task].row];
    return times->memory + times->stamps_at + (size_t)row->first * sizeof(struct gpu_stamp);
}

bool braid_driver_graph_times_launch_again(struct graph_times *times,
                                           const struct backend_task *task,
                                           struct backend_launch *out_launch)
{
    const struct graph_time *time = &times->nodes[task->node];
    const struct backend_launch *launch = &task->launch;
    if (!time->kernel)
        return false;
    if (launch->num_args)
        memcpy(times->args, launch->args, launch->num_args * sizeof(*times->args));
    times->stamps = stamps_of(times, task->node);
    times->mask = times->rows[time->row].num - 1;
    times->args[launch->num_args] = &times->stamps;
    times->args[launch->num_args + 1] = &times->mask;
    *out_launch = *launch;
    out_launch->kernel = &time->kernel->base;
    if (!time->kernel->base.waits_first)
        out_launch->start = BACKEND_STARTS_IN_ORDER;
    out_launch->args = times->args;
    out_launch->num_args = launch->num_args + GPU_STAMP_PARAMETERS;
    return true;
}

braid_status braid_driver_graph_times_launch(struct graph_times *times,
                                             const struct backend_task *task,
                                             struct backend_launch *out_launch, bool *out_inside)
{
    struct graph_time *time = &times->nodes[task->node];
    *out_launch = task->launch;
    *out_inside = time->inside;
    if (time->inside) // by its calls
        return BRAID_OK;
    braid_status status = braid_gpu_kernel_load_changed(
        times->gpu, gpu_kernel_from(task->launch.kernel), KERNEL_WRITES_TIMES, &time->kernel);
    if (status)
        return status;
    time->inside = *out_inside = braid_driver_graph_times_launch_again(times, task, out_launch);
    return BRAID_OK;
}

braid_status braid_driver_graph_times_add_stamp(struct graph_times *times,
                                                const struct gpu_behind *behind,
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
    gpu_result result =
        times->gpu->vendor->nodes->add_kernel(times->gpu, behind, &launch, out_node, &slot);
    return braid_gpu_check_task(times->gpu, result, slot, task, NULL);
}

void *braid_driver_graph_times_of_island(struct graph_times *times, uint32_t first_task)
{
    return stamps_of(times, first_task);
}

void braid_driver_graph_times_note_inside(struct graph_times *times, uint32_t task)
{
    times->nodes[task].inside = true;
}

// The calls write where times are kept.
braid_status braid_driver_graph_times_add_whole(struct graph_times *times, uint32_t num_stamps,
                                                void **out_stamps)
{
    times->num_rows = num_stamps;
    times->num_bytes = (size_t)num_stamps * times->room * sizeof(struct gpu_stamp);
    braid_status status = take_memory(times);
    *out_stamps = times->memory;
    return status;
}

void braid_driver_graph_times_note_stamp(struct graph_times *times, uint32_t task, uint32_t stamp)
{
    times->nodes[task].row = stamp;
    times->nodes[task].inside = true;
}

uint32_t braid_driver_graph_times_next(const struct graph_times *times)
{
    return (uint32_t)(times->num_frames % times->room);
}

braid_status braid_driver_graph_times_add_keep(struct graph_times *times,
                                               const struct gpu_behind *behind)
{
    void *stamps = times->memory + times->stamps_at, *kept = times->memory + times->kept_at;
    void *counter = times->memory + times->counter_at, *rows = times->memory;
    void *args[] = { &stamps, &kept, &counter, &rows, &times->num_rows, &times->room };
    const struct backend_launch launch = {
        .kernel = &times->keep.base,
        .grid = { count_keep_blocks(times), 1, 1 },
        .block = { KEEP_THREADS, 1, 1 },
        .num_args = 6,
        .args = args,
    };
    gpu_node node;
    const void *slot = NULL;
    gpu_result result =
        times->gpu->vendor->nodes->add_kernel(times->gpu, behind, &launch, &node, &slot);
    return braid_gpu_check(times->gpu, result, slot, "adding the end of a graph");
}

braid_status braid_driver_graph_times_add_tally(struct graph_times *times,
                                                const struct gpu_behind *behind, uint32_t region,
                                                gpu_node *out_node)
{
    const struct stamp_row *rows = &times->bodies[region];
    return braid_driver_graph_tallies_add(times->tallies, behind, rows->first, rows->num, out_node);
}

struct graph_tallies *braid_driver_graph_times_tallies(const struct graph_times *times)
{
    return times->tallies;
}

void braid_driver_graph_times_launched(struct graph_times *times, uint32_t num_frames)
{
    times->num_frames += num_frames;
}

// A stamp that no block wrote is zero.
static struct profile_span span_of(const struct gpu_stamp *stamp)
{
    if (!stamp->not_begun || !stamp->ended)
        return (struct profile_span){ 0 };
    return (struct profile_span){ ~stamp->not_begun, stamp->ended };
}

static braid_status read_frame(const struct graph_times *times, const struct gpu_stamp *kept,
                               struct profile *profile)
{
    const struct program *program = times->program;
    struct profile_span *ops = &profile->ops[profile->num_frames * profile->num_ops];
    for (size_t i = 0; i < program->num_ops; i++) {
        const struct graph_time *time = &times->nodes[program->ops[i].node];
        if (!program_takes_time(program, &program->ops[i]))
            continue;
        ops[i] = span_of(&kept[time->row]);
        profile->timers[i] = time->inside ? PROFILE_INSIDE : PROFILE_AROUND;
    }
    return braid_profile_fill_in(program, ops, &profile->frames[profile->num_frames++]);
}

static void read_bodies(const struct graph_times *times, const struct program *program,
                        uint64_t frame, struct profile *profile)
{
    struct profile_tally *to = &profile->tallies[(size_t)profile->num_frames * profile->num_nodes];
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        const struct program *body = &program->bodies[i];
        for (size_t k = 0; k < body->num_ops; k++) {
            const uint32_t node = body->ops[k].node;
            const struct graph_time *time = &times->nodes[node];
            if (!program_takes_time(body, &body->ops[k]))
                continue;
            to[node] = braid_driver_graph_tally_of(times->tallies, frame, node, time->row);
            profile->tally_timers[node] = time->inside ? PROFILE_INSIDE : PROFILE_AROUND;
        }
        read_bodies(times, body, frame, profile);
    }
}

braid_status braid_driver_graph_times_read(const struct graph_times *times,
                                           struct profile *out_profile)
{
    static const char what[] = "reading the times of frames";
    struct gpu_backend *gpu = times->gpu;
    size_t bytes = times->num_bytes - times->kept_at;
    uint64_t num = times->num_frames < times->room ? times->num_frames : times->room;
    struct gpu_stamp *kept = braid_allocate(bytes + 1);
    if (!kept)
        return braid_error_no_memory(what_times);
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (!status) {
        if (bytes)
            status = braid_gpu_copy_now(gpu, kept, times->memory + times->kept_at, bytes, what);
        if (!status && times->tallies)
            status = braid_driver_graph_tallies_read(times->tallies);
        braid_gpu_leave(gpu, &scope);
    }
    for (uint64_t i = times->num_frames - num; i < times->num_frames && !status; i++) {
        read_bodies(times, times->program, i, out_profile);
        status = read_frame(times, kept + i % times->room * times->num_rows, out_profile);
    }
    braid_free(kept);
    return status;
}

braid_status braid_driver_graph_times_read_clock(const struct graph_times *times,
                                                 struct profile *profile)
{
    return braid_gpu_read_clock(times->gpu, times->stream->backend,
                                times->memory + times->num_bytes, &profile->clock.host);
}
