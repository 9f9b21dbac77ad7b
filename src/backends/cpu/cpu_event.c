// SPDX-License-Identifier: Apache-2.0
// Events: each record gives the event a new point.
#include "backends/cpu/cpu.h"

#include <stdlib.h>

#include "base/error.h"

struct cpu_event {
    struct backend_event base;
    struct cpu_point *latest; // issue lock; NULL: never recorded
};

static struct cpu_event *event_of(struct backend_event *event)
{
    return (struct cpu_event *)event;
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
    braid_cpu_point_release(backend, event_of(event)->latest);
    free(event);
}

// A point for the event's next record: the one of its last record, if that was run and nobody else
// looks at it. Issue lock held, as in all below, so that none of them reports an error, which would
// call the program. NULL: no memory.
static struct cpu_point *next_point(struct cpu_backend *backend, struct cpu_event *event)
{
    struct cpu_point *latest = event->latest;
    if (latest && atomic_load_explicit(&latest->num_references, memory_order_acquire) == 1)
        return latest;
    return braid_cpu_point_create(backend, event->base.timing);
}

// Two references: the command's and the event's.
static bool append_record(struct cpu_backend *backend, struct cpu_event *event,
                          struct cpu_stream *stream)
{
    struct cpu_command *command =
        braid_cpu_command_reserve(backend, stream, CPU_COMMAND_BYTES(point));
    struct cpu_point *point = command ? next_point(backend, event) : NULL;
    if (!point)
        return false;
    if (point != event->latest)
        braid_cpu_point_release(backend, event->latest);
    event->latest = point;
    braid_cpu_point_renew(point);
    braid_cpu_point_add_reference(point);
    braid_cpu_stream_append_record(backend, stream, command, point);
    return true;
}

braid_status braid_cpu_event_record(struct backend *base, struct backend_event *event,
                                    struct backend_stream *stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    bool queued = append_record(backend, event_of(event), braid_cpu_stream_of(backend, stream));
    cpu_issue_unlock(backend);
    return queued ? BRAID_OK : braid_error_no_memory("a record");
}

// A record on the same stream leaves nothing to wait for.
static bool is_behind(const struct cpu_stream *stream, const struct cpu_point *point)
{
    return cpu_point_is_reached(point) || point->stream == &stream->job;
}

static bool append_wait(struct cpu_backend *backend, struct cpu_stream *stream,
                        struct cpu_point *point)
{
    struct cpu_command *command =
        braid_cpu_command_reserve(backend, stream, CPU_COMMAND_BYTES(point));
    if (!command)
        return false;
    braid_cpu_point_add_reference(point);
    command->kind = CPU_COMMAND_WAIT;
    command->point = point;
    braid_cpu_stream_append(backend, stream, command);
    return true;
}

// A satisfied wait queues nothing.
braid_status braid_cpu_stream_wait(struct backend *base, struct backend_stream *base_stream,
                                   struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    cpu_issue_lock(backend);
    struct cpu_point *point = event_of(event)->latest;
    bool queued = is_behind(stream, point) || append_wait(backend, stream, point);
    cpu_issue_unlock(backend);
    return queued ? BRAID_OK : braid_error_no_memory("a wait");
}

braid_status braid_cpu_event_query(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    bool reached = cpu_point_is_reached(event_of(event)->latest);
    cpu_issue_unlock(backend);
    return reached ? BRAID_OK : BRAID_NOT_READY;
}

braid_status braid_cpu_event_synchronize(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    struct cpu_point *latest = event_of(event)->latest;
    bool reached = cpu_point_is_reached(latest);
    if (!reached)
        braid_cpu_point_add_reference(latest);
    cpu_issue_unlock(backend);
    if (reached)
        return BRAID_OK;
    braid_cpu_point_host_wait(backend, latest);
    braid_cpu_point_release(backend, latest);
    return BRAID_OK;
}

static braid_status elapsed(const struct cpu_point *start, const struct cpu_point *end,
                            uint64_t *out_ns)
{
    if (!start || !end)
        return BRAID_INVALID_ARGUMENT;
    if (!cpu_point_is_reached(start) || !cpu_point_is_reached(end))
        return BRAID_NOT_READY;
    *out_ns = end->time_ns > start->time_ns ? end->time_ns - start->time_ns : 0;
    return BRAID_OK;
}

braid_status braid_cpu_event_elapsed(struct backend *base, struct backend_event *start,
                                     struct backend_event *end, uint64_t *out_ns)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    braid_status status = elapsed(event_of(start)->latest, event_of(end)->latest, out_ns);
    cpu_issue_unlock(backend);
    return status == BRAID_INVALID_ARGUMENT
               ? braid_error(status, "cpu: elapsed time of an event never recorded")
               : status;
}
