// SPDX-License-Identifier: Apache-2.0
// The lane walker: replays a program's frame, each lane walked by one thread at a time.
#include "backends/cpu/cpu_program.h"

#include <sched.h>

// A lane is a job like a stream: any worker may take it. A walker that has to wait polls the
// producer's progress word for a short while, then parks the lane and is free for another job, so a
// lane held up by a slow or preempted walker never keeps a worker from the other lanes.

enum {
    POLLS_A_LOOK = 8,       // for reasons to leave
    POLLS_WITH_OTHERS = 64, // while other jobs are ready
    ALONE_NS = 2000,        // before the walker offers its core to other threads
};

// Sets the parked lanes free that wait for no more than `progress`. Whoever parks after the
// exchange in publish sees the new progress; whoever parked before is in the list by the time the
// lock is ours.
static void unpark(struct cpu_backend *backend, struct cpu_lane *producer, uint64_t progress)
{
    cpu_lock(backend);
    struct cpu_job_list parked = producer->parked;
    producer->parked = (struct cpu_job_list){ 0 };
    struct cpu_job *job;
    while ((job = cpu_job_list_take(&parked))) {
        struct cpu_lane *lane = cpu_lane_of_job(job);
        if (lane->wanted <= progress)
            cpu_job_make_ready(backend, job);
        else
            cpu_job_list_append(&producer->parked, job);
    }
    if (producer->parked.first)
        atomic_fetch_or_explicit(&producer->progress, 1, memory_order_relaxed);
    cpu_unlock(backend);
}

// One exchange both publishes and learns whether anybody is parked: no lane can park unseen.
static inline void publish(struct cpu_backend *backend, struct cpu_lane *lane, uint32_t position)
{
    uint64_t progress = 2 * (uint64_t)position;
    uint64_t before = atomic_exchange_explicit(&lane->progress, progress, memory_order_acq_rel);
    if (before & 1)
        unpark(backend, lane, progress);
}

static inline bool has_reached(const struct cpu_lane *lane, uint64_t wanted)
{
    return atomic_load_explicit(&lane->progress, memory_order_acquire) >= wanted;
}

// Polls while that is likely to succeed soon.
static bool poll_for(struct cpu_backend *backend, const struct cpu_lane *producer, uint64_t wanted)
{
    uint64_t start_ns = 0;
    for (uint32_t i = 1;; i++) {
        if (has_reached(producer, wanted))
            return true;
        cpu_relax();
        if (i % POLLS_A_LOOK)
            continue;
        bool walked = atomic_load_explicit(&producer->walked, memory_order_relaxed);
        if (!walked && !cpu_worker_is_idle(backend))
            return false;
        if (i >= POLLS_WITH_OTHERS && (!walked || cpu_other_work_is_ready(backend)))
            return false;
        uint64_t now_ns = cpu_now_ns();
        if (!start_ns)
            start_ns = now_ns;
        if (now_ns - start_ns >= CPU_SPIN_NS)
            return false;
        if (now_ns - start_ns >= ALONE_NS)
            sched_yield(); // the producer's walker may be waiting for this core
    }
}

// False: the lane is parked, and the lock is held; without it, another thread may walk the lane.
static bool park(struct cpu_backend *backend, struct cpu_lane *lane, const struct cpu_step *step)
{
    struct cpu_lane *producer = step->producer;
    uint64_t wanted = 2 * (uint64_t)step->position;
    cpu_lock(backend);
    uint64_t progress = atomic_fetch_or_explicit(&producer->progress, 1, memory_order_acq_rel);
    bool reached = progress >= wanted;
    if (!reached) {
        lane->next = step;
        lane->wanted = wanted;
        atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
        cpu_job_list_append(&producer->parked, &lane->job);
        return false;
    }
    cpu_unlock(backend);
    return true;
}

static inline bool wait_for(struct cpu_backend *backend, struct cpu_lane *lane,
                            const struct cpu_step *step)
{
    uint64_t wanted = 2 * (uint64_t)step->position;
    return has_reached(step->producer, wanted) || poll_for(backend, step->producer, wanted) ||
           park(backend, lane, step);
}

// The last lane to end sees all that the others did, and goes on with the stream. The others must
// not touch the program afterwards: it may be gone.
static struct cpu_job *finish(struct cpu_backend *backend, struct backend_program *program)
{
    struct cpu_job *then = program->then;
    unsigned before = atomic_fetch_sub_explicit(&program->num_unfinished, 1, memory_order_acq_rel);
    if (before == 1)
        return then;
    cpu_lock(backend);
    return NULL;
}

struct cpu_job *cpu_lane_run(struct cpu_backend *backend, struct cpu_job *job,
                             const struct cpu_point *until)
{
    (void)until; // a lane ends before anything that follows its launch
    struct cpu_lane *lane = cpu_lane_of_job(job);
    atomic_store_explicit(&lane->walked, true, memory_order_relaxed);
    for (const struct cpu_step *step = lane->next;; step++) {
        switch ((enum cpu_step_kind)step->kind) {
        case CPU_STEP_RUN:
            step->call(step->blocks, step->args);
            if (step->position)
                publish(backend, lane, step->position);
            break;
        case CPU_STEP_WAIT:
            if (!wait_for(backend, lane, step))
                return NULL;
            break;
        case CPU_STEP_SHARE:
            lane->next = step + 1; // for the helper who may go on instead of this thread
            if (!cpu_work_run(backend, job, step->work)) {
                cpu_lock(backend);
                return NULL;
            }
            break;
        case CPU_STEP_PUBLISH:
            publish(backend, lane, step->position);
            break;
        case CPU_STEP_END:
            return finish(backend, lane->program);
        }
    }
}

// The previous frame has ended, so all lanes are the caller's.
static void go_to_start(struct backend_program *program, struct cpu_job *stream)
{
    for (uint32_t i = 0; i < program->num_active; i++) {
        struct cpu_lane *lane = program->active[i];
        atomic_store_explicit(&lane->progress, 0, memory_order_relaxed);
        atomic_store_explicit(&lane->walked, false, memory_order_relaxed);
        lane->next = lane->steps;
        lane->job.urgency = stream->urgency;
        lane->job.stream = stream;
    }
    atomic_store_explicit(&program->num_unfinished, program->num_active, memory_order_relaxed);
}

struct cpu_job *cpu_program_start(struct cpu_backend *backend, struct backend_program *program,
                                  struct cpu_patch *patch, struct cpu_job *then)
{
    cpu_patch_apply(program, patch);
    if (!program->num_active)
        return NULL;
    go_to_start(program, then);
    program->then = then;
    if (program->num_active > 1) {
        cpu_lock(backend);
        for (uint32_t i = 1; i < program->num_active; i++)
            cpu_job_make_ready(backend, &program->active[i]->job);
        cpu_unlock(backend);
    }
    return &program->active[0]->job;
}
