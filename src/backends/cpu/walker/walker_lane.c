// SPDX-License-Identifier: Apache-2.0
// The lane walker: replays a program's frame, each lane walked by one thread at a time.
#include "backends/cpu/walker/walker_walk.h"

// A lane is a job like a stream: any worker may take it. A walker that has to wait polls the
// producer's progress word for a short while. Then it parks the lane and is free for another job.
// So a lane held up by a slow walker never keeps a worker from the other lanes. If a walker loses
// its core while it polls, one that waits for its lane takes that over.

enum { POLLS_FOR_TAKERS = 16 }; // a microsecond: less than it takes to wake a thread

// The linker's place for this loop decides 5 ns a step, so its place in a line is fixed. On a
// Cascade Lake 100 empty kernels took 4.9 or 5.4 us a frame, with the same instructions.
__attribute__((aligned(CPU_LINE_BYTES))) struct cpu_job *
braid_cpu_lane_run(struct cpu_backend *backend, struct cpu_job *job, const struct cpu_point *until)
{
    (void)until; // a lane ends before anything that follows its launch
    return walk(backend, cpu_lane_of_job(job), NULL, false);
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
    for (size_t i = 0; i < program->num_frame_steps; i++) {
        const struct cpu_frame_step *frame_step = &program->frame_steps[i];
        atomic_fetch_add_explicit(&frame_step->step->wanted, frame_step->stride,
                                  memory_order_relaxed);
    }
    atomic_store_explicit(&program->num_unfinished, program->num_active, memory_order_relaxed);
}

// Offers all lanes except the first. The thread that launched is often about to wait, and then
// takes one. A worker woken for that lane comes too late, and in the way of the others.
static void offer_others(struct cpu_backend *backend, const struct cpu_program *program)
{
    struct cpu_job *stream = program->active[0]->job.stream;
    cpu_lock(backend);
    for (uint32_t i = 1; i < program->num_active; i++)
        braid_cpu_job_queue(backend, &program->active[i]->job);
    bool are_short = braid_cpu_workers_are_short(backend, stream);
    cpu_unlock(backend);
    if (!are_short)
        return;
    int num_polls = braid_cpu_thread_passes() ? 0 : POLLS_FOR_TAKERS;
    for (int i = 0; i < num_polls && braid_cpu_other_work_is_ready(backend); i++)
        braid_cpu_relax();
    cpu_lock(backend);
    braid_cpu_workers_wake_for(backend, stream);
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
    go_to_start(program, then->stream ? then->stream : then); // a body goes to its lane's
    program->then = then;
    program->frame++;
    if (program->num_active > 1)
        offer_others(backend, program);
    return &program->active[0]->job;
}
