// SPDX-License-Identifier: Apache-2.0
// Vector clocks that are stored once a version, not once a unit, and freed after their last use.
#ifndef BRAID_EXEC_PLAN_CLOCKS_H
#define BRAID_EXEC_PLAN_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

// A clock has a place for each lane: one more than the issue index of the latest unit of that lane
// known to have ended. A lane's clock changes only at a wait, so all units between two waits share
// a version. A version is counted by its lane and by every edge that may still ask for it.
struct plan_clocks {
    uint32_t num_lanes;
    struct array values; // uint32_t, num_lanes a version
    struct array counts; // uint32_t, users a version
    struct array unused; // uint32_t, versions to use again
    uint32_t *current;   // per lane its version
};

// All lanes start with one version that knows nothing. False when memory runs out.
bool braid_plan_clocks_init(struct plan_clocks *clocks, uint32_t num_lanes);
void braid_plan_clocks_finish(struct plan_clocks *clocks);

// Makes sure that a lane's version is its own, so that it may be changed; false: no memory.
bool braid_plan_clocks_own(struct plan_clocks *clocks, uint32_t lane);

// Raises each place of a lane's own version to what `version` knows.
void braid_plan_clocks_merge(struct plan_clocks *clocks, uint32_t lane, uint32_t version);

static inline uint32_t *plan_clock(const struct plan_clocks *clocks, uint32_t version)
{
    return (uint32_t *)clocks->values.items + (size_t)version * clocks->num_lanes;
}

static inline void plan_clocks_keep(struct plan_clocks *clocks, uint32_t version, uint32_t users)
{
    ((uint32_t *)clocks->counts.items)[version] += users;
}

static inline void plan_clocks_drop(struct plan_clocks *clocks, uint32_t version)
{
    uint32_t *counts = clocks->counts.items;
    // Room on the list was made when the version was; it cannot fail.
    if (--counts[version] == 0)
        ((uint32_t *)clocks->unused.items)[clocks->unused.num++] = version;
}

#endif
