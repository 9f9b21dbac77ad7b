// SPDX-License-Identifier: Apache-2.0
// Making and freeing a playing on streams: leases and steps; and the player's table.
#include "players/streams/streams.h"

#include "base/array.h"
#include "base/error.h"

static void destroy(struct playing *playing)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    for (uint32_t i = 0; streams->lanes && i < streams->num_lanes; i++) {
        if (streams->lanes[i].stream)
            braid_device_return_stream(streams->device, streams->lanes[i].stream);
        if (streams->lanes[i].join)
            braid_device_return_event(streams->device, streams->lanes[i].join);
    }
    for (uint32_t i = 0; streams->events && i < streams->num_events * streams->num_sets; i++) {
        if (streams->events[i])
            braid_device_return_event(streams->device, streams->events[i]);
    }
    for (uint32_t i = 0; streams->frame_events && i < streams->num_frame_events; i++) {
        if (streams->frame_events[i])
            braid_device_return_event(streams->device, streams->frame_events[i]);
    }
    if (streams->fork)
        braid_device_return_event(streams->device, streams->fork);
    braid_streams_times_destroy(streams->times);
    free(streams->frame_events);
    free(streams->lanes);
    free(streams->events);
    free(streams->steps);
    free(streams);
}

static braid_status lease_event(struct streams_playing *streams, braid_event **out_event)
{
    braid_status status = braid_device_lease_event(streams->device, out_event);
    streams->base.num_events += !status;
    return status;
}

static braid_status lease_lane(struct streams_playing *streams, const struct program_lane *from,
                               struct stream_lane *lane)
{
    if (!from->num_ops)
        return BRAID_OK;
    lane->needs_fork = from->needs_fork;
    lane->needs_join = from->needs_join;
    braid_status status = braid_device_lease_stream(streams->device, &lane->stream);
    streams->base.num_streams += !status;
    if (!status)
        status = lease_event(streams, &lane->join);
    if (!status && lane->needs_fork && !streams->fork)
        status = lease_event(streams, &streams->fork);
    return status;
}

// Lane 0 is the caller's stream.
static braid_status lease_all(struct streams_playing *streams, const struct program *program)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < streams->num_lanes && !status; i++)
        status = lease_lane(streams, &program->lanes[i], &streams->lanes[i]);
    uint32_t num_events = streams->num_events * streams->num_sets;
    streams->events = braid_allocate_zeroed(num_events, sizeof(*streams->events));
    if (!streams->events)
        return braid_error_no_memory("an exec");
    for (uint32_t i = 0; i < num_events && !status; i++)
        status = lease_event(streams, &streams->events[i]);
    streams->num_frame_events = program->num_frame_positions;
    streams->frame_events =
        braid_allocate_zeroed(program->num_frame_positions, sizeof(*streams->frame_events));
    if (!streams->frame_events)
        return braid_error_no_memory("an exec");
    for (uint32_t i = 0; i < streams->num_frame_events && !status; i++)
        status = lease_event(streams, &streams->frame_events[i]);
    return status;
}

// Positions as event objects, while the operations are walked in issue order. An object may be
// recorded again behind the last wait for its position: a wait captures the latest record when it
// is queued.
struct event_use {
    uint32_t *num_waits; // a position: that are still to come
    uint32_t *event;     // a position
    uint32_t *idle;      // objects
    uint32_t num_idle;
};

static uint32_t take_event(struct streams_playing *streams, struct event_use *use)
{
    return use->num_idle ? use->idle[--use->num_idle] : streams->num_events++;
}

