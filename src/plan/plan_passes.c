// SPDX-License-Identifier: Apache-2.0
// Runs the passes one after the other. The last ones write the program and find its serialisations.
#include "plan/plan_passes.h"

#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "plan/plan_limit.h"
#include "plan/plan_times.h"

// ---- posts ----

// Issues posts of operations between ranks before other work that could begin at the same time.
//
// Two kernels that are queued on two streams begin in that order. The first may have as many blocks
// as the device has room for. Posts of several communicators are never exchanged, since all ranks
// queue them in one order.

struct issue {
    struct program *program;
    braid_step *ops; // in the new order
    size_t num;
    size_t *num_issued; // by lane
    bool *recorded;     // by position
    size_t next_post;   // the first operation, as they were, that may be a post not yet issued
};

static bool is_post(const struct program *program, const braid_step *op)
{
    return op->kind == BRAID_STEP_RUN && program->kinds[op->node] == WORK_POST;
}

static const braid_step *next_of(const struct issue *issue, uint32_t lane)
{
    return program_lane_op(issue->program, lane, issue->num_issued[lane]);
}

static bool is_issued(const struct issue *issue, const braid_step *op)
{
    return issue->num_issued[op->lane] == issue->program->lanes[op->lane].num_ops ||
           op < next_of(issue, op->lane);
}

static void issue_next(struct issue *issue, uint32_t lane)
{
    const braid_step *op = next_of(issue, lane);
    issue->num_issued[lane]++;
    issue->ops[issue->num++] = *op;
    if (op->kind == BRAID_STEP_RECORD)
        issue->recorded[op->position] = true;
}

// Whether only satisfied waits stand between a post and the issued operations of its lane.
static bool may_issue(const struct issue *issue, const braid_step *post)
{
    const struct program *program = issue->program;
    for (size_t i = issue->num_issued[post->lane];; i++) {
        const braid_step *op = program_lane_op(program, post->lane, i);
        if (op == post)
            return true;
        if (op->kind != BRAID_STEP_WAIT || !issue->recorded[op->position])
            return false;
    }
}

// In the order as it was, as far as they may be.
static void issue_posts(struct issue *issue)
{
    const struct program *program = issue->program;
    for (; issue->next_post < program->num_ops; issue->next_post++) {
        const braid_step *post = &program->ops[issue->next_post];
        if (!is_post(program, post) || is_issued(issue, post))
            continue;
        if (!may_issue(issue, post))
            return;
        while (!is_issued(issue, post))
            issue_next(issue, post->lane);
    }
}

static void issue_all(struct issue *issue)
{
    const struct program *program = issue->program;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (!is_issued(issue, op) && op->kind == BRAID_STEP_RUN)
            issue_posts(issue);
        if (!is_issued(issue, op))
            issue_next(issue, op->lane);
    }
}

bool braid_program_issue_posts_first(struct program *program)
{
    struct issue issue = {
        .program = program,
        .ops = plan_allocate(program->num_ops, sizeof(*issue.ops)),
        .num_issued = braid_allocate_zeroed(program->num_lanes, sizeof(*issue.num_issued)),
        .recorded = braid_allocate_zeroed(program->num_positions, sizeof(*issue.recorded)),
    };
    bool has_memory = issue.ops && issue.num_issued && issue.recorded;
    if (has_memory) {
        issue_all(&issue);
        braid_free(program->ops);
        program->ops = issue.ops;
    } else {
        braid_free(issue.ops);
    }
    braid_free(issue.num_issued);
    braid_free(issue.recorded);
    return has_memory && braid_program_list_lanes(program);
}

// ---- the program in issue order ----

// Writes the plan's program in issue order: a node's waits, its run, and a record where others wait
// for it.

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

// Fills the plan's program, the lanes and times of a schedule whose graph is set, and their counts
// in info. `graph` is the planned graph, for the kinds of its nodes. Takes the arrays of costs and
// placement that the schedule keeps. Errors: BRAID_NO_MEMORY.
static braid_status plan_steps_create(struct braid_schedule *schedule, const braid_graph *graph,
                                      struct plan_costs *costs, struct plan_placement *placement)
{
    struct writer writer = {
        .plan = schedule->graph,
        .placement = placement,
        .out = &schedule->program,
    };
    schedule->info.num_lanes = placement->num_lanes;
    bool done = write_program(&writer, graph, &schedule->info);
    braid_free(writer.position_of);
    braid_free(writer.num_of_lane);
    take_arrays(schedule, costs, placement);
    return done && list_lanes(schedule) ? BRAID_OK : braid_error_no_memory("the steps of a plan");
}

// ---- forced serialisations ----

// Forced serialisations. An edge that comes from a shared resource or from a hint serialises its
// nodes. It does not if a search backward finds explicit edges and data flow that order them.

