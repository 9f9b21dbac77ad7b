// SPDX-License-Identifier: Apache-2.0
// An island as a graph of the driver's, of one node.
#include "islands/island_graph.h"

#include <stdlib.h>

#include "base/error.h"

struct island_graph {
    struct gpu_backend *gpu;
    gpu_graph graph; // which lives as long: the node is told by it
    gpu_node node;
    gpu_executable executable;
    bool is_changed; // the arguments are others than those of the last frame
    bool is_stale;   // and than those that the executable has
};

static bool has_calls(const struct gpu_api *api)
{
    return api->graph_create && api->graph_add_kernel && api->graph_instantiate &&
           api->executable_launch && api->executable_set_kernel && api->node_set_attribute;
}

static gpu_result make(struct island_graph *made, const struct backend_launch *launch,
                       const void **out_slot)
{
    const struct gpu_api *api = made->gpu->api;
    *out_slot = &api->graph_create;
    gpu_result result = api->graph_create(&made->graph, 0);
    if (result) {
        made->graph = NULL;
        return result;
    }
    const struct gpu_behind behind = { .graph = made->graph };
    result =
        made->gpu->vendor->nodes->add_kernel(made->gpu, &behind, launch, &made->node, out_slot);
    if (result)
        return result;
    *out_slot = &api->graph_instantiate;
    result = api->graph_instantiate(&made->executable, made->graph,
                                    braid_gpu_priority_flag(made->gpu, launch->priority));
    if (result)
        made->executable = NULL;
    return result;
}

braid_status braid_island_graph_create(struct gpu_backend *gpu, const struct backend_launch *launch,
                                       struct island_graph **out_graph)
{
    const void *slot = NULL;
    if (!has_calls(gpu->api))
        return BRAID_OK;
    struct island_graph *made = calloc(1, sizeof(*made));
    if (!made)
        return braid_error_no_memory("an island");
    made->gpu = gpu;
    gpu_result result = make(made, launch, &slot);
    if (!result) {
        *out_graph = made;
        return BRAID_OK;
    }
    braid_island_graph_destroy(made, true);
    if (result == GPU_NOT_SUPPORTED || result == GPU_INVALID_VALUE)
        return BRAID_OK; // such a launch is none for graphs
    return braid_gpu_check(gpu, result, slot, "creation of an island");
}

void braid_island_graph_destroy(struct island_graph *graph, bool current)
{
    static const char what[] = "destruction of an island";
    if (!graph)
        return;
    const struct gpu_api *api = graph->gpu->api;
    if (current && graph->executable)
        braid_gpu_check_freed(graph->gpu, api->executable_destroy(graph->executable),
                              &api->executable_destroy, what);
    if (current && graph->graph)
        braid_gpu_check_freed(graph->gpu, api->graph_destroy(graph->graph), &api->graph_destroy,
                              what);
    free(graph);
}

void braid_island_graph_change(struct island_graph *graph)
{
    if (graph)
        graph->is_changed = graph->is_stale = true;
}

bool braid_island_graph_takes(struct island_graph *graph)
{
    bool takes = graph && !graph->is_changed;
    if (graph)
        graph->is_changed = false;
    return takes;
}

gpu_result braid_island_graph_launch(struct island_graph *graph,
                                     const struct backend_launch *launch, gpu_stream stream,
                                     const void **out_slot)
{
    const struct gpu_backend *gpu = graph->gpu;
    *out_slot = &gpu->api->executable_set_kernel;
    gpu_result result = GPU_SUCCESS;
    if (graph->is_stale)
        result = gpu->vendor->nodes->set_kernel(gpu, graph->executable, graph->node, launch);
    if (result)
        return result;
    graph->is_stale = false;
    *out_slot = &gpu->api->executable_launch;
    return gpu->api->executable_launch(graph->executable, stream);
}
