// SPDX-License-Identifier: Apache-2.0
// Entry points that begin, end and inspect stream captures.
#include <stdlib.h>

#include "capture.h"
#include "capture_list.h"
#include "entry.h"
#include "handles.h"
#include "stream.h"

static cuuint64_t last_id; // guarded by the world's lock

// edges: NULL for plain ones.
static CUresult add_to_frontier(CUstream stream, CUgraph graph, const CUgraphNode *after,
                                const CUgraphEdgeData *edges, size_t count)
{
    const CUgraphEdgeData plain = { 0 };
    for (size_t i = 0; i < count; i++)
        if (!handles_known(HANDLE_NODE, after[i]) || after[i]->graph != graph ||
            (edges != NULL && !edge_valid(edges[i], after[i], NULL)))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!node_list_add(&stream->frontier, after[i], edges == NULL ? plain : edges[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

// graph: NULL makes a new one.
static CUresult begin(CUstream handle, CUgraph graph, const CUgraphNode *after,
                      const CUgraphEdgeData *edges, size_t num_after, CUstreamCaptureMode mode)
{
    CUstream stream;
    CUresult result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS && stream_is_null(stream))
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (result == CUDA_SUCCESS && stream->capture != NULL)
        result = CUDA_ERROR_ILLEGAL_STATE;
    if (result == CUDA_SUCCESS)
        stream->frontier.count = 0;
    if (result == CUDA_SUCCESS && graph != NULL)
        result = add_to_frontier(stream, graph, after, edges, num_after);
    if (result != CUDA_SUCCESS)
        return result;
    struct capture *capture = calloc(1, sizeof(*capture));
    CUgraph target = capture == NULL ? NULL : graph != NULL ? graph : graph_create(true);
    if (target == NULL) {
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *capture = (struct capture){ .references = 1, .graph = target, .mode = mode, .id = ++last_id };
    capture->graph_is_callers = graph != NULL;
    capture->first_node = target->num_nodes;
    capture->origin = stream;
    capture->owner = pthread_self();
    stream->capture = capture;
    capture_list_add(capture);
    return CUDA_SUCCESS;
}

static CUresult begin_with(const char *function, CUstream stream, CUstreamCaptureMode mode)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = begin(stream, NULL, NULL, NULL, 0, mode);
    world_unlock();
    return result;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return begin_with(__func__, stream, mode);
}

CUresult cuStreamBeginCapture(CUstream stream)
{
    return begin_with(__func__, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t num_after,
                                     CUstreamCaptureMode mode)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = handles_known(HANDLE_GRAPH, graph)
                 ? begin(stream, graph, after, edges, num_after, mode)
                 : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

static void mark_ancestors(CUgraph graph, bool *reached)
{
    for (size_t i = graph->num_nodes; i-- > 0;) // captured nodes come after what they follow
        for (size_t j = 0; reached[i] && j < graph->nodes[i]->num_before; j++)
            reached[graph->nodes[i]->before[j].from->index] = true;
}

// Every captured node must lead back to the stream that began the capture.
static CUresult check_joined(const struct capture *capture)
{
    CUgraph graph = capture->graph;
    bool *reached = calloc(graph->num_nodes + 1, sizeof(*reached));
    if (reached == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const struct node_list *frontier = &capture->origin->frontier;
    for (size_t i = 0; i < frontier->count; i++)
        reached[frontier->nodes[i]->index] = true;
    mark_ancestors(graph, reached);
    CUresult result = CUDA_SUCCESS;
    for (size_t i = capture->first_node; i < graph->num_nodes; i++)
        if (!reached[i])
            result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    free(reached);
    return result;
}

static CUresult end(CUstream handle, CUgraph *out_graph)
{
    CUstream stream;
    CUresult result = stream_resolve(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct capture *capture = stream->capture;
    if (capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) {
        capture_invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        pthread_equal(capture->owner, pthread_self()) == 0)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(capture);
    CUgraph graph = capture->graph;
    bool callers = capture->graph_is_callers;
    capture_list_remove(capture);
    if (result != CUDA_SUCCESS && !callers)
        graph_drop(graph);
    *out_graph = result == CUDA_SUCCESS ? graph : NULL;
    return result;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out_graph)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = end(stream, out_graph);
    world_unlock();
    return result;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    if (stream->capture == NULL)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

struct capture_info {
    CUstreamCaptureStatus status;
    cuuint64_t id;
    CUgraph graph;
    const CUgraphNode *after;
    const CUgraphEdgeData *edges;
    size_t num_after;
};

static CUresult get_info(const char *function, CUstream handle, struct capture_info *out_info)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    CUstream stream;
    world_lock();
    result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS && stream_is_null(stream) && capture_is_blocking(stream->context))
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (result == CUDA_SUCCESS) {
        *out_info = (struct capture_info){ .status = status_of(stream) };
        if (out_info->status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
            out_info->id = stream->capture->id;
            out_info->graph = stream->capture->graph;
            out_info->after = stream->frontier.nodes;
            out_info->edges = stream->frontier.edges;
            out_info->num_after = stream->frontier.count;
        }
    }
    world_unlock();
    return result;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *out_status)
{
    struct capture_info info;
    CUresult result = get_info(__func__, stream, &info);
    if (result == CUDA_SUCCESS)
        *out_status = info.status;
    return result;
}

// Who asks for nodes without their edges learns that some are not plain.
static CUresult give_info(const struct capture_info *info, CUstreamCaptureStatus *out_status,
                          cuuint64_t *out_id, CUgraph *out_graph, const CUgraphNode **out_after,
                          const CUgraphEdgeData **out_edges, size_t *out_num_after)
{
    *out_status = info->status;
    if (info->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    for (size_t i = 0; out_after != NULL && out_edges == NULL && i < info->num_after; i++)
        if (!edge_is_plain(info->edges[i]))
            return CUDA_ERROR_LOSSY_QUERY;
    if (out_id != NULL)
        *out_id = info->id;
    if (out_graph != NULL)
        *out_graph = info->graph;
    if (out_after != NULL)
        *out_after = info->after;
    if (out_edges != NULL)
        *out_edges = info->edges;
    if (out_num_after != NULL)
        *out_num_after = info->num_after;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *out_status,
                                cuuint64_t *out_id)
{
    struct capture_info info;
    CUresult result = get_info(__func__, stream, &info);
    if (result != CUDA_SUCCESS)
        return result;
    return give_info(&info, out_status, out_id, NULL, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *out_status,
                                   cuuint64_t *out_id, CUgraph *out_graph,
                                   const CUgraphNode **out_after, size_t *out_num_after)
{
    struct capture_info info;
    CUresult result = get_info(__func__, stream, &info);
    if (result != CUDA_SUCCESS)
        return result;
    return give_info(&info, out_status, out_id, out_graph, out_after, NULL, out_num_after);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *out_status,
                                   cuuint64_t *out_id, CUgraph *out_graph,
                                   const CUgraphNode **out_after, const CUgraphEdgeData **out_edges,
                                   size_t *out_num_after)
{
    struct capture_info info;
    CUresult result = get_info(__func__, stream, &info);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_edges != NULL && out_after == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return give_info(&info, out_status, out_id, out_graph, out_after, out_edges, out_num_after);
}

static CUresult update(CUstream handle, const CUgraphNode *after, const CUgraphEdgeData *edges,
                       size_t num_after, unsigned flags)
{
    CUstream stream;
    size_t before;
    CUresult result = stream_resolve(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (stream->capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    before = stream->frontier.count;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        stream->frontier.count = 0;
    result = add_to_frontier(stream, stream->capture->graph, after, edges, num_after);
    if (result == CUDA_ERROR_INVALID_VALUE)
        stream->frontier.count = before; // nothing was added
    return result;
}

static CUresult update_with(const char *function, CUstream stream, const CUgraphNode *after,
                            const CUgraphEdgeData *edges, size_t num_after, unsigned flags)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = update(stream, after, edges, num_after, flags);
    world_unlock();
    return result;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *after, size_t num_after,
                                           unsigned flags)
{
    return update_with(__func__, stream, after, NULL, num_after, flags);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *after,
                                              const CUgraphEdgeData *edges, size_t num_after,
                                              unsigned flags)
{
    return update_with(__func__, stream, after, edges, num_after, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = capture_exchange_mode(*mode);
    return CUDA_SUCCESS;
}
