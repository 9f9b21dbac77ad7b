// SPDX-License-Identifier: Apache-2.0
// Stream capture: work submitted to a capturing stream becomes nodes of a graph instead.
#include "capture.h"

#include <stdlib.h>

#include "event.h"
#include "handles.h"
#include "stream.h"

#include "capture_list.h"

static struct capture *captures; // going on
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode before = thread_mode;
    thread_mode = mode;
    return before;
}

static void drop(struct capture *capture)
{
    if (--capture->references == 0)
        free(capture);
}

void capture_list_add(struct capture *capture)
{
    capture->next = captures;
    captures = capture;
}

// Ends the capture for every stream in it. Events keep their reference until recorded again.
void capture_list_remove(struct capture *capture)
{
    for (struct capture **link = &captures; *link != NULL; link = &(*link)->next)
        if (*link == capture) {
            *link = capture->next;
            break;
        }
    capture->ended = true;
    capture->graph = NULL;
    for (CUstream stream = stream_first(); stream != NULL; stream = stream->next)
        if (stream->capture == capture) {
            stream->capture = NULL;
            node_list_finish(&stream->frontier);
            drop(capture);
        }
}

void capture_invalidate(struct capture *capture)
{
    capture->invalid = true;
}

static bool submittable(enum work_kind kind)
{
    return kind != WORK_CALLBACK && kind != WORK_LAUNCH && kind != WORK_ARRIVE && kind != WORK_BURY;
}

// A kernel that wishes so comes early behind each kernel before it, on its stream or joined by an
// event; driver 580 makes all these edges programmatic. An edge of an event that a launch records
// stays as it is, before other work than kernels, too.
static void adapt_edges(struct node_list *frontier, const struct work *work)
{
    const CUgraphEdgeData triggered = { .from_port = PORT_TRIGGERED, .type = EDGE_PROGRAMMATIC };
    if (work->kind != WORK_KERNEL || work->kernel.serialization == 0)
        return;
    for (size_t i = 0; i < frontier->count; i++)
        if (edge_is_plain(frontier->edges[i]) && frontier->nodes[i]->work.kind == WORK_KERNEL)
            frontier->edges[i] = triggered;
}

CUresult capture_submit(CUstream stream, struct work *work)
{
    struct capture *capture = stream->capture;
    CUresult result = CUDA_SUCCESS;
    if (!submittable(work->kind)) {
        capture_invalidate(capture);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    } else if (capture->invalid) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (result != CUDA_SUCCESS) {
        work_finish(work);
        return result;
    }
    CUgraphNode node;
    struct node_list *frontier = &stream->frontier;
    adapt_edges(frontier, work);
    result =
        graph_add(capture->graph, work, frontier->nodes, frontier->edges, frontier->count, &node);
    if (result != CUDA_SUCCESS)
        return result;
    const CUgraphEdgeData plain = { 0 };
    frontier->count = 0;
    return node_list_add(frontier, node, plain) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_record_early(CUstream stream, CUevent event, CUgraphEdgeData edge)
{
    CUresult result = capture_record(stream, event);
    for (size_t i = 0; result == CUDA_SUCCESS && i < event->frontier.count; i++)
        event->frontier.edges[i] = edge;
    return result;
}

CUresult capture_record(CUstream stream, CUevent event)
{
    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    capture_forget_event(event);
    if (!node_list_copy(&event->frontier, &stream->frontier))
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->capture = stream->capture;
    event->capture->references++;
    return CUDA_SUCCESS;
}

void capture_forget_event(CUevent event)
{
    node_list_finish(&event->frontier);
    if (event->capture != NULL)
        drop(event->capture);
    event->capture = NULL;
}

static CUresult spoil(struct capture *capture, CUresult error)
{
    capture_invalidate(capture);
    return error;
}

CUresult capture_wait(CUstream stream, CUevent event)
{
    struct capture *from = event->capture, *own = stream->capture;
    if (from == NULL) // waiting for work outside the capture
        return spoil(own, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (from->ended)
        return own != NULL ? spoil(own, CUDA_ERROR_INVALID_VALUE) : CUDA_ERROR_INVALID_VALUE;
    if (from->invalid || (own != NULL && own->invalid))
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream_is_null(stream))
        return spoil(from, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (own != NULL && own != from) {
        spoil(own, CUDA_ERROR_STREAM_CAPTURE_MERGE);
        return spoil(from, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (own == NULL) {
        stream->capture = from;
        from->references++;
    }
    for (size_t i = 0; i < event->frontier.count; i++)
        if (!node_list_add(&stream->frontier, event->frontier.nodes[i], event->frontier.edges[i]))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

void capture_leave(CUstream stream)
{
    struct capture *capture = stream->capture;
    if (capture == NULL)
        return;
    capture_invalidate(capture);
    if (capture->origin == stream) { // nobody can end it any more
        if (!capture->graph_is_callers)
            graph_drop(capture->graph);
        capture_list_remove(capture);
        return;
    }
    stream->capture = NULL;
    drop(capture);
}

CUresult capture_refuse_sync(CUstream stream)
{
    if (stream->capture == NULL)
        return CUDA_SUCCESS;
    return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

static bool forbids(const struct capture *capture)
{
    bool own = pthread_equal(capture->owner, pthread_self()) != 0;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (own)
        return true;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_refuse_unsafe(void)
{
    CUresult result = CUDA_SUCCESS;
    for (struct capture *capture = captures; capture != NULL; capture = capture->next)
        if (forbids(capture))
            result = spoil(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return result;
}

static bool is_blocking(CUstream stream, CUcontext context)
{
    return stream->context == context && stream->capture != NULL &&
           (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
}

bool capture_is_blocking(CUcontext context)
{
    for (CUstream stream = stream_first(); stream != NULL; stream = stream->next)
        if (is_blocking(stream, context))
            return true;
    return false;
}

bool capture_invalidate_blocking(CUcontext context)
{
    bool found = false;
    for (CUstream stream = stream_first(); stream != NULL; stream = stream->next)
        if (is_blocking(stream, context)) {
            capture_invalidate(stream->capture);
            found = true;
        }
    return found;
}
