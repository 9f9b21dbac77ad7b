// SPDX-License-Identifier: Apache-2.0
// The list of changed nodes, the latest first.
#include "exec/exec_values.h"

#include "base/error.h"

braid_status braid_exec_values_create(uint32_t num_tasks, struct store *store,
                                      struct exec_values *out_values)
{
    struct exec_values values = {
        .changed_at = braid_store_take(store, num_tasks, sizeof(uint64_t)),
        .newer = braid_store_take(store, (size_t)num_tasks + 1, sizeof(uint32_t)),
        .older = braid_store_take(store, (size_t)num_tasks + 1, sizeof(uint32_t)),
        .changed = braid_store_take(store, num_tasks, sizeof(*values.changed)),
    };
    if (store->failed)
        return braid_error_no_memory("the values of an exec");
    values.newer[num_tasks] = values.older[num_tasks] = num_tasks; // an empty ring
    *out_values = values;
    return BRAID_OK;
}

static void mark(struct exec_values *values, uint32_t num_tasks, uint32_t node)
{
    uint32_t end = num_tasks;
    if (values->changed_at[node]) {
        values->older[values->newer[node]] = values->older[node];
        values->newer[values->older[node]] = values->newer[node];
    }
    values->older[node] = values->older[end];
    values->newer[node] = end;
    values->newer[values->older[node]] = node;
    values->older[end] = node;
    values->changed_at[node] = ++values->now;
}

void braid_exec_values_mark(struct exec_values *values, const struct tasks *tasks, uint32_t node)
{
    uint32_t before = tasks->prefetches ? tasks->prefetches[node].before : PLAN_NONE;
    mark(values, tasks->num, node);
    if (before != PLAN_NONE)
        mark(values, tasks->num, before);
}
