// SPDX-License-Identifier: Apache-2.0
// Costs of calls and waits in each shape of an island, and its room for the blocks of a call.
#ifndef BRAID_ISLANDS_ISLAND_MODEL_H
#define BRAID_ISLANDS_ISLAND_MODEL_H

#include "exec/exec_islands.h"

enum { ISLAND_NUM_SHAPES = 3 };

// A chain is one lane, whose block runs several blocks of a call side by side. Narrow: lanes share
// one block. Wide: lanes are spread over blocks; the last shape, which takes any graph.
extern const struct island_shape braid_island_shapes[ISLAND_NUM_SHAPES];

#endif
