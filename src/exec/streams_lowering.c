// SPDX-License-Identifier: Apache-2.0
// The streams lowering: the step list submitted to leased streams, with event records and waits.
//
// Lane 0 is the caller's own stream, so a plan of one lane needs no event at all. Every other lane
// starts behind a fork event recorded on that stream, and is joined to it by an event of its own.
// All of a lane's work of one frame thus lies between the caller's earlier and later work, and the
// leased streams are idle whenever the caller's stream has passed the join.
#include "base/error.h"
#include "exec/exec.h"
#include "exec/schedule.h"

// A step with everything looked up: `index` is a task (run) or an event (record, wait).
struct stream_step {
    uint32_t kind; // braid_step_kind
    uint32_t lane;
    uint32_t index;
    uint32_t node; // run, recorded or waited for, for messages
};

struct streams_lowering {
    uint32_t num_lanes;
    braid_stream **lanes; // [0] is the caller's stream during a launch; the others are leased
    braid_event *fork;    // leased; NULL with one lane
    braid_event **joins;  // one a lane, [0] unused
    braid_event **events; // leased; `num_frames` sets of num_events
    uint32_t num_events;
    uint32_t num_frames; // sets of events used in turn; see backend_ops.renew_events
    uint32_t frame;      // the set of the next launch
    struct stream_step *steps;
    size_t num_steps;
};

static uint32_t num_leased_events(const struct streams_lowering *streams)
{
    return streams->num_events * streams->num_frames;
}

static void destroy_streams(braid_exec *exec)
{
    struct streams_lowering *streams = exec->streams;
    if (!streams)
        return;
    for (uint32_t i = 1; streams->lanes && i < streams->num_lanes; i++) {
        if (streams->lanes[i])
            braid_device_return_stream(exec->device, streams->lanes[i]);
    }
    for (uint32_t i = 1; streams->joins && i < streams->num_lanes; i++) {
        if (streams->joins[i])
            braid_device_return_event(exec->device, streams->joins[i]);
    }
    for (uint32_t i = 0; streams->events && i < num_leased_events(streams); i++) {
        if (streams->events[i])
            braid_device_return_event(exec->device, streams->events[i]);
    }
    if (streams->fork)
        braid_device_return_event(exec->device, streams->fork);
    free(streams->lanes);
    free(streams->joins);
    free(streams->events);
    free(streams->steps);
    free(streams);
    exec->streams = NULL;
}

static braid_status lease_all(braid_exec *exec)
{
    struct streams_lowering *streams = exec->streams;
    braid_device *device = exec->device;
    braid_status status = BRAID_OK;
    if (streams->num_lanes > 1)
        status = braid_device_lease_event(device, &streams->fork);
    for (uint32_t i = 1; i < streams->num_lanes && !status; i++) {
        status = braid_device_lease_stream(device, &streams->lanes[i]);
        if (!status)
            status = braid_device_lease_event(device, &streams->joins[i]);
    }
    for (uint32_t i = 0; i < num_leased_events(streams) && !status; i++)
        status = braid_device_lease_event(device, &streams->events[i]);
    return status;
}

// Event objects are the schedule's, or one for each record where the device wants no object
// recorded again while an earlier record is pending; then waits find theirs by the node they wait
// for.
static braid_status copy_steps(const braid_schedule *schedule, bool renew_events,
                               struct streams_lowering *streams)
{
    uint32_t *event_of_node = braid_allocate_zeroed(schedule->info.num_nodes, sizeof(uint32_t));
    if (!event_of_node)
        return braid_error_no_memory("the steps of an exec");
    uint32_t num_records = 0;
    for (size_t i = 0; i < schedule->num_steps; i++) {
        const braid_step *step = &schedule->steps[i];
        if (step->kind == BRAID_STEP_RECORD)
            event_of_node[step->node] = num_records++;
        uint32_t event = renew_events ? event_of_node[step->node] : step->event;
        streams->steps[i] =
            (struct stream_step){ .kind = (uint32_t)step->kind,
                                  .lane = step->lane,
                                  .index = step->kind == BRAID_STEP_RUN ? step->node : event,
                                  .node = step->node };
    }
    streams->num_steps = schedule->num_steps;
    free(event_of_node);
    return BRAID_OK;
}

