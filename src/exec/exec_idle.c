// SPDX-License-Identifier: Apache-2.0
// Follows the values that disable nodes: a node that only disabled nodes need is disabled, too, by
// a control of its own.
#include "base/error.h"
#include "exec/exec_parts.h"

braid_status braid_exec_idle_create(braid_exec *exec)
{
    struct exec_idle *idle = &exec->idle;
    const struct reach *reach = &exec->culled.reach;
    if (!reach->lists || exec->placed)
        return BRAID_OK;
    idle->needed = braid_store_take(&exec->store, reach->num_vertices, sizeof(*idle->needed));
    idle->room = braid_store_take(&exec->store, reach->num_vertices, sizeof(*idle->room));
    idle->seen = UINT64_MAX;
    return exec->store.failed ? braid_error_no_memory("the nodes that may rest") : BRAID_OK;
}

// In each of its frames, as far as the player knows. The message of a refusal tells nobody.
static bool can_disable(const braid_exec *exec, uint32_t node)
{
    struct error_attempt attempt;
    braid_status status = BRAID_OK;
    braid_error_begin_attempt(&attempt);
    for (uint32_t i = 0; exec->player->check_task && i < exec->frames.num && !status; i++) {
        struct backend_task task = exec->frames.slots[i].frame.tasks[node];
        task.disabled = true;
        status = exec->player->check_task(exec->frames.slots[i].playing, &task);
    }
    braid_error_end_attempt(&attempt, BRAID_OK);
    return !status;
}

braid_status braid_exec_idle_keep(braid_exec *exec)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; exec->idle.room && i < exec->tasks.num && !status; i++) {
        if (graph_nodes(&exec->culled.own)[i].may_idle && !can_disable(exec, i))
            status = braid_culled_keep(&exec->culled, i);
    }
    return status;
}

// A node that only braid_exec_set disables counts as one that runs, as it did when nodes were left
// out. Then no node that runs misses its data.
static bool is_disabled(const void *context, uint32_t node)
{
    const braid_exec *exec = context;
    const struct task_control *control = tasks_control(&exec->tasks, node);
    return graph_nodes(&exec->culled.own)[node].may_rest &&
           (!control->enabled || task_is_empty(exec->tasks.items[node].kind, control));
}

void braid_exec_idle_update(braid_exec *exec)
{
    struct exec_idle *idle = &exec->idle;
    if (!idle->room || idle->seen == exec->values.num_controls)
        return;
    braid_reach_mark(&exec->culled.reach, is_disabled, exec, idle->needed, idle->room);
    for (uint32_t i = 0; i < exec->tasks.num; i++) {
        struct task_control *control = tasks_control(&exec->tasks, i);
        uint32_t rests = !idle->needed[i];
        if (!graph_nodes(&exec->culled.own)[i].may_idle || control->rests == rests)
            continue;
        control->rests = rests;
        braid_exec_values_mark(&exec->values, &exec->tasks, i);
    }
    idle->seen = exec->values.num_controls;
}