struct search {
    const struct plan_graph *plan;
    uint32_t *index_of; // per node its index in the order; NULL: its index
    uint32_t *seen_by;  // per node: 1 + the node whose search saw it last
    struct array stack; // uint32_t
    struct array out;   // braid_serialisation
    uint64_t budget;    // edges that may still be looked at
};

// Searching takes time in proportion to the graph at most this many times. Beyond that a pair is
// reported without the search: too much is said then, never too little.
#define MOST_GRAPHS 8
#define MOST_EDGES_ALWAYS 4000000

// Whether an edge is one that the program wants: its own, or data flowing.
static bool is_flow(const struct plan_graph *plan, uint32_t edge)
{
    uint32_t reason = plan->pred_reasons[edge];
    return reason == PLAN_BY_EDGE ||
           (reason != PLAN_BY_HINT && plan->links[reason].hazard == GRAPH_READ_AFTER_WRITE);
}

static uint32_t index_of(const struct search *search, uint32_t node)
{
    return search->index_of ? search->index_of[node] : node;
}

static bool push_node(struct search *search, uint32_t node, uint32_t mark)
{
    if (search->seen_by[node] == mark)
        return true;
    search->seen_by[node] = mark;
    uint32_t *slot = braid_array_append(&search->stack, 1, sizeof(*slot));
    if (slot)
        *slot = node;
    return slot;
}

// Marks everything that reaches `node` by flow and stands no earlier than `earliest` in the order.
static bool mark_flow(struct search *search, uint32_t node, uint32_t earliest)
{
    const struct plan_graph *plan = search->plan;
    uint32_t mark = node + 1;
    if (!push_node(search, node, mark))
        return false;
    while (search->stack.num) {
        uint32_t at = ((uint32_t *)search->stack.items)[--search->stack.num];
        uint32_t before = plan_member_before(plan, at);
        if (before != PLAN_NONE && index_of(search, before) >= earliest &&
            !push_node(search, before, mark))
            return false;
        for (uint32_t e = plan->pred_first[at]; e < plan->pred_first[at + 1]; e++) {
            if (search->budget == 0)
                break;
            search->budget--;
            uint32_t pred = plan->pred_nodes[e];
            if (is_flow(plan, e) && index_of(search, pred) >= earliest &&
                !push_node(search, pred, mark))
                return false;
        }
    }
    return true;
}

static bool add_pair(struct search *search, uint32_t first, uint32_t second,
                     braid_serialisation_cause cause, uint32_t resource)
{
    bool is_named = cause == BRAID_SERIALISED_BY_RESOURCE;
    braid_serialisation *pair = braid_array_append(&search->out, 1, sizeof(*pair));
    if (pair)
        *pair = (braid_serialisation){
            .first = first,
            .second = second,
            .cause = cause,
            .resource = resource,
            .resource_name = is_named ? braid_plan_resource_name(search->plan, resource) : "",
        };
    return pair;
}

static bool add_edge(struct search *search, uint32_t first, uint32_t second, uint32_t reason)
{
    if (reason == PLAN_BY_HINT)
        return add_pair(search, first, second, BRAID_SERIALISED_BY_HINT, 0);
    return add_pair(search, first, second, BRAID_SERIALISED_BY_RESOURCE,
                    search->plan->links[reason].resource);
}

// The first edge of a pair speaks for it: after it the predecessor counts as seen.
static bool check_node(struct search *search, uint32_t node)
{
    const struct plan_graph *plan = search->plan;
    uint32_t earliest = PLAN_NONE;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        uint32_t index = index_of(search, plan->pred_nodes[e]);
        if (!is_flow(plan, e) && index < earliest)
            earliest = index;
    }
    if (earliest == PLAN_NONE)
        return true;
    if (!mark_flow(search, node, earliest))
        return false;
    for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1]; e++) {
        uint32_t pred = plan->pred_nodes[e];
        if (is_flow(plan, e) || search->seen_by[pred] == node + 1)
            continue;
        search->seen_by[pred] = node + 1;
        if (!add_edge(search, pred, node, plan->pred_reasons[e]))
            return false;
    }
    return true;
}

static bool start_search(struct search *search)
{
    const struct plan_graph *plan = search->plan;
    search->budget = MOST_EDGES_ALWAYS + (uint64_t)plan->num_edges * MOST_GRAPHS;
    search->seen_by = braid_allocate_zeroed(plan->num_nodes, sizeof(uint32_t));
    if (plan->order)
        search->index_of = braid_allocate(((size_t)plan->num_nodes + 1) * sizeof(uint32_t));
    if (!search->seen_by || (plan->order && !search->index_of))
        return false;
    for (uint32_t i = 0; plan->order && i < plan->num_nodes; i++)
        search->index_of[plan->order[i]] = i;
    return true;
}

static bool find_pairs(struct search *search)
{
    const struct plan_graph *plan = search->plan;
    if (!plan->pred_reasons)
        return true;
    if (!start_search(search))
        return false;
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        if (!check_node(search, node))
            return false;
    }
    return true;
}

