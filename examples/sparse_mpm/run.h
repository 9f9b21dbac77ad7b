// SPDX-License-Identifier: Apache-2.0
// One run of the simulation: one device, one plan, one mode.
#ifndef MPM_RUN_H
#define MPM_RUN_H

#include <braid/braid.h>

#include "frame.h"
#include "scene.h"

struct mpm_run {
    char title[64];
    const struct mpm_scene *scene;
    struct mpm_world world;
    struct mpm_frame frame;
    braid_exec *exec;
    uint64_t *total_ns; // by frame, from launch until all its work has ended
    uint64_t *host_ns;  // by frame, until braid_exec_launch has returned
    uint32_t num_frames, max_frames;
};

// Builds and plans the frame, with the costs given for its nodes (NULL: estimates). False where the
// device does not take the frame in that mode, after a line that says why; stops the program when
// anything else fails.
bool mpm_run_init(struct mpm_run *run, const char *title, braid_device *device,
                  const struct mpm_scene *scene, const uint64_t *costs_ns,
                  const braid_exec_options *options, uint32_t max_frames);
// The same with materials dealt out to the devices of a group (mpm_world_init_split),
// which are `devices`.
bool mpm_run_init_split(struct mpm_run *run, const char *title, braid_device *group,
                        braid_device *const *devices, bool shared, const struct mpm_scene *scene,
                        const braid_exec_options *options, uint32_t max_frames);
void mpm_run_finish(struct mpm_run *run);

// Replays the frame once and waits for it.
void mpm_run_step(struct mpm_run *run);

#endif
