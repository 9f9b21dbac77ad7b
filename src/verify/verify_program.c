// SPDX-License-Identifier: Apache-2.0
// The proof of a plan's program: its order, its tables that players read beside the operations, and
// its islands.
#include "verify/verify_program.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/store.h"
#include "graph/extents.h"
#include "verify/verify.h"
#include "verify/verify_state.h"

// ---- a graph of several frames, made as a user's program would make it ----

struct unroll {
    const braid_graph *graph;
    braid_graph *to;
    braid_resource *resources; // the frame's at hand
    braid_resource *versions;  // by versioned buffer, as in the graph
    braid_access *accesses;    // as many as any node has
    uint32_t frame;
};

// A buffer for each version, all made with the first frame.
static braid_status find_version(struct unroll *unroll, const struct graph_resource *resource,
                                 const char *name, braid_resource *out)
{
    uint32_t num = resource->num_versions;
    braid_resource *versions = unroll->versions + resource->first_version;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && unroll->frame == 0 && !resource->frames_before && !status; i++)
        status = braid_graph_add_buffer(unroll->to, name, NULL, resource->bytes, &versions[i]);
    if (!status)
        *out = versions[(unroll->frame + num - resource->frames_before) % num];
    return status;
}

static braid_status add_resource(struct unroll *unroll, uint32_t index)
{
    const struct graph_resource *resource = graph_resource_at(unroll->graph, index);
    braid_resource *out = &unroll->resources[index];
    const char *name = braid_names_at(&unroll->graph->names, resource->name);
    if (resource->num_versions > 1)
        return find_version(unroll, resource, name, out);
    if (unroll->frame && !resource->alignment)
        return BRAID_OK; // shared with the frame before
    if (resource->buffer != index)
        return braid_graph_add_range(unroll->to, unroll->resources[resource->buffer],
                                     resource->offset, resource->bytes, out);
    if (resource->bytes)
        return braid_graph_add_buffer(unroll->to, name, NULL, resource->bytes, out);
    return braid_graph_add_resource(unroll->to, name, out);
}

static braid_node handle(const struct unroll *unroll, uint32_t node)
{
    uint32_t index = node + unroll->frame * graph_num_nodes(unroll->graph);
    return (braid_node){ .index = index, .graph = unroll->to->id };
}

static braid_status add_node(struct unroll *unroll, uint32_t index)
{
    const braid_graph *graph = unroll->graph;
    const struct graph_node *node = &graph_nodes(graph)[index];
    uint32_t num_accesses = node->kind == WORK_EMPTY ? 0 : node->num_accesses;
    for (uint32_t i = 0; i < num_accesses; i++) {
        const struct graph_access *access = graph_access_of(graph, node, i);
        unroll->accesses[i] =
            (braid_access){ unroll->resources[access->resource], (braid_access_mode)access->mode };
    }
    braid_node_options options = {
        .name = braid_graph_name(graph, index),
        .accesses = unroll->accesses,
        .num_accesses = num_accesses,
    };
    if (node->role == GRAPH_PRELUDE)
        options.prelude_of = handle(unroll, node->main);
    if (node->role == GRAPH_EPILOGUE)
        options.epilogue_of = handle(unroll, node->main);
    braid_status status = braid_graph_add_empty(unroll->to, &(braid_empty){ options }, NULL);
    if (!status) {
        struct graph_node *nodes = unroll->to->nodes.items;
        nodes[unroll->to->nodes.num - 1].is_left_out = node->is_left_out;
        unroll->to->num_left_out += node->is_left_out;
    }
    return status;
}

static braid_status follow_sequence(struct unroll *unroll)
{
    const uint32_t *sequence = unroll->graph->sequence.items;
    size_t num = unroll->graph->sequence.num;
    uint32_t *next = num ? braid_array_append(&unroll->to->sequence, num, sizeof(*next)) : NULL;
    if (num && !next)
        return braid_error_no_memory("the proof of frames");
    for (size_t i = 0; i < num; i++)
        next[i] = handle(unroll, sequence[i]).index;
    return BRAID_OK;
}

