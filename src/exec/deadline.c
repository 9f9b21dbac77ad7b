// SPDX-License-Identifier: Apache-2.0
// The part that tells of frames that have not ended by their deadline: such frames are late.
//
// Waits look for late frames themselves. If there is a callback, a thread of the exec sleeps until
// the next deadline. While it knows of none, the next launch wakes it. A launch does no more.
#include <pthread.h>
#include <stdatomic.h>

#include "base/blockers.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/inside.h"
#include "exec/exec.h"
#include "exec/exec_parts.h"

struct deadline {
    struct exec_part part;
    braid_exec *exec;
    uint64_t ns;
    _Atomic uint64_t num_told;     // frames that no wait tells of any more
    braid_deadline_function *call; // NULL: there is no thread
    void *user;
    struct blockers thread;
    atomic_bool is_idle; // the thread may sleep until a launch wakes it
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_woken, stops; // guarded by lock
};

static const struct exec_part_ops ops;

static struct deadline *find(const braid_exec *exec)
{
    return (struct deadline *)braid_exec_find_part(exec->parts, &ops);
}

// Returns the deadline of the first frame from *frame on that has not ended; UINT64_MAX: there is
// none.
static uint64_t find_next(const struct deadline *deadline, uint64_t *frame)
{
    uint64_t num_ended = braid_exec_count_ended(deadline->exec);
    *frame = *frame < num_ended ? num_ended : *frame;
    uint64_t ns = braid_exec_launched_ns(deadline->exec, *frame);
    return ns > UINT64_MAX - deadline->ns ? UINT64_MAX : ns + deadline->ns;
}

static bool find_late(const struct deadline *deadline, uint64_t *frame)
{
    return find_next(deadline, frame) <= clock_now_ns();
}

uint64_t braid_exec_deadline_ns(const braid_exec *exec)
{
    const struct deadline *deadline = find(exec);
    return deadline ? deadline->ns : 0;
}

bool braid_exec_take_late(const braid_exec *exec, uint64_t last, uint64_t *out_first,
                          uint64_t *out_last)
{
    struct deadline *deadline = find(exec);
    uint64_t num_told = deadline ? atomic_load(&deadline->num_told) : 0, first = num_told;
    if (!deadline || !find_late(deadline, &first) || first > last)
        return false;
    uint64_t end = first + 1;
    while (end <= last && find_late(deadline, &end))
        end++;
    *out_first = first;
    *out_last = end - 1;
    return atomic_compare_exchange_strong(&deadline->num_told, &num_told, end);
}

static void tell(const struct deadline *deadline, uint64_t frame)
{
    braid_running_node nodes[MOST_RUNNING];
    struct inside inside;
    size_t num = braid_exec_find_nodes(deadline->exec, nodes, MOST_RUNNING);
    braid_inside_begin(&inside, "a deadline's callback", NULL);
    deadline->call(frame, nodes, num < MOST_RUNNING ? num : MOST_RUNNING, deadline->user);
    braid_inside_end(&inside);
}

// Until the time, or until it is woken. False: the thread stops.
static bool sleep_until(struct deadline *deadline, uint64_t ns)
{
    const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000),
                                   .tv_nsec = (long)(ns % 1000000000) };
    int error = 0;
    pthread_mutex_lock(&deadline->lock);
    while (!deadline->is_woken && !deadline->stops && !error)
        error = ns == UINT64_MAX ? pthread_cond_wait(&deadline->wake, &deadline->lock)
                                 : pthread_cond_timedwait(&deadline->wake, &deadline->lock, &time);
    deadline->is_woken = false;
    bool stops = deadline->stops;
    pthread_mutex_unlock(&deadline->lock);
    return !stops;
}

// It looks for frames after it has said that it is idle. A launch asks for that behind its mark.
static void watch(void *user)
{
    struct deadline *deadline = user;
    uint64_t frame = 0, next_ns = UINT64_MAX;
    while (sleep_until(deadline, next_ns)) {
        atomic_store(&deadline->is_idle, true);
        next_ns = find_next(deadline, &frame);
        if (next_ns < UINT64_MAX)
            atomic_store(&deadline->is_idle, false);
        if (next_ns <= clock_now_ns())
            tell(deadline, frame++);
    }
}

static void wake(struct deadline *deadline, bool stops)
{
    pthread_mutex_lock(&deadline->lock);
    deadline->is_woken = true;
    deadline->stops = stops;
    pthread_cond_signal(&deadline->wake);
    pthread_mutex_unlock(&deadline->lock);
}

static braid_status after_launch(struct exec_part *part, braid_exec *exec,
                                 const struct exec_launch *launch)
{
    struct deadline *deadline = (struct deadline *)part;
    (void)exec;
    (void)launch;
    if (atomic_exchange(&deadline->is_idle, false))
        wake(deadline, false);
    return BRAID_OK;
}

void braid_exec_stop_deadline(const braid_exec *exec)
{
    struct deadline *deadline = find(exec);
    if (!deadline)
        return;
    wake(deadline, true);
    braid_blockers_finish(&deadline->thread);
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct deadline *deadline = (struct deadline *)part;
    (void)exec;
    pthread_mutex_destroy(&deadline->lock);
    pthread_cond_destroy(&deadline->wake);
    braid_free(deadline);
}

static const struct exec_part_ops ops = {
    .after_launch = after_launch,
    .finish = finish,
};

static void init_wake(struct deadline *deadline)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&deadline->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&deadline->lock, NULL);
}

braid_status braid_exec_add_deadline(braid_exec *exec, const braid_exec_options *options)
{
    if (!options->deadline_ns)
        return BRAID_OK;
    struct deadline *deadline = braid_allocate_pages(sizeof(*deadline));
    if (!deadline)
        return braid_error_no_memory("the deadline of an exec");
    deadline->part.ops = &ops;
    deadline->exec = exec;
    deadline->ns = options->deadline_ns;
    deadline->call = options->on_deadline;
    deadline->user = options->on_deadline_user;
    atomic_init(&deadline->is_idle, deadline->call);
    init_wake(deadline);
    braid_blockers_init(&deadline->thread, watch, NULL, NULL);
    braid_exec_add_part(&exec->parts, &deadline->part);
    if (deadline->call && !braid_blockers_run(&deadline->thread, deadline))
        return braid_error_no_memory("the thread of a deadline");
    return BRAID_OK;
}
