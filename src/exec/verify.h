// SPDX-License-Identifier: Apache-2.0
// The walk that proves a step list right, and its parts.
#ifndef BRAID_EXEC_VERIFY_H
#define BRAID_EXEC_VERIFY_H

#include "exec/schedule.h"
#include "graph/graph.h"
#include "graph/links.h"

// What is known while the steps are walked in issue order. A lane's clock has a place for each
// lane: how many nodes of that lane are known to have ended before what the lane runs next.
struct verify {
    const braid_schedule *schedule;
    const braid_graph *graph;
    uint32_t num_nodes, num_lanes, num_events;
    uint32_t *clocks;             // num_lanes a lane
    uint32_t *event_clocks;       // num_lanes an event object: the clock at its latest record
    uint32_t *event_node;         // the node of its latest record, or GRAPH_NONE
    uint32_t *num_run;            // per lane
    uint32_t *last_run;           // per lane, or GRAPH_NONE
    uint32_t *lane_of, *turn_of;  // per node; turns count from 1, 0: has not run
    uint32_t *pred_first, *preds; // explicit edges, by the node they lead to
    struct graph_units units;
};

// Whether `before` is known to have ended when `node` starts, just as `node` is walked.
static inline bool verify_is_ordered(const struct verify *verify, uint32_t before, uint32_t node)
{
    if (verify->turn_of[before] == 0)
        return false;
    uint32_t lane = verify->lane_of[node], other = verify->lane_of[before];
    return other == lane ||
           verify->clocks[(size_t)lane * verify->num_lanes + other] >= verify->turn_of[before];
}

// Reports that `node` may start before `before` has ended, though `why` forbids it.
braid_status braid_verify_report(const struct verify *verify, uint32_t before, uint32_t node,
                                 const char *why);

// Checks accesses node by node, in issue order. A conflicting pair is ordered if each access is
// ordered after the last write before it, and each write after all reads since; the order of
// insertion is kept if it is kept by each of these pairs.
struct verify_accesses;
braid_status braid_verify_accesses_create(const struct verify *verify,
                                          struct verify_accesses **out_accesses);
braid_status braid_verify_accesses_node(struct verify_accesses *accesses, uint32_t node);
void braid_verify_accesses_destroy(struct verify_accesses *accesses);

#endif
