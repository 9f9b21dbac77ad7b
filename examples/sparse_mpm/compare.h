// SPDX-License-Identifier: Apache-2.0
// Compares a state with the sequential reference.
#ifndef MPM_COMPARE_H
#define MPM_COMPARE_H

#include "sequential.h"
#include "world.h"

struct mpm_difference {
    uint32_t num_particles;  // all of them
    uint32_t num_different;  // particles that differ in any bit
    uint32_t num_foam_cells; // cells whose foam differs
    float max_distance;      // between positions, in cells
};

struct mpm_difference mpm_compare(const struct mpm_scene *scene, const struct mpm_state *state,
                                  const struct mpm_sequential *reference);

#endif
