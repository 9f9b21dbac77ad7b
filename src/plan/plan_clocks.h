// SPDX-License-Identifier: Apache-2.0
// Vector clocks that are stored once a version, not once a node, and freed after their last use.
#ifndef BRAID_PLAN_CLOCKS_H
#define BRAID_PLAN_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <braid/status.h>

#include "base/array.h"

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

struct plan_clock_count {
    uint32_t users;
    uint32_t times_freed; // tells a version from one that uses its place again
};

struct plan_clock_retired {
    uint32_t version, times_freed;
    uint32_t issue; // all its nodes were issued before
};

// All lanes start with one version that knows nothing. False when memory runs out.
bool braid_plan_clocks_init(struct plan_clocks *clocks, uint32_t num_lanes);
void braid_plan_clocks_finish(struct plan_clocks *clocks);

// Says why there was no memory for `what`; also after braid_plan_clocks_finish.
braid_status braid_plan_clocks_error(const struct plan_clocks *clocks, const char *what);

// Makes sure that a lane's version is its own, so that it may be changed. Nodes up to `issue` have
// been issued. False: no memory.
bool braid_plan_clocks_own(struct plan_clocks *clocks, uint32_t lane, uint32_t issue);

// Nobody will ask any more for nodes issued before `issue`.
void braid_plan_clocks_settle(struct plan_clocks *clocks, uint32_t issue);

// Raises each entry of a lane's own version to that of `version`.
void braid_plan_clocks_merge(struct plan_clocks *clocks, uint32_t lane, uint32_t version);

static inline uint32_t *plan_clock(const struct plan_clocks *clocks, uint32_t version)
{
    return (uint32_t *)clocks->values.items + (size_t)version * clocks->num_lanes;
}

static inline void plan_clocks_keep(struct plan_clocks *clocks, uint32_t version, uint32_t users)
{
    ((struct plan_clock_count *)clocks->counts.items)[version].users += users;
}

static inline void plan_clocks_free(struct plan_clocks *clocks, uint32_t version)
{
    ((struct plan_clock_count *)clocks->counts.items)[version].times_freed++;
    // Room on the list was made when the version was; it cannot fail.
    ((uint32_t *)clocks->unused.items)[clocks->unused.num++] = version;
}

static inline void plan_clocks_drop(struct plan_clocks *clocks, uint32_t version)
{
    if (--((struct plan_clock_count *)clocks->counts.items)[version].users == 0)
        plan_clocks_free(clocks, version);
}

#endif
