// SPDX-License-Identifier: Apache-2.0
// The scene: what falls where, how fine the grid is, and how gravity turns.
#ifndef MPM_SCENE_H
#define MPM_SCENE_H

#include <stdint.h>

#include "physics.h"

struct mpm_scene {
    int num_cells;     // along each side of the square, a multiple of MPM_BLOCK_SIDE
    uint32_t substeps; // in a frame
    mpm_rules rules[MPM_NUM_MATERIALS];
    uint32_t num_particles[MPM_NUM_MATERIALS];
    mpm_particle *particles[MPM_NUM_MATERIALS]; // as they are at the start
};

extern const char *const mpm_material_names[MPM_NUM_MATERIALS];

// Makes a scene of about that many particles; the grid is as fine as they allow.
void mpm_scene_init(struct mpm_scene *scene, uint32_t num_particles);
void mpm_scene_finish(struct mpm_scene *scene);

// Gravity during a frame, in cells/s^2: down at first, then it turns once round.
mpm_vector mpm_scene_gravity(const struct mpm_scene *scene, uint32_t frame);

#endif
