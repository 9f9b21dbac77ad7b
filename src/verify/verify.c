// SPDX-License-Identifier: Apache-2.0
// Proves a schedule from its steps alone, with none of the planner's reasoning: walks them in issue
// order with a clock for each lane. A wait is taken only if the latest record of its event,
// submitted before it, is of the node it names; so every wait ends, whatever the device does in
// between.
#include "verify/verify.h"

#include <string.h>

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"
#include "verify/verify_accesses.h"
#include "verify/verify_islands.h"
#include "verify/verify_memory.h"
#include "verify/verify_state.h"

// Where they take more, a walk looks at a part of the lanes. No limit holds for the smallest part:
// its clocks have one block each.
#define LANES_CHANGE 4
#define FEWEST_LANES 16

static bool sort_edges(struct verify *verify)
{
    const struct graph_edge *edges = graph_edges(verify->graph);
    size_t num_edges = verify->graph->edges.num;
    size_t num_nodes = verify->num_nodes;
    verify->pred_first = plan_allocate_zeroed(num_nodes + 1, sizeof(uint32_t));
    verify->preds = plan_allocate(num_edges, sizeof(uint32_t));
    if (!verify->pred_first || !verify->preds)
        return false;
    for (size_t i = 0; i < num_edges; i++)
        verify->pred_first[(size_t)edges[i].to + 2]++;
    for (size_t i = 1; i < num_nodes + 2; i++)
        verify->pred_first[i] += verify->pred_first[i - 1];
    for (size_t i = 0; i < num_edges; i++)
        verify->preds[verify->pred_first[(size_t)edges[i].to + 1]++] = edges[i].from;
    return true;
}

// Clocks of many lanes go with their last use, which must be known.
static bool count_uses(struct verify *verify)
{
    if (verify->clocks.height == 0)
        return true;
    verify->steps_left = braid_allocate_zeroed(verify->num_lanes, sizeof(uint32_t));
    for (size_t i = 0; verify->steps_left && i < verify->schedule->num_steps; i++) {
        const braid_step *step = &verify->schedule->steps[i]; // not checked yet
        if (step->lane < verify->num_lanes)
            verify->steps_left[step->lane]++;
        if (step->kind == BRAID_STEP_WAIT && step->event < verify->num_events)
            verify->events[step->event].waits_left++;
    }
    return verify->steps_left;
}

static void forget_clock(struct verify *verify, verify_clock *clock)
{
    braid_verify_clocks_drop(&verify->clocks, *clock);
    *clock = 0;
}

static void forget_used(struct verify *verify, const braid_step *step)
{
    if (verify->steps_left && --verify->steps_left[step->lane] == 0)
        forget_clock(verify, &verify->lane_clocks[step->lane]);
    if (verify->steps_left && step->kind == BRAID_STEP_WAIT &&
        --verify->events[step->event].waits_left == 0)
        forget_clock(verify, &verify->events[step->event].clock);
}

static bool allocate_verify(struct verify *verify, size_t most_words)
{
    size_t num_nodes = verify->num_nodes, num_lanes = verify->num_lanes;
    verify->lane_clocks = braid_allocate_zeroed(num_lanes, sizeof(verify_clock));
    verify->events = malloc(((size_t)verify->num_events + 1) * sizeof(*verify->events));
    verify->num_run = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    verify->last_run = malloc((num_lanes + 1) * sizeof(uint32_t));
    verify->spots = plan_allocate_zeroed(num_nodes, sizeof(*verify->spots));
    return verify->lane_clocks && verify->events && verify->num_run && verify->last_run &&
           verify->spots && sort_edges(verify) &&
           braid_verify_clocks_init(&verify->clocks, verify->num_known, most_words);
}

