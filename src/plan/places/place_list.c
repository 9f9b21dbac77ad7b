// SPDX-License-Identifier: Apache-2.0
// HEFT, with the gaps between units that are placed filled by later ones.
#include "plan/places/place_times.h"

#include "base/error.h"
#include "plan/plan_heap.h"

struct list {
    const struct place_task *task;
    uint64_t mean_wait_ns, mean_latency_ns, mean_mib_ns; // over all pairs of places
    uint64_t *rank;                                      // per unit
};

static void find_means(struct list *list)
{
    const struct place_model *model = &list->task->model;
    uint32_t num = model->num_places;
    uint64_t pairs = (uint64_t)num * (num - 1);
    for (uint32_t from = 0; from < num; from++) {
        for (uint32_t to = 0; to < num; to++) {
            if (from == to)
                continue;
            uint64_t empty = braid_place_copy_ns(model, from, to, 0);
            list->mean_wait_ns += placed_link(model, from, to)->wait_ns / pairs;
            list->mean_latency_ns += empty / pairs;
            list->mean_mib_ns += (braid_place_copy_ns(model, from, to, 1 << 20) - empty) / pairs;
        }
    }
}

static uint64_t mean_flow(const struct list *list, uint64_t bytes)
{
    uint64_t copy = bytes ? list->mean_latency_ns + (bytes >> 10) * list->mean_mib_ns / 1024 : 0;
    return list->mean_wait_ns + copy;
}

static bool is_allowed(const struct place_task *task, uint32_t unit, uint32_t place)
{
    return task->allowed[unit] >> place & 1;
}

static uint64_t cost_of(const struct place_task *task, uint32_t unit, uint32_t place)
{
    return task->cost_ns[(size_t)unit * task->num_places + place];
}

static uint64_t mean_cost(const struct place_task *task, uint32_t unit)
{
    uint64_t sum = 0, num = 0;
    for (uint32_t p = 0; p < task->num_places; p++) {
        if (!is_allowed(task, unit, p))
            continue;
        sum += cost_of(task, unit, p);
        num++;
    }
    return sum / num;
}

// Adds the part of one edge to the rank of the unit that it leads from.
static void rank_pred(struct list *list, uint32_t edge, uint32_t unit)
{
    const struct place_task *task = list->task;
    uint32_t pred = plan_unit_of(task->plan, task->plan->pred_nodes[edge]);
    uint64_t rank = list->rank[unit] + mean_flow(list, task->edge_bytes[edge]);
    list->rank[pred] = rank > list->rank[pred] ? rank : list->rank[pred];
}

// A unit is done with when all behind it are: its nodes stand together in the order.
static void rank_all(struct list *list)
{
    const struct plan_graph *plan = list->task->plan;
    for (uint32_t i = plan->num_nodes; i-- > 0;) {
        uint32_t node = plan_ordered_node(plan, i), unit = plan_unit_of(plan, node);
        if (node != plan_first_member(plan, unit))
            continue;
        list->rank[unit] += mean_cost(list->task, unit);
        for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++) {
            uint32_t member = plan_unit_member(plan, unit, k);
            for (uint32_t e = plan->pred_first[member]; e < plan->pred_first[member + 1]; e++)
                rank_pred(list, e, unit);
        }
    }
}

static bool list_ready(const struct list *list, struct plan_heap *ready, uint32_t *left,
                       uint32_t *order)
{
    const struct plan_graph *plan = list->task->plan;
    bool done = true;
    for (uint32_t unit = 0; unit < plan->num_units && done; unit++) {
        left[unit] = plan_num_preds(plan, unit);
        if (!left[unit])
            done = plan_heap_push(ready, UINT64_MAX - list->rank[unit], unit);
    }
    for (uint32_t num = 0; done && plan_heap_first(ready);) {
        uint32_t unit = plan_heap_pop(ready).value;
        order[num++] = unit;
        for (uint32_t k = 0; k < plan_unit_size(plan, unit); k++) {
            uint32_t node = plan_unit_member(plan, unit, k);
            for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1] && done; e++) {
                uint32_t succ = plan_unit_of(plan, plan->succ_nodes[e]);
                if (--left[succ] == 0)
                    done = plan_heap_push(ready, UINT64_MAX - list->rank[succ], succ);
            }
        }
    }
    return done;
}

// Units in the order of HEFT: by the heaviest path ahead. The data along it count at the mean of
// all pairs of places. Every edge goes forward.
static braid_status find_order(const struct place_task *task, uint32_t **out_order)
{
    uint32_t num = task->plan->num_units;
    struct list list = { .task = task, .rank = braid_allocate_zeroed(num, sizeof(uint64_t)) };
    uint32_t *left = braid_allocate_zeroed(num, sizeof(*left));
    uint32_t *order = braid_allocate_zeroed(num, sizeof(*order));
    struct plan_heap ready = { 0 };
    bool done = list.rank && left && order;
    if (done) {
        find_means(&list);
        rank_all(&list);
        done = list_ready(&list, &ready, left, order);
    }
    braid_array_finish(&ready.items);
    free(list.rank);
    free(left);
    if (!done) {
        free(order);
        return braid_error_no_memory("the places of a plan");
    }
    *out_order = order;
    return BRAID_OK;
}

// Where the unit ends first.
static uint32_t choose_place(const struct place_times *times, uint32_t unit, uint64_t *out_start_ns)
{
    const struct place_task *task = times->task;
    uint64_t best_ns = UINT64_MAX;
    uint32_t best = 0;
    for (uint32_t p = 0; p < task->num_places; p++) {
        if (!is_allowed(task, unit, p))
            continue;
        uint64_t start = braid_place_times_start(times, unit, p);
        uint64_t ns = start + cost_of(task, unit, p);
        if (ns < best_ns) {
            best_ns = ns;
            best = p;
            *out_start_ns = start;
        }
    }
    return best;
}

braid_status braid_place_list(struct place_times *times)
{
    uint32_t *order = NULL;
    braid_status status = find_order(times->task, &order);
    for (uint32_t i = 0; i < times->task->plan->num_units && !status; i++) {
        uint64_t start_ns = 0;
        uint32_t place = choose_place(times, order[i], &start_ns);
        if (!braid_place_times_put(times, order[i], place, start_ns))
            status = braid_error_no_memory("the places of a plan");
    }
    free(order);
    return status;
}
