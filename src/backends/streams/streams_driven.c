// SPDX-License-Identifier: Apache-2.0
// Loops and branches that the host drives, on the thread of the stream that a frame is launched on.
//
// Each body is a playing on streams, launched on the lane that enters it. Behind each iteration the
// thread waits for that lane, and reads the condition. Operations behind a loop in issue order are
// queued once it has ended. So streams wait for nothing that is queued later.
#include "backends/streams/streams.h"

#include <stdatomic.h>
#include <stdio.h>

#include "backends/note_task.h"
#include "backends/players.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "base/node_text.h"

struct driven_body {
    struct playing *playing;
    struct places places;
};

struct streams_driven {
    const struct player *player;
    const struct frame *frame;
    struct driven_body *bodies; // by body
    uint32_t num;
    struct backend *backend;
    void *word;         // conditions are copied to it; NULL: there are no bodies
    const void *exec;   // whose queue calls are made
    uint64_t next;      // the frame that is played next; a launch that fails is none
    uint32_t num_slots; // so many frames later the slot has another one
    atomic_int failure; // no wait has told it yet
    char message[ERROR_MESSAGE_BYTES];
};

// ---- making ----

braid_status braid_streams_driven_check(const struct stage *stage)
{
    if (!stage->num_profiled || !stage->program->num_bodies)
        return BRAID_OK;
    uint32_t node = stage->program->bodies[0].node;
    const struct backend_task *task = &stage->frame->tasks[node];
    return braid_error(BRAID_UNSUPPORTED, "%s: the host drives %s %s, and keeps no times of frames",
                       stage->device->label, braid_work_words[task->kind].kind,
                       braid_node_text(node, task->name).text);
}

static braid_status make_body(struct streams_playing *streams, const struct stage *stage,
                              const struct program *program, struct driven_body *body)
{
    struct stage own = *stage;
    own.program = program;
    own.first = NULL;
    own.device = places_device(stage->places, stage->device, program_place(program));
    own.places = braid_streams_fill_places(stage->places, own.device, &body->places);
    braid_status status = stage->player->create(&own, &body->playing);
    if (status)
        return status;
    streams->base.num_streams += body->playing->num_streams;
    streams->base.num_events += body->playing->num_events;
    return BRAID_OK;
}

braid_status braid_streams_driven_create(struct streams_playing *streams, const struct stage *stage)
{
    const struct program *program = stage->program;
    struct streams_driven *driven = braid_allocate_zeroed(1, sizeof(*driven));
    if (!driven)
        return braid_error_no_memory("the loops of an exec");
    streams->driven = driven;
    driven->player = stage->player;
    driven->frame = stage->frame;
    driven->exec = stage->exec;
    driven->next = stage->slot;
    driven->num_slots = stage->num_slots;
    driven->backend = stage->device->backend;
    if (!program->num_bodies)
        return BRAID_OK;
    driven->bodies = braid_allocate_zeroed(program->num_bodies, sizeof(*driven->bodies));
    if (!driven->bodies)
        return braid_error_no_memory("the loops of an exec");
    braid_status status = driven->backend->ops->allocate(driven->backend, BRAID_MEMORY_HOST,
                                                         sizeof(uint32_t), &driven->word);
    for (; driven->num < program->num_bodies && !status; driven->num++)
        status =
            make_body(streams, stage, &program->bodies[driven->num], &driven->bodies[driven->num]);
    return status;
}

void braid_streams_driven_destroy(struct streams_playing *streams)
{
    struct streams_driven *driven = streams->driven;
    if (!driven)
        return;
    for (uint32_t i = driven->num; i-- > 0;)
        if (driven->bodies[i].playing)
            driven->player->destroy(driven->bodies[i].playing);
    if (driven->word)
        driven->backend->ops->release(driven->backend, BRAID_MEMORY_HOST, driven->word);
    braid_free(driven->bodies);
    braid_free(driven);
}

// ---- one loop or branch ----

static braid_status await_lane(const struct stream_lane *lane)
{
    struct backend *backend = lane->device->backend;
    return backend->ops->stream_synchronize(backend, lane->stream->backend);
}

// The condition may lie in any memory that a copy takes.
static braid_status copy_condition(const struct stream_lane *lane, const uint32_t *from, void *to)
{
    struct backend *backend = lane->device->backend;
    struct backend_task task = {
        .kind = WORK_COPY,
        .name = "condition",
        .node = BACKEND_NO_NODE,
        .copy = { .to = to, .from = from, .bytes = sizeof(uint32_t) },
    };
    braid_status status = backend->ops->task_prepare(backend, &task);
    if (status)
        return status;
    status = backend->ops->submit(backend, lane->stream->backend, &task);
    braid_status awaited = await_lane(lane);
    backend->ops->task_finish(backend, &task);
    return status ? status : awaited;
}

static braid_status read_condition(const struct streams_driven *driven,
                                   const struct stream_lane *lane, const uint32_t *condition,
                                   bool *out_goes_on)
{
    braid_status status = copy_condition(lane, condition, driven->word);
    *out_goes_on = !status && *(const volatile uint32_t *)driven->word != 0;
    return status;
}

static braid_status play_body(const struct streams_driven *driven, uint32_t body,
                              const struct stream_lane *lane)
{
    struct play_result result = { 0 };
    braid_status status = braid_streams_launch(driven->bodies[body].playing, lane->stream, &result);
    return status ? status : await_lane(lane);
}

