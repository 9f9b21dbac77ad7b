// SPDX-License-Identifier: Apache-2.0
// The order of units in each scope: by edges, accesses and lane hints.
#include "audit/audit_scopes.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

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

// Bytes that an element of a scope accumulates into.
struct sum {
    uint32_t buffer, at; // `at`: the element's place in the order
    uint64_t begin, end;
};

static int compare_sums(const void *a, const void *b)
{
    const struct sum *left = a, *right = b;
    if (left->buffer != right->buffer)
        return left->buffer < right->buffer ? -1 : 1;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static size_t add_sums(const braid_graph *graph, uint32_t node, uint32_t at, struct sum *sums)
{
    const struct graph_node *added = &graph_nodes(graph)[node];
    const struct graph_access *accesses = graph->accesses.items;
    size_t num = 0;
    for (uint32_t i = 0; i < added->num_accesses; i++) {
        const struct graph_access *access = &accesses[added->first_access + i];
        const struct graph_resource *resource = graph_resource_at(graph, access->resource);
        if (access->mode == BRAID_ACCUMULATE)
            sums[num++] = (struct sum){ resource->buffer, at, resource->offset,
                                        resource->offset + resource->bytes };
    }
    return num;
}

static size_t find_sums(const struct audit_scopes *scopes, const braid_graph *graph,
                        const struct audit_scope *scope, struct sum *sums)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    size_t num = 0;
    for (uint32_t at = 0; at < scope->num; at++) {
        uint32_t unit = scope->units[scope->poset.forward[at]];
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++)
            num += add_sums(graph, plan_unit_member(plan, unit, i), at, sums + num);
    }
    if (num)
        qsort(sums, num, sizeof(*sums), compare_sums);
    return num;
}

// The order of sums does not matter, as declared, but it rounds them in one way or another, and an
// order of appends is seen. So nodes that accumulate together keep one. Buffers without a size are
// whole, so these begin alike.
static void order_sums(struct audit_scope *scope, const struct sum *sums, size_t num)
{
    const uint32_t *forward = scope->poset.forward;
    for (size_t i = 0; i < num; i++) {
        for (size_t k = i + 1; k < num && sums[k].buffer == sums[i].buffer &&
                               (sums[k].begin < sums[i].end || sums[k].begin == sums[i].begin);
             k++) {
            uint32_t one = sums[i].at, other = sums[k].at;
            if (one != other)
                braid_audit_poset_put(&scope->poset, forward[one < other ? one : other],
                                      forward[one < other ? other : one]);
        }
    }
}

static size_t count_sums(const braid_graph *graph)
{
    const struct graph_access *accesses = graph->accesses.items;
    size_t num = 0;
    for (size_t i = 0; i < graph->accesses.num; i++)
        num += accesses[i].mode == BRAID_ACCUMULATE;
    return num;
}

braid_status braid_audit_scopes_order(struct audit_scopes *scopes, const braid_graph *graph)
{
    size_t most = count_sums(graph);
    put_edges(scopes, graph);
    if (!most)
        return BRAID_OK;
    struct sum *sums = braid_allocate_zeroed(most, sizeof(*sums));
    if (!sums)
        return braid_error_no_memory("the orders of an audit");
    for (uint32_t i = 0; i < scopes->num; i++) {
        braid_audit_poset_start(&scopes->items[i].poset);
        order_sums(&scopes->items[i], sums, find_sums(scopes, graph, &scopes->items[i], sums));
    }
    free(sums);
    return BRAID_OK;
}
