// SPDX-License-Identifier: Apache-2.0
// Every pair of nodes, in every way that can order it.
#include "fuzz/order.h"

#include <string.h>

static uint64_t bit(uint32_t node)
{
    return UINT64_C(1) << node;
}

// Bundles stand where their main nodes stand; inside, each role in the order of adding.
static void write_sequence(const struct order_graph *graph, uint32_t *sequence)
{
    uint32_t num = 0;
    for (uint32_t main = 0; main < graph->num_nodes; main++) {
        if (graph->nodes[main].role != ORDER_MAIN)
            continue;
        for (int role = ORDER_PRELUDE; role <= ORDER_EPILOGUE; role++)
            for (uint32_t i = 0; i < graph->num_nodes; i++)
                if (graph->nodes[i].main == main && (int)graph->nodes[i].role == role)
                    sequence[num++] = i;
    }
}

static bool resources_meet(const struct order_resource *a, const struct order_resource *b)
{
    return a->buffer == b->buffer && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static bool accesses_conflict(const struct order_graph *graph, const struct order_node *a,
                              const struct order_node *b)
{
    for (uint32_t i = 0; i < a->num_accesses; i++)
        for (uint32_t k = 0; k < b->num_accesses; k++) {
            const struct order_access *x = &a->accesses[i], *y = &b->accesses[k];
            bool free =
                x->mode == y->mode && (x->mode == BRAID_READ || x->mode == BRAID_ACCUMULATE);
            if (!free &&
                resources_meet(&graph->resources[x->resource], &graph->resources[y->resource]))
                return true;
        }
    return false;
}

bool order_holds_between_frames(const struct order_graph *graph, uint32_t earlier, uint32_t later)
{
    return accesses_conflict(graph, &graph->nodes[earlier], &graph->nodes[later]);
}

// Whether accesses, bundles or hints order two nodes of which the first stands earlier.
static bool sequence_orders(const struct order_graph *graph, const struct order_node *first,
                            const struct order_node *second)
{
    uint32_t hint = graph->nodes[first->main].hint;
    return first->main == second->main || (hint && hint == graph->nodes[second->main].hint) ||
           accesses_conflict(graph, first, second);
}

static void close_transitively(uint64_t *before, uint32_t num)
{
    for (uint32_t middle = 0; middle < num; middle++)
        for (uint32_t i = 0; i < num; i++)
            if (before[i] & bit(middle))
                before[i] |= before[middle];
}

static bool has_cycle(const uint64_t *before, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        if (before[i] & bit(i))
            return true;
    return false;
}

// The relation between whole bundles, each standing at its main node.
static void order_bundles(const struct order_graph *graph, const uint64_t *direct, uint64_t *before)
{
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        for (uint32_t k = 0; k < graph->num_nodes; k++) {
            uint32_t to = graph->nodes[i].main, from = graph->nodes[k].main;
            if (direct[i] & bit(k) && from != to)
                before[to] |= bit(from);
        }
    close_transitively(before, graph->num_nodes);
}

void order_find(const struct order_graph *graph, struct order *out_order)
{
    struct order order = { .cycle = ORDER_NO_CYCLE };
    uint32_t num = graph->num_nodes;
    write_sequence(graph, order.sequence);
    for (uint32_t i = 0; i < num; i++)
        order.before[i] = graph->nodes[i].after;
    for (uint32_t i = 0; i < num; i++)
        for (uint32_t k = i + 1; k < num; k++) {
            uint32_t first = order.sequence[i], second = order.sequence[k];
            if (sequence_orders(graph, &graph->nodes[first], &graph->nodes[second]))
                order.before[second] |= bit(first);
        }
    order_bundles(graph, order.before, order.bundles);
    if (has_cycle(order.bundles, num))
        order.cycle = ORDER_BUNDLE_CYCLE;
    close_transitively(order.before, num);
    if (has_cycle(order.before, num))
        order.cycle = ORDER_NODE_CYCLE;
    *out_order = order;
}

bool order_buffers_overlap(const struct order_graph *graph)
{
    for (uint32_t i = 0; i < graph->num_resources; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct order_resource *a = &graph->resources[i], *b = &graph->resources[k];
            if (a->is_buffer && b->is_buffer && a->address && b->address &&
                a->address < b->address + b->bytes && b->address < a->address + a->bytes)
                return true;
        }
    return false;
}
