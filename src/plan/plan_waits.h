// SPDX-License-Identifier: Apache-2.0
// The knowledge of lanes of ended nodes, in issue order, and so the waits that a node needs.
#ifndef BRAID_PLAN_PLAN_WAITS_H
#define BRAID_PLAN_PLAN_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/status.h>

#include "base/array.h"
#include "base/store.h"
#include "plan/plan_graph.h"

struct plan_spot {
    uint32_t lane;
    uint32_t version; // what was known when it started
    uint32_t issue;   // its position in issue order
};

// A clock has an entry for each lane: one more than the issue index of the latest node of that lane
// known to have ended. A lane's clock changes only at a wait, so all nodes between two waits share
// a version. A version is freed after its last use: its lane and the edges from its nodes are
// counted. So is one with settled nodes, whose edges are not counted down.
struct plan_clocks {
    uint32_t num_lanes;
    struct array values;  // uint32_t, num_lanes a version
    struct array counts;  // struct plan_clock_count, one a version
    struct array unused;  // uint32_t, versions to use again
    struct array retired; // struct plan_clock_retired, in the order in which lanes left them
    size_t num_settled;   // so many of the retired are
    uint32_t *current;    // per lane its version
    bool is_full;         // so many lanes may not have another version
};

struct plan_waits {
    const struct plan_graph *plan;
    uint32_t *issued;        // nodes in issue order
    struct plan_spot *spots; // per node issued
    uint32_t num_issued;
    // Nodes issued before this are known to have ended on every lane: they need no asking. Most
    // edges of a big graph come from such nodes, so they are told by their issue alone.
    uint32_t settled;
    // The predecessors that the node at hand has to ask for, latest first. There is at most one a
    // lane, and none that another of them knows to have ended.
    uint32_t *asks;
    uint32_t num_asks;
    bool is_free; // all its predecessors are settled
    struct plan_clocks clocks;
    struct store store;  // holds the arrays per lane, and the asks
    uint32_t *latest;    // per lane, scratch: 1 + issue of the latest predecessor there
    uint32_t *lane_last; // per lane: 1 + issue of the latest node
    uint32_t *waited;    // per lane: 1 + issue of the latest node that another lane waited for
};

// `issued` is where the nodes are listed as they are issued, with room for all.
// False when memory runs out.
bool braid_plan_waits_init(struct plan_waits *waits, const struct plan_graph *plan,
                           uint32_t num_lanes, uint32_t *issued);
void braid_plan_waits_finish(struct plan_waits *waits);

// Finds the asks of a node all of whose predecessors are issued. They do not depend on its lane.
// `latest` is at least 1 + the issue of each: where that is settled, nothing is looked at.
void braid_plan_waits_ask(struct plan_waits *waits, uint32_t node, uint32_t latest);

// Issues the node asked for last on a lane. Each of its asks is waited for and appended to
// out_waits, unless the lane knows by then that it has ended. False when memory runs out.
bool braid_plan_waits_issue(struct plan_waits *waits, uint32_t node, uint32_t lane,
                            struct array *out_waits);

static inline uint32_t *plan_clock(const struct plan_clocks *clocks, uint32_t version)
{
    return (uint32_t *)clocks->values.items + (size_t)version * clocks->num_lanes;
}

// The clock of the next node of a lane without waiting: per lane one more than an issue.
static inline const uint32_t *plan_waits_clock_of_lane(const struct plan_waits *waits,
                                                       uint32_t lane)
{
    return plan_clock(&waits->clocks, waits->clocks.current[lane]);
}

// Whether no lane but its own can know yet that a node has ended.
static inline bool plan_is_fresh(const struct plan_waits *waits, uint32_t lane, uint32_t issue)
{
    return issue >= waits->waited[lane];
}

// Says why there was no memory for `what`; also after plan_clocks_finish.
braid_status braid_plan_clocks_error(const struct plan_clocks *clocks, const char *what);

#endif
