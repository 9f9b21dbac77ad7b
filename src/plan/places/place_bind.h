// SPDX-License-Identifier: Apache-2.0
// The addresses of nodes and the conditions of regions, once all nodes have places.
#ifndef BRAID_PLAN_PLACES_PLACE_BIND_H
#define BRAID_PLAN_PLACES_PLACE_BIND_H

#include "plan/places/place_memory.h"

// The addresses of the nodes of `user`, and then those of copies (struct graph_address).
// Errors: those of braid_place_memory_at.
braid_status braid_place_bind_addresses(struct place_memory *memory, const braid_graph *user,
                                        const struct array *of_copies);

// The conditions of loops and branches. Errors: likewise.
braid_status braid_place_bind_conditions(struct place_memory *memory);

#endif
