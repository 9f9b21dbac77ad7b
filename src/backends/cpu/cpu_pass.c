// SPDX-License-Identifier: Apache-2.0
// Passing jobs on: a thread that has made a blocking call goes on with the jobs behind the call.
#include "backends/cpu/cpu.h"

// The end of a blocking call mostly begins the next one: a reader's of the next frame, or the
// writer's that waited for it. Waking three threads, to publish the end, to hand over the next call
// and to make it, takes longer than many calls. It takes longer still where all workers are busy.
// So the thread goes on by itself as long as no code of the program must run. It publishes, reaches
// points, starts launches, and begins the due calls, the first of which it makes itself. That call
// and the thread's other jobs wait for it meanwhile. So the thread polls for nothing, and gives a
// stream back to the workers when its turn is over.

// The jobs that are ready, on a thread that passes jobs on; NULL: on another.
static _Thread_local struct cpu_job_list *passed;

bool braid_cpu_thread_passes(void)
{
    return passed;
}

void braid_cpu_job_make_ready(struct cpu_backend *backend, struct cpu_job *job)
{
    if (passed)
        braid_cpu_job_list_append(passed, job);
    else
        braid_cpu_job_hand_over(backend, job);
}

void braid_cpu_job_pass(struct cpu_backend *backend, struct cpu_job *job)
{
    struct cpu_job_list ready = { 0 };
    passed = &ready;
    while (job) {
        struct cpu_job *next = job->pass(backend, job);
        if (next) {
            cpu_lock(backend);
            braid_cpu_job_list_append(&ready, next);
        }
        job = braid_cpu_job_list_take(&ready);
        if (job)
            cpu_unlock(backend);
    }
    passed = NULL;
    cpu_unlock(backend);
}
