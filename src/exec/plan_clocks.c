// SPDX-License-Identifier: Apache-2.0
// Versions of vector clocks: made, shared, merged and used again.
#include "exec/plan_clocks.h"

#include <string.h>

#define NO_VERSION UINT32_MAX

static uint32_t new_version(struct plan_clocks *clocks)
{
    if (clocks->unused.num)
        return ((uint32_t *)clocks->unused.items)[--clocks->unused.num];
    size_t version = clocks->counts.num;
    if (version >= NO_VERSION ||
        !braid_array_reserve(&clocks->unused, version + 1, sizeof(uint32_t)) ||
        !braid_array_append(&clocks->values, clocks->num_lanes, sizeof(uint32_t)) ||
        !braid_array_append(&clocks->counts, 1, sizeof(uint32_t)))
        return NO_VERSION;
    return (uint32_t)version;
}

bool braid_plan_clocks_init(struct plan_clocks *clocks, uint32_t num_lanes)
{
    *clocks = (struct plan_clocks){ .num_lanes = num_lanes ? num_lanes : 1 };
    clocks->current = braid_allocate_zeroed(num_lanes, sizeof(*clocks->current));
    if (!clocks->current || new_version(clocks) == NO_VERSION)
        return false;
    memset(plan_clock(clocks, 0), 0, clocks->num_lanes * sizeof(uint32_t));
    *(uint32_t *)clocks->counts.items = num_lanes;
    return true;
}

void braid_plan_clocks_finish(struct plan_clocks *clocks)
{
    braid_array_finish(&clocks->values);
    braid_array_finish(&clocks->counts);
    braid_array_finish(&clocks->unused);
    free(clocks->current);
}

bool braid_plan_clocks_own(struct plan_clocks *clocks, uint32_t lane)
{
    uint32_t shared = clocks->current[lane];
    if (((uint32_t *)clocks->counts.items)[shared] == 1)
        return true;
    uint32_t own = new_version(clocks);
    if (own == NO_VERSION)
        return false;
    memcpy(plan_clock(clocks, own), plan_clock(clocks, shared),
           clocks->num_lanes * sizeof(uint32_t));
    ((uint32_t *)clocks->counts.items)[own] = 1;
    clocks->current[lane] = own;
    plan_clocks_drop(clocks, shared);
    return true;
}

void braid_plan_clocks_merge(struct plan_clocks *clocks, uint32_t lane, uint32_t version)
{
    uint32_t *to = plan_clock(clocks, clocks->current[lane]);
    const uint32_t *from = plan_clock(clocks, version);
    for (uint32_t i = 0; i < clocks->num_lanes; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}
