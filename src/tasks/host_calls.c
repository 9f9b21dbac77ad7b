// SPDX-License-Identifier: Apache-2.0
// The host calls of a frame's tasks.
#include "tasks/host_calls.h"

#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/inside.h"

// Marks the thread as inside a host call, so that calls forbidden there are refused.
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

braid_status braid_host_call_put(struct host_calls *calls, struct work_host work,
                                 struct backend_task *task)
{
    struct host_call *call = calls->first;
    if (call)
        calls->first = call->next;
    else
        call = malloc(sizeof(*call));
    if (!call)
        return braid_error_no_memory("a host call");
    call->next = NULL;
    call->work = work;
    atomic_init(&call->num_begun, 0);
    atomic_init(&call->num_run, 0);
    task->host = (struct work_host){ .call = run, .user = call, .is_blocking = work.is_blocking };
    return BRAID_OK;
}

void braid_host_call_put_none(struct backend_task *task)
{
    task->host = (struct work_host){ .call = run_none };
}

void braid_host_call_leave(struct host_calls *calls, const struct backend_task *task)
{
    struct host_call *call = task->host.user;
    if (!call)
        return;
    call->next = calls->first;
    calls->first = call;
}

static void free_call(struct host_call *call)
{
    const struct timespec pause = { .tv_nsec = 50000 };
    while (atomic_load_explicit(&call->num_run, memory_order_acquire) <
           atomic_load(&call->num_begun))
        nanosleep(&pause, NULL);
    free(call);
}

struct work_host braid_host_call_work(const struct backend_task *task)
{
    const struct host_call *call = task->host.user;
    return call->work;
}

void braid_host_calls_finish(struct host_calls *calls)
{
    while (calls->first) {
        struct host_call *call = calls->first;
        calls->first = call->next;
        free_call(call);
    }
}
