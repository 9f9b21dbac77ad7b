// SPDX-License-Identifier: Apache-2.0
// Points: moments that streams, lanes and host threads wait for.

#include "backends/cpu/cpu.h"
#include "base/error.h"
#include "base/host_memory.h"

// ---- points ----

// A wait captures the event's latest record by taking a reference to that record's point. Recording
// the event again gives it another point, and destroying it drops only the event's own reference,
// so older waits are not disturbed by either.

// Makes a point new again that nobody else has a reference to.
static void cpu_point_renew(struct cpu_point *point)
{
    atomic_store_explicit(&point->state, CPU_POINT_AHEAD, memory_order_relaxed);
    atomic_store_explicit(&point->num_references, 1, memory_order_relaxed);
    point->time_ns = 0;
}

struct cpu_point *braid_cpu_point_create(struct cpu_backend *backend, bool timing)
{
    struct cpu_point *point =
        braid_cpu_pool_take(&backend->points, &backend->slabs, sizeof(*point));
    if (!point)
        return NULL;
    cpu_point_renew(point);
    point->timing = timing;
    point->hosts = NULL;
    point->waiting = (struct cpu_job_list){ 0 };
    return point;
}

void braid_cpu_point_add_reference(struct cpu_point *point)
{
    atomic_fetch_add_explicit(&point->num_references, 1, memory_order_relaxed);
}

void braid_cpu_point_release(struct cpu_backend *backend, struct cpu_point *point)
{
    if (point && atomic_fetch_sub_explicit(&point->num_references, 1, memory_order_acq_rel) == 1)
        braid_cpu_pool_put(&backend->points, point);
}

bool braid_cpu_point_watch(struct cpu_point *point)
{
    unsigned state = CPU_POINT_AHEAD;
    return atomic_compare_exchange_strong_explicit(&point->state, &state, CPU_POINT_WATCHED,
                                                   memory_order_acquire, memory_order_acquire) ||
           state == CPU_POINT_WATCHED;
}

// True: somebody may wait.
static bool reach(struct cpu_point *point)
{
    if (point->timing)
        point->time_ns = clock_now_ns();
    return atomic_exchange_explicit(&point->state, CPU_POINT_REACHED, memory_order_acq_rel) ==
           CPU_POINT_WATCHED;
}

// Lock held.
static void wake_all(struct cpu_backend *backend, struct cpu_point *point)
{
    struct cpu_job *job;
    while ((job = braid_cpu_job_list_take(&point->waiting)))
        braid_cpu_job_make_ready(backend, job);
    braid_cpu_wake_all(backend, &point->hosts);
}

void braid_cpu_point_reach(struct cpu_backend *backend, struct cpu_point *point)
{
    if (!reach(point))
        return;
    cpu_lock(backend);
    wake_all(backend, point);
    cpu_unlock(backend);
}

void braid_cpu_point_reach_locked(struct cpu_backend *backend, struct cpu_point *point)
{
    if (reach(point))
        wake_all(backend, point);
}

// Until the point is reached or something else has happened since `seen` (true), or the spin is
// over (false). Lock not held.
static bool poll(struct cpu_backend *backend, const struct cpu_point *point, unsigned seen,
                 struct cpu_spin *spin)
{
    do {
        for (int i = 0; i < 16; i++) {
            if (cpu_point_is_reached(point) ||
                atomic_load_explicit(&backend->epoch, memory_order_relaxed) != seen)
                return true;
            braid_cpu_relax();
        }
    } while (braid_cpu_spin_goes_on(backend, spin));
    return false;
}

// Lock held, but not while the thread works or polls.
static void lend_hand_for_a_while(struct cpu_backend *backend, const struct cpu_point *point)
{
    struct cpu_spin spin = braid_cpu_spin_begin();
    bool goes_on = true;
    while (!cpu_point_is_reached(point) && goes_on) {
        unsigned seen = atomic_load_explicit(&backend->epoch, memory_order_relaxed);
        if (braid_cpu_other_work_is_ready(backend) && braid_cpu_workers_lend_hand(backend, point)) {
            if (braid_cpu_worker_is_in_the_way(backend))
                return;
            spin = braid_cpu_spin_begin();
            continue;
        }
        cpu_unlock(backend);
        goes_on = poll(backend, point, seen, &spin) && clock_now_ns() < spin.end_ns;
        cpu_lock(backend);
    }
}

// Lock held.
static void sleep_until(struct cpu_backend *backend, struct cpu_point *point)
{
    if (!braid_cpu_point_watch(point))
        return;
    struct cpu_sleeper sleeper;
    braid_cpu_sleeper_init(&sleeper);
    braid_cpu_sleep(backend, &sleeper, &point->hosts);
    braid_cpu_sleeper_finish(&sleeper);
}

// Lock held. Once the point is reached, its stream may be gone, unless the thread lends a hand.
static void wait_for_point(struct cpu_backend *backend, struct cpu_point *point)
{
    if (cpu_point_is_reached(point))
        return;
    struct cpu_job *stream = point->stream;
    struct cpu_seat seat;
    braid_cpu_seat_init(&seat);
    braid_cpu_seat_begin_turn(&seat);
    braid_cpu_seat_take(backend, &seat);
    braid_cpu_workers_begin_lending(stream);
    lend_hand_for_a_while(backend, point);
    braid_cpu_seat_leave(backend);
    braid_cpu_workers_end_lending(backend, stream);
    sleep_until(backend, point);
}

