// SPDX-License-Identifier: Apache-2.0
// Unit costs, bottom levels by one sweep against the order, and the critical path along them.
#include "plan/plan_costs.h"

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"

// Every planned time is at most the sum of all costs and of what the model can add to each node, so
// this one check rules out overflow everywhere else.
static braid_status check_range(const struct plan_graph *plan, struct plan_costs *costs)
{
    const braid_cost_model *model = &costs->model;
    uint64_t num = (uint64_t)plan->num_nodes + 1;
    uint64_t sum = 0, part;
    bool overflow = false;
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        overflow |= __builtin_add_overflow(sum, costs->node_ns[i], &sum);
    costs->work_ns = sum;
    const uint64_t overheads[] = { model->node_ns, model->wait_ns, model->root_ns };
    for (int i = 0; i < 3; i++) {
        overflow |= __builtin_mul_overflow(overheads[i], num, &part);
        overflow |= __builtin_add_overflow(sum, part, &sum);
    }
    if (overflow || sum > INT64_MAX)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "the costs of %u nodes add up to more than 2^63 ns", plan->num_nodes);
    return BRAID_OK;
}

// A join has no work to measure: unless told otherwise it costs next to nothing on any device.
static uint64_t node_cost(const struct graph_node *node, const braid_cost_model *model)
{
    if (node->cost_ns)
        return node->cost_ns;
    return node->kind == GRAPH_EMPTY ? 1 : model->default_cost_ns;
}

static void sum_units(const struct plan_graph *plan, struct plan_costs *costs)
{
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint32_t size = plan_unit_size(plan, unit);
        uint64_t sum = (size - 1) * costs->model.node_ns;
        for (uint32_t i = 0; i < size; i++)
            sum += costs->node_ns[plan_unit_member(plan, unit, i)];
        costs->unit_ns[unit] = sum;
    }
}

// Blocks are placed one by one, and a device holds so many of them that each counts as two warps.
static uint64_t num_threads(const braid_graph *graph, uint32_t node)
{
    enum { LEAST_A_BLOCK = 64 };
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    if (graph_node->kind != GRAPH_KERNEL)
        return 0;
    const struct graph_kernel *kernel =
        &((const struct graph_kernel *)graph->kernels.items)[graph_node->payload];
    const uint32_t sizes[] = { kernel->grid.x, kernel->grid.y, kernel->grid.z };
    uint64_t block = (uint64_t)kernel->block.x * kernel->block.y * kernel->block.z;
    uint64_t threads = block > LEAST_A_BLOCK ? block : LEAST_A_BLOCK;
    for (int i = 0; i < 3; i++) {
        if (__builtin_mul_overflow(threads, sizes[i], &threads))
            return UINT64_MAX;
    }
    return threads;
}

static uint32_t share_of(uint64_t threads, uint64_t max_threads)
{
    if (threads >= max_threads)
        return PLAN_WHOLE_DEVICE;
    uint64_t part = (max_threads - 1) / PLAN_WHOLE_DEVICE + 1;
    uint64_t share = threads / part;
    return share < PLAN_WHOLE_DEVICE ? (uint32_t)share : PLAN_WHOLE_DEVICE;
}

// The members of a unit run one after another, so the largest counts.
static void find_shares(const struct plan_graph *plan, const braid_graph *graph,
                        struct plan_costs *costs)
{
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint64_t most = 0;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint64_t threads = num_threads(graph, plan_unit_member(plan, unit, i));
            most = threads > most ? threads : most;
        }
        uint64_t share = share_of(most, costs->model.max_threads), unit_ns = costs->unit_ns[unit];
        costs->unit_share[unit] = (uint32_t)share;
        if (share > costs->most_share)
            costs->most_share = (uint32_t)share;
        costs->area_ns += unit_ns / PLAN_WHOLE_DEVICE * share +
                          unit_ns % PLAN_WHOLE_DEVICE * share / PLAN_WHOLE_DEVICE;
    }
}

static uint64_t least_gap(const struct plan_costs *costs)
{
    const braid_cost_model *model = &costs->model;
    return model->node_ns < model->wait_ns ? model->node_ns : model->wait_ns;
}

static void find_bottoms(const struct plan_graph *plan, struct plan_costs *costs)
{
    uint64_t gap = least_gap(costs);
    for (uint32_t i = plan->num_units; i-- > 0;) {
        uint32_t unit = plan_ordered_unit(plan, i);
        uint64_t below = 0;
        for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++) {
            uint64_t bottom = costs->bottom_ns[plan->succ_units[e]] + gap;
            if (bottom > below)
                below = bottom;
        }
        uint64_t bottom = below + costs->unit_ns[unit];
        costs->bottom_ns[unit] = bottom;
        if (bottom > costs->critical_ns)
            costs->critical_ns = bottom;
    }
}

