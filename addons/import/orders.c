// SPDX-License-Identifier: Apache-2.0
// The captured orders that an imported graph keeps: sets of predecessors, as rows of bits.
#include "import/orders.h"

#include <string.h>

#include "base/host_memory.h"

struct finder {
    const struct import_order *order;
    size_t words;       // a row has so many
    uint64_t *captured; // by node: all nodes that come before it by captured edges
    uint64_t *kept;     // by node: the same by edges that stay
    uint64_t *unproven; // a row: such nodes with lower numbers
    uint64_t *work;     // a row: nodes with work
    uint64_t *shared;   // a row: nodes with lower numbers that conflict with the node at hand
    // Accesses of each buffer, by node.
    size_t *first; // num_buffers + 1
    struct import_access *of_buffer;
    uint32_t *depth_captured, *depth_kept; // nodes on a longest path to the node
    uint64_t num_steps;
};

static uint64_t *row(uint64_t *rows, const struct finder *finder, uint32_t node)
{
    return rows + (size_t)node * finder->words;
}

static void add_bit(uint64_t *bits, uint32_t node)
{
    bits[node / 64] |= UINT64_C(1) << (node % 64);
}

static bool has_bit(const uint64_t *bits, uint32_t node)
{
    return bits[node / 64] >> (node % 64) & 1;
}

// ---- making ----

static bool begin(struct finder *finder)
{
    const struct import_order *order = finder->order;
    const size_t num = order->num_nodes;
    finder->captured = braid_allocate_zeroed(num * finder->words, sizeof(uint64_t));
    finder->kept = braid_allocate_zeroed(num * finder->words, sizeof(uint64_t));
    finder->unproven = braid_allocate_zeroed(finder->words, sizeof(uint64_t));
    finder->work = braid_allocate_zeroed(finder->words, sizeof(uint64_t));
    finder->shared = braid_allocate_zeroed(finder->words, sizeof(uint64_t));
    finder->first = braid_allocate_zeroed((size_t)order->num_buffers + 2, sizeof(size_t));
    finder->of_buffer = braid_allocate_zeroed(order->num_accesses, sizeof(*finder->of_buffer));
    finder->depth_captured = braid_allocate_zeroed(num, sizeof(uint32_t));
    finder->depth_kept = braid_allocate_zeroed(num, sizeof(uint32_t));
    return finder->captured && finder->kept && finder->unproven && finder->work && finder->shared &&
           finder->first && finder->of_buffer && finder->depth_captured && finder->depth_kept;
}

static void finish(struct finder *finder)
{
    braid_free(finder->captured);
    braid_free(finder->kept);
    braid_free(finder->unproven);
    braid_free(finder->work);
    braid_free(finder->shared);
    braid_free(finder->first);
    braid_free(finder->of_buffer);
    braid_free(finder->depth_captured);
    braid_free(finder->depth_kept);
}

// By counting; those of a buffer stay by node.
static void sort_accesses(struct finder *finder)
{
    const struct import_order *order = finder->order;
    for (size_t i = 0; i < order->num_accesses; i++)
        finder->first[order->accesses[i].buffer + 2]++;
    for (uint32_t i = 1; i <= order->num_buffers; i++)
        finder->first[i + 1] += finder->first[i];
    for (size_t i = 0; i < order->num_accesses; i++)
        finder->of_buffer[finder->first[order->accesses[i].buffer + 1]++] = order->accesses[i];
}

// Edges are taken by the node that they lead to, in the order of nodes.
static bool close_captured(struct finder *finder)
{
    const struct import_order *order = finder->order;
    size_t *first = braid_allocate_zeroed((size_t)order->num_nodes + 2, sizeof(*first));
    uint32_t *from = braid_allocate_zeroed(order->num_edges, sizeof(*from));
    if (!first || !from) {
        braid_free(first);
        braid_free(from);
        return false;
    }
    for (size_t i = 0; i < order->num_edges; i++)
        first[order->edges[i].to + 2]++;
    for (uint32_t i = 1; i <= order->num_nodes; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < order->num_edges; i++)
        from[first[order->edges[i].to + 1]++] = order->edges[i].from;
    for (uint32_t node = 0; node < order->num_nodes; node++) {
        uint64_t *to = row(finder->captured, finder, node);
        for (size_t i = first[node]; i < first[node + 1]; i++) {
            const uint64_t *before = row(finder->captured, finder, from[i]);
            for (size_t k = 0; k < finder->words; k++)
                to[k] |= before[k];
            add_bit(to, from[i]);
            if (finder->depth_captured[from[i]] > finder->depth_captured[node])
                finder->depth_captured[node] = finder->depth_captured[from[i]];
        }
        finder->depth_captured[node] +=
            order->length_captured ? order->length_captured[node] : order->is_work[node];
    }
    braid_free(first);
    braid_free(from);
    return true;
}

// ---- each node ----

// *at: the first access that is not of an earlier node; then the first behind the node's.
static void find_shared(struct finder *finder, uint32_t node, size_t *at)
{
    const struct import_order *order = finder->order;
    memset(finder->shared, 0, finder->words * sizeof(uint64_t));
    for (; *at < order->num_accesses && order->accesses[*at].node == node; ++*at) {
        const struct import_access *own = &order->accesses[*at];
        for (size_t i = finder->first[own->buffer]; i < finder->first[own->buffer + 1]; i++) {
            const struct import_access *other = &finder->of_buffer[i];
            if (other->node >= node)
                break;
            if (own->writes || other->writes)
                add_bit(finder->shared, other->node);
            finder->num_steps++;
        }
    }
}