// A hint that an edge tells of is left out.
static bool add_delays(struct search *search, const struct plan_placement *placement)
{
    const struct plan_graph *plan = search->plan;
    const struct plan_delay *delays = placement->delays.items;
    for (size_t i = 0; i < placement->delays.num; i++) {
        uint32_t first = delays[i].first, second = delays[i].second;
        uint32_t unit = plan_unit_of(plan, second), before = plan_unit_of(plan, first);
        if (delays[i].cause != BRAID_SERIALISED_BY_HINT) {
            first = plan_main_of(plan, before);
            second = plan_main_of(plan, unit);
        } else if (plan->pred_reasons && plan->hint_before[unit] == before) {
            continue;
        }
        if (!add_pair(search, first, second, delays[i].cause, 0))
            return false;
    }
    return true;
}

// Pairs of units that the graph leaves free and the plan does not.
// Fills the serialisations of a schedule and their count in info.
// Errors: BRAID_NO_MEMORY.
static braid_status plan_serialisations(struct braid_schedule *schedule,
                                        const struct plan_placement *placement)
{
    struct search search = { .plan = schedule->graph };
    bool done = find_pairs(&search) && add_delays(&search, placement);
    braid_free(search.index_of);
    braid_free(search.seen_by);
    braid_array_finish(&search.stack);
    schedule->serialisations = search.out.items;
    schedule->info.num_serialisations =
        search.out.num < UINT32_MAX ? (uint32_t)search.out.num : UINT32_MAX;
    return done ? BRAID_OK : braid_error_no_memory("the serialisations of a plan");
}

// ---- all passes ----

// The results that the passes hand on; the schedule takes the arrays that it keeps.
struct passes {
    struct plan_costs costs;
    struct plan_placement placement;
};

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return value / by + (value % by != 0);
}

// Sets the graph's figures in info: everything but the plan's own.
static void fill_info(struct braid_schedule *schedule, const struct plan_costs *costs)
{
    braid_schedule_info *info = &schedule->info;
    uint64_t limit = braid_plan_lane_limit(schedule->graph, costs, &schedule->options);
    uint64_t most = costs->model.max_concurrent < limit ? costs->model.max_concurrent : limit;
    if (limit > braid_plan_most_at_once(costs))
        limit = braid_plan_most_at_once(costs);
    limit *= schedule->graph->num_places;
    most *= schedule->graph->num_places;
    uint64_t awake_ns = divide_up(costs->work_ns - costs->blocking_ns, most);
    info->num_nodes = schedule->graph->num_nodes;
    info->num_places = schedule->graph->num_places;
    if (schedule->placed) {
        info->num_copies = schedule->placed->num_copies;
        info->copy_bytes = schedule->placed->copy_bytes;
        info->one_place_ns = schedule->placed->one_place_ns;
    }
    info->num_guessed = costs->num_guessed;
    info->critical_path_ns = costs->critical_ns;
    info->work_ns = costs->work_ns;
    info->one_lane_ns = costs->one_lane_ns;
    info->bound_ns = divide_up(costs->work_ns, limit);
    if (info->bound_ns < awake_ns)
        info->bound_ns = awake_ns;
    if (info->bound_ns < costs->critical_ns)
        info->bound_ns = costs->critical_ns;
}

static braid_status run_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               const struct plan_inside *inside, struct passes *passes)
{
    const struct plan_graph *plan = schedule->graph;
    const struct plan_options *options = &schedule->options;
    braid_status status = braid_plan_costs_create(plan, graph, options, inside, &passes->costs);
    if (!status)
        status = braid_plan_critical_path(plan, &passes->costs, &schedule->critical,
                                          &schedule->num_critical);
    if (!status && options->known)
        status = options->known->place(options->known, plan, &passes->costs, &passes->placement);
    else if (!status)
        status = braid_plan_best(plan, &passes->costs, options, &passes->placement);
    if (!status)
        fill_info(schedule, &passes->costs);
    schedule->info.makespan_ns = passes->placement.makespan_ns;
    if (!status)
        status = plan_serialisations(schedule, &passes->placement);
    if (!status)
        status = plan_steps_create(schedule, graph, &passes->costs, &passes->placement);
    if (!status && plan_bundles_may_start_sooner(plan, &passes->costs, schedule->info.num_lanes))
        status = braid_plan_find_times(schedule, &passes->costs.model, passes->costs.wait_busy_ns);
    if (!status && braid_plan_islands)
        status = braid_plan_islands->divide(schedule, graph, &passes->costs.model);
    if (!status)
        braid_plan_find_limit(schedule);
    return status;
}

braid_status braid_plan_passes(struct braid_schedule *schedule, const braid_graph *graph,
                               const struct plan_inside *inside)
{
    struct passes passes = { 0 };
    braid_status status = run_passes(schedule, graph, inside, &passes);
    braid_plan_costs_finish(&passes.costs);
    braid_plan_placement_finish(&passes.placement);
    return status;
}
