// SPDX-License-Identifier: Apache-2.0
// The simulation's memory on a device.
#ifndef MPM_WORLD_H
#define MPM_WORLD_H

#include <braid/braid.h>

#include "grid.h"
#include "scene.h"

#define MPM_MAX_MEMORIES 64

struct mpm_memory {
    braid_device *device;
    void *memory;
};

struct mpm_world {
    braid_device *device;                     // the first
    braid_device *devices[MPM_NUM_MATERIALS]; // by material
    uint32_t num_places;                      // how many devices they are dealt out to
    bool shared;
    const struct mpm_scene *scene;
    mpm_grids grids;
    mpm_particle *particles[MPM_NUM_MATERIALS];   // device memory
    struct mpm_memory memories[MPM_MAX_MEMORIES]; // all of it
    uint32_t num_memories;
};

// Allocates the grids, all inactive, and puts the scene's particles on the device.
void mpm_world_init(struct mpm_world *world, braid_device *device, const struct mpm_scene *scene);
// The same on several devices: each material is on one of them, water with its foam alone.
// Loops that look at another material's cells get copies of them, or, where they are `shared`, read
// them where they are.
void mpm_world_init_split(struct mpm_world *world, braid_device *const *devices,
                          uint32_t num_devices, bool shared, const struct mpm_scene *scene);
// The device, or place, that a material is on.
uint32_t mpm_world_place(const struct mpm_world *world, int material);
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
