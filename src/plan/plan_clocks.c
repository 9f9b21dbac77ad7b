// SPDX-License-Identifier: Apache-2.0
// Versions of vector clocks: made, shared, merged and used again.
#include "plan/plan_clocks.h"

#include <string.h>

#include "base/error.h"

#define NO_VERSION UINT32_MAX
#define FIRST_VERSION 0

// If a caller asks for more lanes than the planner would choose, clocks take half a gibibyte at
// most. With thousands of lanes, every wait may make a version as long as there are lanes.
#define MANY_LANES 128
#define MOST_WORDS ((size_t)1 << 27)

static uint32_t new_version(struct plan_clocks *clocks)
{
    if (clocks->unused.num)
        return ((uint32_t *)clocks->unused.items)[--clocks->unused.num];
    size_t version = clocks->counts.num;
    clocks->is_full = clocks->num_lanes > MANY_LANES && clocks->values.num >= MOST_WORDS;
    if (clocks->is_full || version >= NO_VERSION ||
        !braid_array_reserve(&clocks->unused, version + 1, sizeof(uint32_t)) ||
        !braid_array_append(&clocks->values, clocks->num_lanes, sizeof(uint32_t)) ||
        !braid_array_append(&clocks->counts, 1, sizeof(struct plan_clock_count)))
        return NO_VERSION;
    ((struct plan_clock_count *)clocks->counts.items)[version] = (struct plan_clock_count){ 0 };
    return (uint32_t)version;
}

bool braid_plan_clocks_init(struct plan_clocks *clocks, uint32_t num_lanes)
{
    *clocks = (struct plan_clocks){ .num_lanes = num_lanes ? num_lanes : 1 };
    clocks->current = braid_allocate_zeroed(num_lanes, sizeof(*clocks->current));
    if (!clocks->current || new_version(clocks) == NO_VERSION)
        return false;
    memset(plan_clock(clocks, FIRST_VERSION), 0, clocks->num_lanes * sizeof(uint32_t));
    // Every lane leaves the first version some time; it must outlive them all.
    plan_clocks_keep(clocks, FIRST_VERSION, num_lanes + 1);
    return true;
}

braid_status braid_plan_clocks_error(const struct plan_clocks *clocks, const char *what)
{
    if (!clocks->is_full)
        return braid_error_no_memory(what);
    return braid_error(BRAID_NO_MEMORY,
                       "%s: what each of %u lanes knows of the others takes over %zu MiB; allow "
                       "fewer lanes",
                       what, clocks->num_lanes, MOST_WORDS * sizeof(uint32_t) >> 20);
}

void braid_plan_clocks_finish(struct plan_clocks *clocks)
{
    braid_array_finish(&clocks->values);
    braid_array_finish(&clocks->counts);
    braid_array_finish(&clocks->unused);
    braid_array_finish(&clocks->retired);
    free(clocks->current);
}

static bool retire(struct plan_clocks *clocks, uint32_t version, uint32_t issue)
{
    struct plan_clock_count *count = (struct plan_clock_count *)clocks->counts.items + version;
    bool last_user = count->users == 1;
    if (version != FIRST_VERSION && !last_user) {
        struct plan_clock_retired *slot = braid_array_append(&clocks->retired, 1, sizeof(*slot));
        if (!slot)
            return false;
        *slot = (struct plan_clock_retired){ version, count->times_freed, issue };
    }
    plan_clocks_drop(clocks, version);
    return true;
}

bool braid_plan_clocks_own(struct plan_clocks *clocks, uint32_t lane, uint32_t issue)
{
    uint32_t shared = clocks->current[lane];
    if (((struct plan_clock_count *)clocks->counts.items)[shared].users == 1)
        return true;
    uint32_t own = new_version(clocks);
    if (own == NO_VERSION)
        return false;
    memcpy(plan_clock(clocks, own), plan_clock(clocks, shared),
           clocks->num_lanes * sizeof(uint32_t));
    ((struct plan_clock_count *)clocks->counts.items)[own].users = 1;
    clocks->current[lane] = own;
    return retire(clocks, shared, issue);
}

void braid_plan_clocks_settle(struct plan_clocks *clocks, uint32_t issue)
{
    const struct plan_clock_retired *retired = clocks->retired.items;
    const struct plan_clock_count *counts = clocks->counts.items;
    size_t i = clocks->num_settled;
    for (; i < clocks->retired.num && retired[i].issue <= issue; i++) {
        if (counts[retired[i].version].times_freed == retired[i].times_freed)
            plan_clocks_free(clocks, retired[i].version);
    }
    clocks->num_settled = i;
    if (i * 2 < clocks->retired.num || i == 0)
        return;
    // Half of the list is done with: move the rest to its front.
    clocks->retired.num -= i;
    memmove(clocks->retired.items, retired + i, clocks->retired.num * sizeof(*retired));
    clocks->num_settled = 0;
}

void braid_plan_clocks_merge(struct plan_clocks *clocks, uint32_t lane, uint32_t version)
{
    uint32_t *to = plan_clock(clocks, clocks->current[lane]);
    const uint32_t *from = plan_clock(clocks, version);
    for (uint32_t i = 0; i < clocks->num_lanes; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}
