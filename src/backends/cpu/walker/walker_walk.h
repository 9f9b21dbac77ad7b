// SPDX-License-Identifier: Apache-2.0
// The walk of a lane, as code for the two files that compile it.
#ifndef BRAID_BACKENDS_CPU_WALKER_WALKER_WALK_H
#define BRAID_BACKENDS_CPU_WALKER_WALKER_WALK_H

#include "backends/cpu/walker/walker.h"

#include "backends/cpu/walker/walker_profile.h"

// Sets the parked lanes free that wait for no more than `progress`. A lane that parks after the
// exchange in publish sees the new progress. One that parked before is in the list once the lock is
// taken.
static inline void unpark(struct cpu_backend *backend, struct cpu_lane *producer, uint64_t progress)
{
    cpu_lock(backend);
    struct cpu_job_list parked = producer->parked;
    producer->parked = (struct cpu_job_list){ 0 };
    struct cpu_job *job;
    while ((job = braid_cpu_job_list_take(&parked))) {
        struct cpu_lane *lane = cpu_lane_of_job(job);
        if (lane->wanted <= progress)
            braid_cpu_job_make_ready(backend, job);
        else
            braid_cpu_job_list_append(&producer->parked, job);
    }
    if (producer->parked.first)
        atomic_fetch_or_explicit(&producer->progress, 1, memory_order_relaxed);
    cpu_unlock(backend);
}

// One exchange both publishes and learns whether anybody is parked: no lane can park unseen.
static inline void publish_progress(struct cpu_backend *backend, struct cpu_lane *producer,
                                    uint64_t progress)
{
    uint64_t before = atomic_exchange_explicit(&producer->progress, progress, memory_order_acq_rel);
    if (before & 1)
        unpark(backend, producer, progress);
}

static inline void publish(struct cpu_backend *backend, struct cpu_lane *lane, uint32_t position)
{
    publish_progress(backend, lane, 2 * (uint64_t)position);
}

// False: the lane is parked, and the lock is held; without it, another thread may walk the lane.
static inline bool park(struct cpu_backend *backend, struct cpu_lane *lane,
                        const struct cpu_step *step)
{
    struct cpu_lane *producer = step->producer;
    uint64_t wanted = cpu_step_wanted(step);
    cpu_lock(backend);
    uint64_t progress = atomic_fetch_or_explicit(&producer->progress, 1, memory_order_acq_rel);
    bool reached = progress >= wanted;
    if (!reached) {
        lane->next = step;
        lane->wanted = wanted;
        atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
        braid_cpu_job_list_append(&producer->parked, &lane->job);
        return false;
    }
    cpu_unlock(backend);
    return true;
}

static inline void hand_on(struct cpu_backend *backend, struct cpu_lane *lane)
{
    cpu_lock(backend);
    braid_cpu_job_make_ready(backend, &lane->job);
    cpu_unlock(backend);
}

// False: the thread is to run *out_next instead of the lane, or nothing, with the lock held.
static inline bool wait_longer(struct cpu_backend *backend, struct cpu_lane *lane,
                               const struct cpu_step *step, struct cpu_job **out_next)
{
    struct cpu_lane *taken;
    enum cpu_poll_end end = braid_cpu_lane_poll(backend, lane, step, &taken);
    if (end == CPU_POLL_REACHED || (end != CPU_POLL_TAKEN && park(backend, lane, step))) {
        if (taken)
            hand_on(backend, taken);
        return true;
    }
    if (end == CPU_POLL_TAKEN)
        cpu_lock(backend);
    backend->in_the_way = end == CPU_POLL_IN_THE_WAY;
    *out_next = taken ? &taken->job : NULL;
    if (taken)
        cpu_unlock(backend);
    return false;
}

// The last lane to end sees all writes of the others, and its thread goes on with the stream. The
// others' threads go on with a lane that has been left open. Without one, they must not touch the
// program any more: it may be gone.
static inline struct cpu_job *finish(struct cpu_backend *backend, struct cpu_program *program)
{
    struct cpu_job *then = program->then;
    struct cpu_lane *taken = braid_cpu_program_take_over(program);
    unsigned before = atomic_fetch_sub_explicit(&program->num_unfinished, 1, memory_order_acq_rel);
    if (taken)
        return &taken->job;
    if (before == 1)
        return then;
    cpu_lock(backend);
    return NULL;
}

