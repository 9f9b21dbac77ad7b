// SPDX-License-Identifier: Apache-2.0
// The life of an island on a device, in which calls may fail at any place.
#ifndef BRAID_TESTS_GPU_HIP_ISLAND_LIFE_H
#define BRAID_TESTS_GPU_HIP_ISLAND_LIFE_H

#include "gpu/life.h"

// Opens a device, makes an exec of one island with so many lanes, runs a frame, changes a grid,
// which makes the island again, runs another, and destroys it all: see life_live. The first call
// that fails is the last one made but for those that destroy. Asserts that two frames ran where
// nothing failed and `runs`.
void island_life_live(struct life *life, uint32_t num_lanes, bool runs);

#endif
