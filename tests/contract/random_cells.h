// SPDX-License-Identifier: Apache-2.0
// The resources of random graphs, and which of the 24 cells of memory each stands for: two buffers
// of eight cells with ranges that overlap, and eight named resources of a cell each.
#ifndef BRAID_TESTS_RANDOM_CELLS_H
#define BRAID_TESTS_RANDOM_CELLS_H

#include <braid/graph.h>

#include "support/random_choice.h"

// Declares the resources to a graph, random_num_resources of them.
void random_cells_declare(braid_graph *graph, braid_resource *out_resources);

// The cells of a resource, a bit each; of a named resource there is one.
uint32_t random_cells_of(uint32_t resource);
uint32_t random_cells_single(uint32_t resource);

// Whether an access writes its cells, or reads them.
bool random_cells_touched(braid_access_mode mode, bool writes);

// Two different cells: the first to be read, the second to be written.
void random_cells_choose_pair(struct random *random, struct random_choice *out);

#endif
