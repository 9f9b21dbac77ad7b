// SPDX-License-Identifier: Apache-2.0
// Turning a plan's program into nodes and edges of the driver's graph.
#include "backends/driver_graph/driver_graph_builder.h"

#include "backends/driver_graph/driver_graph_frames.h"
#include "backends/driver_graph/driver_graph_nodes.h"
#include "base/error.h"
#include "base/store.h"

// Each root of a driver graph costs the host about 0.65 us a launch (measured on an H200). One
// kernel before them all makes them ordinary nodes, at the price of one more node on every path.
enum { ROOTS_WORTH_A_KERNEL = 5 };

static uint32_t count_roots(const struct program *program, uint32_t place)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < program->num_lanes; i++)
        num += program->lanes[i].needs_fork && program->lanes[i].place == place;
    return num;
}

static uint32_t count_places(const struct stage *stage)
{
    return stage->places ? stage->places->num : 1;
}

// Makes the device of a place current, which place 0's is when there is no other.
static braid_status enter_place(struct graph_builder *builder, uint32_t place)
{
    if (builder->place == place)
        return BRAID_OK;
    if (builder->place)
        braid_gpu_leave(builder->gpu, &builder->scope);
    builder->place = 0;
    builder->gpu = builder->playing->gpu;
    if (place == 0)
        return BRAID_OK;
    struct gpu_backend *gpu = graph_gpu_of(builder->stage, place);
    braid_status status = braid_gpu_enter(gpu, &builder->scope, "creation of a program");
    if (status)
        return status;
    builder->place = place;
    builder->gpu = gpu;
    return BRAID_OK;
}

static braid_status add_root(struct graph_builder *builder, uint32_t place)
{
    gpu_function function = NULL;
    const struct program *program = builder->stage->program;
    bool is_body = program->region != PLAN_NONE; // no launch begins it
    if (is_body || count_roots(program, place) < ROOTS_WORTH_A_KERNEL)
        return BRAID_OK;
    braid_status status = enter_place(builder, place);
    struct gpu_backend *gpu = builder->gpu;
    if (!status)
        status = braid_gpu_find_graph_kernel(gpu, GPU_OWN_ROOT, &function);
    if (!function)
        return status;
    struct gpu_kernel kernel = { .function = function };
    struct backend_launch launch = {
        .kernel = &kernel.base,
        .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 },
    };
    struct gpu_behind at = { .graph = builder->graph, .priority = builder->stage->priority };
    const void *slot = NULL;
    gpu_result result =
        gpu->vendor->nodes->add_kernel(gpu, &at, &launch, &builder->roots[place], &slot);
    builder->playing->num_nodes++;
    return braid_gpu_check(gpu, result, slot, "adding the root of a graph");
}

// The driver takes no edge twice.
static bool is_collected(const struct graph_builder *builder, gpu_node node)
{
    size_t i = builder->num_after;
    while (i > 0 && builder->repeats && builder->after[i - 1] != node)
        i--;
    return i > 0 && builder->repeats;
}

// Collects the predecessors of the lane's next node: the node before it and the waits between.
static void collect_after(struct graph_builder *builder, const struct graph_lane *state)
{
    const struct program *program = builder->stage->program;
    uint32_t lane = (uint32_t)(state - builder->lanes);
    builder->num_after = 0;
    if (state->last)
        builder->after[builder->num_after++] = state->last;
    for (size_t i = state->first_wait; i < state->num_done; i++) {
        const braid_step *op = program_lane_op(program, lane, i);
        gpu_node node = op->kind == BRAID_STEP_WAIT ? builder->published[op->position] : NULL;
        if (node && !is_collected(builder, node))
            builder->after[builder->num_after++] = node;
    }
    gpu_node root = builder->roots[program->lanes[lane].place];
    if (builder->num_after == 0 && root)
        builder->after[builder->num_after++] = root;
}

// If two loops or branches run at once, driver 580 may fail with CUDA_ERROR_LAUNCH_FAILED (719),
// and in the body of a third it may hang. Some of 250 random programs did on an H100 and an H200.
// So each is behind the one before; gpu_conditional_launch.c does the same for graphs.
static void collect_last_loop(struct graph_builder *builder)
{
    size_t i = 0;
    if (!builder->last_loop)
        return;
    while (i < builder->num_after && builder->after[i] != builder->last_loop)
        i++;
    if (i == builder->num_after)
        builder->after[builder->num_after++] = builder->last_loop;
}

// Adds the nodes of an operation that runs a task, which may be a loop or branch with bodies.
static braid_status run(struct graph_builder *builder, struct graph_lane *state,
                        const braid_step *op)
{
    const struct program *program = builder->stage->program;
    const bool has_body = work_has_body(builder->stage->frame->tasks[op->node].kind);
    braid_status status = enter_place(builder, program->lanes[op->lane].place);
    if (builder->stage->frame->tasks[op->node].disabled) { // for good: see driver_graph_export.h
        state->last_is_kernel = false;
        return status;
    }
    if (status || !program_takes_time(program, op))
        return status;
    collect_after(builder, state);
    if (has_body)
        collect_last_loop(builder);
    status = braid_driver_graph_build_task(builder, state, op);
    if (has_body)
        builder->last_loop = state->last;
    return status;
}

