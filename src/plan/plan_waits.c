// SPDX-License-Identifier: Apache-2.0
// Asks and waits, by vector clocks.
//
// Why the waits are the fewest: of the predecessors of v on one lane the latest stands for all. If
// another predecessor q knows that a predecessor p has ended, p reaches v through q. If the lane
// knows it, p reaches v through the lane predecessor. In both cases the edge is not in the
// transitive reduction of the graph and the lane orders. Otherwise it is, and must be waited for.
#include "plan/plan_waits.h"

#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"

struct plan_clock_count {
    uint32_t users;
    uint32_t times_freed; // tells a version from one that uses its place again
};

struct plan_clock_retired {
    uint32_t version, times_freed;
    uint32_t issue; // all its nodes were issued before
};

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

// ---- vector clocks: one a version, freed after its last use ----

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

// All lanes start with one version that knows nothing. False when memory runs out.
static bool plan_clocks_init(struct plan_clocks *clocks, uint32_t num_lanes)
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

static void plan_clocks_finish(struct plan_clocks *clocks)
{
    braid_array_finish(&clocks->values);
    braid_array_finish(&clocks->counts);
    braid_array_finish(&clocks->unused);
    braid_array_finish(&clocks->retired);
    braid_free(clocks->current);
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

// Makes sure that a lane's version is its own, so that it may be changed. Nodes up to `issue` have
// been issued. False: no memory.
static bool plan_clocks_own(struct plan_clocks *clocks, uint32_t lane, uint32_t issue)
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

// Nobody will ask any more for nodes issued before `issue`.
static void plan_clocks_settle(struct plan_clocks *clocks, uint32_t issue)
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

// Raises each entry of a lane's own version to that of `version`.
static void plan_clocks_merge(struct plan_clocks *clocks, uint32_t lane, uint32_t version)
{
    uint32_t *to = plan_clock(clocks, clocks->current[lane]);
    const uint32_t *from = plan_clock(clocks, version);
    for (uint32_t i = 0; i < clocks->num_lanes; i++)
        to[i] = from[i] > to[i] ? from[i] : to[i];
}

// ---- waits ----

// Settled nodes are found again after this many nodes a lane, so this costs a small share.
#define ISSUES_A_LANE 16

bool braid_plan_waits_init(struct plan_waits *waits, const struct plan_graph *plan,
                           uint32_t num_lanes, uint32_t *issued)
{
    *waits = (struct plan_waits){ .plan = plan, .issued = issued };
    waits->spots = plan_allocate(plan->num_nodes, sizeof(*waits->spots));
    waits->asks = braid_store_take(&waits->store, num_lanes, sizeof(*waits->asks));
    waits->latest = braid_store_take(&waits->store, num_lanes, sizeof(*waits->latest));
    waits->lane_last = braid_store_take(&waits->store, num_lanes, sizeof(*waits->lane_last));
    waits->waited = braid_store_take(&waits->store, num_lanes, sizeof(*waits->waited));
    return waits->spots && !waits->store.failed && plan_clocks_init(&waits->clocks, num_lanes);
}

void braid_plan_waits_finish(struct plan_waits *waits)
{
    braid_free(waits->spots);
    braid_store_finish(&waits->store);
    plan_clocks_finish(&waits->clocks);
}

static void sift_down(uint32_t *items, uint32_t num, uint32_t i)
{
    uint32_t item = items[i];
    for (uint32_t child = 2 * i + 1; child < num; child = 2 * i + 1) {
        if (child + 1 < num && items[child + 1] < items[child])
            child++;
        if (items[child] >= item)
            break;
        items[i] = items[child];
        i = child;
    }
    items[i] = item;
}

// Heap sort: no recursion, no memory, the same everywhere.
static void sort_descending(uint32_t *items, uint32_t num)
{
    for (uint32_t i = num / 2; i-- > 0;)
        sift_down(items, num, i);
    for (uint32_t last = num; last-- > 1;) {
        uint32_t lowest = items[0];
        items[0] = items[last];
        items[last] = lowest;
        sift_down(items, last, 0);
    }
}

// Leaves in asks the issue indices of the latest predecessor on each lane; returns their number.
static uint32_t find_latest(struct plan_waits *waits, uint32_t node)
{
    const struct plan_graph *plan = waits->plan;
    uint32_t num = 0;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        const struct plan_spot *spot = &waits->spots[plan->pred_nodes[e]];
        if (spot->issue < waits->settled)
            continue;
        if (waits->latest[spot->lane] == 0)
            waits->asks[num++] = spot->lane;
        if (waits->latest[spot->lane] <= spot->issue)
            waits->latest[spot->lane] = spot->issue + 1;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint32_t lane = waits->asks[i];
        waits->asks[i] = waits->latest[lane] - 1;
        waits->latest[lane] = 0;
    }
    return num;
}

