// SPDX-License-Identifier: Apache-2.0
// Making a graph with places, once it is known which node runs where.
#ifndef BRAID_PLAN_PLACES_PLACE_BUILD_H
#define BRAID_PLAN_PLACES_PLACE_BUILD_H

#include "graph/placed.h"
#include "plan/plan_graph.h"

// `place_of` is by unit of `plan`, which is of `graph` with its regions as bundles. Errors:
// BRAID_INVALID_ARGUMENT (too many copies), BRAID_NO_MEMORY.
braid_status braid_place_build(const braid_graph *graph, const struct plan_graph *plan,
                               const braid_place_model *model, const uint8_t *place_of,
                               struct placed **out_placed);

#endif
