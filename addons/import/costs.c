// SPDX-License-Identifier: Apache-2.0
// The cost of nodes without proof, by one walk over all nodes for each group of them.
//
// The search for orders runs once, among the proven nodes alone. A node that is not proven is
// ordered with each node before and behind it. So a walk follows the orders of proven nodes. Along
// the captured edges it hands on two numbers: the longest path to any node, and to one without
// proof. Captured orders are transitive, so this finds the longest path.
#include "import/costs.h"

#include "base/host_memory.h"

struct coster {
    const struct import_order *order; // its edges stand by `from`
    const uint16_t *group_of;
    const struct import_orders *proven; // among proven nodes
    // By node: the longest path that ends there. Then the longest that ends there or before, at any
    // node, and at one without proof.
    uint32_t *depth, *any, *unproven;
};

static void raise(uint32_t *number, uint32_t least)
{
    if (*number < least)
        *number = least;
}

// Nodes of the group `without` count as proven; 0: all do.
static uint32_t find_longest(struct coster *coster, uint32_t without)
{
    const struct import_order *order = coster->order;
    const struct import_edge *among = coster->proven->edges.items;
    uint32_t longest = 0;
    size_t edge = 0, next = 0;
    for (uint32_t node = 0; node < order->num_nodes; node++)
        coster->any[node] = coster->unproven[node] = 0;
    for (uint32_t node = 0; node < order->num_nodes; node++) {
        const uint16_t group = coster->group_of[node];
        const bool is_free = !group || !without || group == without;
        uint32_t depth = is_free ? coster->unproven[node] : coster->any[node];
        for (; next < coster->proven->edges.num && among[next].to == node; next++)
            raise(&depth, coster->depth[among[next].from]);
        depth += order->is_work[node];
        coster->depth[node] = depth;
        if (order->is_work[node]) {
            raise(&longest, depth);
            raise(&coster->any[node], depth);
            raise(&coster->unproven[node], is_free ? 0 : depth);
        }
        for (; edge < order->num_edges && order->edges[edge].from == node; edge++) {
            raise(&coster->any[order->edges[edge].to], coster->any[node]);
            raise(&coster->unproven[order->edges[edge].to], coster->unproven[node]);
        }
    }
    return longest;
}

static bool find_among_proven(const struct import_order *order, const uint16_t *group_of,
                              uint64_t most_steps, struct import_orders *out_proven)
{
    struct import_order among = *order;
    bool *is_work = braid_allocate_zeroed(order->num_nodes, sizeof(*is_work));
    if (!is_work)
        return false;
    for (uint32_t node = 0; node < order->num_nodes; node++)
        is_work[node] = order->is_work[node] && !group_of[node];
    among.is_work = is_work;
    among.most_steps = most_steps;
    const bool is_done = braid_import_find_orders(&among, out_proven);
    braid_free(is_work);
    return is_done;
}

bool braid_import_find_costs(const struct import_order *order, const uint16_t *group_of,
                             uint32_t num_groups, uint64_t most_steps, uint32_t *out_longest,
                             bool *out_is_cut)
{
    const size_t num = order->num_nodes;
    struct import_orders proven;
    if (!find_among_proven(order, group_of, most_steps, &proven))
        return false;
    uint32_t *rows = braid_allocate_zeroed(num * 3, sizeof(*rows));
    if (rows) {
        struct coster coster = { order, group_of, &proven, rows, rows + num, rows + 2 * num };
        for (uint32_t group = 0; group <= num_groups && !proven.is_cut; group++)
            out_longest[group] = find_longest(&coster, group);
        *out_is_cut = proven.is_cut;
    }
    braid_import_orders_finish(&proven);
    braid_free(rows);
    return rows != NULL;
}
