// SPDX-License-Identifier: Apache-2.0
// Node costs, bottom levels by one sweep against the order, and the critical path along them.
#include "plan/plan_costs.h"

#include "base/array.h"
#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"

// Between places; 0 where there is one.
static uint64_t longest_wait(const struct plan_costs *costs)
{
    const struct place_model *places = costs->places;
    uint64_t longest = 0;
    for (uint32_t i = 0; places && i < places->num_places * places->num_places; i++)
        longest = places->links[i].wait_ns > longest ? places->links[i].wait_ns : longest;
    return longest;
}

// Every planned time is at most the sum of all costs and of the model's additions to each node. So
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
    // A plan has at most a wait for each edge.
    uint64_t num_waits = (uint64_t)plan->num_edges + 1;
    const struct {
        uint64_t ns, num;
    } overheads[] = {
        { model->node_ns, num },        { model->wait_ns, num },
        { model->root_ns, num },        { model->issue_ns, num },
        { model->island_call_ns, num }, { model->issue_wait_ns, num_waits },
        { longest_wait(costs), num },   { costs->wait_busy_ns, num },
    };
    for (size_t i = 0; i < sizeof(overheads) / sizeof(overheads[0]); i++) {
        overflow |= __builtin_mul_overflow(overheads[i].ns, overheads[i].num, &part);
        overflow |= __builtin_add_overflow(sum, part, &sum);
    }
    if (overflow || sum > INT64_MAX)
        return braid_error_invalid("the costs of %u node%s add up to more than 2^63 ns",
                                   plan->num_nodes, plan->num_nodes == 1 ? "" : "s");
    return BRAID_OK;
}

// An unknown cost is not taken to be short. A host call waits for files and networks, and takes a
// hundred times as long as a kernel. A join has no work to measure. Unless told otherwise it costs
// next to nothing on any device, and that is no guess.
static uint64_t node_cost(const struct graph_node *node, bool is_unknown, struct plan_costs *costs)
{
    enum { KERNELS_A_HOST_CALL = 100 };
    uint64_t cost = costs->model.default_cost_ns;
    if (!is_unknown || node->kind == WORK_EMPTY)
        return is_unknown ? 1 : node->cost_ns;
    costs->num_guessed++;
    if (node->kind == WORK_HOST && __builtin_mul_overflow(cost, KERNELS_A_HOST_CALL, &cost))
        return UINT64_MAX;
    return cost;
}

static void find_offsets(const struct plan_graph *plan, struct plan_costs *costs)
{
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint64_t offset = 0;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t node = plan_unit_member(plan, unit, i);
            costs->offset_ns[node] = offset;
            offset += costs->node_ns[node] + costs->model.node_ns;
        }
    }
}

// Blocks are placed one by one, and a device holds so many of them that each counts as two warps.
static uint64_t num_threads(const braid_graph *graph, uint32_t node)
{
    enum { LEAST_A_BLOCK = 64 };
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    if (graph_node->kind != WORK_KERNEL)
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

uint32_t braid_plan_share_of_node(const braid_graph *graph, uint32_t node, uint64_t max_threads)
{
    return share_of(num_threads(graph, node), max_threads);
}

// The members of a unit run one after another, so the largest counts.
static void find_shares(const struct plan_graph *plan, const braid_graph *graph,
                        struct plan_costs *costs)
{
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        uint64_t most = 0, unit_ns = 0;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
            uint32_t node = plan_unit_member(plan, unit, i);
            uint64_t threads = num_threads(graph, node);
            most = threads > most ? threads : most;
            unit_ns += costs->node_ns[node];
        }
        uint64_t share = share_of(most, costs->model.max_threads);
        costs->unit_share[unit] = (uint32_t)share;
        if (share > costs->most_share)
            costs->most_share = (uint32_t)share;
        costs->area_ns += unit_ns / PLAN_WHOLE_DEVICE * share +
                          unit_ns % PLAN_WHOLE_DEVICE * share / PLAN_WHOLE_DEVICE;
    }
}

// A copy between places is made by engines that do nothing else.
static bool unit_blocks(const struct plan_graph *plan, const braid_graph *graph, uint32_t unit)
{
    if (graph->places && plan_main_of(plan, unit) >= graph->places->num_nodes)
        return true;
    for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++) {
        if (!graph_node_blocks(graph, plan_unit_member(plan, unit, i)))
            return false;
    }
    return true;
}

