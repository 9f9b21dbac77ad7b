// SPDX-License-Identifier: Apache-2.0
// The proof of a plan's program: its order, its tables that players read beside the operations, and
// its islands.
#include "verify/verify_program.h"

#include "base/array.h"
#include "base/error.h"
#include "graph/regions.h"
#include "verify/unroll.h"
#include "verify/verify.h"
#include "verify/verify_prefetch.h"
#include "verify/verify_state.h"

static braid_status check_position(const struct program *program, const braid_step *op,
                                   uint32_t number)
{
    const struct program_position *position = program_position_of(program, op);
    if (position->lane == op->lane && position->number == number && position->node == op->node)
        return BRAID_OK;
    return braid_error(BRAID_INTERNAL, "position %u of the program is not the one recorded",
                       op->position);
}

// A lane that the frame does not fork to begins with a wait, and one that it does not join ends
// with a record.
static braid_status check_ends(const struct program *program, uint32_t index,
                               const braid_step *first, const braid_step *last)
{
    const struct program_lane *lane = &program->lanes[index];
    bool has_fork = !first || lane->needs_fork || first->kind == BRAID_STEP_WAIT ||
                    first->kind == PROGRAM_AWAIT_FRAME;
    bool has_join = !last || lane->needs_join || last->kind == BRAID_STEP_RECORD ||
                    last->kind == PROGRAM_RECORD_FRAME;
    if (has_fork && has_join && lane->has_work == (first != NULL))
        return BRAID_OK;
    return braid_error(BRAID_INTERNAL, "lane %u of the program is not %s the frame", index,
                       !has_fork   ? "forked from"
                       : !has_join ? "joined to"
                                   : "played in");
}

// A kernel fetches for the next node of its lane.
static braid_status check_fetched(const struct program *program, const braid_step *before,
                                  const braid_step *next)
{
    const struct plan_prefetch *prefetches = program->tasks ? program->tasks->prefetches : NULL;
    if (!prefetches || !before || !prefetches[before->node].bytes ||
        (next && prefetches[before->node].node == next->node))
        return BRAID_OK;
    return braid_error(BRAID_INTERNAL, "node %u fetches for node %u, which is not behind it",
                       before->node, prefetches[before->node].node);
}

static braid_status check_lane(const struct program *program, uint32_t index)
{
    const struct program_lane *lane = &program->lanes[index];
    const braid_step *first = NULL, *last = NULL, *before = NULL, *node = NULL;
    uint32_t num_positions = 0, num_frame_positions = 0;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < lane->num_ops && !status; i++) {
        const braid_step *op = program_lane_op(program, index, i);
        if (op->lane != index || (before && op <= before))
            return braid_error(BRAID_INTERNAL, "operation %zu of lane %u is another lane's", i,
                               index);
        before = op;
        if (program_has_node(op)) {
            status = check_fetched(program, node, op);
            node = op;
        }
        if (op->kind == BRAID_STEP_RUN && !program_runs(program, op))
            continue;
        first = first ? first : op;
        last = op;
        if (op->kind == BRAID_STEP_RECORD)
            status = check_position(program, op, ++num_positions);
        if (op->kind == PROGRAM_RECORD_FRAME)
            status = check_position(program, op, ++num_frame_positions);
    }
    if (!status)
        status = check_fetched(program, node, NULL);
    return status ? status : check_ends(program, index, first, last);
}

static braid_status check_kinds(const struct program *program, const braid_graph *graph)
{
    const struct graph_region *body =
        program->region == GRAPH_NONE ? NULL : &graph_regions(graph)[program->region];
    uint32_t first = body ? body->first : 0, end = body ? first + body->num : program->num_nodes;
    for (uint32_t i = first; i < end; i++) {
        if (program->kinds[i] != graph_nodes(graph)[i].kind)
            return braid_error(BRAID_INTERNAL, "node %u is of another kind in the program", i);
    }
    return BRAID_OK;
}

