// SPDX-License-Identifier: Apache-2.0
// Proves a plan's program from its operations alone, with none of the planner's reasoning: walks
// them in issue order with a clock for each lane. A wait is taken only if its position was recorded
// before it, behind the node that the wait names. So every wait ends, in any timing of the device.
// Several frames are walked one behind the other, each with nodes, lanes and positions of its own.
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/spread.h"
#include "base/store.h"
#include "verify/verify_state.h"

// ---- memory ----

// Proves that transient buffers which share bytes are never alive at once.
//
// The places where buffers begin and end cut the arena into cells. Each cell has the buffer that
// began to be used last in it. All users of a buffer come after all users of those that it takes
// cells from. These came after the users of the buffers before them, so nobody looks further back.

#define NO_USER UINT32_MAX
#define NO_BUFFER UINT32_MAX

struct buffer {
    uint64_t offset, end;
    uint32_t resource;
    uint32_t uses_left;    // accesses by nodes that have not been walked
    uint32_t last_user;    // into users; NO_USER: none yet
    uint32_t first_before; // in `before`, for the buffers that it takes cells from
    uint32_t end_before;
};

// A user of a buffer that is its last on its lane so far.
struct user {
    uint32_t node, lane;
    uint32_t next; // NO_USER: none
};

struct verify_memory {
    const struct verify *verify;
    uint32_t num;
    struct buffer *buffers;
    uint32_t *buffer_of; // per resource; num: none
    size_t num_cuts;
    uint64_t *cuts;      // ascending; a cell is from one to the next
    uint32_t *owners;    // per cell; NO_BUFFER: nobody has used it yet
    struct array before; // uint32_t
    struct array users;  // struct user
    struct store store;  // holds the arrays
};

static void count_buffer_uses(struct verify_memory *memory)
{
    const braid_graph *graph = memory->verify->graph;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        for (uint32_t k = 0; k < node->num_accesses && verify_is_here(memory->verify, i); k++) {
            uint32_t buffer = memory->buffer_of[graph_access_of(graph, node, k)->resource];
            if (buffer < memory->num)
                memory->buffers[buffer].uses_left++;
        }
    }
}

static braid_status check_place(const struct verify_memory *memory, const struct memory_plan *plan,
                                uint32_t resource)
{
    const struct graph_resource *whole = graph_resource_at(memory->verify->graph, resource);
    uint64_t offset = plan->offsets[resource];
    char buffer[256];
    const char *name =
        braid_graph_resource_name(memory->verify->graph, resource, buffer, sizeof(buffer));
    if (offset > plan->info.arena_bytes || whole->bytes > plan->info.arena_bytes - offset)
        return braid_error(BRAID_INTERNAL, "transient '%s' ends beyond the %llu bytes of the arena",
                           name, (unsigned long long)plan->info.arena_bytes);
    if (plan->num_places > 1 && (offset < plan->begins[whole->home] ||
                                 offset + whole->bytes > plan->begins[whole->home + 1]))
        return braid_error(BRAID_INTERNAL, "transient '%s' is not in the memory of place %u", name,
                           graph_place_number(whole->home));
    if (offset % whole->alignment || plan->info.alignment % whole->alignment)
        return braid_error(BRAID_INTERNAL, "transient '%s' is not aligned to %llu bytes", name,
                           (unsigned long long)whole->alignment);
    return BRAID_OK;
}

static braid_status find_buffers(struct verify_memory *memory, const struct memory_plan *plan)
{
    const struct graph_resource *resources = memory->verify->graph->resources.items;
    for (size_t i = 0; i < plan->num_resources; i++) {
        uint32_t buffer = resources[i].buffer;
        memory->buffer_of[i] = UINT32_MAX;
        if (plan->offsets[i] == MEMORY_NONE)
            continue;
        if (plan->offsets[i] != plan->offsets[buffer] + resources[i].offset)
            return braid_error(BRAID_INTERNAL, "resource %zu does not lie in its buffer", i);
        if (buffer != i) {
            memory->buffer_of[i] = memory->buffer_of[buffer];
            continue;
        }
        braid_status status = check_place(memory, plan, buffer);
        if (status)
            return status;
        memory->buffer_of[i] = memory->num;
        memory->buffers[memory->num++] = (struct buffer){
            .offset = plan->offsets[i],
            .end = plan->offsets[i] + resources[i].bytes,
            .resource = buffer,
            .last_user = NO_USER,
        };
    }
    return BRAID_OK;
}

