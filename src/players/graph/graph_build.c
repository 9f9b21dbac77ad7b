// SPDX-License-Identifier: Apache-2.0
// Turning a program into nodes and edges of the driver's graph.
#include "players/graph/graph_builder.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/ranges.h"
#include "players/graph/graph_capture.h"
#include "players/graph/graph_frames.h"
#include "players/graph/graph_nodes.h"

// Each root of a driver graph costs the host about 0.65 us a launch (measured on an H200), and one
// kernel before them all makes them ordinary nodes at the price of one more node on every path.
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
    if (count_roots(builder->stage->program, place) < ROOTS_WORTH_A_KERNEL)
        return BRAID_OK;
    braid_status status = enter_place(builder, place);
    struct gpu_backend *gpu = builder->gpu;
    if (!status)
        status = braid_gpu_find_own(gpu, GPU_OWN_ROOT, &function);
    if (!function)
        return status;
    struct gpu_kernel kernel = { .function = function };
    struct backend_launch launch = {
        .kernel = &kernel.base,
        .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 },
    };
    struct gpu_place at = { .graph = builder->playing->graph };
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

// Collects what the lane's next node runs after: the node before it and the waits between.
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

// Only the edge from the lane's task before it, a kernel, is programmatic; those of waits stay
// ordinary. On an H200 both beside each other were right, and faster than with all of them
// programmatic: a kernel pays for each such edge that leaves it (docs/cuda.md).
static bool may_start_early(const struct graph_builder *builder,
                            const struct backend_launch *launch, const struct graph_lane *state)
{
    return launch->start && builder->gpu->api->graph_add_edges && state->last &&
           state->last_is_kernel;
}

static braid_status add_kernel(struct graph_builder *builder, const struct backend_task *task,
                               const struct backend_launch *launch, const struct graph_lane *state,
                               gpu_node *out_node)
{
    const struct gpu_edge_data early = {
        .from_port = launch->start == BACKEND_STARTS_AS_BLOCKS_BEGIN ? GPU_EDGE_PORT_BEGUN
                                                                     : GPU_EDGE_PORT_PROGRAMMATIC,
        .type = GPU_EDGE_PROGRAMMATIC,
    };
    struct gpu_backend *gpu = builder->gpu;
    struct gpu_place place = graph_place_here(builder);
    bool starts_early = may_start_early(builder, launch, state);
    if (starts_early) { // what it is launched early behind comes first
        place.after++;
        place.num_after--;
    }
    const void *slot = NULL;
    gpu_result result = braid_gpu_allow_shared(gpu, launch, &slot);
    if (result == GPU_SUCCESS)
        result = gpu->vendor->nodes->add_kernel(gpu, &place, launch, out_node, &slot);
    if (result) {
        char detail[200];
        braid_gpu_explain_launch(gpu, launch, result, detail, sizeof(detail));
        return braid_gpu_check_task(gpu, result, slot, task, detail);
    }
    if (starts_early) {
        builder->playing->states[task->node].is_early = true;
        builder->playing->states[state->last_task].is_early = true;
        result = gpu->api->graph_add_edges(place.graph, &state->last, out_node, &early, 1);
    }
    return braid_gpu_check_task(gpu, result, &gpu->api->graph_add_edges, task, NULL);
}

static braid_status add_queue_call(struct graph_builder *builder, const struct backend_task *task,
                                   gpu_node *out_node)
{
    const struct gpu_place place = graph_place_here(builder);
    struct stage stage = *builder->stage;
    stage.device = places_device(stage.places, stage.device, task->place);
    gpu_stream stream = builder->capture_streams[task->place];
    return braid_graph_add_captured(&stage, &place, task, stream, out_node);
}

static braid_status add_node(struct graph_builder *builder, const struct backend_task *task,
                             const struct graph_lane *state, gpu_node *out_node)
{
    if (task->kind == WORK_KERNEL)
        return add_kernel(builder, task, &task->launch, state, out_node);
    bool joins =
        task->kind == WORK_POST && braid_gpu_post_joins(task); // with what is captured later
    if (task->kind == WORK_QUEUE || (task->kind == WORK_POST && !joins))
        return add_queue_call(builder, task, out_node);
    const struct gpu_place place = graph_place_here(builder);
    braid_status status = joins ? braid_gpu_post(NULL, task) : BRAID_OK;
    return status ? status : braid_graph_add_plain(builder->gpu, &place, task, out_node);
}