// The step is for a worker. The lock is held then.
static inline struct cpu_job *hand_over(struct cpu_backend *backend, struct cpu_lane *lane,
                                        const struct cpu_step *step)
{
    cpu_lock(backend);
    lane->next = step;
    atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
    braid_cpu_job_hand_over(backend, &lane->job);
    return NULL;
}

// For a thread of the program behind a grid that threads shared: it may take the lane again, until
// its turn is over. Linux lets a thread run for 3 or 4 ms. If other programs want the core, they
// have it then for several such turns, and the frame waits for this thread. A worker that slept
// goes first.
static inline struct cpu_job *hand_back(struct cpu_backend *backend, struct cpu_lane *lane,
                                        const struct cpu_step *step)
{
    struct cpu_job *none = hand_over(backend, lane, step);
    backend->in_the_way = braid_cpu_seat_turn_is_over();
    return none;
}

// A call that blocks is begun, and all else is for a worker.
static inline struct cpu_job *pass_share(struct cpu_backend *backend, struct cpu_lane *lane,
                                         struct cpu_lane_clock *clock, const struct cpu_step *step)
{
    lane->next = step + 1;
    atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
    if (clock)
        clock->step = step;
    if (braid_cpu_blocker_begin(backend, &lane->job, step->work)) {
        cpu_lock(backend);
        return NULL;
    }
    if (clock)
        clock->step = NULL;
    return hand_over(backend, lane, step);
}

// Compiled three times, in files of their own: with a clock, without one, and for threads that pass
// lanes on. `clock` and `passes` are constants in the first two, so that frames without times pay
// nothing.
static inline __attribute__((always_inline)) struct cpu_job *
walk(struct cpu_backend *backend, struct cpu_lane *lane, struct cpu_lane_clock *clock, bool passes)
{
    const struct cpu_profile *profile = clock ? lane->program->profile : NULL;
    struct cpu_job *next = NULL;
    atomic_store_explicit(&lane->walked, true, memory_order_relaxed);
    if (clock)
        cpu_lane_clock_resume(profile, clock, lane);
    for (const struct cpu_step *step = lane->next;; step++) {
        switch ((enum cpu_step_kind)step->kind) {
        case CPU_STEP_RUN:
            if (passes)
                return hand_over(backend, lane, step);
            step->call(step->blocks, step->args);
            if (clock)
                cpu_lane_clock_end(profile, clock, lane, step);
            if (step->position) {
                publish(backend, lane, step->position);
                if (clock)
                    clock->since = cpu_profile_now(profile);
            }
            break;
        case CPU_STEP_WAIT:
            if (clock && !cpu_step_is_satisfied(step))
                clock->step = step;
            if (!cpu_step_is_satisfied(step) &&
                !(passes ? park(backend, lane, step) : wait_longer(backend, lane, step, &next)))
                return next;
            if (clock)
                cpu_lane_clock_end_wait(profile, clock, lane, step);
            break;
        case CPU_STEP_SHARE:
            if (passes)
                return pass_share(backend, lane, clock, step);
            lane->next = step + 1;       // for the helper who may go on instead of this thread
            if (step->work->is_blocking) // so nobody polls for long
                atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
            if (clock)
                clock->step = step;
            if (!braid_cpu_work_run(backend, &lane->job, step->work)) {
                cpu_lock(backend);
                return NULL;
            }
            if (clock)
                cpu_lane_clock_end(profile, clock, lane, step);
            if (lane->job.split.work && !braid_cpu_seat_is_a_workers())
                return hand_back(backend, lane, step + 1);
            break;
        case CPU_STEP_PUBLISH:
            publish(backend, lane, step->position);
            if (clock)
                clock->since = cpu_profile_now(profile);
            break;
        case CPU_STEP_PUBLISH_FRAME:
            publish_progress(backend, step->producer, cpu_step_wanted(step));
            if (clock)
                clock->since = cpu_profile_now(profile);
            break;
        case CPU_STEP_LOOP:
            if (passes)
                return hand_over(backend, lane, step);
            if (clock)
                clock->step = step;
            next = braid_cpu_loop_go_on(backend, lane, step);
            if (next)
                return next;
            if (clock)
                cpu_lane_clock_end(profile, clock, lane, step);
            break;
        case CPU_STEP_END:
            if (clock)
                clock->end = cpu_profile_now(profile);
            return finish(backend, lane->program);
        }
    }
}

#endif