static bool make_cells(struct verify_memory *memory)
{
    const size_t num = 2 * (size_t)memory->num;
    memory->cuts = braid_store_take(&memory->store, num, sizeof(*memory->cuts));
    memory->owners = braid_store_take(&memory->store, num, sizeof(*memory->owners));
    if (memory->store.failed)
        return false;
    for (uint32_t i = 0; i < memory->num; i++) {
        memory->cuts[2 * i] = memory->buffers[i].offset;
        memory->cuts[2 * i + 1] = memory->buffers[i].end;
    }
    sort_numbers(memory->cuts, num);
    for (size_t i = 0; i < num; i++) {
        if (i == 0 || memory->cuts[i] != memory->cuts[i - 1])
            memory->cuts[memory->num_cuts++] = memory->cuts[i];
        memory->owners[i] = NO_BUFFER;
    }
    return true;
}

static void verify_memory_destroy(struct verify_memory *memory)
{
    if (!memory)
        return;
    braid_store_finish(&memory->store);
    braid_array_finish(&memory->before);
    braid_array_finish(&memory->users);
    braid_free(memory);
}

static braid_status verify_memory_create(const struct verify *verify,
                                         const struct memory_plan *plan,
                                         struct verify_memory **out_memory)
{
    struct verify_memory *memory = braid_allocate_zeroed(1, sizeof(*memory));
    if (!memory)
        return braid_error_no_memory("the proof of a plan's memory");
    memory->verify = verify;
    memory->buffers =
        braid_store_take(&memory->store, plan->num_resources, sizeof(*memory->buffers));
    memory->buffer_of = braid_store_take(&memory->store, plan->num_resources, sizeof(uint32_t));
    braid_status status = !memory->store.failed
                              ? find_buffers(memory, plan)
                              : braid_error_no_memory("the proof of a plan's memory");
    if (!status && !make_cells(memory))
        status = braid_error_no_memory("the proof of a plan's memory");
    if (status) {
        verify_memory_destroy(memory);
        return status;
    }
    count_buffer_uses(memory);
    *out_memory = memory;
    return BRAID_OK;
}

static braid_status report(const struct verify_memory *memory, uint32_t node,
                           const struct buffer *buffer, const struct buffer *other,
                           const char *what)
{
    const braid_graph *graph = memory->verify->graph;
    char text[256], other_text[256];
    const char *name = braid_graph_resource_name(graph, buffer->resource, text, sizeof(text));
    const char *other_name =
        braid_graph_resource_name(graph, other->resource, other_text, sizeof(other_text));
    return braid_error(
        BRAID_INTERNAL,
        "the plan lets node %u '%s' use transient '%s' while '%s', which shares its memory, %s",
        node, braid_graph_name(graph, node), name, other_name, what);
}

// The first use of a buffer takes its cells from those that had them.
static bool take_cells(struct verify_memory *memory, struct buffer *buffer)
{
    const uint64_t *first = bsearch(&buffer->offset, memory->cuts, memory->num_cuts,
                                    sizeof(*memory->cuts), compare_numbers);
    uint32_t latest = NO_BUFFER;
    buffer->first_before = (uint32_t)memory->before.num;
    for (size_t i = (size_t)(first - memory->cuts); memory->cuts[i] < buffer->end; i++) {
        const uint32_t owner = memory->owners[i];
        memory->owners[i] = (uint32_t)(buffer - memory->buffers);
        if (owner == NO_BUFFER || owner == latest)
            continue;
        uint32_t *slot = memory->before.num < UINT32_MAX
                             ? braid_array_append(&memory->before, 1, sizeof(*slot))
                             : NULL;
        if (!slot)
            return false;
        *slot = latest = owner;
    }
    buffer->end_before = (uint32_t)memory->before.num;
    return true;
}

// All that use a buffer which had these cells come before the node.
static braid_status check_before(const struct verify_memory *memory, const struct buffer *buffer,
                                 uint32_t node)
{
    const uint32_t *before = memory->before.items;
    const struct user *users = memory->users.items;
    for (uint32_t i = buffer->first_before; i < buffer->end_before; i++) {
        const struct buffer *other = &memory->buffers[before[i]];
        if (other->uses_left)
            return report(memory, node, buffer, other, "is used before and after it");
        for (uint32_t u = other->last_user; u != NO_USER; u = users[u].next) {
            if (users[u].node == node || !verify_is_ordered(memory->verify, users[u].node, node))
                return report(memory, node, buffer, other, "may still be in use");
        }
    }
    return BRAID_OK;
}