// A position behind waits that no task follows is the end of nodes of other lanes. A node without
// work joins them: so every lane has its own nodes, and no node runs after another twice.
static braid_status publish(struct graph_builder *builder, struct graph_lane *state,
                            const braid_step *op)
{
    collect_after(builder, state);
    braid_status status = BRAID_OK;
    if (builder->num_after > 1 || (builder->num_after == 1 && !state->last)) {
        const struct gpu_behind behind = graph_behind_here(builder);
        status = braid_driver_graph_add_empty_node(
            builder->gpu, &behind, &builder->stage->program->tasks->items[op->node], &state->last);
        state->last_is_kernel = false;
        builder->playing->num_nodes++;
    }
    state->first_wait = state->num_done + 1;
    builder->repeats = builder->repeats || state->recorded == state->last;
    state->recorded = state->last;
    builder->published[op->position] = state->last; // NULL: the frame's begin
    return status;
}

// A record is a leaf, which holds up no node of its lane; the lane's next node is behind a wait.
static braid_status order_frames(struct graph_builder *builder, struct graph_lane *state,
                                 const braid_step *op)
{
    gpu_node node;
    collect_after(builder, state);
    const struct gpu_behind behind = graph_behind_here(builder);
    braid_status status =
        braid_driver_graph_frames_add(builder->playing->frames, builder->stage, &behind, op, &node);
    if (status)
        return status;
    builder->playing->num_nodes++;
    if (op->kind == PROGRAM_AWAIT_FRAME) {
        state->last = node;
        state->last_is_kernel = false;
        state->first_wait = state->num_done + 1;
    }
    return BRAID_OK;
}

static braid_status walk_ops(struct graph_builder *builder)
{
    const struct program *program = builder->stage->program;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < program->num_ops && !status; i++) {
        const braid_step *op = &program->ops[i];
        struct graph_lane *state = &builder->lanes[op->lane];
        // A wait takes effect with the lane's next node.
        if (program_has_node(op))
            status = run(builder, state, op);
        else if (op->kind == BRAID_STEP_RECORD)
            status = publish(builder, state, op);
        else if (op->kind != BRAID_STEP_WAIT)
            status = order_frames(builder, state, op);
        state->num_done++;
    }
    return status;
}

// Returns the last lane that has an end, or NULL.
static const struct graph_lane *collect_ends(struct graph_builder *builder)
{
    const struct graph_lane *last = NULL;
    builder->num_after = 0;
    for (uint32_t i = 0; i < builder->stage->program->num_lanes; i++) {
        if (!builder->lanes[i].last)
            continue;
        last = &builder->lanes[i];
        builder->after[builder->num_after++] = last->last;
    }
    return last;
}

// The only node collected then.
static braid_status add_tally(struct graph_builder *builder)
{
    gpu_node tally = NULL;
    const struct gpu_behind behind = graph_behind_here(builder);
    braid_status status = braid_driver_graph_times_add_tally(
        builder->playing->times, &behind, builder->stage->program->region, &tally);
    builder->playing->num_nodes++;
    builder->after[0] = tally;
    builder->num_after = 1;
    return status;
}

// Behind the last node of every lane. An arm ends with its nodes. The node that ends an iteration
// starts early behind a kernel, as others do behind it.
static braid_status add_end(struct graph_builder *builder)
{
    const struct stage *stage = builder->stage;
    struct graph_playing *playing = builder->playing;
    bool is_body = stage->program->region != PLAN_NONE;
    const struct backend_task *task = is_body ? &stage->frame->tasks[stage->program->node] : NULL;
    bool is_arm = is_body && task->kind == WORK_BRANCH;
    if (!playing->times && (is_arm || !is_body))
        return BRAID_OK;
    const struct graph_lane *last = collect_ends(builder);
    bool starts_early = builder->num_after == 1 && last->last_is_kernel && !playing->times &&
                        !stage->no_early_start;
    braid_status status = playing->times && is_body ? add_tally(builder) : BRAID_OK;
    if (status || is_arm)
        return status;
    const struct gpu_behind behind = graph_behind_here(builder);
    playing->num_nodes++;
    if (!is_body)
        return braid_driver_graph_times_add_keep(playing->times, &behind);
    status = braid_driver_graph_loops_add_next(playing->loops, &behind, task, &starts_early);
    if (starts_early)
        playing->states[last->last_task].is_early = true;
    return status;
}

static braid_status build(struct graph_builder *builder)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < count_places(builder->stage) && !status; i++)
        status = add_root(builder, i);
    status = status ? status : walk_ops(builder);
    if (!status)
        status = add_end(builder);
    braid_status left = enter_place(builder, 0);
    return status ? status : left;
}

braid_status braid_driver_graph_build_region(const struct graph_builder *from,
                                             const struct program *program, gpu_graph graph)
{
    struct stage stage = *from->stage;
    struct store store = { 0 };
    struct graph_builder builder = {
        .gpu = from->playing->gpu,
        .stage = &stage,
        .playing = from->playing,
        .graph = graph,
        .capture_streams = from->capture_streams,
        .roots = braid_store_take(&store, count_places(&stage), sizeof(gpu_node)),
        .lanes = braid_store_take(&store, program->num_lanes, sizeof(*builder.lanes)),
        .published = braid_store_take(&store, program->num_positions, sizeof(gpu_node)),
        .after = braid_store_take(&store, (size_t)program->num_positions + program->num_lanes + 3,
                                  sizeof(gpu_node)),
    };
    stage.program = program;
    braid_status status = store.failed ? braid_error_no_memory("a program") : build(&builder);
    braid_store_finish(&store);
    return status;
}

braid_status braid_driver_graph_playing_build(const struct stage *stage,
                                              struct graph_playing *playing,
                                              const gpu_stream *capture_streams)
{
    const struct graph_builder from = { .stage = stage,
                                        .playing = playing,
                                        .capture_streams = capture_streams };
    return braid_driver_graph_build_region(&from, stage->program, playing->graph);
}
