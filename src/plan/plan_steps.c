// SPDX-License-Identifier: Apache-2.0
// Writes the steps in issue order: a node's waits, its run, and a record where others wait for
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
    uint32_t *waits_left; // per node
    uint32_t *event_of;   // per node waited for
    struct array events;  // uint32_t: event objects free to be recorded
};

static void add_step(struct writer *writer, braid_step_kind kind, uint32_t lane, uint32_t node,
                     uint32_t event)
{
    writer->out->steps[writer->out->num_steps++] = (braid_step){ kind, lane, node, event };
}

// The list has room for all events there are: nothing here can fail.
static void add_waits(struct writer *writer, uint32_t index, uint32_t lane)
{
    const uint32_t *waits = writer->placement->waits.items;
    for (uint32_t w = writer->placement->wait_first[index];
         w < writer->placement->wait_first[index + 1]; w++) {
        uint32_t event = writer->event_of[waits[w]];
        add_step(writer, BRAID_STEP_WAIT, lane, waits[w], event);
        if (--writer->waits_left[waits[w]] == 0)
            ((uint32_t *)writer->events.items)[writer->events.num++] = event;
    }
}

static bool add_record(struct writer *writer, uint32_t node, uint32_t lane)
{
    if (writer->events.num == 0) {
        if (!braid_array_reserve(&writer->events, (size_t)writer->out->info.num_events + 1,
                                 sizeof(uint32_t)))
            return false;
        ((uint32_t *)writer->events.items)[writer->events.num++] = writer->out->info.num_events++;
    }
    uint32_t event = ((uint32_t *)writer->events.items)[--writer->events.num];
    writer->event_of[node] = event;
    add_step(writer, BRAID_STEP_RECORD, lane, node, event);
    return true;
}

static bool add_nodes(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->plan->num_nodes; i++) {
        uint32_t node = writer->placement->issued[i];
        uint32_t lane = writer->placement->lane_of[node];
        add_waits(writer, i, lane);
        add_step(writer, BRAID_STEP_RUN, lane, node, 0);
        if (writer->waits_left[node] && !add_record(writer, node, lane))
            return false;
    }
    return true;
}

static bool write_steps(struct writer *writer)
{
    size_t num_nodes = writer->plan->num_nodes;
    braid_schedule_info *info = &writer->out->info;
    const uint32_t *waits = writer->placement->waits.items;
    writer->waits_left = plan_allocate_zeroed(num_nodes, sizeof(uint32_t));
    writer->event_of = plan_allocate(num_nodes, sizeof(uint32_t));
    if (!writer->waits_left || !writer->event_of)
        return false;
    info->num_waits = writer->placement->waits.num;
    for (size_t w = 0; w < writer->placement->waits.num; w++) {
        if (writer->waits_left[waits[w]]++ == 0)
            info->num_records++;
    }
    size_t num_steps = num_nodes + info->num_waits + info->num_records;
    writer->out->steps = plan_allocate(num_steps, sizeof(braid_step));
    return writer->out->steps && add_nodes(writer);
}

static bool find_lane_places(struct braid_schedule *schedule)
{
    uint32_t num_lanes = schedule->info.num_lanes;
    schedule->lane_place = braid_allocate_zeroed(num_lanes, sizeof(*schedule->lane_place));
    for (uint32_t i = 0; schedule->lane_place && i < num_lanes; i++)
        schedule->lane_place[i] =
            (uint8_t)plan_place_of(schedule->graph, schedule->lane_nodes[schedule->lane_first[i]]);
    return schedule->lane_place;
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
    return !schedule->graph->place_of || find_lane_places(schedule);
}

static void take_arrays(struct braid_schedule *schedule, struct plan_costs *costs,
                        struct plan_placement *placement)
{
    schedule->lane_of = placement->lane_of;
    schedule->start_ns = placement->start_ns;
    schedule->cost_ns = costs->node_ns;
    schedule->unknown = costs->unknown;
    placement->lane_of = NULL;
    placement->start_ns = NULL;
    costs->node_ns = NULL;
    costs->unknown = NULL;
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
    take_arrays(schedule, costs, placement);
    return done && list_lanes(schedule) ? BRAID_OK : braid_error_no_memory("the steps of a plan");
}