// A fill in the lane's order notes that the loop or branch has begun, or ended (base/note.h).
static braid_status note(const struct backend_task *task, const struct stream_lane *lane,
                         bool ended)
{
    struct backend *backend = lane->device->backend;
    if (!task->note)
        return BRAID_OK;
    const struct backend_task fill = note_task(task, ended);
    return backend->ops->submit(backend, lane->stream->backend, &fill);
}

static void count(_Atomic uint64_t *iterations, uint64_t num)
{
    atomic_store_explicit(&iterations[ITERATIONS_SINCE_ENTRY], num, memory_order_relaxed);
    if (num)
        atomic_fetch_add_explicit(&iterations[ITERATIONS_OF_FRAME], 1, memory_order_relaxed);
}

static braid_status play_node(const struct streams_playing *streams, const braid_step *op,
                              const struct stream_lane *lane)
{
    const struct streams_driven *driven = streams->driven;
    const struct backend_task *task = &streams->tasks[op->node];
    const struct work_loop *how = &task->work.loop;
    _Atomic uint64_t *iterations = driven->frame->iterations[how->number];
    braid_status status = BRAID_OK;
    bool goes_on = true;
    count(iterations, 0);
    if (how->condition && how->tests_first)
        status = read_condition(driven, lane, how->condition, &goes_on);
    if (!status && !goes_on && streams->program->bodies[op->position].has_else)
        return play_body(driven, op->position + 1, lane);
    for (uint64_t num = 0; !status && goes_on && num < how->most; num++) {
        if (note_is_cancelled(task->cancelled))
            break;
        status = play_body(driven, op->position, lane);
        if (!status)
            count(iterations, num + 1);
        if (task->kind == WORK_LOOP) {
            braid_players_note_traps(&streams->program->bodies[op->position], driven->frame,
                                     num + 1);
            if (status)
                status = braid_error(status, "iteration %llu: %s", (unsigned long long)num,
                                     braid_error_get_message());
        }
        if (!status && how->condition && num + 1 < how->most)
            status = read_condition(driven, lane, how->condition, &goes_on);
    }
    return status;
}

braid_status braid_streams_driven_play(struct streams_playing *streams, const braid_step *op,
                                       const struct stream_lane *lane)
{
    const struct backend_task *task = &streams->tasks[op->node];
    braid_status status = note(task, lane, false);
    if (!status)
        status = play_node(streams, op, lane);
    return status || !task->notes_end ? status : note(task, lane, true);
}

// ---- frames ----

braid_status braid_streams_driven_synchronize(struct playing *playing)
{
    const struct streams_driven *driven = ((const struct streams_playing *)playing)->driven;
    braid_status first = braid_streams_synchronize(playing);
    for (uint32_t i = 0; i < driven->num; i++)
        first = error_first(first, braid_streams_driven_synchronize(driven->bodies[i].playing));
    return first;
}

// If a frame fails halfway, its queued part is awaited, so that nothing of it runs behind its end.
// A wait may fail once. If the second fails too, some work may still run.
static void await_part(struct streams_playing *streams)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = braid_streams_driven_synchronize(&streams->base);
    if (status)
        status = braid_streams_driven_synchronize(&streams->base);
    if (status)
        status = braid_device_fail(streams->device);
    braid_error_end_noted(&attempt, status);
}

// The first of several failures is kept until it is told. The log has all.
static void keep_failure(struct streams_driven *driven, braid_status status)
{
    if (atomic_load(&driven->failure))
        return;
    snprintf(driven->message, sizeof(driven->message), "frame %llu: %.*s",
             (unsigned long long)driven->next, (int)sizeof(driven->message) - 32,
             braid_error_get_message());
    atomic_store(&driven->failure, (int)status);
}

// The program may have destroyed its object of the stream.
static void play_frame(void *user, struct backend_stream *backend)
{
    struct streams_playing *streams = user;
    struct streams_driven *driven = streams->driven;
    struct play_result result = { 0 };
    braid_stream stream = { .device = streams->device, .backend = backend };
    struct inside inside;
    atomic_init(&stream.exposed, true);
    braid_inside_begin(&inside, "a queue call", driven->exec);
    for (uint32_t i = 0; i < streams->program->tasks->num_regions; i++)
        for (int which = 0; which < NUM_ITERATIONS; which++)
            atomic_store(&driven->frame->iterations[i][which], 0);
    braid_status status = braid_streams_launch(&streams->base, &stream, &result);
    if (status) {
        keep_failure(driven, status);
        await_part(streams);
    }
    driven->next += driven->num_slots;
    braid_inside_end(&inside);
}

braid_status braid_streams_driven_launch(struct playing *playing, braid_stream *stream,
                                         struct play_result *out_result)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    struct backend *backend = streams->device->backend;
    braid_status status = backend->ops->drive(backend, stream->backend, play_frame, streams);
    out_result->queued = !status;
    return status;
}

braid_status braid_streams_driven_tell(struct playing *playing)
{
    struct streams_driven *driven = ((struct streams_playing *)playing)->driven;
    char message[ERROR_MESSAGE_BYTES];
    int status = atomic_load(&driven->failure);
    if (!status)
        return BRAID_OK;
    snprintf(message, sizeof(message), "%s", driven->message);
    if (!atomic_compare_exchange_strong(&driven->failure, &status, BRAID_OK))
        return BRAID_OK;
    return braid_error((braid_status)status, "%s", message);
}
