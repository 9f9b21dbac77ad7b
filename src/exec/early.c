// SPDX-License-Identifier: Apache-2.0
// Deciding which tasks of an exec are launched early.
#include "exec/early.h"

#include "base/error.h"
#include "plan/plan_early.h"

// What each kernel allows. A kernel with a cluster stays as its author made it.
static void find_wanted(const braid_exec *exec, const braid_graph *graph, uint8_t *early)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        const struct backend_task *task = &exec->tasks.items[i];
        if (task->kind != WORK_KERNEL)
            continue;
        if (kernels[graph_nodes(graph)[i].payload].kernel->programmatic)
            early[i] = PLAN_EARLY_ALWAYS;
        else if (task->launch.cluster.x == 0 && task->launch.kernel->waits_first)
            early[i] = PLAN_EARLY_WHERE_IT_PAYS;
    }
}

braid_status braid_exec_choose_early(braid_exec *exec, const braid_graph *graph,
                                     const braid_exec_options *options)
{
    braid_cost_model costs;
    exec->player->get_cost_model(exec->device->backend, &costs);
    uint8_t *early = braid_allocate_zeroed(exec->tasks.num, sizeof(*early));
    if (!early)
        return braid_error_no_memory("the early starts of an exec");
    braid_status status = BRAID_OK;
    uint32_t num_early = 0;
    // With times, events stand between the kernels of a stream.
    bool is_parted = options->profile && exec->player->starts_early_if_adjacent;
    if (costs.early_ns && !options->no_early_start && !is_parted) {
        find_wanted(exec, graph, early);
        status = braid_plan_choose_early(exec->schedule, graph, &costs,
                                         exec->player->starts_early_if_adjacent, early, &num_early);
    }
    for (uint32_t i = 0; i < exec->tasks.num && !status; i++) {
        if (exec->tasks.items[i].kind == WORK_KERNEL)
            exec->tasks.items[i].launch.starts_early = early[i] != PLAN_NOT_EARLY;
    }
    exec->info.num_early_starts = num_early;
    free(early);
    return status;
}
