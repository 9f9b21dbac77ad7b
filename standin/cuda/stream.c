// SPDX-License-Identifier: Apache-2.0
// Streams: each a thread that runs its queue in order, and the legacy null stream's implicit waits.
#include "stream.h"

#include <stdlib.h>

#include "context.h"
#include "entry.h"
#include "handles.h"
#include "settings.h"
#include "threads.h"

static CUstream streams;
static uint64_t last_serial;
static unsigned long long last_id;

CUstream stream_first(void)
{
    return streams;
}

bool stream_is_null(CUstream stream)
{
    return stream->context->null_stream == stream;
}

static bool blocking(CUstream stream)
{
    return (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
}

// All streams may share one queue of the hardware, which takes items in the order of their calls.
static pthread_cond_t taken = PTHREAD_COND_INITIALIZER;

static bool is_next(CUstream stream)
{
    if (!setting(SETTING_ONE_QUEUE))
        return true;
    for (CUstream other = streams; other != NULL; other = other->next)
        if (other->first != NULL && other->first->serial < stream->first->serial)
            return false;
    return true;
}

static void pop(CUstream stream)
{
    struct item *item = stream->first;
    stream->first = item->next;
    if (stream->first == NULL)
        stream->last = &stream->first;
    work_finish(&item->work);
    ticket_complete(item->ticket);
    ticket_drop(item->ticket);
    free(item);
    pthread_cond_broadcast(&taken);
}

static void forget(CUstream stream)
{
    for (CUstream *link = &streams; *link != NULL; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    ticket_drop(stream->latest);
    node_list_finish(&stream->frontier);
    pthread_cond_destroy(&stream->arrived);
    handles_free(stream, sizeof(*stream));
}

// On a thread of the stream. It is detached: cuStreamDestroy does not wait for queued work, and the
// thread takes the record with it when the queue has run dry.
static void *serve(void *argument)
{
    CUstream stream = argument;
    world_lock();
    for (;;) {
        while (stream->first == NULL && !stream->closing)
            world_wait(&stream->arrived);
        if (stream->first == NULL)
            break;
        while (!is_next(stream))
            world_wait(&taken);
        const struct work *work = &stream->first->work;
        world_unlock();
        work_run(work, NULL);
        world_lock();
        pop(stream);
    }
    forget(stream);
    world_unlock();
    return NULL;
}

static CUresult open_stream(CUcontext context, unsigned flags, int priority, CUstream *out_stream)
{
    CUstream stream = handles_allocate(sizeof(*stream));
    if (stream == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority < GREATEST_PRIORITY ? GREATEST_PRIORITY
                       : priority > LEAST_PRIORITY  ? LEAST_PRIORITY
                                                    : priority;
    stream->last = &stream->first;
    stream->id = ++last_id;
    if (pthread_cond_init(&stream->arrived, NULL) != 0 || !threads_detach(serve, stream)) {
        handles_free(stream, sizeof(*stream));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->next = streams;
    streams = stream;
    *out_stream = stream;
    return CUDA_SUCCESS;
}

static void close_stream(CUstream stream)
{
    stream->closing = true;
    pthread_cond_signal(&stream->arrived);
}

void stream_close_null(CUcontext context)
{
    if (context->null_stream != NULL)
        close_stream(context->null_stream);
    context->null_stream = NULL;
}

CUresult stream_resolve(CUstream handle, CUstream *out_stream)
{
    if (handle != NULL && handle != CU_STREAM_LEGACY) {
        if (!handles_known(HANDLE_STREAM, handle))
            return CUDA_ERROR_INVALID_HANDLE;
        *out_stream = handle;
        return CUDA_SUCCESS;
    }
    CUcontext context = context_current();
    CUresult result = context_check(context);
    if (result == CUDA_SUCCESS && context->null_stream == NULL)
        result = open_stream(context, 0, 0, &context->null_stream);
    if (result == CUDA_SUCCESS)
        *out_stream = context->null_stream;
    return result;
}

static CUresult push(CUstream stream, struct work *work, struct ticket *ticket)
{
    struct item *item = calloc(1, sizeof(*item));
    struct ticket *own = ticket != NULL ? ticket_hold(ticket) : ticket_create();
    if (item == NULL || own == NULL) {
        free(item);
        ticket_drop(own);
        work_finish(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    item->work = *work;
    item->ticket = own;
    item->serial = ++last_serial;
    *stream->last = item;
    stream->last = &item->next;
    ticket_drop(stream->latest);
    stream->latest = ticket_hold(own);
    pthread_cond_signal(&stream->arrived);
    return CUDA_SUCCESS;
}

CUresult stream_submit_wait(CUstream stream, struct ticket *ticket)
{
    if (ticket == NULL || ticket->done)
        return CUDA_SUCCESS;
    struct work work = { .kind = WORK_WAIT, .context = stream->context };
    work.ticket = ticket_hold(ticket);
    return push(stream, &work, NULL);
}

// The legacy null stream comes after all blocking streams of its context, and they come after it.
static CUresult wait_implicitly(CUstream stream)
{
    if (!stream_is_null(stream)) {
        CUstream null_stream = stream->context->null_stream;
        if (!blocking(stream) || null_stream == NULL)
            return CUDA_SUCCESS;
        return stream_submit_wait(stream, null_stream->latest);
    }
    if (capture_invalidate_blocking(stream->context))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    for (CUstream other = streams; other != NULL; other = other->next) {
        if (other == stream || other->context != stream->context || !blocking(other))
            continue;
        CUresult result = stream_submit_wait(stream, other->latest);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult stream_submit(CUstream stream, struct work *work, struct ticket *ticket)
{
    if (work->context == NULL)
        work->context = stream->context;
    CUresult result = stream->context->fault;
    if (result == CUDA_SUCCESS && work->kind == WORK_KERNEL && work->context != stream->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = work_check(work);
    if (result == CUDA_SUCCESS && stream->capture != NULL)
        return capture_submit(stream, work);
    if (result == CUDA_SUCCESS)
        result = wait_implicitly(stream);
    if (result == CUDA_SUCCESS)
        return push(stream, work, ticket);
    work_finish(work);
    return result;
}

CUresult stream_queue(CUstream handle, struct work *work)
{
    CUstream stream;
    world_lock();
    CUresult result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS)
        result = stream_submit(stream, work, NULL);
    else
        work_finish(work);
    world_unlock();
    return result;
}

CUresult stream_queue_and_wait(CUstream handle, struct work *work)
{
    CUstream stream;
    world_lock();
    CUresult result = stream_resolve(handle, &stream);
    if (result != CUDA_SUCCESS) {
        work_finish(work);
    } else {
        CUcontext context = stream->context;
        result = stream_submit(stream, work, NULL);
        if (result == CUDA_SUCCESS)
            ticket_wait(stream->latest);
        if (result == CUDA_SUCCESS)
            result = context->fault;
    }
    world_unlock();
    return result;
}

// The last item of a queue that is not newer than a serial number.
static struct item *last_until(CUstream stream, uint64_t serial)
{
    struct item *last = NULL;
    for (struct item *item = stream->first; item != NULL && item->serial <= serial;
         item = item->next)
        last = item;
    return last;
}

static struct item *pending_until(CUcontext context, uint64_t serial)
{
    for (CUstream stream = streams; stream != NULL; stream = stream->next) {
        struct item *item = stream->context == context ? last_until(stream, serial) : NULL;
        if (item != NULL)
            return item;
    }
    return NULL;
}

// Starts over after each wait, because the list of streams may have changed meanwhile.
void stream_wait_all(CUcontext context)
{
    uint64_t serial = last_serial;
    struct item *item = pending_until(context, serial);
    while (item != NULL) {
        ticket_wait(item->ticket);
        item = pending_until(context, serial);
    }
}

static CUresult create_stream(CUstream *out_stream, unsigned flags, int priority)
{
    if (out_stream == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUstream stream = NULL;
    world_lock();
    CUresult result = open_stream(context_current(), flags, priority, &stream);
    if (result == CUDA_SUCCESS && !handles_add(HANDLE_STREAM, stream)) {
        close_stream(stream);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    world_unlock();
    if (result == CUDA_SUCCESS)
        *out_stream = stream;
    return result;
}

CUresult cuStreamCreate(CUstream *out_stream, unsigned flags)
{
    CUresult result = entry_begin_in_context(__func__);
    return result != CUDA_SUCCESS ? result : create_stream(out_stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *out_stream, unsigned flags, int priority)
{
    CUresult result = entry_begin_in_context(__func__);
    return result != CUDA_SUCCESS ? result : create_stream(out_stream, flags, priority);
}

static CUresult destroy_stream(const char *function, CUstream stream)
{
    CUresult sticky;
    CUresult result = entry_begin_release(function, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (handles_known(HANDLE_STREAM, stream)) {
        capture_leave(stream);
        handles_remove(stream);
        close_stream(stream);
    } else {
        sticky = CUDA_ERROR_INVALID_HANDLE;
    }
    world_unlock();
    return sticky;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return destroy_stream(__func__, stream);
}

CUresult cuStreamDestroy(CUstream stream)
{
    return destroy_stream(__func__, stream);
}
