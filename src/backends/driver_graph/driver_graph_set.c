// SPDX-License-Identifier: Apache-2.0
// Changing nodes of an executable graph by the driver's calls for that.
#include "backends/driver_graph/driver_graph.h"

#include "backends/driver_graph/driver_graph_capture.h"
#include "backends/driver_graph/driver_graph_nodes.h"
#include "backends/gpu/gpu_layouts.h"
#include "base/error.h"
#include "base/node_text.h"

static braid_status refuse(const struct graph_playing *playing, const struct backend_task *task,
                           const char *reason)
{
    return braid_error(BRAID_UNSUPPORTED, "%s: node %s cannot change in a graph of the driver: %s",
                       playing->gpu->label, braid_node_text(task->node, task->name).text, reason);
}

// Why a node of such a task cannot be changed at all; NULL: it can, or the driver knows.
static const char *find_reason(const struct gpu_api *api, const struct backend_task *task,
                               bool is_disabled)
{
    static const char no_call[] = "the driver has no call for it";
    bool by_attribute = task->kind == WORK_KERNEL || task->kind == WORK_COPY;
    if (is_disabled && task->kind == WORK_FILL)
        return "the driver loses the order behind a disabled fill"; // 580.159, seen on an H200
    if (is_disabled && task->kind == WORK_QUEUE)
        return "a queue call is a graph inside the graph, which cannot be disabled";
    if (is_disabled && by_attribute && !api->node_set_enabled)
        return no_call;
    if ((task->kind == WORK_COPY && task->copy.rows.num) ||
        (task->kind == WORK_FILL && task->fill.rows.num))
        return "the driver changes no node of several rows";
    switch (task->kind) {
    case WORK_COPY:
        return api->executable_set_copy ? NULL : no_call;
    case WORK_FILL:
        return api->executable_set_fill ? NULL : no_call;
    case WORK_HOST:
        return api->executable_set_host ? NULL : no_call;
    case WORK_QUEUE:
        return api->executable_set_child ? NULL : no_call;
    case WORK_POST:
        return "what is captured of operations between ranks keeps their addresses";
    default:
        return NULL;
    }
}

static const char detoured[] =
    "it copies or fills host memory by a host call; use streams, or memory that the driver knows";

// A call that blocks is two nodes as well, of which the first can change.
static bool is_several(const struct backend_task *task)
{
    return task->detour && task->kind != WORK_HOST;
}

static braid_status check_program(const struct graph_playing *nothing, const struct stage *stage,
                                  const struct program *program)
{
    const struct gpu_api *api = nothing->gpu->api;
    for (size_t i = 0; i < program->num_ops; i++) {
        const struct backend_task *task = &stage->frame->tasks[program->ops[i].node];
        if (!task->varies)
            continue;
        bool is_disabled = task->varies & 1u << BRAID_TARGET_ENABLED;
        const char *reason = is_several(task) ? detoured : find_reason(api, task, is_disabled);
        if (reason)
            return refuse(nothing, task, reason);
    }
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = check_program(nothing, stage, &program->bodies[i]);
    return status;
}

braid_status braid_driver_graph_playing_check_changes(const struct stage *stage)
{
    const struct graph_playing nothing = { .gpu = gpu_from(stage->device->backend) };
    return check_program(&nothing, stage, stage->program);
}

static braid_status set_kernel(const struct graph_playing *playing, gpu_node node,
                               const struct backend_task *task)
{
    const struct gpu_backend *gpu = playing->gpu;
    struct backend_launch launch = task->launch;
    if (playing->times)
        braid_driver_graph_times_launch_again(playing->times, task, &launch);
    braid_status status = braid_driver_graph_prefetch(playing->prefetches, task, &launch);
    if (status)
        return status;
    gpu_result result = gpu->vendor->nodes->set_kernel(gpu, playing->executable, node, &launch);
    if (!result)
        return BRAID_OK;
    char detail[200];
    braid_gpu_explain_launch(gpu, &task->launch, result, detail, sizeof(detail));
    return braid_gpu_check_task(gpu, result, &gpu->api->executable_set_kernel, task, detail);
}

// No text says how the driver treats a disabled node that another may start early behind: it may
// hold nothing. So a node that waits, and does no more, is put in its place.
static braid_status set_waiting(const struct graph_playing *playing, gpu_node node,
                                const struct backend_task *task)
{
    struct gpu_kernel kernel = { 0 };
    struct backend_task waiting = *task;
    const braid_dim3 one = { 1, 1, 1 };
    braid_status status = braid_gpu_find_graph_kernel(playing->gpu, GPU_OWN_WAIT, &kernel.function);
    if (status)
        return status;
    if (!kernel.function)
        return refuse(playing, task, "it starts early, and the driver lacks what could wait");
    waiting.launch = (struct backend_launch){
        .kernel = &kernel.base,
        .grid = task->launch.cluster.x ? task->launch.cluster : one,
        .block = one,
        .cluster = task->launch.cluster,
    };
    gpu_result result = playing->gpu->vendor->nodes->set_kernel(playing->gpu, playing->executable,
                                                                node, &waiting.launch);
    return braid_gpu_check_task(playing->gpu, result, &playing->gpu->api->executable_set_kernel,
                                task, NULL);
}

