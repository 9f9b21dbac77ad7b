// SPDX-License-Identifier: Apache-2.0
// Searches for two nodes whose order the results depend on, and tells of them.
//
// Two orders with other results are ends of a walk, each step of which swaps two neighbours that
// nothing orders. Halving the walk finds a step behind which the results are others.
#include "audit/audit_orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_poset.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "graph/regions.h"

// ---- scopes: the frame and each region that it plays ----
//
// Inside a region units have orders of their own. From outside the region is one node, which runs
// as a whole.

// Elements are the units that run, in the order in which they were added.
struct scope {
    const struct program *program; // NULL: no frame plays it
    uint32_t num;
    uint32_t *units;          // by element
    struct audit_poset poset; // orders the elements
    uint32_t *first, *last;   // two orders of elements
    uint32_t *trial;          // an order between them
};

struct scopes {
    const braid_exec *exec;
    struct scope *items; // as audit_order_of has them
    uint32_t num;
    uint32_t *element_of;       // by unit, in its scope; AUDIT_NO_ELEMENT: it does not run
    uint32_t *op_of;            // by node, in its program; likewise
    struct audit_order *orders; // by scope
};

static const struct plan_graph *plan_of(const struct scopes *scopes)
{
    return scopes->exec->schedule->graph;
}

static uint32_t scope_of(const braid_graph *graph, uint32_t node)
{
    uint32_t region = braid_graph_region_of(graph, node);
    return region == GRAPH_NONE ? 0 : region + 1;
}

// ---- the order of units in each scope: by edges, accesses and lane hints ----

// Nodes inside a region count as its node outside. False: the two are of one unit, or one does not
// run.
static bool find_elements(const struct scopes *scopes, const braid_graph *graph, uint32_t *one,
                          uint32_t *other, uint32_t *out_scope)
{
    const struct plan_graph *plan = plan_of(scopes);
    uint32_t region = braid_graph_meet(graph, one, other);
    *one = scopes->element_of[plan_unit_of(plan, *one)];
    *other = scopes->element_of[plan_unit_of(plan, *other)];
    *out_scope = region == GRAPH_NONE ? 0 : region + 1;
    return *one != *other && *one != AUDIT_NO_ELEMENT && *other != AUDIT_NO_ELEMENT;
}

static void put_nodes(struct scopes *scopes, const braid_graph *graph, uint32_t from, uint32_t to)
{
    uint32_t scope;
    if (find_elements(scopes, graph, &from, &to, &scope))
        braid_audit_poset_put(&scopes->items[scope].poset, from, to);
}

// A hint holds inside one body.
static void put_hint(struct scopes *scopes, const braid_graph *graph, uint32_t unit)
{
    const struct plan_graph *plan = plan_of(scopes);
    uint32_t scope = scope_of(graph, plan_main_of(plan, unit)), before = plan->hint_before[unit];
    while (before != PLAN_NONE && scope_of(graph, plan_main_of(plan, before)) != scope)
        before = plan->hint_before[before];
    if (before != PLAN_NONE)
        put_nodes(scopes, graph, plan_main_of(plan, before), plan_main_of(plan, unit));
}

