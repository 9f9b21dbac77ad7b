// SPDX-License-Identifier: Apache-2.0
// Gives the nodes of a graph places, and makes the graph of nodes and copies to play.
#ifndef BRAID_PLAN_PLACES_PLACE_H
#define BRAID_PLAN_PLACES_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/store.h"
#include "graph/placed.h"
#include "graph/segments.h"
#include "plan/plan_costs.h"
#include "plan/plan_graph.h"

// Places a graph on the devices of options->places, of which there are two or more. A node is on
// the device that it names, or on one that its memory allows. By the options the frame is shortest:
// never longer than on one device alone, if that is allowed. Errors: those of
// braid_schedule_create.
braid_status braid_graph_place(const braid_graph *graph, const struct plan_options *options,
                               struct placed **out_placed);

// The access of a unit to segments.
struct place_use {
    uint32_t first, end; // segments
    bool needs, writes;
};

// The facts of a graph that do not depend on places.
struct place_task {
    const struct plan_graph *plan;
    const braid_graph *graph; // the program's
    struct place_model model;
    uint32_t num_places;
    uint32_t most; // units at once on a place
    uint32_t num_segments;
    uint64_t *segment_bytes; // per segment
    uint8_t *home;           // per segment: 1 + the place that needs it at the end; 0: none
    struct place_use *uses;  // unit by unit
    uint32_t *first_use;     // num_units + 1
    uint64_t *cost_ns;       // unit * num_places + place
    uint64_t *allowed;       // per unit
    uint32_t *share;         // per unit
    uint64_t *edge_bytes;    // per edge: what flows along it
    struct store store;      // holds the arrays
};

// `plan` is of `units`, in which loops and branches are bundles.
// Errors: those of place_find_allowed, BRAID_INVALID_ARGUMENT (times beyond 64 bits).
braid_status braid_place_task_create(const braid_graph *graph, const braid_graph *units,
                                     const struct plan_graph *plan,
                                     const struct plan_options *options,
                                     struct place_task *out_task);
void braid_place_task_finish(struct place_task *task);

// `place_of` is by unit of `plan`, which is of `graph` with its regions as bundles. Errors:
// BRAID_INVALID_ARGUMENT (too many copies), BRAID_NO_MEMORY.
braid_status braid_place_build(const braid_graph *graph, const struct plan_graph *plan,
                               const braid_place_model *model, const uint8_t *place_of,
                               struct placed **out_placed);

// The place of a resource with bytes of its own. GRAPH_EVERYWHERE: at every place; so is a resource
// without bytes. Transient buffers lie nowhere beforehand: GRAPH_NONE - 1.
#define PLACE_NOWHERE (UINT32_MAX - 1)
uint32_t braid_place_home(const braid_graph *graph, uint32_t resource);

#endif
