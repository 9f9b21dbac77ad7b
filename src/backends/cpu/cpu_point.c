// SPDX-License-Identifier: Apache-2.0
// Points: moments that streams, lanes and host threads wait for.
#include "backends/cpu/cpu.h"

// A wait captures the event's latest record by taking a reference to that record's point. Recording
// the event again gives it another point, and destroying it drops only the event's own reference,
// so older waits are not disturbed by either.

static void recycle(struct cpu_backend *backend, struct cpu_point *point)
{
    point->next = backend->free_points;
    backend->free_points = point;
}

static bool grow(struct cpu_backend *backend)
{
    size_t num = braid_cpu_slab_items(backend->num_points, sizeof(struct cpu_point));
    struct cpu_point *points = braid_cpu_slab_create(backend, num, sizeof(*points));
    if (!points)
        return false;
    for (size_t i = 0; i < num; i++)
        recycle(backend, &points[i]);
    backend->num_points += num;
    return true;
}

struct cpu_point *braid_cpu_point_create(struct cpu_backend *backend, bool timing)
{
    if (!backend->free_points && !grow(backend))
        return NULL;
    struct cpu_point *point = backend->free_points;
    backend->free_points = point->next;
    atomic_store_explicit(&point->reached, false, memory_order_relaxed);
    point->time_ns = 0;
    point->timing = timing;
    point->num_references = 1;
    point->hosts = NULL;
    point->waiting = (struct cpu_job_list){ 0 };
    point->next = NULL;
    return point;
}

void braid_cpu_point_release(struct cpu_backend *backend, struct cpu_point *point)
{
    if (!point || --point->num_references)
        return;
    recycle(backend, point);
}

void braid_cpu_point_reach(struct cpu_backend *backend, struct cpu_point *point)
{
    if (point->timing)
        point->time_ns = braid_cpu_now_ns();
    atomic_store_explicit(&point->reached, true, memory_order_release);
    struct cpu_job *job;
    while ((job = braid_cpu_job_list_take(&point->waiting)))
        braid_cpu_job_make_ready(backend, job);
    braid_cpu_wake_all(backend, &point->hosts);
}

static bool is_reached(const struct cpu_point *point)
{
    return atomic_load_explicit(&point->reached, memory_order_acquire);
}

// Until the point is reached or something else has happened since `seen` (true), or the spin is
// over (false). Lock not held.
static bool poll(struct cpu_backend *backend, const struct cpu_point *point, unsigned seen,
                 struct cpu_spin *spin)
{
    do {
        for (int i = 0; i < 16; i++) {
            if (is_reached(point) ||
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
    while (!is_reached(point) && goes_on) {
        unsigned seen = atomic_load_explicit(&backend->epoch, memory_order_relaxed);
        if (braid_cpu_other_work_is_ready(backend) && braid_cpu_workers_lend_hand(backend, point)) {
            if (braid_cpu_worker_is_in_the_way(backend))
                return;
            spin = braid_cpu_spin_begin();
            continue;
        }
        cpu_unlock(backend);
        goes_on = poll(backend, point, seen, &spin) && braid_cpu_now_ns() < spin.end_ns;
        cpu_lock(backend);
    }
}

// A thread that waits runs what it waits for, if no worker has begun: to wake a sleeping worker and
// to be woken by it takes longer than most frames. Then it polls for a while before it sleeps. It
// cannot be cancelled meanwhile: neither the work it runs nor whoever wakes it would get over that.
void braid_cpu_point_host_wait(struct cpu_backend *backend, struct cpu_point *point)
{
    if (is_reached(point))
        return;
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    struct cpu_job *stream = point->stream;
    point->num_references++;
    struct cpu_seat seat;
    braid_cpu_seat_init(&seat);
    braid_cpu_seat_take(backend, &seat);
    braid_cpu_workers_begin_lending(stream);
    lend_hand_for_a_while(backend, point);
    braid_cpu_seat_leave(backend);
    braid_cpu_workers_end_lending(backend, stream);
    if (!is_reached(point)) {
        struct cpu_sleeper sleeper;
        braid_cpu_sleeper_init(&sleeper);
        braid_cpu_sleep(backend, &sleeper, &point->hosts);
        braid_cpu_sleeper_finish(&sleeper);
    }
    braid_cpu_point_release(backend, point);
    pthread_setcancelstate(cancel_state, NULL);
}
