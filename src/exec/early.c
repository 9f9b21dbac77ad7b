// SPDX-License-Identifier: Apache-2.0
// Deciding which tasks of an exec are launched early.
#include "exec/exec.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "plan/plan_prefetch.h"

static uint32_t share_of(const struct backend_launch *launch, uint64_t blocks_at_once)
{
    uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y;
    if (__builtin_mul_overflow(blocks, launch->grid.z, &blocks) || blocks >= blocks_at_once)
        return PLAN_EARLY_ROOM;
    return (uint32_t)((double)blocks / (double)blocks_at_once * PLAN_EARLY_ROOM) + 1;
}

// A kernel whose text is changed already has no other change.
static bool may_fetch(const struct backend_launch *launch)
{
    return launch->kernel->waits_first && !launch->kernel->notes_begin && !launch->grid_from &&
           !launch->cluster.x;
}

// A kernel with a cluster stays as its author made it. A kernel that
// reads its grid from memory does so before its author's wait: only Braid's wait makes that safe.
static braid_status describe(const braid_exec *exec, const struct backend_task *task,
                             bool is_programmatic, struct plan_early_node *node)
{
    struct backend *backend = places_backend(&exec->places, exec->device->backend, task->place);
    uint64_t blocks_at_once = 0;
    braid_status status = BRAID_OK;
    if (backend->ops->count_blocks)
        status = backend->ops->count_blocks(backend, &task->launch, &blocks_at_once);
    *node = (struct plan_early_node){
        .can = (is_programmatic && !task->launch.grid_from) ||
               (task->launch.cluster.x == 0 && task->launch.kernel->waits_first),
        .tells = is_programmatic,
        .fetches = may_fetch(&task->launch),
        .share = share_of(&task->launch, blocks_at_once),
    };
    return status;
}

static braid_status describe_all(const braid_exec *exec, const braid_graph *graph,
                                 struct plan_early_node *nodes)
{
    const struct graph_kernel *kernels = graph->kernels.items;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->tasks.num && !status; i++) {
        const struct backend_task *task = &exec->tasks.items[i];
        if (task->kind == WORK_KERNEL)
            status = describe(
                exec, task, kernels[graph_nodes(graph)[i].payload].kernel->programmatic, &nodes[i]);
    }
    return status;
}

braid_status braid_exec_choose_early(braid_exec *exec, const braid_graph *graph,
                                     const braid_exec_options *options)
{
    static const enum backend_start starts[] = {
        [PLAN_NOT_EARLY] = BACKEND_STARTS_IN_ORDER,
        [PLAN_EARLY_AT_END] = BACKEND_STARTS_AS_BLOCKS_END,
        [PLAN_EARLY_AT_BEGIN] = BACKEND_STARTS_AS_BLOCKS_BEGIN,
    };
    const bool adjacent = exec->player->starts_early_if_adjacent;
    braid_cost_model costs;
    braid_exec_get_cost_model(exec, &costs);
    exec->info.num_early_starts = 0;
    for (uint32_t i = 0; i < exec->tasks.num; i++) { // another player may have been tried
        if (exec->tasks.items[i].kind == WORK_KERNEL)
            exec->tasks.items[i].launch.start = BACKEND_STARTS_IN_ORDER;
    }
    exec->tasks.prefetches = NULL;
    // With times, events stand between the kernels of a stream.
    if (!costs.early_ns || options->no_early_start || (options->profile && adjacent))
        return BRAID_OK;
    struct plan_early_node *nodes = braid_allocate_zeroed(exec->tasks.num, sizeof(*nodes));
    if (!nodes)
        return braid_error_no_memory("the early starts of an exec");
    braid_status status = describe_all(exec, graph, nodes);
    if (!status)
        status = braid_plan_choose_early(exec->schedule, graph, adjacent, nodes,
                                         &exec->info.num_early_starts);
    for (uint32_t i = 0; i < exec->tasks.num && !status; i++) {
        if (exec->tasks.items[i].kind == WORK_KERNEL)
            exec->tasks.items[i].launch.start = starts[nodes[i].early];
    }
    // On several devices addresses are elsewhere.
    if (!status && !adjacent && !exec->placed)
        status = braid_plan_choose_prefetch(exec->schedule, graph, nodes);
    exec->tasks.prefetches = exec->schedule->prefetches;
    free(nodes);
    return status;
}
