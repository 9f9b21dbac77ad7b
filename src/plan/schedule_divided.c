// SPDX-License-Identifier: Apache-2.0
// Schedules with the lanes, steps and times of another.
#include <stdlib.h>
#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "plan/plan_limit.h"
#include "plan/schedule.h"

static void *copy(const void *items, size_t num, size_t item_bytes)
{
    void *copied = plan_allocate(num, item_bytes);
    if (copied && num)
        memcpy(copied, items, num * item_bytes);
    return copied;
}

static bool copy_times(struct braid_schedule *schedule, const braid_schedule *from)
{
    const struct plan_division *division = &from->division;
    size_t num = from->info.num_nodes;
    const uint64_t *start_ns = division->island_of ? division->plain_start_ns : from->start_ns;
    const uint64_t *cost_ns = division->island_of ? division->plain_cost_ns : from->cost_ns;
    schedule->start_ns = copy(start_ns, num, sizeof(uint64_t));
    schedule->cost_ns = copy(cost_ns, num, sizeof(uint64_t));
    if (from->unknown)
        schedule->unknown = copy(from->unknown, num, sizeof(*from->unknown));
    schedule->critical = copy(from->critical, from->num_critical, sizeof(uint32_t));
    schedule->num_critical = from->num_critical;
    if (division->island_of)
        schedule->info.makespan_ns = division->plain_makespan_ns;
    return schedule->start_ns && schedule->cost_ns && schedule->critical &&
           (schedule->unknown || !from->unknown);
}

braid_status braid_schedule_undivided(const braid_schedule *from, braid_schedule **out_schedule)
{
    braid_schedule *schedule = NULL;
    braid_status status = braid_schedule_begin(braid_plan_graph_share(from->graph), from->graph_id,
                                               from->graph_version, &from->options, &schedule);
    if (status)
        return status;
    braid_schedule_share_lanes(schedule, from);
    if (from->placed)
        schedule->placed = braid_placed_share(from->placed);
    if (!copy_times(schedule, from))
        status = braid_error_no_memory("a schedule");
    if (status) {
        braid_schedule_destroy(schedule);
    } else {
        braid_plan_find_limit(schedule);
        *out_schedule = schedule;
    }
    return status;
}
