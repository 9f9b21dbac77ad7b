// SPDX-License-Identifier: Apache-2.0
// Times of the calls of an island: they write them themselves, frame by frame.
#include "islands/island_times.h"

#include <stdlib.h>

#include "backends/gpu/gpu_clock.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "backends/gpu/gpu_ptx_stamps.h"
#include "base/array.h"
#include "base/error.h"

static const char what_times[] = "the times of frames";

struct island_times {
    struct gpu_backend *gpu;
    braid_device *device;
    braid_stream *stream; // leased, for reading the clock
    const struct program *program;
    uint64_t *stamp_of; // by task: which of a frame's
    uint64_t num_stamps;
    // On the device: of as many frames as are kept, in turn, and one for reading the clock.
    struct gpu_stamp *stamps;
    uint32_t room;
    uint64_t num_frames; // launched
};

static braid_status fill(struct island_times *times, struct gpu_island *island,
                         const uint32_t *call_of)
{
    const struct program *program = times->program;
    times->stamp_of = braid_allocate_zeroed(program->tasks->num, sizeof(*times->stamp_of));
    if (!times->stamp_of)
        return braid_error_no_memory(what_times);
    uint32_t num_in_lane;
    void *stamps = NULL;
    braid_status status = braid_gpu_clock_check(times->gpu);
    if (status)
        return status;
    times->num_stamps = braid_gpu_island_count_stamps(island, &num_in_lane);
    status = braid_gpu_kept_memory_take(
        times->gpu, BRAID_MEMORY_DEVICE,
        (times->num_stamps * times->room + 1) * sizeof(*times->stamps), &stamps);
    if (status)
        return status;
    times->stamps = stamps;
    braid_gpu_island_set_times(island, stamps, num_in_lane, times->room);
    for (size_t i = 0; i < program->num_ops; i++) {
        uint32_t task = program->ops[i].node;
        if (!program_runs(program, &program->ops[i]))
            continue;
        times->stamp_of[task] = braid_gpu_island_stamp_of(island, call_of[task]);
    }
    return BRAID_OK;
}

braid_status braid_island_times_create(const struct stage *stage, struct gpu_island *island,
                                       const uint32_t *call_of, struct island_times **out_times)
{
    struct island_times *times = calloc(1, sizeof(*times));
    if (!times)
        return braid_error_no_memory(what_times);
    times->gpu = gpu_from(stage->device->backend);
    times->program = stage->program;
    times->room = stage->num_profiled;
    times->device = stage->device;
    braid_status status = braid_device_lease_stream(stage->device, 0, &times->stream);
    if (!status)
        status = fill(times, island, call_of);
    if (status)
        braid_island_times_destroy(times);
    else
        *out_times = times;
    return status;
}

void braid_island_times_destroy(struct island_times *times)
{
    if (!times)
        return;
    if (times->stream)
        braid_device_return_stream(times->device, times->stream);
    braid_gpu_kept_memory_leave(times->gpu, times->stamps);
    free(times->stamp_of);
    free(times);
}

void braid_island_times_begin(struct island_times *times, struct gpu_island *island)
{
    braid_gpu_island_set_first(island, (uint32_t)(times->num_frames % times->room));
}

void braid_island_times_launched(struct island_times *times, uint32_t num_frames)
{
    times->num_frames += num_frames;
}

static braid_status read_frames(const struct island_times *times, const struct gpu_stamp *memory,
                                struct profile *profile)
{
    const struct program *program = times->program;
    uint64_t num = times->num_frames < times->room ? times->num_frames : times->room;
    braid_status status = BRAID_OK;
    for (uint64_t i = times->num_frames - num; i < times->num_frames && !status; i++) {
        const struct gpu_stamp *stamps = memory + i % times->room * times->num_stamps;
        struct profile_span *ops = &profile->ops[profile->num_frames * profile->num_ops];
        for (size_t op = 0; op < program->num_ops; op++) {
            if (!program_runs(program, &program->ops[op]))
                continue;
            const struct gpu_stamp *stamp = &stamps[times->stamp_of[program->ops[op].node]];
            if (!stamp->not_begun)
                continue;
            ops[op] = (struct profile_span){ ~stamp->not_begun, stamp->ended };
            profile->timers[op] = PROFILE_INSIDE;
        }
        status = braid_profile_fill_in(program, ops, &profile->frames[profile->num_frames++]);
    }
    return status;
}

braid_status braid_island_times_read(const struct island_times *times, struct profile *out_profile)
{
    static const char what[] = "reading the times of frames";
    size_t bytes = times->num_stamps * times->room * sizeof(*times->stamps);
    struct gpu_stamp *memory = malloc(bytes);
    if (!memory)
        return braid_error_no_memory(what_times);
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(times->gpu, &scope, what);
    if (!status) {
        status = braid_gpu_copy_now(times->gpu, memory, times->stamps, bytes, what);
        braid_gpu_leave(times->gpu, &scope);
    }
    if (!status)
        status = read_frames(times, memory, out_profile);
    free(memory);
    return status;
}

braid_status braid_island_times_read_clock(const struct island_times *times,
                                           struct profile *profile)
{
    return braid_gpu_read_clock(times->gpu, device_backend_stream(times->stream),
                                times->stamps + times->num_stamps * times->room,
                                &profile->clock.host);
}