static braid_status set_host(const struct graph_playing *playing, gpu_node node,
                             const struct backend_task *task)
{
    const struct gpu_api *api = playing->gpu->api;
    const struct gpu_host_parameters parameters = { task->host.call, task->host.user };
    if (task->detour) {
        const void *slot = NULL;
        gpu_result set = braid_gpu_set_blocking(playing->executable, task, &slot);
        return braid_gpu_check_task(playing->gpu, set, slot, task, NULL);
    }
    gpu_result result = api->executable_set_host(playing->executable, node, &parameters);
    return braid_gpu_check_task(playing->gpu, result, &api->executable_set_host, task, NULL);
}

// The node takes a copy of the captured work, if it has the same form.
static braid_status set_queue_call(const struct graph_playing *playing, gpu_node node,
                                   const struct backend_task *task)
{
    const struct gpu_backend *gpu = playing->gpu;
    const struct stage stage = { .device = playing->device };
    gpu_stream stream = NULL;
    gpu_graph child = NULL;
    gpu_result result = gpu->api->stream_create(&stream, GPU_STREAM_NON_BLOCKING,
                                                braid_gpu_clamp_priority(gpu, playing->priority));
    if (result)
        return braid_gpu_check_task(gpu, result, &gpu->api->stream_create, task, NULL);
    braid_status status = braid_driver_graph_capture(&stage, task, stream, &child);
    if (!status) {
        result = gpu->api->executable_set_child(playing->executable, node, child);
        status = braid_gpu_check_task(
            gpu, result, &gpu->api->executable_set_child, task,
            result == GPU_SUCCESS ? NULL : "it must queue the same work with other parameters");
        braid_driver_graph_free_captured(gpu, child);
    }
    braid_gpu_check_freed(gpu, gpu->api->stream_destroy(stream), &gpu->api->stream_destroy,
                          "destruction of a stream for captures");
    return status;
}

static braid_status set_values(const struct graph_playing *playing,
                               const struct graph_node_state *state, gpu_node node,
                               const struct backend_task *task)
{
    const struct gpu_site site = { .executable = playing->executable, .node = &node };
    if (task->disabled && state->is_early)
        return set_waiting(playing, node, task);
    switch (task->kind) {
    case WORK_KERNEL:
        return set_kernel(playing, node, task);
    case WORK_COPY:
    case WORK_FILL:
        return braid_driver_graph_put_memory_work(playing->gpu, &site, task);
    case WORK_HOST:
        return set_host(playing, node, task);
    case WORK_QUEUE:
        return set_queue_call(playing, node, task);
    case WORK_LOOP:
    case WORK_BRANCH:
        return braid_driver_graph_loops_set(playing->loops, playing->executable, task);
    default: // nothing of it can change
        return BRAID_OK;
    }
}

// Disabled host calls and early kernels have substitutes as values; the driver disables the others.
static braid_status set_enabled(const struct graph_playing *playing,
                                const struct graph_node_state *state, gpu_node node,
                                const struct backend_task *task, bool enabled)
{
    const struct gpu_api *api = playing->gpu->api;
    if (task->kind == WORK_HOST || state->is_early)
        return BRAID_OK;
    gpu_result result = api->node_set_enabled(playing->executable, node, enabled);
    return braid_gpu_check_task(playing->gpu, result, &api->node_set_enabled, task, NULL);
}

static braid_status set_node(const struct graph_playing *playing, struct graph_node_state *state,
                             gpu_node node, const struct backend_task *task)
{
    braid_status status = BRAID_OK;
    if (state->is_disabled != task->disabled)
        status = set_enabled(playing, state, node, task, !task->disabled);
    if (status)
        return status;
    state->is_disabled = task->disabled;
    return set_values(playing, state, node, task);
}

// The playing as a task's device sees it.
static struct graph_playing playing_there(const struct graph_playing *playing,
                                          const struct backend_task *task)
{
    struct graph_playing there = *playing;
    there.device = places_device(playing->places, playing->device, task->place);
    there.gpu = gpu_from(there.device->backend);
    return there;
}

braid_status braid_driver_graph_playing_check(const struct graph_playing *playing,
                                              const struct backend_task *task)
{
    const struct graph_playing there = playing_there(playing, task);
    if (!playing->nodes[task->node]) // it has no work
        return BRAID_OK;
    const char *reason = find_reason(there.gpu->api, task, task->disabled);
    if (playing->states[task->node].is_detoured || is_several(task))
        reason = detoured;
    return reason ? refuse(&there, task, reason) : BRAID_OK;
}

braid_status braid_driver_graph_playing_set(struct graph_playing *playing,
                                            const struct backend_task *task)
{
    const struct graph_playing there = playing_there(playing, task);
    gpu_node node = playing->nodes[task->node];
    struct gpu_scope scope;
    if (!node)
        return BRAID_OK;
    braid_status status = braid_driver_graph_playing_check(playing, task);
    if (!status)
        status = braid_gpu_enter_task(there.gpu, &scope, task);
    if (status)
        return status;
    status = set_node(&there, &playing->states[task->node], node, task);
    braid_gpu_leave(there.gpu, &scope);
    return status;
}
