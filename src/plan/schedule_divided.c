// SPDX-License-Identifier: Apache-2.0
// Schedules with the lanes and steps of another.
#include <stdlib.h>
#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "plan/schedule.h"

static void *copy(const void *items, size_t num, size_t item_bytes)
{
    void *copied = plan_allocate(num, item_bytes);
    if (copied && num)
        memcpy(copied, items, num * item_bytes);
    return copied;
}

braid_status braid_schedule_copy_lanes(struct braid_schedule *schedule, const braid_schedule *from)
{
    size_t num_nodes = from->info.num_nodes, num_lanes = from->info.num_lanes;
    schedule->info = from->info;
    schedule->info.num_islands = schedule->info.num_island_nodes = 0;
    schedule->num_steps = from->num_steps;
    schedule->num_serialised = from->num_serialised;
    schedule->num_delayed = from->num_delayed;
    schedule->steps = copy(from->steps, from->num_steps, sizeof(*from->steps));
    schedule->lane_first = copy(from->lane_first, num_lanes + 1, sizeof(*from->lane_first));
    schedule->lane_nodes = copy(from->lane_nodes, num_nodes, sizeof(*from->lane_nodes));
    schedule->lane_of = copy(from->lane_of, num_nodes, sizeof(*from->lane_of));
    schedule->serialised = copy(from->serialised, from->num_serialised, sizeof(*from->serialised));
    schedule->delayed = copy(from->delayed, from->num_delayed, sizeof(*from->delayed));
    bool complete = schedule->steps && schedule->lane_first && schedule->lane_nodes &&
                    schedule->lane_of && schedule->serialised && schedule->delayed;
    return complete ? BRAID_OK : braid_error_no_memory("a schedule");
}

static bool copy_times(struct braid_schedule *schedule, const braid_schedule *from)
{
    const struct plan_division *division = &from->division;
    size_t num = from->info.num_nodes;
    const uint64_t *start_ns = division->island_of ? division->plain_start_ns : from->start_ns;
    const uint64_t *cost_ns = division->island_of ? division->plain_cost_ns : from->cost_ns;
    schedule->start_ns = copy(start_ns, num, sizeof(uint64_t));
    schedule->cost_ns = copy(cost_ns, num, sizeof(uint64_t));
    if (from->is_unknown)
        schedule->is_unknown = copy(from->is_unknown, num, sizeof(bool));
    schedule->critical = copy(from->critical, from->num_critical, sizeof(uint32_t));
    schedule->num_critical = from->num_critical;
    if (division->island_of)
        schedule->info.makespan_ns = division->plain_makespan_ns;
    return schedule->start_ns && schedule->cost_ns && schedule->critical &&
           (schedule->is_unknown || !from->is_unknown);
}

braid_status braid_schedule_undivided(const braid_schedule *from, braid_schedule **out_schedule)
{
    braid_schedule *schedule = calloc(1, sizeof(*schedule));
    if (!schedule)
        return braid_error_no_memory("a schedule");
    schedule->graph_id = from->graph_id;
    schedule->graph_version = from->graph_version;
    schedule->options = from->options;
    schedule->graph = braid_plan_graph_share(from->graph);
    braid_status status = braid_schedule_copy_lanes(schedule, from);
    if (!status && !copy_times(schedule, from))
        status = braid_error_no_memory("a schedule");
    if (status)
        braid_schedule_destroy(schedule);
    else
        *out_schedule = schedule;
    return status;
}