static braid_status add_stamp(struct graph_builder *builder, const struct backend_task *task,
                              bool ended, gpu_node *out_node)
{
    const struct gpu_place place = graph_place_here(builder);
    builder->playing->num_nodes++;
    return braid_graph_times_add_stamp(builder->playing->times, &place, task, ended, out_node);
}

// The node between two that write the time; *state then ends with the second.
static braid_status add_between_stamps(struct graph_builder *builder,
                                       const struct backend_task *task, struct graph_lane *state,
                                       gpu_node *out_node)
{
    gpu_node stamp;
    state->last_is_kernel = false; // it does not start early behind what it is parted from
    braid_status status = add_stamp(builder, task, false, &stamp);
    builder->after[0] = stamp;
    builder->num_after = 1;
    if (!status)
        status = add_node(builder, task, state, out_node);
    builder->after[0] = *out_node;
    return status ? status : add_stamp(builder, task, true, &state->last);
}

// A kernel that can writes its times itself.
static braid_status add_timed(struct graph_builder *builder, const struct backend_task *task,
                              struct graph_lane *state, gpu_node *out_node)
{
    struct backend_launch launch;
    bool inside = false;
    braid_status status = BRAID_OK;
    if (task->kind == WORK_KERNEL)
        status = braid_graph_times_launch(builder->playing->times, task, &launch, &inside);
    if (!status && !inside)
        return add_between_stamps(builder, task, state, out_node);
    if (!status)
        status = add_kernel(builder, task, &launch, state, out_node);
    state->last = *out_node;
    state->last_is_kernel = true;
    return status;
}

// The island that the lane's next operation is in, or NULL.
static const struct program_island *island_at(const struct graph_builder *builder,
                                              struct graph_lane *state)
{
    const struct program *program = builder->stage->program;
    const struct program_island *islands = program->islands;
    size_t op = program->lanes[state - builder->lanes].first_op + state->num_done;
    while (state->island < program->num_islands &&
           islands[state->island].first_op + islands[state->island].num_ops <= op)
        state->island++;
    bool inside = state->island < program->num_islands && islands[state->island].first_op <= op;
    return inside ? &islands[state->island] : NULL;
}

// All that an island waits for stands before its first operation, where its node is added.
static braid_status begin_island(struct graph_builder *builder, struct graph_lane *state)
{
    const struct program_island *island = &builder->stage->program->islands[state->island];
    struct graph_playing *playing = builder->playing;
    struct graph_island *item = &playing->islands.items[state->island];
    braid_status status = braid_graph_islands_make(&playing->islands, builder->gpu, builder->stage,
                                                   state->island, playing->times);
    if (status || !item->island)
        return status;
    collect_after(builder, state);
    status = add_kernel(builder, &item->task, &item->task.launch, state, &item->node);
    if (status)
        return status;
    state->first_wait = state->num_done + island->num_ops;
    state->last = item->node;
    state->last_is_kernel = true;
    state->last_task = item->task.node;
    playing->num_nodes++;
    playing->base.num_islands++;
    playing->base.num_island_nodes += island->num_calls;
    return BRAID_OK;
}

static braid_status run_task(struct graph_builder *builder, struct graph_lane *state,
                             uint32_t index)
{
    const struct backend_task *task = &builder->stage->frame->tasks[index];
    gpu_node *node = &builder->playing->nodes[index];
    collect_after(builder, state);
    ranges_begin(task->name); // tools tell of a graph's node where it was added
    braid_status status = builder->playing->times ? add_timed(builder, task, state, node)
                                                  : add_node(builder, task, state, node);
    ranges_end();
    if (status)
        return status;
    if (!builder->playing->times) {
        state->last = *node;
        state->last_is_kernel = task->kind == WORK_KERNEL;
    }
    builder->playing->states[index].is_detoured = task->detour && task->kind != WORK_HOST;
    state->last_task = index;
    state->first_wait = state->num_done + 1;
    builder->playing->num_nodes++;
    return BRAID_OK;
}