static bool allocate_costs(const struct plan_graph *plan, struct plan_costs *costs)
{
    costs->node_ns = plan_allocate(plan->num_nodes, sizeof(uint64_t));
    costs->bottom_ns = plan_allocate(plan->num_units, sizeof(uint64_t));
    costs->unit_ns = costs->node_ns;
    if (plan->units.first_of)
        costs->unit_ns = plan_allocate(plan->num_units, sizeof(uint64_t));
    if (costs->model.max_threads)
        costs->unit_share = plan_allocate(plan->num_units, sizeof(uint32_t));
    return costs->node_ns && costs->bottom_ns && costs->unit_ns &&
           (costs->unit_share || !costs->model.max_threads);
}

static braid_status fill_costs(const struct plan_graph *plan, const braid_graph *graph,
                               struct plan_costs *costs)
{
    for (uint32_t i = 0; i < plan->num_nodes; i++)
        costs->node_ns[i] = node_cost(&graph_nodes(graph)[i], &costs->model);
    braid_status status = check_range(plan, costs);
    if (status)
        return status;
    uint64_t gaps = plan->num_nodes ? plan->num_nodes - 1 : 0;
    costs->one_lane_ns = costs->work_ns + gaps * costs->model.node_ns;
    if (costs->unit_ns != costs->node_ns)
        sum_units(plan, costs);
    if (costs->unit_share)
        find_shares(plan, graph, costs);
    find_bottoms(plan, costs);
    return BRAID_OK;
}

braid_status braid_plan_costs_create(const struct plan_graph *plan, const braid_graph *graph,
                                     const braid_cost_model *model, struct plan_costs *out_costs)
{
    struct plan_costs costs = { .model = *model };
    if (!costs.model.default_cost_ns)
        costs.model.default_cost_ns = 1;
    if (!costs.model.max_concurrent)
        costs.model.max_concurrent = UINT32_MAX;
    braid_status status = BRAID_OK;
    if (!allocate_costs(plan, &costs))
        status = braid_error_no_memory("the costs of a plan");
    if (!status)
        status = fill_costs(plan, graph, &costs);
    if (status)
        braid_plan_costs_finish(&costs);
    else
        *out_costs = costs;
    return status;
}

void braid_plan_costs_finish(struct plan_costs *costs)
{
    if (costs->unit_ns != costs->node_ns)
        free(costs->unit_ns);
    free(costs->node_ns);
    free(costs->bottom_ns);
    free(costs->unit_share);
    *costs = (struct plan_costs){ 0 };
}

static uint32_t heaviest_start(const struct plan_graph *plan, const struct plan_costs *costs)
{
    uint32_t unit = 0;
    while (unit < plan->num_units && costs->bottom_ns[unit] != costs->critical_ns)
        unit++;
    return unit < plan->num_units ? unit : PLAN_NONE;
}

static uint32_t heaviest_next(const struct plan_graph *plan, const struct plan_costs *costs,
                              uint32_t unit)
{
    uint64_t gap = least_gap(costs);
    uint32_t next = PLAN_NONE;
    for (uint32_t e = plan->succ_first[unit]; e < plan->succ_first[unit + 1]; e++) {
        uint32_t succ = plan->succ_units[e];
        bool on_path =
            costs->bottom_ns[unit] == costs->unit_ns[unit] + gap + costs->bottom_ns[succ];
        if (on_path && succ < next)
            next = succ;
    }
    return next;
}

braid_status braid_plan_critical_path(const struct plan_graph *plan, const struct plan_costs *costs,
                                      uint32_t **out_nodes, size_t *out_num_nodes)
{
    struct array path = { 0 };
    uint32_t unit = heaviest_start(plan, costs);
    while (unit != PLAN_NONE) {
        uint32_t size = plan_unit_size(plan, unit);
        uint32_t *nodes = braid_array_append(&path, size, sizeof(*nodes));
        if (!nodes) {
            braid_array_finish(&path);
            return braid_error_no_memory("the critical path of a plan");
        }
        for (uint32_t i = 0; i < size; i++)
            nodes[i] = plan_unit_member(plan, unit, i);
        unit = heaviest_next(plan, costs, unit);
    }
    *out_nodes = path.items;
    *out_num_nodes = path.num;
    return BRAID_OK;
}
