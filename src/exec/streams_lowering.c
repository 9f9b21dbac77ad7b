// SPDX-License-Identifier: Apache-2.0
// Making and freeing the streams lowering: leases, steps, and who submits what.
#include "exec/streams.h"

#include "base/error.h"
#include "plan/schedule.h"

static uint32_t num_leased_events(const struct streams_lowering *streams)
{
    return streams->num_events * streams->num_frames;
}

static void return_lane(braid_device *device, struct stream_lane *lane)
{
    if (lane->stream)
        braid_device_return_stream(device, lane->stream);
    if (lane->join)
        braid_device_return_event(device, lane->join);
}

static void destroy_streams(braid_exec *exec)
{
    struct streams_lowering *streams = exec->streams;
    if (!streams)
        return;
    for (uint32_t i = 1; streams->lanes && i < streams->num_lanes; i++)
        return_lane(exec->device, &streams->lanes[i]);
    for (uint32_t i = 0; streams->events && i < num_leased_events(streams); i++) {
        if (streams->events[i])
            braid_device_return_event(exec->device, streams->events[i]);
    }
    if (streams->fork)
        braid_device_return_event(exec->device, streams->fork);
    free(streams->lanes);
    free(streams->events);
    free(streams->steps);
    free(streams);
    exec->streams = NULL;
}

static braid_status lease_all(braid_exec *exec)
{
    struct streams_lowering *streams = exec->streams;
    braid_device *device = exec->device;
    bool needs_fork = false;
    for (uint32_t i = 1; i < streams->num_lanes; i++) {
        struct stream_lane *lane = &streams->lanes[i];
        needs_fork = needs_fork || lane->needs_fork;
        braid_status status = braid_device_lease_stream(device, &lane->stream);
        if (!status)
            status = braid_device_lease_event(device, &lane->join);
        if (status)
            return status;
    }
    braid_status status = needs_fork ? braid_device_lease_event(device, &streams->fork) : BRAID_OK;
    for (uint32_t i = 0; i < num_leased_events(streams) && !status; i++)
        status = braid_device_lease_event(device, &streams->events[i]);
    return status;
}

// Event objects are the schedule's, or one for each record where objects must not be recorded again
// soon; then waits find theirs by the node they wait for.
static braid_status copy_steps(const braid_schedule *schedule, bool event_per_record,
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
        uint32_t event = event_per_record ? event_of_node[step->node] : step->event;
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

// Looks at the first and last step of each lane; see streams.h.
static void find_forks_and_joins(struct streams_lowering *streams)
{
    for (size_t i = streams->num_steps; i-- > 0;)
        streams->lanes[streams->steps[i].lane].needs_fork =
            streams->steps[i].kind != BRAID_STEP_WAIT;
    for (size_t i = 0; i < streams->num_steps; i++)
        streams->lanes[streams->steps[i].lane].needs_join =
            streams->steps[i].kind != BRAID_STEP_RECORD;
}

static braid_status allocate_all(braid_exec *exec, bool event_per_record)
{
    struct streams_lowering *streams = exec->streams;
    const braid_schedule *schedule = exec->schedule;
    streams->num_lanes = schedule->info.num_lanes;
    streams->num_events =
        event_per_record ? (uint32_t)schedule->info.num_records : schedule->info.num_events;
    streams->num_frames = exec->device->backend->ops->renew_events ? 2 : 1;
    streams->lanes = braid_allocate_zeroed(streams->num_lanes, sizeof(*streams->lanes));
    streams->events = braid_allocate_zeroed(num_leased_events(streams), sizeof(*streams->events));
    streams->steps = braid_allocate_zeroed(schedule->num_steps, sizeof(*streams->steps));
    if (!streams->lanes || !streams->events || !streams->steps)
        return braid_error_no_memory("an exec");
    return BRAID_OK;
}

static braid_status create_streams(braid_exec *exec)
{
    exec->streams = calloc(1, sizeof(*exec->streams));
    if (!exec->streams)
        return braid_error_no_memory("an exec");
    bool event_per_record = exec->device->backend->ops->renew_events;
    braid_status status = allocate_all(exec, event_per_record);
    if (!status)
        status = copy_steps(exec->schedule, event_per_record, exec->streams);
    if (!status) {
        find_forks_and_joins(exec->streams);
        status = lease_all(exec);
    }
    if (status) {
        destroy_streams(exec);
        return status;
    }
    uint32_t num_lanes = exec->streams->num_lanes;
    exec->info.num_streams = num_lanes ? num_lanes - 1 : 0;
    exec->info.num_events =
        num_leased_events(exec->streams) + exec->info.num_streams + (exec->streams->fork != NULL);
    return BRAID_OK;
}

static braid_status synchronize_lanes(braid_exec *exec)
{
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < exec->streams->num_lanes && !status; i++)
        status = backend->ops->stream_synchronize(backend, exec->streams->lanes[i].stream->backend);
    return status;
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
    .launch = braid_streams_launch,
    .set_args = set_streams_args,
    .destroy = destroy_streams,
    .synchronize = synchronize_lanes,
};
