// SPDX-License-Identifier: Apache-2.0
// Searches for two nodes whose order the results depend on.
//
// Two orders with other results are ends of a walk, each step of which swaps two neighbours that
// nothing orders. Halving the walk finds a step behind which the results are others.
#include "audit/audit_orders.h"

#include <stdlib.h>
#include <string.h>

#include "audit/audit_scopes.h"
#include "audit/audit_sets.h"
#include "audit/audit_state.h"
#include "base/array.h"
#include "base/error.h"

// Runs of a frame in given orders from the same contents, compared with those of a first run.
struct audit_runs {
    const struct audit_reach *reach;
    struct audit_scopes scopes; // with the orders
    struct audit_state state;
    struct audit_loops loops;
    uint32_t endless;                   // the first run's
    struct audit_difference difference; // the latest run's that had one
};

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

// Behind it buffers have their contents of before. `status` is that of the runs, which it returns
// unless that is success and giving back the contents fails.
static braid_status finish_runs(struct audit_runs *runs, braid_status status)
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

// Errors: BRAID_NO_MEMORY, BRAID_IO_ERROR, BRAID_UNSUPPORTED (too many nodes), those of the nodes
// and of copies.
static braid_status create_runs(const struct audit_reach *reach, struct audit_runs *out_runs)
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
    return status ? finish_runs(runs, status) : BRAID_OK;
}

struct search {
    struct audit_runs runs;
    uint32_t scope, prefix; // where the walk is
};

