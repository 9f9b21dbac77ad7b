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
    size_t num = cpu_slab_items(backend->num_points, sizeof(struct cpu_point));
    struct cpu_point *points = cpu_slab_create(backend, num, sizeof(*points));
    if (!points)
        return false;
    for (size_t i = 0; i < num; i++)
        recycle(backend, &points[i]);
    backend->num_points += num;
    return true;
}

struct cpu_point *cpu_point_create(struct cpu_backend *backend, bool timing)
{
    if (!backend->free_points && !grow(backend))
        return NULL;
    struct cpu_point *point = backend->free_points;
    backend->free_points = point->next;
    atomic_store_explicit(&point->reached, false, memory_order_relaxed);
    point->time_ns = 0;
    point->timing = timing;
    point->num_references = 1;
    point->num_host_waiters = 0;
    point->waiting = (struct cpu_job_list){ 0 };
    point->next = NULL;
    return point;
}

void cpu_point_release(struct cpu_backend *backend, struct cpu_point *point)
{
    if (!point || --point->num_references)
        return;
    recycle(backend, point);
}

void cpu_point_reach(struct cpu_backend *backend, struct cpu_point *point)
{
    if (point->timing)
        point->time_ns = cpu_now_ns();
    atomic_store_explicit(&point->reached, true, memory_order_release);
    struct cpu_job *job;
    while ((job = cpu_job_list_take(&point->waiting)))
        cpu_job_make_ready(backend, job);
    if (point->num_host_waiters)
        pthread_cond_broadcast(&backend->host_cond);
}

static void poll_for_a_moment(const struct cpu_point *point)
{
    for (int i = 0; i < 16; i++) {
        if (atomic_load_explicit(&point->reached, memory_order_acquire))
            return;
        cpu_relax();
    }
}

// A thread that waits runs what it waits for, if no worker has begun: to wake a sleeping worker and
// to be woken by it takes longer than most frames. Then it polls for a while before it sleeps.
void cpu_point_host_wait(struct cpu_backend *backend, struct cpu_point *point)
{
    point->num_references++;
    uint64_t end = cpu_now_ns() + CPU_SPIN_NS;
    while (!atomic_load_explicit(&point->reached, memory_order_relaxed) && cpu_now_ns() < end) {
        if (cpu_other_work_is_ready(backend) && cpu_workers_lend_hand(backend, point)) {
            end = cpu_now_ns() + CPU_SPIN_NS;
            continue;
        }
        cpu_unlock(backend);
        poll_for_a_moment(point);
        cpu_lock(backend);
    }
    point->num_host_waiters++;
    while (!atomic_load_explicit(&point->reached, memory_order_relaxed))
        pthread_cond_wait(&backend->host_cond, &backend->lock);
    point->num_host_waiters--;
    cpu_point_release(backend, point);
}