static braid_status init_verify(struct verify *verify, size_t most_words)
{
    if (!allocate_verify(verify, most_words))
        return braid_error_no_memory("the proof of a plan");
    for (uint32_t i = 0; i < verify->num_events; i++)
        verify->events[i] = (struct verify_event){ .node = GRAPH_NONE };
    if (!count_uses(verify))
        return braid_error_no_memory("the proof of a plan");
    memset(verify->last_run, 0xff, ((size_t)verify->num_lanes + 1) * sizeof(uint32_t));
    if (!graph_has_units(verify->graph))
        return BRAID_OK;
    return braid_graph_find_units(verify->graph, &verify->units);
}

static void finish_verify(struct verify *verify)
{
    braid_verify_clocks_finish(&verify->clocks);
    free(verify->lane_clocks);
    free(verify->events);
    free(verify->steps_left);
    free(verify->num_run);
    free(verify->last_run);
    free(verify->spots);
    free(verify->pred_first);
    free(verify->preds);
    braid_graph_units_finish(&verify->units);
}

static braid_status check_step(const struct verify *verify, size_t index)
{
    const braid_step *step = &verify->schedule->steps[index];
    const char *wrong = NULL;
    if (step->lane >= verify->num_lanes)
        wrong = "lane";
    else if (step->node >= verify->num_nodes)
        wrong = "node";
    else if (step->kind != BRAID_STEP_RUN && step->event >= verify->num_events)
        wrong = "event";
    else if (step->kind > BRAID_STEP_WAIT)
        wrong = "kind";
    if (!wrong)
        return BRAID_OK;
    return braid_error(BRAID_INTERNAL, "step %zu of the plan: no such %s", index, wrong);
}

// In a bundle each member comes right after the one before it, and a main node's successors on the
// lane only after the last.
static braid_status check_bundle(const struct verify *verify, uint32_t lane, uint32_t node)
{
    const struct graph_units *units = &verify->units;
    if (!units->unit_of)
        return BRAID_OK;
    uint32_t last = verify->last_run[lane];
    uint32_t before = graph_member_before(units, node); // what must have run just before
    if (before == GRAPH_NONE && last != GRAPH_NONE) {
        uint32_t end = units->first_of[units->unit_of[last] + 1];
        before = units->members[end - 1];
    }
    if (before == last)
        return BRAID_OK;
    return braid_error(BRAID_INTERNAL, "the plan runs node %s in the midst of a bundle",
                       braid_verify_name(verify, node).text);
}

static braid_status check_edges(const struct verify *verify, uint32_t node)
{
    for (uint32_t i = verify->pred_first[node]; i < verify->pred_first[node + 1]; i++) {
        if (!verify_is_ordered(verify, verify->preds[i], node))
            return braid_verify_report(verify, verify->preds[i], node, "an edge");
    }
    return BRAID_OK;
}

static braid_status walk_run(struct verify *verify, const braid_step *step,
                             struct verify_accesses *accesses)
{
    uint32_t node = step->node, lane = step->lane;
    if (verify->spots[node].turn)
        return braid_error(BRAID_INTERNAL, "the plan runs node %s twice",
                           braid_verify_name(verify, node).text);
    verify->spots[node].lane = lane;
    braid_status status = check_bundle(verify, lane, node);
    if (!status)
        status = check_edges(verify, node);
    if (!status && accesses)
        status = braid_verify_accesses_node(accesses, node);
    if (!status && verify->memory)
        status = braid_verify_memory_node(verify->memory, node, lane);
    verify->spots[node].turn = ++verify->num_run[lane];
    verify->last_run[lane] = node;
    return status;
}

static braid_status check_clocks(const struct verify *verify)
{
    if (verify->clocks.no_memory)
        return braid_error_no_memory("the proof of a plan");
    return verify->clocks.is_full ? BRAID_NO_MEMORY : BRAID_OK; // which nobody is told
}

