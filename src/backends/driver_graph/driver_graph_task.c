// SPDX-License-Identifier: Apache-2.0
// Turning a task into nodes of the driver's graph.
#include "backends/driver_graph/driver_graph_builder.h"
#include "backends/driver_graph/driver_graph_capture.h"
#include "backends/driver_graph/driver_graph_nodes.h"
#include "backends/note_task.h"
#include "base/ranges.h"

// Only the edge from the lane's task before it, a kernel, is programmatic; those of waits stay
// ordinary. On an H200 this mix was right, and faster than programmatic edges only: a kernel pays
// for each such edge that leaves it (docs/cuda.md).
static bool may_start_early(const struct graph_builder *builder,
                            const struct backend_launch *launch, const struct graph_lane *state)
{
    return launch->start && builder->gpu->api->graph_add_edges && state->last &&
           state->last_is_kernel;
}

static braid_status build_kernel(struct graph_builder *builder, const struct backend_task *task,
                                 const struct backend_launch *launch,
                                 const struct graph_lane *state, gpu_node *out_node)
{
    const struct gpu_edge_data early = {
        .from_port = launch->start == BACKEND_STARTS_AS_BLOCKS_BEGIN ? GPU_EDGE_PORT_BEGUN
                                                                     : GPU_EDGE_PORT_PROGRAMMATIC,
        .type = GPU_EDGE_PROGRAMMATIC,
    };
    struct gpu_backend *gpu = builder->gpu;
    struct gpu_behind behind = graph_behind_here(builder);
    bool starts_early = may_start_early(builder, launch, state);
    if (starts_early) { // the node that it is launched early behind comes first
        behind.after++;
        behind.num_after--;
    }
    const void *slot = NULL;
    gpu_result result = braid_gpu_allow_shared(gpu, launch, &slot);
    if (result == GPU_SUCCESS)
        result = gpu->vendor->nodes->add_kernel(gpu, &behind, launch, out_node, &slot);
    if (result) {
        char detail[200];
        braid_gpu_explain_launch(gpu, launch, result, detail, sizeof(detail));
        return braid_gpu_check_task(gpu, result, slot, task, detail);
    }
    if (starts_early) {
        builder->playing->states[task->node].is_early = true;
        builder->playing->states[state->last_task].is_early = true;
        result = gpu->api->graph_add_edges(behind.graph, &state->last, out_node, &early, 1);
    }
    return braid_gpu_check_task(gpu, result, &gpu->api->graph_add_edges, task, NULL);
}

static braid_status add_queue_call(struct graph_builder *builder, const struct backend_task *task,
                                   gpu_node *out_node)
{
    const struct gpu_behind behind = graph_behind_here(builder);
    struct stage stage = *builder->stage;
    stage.device = places_device(stage.places, stage.device, task->place);
    gpu_stream stream = builder->capture_streams[task->place];
    return braid_driver_graph_add_captured(&stage, &behind, task, stream, out_node);
}

// Adds the node of a loop or branch behind the nodes collected, and its bodies into graphs of that.
static braid_status add_bodies(struct graph_builder *builder, const braid_step *op,
                               const struct backend_task *task, gpu_node *out_node)
{
    const struct program *program = builder->stage->program;
    const struct program *body = &program->bodies[op->position];
    struct graph_playing *playing = builder->playing;
    const struct gpu_behind behind = graph_behind_here(builder);
    gpu_graph inside[2] = { NULL };
    braid_status status = braid_driver_graph_loops_add(playing->loops, &behind, program, body, task,
                                                       out_node, inside);
    playing->is_conditional = true;
    playing->num_nodes++; // the kernel before it
    for (uint32_t i = 0; i <= body->has_else && !status; i++)
        status = braid_driver_graph_build_region(builder, &body[i], inside[i]);
    return status;
}

static braid_status add_node(struct graph_builder *builder, const braid_step *op,
                             const struct backend_task *task, struct backend_launch *launch,
                             const struct graph_lane *state, gpu_node *out_node)
{
    if (work_has_body(task->kind))
        return add_bodies(builder, op, task, out_node);
    if (task->kind == WORK_KERNEL) {
        braid_status status =
            braid_driver_graph_prefetch(builder->playing->prefetches, task, launch);
        return status ? status : build_kernel(builder, task, launch, state, out_node);
    }
    bool joins =
        task->kind == WORK_POST && braid_gpu_post_joins(task); // with a task captured later
    if (task->kind == WORK_QUEUE || (task->kind == WORK_POST && !joins))
        return add_queue_call(builder, task, out_node);
    const struct gpu_behind behind = graph_behind_here(builder);
    braid_status status = joins ? braid_gpu_post(NULL, task) : BRAID_OK;
    return status ? status : braid_driver_graph_add_plain(builder->gpu, &behind, task, out_node);
}