static braid_status check_tables(const struct program *program, const braid_graph *graph)
{
    size_t num_ops = 0;
    braid_status status = check_kinds(program, graph);
    for (uint32_t i = 0; i < program->num_lanes && !status; i++) {
        num_ops += program->lanes[i].num_ops;
        status = check_lane(program, i);
    }
    if (!status && num_ops != program->num_ops)
        status = braid_error(BRAID_INTERNAL, "the lanes of the program lack operations");
    return status;
}

// An island must stand in its lane as one task would.
static braid_status check_islands(const struct program *program)
{
    size_t end_of_last = 0;
    for (uint32_t i = 0; i < program->num_islands; i++) {
        const struct program_island *island = &program->islands[i];
        if (island->lane >= program->num_lanes)
            return braid_error(BRAID_INTERNAL, "island %u of the program is on no lane", i);
        const struct program_lane *lane = &program->lanes[island->lane];
        size_t end = island->first_op + island->num_ops;
        if (island->num_ops == 0 || island->first_op < end_of_last ||
            island->first_op < lane->first_op || end > lane->first_op + lane->num_ops)
            return braid_error(BRAID_INTERNAL, "island %u of the program is no stretch of lane %u",
                               i, island->lane);
        for (size_t op = island->first_op; op < end; op++) {
            if (program->ops[program->lane_ops[op]].kind != BRAID_STEP_RUN)
                return braid_error(BRAID_INTERNAL,
                                   "island %u of the program has a wait or a record inside", i);
        }
        end_of_last = end;
    }
    return BRAID_OK;
}

// From outside a region is a node with all accesses of its body. So a node that is ordered against
// it is ordered against each node inside.
static braid_status check_access(const braid_graph *graph, uint32_t node,
                                 const struct graph_access *inner)
{
    const struct graph_node *outer = &graph_nodes(graph)[node];
    const struct graph_access *accesses = graph->accesses.items;
    for (uint32_t i = 0; i < outer->num_accesses; i++) {
        const struct graph_access *access = &accesses[outer->first_access + i];
        if (access->resource == inner->resource &&
            (access->mode == inner->mode || access->mode == BRAID_READ_WRITE ||
             access->mode == BRAID_WRITE)) // which is ordered like that, against all
            return BRAID_OK;
    }
    return braid_error(BRAID_INTERNAL, "the region of node %u '%s' accesses more than that node",
                       node, braid_graph_name(graph, node));
}

// A loop reads its condition after its body has ended or before it begins, and a branch before it
// begins. If the region's node accesses the condition, no outside node writes it meanwhile. The
// writes of the body come before the read.
static braid_status check_condition(const struct program *body, const braid_graph *graph)
{
    const struct graph_region *region = &graph_regions(graph)[body->region];
    const struct graph_access *accesses = graph->accesses.items;
    const struct graph_access reads = { region->condition, BRAID_READ };
    bool has_condition = region->condition != GRAPH_NONE;
    if (body->has_condition != has_condition || body->is_else != graph_region_is_else(region) ||
        body->most != graph_loop(graph, body->node)->most)
        return braid_error(BRAID_INTERNAL, "the loop of node %u '%s' ends otherwise in the program",
                           body->node, braid_graph_name(graph, body->node));
    if (!has_condition)
        return BRAID_OK;
    if (graph_nodes(graph)[region->node].kind == WORK_BRANCH)
        return check_access(graph, region->node, &reads);
    for (uint32_t i = region->first; i < region->first + region->num; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            if (braid_graph_writes_condition(graph, region, &accesses[node->first_access + k]))
                return check_access(graph, region->node, &reads);
        }
    }
    return braid_error(BRAID_INTERNAL, "the loop of node %u '%s' does not write its condition",
                       region->node, braid_graph_name(graph, region->node));
}

static braid_status verify_program(struct verify_whole *whole, const struct program *program,
                                   const braid_graph *graph, const struct memory_plan *memory);

