// SPDX-License-Identifier: Apache-2.0
// A picture of the particles.
#ifndef MPM_PICTURE_H
#define MPM_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "scene.h"

enum { MPM_PICTURE_SIDE = 960 };

struct mpm_picture {
    uint8_t (*pixels)[3]; // MPM_PICTURE_SIDE rows, top first
};

// Draws particles[material][...]; foam[y * num_cells + x] whitens the water.
void mpm_picture_draw(struct mpm_picture *picture, const struct mpm_scene *scene,
                      mpm_particle *const *particles, const unsigned *foam);
void mpm_picture_finish(struct mpm_picture *picture);

// Returns false when the file cannot be written, or the program was built without libpng.
bool mpm_picture_write(const struct mpm_picture *picture, const char *path);

#endif
