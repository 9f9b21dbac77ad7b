// SPDX-License-Identifier: Apache-2.0
// The proof of a schedule: its program, its places, and that its islands are stretches of lanes.
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "graph/cull.h"
#include "plan/schedule.h"
#include "verify/verify.h"
#include "verify/verify_program.h"

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

// All of a body is in one island, bodies inside it too, or no node directly in it is in one.
static braid_status check_body(const braid_schedule *schedule, const struct program *body)
{
    const uint32_t *island_of = schedule->division.island_of;
    const uint32_t island = island_of[body->node];
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < body->num_ops && !status; i++) {
        const braid_step *op = &body->ops[i];
        bool may_be_another = op->kind == BRAID_STEP_LOOP && island == PLAN_NONE;
        if (program_has_node(op) && island_of[op->node] != island && !may_be_another)
            status = braid_error(BRAID_INTERNAL, "node %s is not in the island of %s around it",
                                 name(schedule, op->node).text, name(schedule, body->node).text);
    }
    return status;
}

// If an island is a loop or branch, nothing is outside of that.
static braid_status check_bodies(const braid_schedule *schedule, const struct program *program,
                                 bool *has_begun)
{
    const uint32_t *island_of = schedule->division.island_of;
    const bool is_inside = program->region != PLAN_NONE && island_of[program->node] != PLAN_NONE;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i++) {
        const struct program *body = &program->bodies[i];
        const struct lane_end none = { .node = PLAN_NONE };
        if (!is_inside && !body->is_else)
            status = check_node(schedule, &none, body->node, has_begun);
        if (!status)
            status = check_body(schedule, body);
        if (!status)
            status = check_bodies(schedule, body, has_begun);
    }
    return status;
}

static braid_status check_islands(const braid_schedule *schedule)
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
    for (size_t i = 0; i < schedule->program.num_ops && !status; i++) {
        const braid_step *step = &schedule->program.ops[i];
        struct lane_end *end = &ends[step->lane];
        if (step->kind == BRAID_STEP_RUN) {
            status = check_node(schedule, end, step->node, has_begun);
            *end = (struct lane_end){ .node = step->node };
        } else {
            end->is_cut = true;
        }
    }
    if (!status)
        status = check_bodies(schedule, &schedule->program, has_begun);
    braid_free(ends);
    braid_free(has_begun);
    return status;
}

static braid_status check_lane_places(const braid_schedule *schedule, const struct program *program)
{
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (program_has_node(op) &&
            program->lanes[op->lane].place != placed_place(schedule->placed->graph, op->node))
            return braid_error(
                BRAID_INTERNAL, "the plan runs node '%s' of place %u on lane %u of another",
                braid_schedule_node_name(schedule, op->node),
                graph_place_number(placed_place(schedule->placed->graph, op->node)), op->lane);
    }
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = check_lane_places(schedule, &program->bodies[i]);
    return status;
}

static braid_status verify_culled(const braid_schedule *schedule, const braid_graph *graph)
{
    const struct placed *placed = schedule->placed;
    braid_status status = placed ? braid_verify_placed(placed, graph) : BRAID_OK;
    if (!status && placed)
        status = check_lane_places(schedule, &schedule->program);
    if (!status)
        status = braid_program_verify(&schedule->program, placed ? placed->graph : graph, NULL);
    return status ? status : check_islands(schedule);
}

braid_status braid_schedule_verify(const braid_schedule *schedule, const braid_graph *graph)
{
    if (!schedule || !graph)
        return braid_error_null("braid_schedule_verify", schedule ? "graph" : "schedule");
    if (schedule->graph_id != graph->id || schedule->graph_version != graph->version)
        return braid_error_invalid(
            "braid_schedule_verify: the schedule is of %s",
            schedule->graph_id != graph->id ? "another graph" : "this graph before it was changed");
    struct culled culled;
    braid_status status = braid_graph_cull(graph, &culled);
    if (!status)
        status = braid_verify_left_out(graph, culled.graph);
    if (!status)
        status = verify_culled(schedule, culled.graph);
    braid_culled_finish(&culled);
    return status;
}