static braid_status add_frame(struct unroll *unroll)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < unroll->graph->resources.num && !status; i++)
        status = add_resource(unroll, i);
    for (uint32_t i = 0; i < graph_num_nodes(unroll->graph) && !status; i++)
        status = add_node(unroll, i);
    return status ? status : follow_sequence(unroll);
}

static size_t most_accesses(const braid_graph *graph)
{
    size_t most = 0;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        if (graph_nodes(graph)[i].num_accesses > most)
            most = graph_nodes(graph)[i].num_accesses;
    }
    return most;
}

braid_status braid_unroll_frames(const braid_graph *graph, uint32_t num_frames,
                                 braid_graph **out_unrolled)
{
    struct store store = { 0 };
    struct unroll unroll = {
        .graph = graph,
        .resources = braid_store_take(&store, graph->resources.num, sizeof(braid_resource)),
        .accesses = braid_store_take(&store, most_accesses(graph), sizeof(braid_access)),
        .versions = braid_store_take(&store, graph->versions.num, sizeof(braid_resource)),
    };
    braid_status status = store.failed ? braid_error_no_memory("the proof of frames") : BRAID_OK;
    if (!status)
        status = braid_graph_create(&unroll.to);
    for (; unroll.frame < num_frames && !status; unroll.frame++)
        status = add_frame(&unroll);
    braid_store_finish(&store);
    if (status)
        braid_graph_destroy(unroll.to);
    else
        *out_unrolled = unroll.to;
    return status;
}

// ---- fetches ----

// The proof that kernels fetch only bytes that stay as they are. It compares addresses. The planner
// compares the segments of resources.

// Bytes that a node writes.
struct written {
    uintptr_t begin, last;
    uint32_t node;
};

struct proof {
    const struct tasks *tasks;
    const braid_graph *graph;
    // Sorted by `begin`. Then `last` and `node` are of the one so far that ends last.
    struct written *written;
    size_t num_written;
    uint32_t unknown; // a node that declares no access, or GRAPH_NONE
};

static struct node_text name(const struct proof *proof, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(proof->graph, node));
}

static braid_status refuse(const struct proof *proof, uint32_t index, uint32_t culprit,
                           const char *why)
{
    const struct plan_prefetch *prefetch = &proof->tasks->prefetches[index];
    char text[256];
    return braid_error(
        BRAID_INTERNAL, "kernel %s fetches '%s' for node %s, and node %s %s",
        name(proof, index).text,
        braid_graph_resource_name(proof->graph, prefetch->resource, text, sizeof(text)),
        name(proof, prefetch->node).text, name(proof, culprit).text, why);
}

// False: it is no memory of the program's at one address.
static bool find_bytes(const braid_graph *graph, uint32_t index, struct written *out_bytes)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    const struct graph_resource *buffer = graph_resource_at(graph, resource->buffer);
    if (!buffer->address || !resource->bytes)
        return false;
    out_bytes->begin = (uintptr_t)buffer->address + resource->offset;
    out_bytes->last = out_bytes->begin + (resource->bytes - 1);
    return true;
}

static int compare(const void *one, const void *two)
{
    const struct written *left = one, *right = two;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

static braid_status find_written(struct proof *proof)
{
    size_t num = 0;
    proof->written = braid_allocate_zeroed(proof->graph->accesses.num, sizeof(*proof->written));
    if (!proof->written)
        return braid_error_no_memory("the proof of prefetches");
    for (uint32_t i = 0; i < graph_num_nodes(proof->graph); i++) {
        const struct graph_node *node = &graph_nodes(proof->graph)[i];
        for (uint32_t k = 0; k < node->num_accesses; k++) {
            const struct graph_access *access = graph_access_of(proof->graph, node, k);
            struct written *written = &proof->written[num];
            written->node = i;
            num +=
                access->mode != BRAID_READ && find_bytes(proof->graph, access->resource, written);
        }
    }
    if (num)
        qsort(proof->written, num, sizeof(*proof->written), compare);
    for (size_t i = 1; i < num; i++) {
        if (proof->written[i].last < proof->written[i - 1].last) {
            proof->written[i].last = proof->written[i - 1].last;
            proof->written[i].node = proof->written[i - 1].node;
        }
    }
    proof->num_written = num;
    return BRAID_OK;
}

// A node that writes some of the bytes, or GRAPH_NONE.
static uint32_t find_writer(const struct proof *proof, uintptr_t begin, uintptr_t last)
{
    size_t low = 0, high = proof->num_written;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (proof->written[middle].begin <= last)
            low = middle + 1;
        else
            high = middle;
    }
    return low && proof->written[low - 1].last >= begin ? proof->written[low - 1].node : GRAPH_NONE;
}

