// SPDX-License-Identifier: Apache-2.0
// OpenMP for the bench of loaded machines: loops over blocks, or tasks with depend clauses.
#include "loaded.h"

static void *create(const struct loaded_work *work)
{
    return (void *)(uintptr_t)work;
}

static void play_row(const struct loaded_work *work)
{
    for (uint32_t k = 0; k < work->times; k++) {
        for (uint32_t i = 0; i < work->num_steps; i++) {
            const struct loaded_step *step = &work->steps[i];
#pragma omp parallel for schedule(dynamic, 4) num_threads(LOADED_WORKERS)
            for (uint32_t b = 0; b < step->num_blocks; b++)
                step->run(step->user, b, b + 1);
        }
    }
}

static char tokens[LOADED_MOST_STEPS]; // only their addresses matter

static void make_task(const struct loaded_step *step, uint32_t index)
{
    uint32_t num = step->num_before;
#pragma omp task firstprivate(step) depend(iterator(uint32_t i = 0                                 \
                                                    : num),                                        \
                                           in                                                      \
                                           : tokens[step->before[i]]) depend(out                   \
                                                                             : tokens[index])
    step->run(step->user, 0, step->num_blocks);
    (void)num;
    (void)tokens;
    (void)index;
}

static void play(void *user)
{
    const struct loaded_work *work = user;
    if (work->is_row) {
        play_row(work);
        return;
    }
#pragma omp parallel num_threads(LOADED_WORKERS)
#pragma omp single
    for (uint32_t i = 0; i < work->num_steps; i++)
        make_task(&work->steps[i], i);
}

const struct loaded_way loaded_openmp_passive = { "OpenMP passive", "passive", create, play };
const struct loaded_way loaded_openmp_active = { "OpenMP active", "active", create, play };
