// SPDX-License-Identifier: Apache-2.0
// The proof that a schedule's islands are stretches of lanes: one walk over the steps.
#include "verify/verify_islands.h"

#include "base/array.h"
#include "base/error.h"
#include "base/node_text.h"

// A lane so far.
struct lane_end {
    uint32_t node; // the last one run, or PLAN_NONE
    bool is_cut;   // a wait or a record came behind it
};

static struct node_text name(const braid_schedule *schedule, uint32_t node)
{
    return braid_node_text(node, braid_schedule_node_name(schedule, node));
}

static braid_status check_node(const braid_schedule *schedule, const struct lane_end *end,
                               uint32_t node, bool *has_begun)
{
    const uint32_t *island_of = schedule->division.island_of;
    uint32_t island = island_of[node];
    if (island == PLAN_NONE)
        return BRAID_OK;
    if (island >= schedule->info.num_islands)
        return braid_error(BRAID_INTERNAL, "node %s is in island %u, and the plan has %u",
                           name(schedule, node).text, island, schedule->info.num_islands);
    bool goes_on = end->node != PLAN_NONE && island_of[end->node] == island;
    if (goes_on && end->is_cut)
        return braid_error(BRAID_INTERNAL,
                           "island %u has a wait or a record inside, between node %s and node %s",
                           island, name(schedule, end->node).text, name(schedule, node).text);
    if (!goes_on && has_begun[island])
        return braid_error(BRAID_INTERNAL, "island %u is not one stretch of a lane: node %s",
                           island, name(schedule, node).text);
    has_begun[island] = true;
    return BRAID_OK;
}

braid_status braid_verify_islands(const braid_schedule *schedule)
{
    if (!schedule->division.island_of)
        return BRAID_OK;
    uint32_t num_lanes = schedule->info.num_lanes;
    struct lane_end *ends = braid_allocate_zeroed(num_lanes, sizeof(*ends));
    bool *has_begun = braid_allocate_zeroed(schedule->info.num_islands, sizeof(*has_begun));
    braid_status status = BRAID_OK;
    if (!ends || !has_begun)
        status = braid_error_no_memory("the proof of islands");
    for (uint32_t i = 0; i < num_lanes && !status; i++)
        ends[i].node = PLAN_NONE;
    for (size_t i = 0; i < schedule->num_steps && !status; i++) {
        const braid_step *step = &schedule->steps[i];
        struct lane_end *end = &ends[step->lane];
        if (step->kind == BRAID_STEP_RUN) {
            status = check_node(schedule, end, step->node, has_begun);
            *end = (struct lane_end){ .node = step->node };
        } else {
            end->is_cut = true;
        }
    }
    free(ends);
    free(has_begun);
    return status;
}