// A node that writes a time or a note: no exec has both.
static braid_status add_mark(struct graph_builder *builder, const struct backend_task *task,
                             bool ended, gpu_node *out_node)
{
    const struct gpu_behind behind = graph_behind_here(builder);
    struct graph_times *times = builder->playing->times;
    builder->playing->num_nodes++;
    if (times)
        return braid_driver_graph_times_add_stamp(times, &behind, task, ended, out_node);
    const struct backend_task note = note_task(task, ended);
    return braid_driver_graph_add_plain(builder->gpu, &behind, &note, out_node);
}

static braid_status mark_begin(struct graph_builder *builder, struct graph_lane *state,
                               const struct backend_task *task)
{
    gpu_node mark = NULL;
    state->last_is_kernel = false; // no early start behind what the mark parts the task from
    braid_status status = add_mark(builder, task, false, &mark);
    builder->after[0] = mark;
    builder->num_after = 1;
    return status;
}

// The lane goes on behind a stamp. A note is a leaf, which holds up nothing of the lane but a
// kernel that notes its end itself. It is behind the note before, so that the last one stays.
static braid_status mark_end(struct graph_builder *builder, struct graph_lane *state,
                             const struct backend_task *task)
{
    builder->after[0] = state->last;
    builder->num_after = 1;
    if (state->note)
        builder->after[builder->num_after++] = state->note;
    return add_mark(builder, task, true, builder->playing->times ? &state->last : &state->note);
}

// Finds which marks of a task are nodes of their own. A kernel that can writes its times itself, by
// the launch found. That of a loop or branch writes those of its calls.
static braid_status find_marks(const struct graph_builder *builder, const braid_step *op,
                               const struct backend_task *task, struct backend_launch *launch,
                               bool *out_begin, bool *out_end)
{
    struct graph_times *times = builder->playing->times;
    bool inside = false;
    braid_status status = BRAID_OK;
    if (times && task->kind == WORK_KERNEL && op->kind == BRAID_STEP_RUN)
        status = braid_driver_graph_times_launch(times, task, launch, &inside);
    *out_begin = times ? !inside : task->notes_begin;
    *out_end = times ? !inside : task->notes_end;
    return status;
}

// Adds the node of a task between its marks.
static braid_status add_marked(struct graph_builder *builder, struct graph_lane *state,
                               const braid_step *op, const struct backend_task *task)
{
    struct backend_launch launch = { 0 };
    bool has_begin, has_end;
    gpu_node *node = &builder->playing->nodes[op->node];
    if (task->kind == WORK_KERNEL)
        launch = task->launch;
    braid_status status = find_marks(builder, op, task, &launch, &has_begin, &has_end);
    if (task->block_count && state->note) { // else the last end of the lane could be noted later
        builder->after[builder->num_after++] = state->note;
        state->note = NULL;
    }
    if (!status && has_begin)
        status = mark_begin(builder, state, task);
    if (!status)
        status = add_node(builder, op, task, &launch, state, node);
    state->last = *node;
    // The successor of a loop would wait on the device for all iterations, and a stamp is none.
    state->last_is_kernel = task->kind == WORK_KERNEL && op->kind == BRAID_STEP_RUN &&
                            !(has_end && builder->playing->times);
    return status || !has_end ? status : mark_end(builder, state, task);
}

braid_status braid_driver_graph_build_task(struct graph_builder *builder, struct graph_lane *state,
                                           const braid_step *op)
{
    const uint32_t index = op->node;
    const struct backend_task *task = &builder->stage->frame->tasks[index];
    ranges_begin(task->name); // tools tell of a graph's node where it was added
    braid_status status = add_marked(builder, state, op, task);
    ranges_end();
    if (status)
        return status;
    builder->playing->states[index].is_detoured = task->detour && task->kind != WORK_HOST;
    state->last_task = index;
    state->first_wait = state->num_done + 1;
    builder->playing->num_nodes++;
    return BRAID_OK;
}
