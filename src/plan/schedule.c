// SPDX-License-Identifier: Apache-2.0
// Beginning schedules, reading them, and freeing them.
#include "plan/schedule.h"

#include <stdio.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/sized.h"

braid_status braid_schedule_begin(struct plan_graph *plan, uint32_t graph_id,
                                  uint64_t graph_version, const struct plan_options *options,
                                  braid_schedule **out_schedule)
{
    braid_schedule *schedule = braid_allocate_zeroed(1, sizeof(*schedule));
    atomic_uint *num_lane_users = braid_allocate(sizeof(*num_lane_users));
    if (!schedule || !num_lane_users) {
        braid_free(schedule);
        braid_free(num_lane_users);
        braid_plan_graph_release(plan);
        return braid_error_no_memory("a schedule");
    }
    atomic_init(num_lane_users, 1);
    schedule->num_lane_users = num_lane_users;
    schedule->graph_id = graph_id;
    schedule->graph_version = graph_version;
    schedule->options = *options;
    schedule->options.places = NULL; // it is the program's; `placed` has what it said
    schedule->graph = plan;
    *out_schedule = schedule;
    return BRAID_OK;
}

// Release and acquire: all reads of other users come before the last one frees.
static void release_lanes(const braid_schedule *schedule)
{
    if (atomic_fetch_sub_explicit(schedule->num_lane_users, 1, memory_order_acq_rel) > 1)
        return;
    struct program program = schedule->program;
    braid_free(schedule->num_lane_users);
    braid_program_free(&program);
    braid_free(schedule->lane_first);
    braid_free(schedule->lane_nodes);
    braid_free(schedule->lane_of);
    braid_free(schedule->serialisations);
}

void braid_schedule_share_lanes(struct braid_schedule *schedule, const braid_schedule *from)
{
    release_lanes(schedule);
    atomic_fetch_add_explicit(from->num_lane_users, 1, memory_order_relaxed);
    schedule->num_lane_users = from->num_lane_users;
    schedule->program = from->program;
    schedule->lane_first = from->lane_first;
    schedule->lane_nodes = from->lane_nodes;
    schedule->lane_of = from->lane_of;
    schedule->serialisations = from->serialisations;
    schedule->info = from->info;
    schedule->info.num_islands = schedule->info.num_island_nodes = 0;
}

void braid_schedule_destroy(braid_schedule *schedule)
{
    if (!schedule)
        return;
    braid_plan_graph_release(schedule->graph);
    braid_placed_release(schedule->placed);
    release_lanes(schedule);
    braid_free(schedule->start_ns);
    braid_free(schedule->cost_ns);
    braid_free(schedule->unknown);
    braid_free(schedule->critical);
    braid_free(schedule->prefetches);
    braid_free(schedule->division.island_of);
    braid_free(schedule->division.why_outside);
    for (size_t i = 0; i < schedule->division.num_texts; i++)
        braid_free(schedule->division.texts[i]);
    braid_free(schedule->division.texts);
    braid_free(schedule->division.plain_start_ns);
    braid_free(schedule->division.plain_cost_ns);
    braid_free(schedule);
}

const char *braid_schedule_node_name(const braid_schedule *schedule, uint32_t node)
{
    return braid_plan_node_name(schedule->graph, node);
}

struct lane_text braid_schedule_lane_text(const braid_schedule *schedule, uint32_t lane)
{
    struct lane_text lane_text;
    char *text = lane_text.text;
    if (schedule->graph->place_of)
        snprintf(text, sizeof(lane_text.text), "place %u, lane %u",
                 graph_place_number(schedule_lane_place(schedule, lane)), lane);
    else
        snprintf(text, sizeof(lane_text.text), "lane %u", lane);
    return lane_text;
}

void braid_schedule_get_info_sized(const braid_schedule *schedule, braid_schedule_info *out_info,
                                   size_t size)
{
    braid_schedule_info info = { 0 };
    if (schedule) {
        info = schedule->info;
        info.critical_path = schedule->critical;
        info.num_critical = (uint32_t)schedule->num_critical;
        info.serialisations = schedule->serialisations;
        info.copies = schedule->placed ? schedule->placed->copies : NULL;
        info.steps = schedule->program.ops;
        info.num_steps = schedule->program.num_ops;
    }
    braid_sized_give(&info, sizeof(info), out_info, size);
}

braid_status braid_schedule_get_placement_sized(const braid_schedule *schedule, braid_node node,
                                                braid_placement *out_placement, size_t size)
{
    if (!schedule || !out_placement)
        return braid_error_null("braid_schedule_get_placement",
                                schedule ? "out_placement" : "schedule");
    if (node.graph != schedule->graph_id || node.index >= schedule->info.num_nodes)
        return braid_error_invalid(
            "braid_schedule_get_placement: node %u of graph %u is not in this schedule", node.index,
            node.graph);
    uint64_t start = schedule->start_ns[node.index];
    braid_placement placement = {
        .lane = schedule->lane_of[node.index],
        .start_ns = start,
        .end_ns = start + schedule->cost_ns[node.index],
        .island = schedule->division.island_of ? schedule->division.island_of[node.index]
                                               : BRAID_NO_ISLAND,
        // A body has lanes of its own.
        .place = graph_place_number(plan_place_of(schedule->graph, node.index)),
    };
    if (schedule_left_out(schedule, node.index))
        placement = (braid_placement){ .lane = BRAID_NO_LANE, .island = BRAID_NO_ISLAND };
    braid_sized_give(&placement, sizeof(placement), out_placement, size);
    return BRAID_OK;
}
