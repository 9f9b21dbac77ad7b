// SPDX-License-Identifier: Apache-2.0
// The simulation's memory on a device.
#ifndef MPM_WORLD_H
#define MPM_WORLD_H

#include <braid/braid.h>

#include "grid.h"
#include "scene.h"

#define MPM_MAX_MEMORIES 64

struct mpm_world {
    braid_device *device;
    const struct mpm_scene *scene;
    mpm_grids grids;
    mpm_particle *particles[MPM_NUM_MATERIALS]; // device memory
    void *memories[MPM_MAX_MEMORIES];           // all of it
    uint32_t num_memories;
};

// Allocates the grids, all inactive, and puts the scene's particles on the device.
void mpm_world_init(struct mpm_world *world, braid_device *device, const struct mpm_scene *scene);
void mpm_world_finish(struct mpm_world *world);

// What a picture and a comparison need, in host memory.
struct mpm_state {
    mpm_particle *particles[MPM_NUM_MATERIALS];
    unsigned *foam; // [y * num_cells + x]
};

// Reads the state back; all work on it must have ended.
void mpm_world_read(const struct mpm_world *world, struct mpm_state *out_state);
void mpm_state_finish(struct mpm_state *state);

#endif
