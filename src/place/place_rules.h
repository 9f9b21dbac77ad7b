// SPDX-License-Identifier: Apache-2.0
// Where nodes may run at all: where they say, and where their memory is.
#ifndef BRAID_PLACE_PLACE_RULES_H
#define BRAID_PLACE_PLACE_RULES_H

#include "plan/plan_graph.h"

// Fills allowed[unit], a bit for each place, never 0. Units with one lane hint have one place.
// Errors: BRAID_INVALID_ARGUMENT (the message names the node, or the buffer), BRAID_NO_MEMORY.
braid_status braid_place_find_allowed(const braid_graph *graph, const struct plan_graph *plan,
                                      uint32_t num_places, uint64_t *allowed);

#endif