static void put_edges(struct scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = plan_of(scopes);
    for (uint32_t node = 0; node < plan->num_nodes; node++) {
        for (uint32_t i = plan->pred_first[node]; i < plan->pred_first[node + 1]; i++) {
            if (!plan->pred_reasons || plan->pred_reasons[i] != PLAN_BY_HINT)
                put_nodes(scopes, graph, plan->pred_nodes[i], node);
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

static size_t find_sums(const struct scopes *scopes, const braid_graph *graph,
                        const struct scope *scope, struct sum *sums)
{
    const struct plan_graph *plan = plan_of(scopes);
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
static void order_sums(struct scope *scope, const struct sum *sums, size_t num)
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

// Puts the units of each scope in the order that the graph asks for. Errors: BRAID_NO_MEMORY.
static braid_status order_scopes(struct scopes *scopes, const braid_graph *graph)
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
    braid_free(sums);
    return BRAID_OK;
}

// ---- scopes are made, and give walks their orders ----

static void find_ops(struct scopes *scopes, const struct program *program)
{
    scopes->items[audit_order_of(program)].program = program;
    for (uint32_t i = 0; i < program->num_ops; i++) {
        if (program_has_node(&program->ops[i]))
            scopes->op_of[program->ops[i].node] = i;
    }
    for (uint32_t i = 0; i < program->num_bodies; i++)
        find_ops(scopes, &program->bodies[i]);
}

static void count_units(struct scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = plan_of(scopes);
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t node = plan_main_of(plan, unit);
        bool runs = scopes->op_of[node] != AUDIT_NO_ELEMENT;
        scopes->element_of[unit] =
            runs ? scopes->items[scope_of(graph, node)].num++ : AUDIT_NO_ELEMENT;
    }
}

static braid_status make_scope(struct scopes *scopes, uint32_t index)
{
    struct scope *scope = &scopes->items[index];
    if (scope->num > AUDIT_MOST_ELEMENTS)
        return braid_error(BRAID_UNSUPPORTED,
                           "braid_graph_audit: orders of %u nodes, and %d are the most", scope->num,
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

static void name_units(struct scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = plan_of(scopes);
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t element = scopes->element_of[unit];
        if (element != AUDIT_NO_ELEMENT)
            scopes->items[scope_of(graph, plan_main_of(plan, unit))].units[element] = unit;
    }
}

static braid_status fill_scopes(struct scopes *scopes, const braid_graph *graph)
{
    const struct plan_graph *plan = plan_of(scopes);
    braid_status status = BRAID_OK;
    memset(scopes->op_of, 0xff, plan->num_nodes * sizeof(uint32_t));
    find_ops(scopes, &scopes->exec->program);
    count_units(scopes, graph);
    for (uint32_t i = 0; i < scopes->num && !status; i++)
        status = make_scope(scopes, i);
    if (status)
        return status;
    name_units(scopes, graph);
    return order_scopes(scopes, graph);
}

static void finish_scopes(struct scopes *scopes)
{
    for (uint32_t i = 0; i < scopes->num; i++) {
        if (scopes->items) {
            braid_audit_poset_finish(&scopes->items[i].poset);
            braid_free(scopes->items[i].units);
        }
        if (scopes->orders)
            braid_free(scopes->orders[i].ops);
    }
    braid_free(scopes->items);
    braid_free(scopes->orders);
    braid_free(scopes->element_of);
    braid_free(scopes->op_of);
    *scopes = (struct scopes){ 0 };
}

// `graph` is the one that the exec plays. Errors: BRAID_NO_MEMORY; BRAID_UNSUPPORTED (over
// AUDIT_MOST_ELEMENTS units in one scope).
static braid_status create_scopes(const braid_graph *graph, const braid_exec *exec,
                                  struct scopes *out_scopes)
{
    const struct plan_graph *plan = exec->schedule->graph;
    struct scopes scopes = { .exec = exec, .num = (uint32_t)graph->regions.num + 1 };
    scopes.items = braid_allocate_zeroed(scopes.num, sizeof(*scopes.items));
    scopes.orders = braid_allocate_zeroed(scopes.num, sizeof(*scopes.orders));
    scopes.element_of = braid_allocate_zeroed(plan->num_units, sizeof(uint32_t));
    scopes.op_of = braid_allocate_zeroed(plan->num_nodes, sizeof(uint32_t));
    bool done = scopes.items && scopes.orders && scopes.element_of && scopes.op_of;
    braid_status status =
        done ? fill_scopes(&scopes, graph) : braid_error_no_memory("the orders of an audit");
    if (status)
        finish_scopes(&scopes);
    else
        *out_scopes = scopes;
    return status;
}

// Gives the walk an order of the first `num` elements of a scope.
static void use_order(struct scopes *scopes, uint32_t index, const uint32_t *order, uint32_t num)
{
    const struct plan_graph *plan = plan_of(scopes);
    const struct scope *scope = &scopes->items[index];
    struct audit_order *to = &scopes->orders[index];
    to->num = 0;
    for (uint32_t i = 0; i < num; i++) {
        uint32_t unit = scope->units[order[i]];
        for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++)
            to->ops[to->num++] = scopes->op_of[plan_unit_member(plan, unit, k)];
    }
}

// ---- runs ----

enum { SPARE_ITERATIONS = 1000 };

// Runs of a frame in given orders from the same contents, compared with those of a first run.
struct runs {
    const struct audit_reach *reach;
    struct scopes scopes; // with the orders
    struct audit_state state;
    struct audit_loops loops;
    uint32_t endless;                   // the first run's
    struct audit_difference difference; // the latest run's that had one
};

static braid_status run_node(void *context, uint32_t node)
{
    const struct audit_reach *reach = context;
    return braid_audit_reach_run(reach, audit_task_of(reach, node));
}

// NULL: in issue order.
static braid_status run(struct runs *runs, const struct audit_order *orders)
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
static braid_status limit_loops(struct runs *runs)
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
static braid_status finish_runs(struct runs *runs, braid_status status)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status restored = braid_audit_state_restore(&runs->state, AUDIT_START);
    braid_error_end_attempt(&attempt, status ? BRAID_OK : restored);
    braid_audit_state_finish(&runs->state);
    finish_scopes(&runs->scopes);
    braid_free(runs->loops.items);
    *runs = (struct runs){ 0 };
    return status ? status : restored;
}

// Errors: BRAID_NO_MEMORY, BRAID_IO_ERROR, BRAID_UNSUPPORTED (too many nodes), those of the nodes
// and of copies.
static braid_status create_runs(const struct audit_reach *reach, struct runs *out_runs)
{
    braid_exec *exec = reach->exec;
    const braid_graph *graph = exec->culled.graph;
    struct runs *runs = out_runs;
    *runs = (struct runs){ .reach = reach };
    braid_status status = braid_exec_update(exec, &exec->frames.slots[0], 0, 0);
    if (!status)
        status = create_scopes(graph, exec, &runs->scopes);
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

// ---- the search ----

struct search {
    struct runs runs;
    uint32_t scope, prefix; // where the walk is
};

static braid_status run_again(struct search *search, bool *out_differs)
{
    struct runs *runs = &search->runs;
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
    struct runs *runs = &search->runs;
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
        const struct scope *scope = &search->runs.scopes.items[i];
        use_order(&search->runs.scopes, i, i < num ? scope->last : scope->first, scope->num);
    }
}

// The trial of the scope at hand begins with the first so many elements of the last order. The
// others follow as in the first order.
static void make_trial(struct search *search, uint32_t num)
{
    struct scope *scope = &search->runs.scopes.items[search->scope];
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
    const struct scope *scope = &search->runs.scopes.items[search->scope];
    make_trial(search, num);
    use_order(&search->runs.scopes, search->scope, scope->trial, scope->num);
}

// How many places the element behind the prefix of the last order has to move forward.
static uint32_t count_moves(struct search *search)
{
    const struct scope *scope = &search->runs.scopes.items[search->scope];
    uint32_t num = 0;
    make_trial(search, search->prefix);
    while (scope->trial[search->prefix + num] != scope->last[search->prefix])
        num++;
    return num;
}

static void set_moves(struct search *search, uint32_t num)
{
    const struct scope *scope = &search->runs.scopes.items[search->scope];
    uint32_t at = search->prefix + count_moves(search);
    for (; num > 0; num--, at--) {
        uint32_t moved = scope->trial[at];
        scope->trial[at] = scope->trial[at - 1];
        scope->trial[at - 1] = moved;
    }
    use_order(&search->runs.scopes, search->scope, scope->trial, scope->num);
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
    const struct scope *scope = &search->runs.scopes.items[search->scope];
    uint32_t at = search->prefix + count_moves(search);
    take_pair(search, scope->last[search->prefix], scope->trial[at - num], out_finding);
    return BRAID_OK;
}

static void set_head(struct search *search, uint32_t num)
{
    use_order(&search->runs.scopes, 0, search->runs.scopes.items[0].first, num);
}

// Finds the node in the frame's first order that does not repeat its results. If results seldom
// differ, it finds none.
static braid_status find_unrepeatable(struct search *search,
                                      struct audit_order_finding *out_finding)
{
    const struct scope *frame = &search->runs.scopes.items[0];
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
        struct scope *scope = &search->runs.scopes.items[i];
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
        struct scope *scope = &search->runs.scopes.items[i];
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

// ---- the report ----

static struct node_text text_of(const braid_graph *graph, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(graph, node));
}

static void write_text(const braid_graph *graph, const struct audit_order_finding *found,
                       const char *buffer, char *text, size_t size)
{
    const struct audit_difference *difference = &found->difference;
    char differing[256];
    if (buffer)
        snprintf(differing, sizeof(differing), "byte %llu of '%.150s'",
                 (unsigned long long)difference->first, buffer);
    else
        snprintf(differing, sizeof(differing), "the end of node %s",
                 text_of(graph, difference->node).text);
    if (found->kind == BRAID_AUDIT_ORDER)
        snprintf(text, size, "nothing orders nodes %s and %s, and %s depends on their order",
                 text_of(graph, found->node).text, text_of(graph, found->other).text, differing);
    else if (found->node != GRAPH_NONE)
        snprintf(text, size, "node %s does not repeat its results: %s differs",
                 text_of(graph, found->node).text, differing);
    else
        snprintf(text, size, "the frame does not always repeat its results: %s differs", differing);
}

static braid_node handle_of(const braid_graph *graph, uint32_t node)
{
    return node == GRAPH_NONE ? (braid_node){ 0 } : (braid_node){ .index = node, graph->id };
}

static void report(const braid_graph *graph, const struct audit_order_finding *found,
                   const braid_audit_options *options)
{
    const struct audit_difference *difference = &found->difference;
    char text[768], buffer[256];
    braid_audit_finding finding = { .kind = found->kind,
                                    .node = handle_of(graph, found->node),
                                    .other = handle_of(graph, found->other),
                                    .text = text };
    if (difference->resource != GRAPH_NONE) {
        finding.resource = (braid_resource){ .index = difference->resource, .graph = graph->id };
        finding.buffer =
            braid_graph_resource_name(graph, difference->resource, buffer, sizeof(buffer));
        finding.address = difference->memory + difference->first;
        finding.begin = difference->first;
        finding.end = difference->last + 1;
        finding.num = difference->num;
    }
    if (found->node != GRAPH_NONE && graph_nodes(graph)[found->node].kind == WORK_KERNEL)
        finding.kernel = graph_kernel_of(graph, found->node)->kernel->name;
    write_text(graph, found, finding.buffer, text, sizeof(text));
    PLAIN_MEMORY;
    options->report(&finding, options->user);
}

void braid_audit_orders_report(const braid_graph *graph, const struct array *findings,
                               const braid_audit_options *options)
{
    const struct audit_order_finding *items = findings->items;
    for (size_t i = 0; i < findings->num && options && options->report; i++)
        report(graph, &items[i], options);
}