static braid_status create_streams(braid_exec *exec)
{
    const braid_schedule *schedule = exec->schedule;
    bool renew_events = exec->device->backend->ops->renew_events;
    struct streams_lowering *streams = calloc(1, sizeof(*streams));
    if (!streams)
        return braid_error_no_memory("an exec");
    exec->streams = streams;
    streams->num_lanes = schedule->info.num_lanes;
    streams->num_events =
        renew_events ? (uint32_t)schedule->info.num_records : schedule->info.num_events;
    streams->num_frames = renew_events ? 2 : 1;
    streams->lanes = braid_allocate_zeroed(streams->num_lanes, sizeof(*streams->lanes));
    streams->joins = braid_allocate_zeroed(streams->num_lanes, sizeof(*streams->joins));
    streams->events = braid_allocate_zeroed(num_leased_events(streams), sizeof(*streams->events));
    streams->steps = braid_allocate_zeroed(schedule->num_steps, sizeof(*streams->steps));
    braid_status status = BRAID_OK;
    if (!streams->lanes || !streams->joins || !streams->events || !streams->steps)
        status = braid_error_no_memory("an exec");
    if (!status)
        status = copy_steps(schedule, renew_events, streams);
    if (!status)
        status = lease_all(exec);
    if (status) {
        destroy_streams(exec);
        return status;
    }
    exec->info.num_streams = streams->num_lanes ? streams->num_lanes - 1 : 0;
    exec->info.num_events =
        num_leased_events(streams) + exec->info.num_streams + (streams->fork != NULL);
    return BRAID_OK;
}

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

static braid_status fork_lanes(braid_exec *exec, braid_stream *stream, uint32_t *out_forked)
{
    struct streams_lowering *streams = exec->streams;
    *out_forked = 1;
    if (streams->num_lanes <= 1)
        return BRAID_OK;
    braid_status status = record(exec, streams->fork, stream);
    for (uint32_t i = 1; i < streams->num_lanes && !status; i++) {
        status = wait(exec, streams->lanes[i], streams->fork);
        if (!status)
            *out_forked = i + 1;
    }
    return status;
}

// Joins the lanes that were forked. A lane that cannot be joined by an event is drained instead:
// the caller's later work must not overtake it.
static braid_status join_lanes(braid_exec *exec, braid_stream *stream, uint32_t num_forked)
{
    struct streams_lowering *streams = exec->streams;
    braid_status first = BRAID_OK;
    for (uint32_t i = 1; i < num_forked; i++) {
        braid_status status = record(exec, streams->joins[i], streams->lanes[i]);
        if (!status)
            status = wait(exec, stream, streams->joins[i]);
        if (status) {
            struct backend *backend = exec->device->backend;
            (void)backend->ops->stream_synchronize(backend, streams->lanes[i]->backend);
            first = first ? first : status;
        }
    }
    return first;
}

static braid_status call_native(braid_exec *exec, const struct backend_task *task,
                                braid_stream *stream)
{
    braid_status status = task->native.call(exec->device, stream, task->native.user);
    if (status)
        return braid_error(status,
                           "launch of '%s' (%s, lane %u) failed: its native call returned %s",
                           task->name, exec->device->label, task->lane, braid_status_name(status));
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
    braid_stream *stream = exec->streams->lanes[step->lane];
    switch ((braid_step_kind)step->kind) {
    case BRAID_STEP_RUN:
        return run_task(exec, &exec->tasks.items[step->index], stream);
    case BRAID_STEP_RECORD:
        return record(exec, events[step->index], stream);
    case BRAID_STEP_WAIT:
        break;
    }
    return wait(exec, stream, events[step->index]);
}

static braid_status submit_steps(braid_exec *exec)
{
    struct streams_lowering *streams = exec->streams;
    braid_event *const *events = streams->events + (size_t)streams->frame * streams->num_events;
    streams->frame = (streams->frame + 1) % streams->num_frames;
    for (size_t i = 0; i < streams->num_steps; i++) {
        const struct stream_step *step = &streams->steps[i];
        braid_status status = submit_step(exec, step, events);
        if (!status)
            continue;
        if (step->kind == BRAID_STEP_RUN)
            return status; // its message names the node
        return braid_error(status, "launch of '%s' (%s, lane %u) failed: %s",
                           exec->tasks.items[step->node].name, exec->device->label, step->lane,
                           braid_error_message());
    }
    return BRAID_OK;
}

static braid_status launch_streams(braid_exec *exec, braid_stream *stream)
{
    struct streams_lowering *streams = exec->streams;
    if (streams->num_lanes == 0)
        return BRAID_OK;
    // Launches of one exec follow each other also where they are on different streams; before the
    // first one the event was never recorded, and the wait is satisfied.
    uint32_t num_forked = 0;
    braid_status status = wait(exec, stream, exec->done);
    streams->lanes[0] = stream;
    if (!status)
        status = fork_lanes(exec, stream, &num_forked);
    if (!status)
        status = submit_steps(exec);
    braid_status join_status = join_lanes(exec, stream, num_forked);
    streams->lanes[0] = NULL;
    return status ? status : join_status;
}

// Arguments are captured when a task is submitted: there is nothing else to change.
static braid_status set_streams_args(braid_exec *exec, uint32_t node, void *const *args)
{
    (void)exec;
    (void)node;
    (void)args;
    return BRAID_OK;
}

const struct lowering braid_streams_lowering = {
    .mode = BRAID_MODE_STREAMS,
    .create = create_streams,
    .launch = launch_streams,
    .set_args = set_streams_args,
    .destroy = destroy_streams,
};
