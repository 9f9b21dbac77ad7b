// SPDX-License-Identifier: Apache-2.0
// Searches for two nodes whose order the results depend on.
//
// Two orders with other results are ends of a walk, each step of which swaps two neighbours that
// nothing orders. Halving the walk finds a step behind which the results are others.
#include "exec/audit_orders.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "exec/audit_scopes.h"
#include "exec/audit_sets.h"
#include "exec/exec_memory.h"

struct search {
    braid_exec *exec;
    struct audit_scopes scopes;
    struct audit_state state;
    struct audit_difference difference; // of the latest run that had one
    uint32_t scope, prefix;             // where the walk is
};

static braid_status run_node(void *context, uint32_t node)
{
    const braid_exec *exec = context;
    return braid_audit_run_task(exec, &exec->frames.slots[0].frame.tasks[node]);
}

static braid_status run(struct search *search)
{
    braid_audit_state_restore(&search->state, AUDIT_START);
    return braid_audit_walk(&(struct audit_walk){ .exec = search->exec,
                                                  .orders = search->scopes.orders,
                                                  .run = run_node,
                                                  .context = search->exec });
}

static braid_status run_first(struct search *search)
{
    braid_status status = run(search);
    braid_audit_state_keep(&search->state, AUDIT_END);
    return status;
}

// Whether the results are others than those of the first run.
static braid_status run_again(struct search *search, bool *out_differs)
{
    braid_status status = run(search);
    *out_differs =
        !status && braid_audit_state_differs(&search->state, AUDIT_END, &search->difference);
    return status;
}

static braid_status run_twice(struct search *search, bool *out_differs)
{
    braid_status status = run_first(search);
    return status ? status : run_again(search, out_differs);
}

typedef void set_trial(struct search *search, uint32_t trial);
typedef braid_status run_trial(struct search *search, bool *out_differs);

// Finds a trial that differs, behind one that does not. Trial 0 does not, and the last one does.
static braid_status halve(struct search *search, uint32_t last, set_trial *set, run_trial *ask,
                          uint32_t *out_trial)
{
    uint32_t same = 0;
    braid_status status = BRAID_OK;
    while (!status && last - same > 1) {
        uint32_t middle = same + (last - same) / 2;
        bool differs = false;
        set(search, middle);
        status = ask(search, &differs);
        if (differs)
            last = middle;
        else
            same = middle;
    }
    *out_trial = last;
    return status;
}

// The first scopes have the last order, and the others have the first one.
static void set_scopes(struct search *search, uint32_t num)
{
    for (uint32_t i = 0; i < search->scopes.num; i++) {
        const struct audit_scope *scope = &search->scopes.items[i];
        braid_audit_scopes_use(&search->scopes, i, i < num ? scope->last : scope->first,
                               scope->num);
    }
}

// Of the scope at hand the first so many elements of the last order, and then the others as in the
// first one.
static void make_trial(struct search *search, uint32_t num)
{
    struct audit_scope *scope = &search->scopes.items[search->scope];
    uint64_t *taken = scope->poset.room;
    memset(taken, 0, scope->poset.num_words * sizeof(*taken));
    for (uint32_t i = 0; i < num; i++)
        audit_set_add(taken, scope->trial[i] = scope->last[i]);
    for (uint32_t i = 0; i < scope->num; i++) {
        if (!audit_set_has(taken, scope->first[i]))
            scope->trial[num++] = scope->first[i];
    }
}

static void set_prefix(struct search *search, uint32_t num)
{
    const struct audit_scope *scope = &search->scopes.items[search->scope];
    make_trial(search, num);
    braid_audit_scopes_use(&search->scopes, search->scope, scope->trial, scope->num);
}

// How many places the element behind the prefix of the last order has to move forward.
static uint32_t count_moves(struct search *search)
{
    const struct audit_scope *scope = &search->scopes.items[search->scope];
    uint32_t num = 0;
    make_trial(search, search->prefix);
    while (scope->trial[search->prefix + num] != scope->last[search->prefix])
        num++;
    return num;
}

static void set_moves(struct search *search, uint32_t num)
{
    const struct audit_scope *scope = &search->scopes.items[search->scope];
    uint32_t at = search->prefix + count_moves(search);
    for (; num > 0; num--, at--) {
        uint32_t moved = scope->trial[at];
        scope->trial[at] = scope->trial[at - 1];
        scope->trial[at - 1] = moved;
    }
    braid_audit_scopes_use(&search->scopes, search->scope, scope->trial, scope->num);
}

static uint32_t node_of(const struct search *search, uint32_t element)
{
    return plan_main_of(search->exec->schedule->graph,
                        search->scopes.items[search->scope].units[element]);
}

