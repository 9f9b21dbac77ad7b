// SPDX-License-Identifier: Apache-2.0
// Nodes that allocate and free memory: captured, built, launched, and asked.
#include "graph_memory.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "context.h"
#include "entry.h"
#include "graph_node.h"
#include "handles.h"
#include "memory.h"
#include "settings.h"
#include "stream.h"

// Which nodes come before a new one that comes after these. NULL: no memory. The caller frees it.
static bool *find_ancestors(CUgraph graph, const CUgraphNode *after, size_t num_after)
{
    bool *reached = calloc(graph->num_nodes + 1, sizeof(*reached));
    bool changed = reached != NULL;
    for (size_t i = 0; reached != NULL && i < num_after; i++)
        reached[after[i]->index] = true;
    while (changed) {
        changed = false;
        for (size_t i = graph->num_nodes; i-- > 0;)
            for (size_t j = 0; reached[i] && j < graph->nodes[i]->num_before; j++) {
                size_t before = graph->nodes[i]->before[j].from->index;
                changed |= !reached[before];
                reached[before] = true;
            }
    }
    return reached;
}

// Whether each allocation of the memory in this graph is freed before the new node.
static bool is_free_again(CUgraph graph, const bool *ancestors, const void *memory)
{
    bool is_free = true;
    for (size_t i = 0; i < graph->num_nodes; i++) {
        const struct work *work = &graph->nodes[i]->work;
        if (work_is_of_memory(work) && work->reserved.memory == memory)
            is_free = is_free && ancestors[i] &&
                      (work->kind == WORK_RESERVED_BURY || work->reserved.is_freed);
    }
    return is_free;
}

// An address of the graph that can be used again, as the driver does; NULL: none.
static void *find_reusable(CUgraph graph, const bool *ancestors, CUdevice device, size_t bytes)
{
    for (size_t i = 0; i < graph->num_nodes; i++) {
        const struct work *work = &graph->nodes[i]->work;
        if (work->kind == WORK_RESERVED_ARRIVE && work->reserved.bytes == bytes &&
            work->reserved.device == device &&
            is_free_again(graph, ancestors, work->reserved.memory))
            return work->reserved.memory;
    }
    return NULL;
}