static void fill_steps(struct streams_playing *streams, const struct program *program,
                       struct program_walk *walk, struct event_use *use, bool renews)
{
    const struct program_op *op;
    for (size_t i = 0; i < program->num_ops; i++)
        if (program->ops[i].kind == PROGRAM_WAIT)
            use->num_waits[program->ops[i].index]++;
    while ((op = program_walk_next(program, walk))) {
        struct stream_step *step = &streams->steps[streams->num_steps++];
        *step = (struct stream_step){ .kind = op->kind,
                                      .lane = walk->lane,
                                      .index = op->index,
                                      .task = op->index,
                                      .frames_before = op->frames_before };
        if (op->kind == PROGRAM_RUN)
            continue;
        if (op->kind == PROGRAM_PUBLISH_FRAME || op->kind == PROGRAM_AWAIT_FRAME) {
            step->task = program->frame_positions[op->index].task;
            continue;
        }
        if (op->kind == PROGRAM_PUBLISH)
            use->event[op->index] = take_event(streams, use);
        step->index = use->event[op->index];
        step->task = program->positions[op->index].task;
        if (op->kind == PROGRAM_WAIT && --use->num_waits[op->index] == 0 && !renews)
            use->idle[use->num_idle++] = step->index;
    }
}

static braid_status make_steps(struct streams_playing *streams, const struct stage *stage)
{
    const struct program *program = stage->program;
    struct program_walk walk;
    struct event_use use = {
        .num_waits = braid_allocate_zeroed(program->num_positions, sizeof(uint32_t)),
        .event = braid_allocate_zeroed(program->num_positions, sizeof(uint32_t)),
        .idle = braid_allocate_zeroed(program->num_positions, sizeof(uint32_t)),
    };
    streams->lanes = braid_allocate_zeroed(program->num_lanes, sizeof(*streams->lanes));
    streams->steps = braid_allocate_zeroed(program->num_ops, sizeof(*streams->steps));
    bool has_walk = braid_program_walk_begin(program, &walk);
    bool done =
        use.num_waits && use.event && use.idle && streams->lanes && streams->steps && has_walk;
    if (done)
        fill_steps(streams, program, &walk, &use, stage->player->renews_events);
    braid_program_walk_end(&walk);
    free(use.num_waits);
    free(use.event);
    free(use.idle);
    return done ? BRAID_OK : braid_error_no_memory("an exec");
}

static braid_status create(const struct stage *stage, struct playing **out_playing)
{
    struct streams_playing *streams = calloc(1, sizeof(*streams));
    if (!streams)
        return braid_error_no_memory("an exec");
    streams->device = stage->device;
    streams->tasks = stage->frame->tasks;
    streams->num_lanes = stage->program->num_lanes;
    streams->num_sets = stage->player->renews_events ? 2 : 1;
    braid_status status = make_steps(streams, stage);
    if (!status)
        status = lease_all(streams, stage->program);
    if (!status && stage->num_profiled)
        status = braid_streams_times_create(streams, stage->program, stage->num_profiled);
    if (status)
        destroy(&streams->base);
    else
        *out_playing = &streams->base;
    return status;
}

static void follow(struct playing *playing, struct playing *before)
{
    ((struct streams_playing *)playing)->before = (const struct streams_playing *)before;
}

static braid_status synchronize(struct playing *playing)
{
    const struct streams_playing *streams = (const struct streams_playing *)playing;
    struct backend *backend = streams->device->backend;
    braid_status status = BRAID_OK;
    for (uint32_t i = 1; i < streams->num_lanes && !status; i++) {
        if (streams->lanes[i].stream)
            status = backend->ops->stream_synchronize(backend, streams->lanes[i].stream->backend);
    }
    return status;
}

static void get_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    backend->ops->get_cost_model(backend, out_model);
}

// Arguments are captured when a task is submitted: there is nothing to tell of new ones.
#define STREAMS_PLAYER                                                                             \
    .name = "streams", .mode = BRAID_MODE_STREAMS, .launches_overlap = true,                       \
    .starts_early_if_adjacent = true, .get_cost_model = get_cost_model, .create = create,          \
    .follow = follow, .launch = braid_streams_launch, .read_times = braid_streams_times_read,      \
    .synchronize = synchronize, .destroy = destroy

const struct player braid_streams_player = { STREAMS_PLAYER };
const struct player braid_renewing_streams_player = { STREAMS_PLAYER, .renews_events = true };

#undef STREAMS_PLAYER
