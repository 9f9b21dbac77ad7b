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
};

void mpm_sequential_init(struct mpm_sequential *state, const struct mpm_scene *scene);
void mpm_sequential_finish(struct mpm_sequential *state);
void mpm_sequential_frame(struct mpm_sequential *state, mpm_vector gravity);

#endif