static bool is_known_to_asks(const struct plan_waits *waits, uint32_t node)
{
    const struct plan_spot *spot = &waits->spots[node];
    if (plan_is_fresh(waits, spot->lane, spot->issue))
        return false;
    for (uint32_t i = 0; i < waits->num_asks; i++) {
        uint32_t version = waits->spots[waits->asks[i]].version;
        if (plan_clock(&waits->clocks, version)[spot->lane] > spot->issue)
            return true;
    }
    return false;
}

// Only a later node can know an earlier one, so going latest first never keeps too many.
void braid_plan_waits_ask(struct plan_waits *waits, uint32_t node, uint32_t latest)
{
    waits->num_asks = 0;
    waits->is_free = latest <= waits->settled;
    if (waits->is_free)
        return;
    uint32_t num = find_latest(waits, node);
    if (num > 2 || (num == 2 && waits->asks[0] < waits->asks[1]))
        sort_descending(waits->asks, num);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t pred = waits->issued[waits->asks[i]];
        if (!is_known_to_asks(waits, pred))
            waits->asks[waits->num_asks++] = pred;
    }
}

static bool keep_wait(struct plan_waits *waits, uint32_t lane, uint32_t node,
                      struct array *out_waits)
{
    uint32_t *slot = braid_array_append(out_waits, 1, sizeof(*slot));
    if (!slot || out_waits->num > UINT32_MAX ||
        !plan_clocks_own(&waits->clocks, lane, waits->num_issued))
        return false;
    *slot = node;
    const struct plan_spot *spot = &waits->spots[node];
    plan_clocks_merge(&waits->clocks, lane, spot->version);
    uint32_t *known = plan_clock(&waits->clocks, waits->clocks.current[lane]);
    if (known[spot->lane] <= spot->issue)
        known[spot->lane] = spot->issue + 1;
    if (plan_is_fresh(waits, spot->lane, spot->issue))
        waits->waited[spot->lane] = spot->issue + 1;
    return true;
}

// Finds how much of each lane all others know. A lane without nodes yet has nothing to be known.
static void find_settled(struct plan_waits *waits)
{
    uint32_t num_lanes = waits->clocks.num_lanes;
    uint32_t settled = waits->num_issued;
    for (uint32_t lane = 0; lane < num_lanes && settled > waits->settled; lane++) {
        uint32_t known = waits->lane_last[lane];
        for (uint32_t other = 0; other < num_lanes; other++) {
            uint32_t knows = plan_clock(&waits->clocks, waits->clocks.current[other])[lane];
            if (other != lane && knows < known)
                known = knows;
        }
        if (known < waits->lane_last[lane] && known < settled)
            settled = known;
    }
    if (settled > waits->settled)
        waits->settled = settled;
    plan_clocks_settle(&waits->clocks, waits->settled);
}

// Whether the next node of a lane would have to wait for `node`.
static bool needs_wait(const struct plan_waits *waits, uint32_t lane, uint32_t node)
{
    const struct plan_spot *spot = &waits->spots[node];
    return spot->lane != lane && plan_waits_clock_of_lane(waits, lane)[spot->lane] <= spot->issue;
}

// One use of a node's version has ended; uses of settled nodes are not counted any more.
static void drop(struct plan_waits *waits, uint32_t node)
{
    if (waits->spots[node].issue >= waits->settled)
        plan_clocks_drop(&waits->clocks, waits->spots[node].version);
}

bool braid_plan_waits_issue(struct plan_waits *waits, uint32_t node, uint32_t lane,
                            struct array *out_waits)
{
    const struct plan_graph *plan = waits->plan;
    for (uint32_t i = 0; i < waits->num_asks; i++) {
        if (needs_wait(waits, lane, waits->asks[i]) &&
            !keep_wait(waits, lane, waits->asks[i], out_waits))
            return false;
    }
    // The successors of a node will ask for its version; its predecessors have one such less.
    uint32_t version = waits->clocks.current[lane];
    waits->spots[node] = (struct plan_spot){ lane, version, waits->num_issued };
    waits->issued[waits->num_issued++] = node;
    waits->lane_last[lane] = waits->num_issued;
    plan_clocks_keep(&waits->clocks, version, plan->succ_first[node + 1] - plan->succ_first[node]);
    uint32_t first = plan->pred_first[node], end = plan->pred_first[node + 1];
    for (uint32_t e = waits->is_free ? end : first; e < end; e++)
        drop(waits, plan->pred_nodes[e]);
    if (waits->num_issued % (ISSUES_A_LANE * waits->clocks.num_lanes) == 0)
        find_settled(waits);
    return true;
}
