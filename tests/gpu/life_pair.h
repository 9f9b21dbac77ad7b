// SPDX-License-Identifier: Apache-2.0
// A life on two devices at once, in which driver calls may fail at any place.
#ifndef BRAID_TESTS_GPU_LIFE_PAIR_H
#define BRAID_TESTS_GPU_LIFE_PAIR_H

#include "gpu/life.h"

// Opens two devices and makes a group of them, and an exec with kernels on both, copies between
// them, a host call and a queue call on the second; on streams with two frames in flight. Changes
// it, runs it and destroys all with work in flight. What failed is tried once more, and then has to
// succeed. Asserts that results are right.
void life_live_on_two(struct life *life);

#endif
