// SPDX-License-Identifier: Apache-2.0
// Asks and waits, by vector clocks.
//
// Why the waits are the fewest: of the predecessors of v on one lane the latest stands for all. If
// another predecessor q knows that a predecessor p has ended, p reaches v through q. If the lane
// knows it, p reaches v through the lane predecessor. In both cases the edge is not in the
// transitive reduction of the graph and the lane orders. Otherwise it is, and must be waited for.
#include "plan/plan_know.h"

#include "base/big_memory.h"

// Settled nodes are found again after this many nodes a lane, so this costs a small share.
#define ISSUES_A_LANE 16

bool braid_plan_know_init(struct plan_know *know, const struct plan_graph *plan, uint32_t num_lanes,
                          uint32_t *issued)
{
    *know = (struct plan_know){ .plan = plan, .issued = issued };
    know->spots = plan_allocate(plan->num_nodes, sizeof(*know->spots));
    know->asks = braid_allocate_zeroed(num_lanes, sizeof(*know->asks));
    know->latest = braid_allocate_zeroed(num_lanes, sizeof(*know->latest));
    know->lane_last = braid_allocate_zeroed(num_lanes, sizeof(*know->lane_last));
    return know->spots && know->asks && know->latest && know->lane_last &&
           braid_plan_clocks_init(&know->clocks, num_lanes);
}

void braid_plan_know_finish(struct plan_know *know)
{
    free(know->spots);
    free(know->asks);
    free(know->latest);
    free(know->lane_last);
    braid_plan_clocks_finish(&know->clocks);
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
static uint32_t find_latest(struct plan_know *know, uint32_t node)
{
    const struct plan_graph *plan = know->plan;
    uint32_t num = 0;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        const struct plan_spot *spot = &know->spots[plan->pred_nodes[e]];
        if (spot->issue < know->settled)
            continue;
        if (know->latest[spot->lane] == 0)
            know->asks[num++] = spot->lane;
        if (know->latest[spot->lane] <= spot->issue)
            know->latest[spot->lane] = spot->issue + 1;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint32_t lane = know->asks[i];
        know->asks[i] = know->latest[lane] - 1;
        know->latest[lane] = 0;
    }
    return num;
}

static bool is_known_to_asks(const struct plan_know *know, uint32_t node)
{
    const struct plan_spot *spot = &know->spots[node];
    for (uint32_t i = 0; i < know->num_asks; i++) {
        uint32_t version = know->spots[know->asks[i]].version;
        if (plan_clock(&know->clocks, version)[spot->lane] > spot->issue)
            return true;
    }
    return false;
}

// Only a later node can know an earlier one, so going latest first never keeps too many.
void braid_plan_know_ask(struct plan_know *know, uint32_t node, uint32_t latest)
{
    know->num_asks = 0;
    know->is_free = latest <= know->settled;
    if (know->is_free)
        return;
    uint32_t num = find_latest(know, node);
    if (num > 1)
        sort_descending(know->asks, num);
    for (uint32_t i = 0; i < num; i++) {
        uint32_t pred = know->issued[know->asks[i]];
        if (!is_known_to_asks(know, pred))
            know->asks[know->num_asks++] = pred;
    }
}

static bool keep_wait(struct plan_know *know, uint32_t lane, uint32_t node, struct array *out_waits)
{
    uint32_t *slot = braid_array_append(out_waits, 1, sizeof(*slot));
    if (!slot || out_waits->num > UINT32_MAX ||
        !braid_plan_clocks_own(&know->clocks, lane, know->num_issued))
        return false;
    *slot = node;
    const struct plan_spot *spot = &know->spots[node];
    braid_plan_clocks_merge(&know->clocks, lane, spot->version);
    uint32_t *known = plan_clock(&know->clocks, know->clocks.current[lane]);
    if (known[spot->lane] <= spot->issue)
        known[spot->lane] = spot->issue + 1;
    return true;
}

// Finds how much of each lane all others know. A lane without nodes yet has nothing to be known.
static void find_settled(struct plan_know *know)
{
    uint32_t num_lanes = know->clocks.num_lanes;
    uint32_t settled = know->num_issued;
    for (uint32_t lane = 0; lane < num_lanes && settled > know->settled; lane++) {
        uint32_t known = know->lane_last[lane];
        for (uint32_t other = 0; other < num_lanes; other++) {
            uint32_t knows = plan_clock(&know->clocks, know->clocks.current[other])[lane];
            if (other != lane && knows < known)
                known = knows;
        }
        if (known < know->lane_last[lane] && known < settled)
            settled = known;
    }
    if (settled > know->settled)
        know->settled = settled;
    braid_plan_clocks_settle(&know->clocks, know->settled);
}

// Whether the next node of a lane would have to wait for `node`.
static bool needs_wait(const struct plan_know *know, uint32_t lane, uint32_t node)
{
    const struct plan_spot *spot = &know->spots[node];
    return spot->lane != lane && plan_know_of_lane(know, lane)[spot->lane] <= spot->issue;
}

// One use of a node's version has ended; uses of settled nodes are not counted any more.
static void drop(struct plan_know *know, uint32_t node)
{
    if (know->spots[node].issue >= know->settled)
        plan_clocks_drop(&know->clocks, know->spots[node].version);
}

bool braid_plan_know_issue(struct plan_know *know, uint32_t node, uint32_t lane,
                           struct array *out_waits)
{
    const struct plan_graph *plan = know->plan;
    for (uint32_t i = 0; i < know->num_asks; i++) {
        if (needs_wait(know, lane, know->asks[i]) &&
            !keep_wait(know, lane, know->asks[i], out_waits))
            return false;
    }
    // The successors of a node will ask for its version; its predecessors have one such less.
    uint32_t version = know->clocks.current[lane];
    know->spots[node] = (struct plan_spot){ lane, version, know->num_issued };
    know->issued[know->num_issued++] = node;
    know->lane_last[lane] = know->num_issued;
    plan_clocks_keep(&know->clocks, version, plan->succ_first[node + 1] - plan->succ_first[node]);
    uint32_t first = plan->pred_first[node], end = plan->pred_first[node + 1];
    for (uint32_t e = know->is_free ? end : first; e < end; e++)
        drop(know, plan->pred_nodes[e]);
    if (know->num_issued % (ISSUES_A_LANE * know->clocks.num_lanes) == 0)
        find_settled(know);
    return true;
}
