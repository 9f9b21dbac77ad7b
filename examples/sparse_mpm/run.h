// SPDX-License-Identifier: Apache-2.0
// One run of the simulation: one device, one plan, one mode.
#ifndef MPM_RUN_H
#define MPM_RUN_H

#include <braid/braid.h>

#include "frame.h"
#include "scene.h"

// What to run and what to do on the way.
struct mpm_run {
    const char *title;
    const struct mpm_scene *scene;
    braid_device *device;
    uint32_t num_frames;
    braid_exec_options options;
    // Called before the first frame, NULL: nothing.
    void (*planned)(void *user, const struct mpm_frame *frame, const braid_exec *exec);
    // Called after each frame; the device is idle. NULL: nothing.
    void (*advanced)(void *user, const struct mpm_world *world, uint32_t frame);
    void *user;
};

struct mpm_result {
    braid_schedule_info schedule;
    braid_exec_info exec;
    uint64_t median_ns;     // of the frames' times, from launch until all work has ended
    uint64_t host_ns;       // of those, median until braid_exec_launch has returned
    struct mpm_state state; // at the end
};

void mpm_run(const struct mpm_run *run, struct mpm_result *out_result);

// Nanoseconds since some fixed moment.
uint64_t mpm_now_ns(void);

// The median of `values`, which are sorted on the way.
uint64_t mpm_median(uint64_t *values, uint32_t num_values);

#endif
