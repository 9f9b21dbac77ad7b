// SPDX-License-Identifier: Apache-2.0
// Making and freeing a playing on streams, with its leases; and the player's table.
#include "backends/streams/streams.h"

#include "backends/players.h"
#include "base/error.h"
#include "base/store.h"

static void return_event(braid_event *event)
{
    if (event)
        braid_device_return_event(event->device, event);
}

static void destroy(struct playing *playing)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    braid_streams_played_destroy(streams->played);
    for (uint32_t i = 0; streams->lanes && i < streams->num_lanes; i++) {
        if (streams->lanes[i].stream)
            braid_device_return_stream(streams->lanes[i].device, streams->lanes[i].stream);
        return_event(streams->lanes[i].join);
    }
    for (uint32_t i = 0; streams->events && i < streams->num_events * streams->num_sets; i++)
        return_event(streams->events[i]);
    for (uint32_t i = 0; streams->frame_events && i < streams->num_frame_events; i++)
        return_event(streams->frame_events[i]);
    return_event(streams->fork);
    braid_streams_times_destroy(streams->times);
    braid_store_finish(&streams->store);
    free(streams);
}

static braid_status lease_event(struct streams_playing *streams, braid_device *device,
                                braid_event **out_event)
{
    braid_status status = braid_device_lease_event(device, out_event);
    streams->base.num_events += !status;
    return status;
}

static braid_status lease_lane(struct streams_playing *streams, const struct program_lane *from,
                               struct stream_lane *lane)
{
    if (!from->has_work)
        return BRAID_OK;
    lane->needs_fork = from->needs_fork;
    lane->needs_join = from->needs_join;
    braid_status status = braid_device_lease_stream(lane->device, streams->priority, &lane->stream);
    streams->base.num_streams += !status;
    if (!status)
        status = lease_event(streams, lane->device, &lane->join);
    if (!status && lane->needs_fork && !streams->fork)
        status = lease_event(streams, streams->device, &streams->fork);
    return status;
}

// An event that a lane records is one of the lane's device.
static braid_status lease_events(struct streams_playing *streams, const uint32_t *event_lane)
{
    braid_status status = BRAID_OK;
    uint32_t num_events = streams->num_events * streams->num_sets;
    streams->events = braid_store_take(&streams->store, num_events, sizeof(*streams->events));
    if (!streams->events)
        return braid_error_no_memory("an exec");
    for (uint32_t i = 0; i < num_events && !status; i++) {
        const struct stream_lane *lane = &streams->lanes[event_lane[i % streams->num_events]];
        status = lease_event(streams, lane->device, &streams->events[i]);
    }
    return status;
}

static braid_status lease_frame_events(struct streams_playing *streams,
                                       const struct program *program)
{
    braid_status status = BRAID_OK;
    streams->num_frame_events = program->num_frame_positions;
    streams->frame_events = braid_store_take(&streams->store, program->num_frame_positions,
                                             sizeof(*streams->frame_events));
    if (!streams->frame_events)
        return braid_error_no_memory("an exec");
    for (uint32_t i = 0; i < streams->num_frame_events && !status; i++) {
        const struct stream_lane *lane = &streams->lanes[program->frame_positions[i].lane];
        status = lease_event(streams, lane->device, &streams->frame_events[i]);
    }
    return status;
}

static braid_status lease_all(struct streams_playing *streams, const struct program *program,
                              const uint32_t *event_lane)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < streams->num_lanes && !status; i++) {
        if (i != streams->callers)
            status = lease_lane(streams, &program->lanes[i], &streams->lanes[i]);
    }
    if (!status)
        status = lease_events(streams, event_lane);
    return status ? status : lease_frame_events(streams, program);
}

// Positions as event objects, while the operations are walked in issue order. An object may be
// recorded again behind the last wait for its position: a wait captures the latest record when it
// is queued.
struct event_use {
    uint32_t *num_waits; // a position: that are still to come
    uint32_t *lane;      // an object: that it was first recorded on
    uint32_t *idle;      // objects
    uint32_t num_idle;
};

// An object of the lane's device: the latest that is idle.
static uint32_t take_event(struct streams_playing *streams, struct event_use *use, uint32_t lane)
{
    for (uint32_t i = use->num_idle; i-- > 0;) {
        uint32_t event = use->idle[i];
        if (streams->lanes[use->lane[event]].device != streams->lanes[lane].device)
            continue;
        use->idle[i] = use->idle[--use->num_idle];
        return event;
    }
    use->lane[streams->num_events] = lane;
    return streams->num_events++;
}

static void choose_events(struct streams_playing *streams, struct event_use *use, bool renews)
{
    const struct program *program = streams->program;
    for (size_t i = 0; i < program->num_ops; i++)
        if (program->ops[i].kind == BRAID_STEP_WAIT)
            use->num_waits[program->ops[i].position]++;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (op->kind == BRAID_STEP_RECORD)
            streams->event_of[op->position] = take_event(streams, use, op->lane);
        if (op->kind == BRAID_STEP_WAIT && --use->num_waits[op->position] == 0 && !renews)
            use->idle[use->num_idle++] = streams->event_of[op->position];
    }
}

