// SPDX-License-Identifier: Apache-2.0
// The reference: the same physics in plain C loops over dense arrays, without Braid.
#ifndef MPM_SEQUENTIAL_H
#define MPM_SEQUENTIAL_H

#include "scene.h"

struct mpm_sequential {
    const struct mpm_scene *scene;
    mpm_particle *particles[MPM_NUM_MATERIALS];
    mpm_cell *cells[MPM_NUM_MATERIALS];      // num_cells * num_cells each
    mpm_vector *velocity[MPM_NUM_MATERIALS]; //
    unsigned *foam;
    uint64_t *total_ns; // by frame
    uint32_t num_frames;
};

void mpm_sequential_init(struct mpm_sequential *state, const struct mpm_scene *scene,
                         uint32_t max_frames);
void mpm_sequential_finish(struct mpm_sequential *state);

// Computes the next frame.
void mpm_sequential_step(struct mpm_sequential *state);

#endif