// Units of calls that sleep, and copies between places. Most graphs have none, and pay for no list.
static bool find_blocking(const struct plan_graph *plan, const braid_graph *graph,
                          struct plan_costs *costs)
{
    for (uint32_t unit = 0; unit < plan->num_units; unit++) {
        if (!unit_blocks(plan, graph, unit))
            continue;
        if (!costs->unit_blocks)
            costs->unit_blocks = braid_allocate_zeroed(plan->num_units, sizeof(bool));
        if (!costs->unit_blocks)
            return false;
        costs->unit_blocks[unit] = true;
        costs->num_blocking++;
        for (uint32_t i = 0; i < plan_unit_size(plan, unit); i++)
            costs->blocking_ns += costs->node_ns[plan_unit_member(plan, unit, i)];
    }
    return true;
}

static uint64_t least_gap(const struct plan_costs *costs)
{
    const braid_cost_model *model = &costs->model;
    return model->node_ns < model->wait_ns ? model->node_ns : model->wait_ns;
}

// The least time from the end of a node to the start of one that an edge leads to.
static uint64_t edge_gap(const struct plan_graph *plan, const struct plan_costs *costs,
                         uint32_t from, uint32_t to)
{
    uint32_t from_place = plan_place_of(plan, from), to_place = plan_place_of(plan, to);
    return from_place == to_place ? least_gap(costs) : plan_wait_ns(costs, from_place, to_place);
}

static void find_bottoms(const struct plan_graph *plan, struct plan_costs *costs)
{
    uint64_t least = least_gap(costs);
    for (uint32_t i = plan->num_nodes; i-- > 0;) {
        uint32_t node = plan_ordered_node(plan, i), after = plan_member_after(plan, node);
        uint64_t below = after == PLAN_NONE ? 0 : costs->bottom_ns[after] + costs->model.node_ns;
        for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++) {
            uint32_t succ = plan->succ_nodes[e];
            uint64_t gap = costs->places ? edge_gap(plan, costs, node, succ) : least;
            uint64_t bottom = costs->bottom_ns[succ] + gap;
            if (bottom > below)
                below = bottom;
        }
        uint64_t bottom = below + costs->node_ns[node];
        costs->bottom_ns[node] = bottom;
        if (bottom > costs->critical_ns)
            costs->critical_ns = bottom;
    }
}

static bool allocate_costs(const struct plan_graph *plan, struct plan_costs *costs)
{
    costs->node_ns = plan_allocate(plan->num_nodes, sizeof(uint64_t));
    costs->bottom_ns = plan_allocate(plan->num_nodes, sizeof(uint64_t));
    if (plan->units.first_of)
        costs->offset_ns = plan_allocate(plan->num_nodes, sizeof(uint64_t));
    if (costs->model.max_threads)
        costs->unit_share = plan_allocate(plan->num_units, sizeof(uint32_t));
    return costs->node_ns && costs->bottom_ns && (costs->offset_ns || !plan->units.first_of) &&
           (costs->unit_share || !costs->model.max_threads);
}

// Kept for drawings only: a cost that nobody gave is not shown.
static bool mark_unknown(const struct plan_graph *plan, const braid_graph *graph, bool ignores,
                         struct plan_costs *costs)
{
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        if (graph_nodes(graph)[i].cost_ns && !ignores)
            continue;
        if (!costs->unknown)
            costs->unknown = braid_allocate_zeroed(plan->num_nodes, sizeof(*costs->unknown));
        if (!costs->unknown)
            return false;
        costs->unknown[i] = graph_nodes(graph)[i].kind == WORK_EMPTY ? PLAN_NOTHING : PLAN_GUESSED;
    }
    return true;
}

// Nodes of a faster device are shorter. The times of copies are known as they are, and so are those
// of regions, which were planned on their device.
static void scale_costs(const struct plan_graph *plan, const braid_graph *graph,
                        struct plan_costs *costs)
{
    const struct graph_node *nodes = graph_nodes(graph);
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        bool is_empty = nodes[i].kind == WORK_EMPTY && !nodes[i].cost_ns;
        bool is_known = work_has_body((enum work_kind)nodes[i].kind);
        if (!is_empty && !is_known && i < costs->places->num_nodes)
            costs->node_ns[i] =
                braid_place_cost_ns(costs->places, plan_place_of(plan, i), costs->node_ns[i]);
    }
}

// As it was measured in a room of that kind, if it was.
static uint64_t cost_inside(const braid_graph *graph, const struct plan_inside *inside,
                            uint32_t node, uint64_t cost_ns)
{
    const uint64_t measured_ns = graph_measured_of(graph, node).inside_ns;
    return measured_ns && plan_room_is_lone(&inside->room)
               ? measured_ns
               : braid_plan_islands->inside_ns(&inside->fits[node], &inside->room, cost_ns);
}