// The last user on a lane stands for all there.
static bool add_user(struct verify_memory *memory, struct buffer *buffer, uint32_t node,
                     uint32_t lane)
{
    struct user *users = memory->users.items;
    for (uint32_t u = buffer->last_user; u != NO_USER; u = users[u].next) {
        if (users[u].lane == lane) {
            users[u].node = node;
            return true;
        }
    }
    if (memory->users.num >= NO_USER)
        return false;
    if (!braid_array_put(&memory->users, &(struct user){ node, lane, buffer->last_user },
                         sizeof(struct user)))
        return false;
    buffer->last_user = (uint32_t)memory->users.num - 1;
    return true;
}

// A buffer begins to be used only when all users of the others have ended for the rest of the
// frame.
static braid_status verify_memory_node(struct verify_memory *memory, uint32_t node, uint32_t lane)
{
    const braid_graph *graph = memory->verify->graph;
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        uint32_t index = memory->buffer_of[graph_access_of(graph, graph_node, i)->resource];
        if (index >= memory->num)
            continue;
        struct buffer *buffer = &memory->buffers[index];
        if (buffer->last_user == NO_USER && !take_cells(memory, buffer))
            return braid_error_no_memory("the proof of a plan's memory");
        braid_status status = check_before(memory, buffer, node);
        if (status)
            return status;
        buffer->uses_left--;
        if (!add_user(memory, buffer, node, lane))
            return braid_error_no_memory("the proof of a plan's memory");
    }
    return BRAID_OK;
}

// ---- the walk ----

// Where they take more, a walk looks at a part of the lanes. No limit holds for the smallest part:
// its clocks have one block each.
#define LANES_CHANGE 4
#define FEWEST_LANES 16

// An operation of a frame, with its numbers among those of all frames. Frame positions come behind
// positions. False: it does nothing here, since no frame follows, or the frame that it would await
// comes before the first.
static bool step_of(const struct verify *verify, uint32_t frame, size_t index, braid_step *out_step)
{
    const struct program *program = verify->program;
    const braid_step *op = &program->ops[index];
    uint32_t first = verify->num_frames * program->num_positions;
    *out_step = *op;
    out_step->lane += frame * program->num_lanes;
    out_step->node += frame * program->num_nodes;
    out_step->position += frame * program->num_positions;
    if (op->kind == PROGRAM_RECORD_FRAME) {
        out_step->kind = BRAID_STEP_RECORD;
        out_step->position = first + frame * program->num_frame_positions + op->position;
        return frame + 1 < verify->num_frames;
    }
    if (op->kind == PROGRAM_AWAIT_FRAME) {
        uint32_t before = program_frames_before(program, op), from = frame - before;
        out_step->kind = BRAID_STEP_WAIT;
        out_step->node = op->node + from * program->num_nodes;
        out_step->position =
            first + from * program->num_frame_positions + program_position_index(program, op);
        return before <= frame;
    }
    return true;
}