static braid_status run_again(struct search *search, bool *out_differs)
{
    struct audit_runs *runs = &search->runs;
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

static braid_status run_twice(struct search *search, bool *out_differs)
{
    struct audit_runs *runs = &search->runs;
    braid_status status = run(runs, runs->scopes.orders);
    runs->endless = runs->loops.endless;
    if (!status)
        status = braid_audit_state_keep(&runs->state, AUDIT_END);
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
    for (uint32_t i = 0; i < search->runs.scopes.num; i++) {
        const struct audit_scope *scope = &search->runs.scopes.items[i];
        braid_audit_scopes_use(&search->runs.scopes, i, i < num ? scope->last : scope->first,
                               scope->num);
    }
}

// The trial of the scope at hand begins with the first so many elements of the last order. The
// others follow as in the first order.
static void make_trial(struct search *search, uint32_t num)
{
    struct audit_scope *scope = &search->runs.scopes.items[search->scope];
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
    const struct audit_scope *scope = &search->runs.scopes.items[search->scope];
    make_trial(search, num);
    braid_audit_scopes_use(&search->runs.scopes, search->scope, scope->trial, scope->num);
}

// How many places the element behind the prefix of the last order has to move forward.
static uint32_t count_moves(struct search *search)
{
    const struct audit_scope *scope = &search->runs.scopes.items[search->scope];
    uint32_t num = 0;
    make_trial(search, search->prefix);
    while (scope->trial[search->prefix + num] != scope->last[search->prefix])
        num++;
    return num;
}

static void set_moves(struct search *search, uint32_t num)
{
    const struct audit_scope *scope = &search->runs.scopes.items[search->scope];
    uint32_t at = search->prefix + count_moves(search);
    for (; num > 0; num--, at--) {
        uint32_t moved = scope->trial[at];
        scope->trial[at] = scope->trial[at - 1];
        scope->trial[at - 1] = moved;
    }
    braid_audit_scopes_use(&search->runs.scopes, search->scope, scope->trial, scope->num);
}

static uint32_t node_of(const struct search *search, uint32_t element)
{
    return plan_main_of(search->runs.reach->exec->schedule->graph,
                        search->runs.scopes.items[search->scope].units[element]);
}

static braid_status find_unrepeatable(struct search *search,
                                      struct audit_order_finding *out_finding);

// Whether a trial differs, and the one before does not. Once a clock or a counter has gone on,
// both differ, so the trial runs first.
static braid_status check_step(struct search *search, uint32_t trial, set_trial *set,
                               run_trial *ask, bool *out_is_step)
{
    bool differs = false, differs_before = true;
    if (!trial)
        return BRAID_OK;
    set(search, trial);
    braid_status status = ask(search, &differs);
    if (!status && differs) {
        set(search, trial - 1);
        status = ask(search, &differs_before);
    }
    *out_is_step = !differs_before;
    return status;
}

// From now on the two have an order, so that other pairs can be found.
static void take_pair(struct search *search, uint32_t one, uint32_t other,
                      struct audit_order_finding *out_finding)
{
    uint32_t first = one < other ? one : other, second = one < other ? other : one;
    braid_audit_poset_put(&search->runs.scopes.items[search->scope].poset, first, second);
    *out_finding = (struct audit_order_finding){
        .kind = BRAID_AUDIT_ORDER,
        .node = node_of(search, first),
        .other = node_of(search, second),
        .difference = search->runs.difference,
    };
}

// Finds the scope and the prefix from which the first order and the last one have other results. It
// counts places by which the element behind moves until they differ.
static braid_status find_moves(struct search *search, uint32_t *out_num)
{
    uint32_t trial = 0;
    braid_status status = halve(search, search->runs.scopes.num, set_scopes, run_again, &trial);
    if (status)
        return status;
    search->scope = trial - 1;
    set_scopes(search, search->scope);
    status =
        halve(search, search->runs.scopes.items[search->scope].num, set_prefix, run_again, &trial);
    if (status || !trial)
        return status;
    search->prefix = trial - 1;
    return halve(search, count_moves(search), set_moves, run_again, out_num);
}

static braid_status find_pair(struct search *search, struct audit_order_finding *out_finding)
{
    uint32_t num = 0;
    bool is_step = false;
    braid_status status = find_moves(search, &num);
    if (!status)
        status = check_step(search, num, set_moves, run_again, &is_step);
    if (status || !is_step)
        return status ? status : find_unrepeatable(search, out_finding);
    const struct audit_scope *scope = &search->runs.scopes.items[search->scope];
    uint32_t at = search->prefix + count_moves(search);
    take_pair(search, scope->last[search->prefix], scope->trial[at - num], out_finding);
    return BRAID_OK;
}

static void set_head(struct search *search, uint32_t num)
{
    braid_audit_scopes_use(&search->runs.scopes, 0, search->runs.scopes.items[0].first, num);
}

// Finds the node in the frame's first order that does not repeat its results. If results seldom
// differ, it finds none.
static braid_status find_unrepeatable(struct search *search,
                                      struct audit_order_finding *out_finding)
{
    const struct audit_scope *frame = &search->runs.scopes.items[0];
    uint32_t num = 0;
    bool is_step = false;
    set_scopes(search, 0);
    braid_status status = halve(search, frame->num, set_head, run_twice, &num);
    if (!status)
        status = check_step(search, num, set_head, run_twice, &is_step);
    search->scope = 0;
    *out_finding = (struct audit_order_finding){
        .kind = BRAID_AUDIT_UNREPEATABLE,
        .node = is_step ? node_of(search, frame->first[num - 1]) : GRAPH_NONE,
        .other = GRAPH_NONE,
        .difference = search->runs.difference,
    };
    return status;
}

static void begin_orders(struct search *search)
{
    for (uint32_t i = 0; i < search->runs.scopes.num; i++) {
        struct audit_scope *scope = &search->runs.scopes.items[i];
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
    for (uint32_t i = 0; i < search->runs.scopes.num; i++) {
        struct audit_scope *scope = &search->runs.scopes.items[i];
        any = braid_audit_poset_next(&scope->poset, scope->last) || any;
    }
    if (any)
        set_scopes(search, search->runs.scopes.num);
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

braid_status braid_audit_orders(const struct audit_reach *reach, struct array *out_findings)
{
    struct search search = { .scope = 0 };
    braid_status status = create_runs(reach, &search.runs);
    if (status)
        return status;
    return finish_runs(&search.runs, find_all(&search, out_findings));
}
