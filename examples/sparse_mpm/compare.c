// SPDX-License-Identifier: Apache-2.0
// Compares bit by bit: the same sums on all devices leave nothing to tolerate.
#include "compare.h"

#include <math.h>
#include <string.h>

static void compare_particle(const mpm_particle *a, const mpm_particle *b,
                             struct mpm_difference *difference)
{
    difference->num_particles++;
    if (memcmp(a, b, sizeof(*a)) == 0)
        return;
    difference->num_different++;
    mpm_vector apart = mpm_subtract(a->position, b->position);
    difference->max_distance = fmaxf(difference->max_distance, sqrtf(mpm_dot(apart, apart)));
}

struct mpm_difference mpm_compare(const struct mpm_scene *scene, const struct mpm_state *state,
                                  const struct mpm_sequential *reference)
{
    struct mpm_difference difference = { 0 };
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        for (uint32_t i = 0; i < scene->num_particles[m]; i++)
            compare_particle(&state->particles[m][i], &reference->particles[m][i], &difference);
    for (int i = 0; i < scene->num_cells * scene->num_cells; i++)
        if (state->foam[i] != reference->foam[i])
            difference.num_foam_cells++;
    return difference;
}