static braid_status run(struct graph_builder *builder, struct graph_lane *state,
                        const braid_step *op)
{
    const struct program *program = builder->stage->program;
    const struct program_lane *lane = &program->lanes[op->lane];
    const struct program_island *island = island_at(builder, state);
    braid_status status = enter_place(builder, lane->place);
    if (!status && island && island->first_op == lane->first_op + state->num_done)
        status = begin_island(builder, state);
    if (status || (island && builder->playing->islands.items[state->island].island) ||
        !program_runs(program, op))
        return status;
    return run_task(builder, state, op->node);
}

// Behind waits that no task follows a position is the end of nodes of other lanes: one without work
// joins them, so that every lane has nodes of its own and no node runs after another twice.
static braid_status publish(struct graph_builder *builder, struct graph_lane *state,
                            const braid_step *op)
{
    collect_after(builder, state);
    braid_status status = BRAID_OK;
    if (builder->num_after > 1 || (builder->num_after == 1 && !state->last)) {
        const struct gpu_place place = graph_place_here(builder);
        status = braid_graph_add_empty_node(
            builder->gpu, &place, &builder->stage->program->tasks->items[op->node], &state->last);
        state->last_is_kernel = false;
        builder->playing->num_nodes++;
    }
    state->first_wait = state->num_done + 1;
    builder->repeats = builder->repeats || state->recorded == state->last;
    state->recorded = state->last;
    builder->published[op->position] = state->last; // NULL: the frame's begin
    return status;
}

// A record is a leaf, which holds up nothing of its lane; a wait is what the lane's next node is
// behind.
static braid_status order_frames(struct graph_builder *builder, struct graph_lane *state,
                                 const braid_step *op)
{
    gpu_node node;
    collect_after(builder, state);
    const struct gpu_place place = graph_place_here(builder);
    braid_status status =
        braid_graph_frames_add(builder->playing->frames, builder->stage, &place, op, &node);
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
        if (op->kind == BRAID_STEP_RUN)
            status = run(builder, state, op);
        else if (op->kind == BRAID_STEP_RECORD)
            status = publish(builder, state, op);
        else if (op->kind != BRAID_STEP_WAIT)
            status = order_frames(builder, state, op);
        state->num_done++;
    }
    return status;
}

// Behind the last node of every lane.
static braid_status add_keep(struct graph_builder *builder)
{
    builder->num_after = 0;
    for (uint32_t i = 0; i < builder->stage->program->num_lanes; i++) {
        if (builder->lanes[i].last)
            builder->after[builder->num_after++] = builder->lanes[i].last;
    }
    const struct gpu_place place = graph_place_here(builder);
    builder->playing->num_nodes++;
    return braid_graph_times_add_keep(builder->playing->times, &place);
}

static braid_status build(struct graph_builder *builder)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < count_places(builder->stage) && !status; i++)
        status = add_root(builder, i);
    status = status ? status : walk_ops(builder);
    if (!status && builder->playing->times)
        status = add_keep(builder);
    braid_status left = enter_place(builder, 0);
    return status ? status : left;
}

braid_status braid_graph_playing_build(const struct stage *stage, struct graph_playing *playing,
                                       const gpu_stream *capture_streams)
{
    const struct program *program = stage->program;
    struct graph_builder builder = {
        .gpu = playing->gpu,
        .stage = stage,
        .playing = playing,
        .capture_streams = capture_streams,
        .roots = braid_allocate_zeroed(count_places(stage), sizeof(gpu_node)),
        .lanes = braid_allocate_zeroed(program->num_lanes, sizeof(*builder.lanes)),
        .published = braid_allocate_zeroed(program->num_positions, sizeof(gpu_node)),
        .after = braid_allocate_zeroed((size_t)program->num_positions + program->num_lanes + 2,
                                       sizeof(gpu_node)),
    };
    braid_status status = BRAID_OK;
    if (!builder.roots || !builder.lanes || !builder.published || !builder.after)
        status = braid_error_no_memory("a program");
    if (!status)
        status = build(&builder);
    free(builder.roots);
    free(builder.lanes);
    free(builder.published);
    free(builder.after);
    return status;
}
