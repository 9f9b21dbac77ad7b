// SPDX-License-Identifier: Apache-2.0
// Explains an edge that follows from a resource by the access of each side.
#include "report/explain.h"

static bool overlap(const struct plan_graph *plan, uint32_t a, uint32_t b)
{
    const struct graph_resource *x = &plan->resources[a], *y = &plan->resources[b];
    if (a == b)
        return true;
    return x->buffer == y->buffer && x->offset < y->offset + y->bytes &&
           y->offset < x->offset + x->bytes;
}

static uint32_t combine(uint32_t a, uint32_t b)
{
    if (a == BRAID_EXCLUSIVE || b == BRAID_EXCLUSIVE)
        return BRAID_EXCLUSIVE;
    if (a == b)
        return a;
    return BRAID_READ_WRITE; // two different modes leave both a read and a write
}

// The access of a node to a resource: of several accesses the strongest; 0: none.
static uint32_t mode_of(const struct plan_graph *plan, uint32_t node, uint32_t resource)
{
    uint32_t mode = 0;
    for (uint32_t i = plan->access_first[node]; i < plan->access_first[node + 1]; i++) {
        const struct graph_access *access = &plan->accesses[i];
        if (!overlap(plan, access->resource, resource))
            continue;
        mode = mode ? combine(mode, access->mode) : access->mode;
    }
    return mode;
}

static void add_node(struct plan_text *text, const struct plan_graph *plan, uint32_t node)
{
    uint32_t main = plan_main_of(plan, plan_unit_of(plan, node));
    plan_text_add(text, "%s", braid_plan_node_name(plan, node));
    if (main != node)
        plan_text_add(text, " of %s", braid_plan_node_name(plan, main));
}

// The last node of the unit that writes the resource, else the last that touches it at all.
static uint32_t last_user(const struct plan_graph *plan, uint32_t unit, uint32_t resource)
{
    uint32_t last = plan_main_of(plan, unit);
    bool wrote = false;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        uint32_t node = plan_unit_member(plan, unit, i);
        uint32_t mode = mode_of(plan, node, resource);
        bool writes = mode > BRAID_READ;
        if (mode == 0 || (wrote && !writes))
            continue;
        last = node;
        wrote = writes;
    }
    return last;
}

// A prelude that overwrites a list or scratch after earlier work clears it.
static const char *second_verb(const struct plan_graph *plan, uint32_t node, uint32_t mode)
{
    switch (mode) {
    case BRAID_READ:
        return "read";
    case BRAID_WRITE:
        return plan_main_of(plan, plan_unit_of(plan, node)) == node ? "overwritten" : "cleared";
    case BRAID_READ_WRITE:
        return "changed";
    case BRAID_ACCUMULATE:
        return "added to";
    default:
        return "held";
    }
}

void braid_explain_resource(struct plan_text *text, const struct plan_graph *plan,
                            const struct graph_link *link)
{
    uint32_t first = last_user(plan, plan_unit_of(plan, link->from), link->resource);
    uint32_t mode = mode_of(plan, first, link->resource);
    const char *verb = "written";
    if (mode == BRAID_EXCLUSIVE)
        verb = "held";
    else if (mode == BRAID_READ)
        verb = "read";
    else if (mode == BRAID_ACCUMULATE)
        verb = "added to";
    plan_text_add(text, "(%s by ", verb);
    add_node(text, plan, first);
    verb = second_verb(plan, link->to, mode_of(plan, link->to, link->resource));
    plan_text_add(text, ", %s by ", verb);
    add_node(text, plan, link->to);
    plan_text_add(text, ")");
}
