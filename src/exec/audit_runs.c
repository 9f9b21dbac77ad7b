// SPDX-License-Identifier: Apache-2.0
// Runs a frame from the same contents of buffers again and again, and tells other results.
#include "exec/audit_runs.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

enum { SPARE_ITERATIONS = 1000 };

static braid_status run_node(void *context, uint32_t node)
{
    const struct audit_reach *reach = context;
    return braid_audit_reach_run(reach, &reach->exec->frames.slots[0].frame.tasks[node]);
}

// NULL: in issue order.
static braid_status run(struct audit_runs *runs, const struct audit_order *orders)
{
    braid_status status = braid_audit_state_restore(&runs->state, AUDIT_START);
    if (status)
        return status;
    runs->loops.endless = GRAPH_NONE;
    for (uint32_t i = 0; i < runs->scopes.num; i++)
        runs->loops.items[i].num = 0;
    return braid_audit_walk(&(struct audit_walk){ .reach = runs->reach,
                                                  .orders = orders,
                                                  .loops = &runs->loops,
                                                  .run = run_node,
                                                  .context = (void *)(uintptr_t)runs->reach });
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

braid_status braid_audit_runs_create(const struct audit_reach *reach, struct audit_runs *out_runs)
{
    braid_exec *exec = reach->exec;
    const braid_graph *graph = exec->culled.graph;
    struct audit_runs *runs = out_runs;
    *runs = (struct audit_runs){ .reach = reach };
    braid_status status = braid_exec_update(exec, &exec->frames.slots[0], 0, 0);
    if (!status)
        status = braid_audit_scopes_create(graph, exec, &runs->scopes);
    if (!status)
        runs->loops.items = braid_allocate_zeroed(runs->scopes.num, sizeof(*runs->loops.items));
    if (!status && !runs->loops.items)
        status = braid_error_no_memory("the orders of an audit");
    if (!status)
        status = braid_audit_state_create(graph, reach, AUDIT_END, &runs->state);
    if (!status)
        status = limit_loops(runs);
    return status ? braid_audit_runs_finish(runs, status) : BRAID_OK;
}

braid_status braid_audit_runs_finish(struct audit_runs *runs, braid_status status)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status restored = braid_audit_state_restore(&runs->state, AUDIT_START);
    braid_error_end_attempt(&attempt, status ? BRAID_OK : restored);
    braid_audit_state_finish(&runs->state);
    braid_audit_scopes_finish(&runs->scopes);
    free(runs->loops.items);
    *runs = (struct audit_runs){ 0 };
    return status ? status : restored;
}

braid_status braid_audit_run_first(struct audit_runs *runs)
{
    braid_status status = run(runs, runs->scopes.orders);
    runs->endless = runs->loops.endless;
    return status ? status : braid_audit_state_keep(&runs->state, AUDIT_END);
}

braid_status braid_audit_run_again(struct audit_runs *runs, bool *out_differs)
{
    braid_status status = run(runs, runs->scopes.orders);
    uint32_t one = runs->endless, other = runs->loops.endless;
    if (status)
        return status;
    if (one == other)
        return braid_audit_state_differs(&runs->state, AUDIT_END, out_differs, &runs->difference);
    *out_differs = true;
    runs->difference = (struct audit_difference){
        .resource = GRAPH_NONE,
        .node = other == GRAPH_NONE ? one : other,
    };
    return BRAID_OK;
}
