// SPDX-License-Identifier: Apache-2.0
// Events: a wait captures the latest record when it is submitted; one never recorded is satisfied.
#include "event.h"

#include <stdlib.h>

#include "context.h"
#include "entry.h"
#include "handles.h"
#include "stream.h"

struct ticket *event_begin_record(CUevent event)
{
    struct ticket *ticket = ticket_create();
    if (ticket == NULL)
        return NULL;
    ticket_drop(event->ticket);
    event->ticket = ticket_hold(ticket);
    capture_forget_event(event);
    return ticket;
}

CUresult cuEventCreate(CUevent *out_event, unsigned flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_event == NULL || (flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUevent event = handles_allocate(sizeof(*event));
    if (event == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->context = context_current();
    event->flags = flags;
    world_lock();
    bool added = handles_add(HANDLE_EVENT, event);
    world_unlock();
    if (!added) {
        handles_free(event, sizeof(*event));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out_event = event;
    return CUDA_SUCCESS;
}

void event_end(CUevent event)
{
    handles_remove(event);
    capture_forget_event(event);
    ticket_drop(event->ticket);
    handles_free(event, sizeof(*event));
}

static CUresult destroy(const char *function, CUevent event)
{
    CUresult sticky;
    CUresult result = entry_begin_release(function, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (handles_known(HANDLE_EVENT, event)) {
        event_end(event);
    } else {
        sticky = CUDA_ERROR_INVALID_HANDLE;
    }
    world_unlock();
    return sticky;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    return destroy(__func__, event);
}

CUresult cuEventDestroy(CUevent event)
{
    return destroy(__func__, event);
}

static CUresult record_on(CUevent event, CUstream stream)
{
    CUresult result = stream->context->fault;
    struct ticket *ticket = result == CUDA_SUCCESS ? event_begin_record(event) : NULL;
    if (ticket == NULL)
        return result == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : result;
    struct work work = { .kind = WORK_EMPTY };
    result = stream_submit(stream, &work, ticket);
    if (result != CUDA_SUCCESS)
        ticket_complete(ticket); // so that nobody waits for a record that was never queued
    ticket_drop(ticket);
    return result;
}

// Driver 580 answers so on streams. Nobody asked it about external records in captures.
CUresult event_check_early(CUevent event, CUstream stream, int flags)
{
    if (!handles_known(HANDLE_EVENT, event) || stream->context != event->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((event->flags & CU_EVENT_DISABLE_TIMING) == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (flags == CU_EVENT_RECORD_EXTERNAL && stream->capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult event_record_early(CUevent event, CUstream stream, CUgraphEdgeData edge)
{
    return stream->capture != NULL ? capture_record_early(stream, event, edge)
                                   : record_on(event, stream);
}

static CUresult record(CUevent event, CUstream handle, unsigned flags)
{
    CUstream stream;
    if (!handles_known(HANDLE_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS && stream->context != event->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result != CUDA_SUCCESS)
        return result;
    if (stream->capture != NULL && flags == CU_EVENT_RECORD_EXTERNAL) {
        struct work node = { .kind = WORK_EVENT_RECORD, .context = stream->context };
        node.event = event;
        return capture_submit(stream, &node);
    }
    if (flags == CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_ILLEGAL_STATE;
    return stream->capture != NULL ? capture_record(stream, event) : record_on(event, stream);
}

static CUresult record_with(const char *function, CUevent event, CUstream stream, unsigned flags)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags > CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = record(event, stream, flags);
    world_unlock();
    return result;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return record_with(__func__, event, stream, 0);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    return record_with(__func__, event, stream, flags);
}

// Streams of any context may wait for the event.
static CUresult wait(CUstream handle, CUevent event, unsigned flags)
{
    CUstream stream;
    if (!handles_known(HANDLE_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = stream_resolve(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (stream->capture != NULL && flags == CU_EVENT_WAIT_EXTERNAL) {
        struct work node = { .kind = WORK_EVENT_WAIT, .context = stream->context };
        node.event = event;
        return capture_submit(stream, &node);
    }
    if (flags == CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (event->capture != NULL || stream->capture != NULL)
        return capture_wait(stream, event);
    if (stream->context->fault != CUDA_SUCCESS)
        return stream->context->fault;
    return stream_submit_wait(stream, event->ticket);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags > CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = wait(stream, event, flags);
    world_unlock();
    return result;
}

static CUresult check_host_use(CUevent event)
{
    if (!handles_known(HANDLE_EVENT, event))
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture != NULL && (event->capture->ended || event->capture->invalid))
        return CUDA_ERROR_INVALID_VALUE;
    if (event->capture != NULL) {
        capture_invalidate(event->capture);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return capture_refuse_unsafe();
}

CUresult cuEventQuery(CUevent event)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = check_host_use(event);
    if (result == CUDA_SUCCESS)
        result = event->context->fault;
    if (result == CUDA_SUCCESS && event->ticket != NULL && !event->ticket->done)
        result = CUDA_ERROR_NOT_READY;
    world_unlock();
    return result;
}

CUresult cuEventSynchronize(CUevent event)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = check_host_use(event);
    if (result == CUDA_SUCCESS) {
        CUcontext context = event->context; // the event may be destroyed while we wait
        ticket_wait(event->ticket);
        result = context->fault;
    }
    world_unlock();
    return result;
}

static bool timed(CUevent event)
{
    return handles_known(HANDLE_EVENT, event) && (event->flags & CU_EVENT_DISABLE_TIMING) == 0 &&
           event->ticket != NULL && event->capture == NULL;
}

static CUresult elapsed(const char *function, float *out_milliseconds, CUevent start, CUevent end)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_milliseconds == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (!timed(start) || !timed(end) || start->context != end->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (!start->ticket->done || !end->ticket->done)
        result = CUDA_ERROR_NOT_READY;
    else
        *out_milliseconds = (float)(end->ticket->done_ms - start->ticket->done_ms);
    world_unlock();
    return result;
}

CUresult cuEventElapsedTime_v2(float *out_milliseconds, CUevent start, CUevent end)
{
    return elapsed(__func__, out_milliseconds, start, end);
}

CUresult cuEventElapsedTime(float *out_milliseconds, CUevent start, CUevent end)
{
    return elapsed(__func__, out_milliseconds, start, end);
}