// From now on the two have an order, so that other pairs can be found.
static void take_pair(struct search *search, uint32_t one, uint32_t other,
                      struct audit_order_finding *out_finding)
{
    uint32_t first = one < other ? one : other, second = one < other ? other : one;
    braid_audit_poset_put(&search->scopes.items[search->scope].poset, first, second);
    *out_finding = (struct audit_order_finding){
        .kind = BRAID_AUDIT_ORDER,
        .node = node_of(search, first),
        .other = node_of(search, second),
        .difference = search->difference,
    };
}

// Of the first order and the last one, whose results differ.
static braid_status find_pair(struct search *search, struct audit_order_finding *out_finding)
{
    uint32_t trial = 0, num_moves;
    braid_status status = halve(search, search->scopes.num, set_scopes, run_again, &trial);
    if (status)
        return status;
    search->scope = trial - 1;
    set_scopes(search, search->scope);
    const struct audit_scope *scope = &search->scopes.items[search->scope];
    status = halve(search, scope->num, set_prefix, run_again, &trial);
    if (status)
        return status;
    search->prefix = trial - 1;
    num_moves = count_moves(search);
    status = halve(search, num_moves, set_moves, run_again, &trial);
    if (status)
        return status;
    make_trial(search, search->prefix);
    take_pair(search, scope->last[search->prefix], scope->trial[search->prefix + num_moves - trial],
              out_finding);
    return BRAID_OK;
}

static void set_head(struct search *search, uint32_t num)
{
    braid_audit_scopes_use(&search->scopes, 0, search->scopes.items[0].first, num);
}

// Of the frame's first order, which has other results each time.
static braid_status find_unrepeatable(struct search *search,
                                      struct audit_order_finding *out_finding)
{
    const struct audit_scope *frame = &search->scopes.items[0];
    uint32_t num = 0;
    braid_status status = halve(search, frame->num, set_head, run_twice, &num);
    if (status)
        return status;
    search->scope = 0;
    *out_finding = (struct audit_order_finding){
        .kind = BRAID_AUDIT_UNREPEATABLE,
        .node = node_of(search, frame->first[num - 1]),
        .other = GRAPH_NONE,
        .difference = search->difference,
    };
    return BRAID_OK;
}

static void begin_orders(struct search *search)
{
    for (uint32_t i = 0; i < search->scopes.num; i++) {
        struct audit_scope *scope = &search->scopes.items[i];
        braid_audit_poset_start(&scope->poset);
        braid_audit_poset_next(&scope->poset, scope->first);
        memcpy(scope->last, scope->first, scope->num * sizeof(*scope->last));
    }
    set_scopes(search, 0);
}

// All scopes take turns at once. One that has had all its orders keeps the last.
static bool take_next_orders(struct search *search)
{
    bool any = false;
    for (uint32_t i = 0; i < search->scopes.num; i++) {
        struct audit_scope *scope = &search->scopes.items[i];
        any = braid_audit_poset_next(&scope->poset, scope->last) || any;
    }
    if (any)
        set_scopes(search, search->scopes.num);
    return any;
}

static braid_status find_one(struct search *search, struct audit_order_finding *out_finding,
                             bool *out_found)
{
    begin_orders(search);
    braid_status status = run_twice(search, out_found);
    if (status || *out_found)
        return status ? status : find_unrepeatable(search, out_finding);
    while (!status && !*out_found && take_next_orders(search))
        status = run_again(search, out_found);
    return status || !*out_found ? status : find_pair(search, out_finding);
}

static braid_status find_all(struct search *search, struct array *findings)
{
    struct audit_order_finding finding = { .kind = BRAID_AUDIT_ORDER };
    bool found = true;
    while (found && finding.kind == BRAID_AUDIT_ORDER && findings->num < AUDIT_MOST_PAIRS) {
        braid_status status = find_one(search, &finding, &found);
        if (status)
            return status;
        struct audit_order_finding *item =
            found ? braid_array_append(findings, 1, sizeof(*item)) : &finding;
        if (!item)
            return braid_error_no_memory("the findings of an audit");
        *item = finding;
    }
    return BRAID_OK;
}

// Transient buffers that shared memory would have more orders than the graph's.
braid_status braid_audit_orders(braid_exec *exec, struct array *out_findings)
{
    struct search search = { .exec = exec };
    const braid_graph *graph = exec->culled.graph;
    braid_status status = braid_exec_part_memory(exec, graph);
    if (!status)
        status = braid_exec_update(exec, &exec->frames.slots[0], 0, 0);
    if (!status)
        status = braid_audit_scopes_create(graph, exec, &search.scopes);
    if (!status)
        status = braid_audit_state_create(graph, exec, &search.state);
    if (!status) {
        braid_audit_state_keep(&search.state, AUDIT_START);
        status = find_all(&search, out_findings);
        braid_audit_state_restore(&search.state, AUDIT_START);
    }
    braid_audit_state_finish(&search.state);
    braid_audit_scopes_finish(&search.scopes);
    return status;
}
