// SPDX-License-Identifier: Apache-2.0
// Reading schedules, and freeing them.
#include "plan/schedule.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"

void braid_schedule_destroy(braid_schedule *schedule)
{
    if (!schedule)
        return;
    // Release and acquire: all reads of other users come before the last one frees.
    if (atomic_fetch_sub_explicit(&schedule->num_more_users, 1, memory_order_acq_rel) > 0)
        return;
    braid_plan_graph_release(schedule->graph);
    free(schedule->steps);
    free(schedule->lane_first);
    free(schedule->lane_nodes);
    free(schedule->lane_of);
    free(schedule->serialised);
    free(schedule->delayed);
    free(schedule->start_ns);
    free(schedule->cost_ns);
    free(schedule->is_unknown);
    free(schedule->critical);
    free(schedule->division.island_of);
    free(schedule->division.why_outside);
    free(schedule->division.plain_start_ns);
    free(schedule->division.plain_cost_ns);
    free(schedule);
}

const char *braid_schedule_node_name(const braid_schedule *schedule, uint32_t node)
{
    return braid_plan_node_name(schedule->graph, node);
}

const braid_step *braid_schedule_steps(const braid_schedule *schedule, size_t *out_num_steps)
{
    if (out_num_steps)
        *out_num_steps = schedule ? schedule->num_steps : 0;
    return schedule ? schedule->steps : NULL;
}

void braid_schedule_get_info_sized(const braid_schedule *schedule, braid_schedule_info *out_info,
                                   size_t bytes)
{
    static const braid_schedule_info none;
    write_sized(out_info, bytes, schedule ? &schedule->info : &none, sizeof(none));
}

const uint32_t *braid_schedule_critical_path(const braid_schedule *schedule, size_t *out_num_nodes)
{
    if (out_num_nodes)
        *out_num_nodes = schedule ? schedule->num_critical : 0;
    return schedule ? schedule->critical : NULL;
}

braid_status braid_schedule_get_placement_sized(const braid_schedule *schedule, braid_node node,
                                                braid_placement *out_placement, size_t bytes)
{
    if (!schedule || !out_placement)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_get_placement: %s is NULL",
                           schedule ? "out_placement" : "schedule");
    if (node.graph != schedule->graph_id || node.index >= schedule->info.num_nodes)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_schedule_get_placement: node %u of graph %u is not in this "
                           "schedule",
                           node.index, node.graph);
    uint64_t start = schedule->start_ns[node.index];
    const braid_placement placement = {
        .lane = schedule->lane_of[node.index],
        .start_ns = start,
        .end_ns = start + schedule->cost_ns[node.index],
        .island = schedule->division.island_of ? schedule->division.island_of[node.index]
                                               : BRAID_NO_ISLAND,
    };
    write_sized(out_placement, bytes, &placement, sizeof(placement));
    return BRAID_OK;
}
