// SPDX-License-Identifier: Apache-2.0
// The costs of nodes under a cost model, and the heaviest path from each to the end.
#ifndef BRAID_PLAN_COSTS_H
#define BRAID_PLAN_COSTS_H

#include "graph/placed.h"
#include "plan/plan_graph.h"
#include "plan/plan_islands.h"
#include "plan/plan_options.h"

#define PLAN_WHOLE_DEVICE 1024

struct plan_costs {
    braid_cost_model model; // default_cost_ns and max_concurrent without their special zeros
    uint64_t wait_busy_ns;  // as in struct plan_room; 0 outside of islands
    const struct place_model *places; // NULL: there is one place
    uint64_t *node_ns;                // per node, where it is
    uint64_t *offset_ns;    // per node: from the start of its unit to its own, where nothing holds
                            // it up; NULL without bundles
    uint64_t *bottom_ns;    // per node: the heaviest path from its start to the end of the graph
    uint32_t *unit_share;   // per unit: of PLAN_WHOLE_DEVICE, what its largest kernel takes; NULL
                            // where the model has no limit of threads
    uint32_t most_share;    // the largest of them, or 0
    bool *unit_blocks;      // per unit: it only sleeps, and takes no place among those that run at
                            // once; NULL: none does
    uint32_t num_blocking;  // such units
    uint64_t blocking_ns;   // their costs
    uint32_t num_guessed;   // nodes whose cost nobody gave, empty ones apart
    unsigned char *unknown; // per node: enum plan_unknown; NULL where all costs are given
    uint64_t critical_ns, work_ns, one_lane_ns;
    uint64_t area_ns; // the sum of all units' costs times shares: no plan is shorter
};

// Two nodes in sequence are at least as far apart as the cheaper of the model's costs of a lane
// predecessor and of a wait. So every plan takes at least critical_ns. With `inside`, which may be
// NULL, costs are those of calls of an island. Errors: BRAID_INVALID_ARGUMENT (times beyond 64
// bits), BRAID_NO_MEMORY.
braid_status braid_plan_costs_create(const struct plan_graph *plan, const braid_graph *graph,
                                     const struct plan_options *options,
                                     const struct plan_inside *inside,
                                     struct plan_costs *out_costs);
void braid_plan_costs_finish(struct plan_costs *costs);

// From the end of a node to the start of one on another lane that waits for it.
static inline uint64_t plan_wait_ns(const struct plan_costs *costs, uint32_t from_place,
                                    uint32_t to_place)
{
    return from_place == to_place || !costs->places
               ? costs->model.wait_ns
               : placed_link(costs->places, from_place, to_place)->wait_ns;
}

// How many units may run at once on a place: as many as the device runs, and all that only sleep.
static inline uint32_t braid_plan_most_at_once(const struct plan_costs *costs)
{
    uint32_t most = costs->model.max_concurrent;
    return most > UINT32_MAX - costs->num_blocking ? UINT32_MAX : most + costs->num_blocking;
}

// A running node's part of PLAN_WHOLE_DEVICE, on a device of max_threads > 0 threads.
uint32_t braid_plan_share_of_node(const braid_graph *graph, uint32_t node, uint64_t max_threads);

// The nodes of a heaviest path in order, the lowest node on a tie. Errors: BRAID_NO_MEMORY.
braid_status braid_plan_critical_path(const struct plan_graph *plan, const struct plan_costs *costs,
                                      uint32_t **out_nodes, size_t *out_num_nodes);

#endif
