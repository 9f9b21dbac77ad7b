// SPDX-License-Identifier: Apache-2.0
// Writes the steps in issue order: a unit's waits, its nodes, and a record where others wait for
// it.
//
// Event objects: one is taken at a record and given back at the last wait for that record. Whoever
// records it next does so later in issue order, and a wait captures the latest record when it is
// submitted, so in this order no wait can see a record that is not its own.
#include "plan/plan_steps.h"

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"

struct writer {
    const struct plan_graph *plan;
    const struct plan_placement *placement;
    struct braid_schedule *out;
    uint32_t *waits_left; // per unit
    uint32_t *event_of;   // per unit waited for
    struct array events;  // uint32_t: event objects free to be recorded
};

static void add_step(struct writer *writer, braid_step_kind kind, uint32_t lane, uint32_t node,
                     uint32_t event)
{
    writer->out->steps[writer->out->num_steps++] = (braid_step){ kind, lane, node, event };
}

static uint32_t last_node(const struct plan_graph *plan, uint32_t unit)
{
    return plan_unit_member(plan, unit, plan_unit_size(plan, unit) - 1);
}

// The list has room for all events there are: nothing here can fail.
static void add_waits(struct writer *writer, uint32_t index, uint32_t lane)
{
    const uint32_t *waits = writer->placement->waits.items;
    for (uint32_t w = writer->placement->wait_first[index];
         w < writer->placement->wait_first[index + 1]; w++) {
        uint32_t event = writer->event_of[waits[w]];
        add_step(writer, BRAID_STEP_WAIT, lane, last_node(writer->plan, waits[w]), event);
        if (--writer->waits_left[waits[w]] == 0)
            ((uint32_t *)writer->events.items)[writer->events.num++] = event;
    }
}

static bool add_record(struct writer *writer, uint32_t unit, uint32_t lane)
{
    if (writer->events.num == 0) {
        if (!braid_array_reserve(&writer->events, (size_t)writer->out->info.num_events + 1,
                                 sizeof(uint32_t)))
            return false;
        ((uint32_t *)writer->events.items)[writer->events.num++] = writer->out->info.num_events++;
    }
    uint32_t event = ((uint32_t *)writer->events.items)[--writer->events.num];
    writer->event_of[unit] = event;
    add_step(writer, BRAID_STEP_RECORD, lane, last_node(writer->plan, unit), event);
    return true;
}

static bool add_units(struct writer *writer)
{
    const struct plan_graph *plan = writer->plan;
    for (uint32_t i = 0; i < plan->num_units; i++) {
        uint32_t unit = writer->placement->issued[i];
        uint32_t lane = writer->placement->lane_of[unit];
        add_waits(writer, i, lane);
        for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++)
            add_step(writer, BRAID_STEP_RUN, lane, plan_unit_member(plan, unit, k), 0);
        if (writer->waits_left[unit] && !add_record(writer, unit, lane))
            return false;
    }
    return true;
}

static bool write_steps(struct writer *writer)
{
    size_t num_units = writer->plan->num_units;
    braid_schedule_info *info = &writer->out->info;
    const uint32_t *waits = writer->placement->waits.items;
    writer->waits_left = plan_allocate_zeroed(num_units, sizeof(uint32_t));
    writer->event_of = plan_allocate(num_units, sizeof(uint32_t));
    if (!writer->waits_left || !writer->event_of)
        return false;
    info->num_waits = writer->placement->waits.num;
    for (size_t w = 0; w < writer->placement->waits.num; w++) {
        if (writer->waits_left[waits[w]]++ == 0)
            info->num_records++;
    }
    size_t num_steps = writer->plan->num_nodes + info->num_waits + info->num_records;
    writer->out->steps = plan_allocate(num_steps, sizeof(braid_step));
    return writer->out->steps && add_units(writer);
}

static bool list_lanes(struct braid_schedule *schedule)
{
    uint32_t num_lanes = schedule->info.num_lanes;
    schedule->lane_first = braid_allocate_zeroed((size_t)num_lanes + 2, sizeof(uint32_t));
    schedule->lane_nodes = plan_allocate(schedule->graph->num_nodes, sizeof(uint32_t));
    if (!schedule->lane_first || !schedule->lane_nodes)
        return false;
    for (uint32_t i = 0; i < schedule->graph->num_nodes; i++)
        schedule->lane_first[(size_t)schedule->lane_of[i] + 2]++;
    for (uint32_t i = 0; i < num_lanes; i++)
        schedule->lane_first[i + 2] += schedule->lane_first[i + 1];
    for (size_t i = 0; i < schedule->num_steps; i++) {
        const braid_step *step = &schedule->steps[i];
        if (step->kind == BRAID_STEP_RUN)
            schedule->lane_nodes[schedule->lane_first[step->lane + 1]++] = step->node;
    }
    return true;
}

// Without bundles the arrays of units are those of nodes.
static bool take_arrays(struct braid_schedule *schedule, struct plan_costs *costs,
                        struct plan_placement *placement)
{
    const struct plan_graph *plan = schedule->graph;
    bool bundles = plan->units.first_of;
    size_t num = (size_t)plan->num_nodes + 1;
    schedule->lane_of = bundles ? malloc(num * sizeof(uint32_t)) : placement->lane_of;
    schedule->start_ns = bundles ? malloc(num * sizeof(uint64_t)) : placement->start_ns;
    if (!schedule->lane_of || !schedule->start_ns)
        return false;
    if (!bundles) {
        placement->lane_of = NULL;
        placement->start_ns = NULL;
    }
    for (uint32_t unit = 0; bundles && unit < plan->num_units; unit++) {
        uint64_t start = placement->start_ns[unit];
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t node = plan_unit_member(plan, unit, i);
            schedule->lane_of[node] = placement->lane_of[unit];
            schedule->start_ns[node] = start;
            start += costs->node_ns[node] + costs->model.node_ns;
        }
    }
    return true;
}

static void take_costs(struct braid_schedule *schedule, struct plan_costs *costs)
{
    schedule->cost_ns = costs->node_ns;
    if (costs->unit_ns == costs->node_ns)
        costs->unit_ns = NULL;
    costs->node_ns = NULL;
}

braid_status braid_plan_steps_create(struct braid_schedule *schedule, struct plan_costs *costs,
                                     struct plan_placement *placement)
{
    struct writer writer = {
        .plan = schedule->graph,
        .placement = placement,
        .out = schedule,
    };
    schedule->info.num_lanes = placement->num_lanes;
    bool done = write_steps(&writer);
    free(writer.waits_left);
    free(writer.event_of);
    braid_array_finish(&writer.events);
    if (!done || !take_arrays(schedule, costs, placement) || !list_lanes(schedule))
        return braid_error_no_memory("the steps of a plan");
    take_costs(schedule, costs);
    return BRAID_OK;
}
