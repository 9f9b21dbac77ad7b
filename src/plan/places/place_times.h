// SPDX-License-Identifier: Apache-2.0
// A quick estimate of a frame on several places, unit by unit. It finds when a unit could end on
// each place, with the copies that it would need there.
#ifndef BRAID_PLAN_PLACES_PLACE_TIMES_H
#define BRAID_PLAN_PLACES_PLACE_TIMES_H

#include "base/store.h"
#include "graph/placed.h"
#include "graph/segments.h"
#include "plan/places/place_slots.h"
#include "plan/plan_costs.h"

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
// Errors: those of braid_place_find_allowed, BRAID_INVALID_ARGUMENT (times beyond 64 bits).
braid_status braid_place_task_create(const braid_graph *graph, const braid_graph *units,
                                     const struct plan_graph *plan,
                                     const braid_schedule_options *options,
                                     struct place_task *out_task);
void braid_place_task_finish(struct place_task *task);

// The state while units are put on places.
struct place_times {
    const struct place_task *task;
    uint64_t *end_ns;   // per unit
    uint8_t *place_of;  // per unit
    uint64_t *since_ns; // segment * num_places + place: since when it is there; UINT64_MAX: not
    struct place_slots *slots; // per place
    struct store store;        // holds the arrays
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_place_times_create(const struct place_task *task, struct place_times *out_times);
void braid_place_times_finish(struct place_times *times);

// When a unit all of whose predecessors are put could start on a place.
uint64_t braid_place_times_start(const struct place_times *times, uint32_t unit, uint32_t place);
// Puts it there. False: no memory.
bool braid_place_times_put(struct place_times *times, uint32_t unit, uint32_t place,
                           uint64_t start_ns);

// Puts all units on places by HEFT (Topcuoglu, Hariri, Wu 2002). Errors: BRAID_NO_MEMORY.
braid_status braid_place_list(struct place_times *times);

// Where nodes may run at all: where they say, and where their memory is.
// Fills allowed[unit], a bit for each place, never 0. Units with one lane hint have one place.
// Errors: BRAID_INVALID_ARGUMENT (the message names the node, the buffer, or a loop and two nodes
// in it), BRAID_NO_MEMORY.
braid_status braid_place_find_allowed(const braid_graph *graph, const struct plan_graph *plan,
                                      uint32_t num_places, uint64_t *allowed);

#endif
