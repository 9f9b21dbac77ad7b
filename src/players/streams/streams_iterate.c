// SPDX-License-Identifier: Apache-2.0
// Loops on streams: the thread that queues iterations until one is the last.
#include "players/streams/streams_loops.h"

#include <stdio.h>

#include "base/node_text.h"

static void clear_counts(struct stream_loop *loop, uint64_t launch)
{
    atomic_store_explicit(loop->counter, 0, memory_order_relaxed);
    if (loop->body->times)
        braid_streams_times_clear(loop->body, launch);
    for (uint32_t i = 0; i < loop->body->program->num_bodies; i++)
        clear_counts(&loop->body->inner[i], launch);
}

// Counts are of a frame, also where a loop of it has failed and the others run no iteration.
static void begin(struct stream_loop *loop)
{
    struct streams_loops *loops = loop->loops;
    pthread_mutex_lock(&loops->lock);
    struct loop_call *queued = loop->queued.items;
    for (struct stream_loop *arm = loop; arm; arm = arm->other) {
        arm->body->values = queued[0].values;
        arm->body->launch = queued[0].launch;
        arm->body->tasks = queued[0].values->tasks;
        if (loop->is_outermost)
            clear_counts(arm, queued[0].launch);
    }
    loop->queued.num--;
    for (size_t i = 0; i < loop->queued.num; i++)
        queued[i] = queued[i + 1];
    loops->num_running++;
    pthread_mutex_unlock(&loops->lock);
}

// Behind the unlock the playing may be gone.
static void end(struct streams_loops *loops)
{
    pthread_mutex_lock(&loops->lock);
    loops->num_running--;
    pthread_cond_broadcast(&loops->has_ended);
    pthread_mutex_unlock(&loops->lock);
}

// Once a loop has failed, all loops of the frame end, whether somebody was told or not.
static bool has_failed(struct stream_loop *loop)
{
    struct streams_loops *loops = loop->loops;
    pthread_mutex_lock(&loops->lock);
    bool failed = loops->failed_launch == loop->body->launch;
    pthread_mutex_unlock(&loops->lock);
    return failed;
}

// The first failure of a frame is the one to tell. It is logged here as well.
static void note_failure(struct stream_loop *loop, braid_status status)
{
    struct streams_loops *loops = loop->loops;
    status =
        braid_error(status, "%s %s ended early: %s",
                    braid_work_words[loops->tasks->items[loop->call.node].kind].kind,
                    braid_node_text(loop->call.node, loop->call.name).text, braid_error_message());
    pthread_mutex_lock(&loops->lock);
    if (!loops->failure && loops->failed_launch != loop->body->launch) {
        loops->failure = status;
        snprintf(loops->message, sizeof(loops->message), "%s", braid_error_message());
    }
    loops->failed_launch = loop->body->launch;
    pthread_mutex_unlock(&loops->lock);
}

static braid_status await(struct stream_loop *loop)
{
    struct backend *backend = loop->body->device->backend;
    braid_status status =
        backend->ops->stream_synchronize(backend, device_backend_stream(loop->stream));
    for (struct stream_loop *arm = loop; arm && !status; arm = arm->other)
        status = arm->body->times ? braid_streams_times_tally(arm->body) : BRAID_OK;
    return status;
}

// The condition lies in the host's memory.
static braid_status read_condition(struct stream_loop *loop, const uint32_t *condition,
                                   bool *out_goes_on)
{
    braid_status status = await(loop);
    *out_goes_on = *(const volatile uint32_t *)condition != 0;
    return status;
}

// If a loop of the frame fails, its queued iterations are awaited, so that nothing runs behind the
// loop. A wait may fail once. If the second fails too, some work may still run.
static void settle(struct stream_loop *loop)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = BRAID_NOT_READY;
    for (int i = 0; i < 2 && status; i++) {
        status = await(loop);
        for (struct stream_loop *arm = loop; arm; arm = arm->other) {
            braid_status lanes = braid_streams_synchronize(&arm->body->base);
            status = status ? status : lanes;
        }
    }
    if (status)
        status = braid_device_fail(loop->body->device);
    braid_error_end_noted(&attempt, status);
}

static braid_status queue_body(struct stream_loop *loop, struct streams_playing *body)
{
    struct play_result result = { 0 };
    return braid_streams_launch(&body->base, loop->stream, &result);
}

static void count(struct stream_loop *loop, uint64_t num)
{
    uint64_t before = atomic_load_explicit(loop->counter, memory_order_relaxed);
    atomic_store_explicit(loop->counter, before + num, memory_order_relaxed);
}

static braid_status play_else(struct stream_loop *loop)
{
    if (has_failed(loop))
        return BRAID_OK;
    braid_status status = queue_body(loop, loop->other->body);
    return status ? status : await(loop);
}

static braid_status play(struct stream_loop *loop)
{
    const struct backend_task *tasks = loop->body->values->tasks;
    const struct work_loop *how = &tasks[loop->call.node].work.loop;
    braid_status status = BRAID_OK;
    bool goes_on = true;
    uint64_t num = 0, num_ended = 0;
    if (how->condition && how->tests_first)
        status = read_condition(loop, how->condition, &goes_on);
    if (!status && !goes_on && loop->other)
        return play_else(loop);
    const uint32_t *cancelled = tasks[loop->call.node].cancelled;
    while (!status && goes_on && !has_failed(loop) && !note_is_cancelled(cancelled)) {
        status = queue_body(loop, loop->body);
        if (status)
            break;
        goes_on = ++num < how->most;
        if (how->condition && goes_on)
            status = read_condition(loop, how->condition, &goes_on);
        else if (!goes_on || num % STREAMS_MOST_QUEUED == 0)
            status = await(loop);
        else
            continue;
        count(loop, num - num_ended);
        num_ended = num;
    }
    count(loop, num - num_ended);
    return status;
}

void braid_streams_iterate(void *user)
{
    struct stream_loop *loop = user;
    struct streams_loops *loops = loop->loops;
    begin(loop);
    braid_status status = has_failed(loop) ? BRAID_OK : play(loop);
    if (status)
        note_failure(loop, status);
    if (has_failed(loop))
        settle(loop);
    braid_streams_values_leave(loops, loop->body->values);
    end(loops);
}
