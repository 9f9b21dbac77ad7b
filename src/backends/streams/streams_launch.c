// SPDX-License-Identifier: Apache-2.0
// One launch through streams: fork, submit, join.
#include "backends/streams/streams.h"
#include "base/error.h"
#include "base/node_text.h"
#include "base/ranges.h"

// Event and stream are of one device.
static braid_status record(braid_event *event, braid_stream *stream)
{
    struct backend *backend = event->device->backend;
    return backend->ops->event_record(backend, event->backend, device_backend_stream(stream));
}

// The event may be of another device than the stream.
static braid_status wait(struct streams_playing *streams, braid_stream *stream, braid_event *event)
{
    struct backend *backend = (stream ? stream->device : streams->device)->backend;
    return backend->ops->stream_wait(backend, device_backend_stream(stream), event->backend);
}

static braid_status fork_lanes(struct streams_playing *streams, braid_stream *stream)
{
    if (!streams->fork)
        return BRAID_OK;
    braid_status status = record(streams->fork, stream);
    for (uint32_t i = 0; i < streams->num_lanes && !status; i++) {
        if (i != streams->callers && streams->lanes[i].needs_fork)
            status = wait(streams, streams->lanes[i].stream, streams->fork);
    }
    return status;
}

// A lane that cannot be joined by an event is left for the exec to wait for: the caller's later
// work must not overtake it.
static braid_status join_lane(struct streams_playing *streams, braid_stream *stream,
                              const struct stream_lane *lane, bool *out_unjoined)
{
    braid_status status = record(lane->join, lane->stream);
    if (!status)
        status = wait(streams, stream, lane->join);
    *out_unjoined = *out_unjoined || status;
    return status;
}

// After a failure every lane is joined, since any operation may be its last.
static braid_status join_lanes(struct streams_playing *streams, braid_stream *stream, bool all,
                               bool *out_unjoined)
{
    struct error_attempt attempt; // begun by the first failure, which is the one to tell
    braid_status first = BRAID_OK;
    for (uint32_t i = 0; i < streams->num_lanes; i++) {
        const struct stream_lane *lane = &streams->lanes[i];
        if (!lane->join || (!lane->needs_join && !all))
            continue;
        braid_status status = join_lane(streams, stream, lane, out_unjoined);
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
static braid_status name_failed(const struct streams_playing *streams,
                                const struct backend_task *task, uint32_t lane, braid_status status)
{
    return braid_error(status, "launch of node %s (%s, lane %u) failed: %s",
                       braid_node_text(task->node, task->name).text,
                       streams->lanes[lane].device->label, lane, braid_error_message());
}

// Queues a task. If that fails halfway, notes its left work. The task itself may be changed while
// that is awaited.
static braid_status submit(struct streams_playing *streams, const struct backend_task *task,
                           const struct stream_lane *lane)
{
    struct backend *backend = lane->device->backend;
    braid_status status = backend->ops->submit(backend, device_backend_stream(lane->stream), task);
    if (status && backend->ops->task_goes_on && backend->ops->task_goes_on(backend, task, false)) {
        streams->going_on = *task;
        streams->going_on_there = backend;
    }
    return status;
}

static braid_status run_task(struct streams_playing *streams, const struct backend_task *task,
                             const struct stream_lane *lane)
{
    if (task->disabled)
        return BRAID_OK; // its waits are on the stream already
    if (task->kind == WORK_QUEUE)
        return braid_player_queue_call(lane->device, task, lane->stream);
    return submit(streams, task, lane);
}

// That frame was queued before, and none in its place since, so its record is the latest.
static braid_event *find_frame_event(const struct streams_playing *streams, const braid_step *op)
{
    const struct program *program = streams->program;
    for (uint32_t i = program_frames_before(program, op); i > 0; i--)
        streams = streams->before;
    return streams->frame_events[program_position_index(program, op)];
}

static braid_status submit_op(struct streams_playing *streams, const braid_step *op,
                              braid_event *const *events)
{
    const struct stream_lane *lane = &streams->lanes[op->lane];
    braid_stream *stream = lane->stream;
    braid_status status = BRAID_OK;
    if (op->kind == BRAID_STEP_RUN) {
        if (!program_runs(streams->program, op))
            return BRAID_OK;
        ranges_begin(streams->tasks[op->node].name);
        status = run_task(streams, &streams->tasks[op->node], lane);
        ranges_end();
        return status;
    }
    if (op->kind == BRAID_STEP_LOOP)
        status = braid_streams_played_launch(streams, op, lane);
    else if (op->kind == BRAID_STEP_RECORD)
        status = record(events[streams->event_of[op->position]], stream);
    else if (op->kind == BRAID_STEP_WAIT)
        status = wait(streams, stream, events[streams->event_of[op->position]]);
    else if (op->kind == PROGRAM_RECORD_FRAME)
        status = record(streams->frame_events[op->position], stream);
    else
        status = wait(streams, stream, find_frame_event(streams, op));
    return status ? name_failed(streams, &streams->tasks[op->node], op->lane, status) : BRAID_OK;
}

static braid_status submit_ops(struct streams_playing *streams)
{
    const struct program *program = streams->program;
    braid_event *const *events =
        streams->events + (size_t)(streams->num_launches % streams->num_sets) * streams->num_events;
    for (size_t i = 0; i < program->num_ops; i++) {
        braid_status status = submit_op(streams, &program->ops[i], events);
        if (!status && streams->times) // a mark behind each task and wait
            status = braid_streams_times_op(streams, i);
        if (status)
            return status;
    }
    return BRAID_OK;
}

static braid_status submit_frame(struct streams_playing *streams, braid_stream *stream)
{
    if (streams->callers < streams->num_lanes)
        streams->lanes[streams->callers].stream = stream;
    streams->num_launches++;
    braid_status status = streams->times ? braid_streams_times_begin(streams, stream) : BRAID_OK;
    if (!status)
        status = fork_lanes(streams, stream);
    if (!status && streams->times)
        status = braid_streams_times_forked(streams);
    if (!status)
        status = submit_ops(streams);
    if (streams->callers < streams->num_lanes)
        streams->lanes[streams->callers].stream = NULL;
    return status;
}

// If the join fails as well, the first failure still tells the cause. Once a frame has begun,
// something may be queued.
braid_status braid_streams_launch(struct playing *playing, braid_stream *stream,
                                  struct play_result *out_result)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    out_result->queued = true;
    braid_status status = submit_frame(streams, stream);
    if (!status) {
        status = join_lanes(streams, stream, false, &out_result->unjoined);
        return status || !streams->times ? status : braid_streams_times_end(streams, stream);
    }
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)join_lanes(streams, stream, true, &out_result->unjoined);
    braid_error_end_attempt(&attempt, BRAID_OK);
    out_result->unjoined = out_result->unjoined || streams->going_on_there;
    return status;
}