static bool add_races(const struct finder *finder, uint32_t node, struct import_orders *orders)
{
    const uint64_t *before = row(finder->captured, finder, node);
    for (uint32_t other = 0; other < node; other++) {
        const struct import_edge race = { other, node };
        if (!(finder->shared[other / 64] & ~before[other / 64]))
            other |= 63;
        else if (has_bit(finder->shared, other) && !has_bit(before, other) &&
                 !braid_array_put(&orders->races, &race, sizeof(race)))
            return false;
    }
    return true;
}

// The highest member below `end`; `end` if there is none.
static uint32_t find_highest(const uint64_t *bits, uint32_t end)
{
    uint32_t top = end;
    while (top > 0) {
        const uint64_t word = bits[(top - 1) / 64] << (63 - (top - 1) % 64);
        if (word)
            return top - 1 - (uint32_t)__builtin_clzll(word);
        top = (top - 1) / 64 * 64;
    }
    return end;
}

// From the nearest node on: nodes that come before one that is taken need no edge of their own. So
// this is a transitive reduction (Aho, Garey and Ullman, 1972).
static bool add_edges(struct finder *finder, uint32_t node, struct import_orders *orders)
{
    uint64_t *wanted = finder->shared, *kept = row(finder->kept, finder, node);
    const uint64_t *before = row(finder->captured, finder, node);
    for (size_t k = 0; k < finder->words; k++) {
        const uint64_t needed =
            finder->order->proven[node] ? wanted[k] | finder->unproven[k] : ~0ULL;
        wanted[k] = before[k] & needed & finder->work[k];
    }
    for (uint32_t end = node, from; (from = find_highest(wanted, end)) != end; end = from) {
        const struct import_edge edge = { from, node };
        const uint64_t *covered = row(finder->kept, finder, from);
        if (!braid_array_put(&orders->edges, &edge, sizeof(edge)))
            return false;
        for (size_t k = 0; k < finder->words; k++) {
            kept[k] |= covered[k];
            wanted[k] &= ~covered[k];
        }
        add_bit(kept, from);
        finder->num_steps += finder->words;
        if (finder->depth_kept[from] > finder->depth_kept[node])
            finder->depth_kept[node] = finder->depth_kept[from];
    }
    finder->depth_kept[node] += finder->order->length_kept ? finder->order->length_kept[node] : 1;
    return true;
}

static void count(const struct finder *finder, uint32_t node, struct import_orders *orders)
{
    const uint64_t *captured = finder->captured + (size_t)node * finder->words;
    const uint64_t *kept = finder->kept + (size_t)node * finder->words;
    for (size_t k = 0; k < finder->words; k++) {
        orders->num_captured += (uint64_t)__builtin_popcountll(captured[k] & finder->work[k]);
        orders->num_kept += (uint64_t)__builtin_popcountll(kept[k]);
    }
    if (finder->depth_captured[node] > orders->longest_captured)
        orders->longest_captured = finder->depth_captured[node];
    if (finder->depth_kept[node] > orders->longest_kept)
        orders->longest_kept = finder->depth_kept[node];
}

static bool is_too_long(const struct finder *finder)
{
    const uint64_t most = finder->order->most_steps;
    return most && finder->num_steps > most;
}

static bool find_all(struct finder *finder, struct import_orders *orders)
{
    const struct import_order *order = finder->order;
    size_t at = 0;
    for (uint32_t node = 0; node < order->num_nodes && !is_too_long(finder); node++) {
        find_shared(finder, node, &at);
        if (!order->is_work[node])
            continue;
        if (!add_races(finder, node, orders) || !add_edges(finder, node, orders))
            return false;
        if (!order->proven[node])
            add_bit(finder->unproven, node);
        add_bit(finder->work, node);
        count(finder, node, orders);
    }
    return true;
}

static bool search(struct finder *finder, struct import_orders *orders)
{
    bool is_done = is_too_long(finder) || begin(finder);
    if (is_done && !is_too_long(finder)) {
        sort_accesses(finder);
        is_done = close_captured(finder) && find_all(finder, orders);
    }
    finish(finder);
    return is_done;
}

bool braid_import_find_orders(const struct import_order *order, struct import_orders *out_orders)
{
    struct import_orders orders = { 0 };
    struct finder finder = { .order = order, .words = (size_t)order->num_nodes / 64 + 1 };
    finder.num_steps = finder.words * (2 * (uint64_t)order->num_nodes + order->num_edges);
    const bool is_done = search(&finder, &orders);
    if (is_done && !is_too_long(&finder)) {
        *out_orders = orders;
        return true;
    }
    braid_import_orders_finish(&orders);
    if (is_done)
        *out_orders = (struct import_orders){ .is_cut = true };
    return is_done;
}

void braid_import_orders_finish(struct import_orders *orders)
{
    braid_array_finish(&orders->edges);
    braid_array_finish(&orders->races);
    *orders = (struct import_orders){ 0 };
}
