// SPDX-License-Identifier: Apache-2.0
// Runs a frame from the same contents of buffers again and again, and tells other results.
#include "exec/audit_runs.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

enum { SPARE_ITERATIONS = 1000 };

static braid_status run_node(void *context, uint32_t node)
{
    const braid_exec *exec = context;
    return braid_audit_run_task(exec, &exec->frames.slots[0].frame.tasks[node]);
}

// NULL: in issue order.
static braid_status run(struct audit_runs *runs, const struct audit_order *orders)
{
    braid_audit_state_restore(&runs->state, AUDIT_START);
    runs->loops.endless = GRAPH_NONE;
    for (uint32_t i = 0; i < runs->scopes.num; i++)
        runs->loops.items[i].num = 0;
    return braid_audit_walk(&(struct audit_walk){ .exec = runs->exec,
                                                  .orders = orders,
                                                  .loops = &runs->loops,
                                                  .run = run_node,
                                                  .context = runs->exec });
}

// In issue order loops end, or no frame would. In another order they may repeat for ever.
static braid_status limit_loops(struct audit_runs *runs)
{
    for (uint32_t i = 0; i < runs->scopes.num; i++)
        runs->loops.items[i].most = UINT64_MAX;
    braid_status status = runs->scopes.num > 1 ? run(runs, NULL) : BRAID_OK;
    for (uint32_t i = 0; i < runs->scopes.num; i++)
        runs->loops.items[i].most = 2 * runs->loops.items[i].num + SPARE_ITERATIONS;
    return status;
}

braid_status braid_audit_runs_create(braid_exec *exec, struct audit_runs *out_runs)
{
    const braid_graph *graph = exec->culled.graph;
    struct audit_runs *runs = out_runs;
    *runs = (struct audit_runs){ .exec = exec };
    braid_status status = braid_exec_update(exec, &exec->frames.slots[0], 0, 0);
    if (!status)
        status = braid_audit_scopes_create(graph, exec, &runs->scopes);
    if (!status)
        runs->loops.items = braid_allocate_zeroed(runs->scopes.num, sizeof(*runs->loops.items));
    if (!status && !runs->loops.items)
        status = braid_error_no_memory("the orders of an audit");
    if (!status)
        status = braid_audit_state_create(graph, exec, &runs->state);
    if (!status) {
        braid_audit_state_keep(&runs->state, AUDIT_START);
        status = limit_loops(runs);
    }
    if (status)
        braid_audit_runs_finish(runs);
    return status;
}

void braid_audit_runs_finish(struct audit_runs *runs)
{
    braid_audit_state_restore(&runs->state, AUDIT_START);
    braid_audit_state_finish(&runs->state);
    braid_audit_scopes_finish(&runs->scopes);
    free(runs->loops.items);
    *runs = (struct audit_runs){ 0 };
}

braid_status braid_audit_run_first(struct audit_runs *runs)
{
    braid_status status = run(runs, runs->scopes.orders);
    braid_audit_state_keep(&runs->state, AUDIT_END);
    runs->endless = runs->loops.endless;
    return status;
}

braid_status braid_audit_run_again(struct audit_runs *runs, bool *out_differs)
{
    braid_status status = run(runs, runs->scopes.orders);
    uint32_t one = runs->endless, other = runs->loops.endless;
    *out_differs = !status && one != other;
    if (*out_differs)
        runs->difference = (struct audit_difference){
            .resource = GRAPH_NONE,
            .node = other == GRAPH_NONE ? one : other,
        };
    else if (!status)
        *out_differs = braid_audit_state_differs(&runs->state, AUDIT_END, &runs->difference);
    return status;
}
