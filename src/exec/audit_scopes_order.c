// SPDX-License-Identifier: Apache-2.0
// The order of units in each scope: by edges, accesses and lane hints.
#include "exec/audit_scopes.h"

// Nodes inside a region count as its node outside. False: the two are of one unit, or one does not
// run.
static bool find_elements(const struct audit_scopes *scopes, const braid_graph *graph,
                          uint32_t *one, uint32_t *other, uint32_t *out_scope)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    uint32_t region = braid_graph_meet(graph, one, other);
    *one = scopes->element_of[plan_unit_of(plan, *one)];
    *other = scopes->element_of[plan_unit_of(plan, *other)];
    *out_scope = region == GRAPH_NONE ? 0 : region + 1;
    return *one != *other && *one != AUDIT_NO_ELEMENT && *other != AUDIT_NO_ELEMENT;
}

static void put(struct audit_scopes *scopes, const braid_graph *graph, uint32_t from, uint32_t to)
{
    uint32_t scope;
    if (find_elements(scopes, graph, &from, &to, &scope))
        braid_audit_poset_put(&scopes->items[scope].poset, from, to);
}

// A hint holds inside one body.
static void put_hint(struct audit_scopes *scopes, const braid_graph *graph, uint32_t unit)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    uint32_t scope = audit_scope_of(graph, plan_main_of(plan, unit)),
             before = plan->hint_before[unit];
    while (before != PLAN_NONE && audit_scope_of(graph, plan_main_of(plan, before)) != scope)
        before = plan->hint_before[before];
    if (before != PLAN_NONE)
        put(scopes, graph, plan_main_of(plan, before), plan_main_of(plan, unit));
}

static void put_edges(struct audit_scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t i = plan->pred_first[node]; i < plan->pred_first[node + 1]; i++) {
            if (!plan->pred_reasons || plan->pred_reasons[i] != PLAN_BY_HINT)
                put(scopes, graph, plan->pred_nodes[i], node);
        }
    }
    for (uint32_t unit = 0; plan->hint_before && unit < plan->num_units; unit++)
        put_hint(scopes, graph, unit);
}

static bool accumulate_together(const braid_graph *graph, const struct graph_access *one,
                                const struct graph_access *other)
{
    const struct graph_resource *a = graph_resource_at(graph, one->resource);
    const struct graph_resource *b = graph_resource_at(graph, other->resource);
    return one->mode == BRAID_ACCUMULATE && other->mode == BRAID_ACCUMULATE &&
           a->buffer == b->buffer &&
           (!a->bytes || (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes));
}

static bool share_sums(const braid_graph *graph, uint32_t one, uint32_t other)
{
    const struct graph_access *accesses = graph->accesses.items;
    const struct graph_node *a = &graph_nodes(graph)[one], *b = &graph_nodes(graph)[other];
    bool found = false;
    for (uint32_t i = 0; i < a->num_accesses; i++) {
        for (uint32_t k = 0; k < b->num_accesses && !found; k++)
            found = accumulate_together(graph, &accesses[a->first_access + i],
                                        &accesses[b->first_access + k]);
    }
    return found;
}

static bool units_share_sums(const struct audit_scopes *scopes, const braid_graph *graph,
                             uint32_t one, uint32_t other)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    bool found = false;
    for (uint32_t i = 0; i < plan_unit_size(plan, one); i++) {
        for (uint32_t k = 0; k < plan_unit_size(plan, other) && !found; k++)
            found =
                share_sums(graph, plan_unit_member(plan, one, i), plan_unit_member(plan, other, k));
    }
    return found;
}

// The order of sums does not matter, as declared, but it rounds them in one way or another, and an
// order of appends is seen. So nodes that accumulate together keep one.
static void order_sums(struct audit_scopes *scopes, const braid_graph *graph,
                       struct audit_scope *scope)
{
    const uint32_t *forward = scope->poset.forward;
    for (uint32_t i = 0; i < scope->num; i++) {
        for (uint32_t k = i + 1; k < scope->num; k++) {
            if (units_share_sums(scopes, graph, scope->units[forward[i]], scope->units[forward[k]]))
                braid_audit_poset_put(&scope->poset, forward[i], forward[k]);
        }
    }
}

static bool has_sums(const braid_graph *graph)
{
    const struct graph_access *accesses = graph->accesses.items;
    size_t i = 0;
    while (i < graph->accesses.num && accesses[i].mode != BRAID_ACCUMULATE)
        i++;
    return i < graph->accesses.num;
}

void braid_audit_scopes_order(struct audit_scopes *scopes, const braid_graph *graph)
{
    put_edges(scopes, graph);
    for (uint32_t i = 0; i < scopes->num && has_sums(graph); i++) {
        braid_audit_poset_start(&scopes->items[i].poset);
        order_sums(scopes, graph, &scopes->items[i]);
    }
}