static void find_node_costs(const struct plan_graph *plan, const braid_graph *graph,
                            const struct plan_inside *inside, struct plan_costs *costs)
{
    for (uint32_t i = 0; i < plan->num_nodes; i++) {
        bool is_unknown = costs->unknown && costs->unknown[i];
        uint64_t cost = node_cost(&graph_nodes(graph)[i], is_unknown, costs);
        costs->node_ns[i] = inside ? cost_inside(graph, inside, i, cost) : cost;
    }
    if (costs->places)
        scale_costs(plan, graph, costs);
}

static braid_status fill_costs(const struct plan_graph *plan, const braid_graph *graph,
                               struct plan_costs *costs)
{
    braid_status status = check_range(plan, costs);
    if (status)
        return status;
    uint64_t gaps = plan->num_nodes ? plan->num_nodes - 1 : 0;
    costs->one_lane_ns = costs->work_ns + gaps * costs->model.node_ns;
    if (costs->offset_ns)
        find_offsets(plan, costs);
    if (costs->unit_share)
        find_shares(plan, graph, costs);
    find_bottoms(plan, costs);
    if (!find_blocking(plan, graph, costs))
        return braid_error_no_memory("the costs of a plan");
    return BRAID_OK;
}

braid_status braid_plan_costs_create(const struct plan_graph *plan, const braid_graph *graph,
                                     const struct plan_options *options,
                                     const struct plan_inside *inside, struct plan_costs *out_costs)
{
    struct plan_costs costs = { .model = options->costs,
                                .wait_busy_ns = inside ? inside->room.wait_busy_ns : 0,
                                .places = graph->places };
    if (!costs.model.default_cost_ns)
        costs.model.default_cost_ns = 1;
    if (!costs.model.max_concurrent)
        costs.model.max_concurrent = UINT32_MAX;
    braid_status status = BRAID_OK;
    if (!allocate_costs(plan, &costs) || !mark_unknown(plan, graph, options->ignore_costs, &costs))
        status = braid_error_no_memory("the costs of a plan");
    if (!status) {
        find_node_costs(plan, graph, inside, &costs);
        status = fill_costs(plan, graph, &costs);
    }
    if (status)
        braid_plan_costs_finish(&costs);
    else
        *out_costs = costs;
    return status;
}

void braid_plan_costs_finish(struct plan_costs *costs)
{
    braid_free(costs->node_ns);
    braid_free(costs->unknown);
    braid_free(costs->offset_ns);
    braid_free(costs->bottom_ns);
    braid_free(costs->unit_share);
    braid_free(costs->unit_blocks);
    *costs = (struct plan_costs){ 0 };
}

static uint32_t heaviest_start(const struct plan_graph *plan, const struct plan_costs *costs)
{
    uint32_t node = 0;
    while (node < plan->num_nodes && costs->bottom_ns[node] != costs->critical_ns)
        node++;
    return node < plan->num_nodes ? node : PLAN_NONE;
}

static uint32_t heaviest_next(const struct plan_graph *plan, const struct plan_costs *costs,
                              uint32_t node)
{
    uint64_t below = costs->bottom_ns[node] - costs->node_ns[node];
    uint32_t next = plan_member_after(plan, node);
    if (next != PLAN_NONE && below != costs->model.node_ns + costs->bottom_ns[next])
        next = PLAN_NONE;
    for (uint32_t e = plan->succ_first[node]; e < plan->succ_first[node + 1]; e++) {
        uint32_t succ = plan->succ_nodes[e];
        if (below == edge_gap(plan, costs, node, succ) + costs->bottom_ns[succ] && succ < next)
            next = succ;
    }
    return next;
}

braid_status braid_plan_critical_path(const struct plan_graph *plan, const struct plan_costs *costs,
                                      uint32_t **out_nodes, size_t *out_num_nodes)
{
    struct array path = { 0 };
    uint32_t node = heaviest_start(plan, costs);
    for (; node != PLAN_NONE; node = heaviest_next(plan, costs, node)) {
        uint32_t *slot = braid_array_append(&path, 1, sizeof(*slot));
        if (!slot) {
            braid_array_finish(&path);
            return braid_error_no_memory("the critical path of a plan");
        }
        *slot = node;
    }
    *out_nodes = path.items;
    *out_num_nodes = path.num;
    return BRAID_OK;
}
