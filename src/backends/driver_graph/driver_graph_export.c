// SPDX-License-Identifier: Apache-2.0
// The graph of a playing that the program launches, and not the player: its place in a capture.
#include "backends/driver_graph/driver_graph_export.h"

#include "backends/driver_graph/driver_graph.h"
#include "base/error.h"
#include "base/node_text.h"

// The first loop or branch of the frame that is no island.
static uint32_t find_condition(const struct graph_playing *playing, const struct program *program)
{
    uint32_t i = 0;
    while (i + 1 < program->num_bodies &&
           graph_islands_have(&playing->islands, program->bodies[i].node))
        i++;
    return program->bodies[i].node;
}

static braid_status refuse_condition(const struct graph_playing *playing, const struct stage *stage)
{
    const struct backend_task *task = &stage->frame->tasks[find_condition(playing, stage->program)];
    return braid_error(
        BRAID_UNSUPPORTED, "node %s is a %s, which a graph inside another graph cannot have",
        braid_node_text(task->node, task->name).text, braid_work_words[task->kind].kind);
}

static braid_status copy_arguments(struct graph_playing *playing, braid_stream *stream)
{
    static const char what[] = "a copy of an island's arguments";
    struct gpu_backend *gpu = playing->gpu;
    struct gpu_scope scope;
    bool queued = false;
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    gpu_result result = braid_graph_islands->begin(&playing->islands, gpu,
                                                   gpu_stream_of(stream->backend), 1, 0, &queued);
    braid_gpu_leave(gpu, &scope);
    status = braid_gpu_check(gpu, result, &gpu->api->copy, what);
    return status || !queued ? status
                             : gpu->base.ops->stream_synchronize(&gpu->base, stream->backend);
}

// An island of the whole graph may read its arguments in memory. Its launches by the player bring
// them there, and a replay is none.
static braid_status bring_arguments(struct graph_playing *playing)
{
    braid_stream *stream;
    if (!playing->islands.is_whole)
        return BRAID_OK;
    braid_status status = braid_device_lease_stream(playing->device, 0, &stream);
    if (status)
        return status;
    status = copy_arguments(playing, stream);
    braid_device_return_stream(playing->device, stream);
    return status;
}

// The player has instantiated the graph: the driver takes it. The program instantiates the graph
// around it.
braid_status braid_driver_graph_export(struct playing *base, const struct stage *stage,
                                       void **out_graph)
{
    static const char what[] = "a graph for the program";
    struct graph_playing *playing = (struct graph_playing *)base;
    const struct gpu_api *api = playing->gpu->api;
    struct gpu_scope scope;
    if (playing->is_conditional)
        return refuse_condition(playing, stage);
    if (!playing->executable)
        return braid_error(BRAID_UNSUPPORTED, "%s: the plan is one kernel, which no graph has",
                           playing->gpu->label);
    braid_status status = bring_arguments(playing);
    if (!status)
        status = braid_gpu_enter(playing->gpu, &scope, what);
    if (status)
        return status;
    braid_gpu_check_freed(playing->gpu, api->executable_destroy(playing->executable),
                          &api->executable_destroy, what);
    playing->executable = NULL;
    braid_gpu_leave(playing->gpu, &scope);
    *out_graph = playing->graph;
    return BRAID_OK;
}

// The driver removes no node from a graph while it is captured. So the stream's place is set twice
// if that fails: otherwise nothing would be behind the node, and the capture would end in an error.
static gpu_result go_on_behind(const struct gpu_api *api, gpu_stream stream, gpu_node node)
{
    gpu_result result = api->capture_go_on(stream, &node, NULL, 1, GPU_CAPTURE_ONLY_BEHIND);
    return result ? api->capture_go_on(stream, &node, NULL, 1, GPU_CAPTURE_ONLY_BEHIND) : result;
}

static gpu_result add(const struct gpu_api *api, gpu_graph graph, gpu_stream stream,
                      const void **out_slot)
{
    int capturing = 0;
    uint64_t id;
    gpu_graph around = NULL;
    gpu_node node = NULL;
    const gpu_node *after = NULL;
    size_t num_after = 0;
    *out_slot = &api->capture_info;
    gpu_result result =
        api->capture_info(stream, &capturing, &id, &around, &after, NULL, &num_after);
    if (result || capturing != GPU_CAPTURE_GOES_ON)
        return result ? result : GPU_NOT_SUPPORTED;
    *out_slot = &api->graph_add_child;
    result = api->graph_add_child(&node, around, after, num_after, graph);
    if (result)
        return result;
    *out_slot = &api->capture_go_on;
    return go_on_behind(api, stream, node);
}

braid_status braid_driver_graph_add_to_capture(struct gpu_backend *gpu, void *graph,
                                               gpu_stream stream)
{
    static const char what[] = "adding a plan to a capture";
    struct gpu_scope scope;
    const void *slot = NULL;
    if (!gpu->api->capture_info || !gpu->api->capture_go_on)
        return braid_error(BRAID_UNSUPPORTED, "%s: the driver has no call for it", gpu->label);
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    gpu_result result = add(gpu->api, graph, stream, &slot);
    braid_gpu_leave(gpu, &scope);
    if (result == GPU_LOSSY_QUERY)
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: the stream's last kernel lets others start early, "
                           "and a graph inside another graph cannot",
                           gpu->label);
    return braid_gpu_check(gpu, result, slot, what);
}
