// SPDX-License-Identifier: Apache-2.0
// One launch through streams: fork, submit, join.
#include "base/error.h"
#include "base/node_text.h"
#include "exec/streams.h"

static braid_status record(braid_exec *exec, braid_event *event, braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    return backend->ops->event_record(backend, event->backend, device_backend_stream(stream));
}

static braid_status wait(braid_exec *exec, braid_stream *stream, braid_event *event)
{
    struct backend *backend = exec->device->backend;
    return backend->ops->stream_wait(backend, device_backend_stream(stream), event->backend);
}

static braid_status fork_lanes(braid_exec *exec, braid_stream *stream)
{
    struct streams_lowering *streams = exec->streams;
    if (!streams->fork)
        return BRAID_OK;
    braid_status status = record(exec, streams->fork, stream);
    for (uint32_t i = 1; i < streams->num_lanes && !status; i++) {
        if (streams->lanes[i].needs_fork)
            status = wait(exec, streams->lanes[i].stream, streams->fork);
    }
    return status;
}

// A lane that cannot be joined by an event is drained instead: the caller's later work must not
// overtake it.
static braid_status join_lane(braid_exec *exec, braid_stream *stream,
                              const struct stream_lane *lane)
{
    braid_status status = record(exec, lane->join, lane->stream);
    if (!status)
        status = wait(exec, stream, lane->join);
    if (!status)
        return BRAID_OK;
    braid_exec_await_or_lose(exec, lane->stream->backend, stream);
    return status;
}

// After a failure every lane is joined, since any step may be its last.
static braid_status join_lanes(braid_exec *exec, braid_stream *stream, bool all)
{
    struct streams_lowering *streams = exec->streams;
    struct error_attempt attempt; // begun by the first failure, which is the one to tell
    braid_status first = BRAID_OK;
    for (uint32_t i = 1; i < streams->num_lanes; i++) {
        const struct stream_lane *lane = &streams->lanes[i];
        if (!lane->needs_join && !all)
            continue;
        braid_status status = join_lane(exec, stream, lane);
        if (!status || first)
            continue;
        first = status;
        braid_error_begin_attempt(&attempt);
    }
    if (first)
        braid_error_end_attempt(&attempt, BRAID_OK);
    return first;
}

// Writes the message of a task that could not be queued: the last one, after the node's name.
static braid_status name_failed(const braid_exec *exec, const struct backend_task *task,
                                uint32_t lane, braid_status status)
{
    return braid_error(status, "launch of node %s (%s, lane %u) failed: %s",
                       braid_node_text(task->node, task->name).text, exec->device->label, lane,
                       braid_error_message());
}

static braid_status call_native(braid_exec *exec, const struct backend_task *task,
                                braid_stream *stream)
{
    struct backend *backend = exec->device->backend;
    struct backend_scope scope;
    braid_status status = backend->ops->enter ? backend->ops->enter(backend, &scope) : BRAID_OK;
    if (status)
        return name_failed(exec, task, task->lane, status);
    status = task->native.call(exec->device, stream, task->native.user);
    if (backend->ops->leave)
        backend->ops->leave(backend, &scope);
    if (status)
        return braid_error(status,
                           "launch of node %s (%s, lane %u) failed: its native call returned %s",
                           braid_node_text(task->node, task->name).text, exec->device->label,
                           task->lane, braid_status_name(status));
    return BRAID_OK;
}

static braid_status run_task(braid_exec *exec, const struct backend_task *task,
                             braid_stream *stream)
{
    if (task->kind == BACKEND_TASK_EMPTY)
        return BRAID_OK;
    if (task->kind == BACKEND_TASK_NATIVE)
        return call_native(exec, task, stream);
    struct backend *backend = exec->device->backend;
    return backend->ops->submit(backend, device_backend_stream(stream), task);
}

static braid_status submit_step(braid_exec *exec, const struct stream_step *step,
                                braid_event *const *events)
{
    braid_stream *stream = exec->streams->lanes[step->lane].stream;
    if (step->kind == BRAID_STEP_RUN)
        return run_task(exec, &exec->tasks.items[step->index], stream);
    braid_status status = step->kind == BRAID_STEP_RECORD
                              ? record(exec, events[step->index], stream)
                              : wait(exec, stream, events[step->index]);
    if (status)
        return name_failed(exec, &exec->tasks.items[step->node], step->lane, status);
    return BRAID_OK;
}

static braid_status submit_steps(braid_exec *exec)
{
    struct streams_lowering *streams = exec->streams;
    braid_event *const *events =
        streams->events + (size_t)(streams->frame % streams->num_frames) * streams->num_events;
    for (size_t i = 0; i < streams->num_steps; i++) {
        braid_status status = submit_step(exec, &streams->steps[i], events);
        if (status)
            return status;
    }
    return BRAID_OK;
}

static braid_status submit_frame(braid_exec *exec, braid_stream *stream)
{
    struct streams_lowering *streams = exec->streams;
    if (streams->num_lanes == 0)
        return BRAID_OK;
    streams->lanes[0].stream = stream;
    streams->frame++;
    braid_status status = fork_lanes(exec, stream);
    if (!status)
        status = submit_steps(exec);
    streams->lanes[0].stream = NULL;
    return status;
}

static braid_status end_frame(braid_exec *exec, braid_stream *stream, bool failed)
{
    braid_status status = join_lanes(exec, stream, failed);
    if (!status)
        return braid_exec_record_done(exec, stream);
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)braid_exec_record_done(exec, stream);
    braid_error_end_attempt(&attempt, BRAID_OK);
    return status;
}

// Launches of one exec follow each other also where they are on different streams; before the first
// one the event was never recorded, and the wait is satisfied.
braid_status braid_streams_launch(braid_exec *exec, braid_stream *stream)
{
    braid_status status = wait(exec, stream, exec->done);
    if (status)
        return status;
    status = submit_frame(exec, stream);
    if (!status)
        return end_frame(exec, stream, false);
    // Where the join fails as well, it is still the first failure that tells what happened.
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)end_frame(exec, stream, true);
    braid_error_end_attempt(&attempt, BRAID_OK);
    return status;
}