// The caller's stream is place 0's.
static void find_lanes(struct streams_playing *streams, const struct stage *stage)
{
    streams->callers = streams->num_lanes;
    for (uint32_t i = streams->num_lanes; i-- > 0;) {
        uint32_t place = stage->program->lanes[i].place;
        streams->lanes[i].device = places_device(stage->places, stage->device, place);
        if (place == 0)
            streams->callers = i;
    }
}

static braid_status lease(struct streams_playing *streams, const struct stage *stage)
{
    const struct program *program = stage->program;
    uint32_t num = program->num_positions;
    struct store store = { 0 };
    struct event_use use = {
        .num_waits = braid_store_take(&store, num, sizeof(uint32_t)),
        .lane = braid_store_take(&store, num, sizeof(uint32_t)),
        .idle = braid_store_take(&store, num, sizeof(uint32_t)),
    };
    streams->event_of = braid_store_take(&streams->store, num, sizeof(uint32_t));
    streams->lanes = braid_store_take(&streams->store, program->num_lanes, sizeof(*streams->lanes));
    braid_status status = BRAID_OK;
    if (store.failed || streams->store.failed) {
        status = braid_error_no_memory("an exec");
    } else {
        find_lanes(streams, stage);
        choose_events(streams, &use, stage->player->renews_events);
        status = lease_all(streams, program, use.lane);
    }
    braid_store_finish(&store);
    return status;
}

static braid_status create(const struct stage *stage, struct playing **out_playing)
{
    struct streams_playing *streams = calloc(1, sizeof(*streams));
    if (!streams)
        return braid_error_no_memory("an exec");
    streams->device = stage->device;
    streams->priority = stage->priority;
    streams->tasks = stage->frame->tasks;
    streams->num_lanes = stage->program->num_lanes;
    streams->num_sets = stage->player->renews_events ? 2 : 1;
    streams->program = stage->program;
    braid_status status = lease(streams, stage);
    if (!status)
        status = braid_streams_played_create(streams, stage);
    if (!status && stage->num_profiled)
        status = braid_streams_times_create(streams, stage->program, stage->num_profiled);
    if (status)
        destroy(&streams->base);
    else
        *out_playing = &streams->base;
    return status;
}

static bool orders_frames(struct backend *backend, bool several_places)
{
    (void)backend, (void)several_places;
    return true;
}

static void follow(struct playing *playing, struct playing *before)
{
    ((struct streams_playing *)playing)->before = (const struct streams_playing *)before;
}

static void await_rest(struct streams_playing *streams)
{
    struct backend *backend = streams->going_on_there;
    if (backend)
        (void)backend->ops->task_goes_on(backend, &streams->going_on, true);
    streams->going_on_there = NULL;
}

static braid_status synchronize(struct playing *playing)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    braid_status first = BRAID_OK;
    for (uint32_t i = 0; i < streams->num_lanes; i++) {
        const struct stream_lane *lane = &streams->lanes[i];
        struct backend *backend = lane->device->backend;
        braid_status status = BRAID_OK;
        if (i != streams->callers && lane->stream)
            status = backend->ops->stream_synchronize(backend, lane->stream->backend);
        first = first ? first : status;
    }
    if (!first)
        await_rest(streams);
    return first;
}

static void get_cost_model(struct backend *backend, braid_cost_model *out_model)
{
    backend->ops->get_cost_model(backend, out_model);
}

// Arguments are captured when a task is submitted: only loops have an update. HIP plays none.
#define STREAMS_PLAYER                                                                             \
    .name = "streams", .mode = BRAID_MODE_STREAMS, .launches_overlap = true,                       \
    .starts_early_if_adjacent = true, .get_cost_model = get_cost_model, .create = create,          \
    .orders_frames = orders_frames, .follow = follow, .launch = braid_streams_launch,              \
    .read_times = braid_streams_times_read, .read_clock = braid_streams_read_clock,                \
    .synchronize = synchronize, .destroy = destroy

const struct player braid_streams_player = { STREAMS_PLAYER };
const struct player braid_cpu_streams_player = {
    STREAMS_PLAYER,
    .plays_loops = true,
    .plays_loops_by = &braid_walker_player,
    .update = braid_streams_played_update,
};
const struct player braid_cuda_streams_player = {
    STREAMS_PLAYER,
    .plays_loops = true,
    .plays_loops_by = &braid_graph_player,
    .update = braid_streams_played_update,
    .check_task = braid_streams_played_check_task,
    .num_iterations = braid_streams_played_num_iterations,
};
const struct player braid_renewing_streams_player = { STREAMS_PLAYER, .renews_events = true };

#undef STREAMS_PLAYER
