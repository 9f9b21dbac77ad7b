// SPDX-License-Identifier: Apache-2.0
// Makes the scopes of a frame, and gives walks their orders.
#include "audit/audit_scopes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static void find_ops(struct audit_scopes *scopes, const struct program *program)
{
    scopes->items[audit_order_of(program)].program = program;
    for (uint32_t i = 0; i < program->num_ops; i++) {
        if (program_has_node(&program->ops[i]))
            scopes->op_of[program->ops[i].node] = i;
    }
    for (uint32_t i = 0; i < program->num_bodies; i++)
        find_ops(scopes, &program->bodies[i]);
}

static void count_units(struct audit_scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t node = plan_main_of(plan, unit);
        bool runs = scopes->op_of[node] != AUDIT_NO_ELEMENT;
        scopes->element_of[unit] =
            runs ? scopes->items[audit_scope_of(graph, node)].num++ : AUDIT_NO_ELEMENT;
    }
}

static braid_status make_scope(struct audit_scopes *scopes, uint32_t index)
{
    struct audit_scope *scope = &scopes->items[index];
    if (scope->num > AUDIT_MOST_ELEMENTS)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_exec_audit: orders of %u nodes, and %d are the most", scope->num,
                           AUDIT_MOST_ELEMENTS);
    braid_status status = braid_audit_poset_create(scope->num, &scope->poset);
    if (status)
        return status;
    scope->units = braid_allocate_zeroed(4 * (size_t)scope->num, sizeof(uint32_t));
    size_t num_ops = scope->program ? scope->program->num_ops : 0;
    scopes->orders[index].ops = braid_allocate_zeroed(num_ops, sizeof(uint32_t));
    if (!scope->units || !scopes->orders[index].ops)
        return braid_error_no_memory("the orders of an audit");
    scope->first = scope->units + scope->num;
    scope->last = scope->first + scope->num;
    scope->trial = scope->last + scope->num;
    return BRAID_OK;
}

static void name_units(struct audit_scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t element = scopes->element_of[unit];
        if (element != AUDIT_NO_ELEMENT)
            scopes->items[audit_scope_of(graph, plan_main_of(plan, unit))].units[element] = unit;
    }
}

static braid_status fill(struct audit_scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    braid_status status = BRAID_OK;
    memset(scopes->op_of, 0xff, plan->num_nodes * sizeof(uint32_t));
    find_ops(scopes, &scopes->exec->program);
    count_units(scopes, graph);
    for (uint32_t i = 0; i < scopes->num && !status; i++)
        status = make_scope(scopes, i);
    if (status)
        return status;
    name_units(scopes, graph);
    return braid_audit_scopes_order(scopes, graph);
}

braid_status braid_audit_scopes_create(const braid_graph *graph, const braid_exec *exec,
                                       struct audit_scopes *out_scopes)
{
    const struct plan_graph *plan = exec->schedule->graph;
    struct audit_scopes scopes = { .exec = exec, .num = (uint32_t)graph->regions.num + 1 };
    scopes.items = braid_allocate_zeroed(scopes.num, sizeof(*scopes.items));
    scopes.orders = braid_allocate_zeroed(scopes.num, sizeof(*scopes.orders));
    scopes.element_of = braid_allocate_zeroed(plan->num_units, sizeof(uint32_t));
    scopes.op_of = braid_allocate_zeroed(plan->num_nodes, sizeof(uint32_t));
    bool done = scopes.items && scopes.orders && scopes.element_of && scopes.op_of;
    braid_status status =
        done ? fill(&scopes, graph) : braid_error_no_memory("the orders of an audit");
    if (status)
        braid_audit_scopes_finish(&scopes);
    else
        *out_scopes = scopes;
    return status;
}

void braid_audit_scopes_finish(struct audit_scopes *scopes)
{
    for (uint32_t i = 0; i < scopes->num; i++) {
        if (scopes->items) {
            braid_audit_poset_finish(&scopes->items[i].poset);
            free(scopes->items[i].units);
        }
        if (scopes->orders)
            free(scopes->orders[i].ops);
    }
    free(scopes->items);
    free(scopes->orders);
    free(scopes->element_of);
    free(scopes->op_of);
    *scopes = (struct audit_scopes){ 0 };
}

void braid_audit_scopes_use(struct audit_scopes *scopes, uint32_t index, const uint32_t *order,
                            uint32_t num)
{
    const struct plan_graph *plan = audit_scopes_plan(scopes);
    const struct audit_scope *scope = &scopes->items[index];
    struct audit_order *to = &scopes->orders[index];
    to->num = 0;
    for (uint32_t i = 0; i < num; i++) {
        uint32_t unit = scope->units[order[i]];
        for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++)
            to->ops[to->num++] = scopes->op_of[plan_unit_member(plan, unit, k)];
    }
}
