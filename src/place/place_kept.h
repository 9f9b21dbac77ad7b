// SPDX-License-Identifier: Apache-2.0
// Replicas that outlive a frame: which parts of them have what their home has when one begins.
#ifndef BRAID_PLACE_PLACE_KEPT_H
#define BRAID_PLACE_PLACE_KEPT_H

#include "graph/segments.h"
#include "place/place_memory.h"
#include "plan/plan_graph.h"

// Adds to `valid`, per segment the places that have it when a frame begins, a bit each, those whose
// replicas have it since a frame before. Errors: BRAID_NO_MEMORY.
braid_status braid_place_find_kept(const braid_graph *user, const struct plan_graph *plan,
                                   const uint8_t *place_of, const struct graph_segments *segments,
                                   uint64_t *valid);

// Lists the parts of replicas that there are and which `began` says are valid, as struct
// placed_entry. `offsets`: per segment, where it begins in its buffer. Errors: likewise.
braid_status braid_place_list_entries(const struct place_memory *memory,
                                      const struct graph_segments *segments,
                                      const uint64_t *offsets, const uint64_t *began,
                                      struct array *entries);

#endif
