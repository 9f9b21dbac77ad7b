// SPDX-License-Identifier: Apache-2.0
// Making and freeing a playing on streams, with its leases; and the player's table.
#include "backends/streams/streams.h"

#include "backends/players.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/ranges.h"

// ---- bodies ----

// Loops and branches on streams that another player plays: each is a program of its own, launched
// on the lane that enters it.

// A program of one lane, which does nothing but enter the loop or branch.
struct played_loop {
    struct program program;
    braid_step op;
    struct program_lane lane;
    uint32_t lane_op;
    struct places places;
    struct playing *playing;
    uint64_t *frames; // numbers of the latest launches, from 1; NULL: nobody asked for times
    uint64_t num_launches;
};

struct streams_played {
    const struct player *player;
    struct played_loop *loops; // by body; that of a second arm plays nothing
    uint32_t num;
    uint32_t *loop_of; // by task: an index of loops; PLAN_NONE: in none
};

static void fill_in(const struct program *program, const struct program *body,
                    struct played_loop *loop)
{
    loop->op = (braid_step){ .kind = BRAID_STEP_LOOP, .node = body->node };
    loop->lane = (struct program_lane){
        .needs_fork = true, .needs_join = true, .has_work = true, .num_ops = 1
    };
    loop->program = (struct program){
        .ops = &loop->op,
        .num_ops = 1,
        .lanes = &loop->lane,
        .num_lanes = 1,
        .lane_ops = &loop->lane_op,
        .kinds = program->kinds,
        .num_nodes = program->num_nodes,
        .region = PLAN_NONE,
        .bodies = (struct program *)(uintptr_t)body,
        .num_bodies = 1 + body->has_else,
        .tasks = program->tasks,
    };
}

static void note_tasks(struct streams_played *played, const struct program *body, uint32_t loop)
{
    played->loop_of[body->node] = loop;
    for (size_t i = 0; i < body->num_ops; i++)
        played->loop_of[body->ops[i].node] = loop;
    for (uint32_t i = 0; i < body->num_bodies; i++)
        note_tasks(played, &body->bodies[i], loop);
}

const struct places *braid_streams_fill_places(const struct places *from, braid_device *device,
                                               struct places *places)
{
    if (!from)
        return NULL;
    *places = *from;
    for (uint32_t i = 0; i < from->num; i++) {
        places->devices[i] = device;
        places->reaches[i] = UINT64_MAX;
    }
    return places;
}

static braid_status make_loop(struct streams_played *played, const struct stage *stage,
                              uint32_t index)
{
    struct played_loop *loop = &played->loops[index];
    const struct program *body = &stage->program->bodies[index];
    struct stage own = *stage;
    note_tasks(played, body, body->is_else ? index - 1 : index);
    if (body->is_else)
        return BRAID_OK;
    fill_in(stage->program, body, loop);
    own.player = played->player;
    own.program = &loop->program;
    own.first = NULL; // which is on streams
    own.device = places_device(stage->places, stage->device, program_place(body));
    own.places = braid_streams_fill_places(stage->places, own.device, &loop->places);
    own.beside = index ? played->loops[0].playing : NULL;
    if (stage->num_profiled) {
        loop->frames = braid_allocate_zeroed(stage->num_profiled, sizeof(*loop->frames));
        if (!loop->frames)
            return braid_error_no_memory("the times of frames");
    }
    braid_status status = played->player->check(&own);
    return status ? status : played->player->create(&own, &loop->playing);
}

static braid_status make_loops(struct streams_played *played, const struct stage *stage)
{
    const struct program *program = stage->program;
    braid_status status = BRAID_OK;
    played->player = stage->player->plays_loops_by;
    played->loops = braid_allocate_zeroed(program->num_bodies, sizeof(*played->loops));
    played->loop_of = braid_allocate_zeroed(program->tasks->num, sizeof(*played->loop_of));
    if (!played->loops || !played->loop_of)
        return braid_error_no_memory("the loops of an exec");
    for (uint32_t i = 0; i < program->tasks->num; i++)
        played->loop_of[i] = PLAN_NONE;
    for (played->num = 0; played->num < program->num_bodies && !status; played->num++)
        status = make_loop(played, stage, played->num);
    return status;
}

// Loops that another player plays.
static braid_status streams_played_create(struct streams_playing *streams,
                                          const struct stage *stage)
{
    if (!stage->program->num_bodies)
        return BRAID_OK;
    streams->played = braid_allocate_zeroed(1, sizeof(*streams->played));
    if (!streams->played)
        return braid_error_no_memory("the loops of an exec");
    return make_loops(streams->played, stage);
}

// NULL does nothing.
static void streams_played_destroy(struct streams_played *played)
{
    if (!played)
        return;
    for (uint32_t i = played->num; i-- > 0;) {
        if (played->loops[i].playing)
            played->player->destroy(played->loops[i].playing);
        braid_free(played->loops[i].frames);
    }
    braid_free(played->loops);
    braid_free(played->loop_of);
    braid_free(played);
}

