// SPDX-License-Identifier: Apache-2.0
// Sharing the graph that is planned, and its names.
#include "plan/plan_graph.h"

#include <stdlib.h>

struct plan_graph *braid_plan_graph_share(struct plan_graph *plan)
{
    atomic_fetch_add_explicit(&plan->num_users, 1, memory_order_relaxed);
    return plan;
}

void braid_plan_graph_release(struct plan_graph *plan)
{
    // Release and acquire: all reads of other users come before the last one frees.
    if (!plan || atomic_fetch_sub_explicit(&plan->num_users, 1, memory_order_acq_rel) > 1)
        return;
    braid_graph_units_finish(&plan->units);
    free(plan->main_of);
    free(plan->hint_of);
    free(plan->hint_before);
    free(plan->place_of);
    free(plan->pred_first);
    free(plan->pred_nodes);
    free(plan->pred_reasons);
    free(plan->succ_first);
    free(plan->succ_nodes);
    free(plan->order);
    free(plan->links);
    free(plan->accesses);
    free(plan->access_first);
    free(plan->resources);
    free(plan->left_out);
    braid_plan_names_finish(&plan->names);
    free(plan);
}

const char *braid_plan_node_name(const struct plan_graph *plan, uint32_t node)
{
    return plan->names.text + (plan->names.of_node ? plan->names.of_node[node] : 0);
}

const char *braid_plan_unit_name(const struct plan_graph *plan, uint32_t unit)
{
    return braid_plan_node_name(plan, plan_main_of(plan, unit));
}

const char *braid_plan_node_changes(const struct plan_graph *plan, uint32_t node)
{
    return plan->names.of_change ? plan->names.text + plan->names.of_change[node] : "";
}

const char *braid_plan_resource_name(const struct plan_graph *plan, uint32_t resource)
{
    return plan->names.text + plan->names.of_resource[resource];
}