// If no worker has begun the work, the waiting thread runs it: waking a worker and being woken by
// it takes longer than most frames. Then it polls for a while before it sleeps. It cannot be
// cancelled meanwhile: neither the work nor the waking thread would survive that.
void braid_cpu_point_host_wait(struct cpu_backend *backend, struct cpu_point *point)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    cpu_lock(backend);
    wait_for_point(backend, point);
    cpu_unlock(backend);
    pthread_setcancelstate(cancel_state, NULL);
}

// ---- events: each record gives the event a new point ----

struct cpu_event {
    struct backend_event base;
    struct cpu_point *latest; // issue lock; NULL: never recorded
};

static struct cpu_event *event_of(struct backend_event *event)
{
    return (struct cpu_event *)event;
}

braid_status braid_cpu_event_create(struct backend *base, bool timing,
                                    struct backend_event **out_event)
{
    (void)base;
    struct cpu_event *event = braid_allocate_zeroed(1, sizeof(*event));
    if (!event)
        return braid_error_no_memory("an event");
    event->base.timing = timing;
    *out_event = &event->base;
    return BRAID_OK;
}

void braid_cpu_event_destroy(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    if (!event)
        return;
    braid_cpu_point_release(backend, event_of(event)->latest);
    braid_free(event);
}

// A point for the event's next record: the one of its last record, if that was run and nobody else
// looks at it. Issue lock held, as in all below, so that none of them reports an error, which would
// call the program. NULL: no memory.
static struct cpu_point *next_point(struct cpu_backend *backend, struct cpu_event *event)
{
    struct cpu_point *latest = event->latest;
    if (latest && atomic_load_explicit(&latest->num_references, memory_order_acquire) == 1)
        return latest;
    return braid_cpu_point_create(backend, event->base.timing);
}

// Two references: the command's and the event's.
static bool append_record(struct cpu_backend *backend, struct cpu_event *event,
                          struct cpu_stream *stream)
{
    struct cpu_command *command =
        braid_cpu_command_reserve(backend, stream, CPU_COMMAND_BYTES(point));
    struct cpu_point *point = command ? next_point(backend, event) : NULL;
    if (!point)
        return false;
    if (point != event->latest)
        braid_cpu_point_release(backend, event->latest);
    event->latest = point;
    cpu_point_renew(point);
    braid_cpu_point_add_reference(point);
    braid_cpu_stream_append_record(backend, stream, command, point);
    return true;
}

braid_status braid_cpu_event_record(struct backend *base, struct backend_event *event,
                                    struct backend_stream *stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    bool queued = append_record(backend, event_of(event), braid_cpu_stream_of(backend, stream));
    cpu_issue_unlock(backend);
    return queued ? BRAID_OK : braid_error_no_memory("a record");
}

// A record on the same stream leaves nothing to wait for.
static bool is_behind(const struct cpu_stream *stream, const struct cpu_point *point)
{
    return cpu_point_is_reached(point) || point->stream == &stream->job;
}

static bool append_wait(struct cpu_backend *backend, struct cpu_stream *stream,
                        struct cpu_point *point)
{
    struct cpu_command *command =
        braid_cpu_command_reserve(backend, stream, CPU_COMMAND_BYTES(point));
    if (!command)
        return false;
    braid_cpu_point_add_reference(point);
    command->kind = CPU_COMMAND_WAIT;
    command->point = point;
    braid_cpu_stream_append(backend, stream, command);
    return true;
}

// A satisfied wait queues nothing.
braid_status braid_cpu_stream_wait(struct backend *base, struct backend_stream *base_stream,
                                   struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    struct cpu_stream *stream = braid_cpu_stream_of(backend, base_stream);
    cpu_issue_lock(backend);
    struct cpu_point *point = event_of(event)->latest;
    bool queued = is_behind(stream, point) || append_wait(backend, stream, point);
    cpu_issue_unlock(backend);
    return queued ? BRAID_OK : braid_error_no_memory("a wait");
}

braid_status braid_cpu_event_query(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    bool reached = cpu_point_is_reached(event_of(event)->latest);
    cpu_issue_unlock(backend);
    return reached ? BRAID_OK : BRAID_NOT_READY;
}

braid_status braid_cpu_event_synchronize(struct backend *base, struct backend_event *event)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    struct cpu_point *latest = event_of(event)->latest;
    bool reached = cpu_point_is_reached(latest);
    if (!reached)
        braid_cpu_point_add_reference(latest);
    cpu_issue_unlock(backend);
    if (reached)
        return BRAID_OK;
    braid_cpu_point_host_wait(backend, latest);
    braid_cpu_point_release(backend, latest);
    return BRAID_OK;
}

static braid_status elapsed(const struct cpu_point *start, const struct cpu_point *end,
                            uint64_t *out_ns)
{
    if (!start || !end)
        return BRAID_WRONG_STATE;
    if (!cpu_point_is_reached(start) || !cpu_point_is_reached(end))
        return BRAID_NOT_READY;
    *out_ns = end->time_ns > start->time_ns ? end->time_ns - start->time_ns : 0;
    return BRAID_OK;
}

braid_status braid_cpu_event_elapsed(struct backend *base, struct backend_event *start,
                                     struct backend_event *end, uint64_t *out_ns)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_issue_lock(backend);
    braid_status status = elapsed(event_of(start)->latest, event_of(end)->latest, out_ns);
    cpu_issue_unlock(backend);
    return status == BRAID_WRONG_STATE
               ? braid_error(status, "cpu: elapsed time of an event never recorded")
               : status;
}