// Clocks go with their last use, which must be known.
static bool count_uses(struct verify *verify)
{
    verify->steps_left = braid_allocate_zeroed(verify->num_lanes, sizeof(uint32_t));
    for (uint32_t frame = 0; verify->steps_left && frame < verify->num_frames; frame++) {
        for (size_t i = 0; i < verify->program->num_ops; i++) {
            braid_step step; // not checked yet
            if (!step_of(verify, frame, i, &step))
                continue;
            if (step.lane < verify->num_lanes)
                verify->steps_left[step.lane]++;
            if (step.kind == BRAID_STEP_WAIT && step.position < verify->num_positions)
                verify->positions[step.position].waits_left++;
        }
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
    if (--verify->steps_left[step->lane] == 0)
        forget_clock(verify, &verify->lane_clocks[step->lane]);
    if (step->kind == BRAID_STEP_WAIT && --verify->positions[step->position].waits_left == 0)
        forget_clock(verify, &verify->positions[step->position].clock);
}

static bool allocate_verify(struct verify *verify, size_t most_words)
{
    size_t num_lanes = verify->num_lanes;
    verify->lane_clocks = braid_allocate_zeroed(num_lanes, sizeof(verify_clock));
    verify->positions =
        braid_allocate(((size_t)verify->num_positions + 1) * sizeof(*verify->positions));
    verify->num_run = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    verify->last_run = braid_allocate((num_lanes + 1) * sizeof(uint32_t));
    return verify->lane_clocks && verify->positions && verify->num_run && verify->last_run &&
           braid_verify_clocks_init(&verify->clocks, verify->num_known, most_words);
}

static braid_status init_verify(struct verify *verify, size_t most_words)
{
    if (!allocate_verify(verify, most_words))
        return braid_error_no_memory("the proof of a plan");
    for (uint32_t i = 0; i < verify->num_positions; i++)
        verify->positions[i] = (struct verify_position){ .node = GRAPH_NONE };
    if (!count_uses(verify))
        return braid_error_no_memory("the proof of a plan");
    memset(verify->last_run, 0xff, ((size_t)verify->num_lanes + 1) * sizeof(uint32_t));
    return BRAID_OK;
}

static void forget_nodes(const struct verify *verify)
{
    for (uint32_t i = verify->first_node; i < verify->end_node; i++) {
        if (verify_is_here(verify, i))
            verify->whole->spots[i] = (struct verify_spot){ 0 };
    }
    if (verify->whole->accesses)
        braid_verify_accesses_forget(verify->whole->accesses, verify);
}

static void finish_verify(struct verify *verify)
{
    braid_verify_clocks_finish(&verify->clocks);
    braid_free(verify->lane_clocks);
    braid_free(verify->positions);
    braid_free(verify->steps_left);
    braid_free(verify->num_run);
    braid_free(verify->last_run);
    forget_nodes(verify);
}

static braid_status check_step(const struct verify *verify, const braid_step *step, size_t index)
{
    const char *wrong = NULL;
    if (step->lane >= verify->num_lanes)
        wrong = "lane";
    else if (step->node >= verify->num_nodes)
        wrong = "node";
    else if (!program_has_node(step) && step->position >= verify->num_positions)
        wrong = "position";
    else if (step->kind > BRAID_STEP_WAIT && step->kind != BRAID_STEP_LOOP)
        wrong = "kind";
    if (!wrong)
        return BRAID_OK;
    return braid_error(BRAID_INTERNAL, "step %zu of the plan: no such %s", index, wrong);
}

// In a bundle each member comes right after the one before it, and a main node's successors on the
// lane only after the last.
static braid_status check_bundle(const struct verify *verify, uint32_t lane, uint32_t node)
{
    const struct graph_units *units = &verify->whole->units;
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
    const struct verify_whole *whole = verify->whole;
    for (uint32_t i = whole->pred_first[node]; i < whole->pred_first[node + 1]; i++) {
        if (!verify_is_ordered(verify, whole->preds[i], node))
            return braid_verify_report(verify, whole->preds[i], node, "an edge");
    }
    return BRAID_OK;
}

static braid_status walk_run(struct verify *verify, const braid_step *step)
{
    uint32_t node = step->node, lane = step->lane;
    if (!verify_is_here(verify, node))
        return braid_error(BRAID_INTERNAL, "the plan runs node %s, which is %s",
                           braid_verify_name(verify, node).text,
                           graph_nodes(verify->graph)[node].is_left_out ? "left out"
                                                                        : "in another region");
    if (verify->whole->spots[node].turn)
        return braid_error(BRAID_INTERNAL, "the plan runs node %s twice",
                           braid_verify_name(verify, node).text);
    verify->whole->spots[node].lane = lane;
    braid_status status = check_bundle(verify, lane, node);
    if (!status)
        status = check_edges(verify, node);
    if (!status && verify->whole->accesses)
        status = braid_verify_accesses_node(verify->whole->accesses, verify, node);
    if (!status && verify->memory)
        status = verify_memory_node(verify->memory, node, lane);
    verify->whole->spots[node].turn = ++verify->num_run[lane];
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
    if (verify->whole->spots[step->node].turn == 0 ||
        verify->whole->spots[step->node].lane != step->lane)
        return braid_error(BRAID_INTERNAL,
                           "the plan records position %u for node %s, which has not run there",
                           step->position, braid_verify_name(verify, step->node).text);
    struct verify_position *position = &verify->positions[step->position];
    if (position->node != GRAPH_NONE)
        return braid_error(BRAID_INTERNAL, "the plan records position %u twice", step->position);
    position->node = step->node;
    position->turn = verify->num_run[step->lane];
    position->clock =
        verify_copy(&verify->clocks, position->clock, verify->lane_clocks[step->lane]);
    return check_clocks(verify);
}

static braid_status walk_wait(struct verify *verify, const braid_step *step)
{
    struct verify_position *position = &verify->positions[step->position];
    if (position->node != step->node)
        return braid_error(
            BRAID_INTERNAL,
            "the plan waits on lane %u for node %s, but position %u is then not recorded for it",
            step->lane, braid_verify_name(verify, step->node).text, step->position);
    struct verify_clocks *clocks = &verify->clocks;
    verify_clock *clock = &verify->lane_clocks[step->lane];
    *clock = verify_merge(clocks, *clock, position->clock);
    bool knew_no_more = *clock == position->clock;
    uint32_t known = verify->whole->spots[step->node].lane - verify->first_known;
    if (known < verify->num_known)
        *clock = verify_raise(clocks, *clock, known, position->turn);
    if (knew_no_more && position->clock != *clock) // and so will others that wait for it
        position->clock = verify_copy(clocks, position->clock, *clock);
    return check_clocks(verify);
}

static braid_status walk_step(struct verify *verify, const braid_step *step, size_t index)
{
    braid_status status = check_step(verify, step, index);
    if (!status && program_has_node(step))
        status = walk_run(verify, step);
    if (!status && step->kind == BRAID_STEP_RECORD)
        status = walk_record(verify, step);
    if (!status && step->kind == BRAID_STEP_WAIT)
        status = walk_wait(verify, step);
    if (!status)
        forget_used(verify, step);
    return status;
}

static braid_status walk_steps(struct verify *verify)
{
    braid_status status = BRAID_OK;
    braid_step step;
    for (uint32_t frame = 0; frame < verify->num_frames && !status; frame++) {
        for (size_t i = 0; i < verify->program->num_ops && !status; i++)
            if (step_of(verify, frame, i, &step))
                status = walk_step(verify, &step, i);
    }
    if (status)
        return status;
    for (uint32_t i = verify->first_node; i < verify->end_node; i++) {
        if (verify->whole->spots[i].turn == 0 && verify_is_here(verify, i))
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
    for (uint32_t i = verify->first_node; i < verify->end_node; i++) {
        if (!nodes[i].lane_hint || !verify_is_here(verify, i))
            continue;
        struct hinted *item = braid_array_append(&list, 1, sizeof(*item));
        if (!item) {
            braid_array_finish(&list);
            return braid_error_no_memory("the proof of a plan");
        }
        *item = (struct hinted){ nodes[i].lane_hint, verify->whole->spots[i].turn, i };
    }
    struct hinted *items = list.items;
    if (items)
        qsort(items, list.num, sizeof(*items), compare_hinted);
    braid_status status = BRAID_OK;
    for (size_t i = 1; !status && i < list.num; i++) {
        uint32_t a = items[i - 1].node, b = items[i].node;
        if (items[i].hint != items[i - 1].hint)
            continue;
        if (verify->whole->spots[a].lane != verify->whole->spots[b].lane)
            status = braid_error(BRAID_INTERNAL,
                                 "the plan puts node %s and node %s on two lanes, against hint %u",
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
    braid_status status = init_verify(verify, most_words);
    if (!status && memory_plan)
        status = verify_memory_create(verify, memory_plan, &verify->memory);
    if (!status)
        status = walk_steps(verify);
    if (!status)
        status = check_hints(verify);
    verify_memory_destroy(verify->memory);
    return status;
}

// How many lanes to look at next, after a walk for `num`.
static uint32_t change_num_known(uint32_t num, bool was_full, bool was_easy)
{
    if (was_full)
        return num / LANES_CHANGE > FEWEST_LANES ? num / LANES_CHANGE : FEWEST_LANES;
    return was_easy && num < UINT32_MAX / LANES_CHANGE ? num * LANES_CHANGE : num;
}

braid_status braid_verify_region(struct verify_whole *whole, const struct program *program,
                                 const struct memory_plan *memory_plan, uint32_t num_frames,
                                 size_t most_words)
{
    const struct graph_region *body =
        program->region == GRAPH_NONE ? NULL : &graph_regions(whole->graph)[program->region];
    uint32_t num_lanes = program->num_lanes * num_frames;
    uint32_t first_known = 0, num_known = num_lanes;
    braid_status status = BRAID_OK;
    do {
        if (num_known > num_lanes - first_known)
            num_known = num_lanes - first_known;
        struct verify verify = {
            .program = program,
            .graph = whole->graph,
            .num_frames = num_frames,
            .region = program->region,
            .whole = whole,
            .first_node = body ? body->first : 0,
            .end_node = body ? body->first + body->num : whole->num_nodes,
            .num_nodes = whole->num_nodes,
            .num_lanes = num_lanes,
            .num_positions = (program->num_positions + program->num_frame_positions) * num_frames,
            .first_known = first_known,
            .num_known = num_known,
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

braid_status braid_verify_steps(const struct program *program, const braid_graph *graph,
                                const struct memory_plan *memory_plan, uint32_t num_frames,
                                size_t most_words)
{
    struct verify_whole *whole = NULL;
    braid_status status = braid_verify_whole_create(graph, &whole);
    if (!status)
        status = braid_verify_region(whole, program, memory_plan, num_frames, most_words);
    braid_verify_whole_destroy(whole);
    return status;
}
