// SPDX-License-Identifier: Apache-2.0
// The host calls of a frame's tasks.
#include "program/host_calls.h"

#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/inside.h"

// So that what host calls must not do is known as theirs.
static void run(void *user)
{
    struct host_call *call = user;
    struct inside inside;
    atomic_fetch_add(&call->num_begun, 1);
    braid_inside_begin(&inside, "a host call", NULL);
    call->work.call(call->work.user);
    braid_inside_end(&inside);
    atomic_fetch_add_explicit(&call->num_run, 1, memory_order_release);
}

static void run_none(void *user)
{
    (void)user;
}

static bool was_run(struct host_call *call)
{
    return atomic_load_explicit(&call->num_run, memory_order_acquire) == call->num_launched;
}

static void append(struct host_calls *calls, struct host_call *call)
{
    call->next = NULL;
    if (calls->last)
        calls->last->next = call;
    else
        calls->first = call;
    calls->last = call;
}

static struct host_call *take_first(struct host_calls *calls)
{
    struct host_call *call = calls->first;
    calls->first = call->next;
    calls->last = calls->first ? calls->last : NULL;
    return call;
}

// One that every frame launched with it has run; NULL: none is found quickly. A frame that failed
// half-way may never run its call: such a one is put behind the others, lest it hide them.
static struct host_call *take_run(struct host_calls *calls)
{
    for (int i = 0; i < 2 && calls->first; i++) {
        struct host_call *call = take_first(calls);
        if (was_run(call))
            return call;
        append(calls, call);
    }
    return NULL;
}

braid_status braid_host_call_put(struct host_calls *calls, struct work_host work,
                                 uint64_t num_launches, struct backend_task *task)
{
    struct host_call *call = take_run(calls);
    if (!call)
        call = malloc(sizeof(*call));
    if (!call)
        return braid_error_no_memory("a host call");
    call->next = NULL;
    call->work = work;
    call->launched_before = num_launches;
    call->num_launched = 0;
    atomic_init(&call->num_begun, 0);
    atomic_init(&call->num_run, 0);
    task->host = (struct work_host){ .call = run, .user = call, .is_blocking = work.is_blocking };
    return BRAID_OK;
}

void braid_host_call_put_none(struct backend_task *task)
{
    task->host = (struct work_host){ .call = run_none };
}

void braid_host_call_replace(struct host_calls *calls, uint64_t num_launches,
                             const struct backend_task *task)
{
    struct host_call *call = task->host.user;
    if (!call)
        return;
    call->num_launched = num_launches - call->launched_before;
    append(calls, call);
}

static void free_call(struct host_call *call)
{
    const struct timespec pause = { .tv_nsec = 50000 };
    while (call && atomic_load_explicit(&call->num_run, memory_order_acquire) <
                       atomic_load(&call->num_begun))
        nanosleep(&pause, NULL);
    free(call);
}

void braid_host_call_discard(const struct backend_task *task)
{
    free_call(task->host.user);
}

struct work_host braid_host_call_work(const struct backend_task *task)
{
    const struct host_call *call = task->host.user;
    return call->work;
}

void braid_host_calls_finish(struct host_calls *calls)
{
    while (calls->first)
        free_call(take_first(calls));
    calls->last = NULL;
}
