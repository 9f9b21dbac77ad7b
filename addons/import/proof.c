// SPDX-License-Identifier: Apache-2.0
// The proof that an imported graph keeps all captured orders that it must. From each node, one walk
// follows the captured edges, and one the new ones.
#include "import/proof.h"

#include "base/host_memory.h"

// Edges by the node that they leave.
struct leaving {
    size_t *first;
    uint32_t *to;
};

struct prover {
    const struct import_order *order;
    struct leaving captured, made;
    uint32_t *seen_captured, *seen_made; // by node: the number of the latest walk that came there
    uint32_t *stack;
    const struct import_access **accesses; // by node: its first
    uint32_t *num_accesses;
    uint32_t *end; // by node: behind the last one inside it
};

static bool sort_edges(const struct import_edge *edges, size_t num_edges, uint32_t num_nodes,
                       struct leaving *leaving)
{
    leaving->first = braid_allocate_zeroed((size_t)num_nodes + 1, sizeof(*leaving->first));
    leaving->to = braid_allocate_zeroed(num_edges, sizeof(*leaving->to));
    if (!leaving->first || !leaving->to)
        return false;
    for (size_t i = 0; i < num_edges; i++)
        leaving->first[edges[i].from]++;
    for (uint32_t i = 0; i < num_nodes; i++)
        leaving->first[i + 1] += leaving->first[i];
    for (size_t i = num_edges; i-- > 0;)
        leaving->to[--leaving->first[edges[i].from]] = edges[i].to;
    return true;
}

// Bodies of a node stand right behind it.
static void find_ends(struct prover *prover)
{
    const struct import_order *order = prover->order;
    for (uint32_t node = 0; node < order->num_nodes; node++)
        prover->end[node] = node + 1;
    for (size_t i = 0; i < order->num_regions; i++) {
        const struct import_region *body = &order->regions[i];
        if (body->owner != IMPORT_NONE && prover->end[body->owner] < body->first + body->num)
            prover->end[body->owner] = body->first + body->num;
    }
}

static bool begin(struct prover *prover, const struct import_order *order,
                  const struct import_edge *edges, size_t num_edges)
{
    const size_t num = order->num_nodes;
    *prover = (struct prover){ .order = order };
    prover->seen_captured = braid_allocate_zeroed(num, sizeof(uint32_t));
    prover->seen_made = braid_allocate_zeroed(num, sizeof(uint32_t));
    prover->stack = braid_allocate_zeroed(num, sizeof(uint32_t));
    prover->accesses = braid_allocate_zeroed(num, sizeof(*prover->accesses));
    prover->num_accesses = braid_allocate_zeroed(num, sizeof(uint32_t));
    prover->end = braid_allocate_zeroed(num, sizeof(uint32_t));
    if (!prover->seen_captured || !prover->seen_made || !prover->stack || !prover->accesses ||
        !prover->num_accesses || !prover->end ||
        !sort_edges(order->edges, order->num_edges, order->num_nodes, &prover->captured) ||
        !sort_edges(edges, num_edges, order->num_nodes, &prover->made))
        return false;
    for (size_t i = order->num_accesses; i-- > 0;) {
        prover->accesses[order->accesses[i].node] = &order->accesses[i];
        prover->num_accesses[order->accesses[i].node]++;
    }
    find_ends(prover);
    return true;
}

static void finish(struct prover *prover)
{
    braid_free(prover->captured.first);
    braid_free(prover->captured.to);
    braid_free(prover->made.first);
    braid_free(prover->made.to);
    braid_free(prover->seen_captured);
    braid_free(prover->seen_made);
    braid_free(prover->stack);
    braid_free(prover->accesses);
    braid_free(prover->num_accesses);
    braid_free(prover->end);
}

static void walk(struct prover *prover, const struct leaving *leaving, uint32_t from,
                 uint32_t *seen)
{
    uint32_t num = 1;
    prover->stack[0] = from;
    while (num > 0) {
        const uint32_t node = prover->stack[--num];
        for (size_t i = leaving->first[node]; i < leaving->first[node + 1]; i++) {
            if (seen[leaving->to[i]] == from + 1)
                continue;
            seen[leaving->to[i]] = from + 1;
            prover->stack[num++] = leaving->to[i];
        }
    }
}

static bool conflict(const struct prover *prover, uint32_t a, uint32_t b)
{
    if (!prover->order->proven[a] || !prover->order->proven[b])
        return true;
    for (uint32_t i = 0; i < prover->num_accesses[a]; i++) {
        for (uint32_t k = 0; k < prover->num_accesses[b]; k++) {
            const struct import_access *one = &prover->accesses[a][i];
            const struct import_access *other = &prover->accesses[b][k];
            if (one->buffer == other->buffer && (one->writes || other->writes))
                return true;
        }
    }
    return false;
}

static bool must_stay(const struct prover *prover, uint32_t a, uint32_t b)
{
    for (uint32_t i = a; i < prover->end[a]; i++) {
        for (uint32_t k = b; k < prover->end[b]; k++) {
            if (conflict(prover, i, k))
                return true;
        }
    }
    return false;
}

static bool prove_node(struct prover *prover, uint32_t from, struct import_fault *out_fault)
{
    if (!prover->order->is_work[from])
        return true;
    walk(prover, &prover->captured, from, prover->seen_captured);
    walk(prover, &prover->made, from, prover->seen_made);
    for (uint32_t to = from + 1; to < prover->order->num_nodes; to++) {
        const bool was = prover->seen_captured[to] == from + 1;
        const bool is = prover->seen_made[to] == from + 1;
        if (was == is || !prover->order->is_work[to] || (was && !must_stay(prover, from, to)))
            continue;
        *out_fault = (struct import_fault){ from, to, was };
        return false;
    }
    return true;
}

bool braid_import_prove(const struct import_order *order, const struct import_edge *edges,
                        size_t num_edges, struct import_fault *out_fault, bool *out_failed)
{
    struct prover prover;
    bool is_proven = begin(&prover, order, edges, num_edges);
    *out_failed = !is_proven;
    for (uint32_t node = 0; is_proven && node < order->num_nodes; node++)
        is_proven = prove_node(&prover, node, out_fault);
    finish(&prover);
    return is_proven;
}
