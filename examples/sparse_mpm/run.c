// SPDX-License-Identifier: Apache-2.0
// Builds the frame once, and replays it with another gravity every time.
#include "run.h"

#include <stdlib.h>
#include <time.h>

#include "../check.h"

uint64_t mpm_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare_values(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

uint64_t mpm_median(uint64_t *values, uint32_t num_values)
{
    qsort(values, num_values, sizeof(*values), compare_values);
    return values[num_values / 2];
}

static void replay(const struct mpm_run *run, const struct mpm_frame *frame, braid_exec *exec,
                   uint64_t *total_ns, uint64_t *host_ns)
{
    for (uint32_t i = 0; i < run->num_frames; i++) {
        uint64_t start = mpm_now_ns();
        mpm_frame_set_gravity(frame, exec, mpm_scene_gravity(run->scene, i));
        CHECK(braid_exec_launch(exec, NULL));
        host_ns[i] = mpm_now_ns() - start;
        CHECK(braid_exec_wait(exec));
        total_ns[i] = mpm_now_ns() - start;
        if (run->advanced)
            run->advanced(run->user, frame->world, i);
    }
}

static void replay_timed(const struct mpm_run *run, const struct mpm_frame *frame, braid_exec *exec,
                         struct mpm_result *result)
{
    uint64_t *times = check_memory(calloc((size_t)run->num_frames * 2, sizeof(*times)));
    replay(run, frame, exec, times, times + run->num_frames);
    result->median_ns = mpm_median(times, run->num_frames);
    result->host_ns = mpm_median(times + run->num_frames, run->num_frames);
    free(times);
}

void mpm_run(const struct mpm_run *run, struct mpm_result *out_result)
{
    struct mpm_world world;
    struct mpm_frame frame;
    braid_exec *exec;
    mpm_world_init(&world, run->device, run->scene);
    mpm_frame_init(&frame, &world);
    CHECK(braid_exec_create(run->device, frame.graph, &run->options, &exec));
    if (run->planned)
        run->planned(run->user, &frame, exec);
    replay_timed(run, &frame, exec, out_result);
    braid_schedule_get_info(braid_exec_schedule(exec), &out_result->schedule);
    braid_exec_get_info(exec, &out_result->exec);
    mpm_world_read(&world, &out_result->state);
    braid_exec_destroy(exec);
    mpm_frame_finish(&frame);
    mpm_world_finish(&world);
}
