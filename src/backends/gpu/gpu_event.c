// SPDX-License-Identifier: Apache-2.0
// Events, with timing only where asked for.
#include "backends/gpu/gpu_driver.h"

#include <sched.h>
#include <time.h>

#include "base/error.h"
#include "base/host_memory.h"

braid_status braid_gpu_event_create(struct backend *backend, bool timing,
                                    struct backend_event **out_event)
{
    struct gpu_event *event = braid_allocate_zeroed(1, sizeof(*event));
    if (!event)
        return braid_error_no_memory("an event");
    event->base.timing = timing;
    struct gpu_call call;
    braid_status status = braid_gpu_begin(&call, backend, "creation of an event");
    if (!status) {
        unsigned flags = timing ? GPU_EVENT_DEFAULT : GPU_EVENT_DISABLE_TIMING;
        gpu_result result = call.api->event_create(&event->handle, flags);
        status = braid_gpu_end(&call, result, &call.api->event_create);
    }
    if (status) {
        braid_free(event);
        return status;
    }
    *out_event = &event->base;
    return BRAID_OK;
}

void braid_gpu_event_destroy(struct backend *backend, struct backend_event *base)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_event *event = gpu_event_from(base);
    struct gpu_scope scope;
    if (!event)
        return;
    braid_gpu_driver_forget(event);
    // The driver keeps a record that is still pending by itself.
    static const char what[] = "destruction of an event";
    if (braid_gpu_enter_to_free(gpu, &scope, what)) {
        braid_gpu_check_freed(gpu, gpu->api->event_destroy(event->handle), &gpu->api->event_destroy,
                              what);
        braid_gpu_leave(gpu, &scope);
    }
    braid_free(event);
}

braid_status braid_gpu_event_record(struct backend *backend, struct backend_event *event,
                                    struct backend_stream *stream)
{
    bool at_once;
    braid_status status =
        braid_gpu_driver_record(gpu_from(backend), stream, gpu_event_from(event), &at_once);
    return at_once ? braid_gpu_record_now(backend, event, stream) : status;
}

braid_status braid_gpu_record_now(struct backend *backend, struct backend_event *event,
                                  struct backend_stream *stream)
{
    struct gpu_call call;
    braid_status status = braid_gpu_begin(&call, backend, "record of an event");
    if (status)
        return status;
    gpu_result result =
        call.api->event_record(gpu_event_from(event)->handle, gpu_stream_of(stream));
    if (!result)
        atomic_store_explicit(&gpu_event_from(event)->recorded, true, memory_order_relaxed);
    return braid_gpu_end(&call, result, &call.api->event_record);
}

braid_status braid_gpu_event_query(struct backend *backend, struct backend_event *event)
{
    struct gpu_call call;
    if (braid_gpu_driver_is_pending(gpu_event_from(event)))
        return BRAID_NOT_READY;
    braid_status status = braid_gpu_begin(&call, backend, "query of an event");
    if (status)
        return status;
    gpu_result result = call.api->event_query(gpu_event_from(event)->handle);
    return braid_gpu_end(&call, result, &call.api->event_query);
}

// A few queries at once, for an event about to happen; then sleeps that take little of a core.
static gpu_result poll_event(const struct gpu_backend *gpu, gpu_event event)
{
    enum { QUERIES_AT_ONCE = 50, FIRST_SLEEP_NS = 10000, LONGEST_SLEEP_NS = 160000 };
    struct timespec sleep = { .tv_nsec = FIRST_SLEEP_NS };
    gpu_result result = GPU_NOT_READY;
    for (int i = 0; i < QUERIES_AT_ONCE; i++) {
        result = gpu->api->event_query(event);
        if (result != GPU_NOT_READY)
            return result;
        sched_yield();
    }
    while ((result = gpu->api->event_query(event)) == GPU_NOT_READY) {
        nanosleep(&sleep, NULL);
        if (sleep.tv_nsec < LONGEST_SLEEP_NS)
            sleep.tv_nsec *= 2;
    }
    return result;
}

braid_status braid_gpu_event_synchronize(struct backend *backend, struct backend_event *event)
{
    struct gpu_call call;
    braid_gpu_driver_await_record(gpu_event_from(event));
    braid_status status = braid_gpu_begin(&call, backend, "waiting for an event");
    if (status)
        return status;
    bool poll = call.gpu->vendor->waiting_locks_events;
    gpu_event handle = gpu_event_from(event)->handle;
    gpu_result result = poll ? poll_event(call.gpu, handle) : call.api->event_synchronize(handle);
    return braid_gpu_end(&call, result,
                         poll ? &call.api->event_query : &call.api->event_synchronize);
}

static braid_status check_recorded(struct backend_event *event, const char *which)
{
    if (!atomic_load_explicit(&gpu_event_from(event)->recorded, memory_order_relaxed))
        return braid_error(BRAID_WRONG_STATE, "the %s event was never recorded", which);
    return BRAID_OK;
}

braid_status braid_gpu_event_elapsed(struct backend *backend, struct backend_event *start,
                                     struct backend_event *end, uint64_t *out_ns)
{
    struct gpu_call call;
    if (braid_gpu_driver_is_pending(gpu_event_from(start)) ||
        braid_gpu_driver_is_pending(gpu_event_from(end)))
        return BRAID_NOT_READY;
    braid_status status = check_recorded(start, "start");
    if (!status)
        status = check_recorded(end, "end");
    if (!status)
        status = braid_gpu_begin(&call, backend, "time between two events");
    if (status)
        return status;
    float milliseconds = 0;
    gpu_result result = call.api->event_elapsed(&milliseconds, gpu_event_from(start)->handle,
                                                gpu_event_from(end)->handle);
    status = braid_gpu_end(&call, result, &call.api->event_elapsed);
    if (!status)
        *out_ns = milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
    return status;
}