static braid_status walk_record(struct verify *verify, const braid_step *step)
{
    if (verify->spots[step->node].turn == 0 || verify->spots[step->node].lane != step->lane)
        return braid_error(BRAID_INTERNAL,
                           "the plan records event %u for node %s, which has not run there",
                           step->event, braid_verify_name(verify, step->node).text);
    struct verify_event *event = &verify->events[step->event];
    event->node = step->node;
    event->turn = verify->num_run[step->lane];
    event->clock = verify_copy(&verify->clocks, event->clock, verify->lane_clocks[step->lane]);
    return check_clocks(verify);
}

static braid_status walk_wait(struct verify *verify, const braid_step *step)
{
    struct verify_event *event = &verify->events[step->event];
    if (event->node != step->node)
        return braid_error(BRAID_INTERNAL,
                           "the plan waits on lane %u for node %s, but event %u is then not "
                           "recorded for it",
                           step->lane, braid_verify_name(verify, step->node).text, step->event);
    struct verify_clocks *clocks = &verify->clocks;
    verify_clock *clock = &verify->lane_clocks[step->lane];
    *clock = verify_merge(clocks, *clock, event->clock);
    bool knew_no_more = *clock == event->clock;
    uint32_t known = verify->spots[step->node].lane - verify->first_known;
    if (known < verify->num_known)
        *clock = verify_raise(clocks, *clock, known, event->turn);
    if (knew_no_more && event->clock != *clock) // and so will others that wait for it
        event->clock = verify_copy(clocks, event->clock, *clock);
    return check_clocks(verify);
}

static braid_status walk_steps(struct verify *verify, struct verify_accesses *accesses)
{
    for (size_t i = 0; i < verify->schedule->num_steps; i++) {
        const braid_step *step = &verify->schedule->steps[i];
        braid_status status = check_step(verify, i);
        if (!status && step->kind == BRAID_STEP_RUN)
            status = walk_run(verify, step, accesses);
        if (!status && step->kind == BRAID_STEP_RECORD)
            status = walk_record(verify, step);
        if (!status && step->kind == BRAID_STEP_WAIT)
            status = walk_wait(verify, step);
        if (status)
            return status;
        forget_used(verify, step);
    }
    for (uint32_t i = 0; i < verify->num_nodes; i++) {
        if (verify->spots[i].turn == 0)
            return braid_error(BRAID_INTERNAL, "the plan does not run node %s",
                               braid_verify_name(verify, i).text);
    }
    return BRAID_OK;
}

struct hinted {
    uint32_t hint, turn, node; // sorted by hint, then by the place of the bundle in the graph
};

