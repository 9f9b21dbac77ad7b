// SPDX-License-Identifier: Apache-2.0
// Passing jobs on: what a thread that has made a blocking call does for those behind the call.
#include "backends/cpu/cpu.h"

// The end of a call that blocks is most often the beginning of the next: a reader's of the next
// frame, a writer's of the one that waited for this. To wake a worker that publishes the end, which
// wakes one that hands over the next call, which wakes a thread for it, takes longer than many
// calls, and longer still where all workers are busy. So the thread goes on by itself as far as no
// code of the program is to be run: it publishes, reaches points, starts launches, and begins the
// calls that are due, of which the first is its own. That one, and the jobs that the thread has yet
// to go on with, wait for it meanwhile: so it polls for nothing, and gives a stream back to the
// workers when its turn is over.

// Those that are ready, on a thread that passes jobs on; NULL: on another.
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