static bool reads(const struct proof *proof, uint32_t node, uintptr_t begin, uintptr_t last)
{
    const struct graph_node *graph_node = &graph_nodes(proof->graph)[node];
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        const struct graph_access *access = graph_access_of(proof->graph, graph_node, i);
        struct written bytes;
        if (access->mode == BRAID_READ && find_bytes(proof->graph, access->resource, &bytes) &&
            bytes.begin <= begin && last <= bytes.last)
            return true;
    }
    return false;
}

// Frames compare the argument with the address, and look at both when one of them was set.
static bool follows(const struct proof *proof, uint32_t index)
{
    const struct plan_prefetch *prefetch = &proof->tasks->prefetches[index];
    const struct backend_launch *next = &proof->tasks->items[prefetch->node].launch;
    return proof->tasks->prefetches[prefetch->node].before == index &&
           prefetch->argument < next->num_args &&
           next->arg_bytes[prefetch->argument] == sizeof(prefetch->address);
}

static braid_status check(const struct proof *proof, uint32_t index)
{
    const struct plan_prefetch *prefetch = &proof->tasks->prefetches[index];
    const uintptr_t begin = (uintptr_t)prefetch->address, last = begin + (prefetch->bytes - 1);
    const uint32_t num = graph_num_nodes(proof->graph);
    if (graph_nodes(proof->graph)[index].kind != WORK_KERNEL || prefetch->node >= num ||
        graph_nodes(proof->graph)[prefetch->node].kind != WORK_KERNEL || proof->tasks->places)
        return braid_error(BRAID_INTERNAL,
                           "node %s fetches for node %u, and they are no kernels of one device",
                           name(proof, index).text, prefetch->node);
    if (proof->unknown != GRAPH_NONE)
        return refuse(proof, index, proof->unknown, "declares no access");
    if (last < begin || !reads(proof, prefetch->node, begin, last))
        return refuse(proof, index, prefetch->node, "does not read all of these bytes");
    uint32_t writer = find_writer(proof, begin, last);
    if (writer != GRAPH_NONE)
        return refuse(proof, index, writer, "writes there");
    return follows(proof, index) ? BRAID_OK
                                 : refuse(proof, index, prefetch->node, "may get another address");
}

// Proves of each kernel that fetches, from the declared accesses alone:
// - The kernel for which it fetches declares that it reads all these bytes. They are the program's,
//   so no frame has them elsewhere.
// - No node of the graph writes any of them. So no frame in flight does, and no iteration of a
// loop.
// - If the next kernel gets another address, or is disabled, the one that fetches is told.
//
// Errors: BRAID_INTERNAL (names both kernels, the resource, and the node that writes),
// BRAID_NO_MEMORY.
static braid_status verify_prefetch(const struct tasks *tasks, const braid_graph *graph)
{
    struct proof proof = { .tasks = tasks, .graph = graph };
    if (!tasks || !tasks->prefetches)
        return BRAID_OK;
    proof.unknown = braid_graph_find_undeclared(graph);
    braid_status status = find_written(&proof);
    for (uint32_t i = 0; i < tasks->num && !status; i++) {
        if (tasks->prefetches[i].bytes)
            status = check(&proof, i);
    }
    braid_free(proof.written);
    return status;
}

// ---- programs ----

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
            if (braid_graph_writes_condition(graph, region, graph_access_of(graph, node, k)))
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
    const struct graph_region *region = &graph_regions(graph)[body->region];
    braid_status status = check_condition(body, graph);
    for (uint32_t i = region->first; i < region->first + region->num && !status; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses && !status; k++)
            status = check_access(graph, region->node, graph_access_of(graph, node, k));
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
        status = verify_prefetch(program->tasks, graph);
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
