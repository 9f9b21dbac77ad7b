// SPDX-License-Identifier: Apache-2.0
// Which of many tasks can be inside islands, before any is made.
#include "islands/gpu_island_fit.h"

#include "islands/gpu_island.h"
#include "islands/gpu_island_kernel.h"
#include "islands/gpu_island_move.h"

static braid_status fit_call(struct gpu_backend *gpu, const struct backend_task *task,
                             struct island_fit *fit)
{
    struct island_move move;
    const struct gpu_callable *callable;
    const struct backend_launch *launch = braid_island_launch_of(task, &move);
    braid_dim3 grid = launch->grid, block = launch->block;
    fit->is_move = task->kind != WORK_KERNEL;
    fit->threads = block.x * block.y * block.z;
    fit->blocks = (uint64_t)grid.x * grid.y * grid.z;
    fit->arg_bytes = braid_island_arg_bytes(launch);
    braid_status status = braid_gpu_find_callable(gpu, gpu_kernel_from(launch->kernel), &callable);
    if (status)
        return status;
    fit->why_not = braid_gpu_callable_refuse(callable, launch);
    fit->runs_alone = braid_gpu_callable_shared(callable, launch) > ISLAND_MOST_SHARED;
    return BRAID_OK;
}

braid_status braid_gpu_island_fits(struct gpu_backend *gpu, const struct backend_task *tasks,
                                   uint32_t num, struct island_fit *out_fits)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && !status; i++) {
        const struct backend_task *task = &tasks[i];
        out_fits[i] = (struct island_fit){ .is_empty = task->kind == WORK_EMPTY };
        if (out_fits[i].is_empty)
            continue;
        status = braid_gpu_island_refuse_task(gpu, task, &out_fits[i].why_not);
        if (!out_fits[i].why_not &&
            (task->may_idle || task->varies & ISLAND_SHAPE_TARGETS)) // its length is not known
            out_fits[i].why_not = "a parameter changes its grid or disables it";
        if (!status && !out_fits[i].why_not)
            status = fit_call(gpu, task, &out_fits[i]);
    }
    return status;
}
