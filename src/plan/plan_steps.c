// SPDX-License-Identifier: Apache-2.0
// Writes the plan's program in issue order: a node's waits, its run, and a record where others wait
// for it.
#include "plan/plan_passes.h"

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"

struct writer {
    const struct plan_graph *plan;
    const struct plan_placement *placement;
    struct program *out;
    uint32_t *position_of; // per node; PLAN_NONE: nobody waits for it
    uint32_t *num_of_lane; // positions
};

static void add_op(struct writer *writer, braid_step_kind kind, uint32_t lane, uint32_t node,
                   uint32_t position)
{
    writer->out->ops[writer->out->num_ops++] = (braid_step){ kind, lane, node, position };
}

// Positions are numbered as they are recorded: until then an entry is 0 where there will be one.
static void add_record(struct writer *writer, uint32_t node, uint32_t lane)
{
    uint32_t position = writer->out->num_positions++;
    writer->position_of[node] = position;
    writer->out->positions[position] =
        (struct program_position){ lane, ++writer->num_of_lane[lane], node };
    add_op(writer, BRAID_STEP_RECORD, lane, node, position);
}

static void add_nodes(struct writer *writer)
{
    const struct plan_placement *placement = writer->placement;
    const uint32_t *waits = placement->waits.items;
    for (uint32_t i = 0; i < writer->plan->num_nodes; i++) {
        uint32_t node = placement->issued[i], lane = placement->lane_of[node];
        for (uint32_t w = placement->wait_first[i]; w < placement->wait_first[i + 1]; w++)
            add_op(writer, BRAID_STEP_WAIT, lane, waits[w], writer->position_of[waits[w]]);
        add_op(writer, BRAID_STEP_RUN, lane, node, 0);
        if (writer->position_of[node] != PLAN_NONE)
            add_record(writer, node, lane);
    }
}

static uint32_t find_records(struct writer *writer)
{
    const uint32_t *waits = writer->placement->waits.items;
    uint32_t num = 0;
    for (uint32_t i = 0; i < writer->plan->num_nodes; i++)
        writer->position_of[i] = PLAN_NONE;
    for (size_t w = 0; w < writer->placement->waits.num; w++) {
        num += writer->position_of[waits[w]] == PLAN_NONE;
        writer->position_of[waits[w]] = 0;
    }
    return num;
}

// Makes room for the operations, and sets the kinds of nodes and the places of lanes.
static bool begin_program(struct program *program, const struct plan_graph *plan,
                          const braid_graph *graph, const struct plan_placement *placement,
                          uint32_t num_records)
{
    program->num_nodes = plan->num_nodes;
    program->region = GRAPH_NONE;
    program->num_lanes = placement->num_lanes;
    program->ops =
        plan_allocate(plan->num_nodes + placement->waits.num + num_records, sizeof(*program->ops));
    program->positions = plan_allocate(num_records, sizeof(*program->positions));
    program->kinds = plan_allocate(plan->num_nodes, sizeof(*program->kinds));
    program->lanes = braid_allocate_zeroed(placement->num_lanes, sizeof(*program->lanes));
    if (!program->ops || !program->positions || !program->kinds || !program->lanes)
        return false;
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        program->kinds[i] = (uint8_t)graph_nodes(graph)[i].kind;
        if (plan->place_of)
            program->lanes[placement->lane_of[i]].place = plan_place_of(plan, i);
    }
    return true;
}

static bool write_program(struct writer *writer, const braid_graph *graph,
                          braid_schedule_info *info)
{
    struct program *program = writer->out;
    writer->position_of = plan_allocate(writer->plan->num_nodes, sizeof(uint32_t));
    writer->num_of_lane = braid_allocate_zeroed(writer->placement->num_lanes, sizeof(uint32_t));
    if (!writer->position_of || !writer->num_of_lane)
        return false;
    info->num_waits = writer->placement->waits.num;
    info->num_records = find_records(writer);
    if (!begin_program(program, writer->plan, graph, writer->placement,
                       (uint32_t)info->num_records))
        return false;
    add_nodes(writer);
    bool posts = graph->ranks; // it may have some
    return braid_program_list_lanes(program) &&
           (!posts || braid_program_issue_posts_first(program));
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
    for (size_t i = 0; i < schedule->program.num_ops; i++) {
        const braid_step *step = &schedule->program.ops[i];
        if (step->kind == BRAID_STEP_RUN)
            schedule->lane_nodes[schedule->lane_first[step->lane + 1]++] = step->node;
    }
    return true;
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

braid_status braid_plan_steps_create(struct braid_schedule *schedule, const braid_graph *graph,
                                     struct plan_costs *costs, struct plan_placement *placement)
{
    struct writer writer = {
        .plan = schedule->graph,
        .placement = placement,
        .out = &schedule->program,
    };
    schedule->info.num_lanes = placement->num_lanes;
    bool done = write_program(&writer, graph, &schedule->info);
    free(writer.position_of);
    free(writer.num_of_lane);
    take_arrays(schedule, costs, placement);
    return done && list_lanes(schedule) ? BRAID_OK : braid_error_no_memory("the steps of a plan");
}
