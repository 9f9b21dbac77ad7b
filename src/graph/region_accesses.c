// SPDX-License-Identifier: Apache-2.0
// From outside a region is a node that accesses each resource of its bodies once.
#include "graph/region_begin.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct list {
    struct graph_access *items;
    uint32_t num;
    const uint32_t *known; // resources in order, which all lists share
    uint32_t num_known;
    uint32_t *slots; // by these: 1 + where in `items` it is
};

static int compare_resources(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

// If several are equal, it always finds the same one.
static uint32_t *find(const struct list *list, uint32_t resource)
{
    const uint32_t *found =
        bsearch(&resource, list->known, list->num_known, sizeof(resource), compare_resources);
    return &list->slots[found - list->known];
}

static bool overwrites(uint32_t mode)
{
    return mode == BRAID_WRITE || mode == BRAID_EXCLUSIVE;
}

// Nothing flows in if a body overwrites first; of two arms (`is_other`) only if both do.
static void take(struct list *list, const struct graph_access *access, bool is_other)
{
    uint32_t *slot = find(list, access->resource);
    if (!*slot) {
        list->items[list->num++] = *access;
        *slot = list->num;
        return;
    }
    uint32_t *mode = &list->items[*slot - 1].mode;
    if (*mode != access->mode)
        *mode = overwrites(*mode) && (!is_other || overwrites(access->mode)) ? BRAID_WRITE
                                                                             : BRAID_READ_WRITE;
}

// Where a node runs: at its main node's slot, by its role in the bundle.
struct turn {
    uint32_t main, role, node;
};

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->main != b->main)
        return a->main < b->main ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

// Sorts those of one body into the order in which they run.
static void sort_turns(const braid_graph *graph, uint32_t first, uint32_t end, struct turn *turns)
{
    static const uint32_t order[] = { [GRAPH_PRELUDE] = 0, [GRAPH_MAIN] = 1, [GRAPH_EPILOGUE] = 2 };
    for (uint32_t i = first; i < end; i++) {
        const struct graph_node *node = &graph_nodes(graph)[i];
        uint32_t main = node->role == GRAPH_MAIN ? i : node->main;
        turns[i - first] = (struct turn){ main, order[node->role], i };
    }
    if (graph->num_bundled && end > first)
        qsort(turns, end - first, sizeof(*turns), compare_turns);
}

static void take_nodes(const braid_graph *graph, uint32_t first, uint32_t end, struct turn *turns,
                       struct list *list)
{
    const struct graph_access *accesses = graph->accesses.items;
    sort_turns(graph, first, end, turns);
    for (uint32_t i = 0; i < end - first; i++) {
        const struct graph_node *node = &graph_nodes(graph)[turns[i].node];
        for (uint32_t k = 0; k < node->num_accesses; k++)
            take(list, &accesses[node->first_access + k], false);
    }
}

// The condition is read before all, or behind all. There is room for all accesses in each list.
static void join(const braid_graph *graph, const struct graph_region *open, struct turn *turns,
                 struct list *own, struct list *arms)
{
    const struct graph_access reads = { open->condition, BRAID_READ };
    bool has_condition = open->condition != GRAPH_NONE;
    bool tests_first = graph_loop(graph, open->node)->tests_first;
    if (has_condition && tests_first)
        take(own, &reads, false);
    take_nodes(graph, open->node + 1, open->first, turns, &arms[0]);
    take_nodes(graph, open->first, graph_num_nodes(graph), turns, &arms[1]);
    for (uint32_t i = 0; i < arms[1].num; i++)
        take(&arms[0], &arms[1].items[i], true);
    for (uint32_t i = 0; i < arms[0].num; i++)
        take(own, &arms[0].items[i], false);
    if (has_condition && !tests_first)
        take(own, &reads, false);
}

// Accesses stand node by node, so those of the bodies move.
static void put(braid_graph *graph, const struct graph_region *open, const struct list *own)
{
    struct graph_node *nodes = graph->nodes.items, *outer = &nodes[open->node];
    struct graph_access *accesses = graph->accesses.items;
    uint32_t had = outer->num_accesses;
    size_t first = outer->first_access, num_behind = graph->accesses.num - first - had;
    if (num_behind)
        memmove(&accesses[first + own->num], &accesses[first + had],
                num_behind * sizeof(*accesses));
    if (own->num)
        memcpy(&accesses[first], own->items, own->num * sizeof(*accesses));
    graph->accesses.num = graph->accesses.num - had + own->num;
    outer->num_accesses = own->num;
    for (uint32_t i = open->node + 1; i < graph->nodes.num; i++)
        nodes[i].first_access = nodes[i].first_access - had + own->num;
}

// Sorts the resources that the region's node, its bodies and its condition touch.
static void sort_resources(const braid_graph *graph, const struct graph_region *open,
                           uint32_t *known, size_t num)
{
    const struct graph_access *accesses = graph->accesses.items;
    for (size_t i = 0; i + 1 < num; i++)
        known[i] = accesses[graph->accesses.num - num + 1 + i].resource;
    known[num - 1] = open->condition;
    qsort(known, num, sizeof(*known), compare_resources);
}

braid_status braid_graph_join_accesses(braid_graph *graph, const struct graph_region *open)
{
    size_t num = graph->accesses.num - graph_nodes(graph)[open->node].first_access + 1;
    struct graph_access *room = malloc(3 * num * sizeof(*room));
    uint32_t *known = calloc(4 * num, sizeof(*known));
    struct turn *turns = malloc((graph->nodes.num - open->node) * sizeof(*turns));
    struct list lists[3] = { 0 };
    for (size_t i = 0; room && known && i < 3; i++)
        lists[i] = (struct list){ room + i * num, 0, known, (uint32_t)num, known + (i + 1) * num };
    bool done = room && known && turns;
    if (done) {
        sort_resources(graph, open, known, num);
        join(graph, open, turns, &lists[0], &lists[1]);
    }
    uint32_t had = graph_nodes(graph)[open->node].num_accesses;
    uint32_t more = lists[0].num > had ? lists[0].num - had : 0;
    done = done && more <= GRAPH_MAX_ITEMS - graph->accesses.num &&
           braid_array_reserve(&graph->accesses, more, sizeof(*room));
    if (done)
        put(graph, open, &lists[0]);
    free(room);
    free(known);
    free(turns);
    return done ? BRAID_OK : braid_error_no_memory("the accesses of a loop or branch");
}
