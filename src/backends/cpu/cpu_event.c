// SPDX-License-Identifier: Apache-2.0
// Events: each record gives the event a new point.
#include "backends/cpu/cpu.h"

#include <stdlib.h>

#include "base/error.h"

struct cpu_event {
    struct backend_event base;
    struct cpu_point *latest; // lock; NULL: never recorded
};

static struct cpu_event *event_of(struct backend_event *event)
{
    return (struct cpu_event *)event;
}

static bool is_reached(const struct cpu_point *point)
{
    return !point || atomic_load_explicit(&point->reached, memory_order_acquire);
}

// A reference to the latest record, or NULL where there is nothing to wait for. Lock held.
static struct cpu_point *latest_record(struct cpu_event *event)
{
    if (is_reached(event->latest))
        return NULL;
    event->latest->num_references++;
    return event->latest;
}

braid_status braid_cpu_event_create(struct backend *base, bool timing,
                                    struct backend_event **out_event)
{
    (void)base;
    struct cpu_event *event = calloc(1, sizeof(*event));
    if (!event)
        return braid_error_no_memory("an event");
    event->base.timing = timing;
    *out_event = &event->base;
    return BRAID_OK;
}

void braid_cpu_event_destroy(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    if (!event)
        return;
    cpu_lock(backend);
    braid_cpu_point_release(backend, event_of(event)->latest);
    cpu_unlock(backend);
    free(event);
}

// Two references: the command's and the event's.
static braid_status append_record(struct cpu_backend *backend, struct cpu_event *event,
                                  struct cpu_stream *stream)
{
    struct cpu_point *point = braid_cpu_point_create(backend, event->base.timing);
    struct cpu_command *command = point ? braid_cpu_command_create(backend, 0) : NULL;
    if (!command) {
        braid_cpu_point_release(backend, point);
        return braid_error_no_memory("a record");
    }
    point->num_references++;
    braid_cpu_point_release(backend, event->latest);
    event->latest = point;
    command->kind = CPU_COMMAND_RECORD;
    command->point = point;
    braid_cpu_stream_append(backend, stream, command);
    return BRAID_OK;
}

braid_status braid_cpu_event_record(struct backend *base, struct backend_event *event,
                                    struct backend_stream *stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_lock(backend);
    braid_status status =
        append_record(backend, event_of(event), braid_cpu_stream_of(backend, stream));
    cpu_unlock(backend);
    return status;
}

static braid_status append_wait(struct cpu_backend *backend, struct cpu_stream *stream,
                                struct cpu_point *point)
{
    struct cpu_command *command = braid_cpu_command_create(backend, 0);
    if (!command) {
        braid_cpu_point_release(backend, point);
        return braid_error_no_memory("a wait");
    }
    command->kind = CPU_COMMAND_WAIT;
    command->point = point;
    braid_cpu_stream_append(backend, stream, command);
    return BRAID_OK;
}

// A satisfied wait queues nothing.
braid_status braid_cpu_stream_wait(struct backend *base, struct backend_stream *stream,
                                   struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_lock(backend);
    struct cpu_point *point = latest_record(event_of(event));
    braid_status status =
        point ? append_wait(backend, braid_cpu_stream_of(backend, stream), point) : BRAID_OK;
    cpu_unlock(backend);
    return status;
}

braid_status braid_cpu_event_query(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_lock(backend);
    bool reached = is_reached(event_of(event)->latest);
    cpu_unlock(backend);
    return reached ? BRAID_OK : BRAID_NOT_READY;
}

braid_status braid_cpu_event_synchronize(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_lock(backend);
    struct cpu_point *latest = event_of(event)->latest;
    if (!is_reached(latest))
        braid_cpu_point_host_wait(backend, latest);
    cpu_unlock(backend);
    return BRAID_OK;
}

static braid_status elapsed(const struct cpu_point *start, const struct cpu_point *end,
                            uint64_t *out_ns)
{
    if (!start || !end)
        return braid_error(BRAID_INVALID_ARGUMENT, "cpu: elapsed time of an event never recorded");
    if (!is_reached(start) || !is_reached(end))
        return BRAID_NOT_READY;
    *out_ns = end->time_ns > start->time_ns ? end->time_ns - start->time_ns : 0;
    return BRAID_OK;
}

braid_status braid_cpu_event_elapsed(struct backend *base, struct backend_event *start,
                                     struct backend_event *end, uint64_t *out_ns)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_lock(backend);
    braid_status status = elapsed(event_of(start)->latest, event_of(end)->latest, out_ns);
    cpu_unlock(backend);
    return status;
}