static CUresult make_allocation(CUgraph graph, const CUgraphNode *after, size_t num_after,
                                CUdevice device, size_t bytes, struct work *out_work)
{
    struct work work = { .kind = WORK_RESERVED_ARRIVE };
    if (graph->is_child)
        return CUDA_ERROR_NOT_SUPPORTED;
    bool *ancestors = find_ancestors(graph, after, num_after);
    if (ancestors == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work.reserved.memory = find_reusable(graph, ancestors, device, bytes);
    free(ancestors);
    if (work.reserved.memory != NULL) {
        memory_reservation(work.reserved.memory)->holders++;
    } else {
        CUresult result = memory_reserve(context_of_device(device), bytes, &work.reserved.memory);
        if (result != CUDA_SUCCESS)
            return result;
        memory_reservation(work.reserved.memory)->family = graph->family;
    }
    work.reserved.bytes = bytes;
    work.reserved.device = device;
    *out_work = work;
    return CUDA_SUCCESS;
}

static CUresult make_free(CUgraph graph, void *memory, struct work *out_work)
{
    struct reservation *reservation = memory_reservation(memory);
    if (graph->is_child)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (reservation == NULL || reservation->freed_within || reservation->holders == 0)
        return CUDA_ERROR_INVALID_VALUE;
    bool within = reservation->family == graph->family;
    for (size_t i = 0; !within && i < graph->num_nodes; i++)
        if (graph->nodes[i]->work.kind == WORK_RESERVED_BURY &&
            graph->nodes[i]->work.reserved.memory == memory)
            return CUDA_ERROR_INVALID_VALUE; // this graph frees it already
    if (within && reservation->freed_elsewhere)
        return CUDA_ERROR_INVALID_VALUE;
    struct work work = { .kind = WORK_RESERVED_BURY };
    work.reserved.memory = memory;
    reservation->holders++;
    *out_work = work;
    return CUDA_SUCCESS;
}

// The node is in the graph.
static void note_free(CUgraph graph, void *memory)
{
    struct reservation *reservation = memory_reservation(memory);
    bool within = reservation->family == graph->family;
    reservation->freed_within |= within;
    reservation->freed_elsewhere |= !within;
    for (size_t i = 0; within && i < graph->num_nodes; i++)
        if (graph->nodes[i]->work.kind == WORK_RESERVED_ARRIVE &&
            graph->nodes[i]->work.reserved.memory == memory)
            graph->nodes[i]->work.reserved.is_freed = true;
}

CUresult graph_memory_capture_allocation(CUstream stream, CUdevice device, size_t bytes,
                                         CUdeviceptr *out_memory)
{
    struct work work;
    const struct node_list *after = &stream->frontier;
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (bytes == 0) {
        *out_memory = 0;
        return CUDA_SUCCESS;
    }
    CUresult result =
        make_allocation(stream->capture->graph, after->nodes, after->count, device, bytes, &work);
    if (result != CUDA_SUCCESS)
        return result;
    void *memory = work.reserved.memory;
    work.context = stream->context;
    result = capture_submit(stream, &work);
    if (result != CUDA_SUCCESS)
        return result;
    memory_reservation(memory)->freed_within = false;
    *out_memory = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

CUresult graph_memory_capture_free(CUstream stream, void *memory)
{
    struct work work;
    CUgraph graph = stream->capture->graph;
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUresult result = make_free(graph, memory, &work);
    if (result != CUDA_SUCCESS)
        return result;
    work.context = stream->context;
    result = capture_submit(stream, &work);
    if (result == CUDA_SUCCESS)
        note_free(graph, memory);
    return result;
}

// What a launch leaves allocated.
static struct reservation *left_by(const struct work *work)
{
    bool leaves = work->kind == WORK_RESERVED_ARRIVE && !work->reserved.is_freed;
    return leaves ? memory_reservation(work->reserved.memory) : NULL;
}

// What the plan frees of another graph.
static struct reservation *taken_by(CUgraph plan, const struct work *work)
{
    if (work->kind != WORK_RESERVED_BURY)
        return NULL;
    struct reservation *reservation = memory_reservation(work->reserved.memory);
    return reservation->family == plan->family ? NULL : reservation;
}

static CUresult free_left(CUstream stream, void *memory)
{
    struct work work = { .kind = WORK_BURY, .memory = memory };
    CUresult result = memory_announce_free(memory);
    return result == CUDA_SUCCESS ? stream_submit(stream, &work, NULL) : result;
}

CUresult graph_memory_begin_launch(CUgraph plan, bool auto_free, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < plan->num_nodes && result == CUDA_SUCCESS; i++) {
        const struct work *work = &plan->nodes[i]->work;
        const struct reservation *left = left_by(work), *taken = taken_by(plan, work);
        if ((left != NULL && left->is_out && !auto_free) || (taken != NULL && !taken->is_out))
            result = CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < plan->num_nodes && result == CUDA_SUCCESS; i++) {
        const struct reservation *left = left_by(&plan->nodes[i]->work);
        if (left != NULL && left->is_out)
            result = free_left(stream, plan->nodes[i]->work.reserved.memory);
    }
    return result;
}

void graph_memory_end_launch(CUgraph plan)
{
    for (size_t i = 0; i < plan->num_nodes; i++) {
        const struct work *work = &plan->nodes[i]->work;
        if (work->kind == WORK_RESERVED_ARRIVE)
            memory_reservation(work->reserved.memory)->is_mapped = true;
        struct reservation *left = left_by(work), *taken = taken_by(plan, work);
        if (left != NULL)
            left->is_out = true;
        if (taken != NULL)
            taken->is_out = false;
    }
}

// Pinned memory of one device, readable and writable by those devices.
static bool params_valid(const CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    const CUmemPoolProps *pool = &params->poolProps;
    bool valid = pool->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                 pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE && params->bytesize > 0 &&
                 context_of_device(pool->location.id) != NULL &&
                 (params->accessDescs != NULL || params->accessDescCount == 0);
    for (size_t i = 0; valid && i < params->accessDescCount; i++)
        valid = params->accessDescs[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                params->accessDescs[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
                context_of_device(params->accessDescs[i].location.id) != NULL;
    return valid;
}

static bool keep_accesses(struct graph_memory *memory, const CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct reservation *reservation = memory_reservation(memory->memory);
    if (params->accessDescCount == 0)
        return true;
    memory->accesses = calloc(params->accessDescCount, sizeof(*memory->accesses));
    if (memory->accesses == NULL)
        return false;
    memory->num_accesses = params->accessDescCount;
    memcpy(memory->accesses, params->accessDescs,
           params->accessDescCount * sizeof(*memory->accesses));
    for (size_t i = 0; i < params->accessDescCount; i++)
        reservation->peers |= 1u << params->accessDescs[i].location.id;
    return true;
}

static bool all_in(CUgraph graph, const CUgraphNode *nodes, size_t num_nodes)
{
    bool all = handles_known(HANDLE_GRAPH, graph) && (nodes != NULL || num_nodes == 0);
    for (size_t i = 0; all && i < num_nodes; i++)
        all = handles_known(HANDLE_NODE, nodes[i]) && nodes[i]->graph == graph;
    return all;
}

// Expects the world's lock.
static CUresult add_allocation(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                               size_t num_after, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct work work;
    if (!all_in(graph, after, num_after) || !params_valid(params))
        return CUDA_ERROR_INVALID_VALUE;
    if (params->poolProps.handleTypes != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = make_allocation(graph, after, num_after, params->poolProps.location.id,
                                      params->bytesize, &work);
    if (result != CUDA_SUCCESS)
        return result;
    void *memory = work.reserved.memory;
    result = node_set_context(&work, NULL);
    if (result == CUDA_SUCCESS && !keep_accesses(&work.reserved, params))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        work_finish(&work);
        return result;
    }
    result = graph_add(graph, &work, after, NULL, num_after, out_node);
    if (result != CUDA_SUCCESS)
        return result;
    memory_reservation(memory)->freed_within = false;
    params->dptr = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                size_t num_after, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_node == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = add_allocation(out_node, graph, after, num_after, params);
    world_unlock();
    return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                               size_t num_after, CUdeviceptr memory)
{
    struct work work;
    void *start = (void *)(uintptr_t)memory;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = out_node == NULL || !all_in(graph, after, num_after) ? CUDA_ERROR_INVALID_VALUE
                                                                  : make_free(graph, start, &work);
    if (result == CUDA_SUCCESS) {
        node_set_context(&work, NULL); // the current one, which is fine
        result = graph_add(graph, &work, after, NULL, num_after, out_node);
        if (result == CUDA_SUCCESS)
            note_free(graph, start);
    }
    world_unlock();
    return result;
}

void graph_memory_tell(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out_params)
{
    const struct graph_memory *memory = &node->work.reserved;
    *out_params = (CUDA_MEM_ALLOC_NODE_PARAMS){
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, memory->device } },
        .accessDescs = memory->accesses,
        .accessDescCount = memory->num_accesses,
        .bytesize = memory->bytes,
        .dptr = (CUdeviceptr)(uintptr_t)memory->memory,
    };
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out_params)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_params != NULL && handles_known(HANDLE_NODE, node) &&
        node->work.kind == WORK_RESERVED_ARRIVE)
        graph_memory_tell(node, out_params);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out_memory)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_memory != NULL && handles_known(HANDLE_NODE, node) &&
        node->work.kind == WORK_RESERVED_BURY)
        *out_memory = (CUdeviceptr)(uintptr_t)node->work.reserved.memory;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}
