// SPDX-License-Identifier: Apache-2.0
// All edges between nodes, by two counting sorts: first by the node they lead to, then by the node
// they leave.
#include "plan/plan_build.h"

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"
#include "base/node_text.h"

// Visits every edge between nodes of two different units in a fixed order.
typedef void edge_visitor(struct plan_graph *plan, uint32_t from, uint32_t to, uint32_t reason);

static inline void visit_edges(const braid_graph *graph, struct plan_graph *plan,
                               edge_visitor *visit)
{
    const struct graph_edge *edges = graph_edges(graph);
    for (size_t i = 0; i < graph->edges.num; i++) {
        if (plan_unit_of(plan, edges[i].from) != plan_unit_of(plan, edges[i].to))
            visit(plan, edges[i].from, edges[i].to, PLAN_BY_EDGE);
    }
    for (size_t i = 0; i < plan->num_links; i++)
        visit(plan, plan->links[i].from, plan->links[i].to, (uint32_t)i);
    for (uint32_t unit = 0; plan->hint_before && unit < plan->num_units; unit++) {
        uint32_t before = plan->hint_before[unit];
        if (before != PLAN_NONE)
            visit(plan, plan_last_member(plan, before), plan_first_member(plan, unit),
                  PLAN_BY_HINT);
    }
}

// Counts stand two places up, so that filling leaves the starts in their right places.
static inline void count_edge(struct plan_graph *plan, uint32_t from, uint32_t to, uint32_t reason)
{
    (void)from;
    (void)reason;
    plan->pred_first[(size_t)to + 2]++;
}

static inline void place_edge(struct plan_graph *plan, uint32_t from, uint32_t to, uint32_t reason)
{
    uint32_t at = plan->pred_first[(size_t)to + 1]++;
    plan->pred_nodes[at] = from;
    if (plan->pred_reasons)
        plan->pred_reasons[at] = reason;
}

static void sum_counts(uint32_t *first, uint32_t num)
{
    for (size_t i = 1; i <= (size_t)num + 1; i++)
        first[i] += first[i - 1];
}

static bool sort_by_target(const braid_graph *graph, struct plan_graph *plan)
{
    plan->pred_first = plan_allocate_zeroed((size_t)plan->num_nodes + 1, sizeof(uint32_t));
    if (!plan->pred_first)
        return false;
    visit_edges(graph, plan, count_edge);
    sum_counts(plan->pred_first, plan->num_nodes);
    plan->num_edges = plan->pred_first[(size_t)plan->num_nodes + 1];
    plan->pred_nodes = plan_allocate(plan->num_edges, sizeof(uint32_t));
    bool reasons = plan->num_links || plan->hint_before;
    if (reasons)
        plan->pred_reasons = plan_allocate(plan->num_edges, sizeof(uint32_t));
    if (!plan->pred_nodes || (reasons && !plan->pred_reasons))
        return false;
    visit_edges(graph, plan, place_edge);
    return true;
}

static bool sort_by_source(struct plan_graph *plan)
{
    plan->succ_first = plan_allocate_zeroed((size_t)plan->num_nodes + 1, sizeof(uint32_t));
    plan->succ_nodes = plan_allocate(plan->num_edges, sizeof(uint32_t));
    if (!plan->succ_first || !plan->succ_nodes)
        return false;
    for (uint32_t i = 0; i < plan->num_edges; i++)
        plan->succ_first[(size_t)plan->pred_nodes[i] + 2]++;
    sum_counts(plan->succ_first, plan->num_nodes);
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t i = plan->pred_first[node]; i < plan->pred_first[node + 1]; i++)
            plan->succ_nodes[plan->succ_first[(size_t)plan->pred_nodes[i] + 1]++] = node;
    }
    return true;
}

static bool all_go_forward(const struct plan_graph *plan)
{
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t i = plan->pred_first[node]; i < plan->pred_first[node + 1]; i++) {
            if (plan->pred_nodes[i] >= node)
                return false;
        }
    }
    return !plan->units.members;
}

static braid_status check_inner_edges(const braid_graph *graph, const struct plan_graph *plan)
{
    const struct graph_edge *edges = graph_edges(graph);
    for (size_t i = 0; plan->units.unit_of && i < graph->edges.num; i++) {
        uint32_t from = edges[i].from, to = edges[i].to;
        uint32_t unit = plan_unit_of(plan, from);
        if (unit != plan_unit_of(plan, to) || plan->units.index_of[from] < plan->units.index_of[to])
            continue;
        uint32_t main_node = plan_main_of(plan, unit);
        struct node_text from_text = braid_node_text(from, braid_graph_name(graph, from));
        struct node_text to_text = braid_node_text(to, braid_graph_name(graph, to));
        struct node_text main_text = braid_node_text(main_node, braid_graph_name(graph, main_node));
        return braid_error(BRAID_CYCLE,
                           "cycle: %s -> %s -> %s (in the bundle of %s, %s runs before %s)",
                           from_text.text, to_text.text, from_text.text, main_text.text,
                           to_text.text, from_text.text);
    }
    return BRAID_OK;
}

braid_status braid_plan_edges_create(const braid_graph *graph, struct plan_graph *plan,
                                     bool *out_forward)
{
    size_t most = graph->edges.num + plan->num_links + (plan->hint_before ? plan->num_units : 0);
    if (most > PLAN_BY_HINT - 1)
        return braid_error_invalid("a graph of %zu edges is too big to plan", most);
    braid_status status = check_inner_edges(graph, plan);
    if (status)
        return status;
    if (!sort_by_target(graph, plan) || !sort_by_source(plan))
        return braid_error_no_memory("the edges of a plan");
    *out_forward = all_go_forward(plan);
    return BRAID_OK;
}