static braid_status check_body(struct verify_whole *whole, const struct program *body,
                               const braid_graph *graph)
{
    const struct graph_access *accesses = graph->accesses.items;
    const struct graph_region *region = &graph_regions(graph)[body->region];
    braid_status status = check_condition(body, graph);
    for (uint32_t i = region->first; i < region->first + region->num && !status; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses && !status; k++)
            status = check_access(graph, region->node, &accesses[node->first_access + k]);
    }
    return status ? status : verify_program(whole, body, graph, NULL);
}

static bool is_of_node(const struct program *body, const braid_graph *graph, uint32_t node)
{
    return body->node == node && body->region < graph->regions.num &&
           graph_regions(graph)[body->region].node == node;
}

// An operation enters the next body, or that and its else: all regions that its node has.
static braid_status check_entered(struct verify_whole *whole, const struct program *program,
                                  const braid_graph *graph, const braid_step *op, uint32_t *num)
{
    uint32_t first = *num, entered = braid_graph_region_entered(graph, op->node);
    bool is_region = work_has_body((enum work_kind)graph_nodes(graph)[op->node].kind);
    bool has_else = is_region && braid_graph_region_else(graph, entered) != GRAPH_NONE;
    uint32_t num_regions = (uint32_t)is_region + has_else;
    *num += num_regions;
    bool is_right = num_regions > 0 && op->position == first && *num <= program->num_bodies;
    braid_status status = BRAID_OK;
    for (uint32_t i = first; i < *num && is_right && !status; i++) {
        const struct program *body = &program->bodies[i];
        is_right = is_of_node(body, graph, op->node) && body->is_else == (i > first) &&
                   body->has_else == (i + 1 < *num);
        if (is_right)
            status = check_body(whole, body, graph);
    }
    return is_right ? status
                    : braid_error(BRAID_INTERNAL, "node %u '%s' enters another region", op->node,
                                  braid_graph_name(graph, op->node));
}

// Each body is entered once, where its region's node is. A run of it ends when all its lanes have
// ended, so it is behind the run before. So its runs need no proof of their own.
static braid_status check_bodies(struct verify_whole *whole, const struct program *program,
                                 const braid_graph *graph)
{
    uint32_t num = 0;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < program->num_ops && !status; i++) {
        if (program->ops[i].kind == BRAID_STEP_LOOP)
            status = check_entered(whole, program, graph, &program->ops[i], &num);
    }
    if (!status && num != program->num_bodies)
        status = braid_error(BRAID_INTERNAL, "a region of the program is not entered");
    if (!status && graph->regions.num && program->region == GRAPH_NONE && !program->num_bodies)
        status = braid_error(BRAID_INTERNAL, "the program enters no region");
    return status;
}

static braid_status verify_program(struct verify_whole *whole, const struct program *program,
                                   const braid_graph *graph, const struct memory_plan *memory)
{
    braid_status status = braid_verify_region(whole, program, memory, 1, VERIFY_MOST_WORDS);
    if (!status)
        status = check_tables(program, graph);
    if (!status && program->region == GRAPH_NONE)
        status = braid_verify_prefetch(program->tasks, graph);
    if (!status && (graph->regions.num || program->num_bodies))
        status = check_bodies(whole, program, graph);
    return status ? status : check_islands(program);
}

braid_status braid_program_verify(const struct program *program, const braid_graph *graph,
                                  const struct memory_plan *memory)
{
    struct verify_whole *whole = NULL;
    braid_status status = braid_verify_whole_create(graph, &whole);
    if (!status)
        status = verify_program(whole, program, graph, memory);
    braid_verify_whole_destroy(whole);
    return status;
}

braid_status braid_program_verify_frames(const struct program *program, const braid_graph *graph,
                                         uint32_t num_frames)
{
    braid_graph *unrolled = NULL;
    braid_status status = braid_unroll_frames(graph, num_frames, &unrolled);
    if (!status)
        status = braid_verify_steps(program, unrolled, NULL, num_frames, VERIFY_MOST_WORDS);
    braid_graph_destroy(unrolled);
    if (!status)
        status = check_tables(program, graph);
    return status ? status : check_islands(program);
}
