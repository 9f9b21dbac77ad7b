// SPDX-License-Identifier: Apache-2.0
// Explains why a node is inside an island, or outside.
#include "base/error.h"
#include "plan/plan_text.h"
#include "plan/schedule.h"

// Islands are stretches of lanes: the node's neighbours tell.
static void explain_inside(struct plan_text *text, const struct braid_schedule *schedule,
                           uint32_t node)
{
    const uint32_t *island_of = schedule->division.island_of;
    uint32_t lane = schedule->lane_of[node], call = 0, num = 0;
    uint32_t first = PLAN_NONE, last = PLAN_NONE;
    for (uint32_t i = schedule->lane_first[lane]; i < schedule->lane_first[lane + 1]; i++) {
        uint32_t other = schedule->lane_nodes[i];
        if (island_of[other] != island_of[node])
            continue;
        num++;
        call = other == node ? num : call;
        first = first == PLAN_NONE ? other : first;
        last = other;
    }
    plan_text_add(text, "in island %u, call %u of %u, from '%s' to '%s'", island_of[node], call,
                  num, braid_schedule_node_name(schedule, first),
                  braid_schedule_node_name(schedule, last));
}

braid_status braid_schedule_explain_island(const braid_schedule *schedule, braid_node node,
                                           char *out_text, size_t size)
{
    if (!schedule || !out_text || size == 0)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_explain_island: %s",
                           !schedule   ? "schedule is NULL"
                           : !out_text ? "out_text is NULL"
                                       : "size is 0");
    if (node.graph != schedule->graph_id || node.index >= schedule->info.num_nodes)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_schedule_explain_island: node %u of graph %u is not in this "
                           "schedule",
                           node.index, node.graph);
    const struct plan_division *division = &schedule->division;
    struct plan_text text = { .bytes = out_text, .size = size };
    out_text[0] = '\0';
    if (!division->island_of)
        plan_text_add(&text, "not in an island: there are none on what it was planned for");
    else if (division->island_of[node.index] != PLAN_NONE)
        explain_inside(&text, schedule, node.index);
    else
        plan_text_add(&text, "not in an island: %s", division->why_outside[node.index]);
    return BRAID_OK;
}