// Launches a loop on the lane.
static braid_status streams_played_launch(struct streams_playing *streams, const braid_step *op,
                                          const struct stream_lane *lane)
{
    const struct streams_played *played = streams->played;
    struct played_loop *loop = &played->loops[op->position];
    struct play_result result = { 0 };
    braid_status status = played->player->launch(loop->playing, lane->stream, &result);
    if (loop->frames && (!status || result.queued))
        loop->frames[loop->num_launches++ % streams->times->room] = streams->times->num_frames;
    return status;
}

// NULL: the task is in no loop.
static struct playing *playing_of(const struct playing *playing, uint32_t task)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    uint32_t loop = played ? played->loop_of[task] : PLAN_NONE;
    return loop == PLAN_NONE ? NULL : played->loops[loop].playing;
}

// The player's table has this one, see player.h.
static braid_status streams_played_update(struct playing *playing,
                                          const struct backend_task *const *tasks, uint32_t num,
                                          uint32_t frame)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        struct playing *loop = playing_of(playing, tasks[i]->node);
        if (loop)
            status = played->player->update(loop, &tasks[i], 1, frame);
    }
    return status;
}

static braid_status streams_played_check_task(const struct playing *playing,
                                              const struct backend_task *task)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    const struct playing *loop = playing_of(playing, task->node);
    return loop ? played->player->check_task(loop, task) : BRAID_OK;
}

// Each loop counts those of its own and of the loops inside, and has 0 of all others.
static uint64_t streams_played_num_iterations(const struct playing *playing, uint32_t loop,
                                              enum iterations which)
{
    const struct streams_played *played = ((const struct streams_playing *)playing)->played;
    uint64_t num = 0;
    for (uint32_t i = 0; i < played->num; i++)
        if (played->loops[i].playing)
            num += played->player->num_iterations(played->loops[i].playing, loop, which);
    return num;
}

// Copies the tallies of one frame.
static void take_tallies(const struct streams_played *played, uint32_t loop,
                         const struct profile *from, uint64_t from_frame, struct profile *to,
                         uint32_t to_frame)
{
    for (size_t i = 0; i < from->num_nodes; i++) {
        if (played->loop_of[i] != loop)
            continue;
        to->tallies[(size_t)to_frame * to->num_nodes + i] =
            from->tallies[from_frame * from->num_nodes + i];
        to->tally_timers[i] = from->tally_timers[i];
    }
}

// The player of the loop has the times of each launch, the latest last. A frame that failed may not
// have come to the loop.
static braid_status read_loop(const struct streams_playing *streams, uint32_t loop,
                              struct profile *profile)
{
    const struct streams_times *times = streams->times;
    const struct streams_played *played = streams->played;
    const struct played_loop *from = &played->loops[loop];
    struct profile own;
    braid_status status = braid_profile_create(&from->program, times->room, &own);
    if (status)
        return status;
    status = played->player->read_times(from->playing, &own);
    uint64_t num = times->num_frames, num_launches = from->num_launches;
    uint32_t left = own.num_frames, to = profile->num_frames;
    for (uint64_t frame = num; frame > 0 && num - frame < times->room && !status; frame--) {
        bool is_whole = times->is_whole[(frame - 1) % times->room];
        bool is_there = left && from->frames[(num_launches - 1) % times->room] == frame;
        to -= is_whole;
        left -= is_there;
        num_launches -= is_there;
        if (is_whole && is_there)
            take_tallies(played, loop, &own, left, profile, to);
    }
    braid_profile_finish(&own);
    return status;
}

braid_status braid_streams_played_read_tallies(const struct streams_playing *streams,
                                               struct profile *profile)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < streams->played->num && !status; i++)
        if (streams->played->loops[i].playing)
            status = read_loop(streams, i, profile);
    return status;
}

// ---- one launch through streams: fork, submit, join ----

// Event and stream are of one device.
static braid_status record(braid_event *event, braid_stream *stream)
{
    struct backend *backend = event->device->backend;
    return backend->ops->event_record(backend, event->backend, stream->backend);
}

// The event may be of another device than the stream.
static braid_status wait(braid_stream *stream, braid_event *event)
{
    struct backend *backend = stream->device->backend;
    return backend->ops->stream_wait(backend, stream->backend, event->backend);
}

static braid_status fork_lanes(struct streams_playing *streams, braid_stream *stream)
{
    if (!streams->fork)
        return BRAID_OK;
    braid_status status = record(streams->fork, stream);
    for (uint32_t i = 0; i < streams->num_lanes && !status; i++) {
        if (i != streams->callers && streams->lanes[i].needs_fork)
            status = wait(streams->lanes[i].stream, streams->fork);
    }
    return status;
}