static int compare_hinted(const void *a, const void *b)
{
    const struct hinted *x = a, *y = b;
    if (x->hint != y->hint)
        return x->hint < y->hint ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

// Nodes with one hint must share a lane, their bundles in insertion order.
static braid_status check_hints(const struct verify *verify)
{
    struct array list = { 0 };
    const struct graph_node *nodes = graph_nodes(verify->graph);
    for (uint32_t i = 0; i < verify->num_nodes; i++) {
        if (!nodes[i].lane_hint)
            continue;
        struct hinted *item = braid_array_append(&list, 1, sizeof(*item));
        if (!item) {
            braid_array_finish(&list);
            return braid_error_no_memory("the proof of a plan");
        }
        *item = (struct hinted){ nodes[i].lane_hint, verify->spots[i].turn, i };
    }
    struct hinted *items = list.items;
    if (items)
        qsort(items, list.num, sizeof(*items), compare_hinted);
    braid_status status = BRAID_OK;
    for (size_t i = 1; !status && i < list.num; i++) {
        uint32_t a = items[i - 1].node, b = items[i].node;
        if (items[i].hint != items[i - 1].hint)
            continue;
        if (verify->spots[a].lane != verify->spots[b].lane)
            status = braid_error(BRAID_INTERNAL,
                                 "the plan puts node %s and node %s on two lanes, "
                                 "against hint %u",
                                 braid_verify_name(verify, a).text,
                                 braid_verify_name(verify, b).text, items[i].hint);
        else if (verify_turn_of_unit(verify, a) > verify_turn_of_unit(verify, b))
            status = braid_verify_report(verify, b, a, "their lane hint");
    }
    braid_array_finish(&list);
    return status;
}

static braid_status prove(struct verify *verify, const struct memory_plan *memory_plan,
                          size_t most_words)
{
    struct verify_accesses *accesses = NULL;
    braid_status status = init_verify(verify, most_words);
    if (!status && verify->graph->accesses.num)
        status = braid_verify_accesses_create(verify, &accesses);
    if (!status && memory_plan)
        status = braid_verify_memory_create(verify, memory_plan, &verify->memory);
    if (!status)
        status = walk_steps(verify, accesses);
    if (!status)
        status = check_hints(verify);
    braid_verify_accesses_destroy(accesses);
    braid_verify_memory_destroy(verify->memory);
    return status;
}

// How many lanes to look at next, after a walk for `num`.
static uint32_t change_num_known(uint32_t num, bool was_full, bool was_easy)
{
    if (was_full)
        return num / LANES_CHANGE > FEWEST_LANES ? num / LANES_CHANGE : FEWEST_LANES;
    return was_easy && num < UINT32_MAX / LANES_CHANGE ? num * LANES_CHANGE : num;
}

braid_status braid_verify_steps(const braid_schedule *schedule, const braid_graph *graph,
                                const struct memory_plan *memory_plan, const bool *ended_at_start,
                                size_t most_words)
{
    uint32_t num_lanes = schedule->info.num_lanes;
    uint32_t first_known = 0, num_known = num_lanes;
    braid_status status = BRAID_OK;
    do {
        if (num_known > num_lanes - first_known)
            num_known = num_lanes - first_known;
        struct verify verify = {
            .schedule = schedule,
            .graph = graph,
            .num_nodes = graph_num_nodes(graph),
            .num_lanes = num_lanes,
            .num_events = schedule->info.num_events,
            .first_known = first_known,
            .num_known = num_known,
            .ended_at_start = ended_at_start,
        };
        status = prove(&verify, memory_plan, num_known > FEWEST_LANES ? most_words : SIZE_MAX);
        bool was_full = status && verify.clocks.is_full;
        bool was_easy = verify.clocks.blocks.num < most_words / (2 * LANES_CHANGE);
        finish_verify(&verify);
        first_known += was_full ? 0 : num_known;
        num_known = change_num_known(num_known, was_full, was_easy);
        if (was_full)
            status = BRAID_OK;
    } while (!status && first_known < num_lanes);
    return status;
}

static braid_status check_lane_places(const braid_schedule *schedule)
{
    for (uint32_t i = 0; schedule->placed && i < schedule->info.num_nodes; i++) {
        uint32_t lane = schedule->lane_of[i];
        if (schedule_lane_place(schedule, lane) != placed_place(schedule->placed->graph, i))
            return braid_error(BRAID_INTERNAL,
                               "the plan runs node '%s' of device %u on lane %u of another",
                               braid_schedule_node_name(schedule, i),
                               placed_place(schedule->placed->graph, i), lane);
    }
    return BRAID_OK;
}

braid_status braid_schedule_verify(const braid_schedule *schedule, const braid_graph *graph)
{
    if (!schedule || !graph)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_verify: %s is NULL",
                           schedule ? "graph" : "schedule");
    if (schedule->graph_id != graph->id || schedule->graph_version != graph->version)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_schedule_verify: the schedule is of %s",
                           schedule->graph_id != graph->id ? "another graph"
                                                           : "this graph before it was changed");
    const struct placed *placed = schedule->placed;
    braid_status status = placed ? braid_verify_placed(placed, graph) : BRAID_OK;
    if (!status)
        status = check_lane_places(schedule);
    if (!status)
        status = braid_verify_steps(schedule, placed ? placed->graph : graph, NULL, NULL,
                                    VERIFY_MOST_WORDS);
    return status ? status : braid_verify_islands(schedule);
}
