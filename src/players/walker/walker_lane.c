// SPDX-License-Identifier: Apache-2.0
// The lane walker: replays a program's frame, each lane walked by one thread at a time.
#include "players/walker/walker.h"

#include <sched.h>

// A lane is a job like a stream: any worker may take it. A walker that has to wait polls the
// producer's progress word for a short while, then parks the lane and is free for another job. So a
// lane held up by a slow walker never keeps a worker from the other lanes, and one whose walker has
// lost its core while it polled is taken over by a walker that waits for it.

enum { POLLS_FOR_TAKERS = 16 }; // a microsecond: less than it takes to wake a thread

// Sets the parked lanes free that wait for no more than `progress`. Whoever parks after the
// exchange in publish sees the new progress; whoever parked before is in the list by the time the
// lock is ours.
static void unpark(struct cpu_backend *backend, struct cpu_lane *producer, uint64_t progress)
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
static inline void publish(struct cpu_backend *backend, struct cpu_lane *lane, uint32_t position)
{
    uint64_t progress = 2 * (uint64_t)position;
    uint64_t before = atomic_exchange_explicit(&lane->progress, progress, memory_order_acq_rel);
    if (before & 1)
        unpark(backend, lane, progress);
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
        braid_cpu_job_list_append(&producer->parked, &lane->job);
        return false;
    }
    cpu_unlock(backend);
    return true;
}

static void hand_on(struct cpu_backend *backend, struct cpu_lane *lane)
{
    cpu_lock(backend);
    braid_cpu_job_make_ready(backend, &lane->job);
    cpu_unlock(backend);
}

// False: the thread is to run *out_next instead of the lane, or nothing, with the lock held.
static bool wait_longer(struct cpu_backend *backend, struct cpu_lane *lane,
                        const struct cpu_step *step, struct cpu_job **out_next)
{
    struct cpu_lane *taken;
    enum cpu_poll_end end = braid_cpu_lane_poll(backend, lane, step, &taken);
    if (end == CPU_POLL_REACHED || (end != CPU_POLL_LOST && park(backend, lane, step))) {
        if (taken)
            hand_on(backend, taken);
        return true;
    }
    if (end == CPU_POLL_LOST)
        cpu_lock(backend);
    backend->in_the_way = end == CPU_POLL_IN_THE_WAY;
    *out_next = taken ? &taken->job : NULL;
    if (taken)
        cpu_unlock(backend);
    return false;
}

// The last lane to end sees all that the others did, and its thread goes on with the stream. Those
// of the others go on with a lane that has been left open, or must not touch the program any more:
// it may be gone.
static struct cpu_job *finish(struct cpu_backend *backend, struct cpu_program *program)
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

// Where the linker puts its loop decides 5 ns a step (100 empty kernels on a Cascade Lake: 4.9 or
// 5.4 us a frame, the instructions being the same), so its place in a line is fixed.
__attribute__((aligned(CPU_LINE_BYTES))) struct cpu_job *
braid_cpu_lane_run(struct cpu_backend *backend, struct cpu_job *job, const struct cpu_point *until)
{
    (void)until; // a lane ends before anything that follows its launch
    struct cpu_lane *lane = cpu_lane_of_job(job);
    struct cpu_job *next = NULL;
    atomic_store_explicit(&lane->walked, true, memory_order_relaxed);
    cpu_lane_set_core(lane, sched_getcpu());
    for (const struct cpu_step *step = lane->next;; step++) {
        switch ((enum cpu_step_kind)step->kind) {
        case CPU_STEP_RUN:
            step->call(step->blocks, step->args);
            if (step->position)
                publish(backend, lane, step->position);
            break;
        case CPU_STEP_WAIT:
            if (!cpu_step_is_satisfied(step) && !wait_longer(backend, lane, step, &next))
                return next;
            break;
        case CPU_STEP_SHARE:
            lane->next = step + 1; // for the helper who may go on instead of this thread
            if (!braid_cpu_work_run(backend, job, step->work)) {
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
static void go_to_start(struct cpu_program *program, struct cpu_job *stream)
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

// To all lanes but the first. The thread that launched is often about to wait, and then takes one:
// a worker woken for that comes too late, and in the way of the others.
static void offer_others(struct cpu_backend *backend, const struct cpu_program *program)
{
    cpu_lock(backend);
    for (uint32_t i = 1; i < program->num_active; i++)
        braid_cpu_job_queue(backend, &program->active[i]->job);
    bool are_short = braid_cpu_workers_are_short(backend, program->then);
    cpu_unlock(backend);
    if (!are_short)
        return;
    for (int i = 0; i < POLLS_FOR_TAKERS && braid_cpu_other_work_is_ready(backend); i++)
        braid_cpu_relax();
    cpu_lock(backend);
    braid_cpu_workers_wake_for(backend, program->then);
    cpu_unlock(backend);
}

struct cpu_job *braid_cpu_program_start(struct cpu_backend *backend, struct cpu_play *play,
                                        struct cpu_patch *patch, struct cpu_job *then)
{
    struct cpu_program *program =
        (struct cpu_program *)(void *)((char *)play - offsetof(struct cpu_program, play));
    braid_cpu_patch_apply(program, patch);
    if (!program->num_active)
        return NULL;
    go_to_start(program, then);
    program->then = then;
    program->frame++;
    if (program->num_active > 1)
        offer_others(backend, program);
    return &program->active[0]->job;
}