// A lane that cannot be joined by an event is left for the exec to wait for: the caller's later
// work must not overtake it.
static braid_status join_lane(braid_stream *stream, const struct stream_lane *lane,
                              bool *out_unjoined)
{
    braid_status status = record(lane->join, lane->stream);
    if (!status)
        status = wait(stream, lane->join);
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
        braid_status status = join_lane(stream, lane, out_unjoined);
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
                       streams->lanes[lane].device->label, lane, braid_error_get_message());
}

// Queues a task. If that fails halfway, notes its left work. The task itself may be changed while
// that is awaited.
static braid_status submit(struct streams_playing *streams, const struct backend_task *task,
                           const struct stream_lane *lane)
{
    struct backend *backend = lane->device->backend;
    braid_status status = backend->ops->submit(backend, lane->stream->backend, task);
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
        status = streams->driven ? braid_streams_driven_play(streams, op, lane)
                                 : streams_played_launch(streams, op, lane);
    else if (op->kind == BRAID_STEP_RECORD)
        status = record(events[streams->event_of[op->position]], stream);
    else if (op->kind == BRAID_STEP_WAIT)
        status = wait(stream, events[streams->event_of[op->position]]);
    else if (op->kind == PROGRAM_RECORD_FRAME)
        status = record(streams->frame_events[op->position], stream);
    else
        status = wait(stream, find_frame_event(streams, op));
    return status ? name_failed(streams, &streams->tasks[op->node], op->lane, status) : BRAID_OK;
}

static braid_status submit_ops(struct streams_playing *streams)
{
    const struct program *program = streams->program;
    braid_event *const *events =
        streams->events + (size_t)(streams->num_launches % streams->num_sets) * streams->num_events;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        braid_status status = submit_op(streams, op, events);
        if (!status && streams->times && program_is_timed(program, op))
            status = braid_streams_times_mark(streams, streams->lanes[op->lane].stream);
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
        return status || !streams->times ? status : braid_streams_times_mark(streams, stream);
    }
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    (void)join_lanes(streams, stream, true, &out_result->unjoined);
    braid_error_end_attempt(&attempt, BRAID_OK);
    out_result->unjoined = out_result->unjoined || streams->going_on_there;
    return status;
}

// ---- the player ----

static void return_event(braid_event *event)
{
    if (event)
        braid_device_return_event(event->device, event);
}

static void destroy(struct playing *playing)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    streams_played_destroy(streams->played);
    braid_streams_driven_destroy(streams);
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
    braid_free(streams);
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
    struct streams_playing *streams = braid_allocate_zeroed(1, sizeof(*streams));
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
        status = stage->player->is_driven ? braid_streams_driven_create(streams, stage)
                                          : streams_played_create(streams, stage);
    if (!status && stage->num_profiled)
        status = braid_streams_times_create(streams, stage->num_profiled);
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

braid_status braid_streams_synchronize(struct playing *playing)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    braid_status first = BRAID_OK;
    for (uint32_t i = 0; i < streams->num_lanes; i++) {
        const struct stream_lane *lane = &streams->lanes[i];
        struct backend *backend = lane->device->backend;
        braid_status status = BRAID_OK;
        if (i != streams->callers && lane->stream)
            status = backend->ops->stream_synchronize(backend, lane->stream->backend);
        first = error_first(first, status);
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
    .synchronize = braid_streams_synchronize, .destroy = destroy

const struct player braid_streams_player = { STREAMS_PLAYER };
const struct player braid_cpu_streams_player = {
    STREAMS_PLAYER,
    .plays_loops = true,
    .plays_loops_by = &braid_walker_player,
    .update = streams_played_update,
};
const struct player braid_cuda_streams_player = {
    STREAMS_PLAYER,
    .plays_loops = true,
    .plays_loops_by = &braid_graph_player,
    .update = streams_played_update,
    .check_task = streams_played_check_task,
    .num_iterations = streams_played_num_iterations,
};
const struct player braid_renewing_streams_player = { STREAMS_PLAYER, .renews_events = true };

#define DRIVEN_PLAYER                                                                              \
    .name = "streams", .mode = BRAID_MODE_STREAMS, .plays_loops = true, .is_driven = true,         \
    .launches_overlap = true, .starts_early_if_adjacent = true, .get_cost_model = get_cost_model,  \
    .check = braid_streams_driven_check, .create = create, .launch = braid_streams_driven_launch,  \
    .tell_failure = braid_streams_driven_tell, .synchronize = braid_streams_driven_synchronize,    \
    .destroy = destroy

const struct player braid_driven_streams_player = { DRIVEN_PLAYER };
const struct player braid_renewing_driven_streams_player = { DRIVEN_PLAYER, .renews_events = true };

#undef DRIVEN_PLAYER

#undef STREAMS_PLAYER
