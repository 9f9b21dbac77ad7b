// SPDX-License-Identifier: Apache-2.0
// The captured orders that stay in each region of a graph: the graph itself, and bodies of
// conditional nodes.
#include "import/orders.h"

#include <stdlib.h>

#include "base/host_memory.h"
#include "base/store.h"

struct splitter {
    const struct import_order *order;        // the whole
    struct import_orders *orders;            // found so far
    uint32_t *length_captured, *length_kept; // by node; longest paths of bodies that are done
    size_t at_region;
    // The region at hand has its own numbers.
    struct import_order part;
    uint32_t *nodes, *number; // by number: the node; by node in the region, less its first: number
    bool *is_work, *proven;
    struct import_edge *edges;
    struct import_access *accesses;
    uint32_t *part_captured, *part_kept; // lengths
};

static const struct import_region *region_of(const struct splitter *splitter)
{
    return &splitter->order->regions[splitter->at_region];
}

// Regions inside stand behind the region, and each node stands before those inside it. So nodes
// inside follow the node of the region that they belong to.
static void number_nodes(struct splitter *splitter)
{
    const struct import_order *order = splitter->order;
    const struct import_region *region = region_of(splitter);
    struct import_order *part = &splitter->part;
    for (uint32_t i = 0; i < region->num; i++) {
        const uint32_t node = region->first + i;
        if (order->region[node] == splitter->at_region) {
            splitter->nodes[part->num_nodes] = node;
            splitter->is_work[part->num_nodes] = order->is_work[node];
            splitter->proven[part->num_nodes] = true;
            splitter->part_captured[part->num_nodes] = splitter->length_captured[node];
            splitter->part_kept[part->num_nodes] = splitter->length_kept[node];
            part->num_nodes++;
        }
        splitter->number[i] = part->num_nodes - 1;
        splitter->proven[part->num_nodes - 1] &= order->proven[node];
    }
}

static void take_edges(struct splitter *splitter)
{
    const struct import_order *order = splitter->order;
    const struct import_region *region = region_of(splitter);
    for (size_t i = 0; i < order->num_edges; i++) {
        const struct import_edge *edge = &order->edges[i];
        if (edge->from - region->first < region->num &&
            order->region[edge->from] == splitter->at_region)
            splitter->edges[splitter->part.num_edges++] =
                (struct import_edge){ splitter->number[edge->from - region->first],
                                      splitter->number[edge->to - region->first] };
    }
}

static void take_accesses(struct splitter *splitter)
{
    const struct import_order *order = splitter->order;
    const struct import_region *region = region_of(splitter);
    for (size_t i = 0; i < order->num_accesses; i++) {
        const struct import_access *access = &order->accesses[i];
        if (access->node - region->first < region->num)
            splitter->accesses[splitter->part.num_accesses++] =
                (struct import_access){ splitter->number[access->node - region->first],
                                        access->buffer, access->writes };
    }
}

static bool take_pairs(const struct splitter *splitter, const struct array *from, struct array *to)
{
    const struct import_edge *pairs = from->items;
    for (size_t i = 0; i < from->num; i++) {
        const struct import_edge pair = { splitter->nodes[pairs[i].from],
                                          splitter->nodes[pairs[i].to] };
        if (!braid_array_put(to, &pair, sizeof(pair)))
            return false;
    }
    return true;
}

static void raise(uint32_t *length, uint32_t least)
{
    if (*length < least)
        *length = least;
}

static bool take_orders(struct splitter *splitter, const struct import_orders *found)
{
    struct import_orders *orders = splitter->orders;
    const uint32_t owner = region_of(splitter)->owner;
    orders->num_captured += found->num_captured;
    orders->num_kept += found->num_kept;
    orders->is_cut |= found->is_cut;
    if (owner == IMPORT_NONE) {
        orders->longest_captured = found->longest_captured;
        orders->longest_kept = found->longest_kept;
    } else {
        raise(&splitter->length_captured[owner], found->longest_captured);
        raise(&splitter->length_kept[owner], found->longest_kept);
    }
    return take_pairs(splitter, &found->edges, &orders->edges) &&
           take_pairs(splitter, &found->races, &orders->races);
}

static bool begin_part(struct splitter *splitter, struct store *store)
{
    const struct import_order *order = splitter->order;
    const size_t num = region_of(splitter)->num;
    splitter->nodes = braid_store_take(store, num, sizeof(uint32_t));
    splitter->number = braid_store_take(store, num, sizeof(uint32_t));
    splitter->part_captured = braid_store_take(store, num, sizeof(uint32_t));
    splitter->part_kept = braid_store_take(store, num, sizeof(uint32_t));
    splitter->is_work = braid_store_take(store, num, sizeof(bool));
    splitter->proven = braid_store_take(store, num, sizeof(bool));
    splitter->edges = braid_store_take(store, order->num_edges, sizeof(struct import_edge));
    splitter->accesses = braid_store_take(store, order->num_accesses, sizeof(struct import_access));
    splitter->part = (struct import_order){
        .num_buffers = order->num_buffers,
        .is_work = splitter->is_work,
        .proven = splitter->proven,
        .edges = splitter->edges,
        .accesses = splitter->accesses,
        .most_steps = order->most_steps,
        .length_captured = splitter->part_captured,
        .length_kept = splitter->part_kept,
    };
    return !store->failed;
}

static bool find_part(struct splitter *splitter)
{
    struct store store = { 0 };
    struct import_orders found = { 0 };
    bool is_done = begin_part(splitter, &store);
    if (is_done) {
        number_nodes(splitter);
        take_edges(splitter);
        take_accesses(splitter);
        is_done =
            braid_import_find_orders(&splitter->part, &found) && take_orders(splitter, &found);
    }
    braid_import_orders_finish(&found);
    braid_store_finish(&store);
    return is_done;
}

static int compare_edges(const void *left, const void *right)
{
    const struct import_edge *a = left, *b = right;
    return a->to != b->to ? (a->to > b->to) - (a->to < b->to)
                          : (a->from < b->from) - (a->from > b->from);
}

// From the innermost regions outwards, so that bodies have their lengths.
static bool find_parts(struct splitter *splitter)
{
    const struct import_order *order = splitter->order;
    struct array *edges = &splitter->orders->edges;
    bool is_done = true;
    for (uint32_t i = 0; i < order->num_nodes; i++)
        splitter->length_captured[i] = splitter->length_kept[i] = order->is_work[i];
    for (size_t i = order->num_regions; i-- > 0 && is_done;) {
        splitter->at_region = i;
        is_done = find_part(splitter);
    }
    if (is_done && edges->num)
        qsort(edges->items, edges->num, sizeof(struct import_edge), compare_edges);
    return is_done;
}

bool braid_import_find_all_orders(const struct import_order *order,
                                  struct import_orders *out_orders)
{
    struct import_orders orders = { 0 };
    struct splitter splitter = { .order = order, .orders = &orders };
    if (order->num_regions <= 1)
        return braid_import_find_orders(order, out_orders);
    splitter.length_captured = braid_allocate_zeroed(order->num_nodes, sizeof(uint32_t));
    splitter.length_kept = braid_allocate_zeroed(order->num_nodes, sizeof(uint32_t));
    const bool is_done = splitter.length_captured && splitter.length_kept && find_parts(&splitter);
    braid_free(splitter.length_captured);
    braid_free(splitter.length_kept);
    if (is_done)
        *out_orders = orders;
    else
        braid_import_orders_finish(&orders);
    return is_done;
}
