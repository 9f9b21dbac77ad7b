// SPDX-License-Identifier: Apache-2.0
// Which memory stands for a resource at a place: the program's own, or a replica.
#ifndef BRAID_PLAN_PLACES_PLACE_MEMORY_H
#define BRAID_PLAN_PLACES_PLACE_MEMORY_H

#include "graph/placed.h"

struct place_memory {
    braid_graph *graph;     // to which replicas are added
    uint32_t num_resources; // the program's
    uint32_t num_places;
    uint32_t *replicas; // resource * num_places + place: which resource it is there, or GRAPH_NONE
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_place_memory_create(braid_graph *graph, uint32_t num_places,
                                       struct place_memory *out_memory);
void braid_place_memory_finish(struct place_memory *memory);

// The program's resource as it is at a place. Errors: BRAID_NO_MEMORY, BRAID_INVALID_ARGUMENT (too
// many resources).
braid_status braid_place_memory_at(struct place_memory *memory, uint32_t resource, uint32_t place,
                                   uint32_t *out_resource);

// A part of a buffer at a place. Errors: likewise.
braid_status braid_place_memory_part(struct place_memory *memory, uint32_t buffer, uint64_t offset,
                                     uint64_t bytes, uint32_t place, uint32_t *out_resource);

// The place of a resource with bytes of its own. GRAPH_EVERYWHERE: at every place; so is a resource
// without bytes. Transient buffers lie nowhere beforehand: GRAPH_NONE - 1.
#define PLACE_NOWHERE (UINT32_MAX - 1)
uint32_t braid_place_home(const braid_graph *graph, uint32_t resource);

#endif
