// SPDX-License-Identifier: Apache-2.0
// Loops on streams: making them, and queueing their calls.
#include "players/streams/streams_loops.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/node_text.h"

static braid_status refuse_queue_calls(const struct program *program, const struct tasks *tasks)
{
    for (size_t i = 0; i < program->num_ops; i++) {
        uint32_t node = program->ops[i].node;
        if (program->ops[i].kind == BRAID_STEP_RUN && program->kinds[node] == WORK_QUEUE)
            return braid_error(
                BRAID_UNSUPPORTED,
                "node %s is a queue call inside a loop or branch, where no launch makes it",
                braid_node_text(node, tasks->items[node].name).text);
    }
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = refuse_queue_calls(&program->bodies[i], tasks);
    return status;
}

braid_status braid_streams_check(const struct stage *stage)
{
    const struct program *program = stage->program;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = refuse_queue_calls(&program->bodies[i], program->tasks);
    return status;
}

static void mark_inside(const struct program *program, bool *is_inside)
{
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        const struct program *body = &program->bodies[i];
        is_inside[body->node] = true;
        for (size_t k = 0; k < body->num_ops; k++)
            is_inside[body->ops[k].node] = true;
        mark_inside(body, is_inside);
    }
}

static braid_status make_loops(struct streams_playing *streams, const struct stage *stage)
{
    struct streams_loops *loops = calloc(1, sizeof(*loops));
    if (!loops)
        return braid_error_no_memory("an exec");
    streams->loops = loops;
    loops->frame = stage->frame;
    loops->tasks = stage->program->tasks;
    pthread_mutex_init(&loops->lock, NULL);
    pthread_cond_init(&loops->has_ended, NULL);
    loops->is_inside = braid_allocate_zeroed(loops->tasks->num, sizeof(bool));
    if (!loops->is_inside)
        return braid_error_no_memory("an exec");
    mark_inside(stage->program, loops->is_inside);
    return braid_streams_values_take(loops, &loops->now);
}

static braid_status make_loop(struct streams_playing *streams, const struct stage *stage,
                              const struct program *body, struct stream_loop *loop)
{
    const struct backend_task *task = &stage->frame->tasks[body->node];
    struct stage inner = *stage;
    struct playing *playing = NULL;
    loop->loops = streams->loops;
    loop->is_outermost = stage->program->region == PLAN_NONE;
    loop->counter = &stage->frame->iterations[task->work.loop.number];
    loop->call = (struct backend_task){
        .kind = WORK_HOST,
        .name = task->name,
        .node = task->node,
        .lane = task->lane,
        .host = { .call = braid_streams_iterate, .user = loop, .is_blocking = true },
    };
    inner.program = body;
    if (body->is_else)
        loop[-1].other = loop;
    braid_status status = braid_streams_create(&inner, streams->loops, &playing);
    if (status)
        return status;
    loop->body = (struct streams_playing *)playing;
    streams->base.num_streams += playing->num_streams;
    streams->base.num_events += playing->num_events;
    if (body->is_else)
        return BRAID_OK;
    status = braid_device_lease_stream(streams->device, &loop->stream);
    streams->base.num_streams += !status;
    return status;
}

braid_status braid_streams_loops_create(struct streams_playing *streams, const struct stage *stage)
{
    const struct program *program = stage->program;
    if (!program->num_bodies)
        return BRAID_OK;
    braid_status status = streams->loops ? BRAID_OK : make_loops(streams, stage);
    if (status)
        return status;
    streams->inner = braid_allocate_zeroed(program->num_bodies, sizeof(*streams->inner));
    if (!streams->inner)
        return braid_error_no_memory("an exec");
    for (uint32_t i = 0; i < program->num_bodies && !status; i++)
        status = make_loop(streams, stage, &program->bodies[i], &streams->inner[i]);
    return status;
}

static void free_loop(struct streams_playing *streams, struct stream_loop *loop)
{
    if (loop->body)
        braid_streams_destroy(&loop->body->base);
    if (loop->stream)
        braid_device_return_stream(streams->device, loop->stream);
    braid_array_finish(&loop->queued);
}

static void free_loops(struct streams_loops *loops)
{
    braid_streams_values_free(loops->now);
    braid_streams_values_free(loops->spare);
    pthread_cond_destroy(&loops->has_ended);
    pthread_mutex_destroy(&loops->lock);
    free(loops->is_inside);
    free(loops);
}

void braid_streams_loops_destroy(struct streams_playing *streams)
{
    struct streams_loops *loops = streams->loops;
    bool is_whole = streams->program->region == PLAN_NONE;
    if (!loops)
        return;
    pthread_mutex_lock(&loops->lock);
    while (is_whole && loops->num_running)
        pthread_cond_wait(&loops->has_ended, &loops->lock);
    pthread_mutex_unlock(&loops->lock);
    for (uint32_t i = 0; streams->inner && i < streams->program->num_bodies; i++)
        free_loop(streams, &streams->inner[i]);
    free(streams->inner);
    if (is_whole)
        free_loops(loops);
}

static bool push(struct stream_loop *loop, const struct streams_playing *streams)
{
    pthread_mutex_lock(&loop->loops->lock);
    struct loop_call *slot = braid_array_append(&loop->queued, 1, sizeof(*slot));
    if (slot) {
        *slot = (struct loop_call){ streams->values, streams->launch };
        streams->values->num_users++;
    }
    pthread_mutex_unlock(&loop->loops->lock);
    return slot;
}

void braid_streams_loops_begin(struct streams_playing *streams)
{
    if (!streams->loops || streams->program->region != PLAN_NONE)
        return;
    streams->values = streams->loops->now;
    streams->launch++;
}

braid_status braid_streams_enter(struct streams_playing *streams, const braid_step *op,
                                 const struct stream_lane *lane)
{
    struct stream_loop *loop = &streams->inner[op->position];
    if (!push(loop, streams))
        return braid_error_no_memory("a loop");
    braid_status status = braid_streams_submit(streams, &loop->call, lane);
    if (status) { // the call goes; its values have the launch as a user
        pthread_mutex_lock(&loop->loops->lock);
        loop->queued.num--;
        streams->values->num_users--;
        pthread_mutex_unlock(&loop->loops->lock);
    }
    return status;
}

// Before a launch, so that nothing of a failed one is seen by any.
braid_status braid_streams_update(struct playing *playing, const struct backend_task *const *tasks,
                                  uint32_t num, uint32_t frame)
{
    struct streams_playing *streams = (struct streams_playing *)playing;
    struct streams_loops *loops = streams->loops;
    struct streams_values *values;
    bool changes = false;
    (void)frame; // one at a time
    for (uint32_t i = 0; loops && i < num; i++)
        changes = changes || loops->is_inside[tasks[i]->node];
    if (!changes)
        return BRAID_OK;
    braid_status status = braid_streams_values_take(loops, &values);
    if (status)
        return status;
    braid_streams_values_leave(loops, loops->now);
    loops->now = values;
    return BRAID_OK;
}

braid_status braid_streams_tell_failure(struct playing *playing)
{
    struct streams_loops *loops = ((struct streams_playing *)playing)->loops;
    char message[ERROR_MESSAGE_BYTES];
    if (!loops)
        return BRAID_OK;
    pthread_mutex_lock(&loops->lock);
    braid_status status = loops->failure;
    loops->failure = BRAID_OK;
    memcpy(message, loops->message, sizeof(message));
    pthread_mutex_unlock(&loops->lock);
    return status ? braid_error(status, "%.900s", message) : BRAID_OK;
}
