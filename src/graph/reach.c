// SPDX-License-Identifier: Apache-2.0
// Finds which nodes need the results of which, by two walks over the accesses in insertion order.
// The first finds the last node that changes each segment, the second lists the needs of each node.
// If a frame reads a segment before it writes it, the last change of the frame before is needed.
#include "graph/reach.h"

#include "base/error.h"
#include "base/store.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "graph/segments.h"

struct walk {
    const braid_graph *graph;
    struct reach *reach;
    struct graph_units units;
    struct graph_segments segments;
    uint32_t *latest;     // by segment: the last node that changes it, or GRAPH_NONE
    size_t *edge_to;      // by node: 1 + the first of the edges that lead to it; 0: none
    size_t *edge_after;   // by edge: 1 + the next one
    bool *is_old;         // by segment: the latest change is of the frame before
    size_t begin;         // where the range of needs at hand begins
    uint32_t num_changes; // vertices of accesses so far
    bool is_second;       // the second walk
    struct store store;   // holds the arrays
};

// All versions of a buffer count as one.
static uint32_t thing_of(const braid_graph *graph, uint32_t resource)
{
    const struct graph_resource *at = graph_resource_at(graph, resource);
    return at->num_versions ? at->versioned : resource;
}

// How an access takes part in the flow of data. The last two need no earlier change. ADDS hands the
// earlier change on beside its own.
enum use { READS, CHANGES, ADDS, OVERWRITES };

// Locks hand no data on. An empty node writes nothing. The body of a region may read before it
// writes, or not run at all.
static enum use find_use(const braid_graph *graph, uint32_t node, const struct graph_access *access)
{
    const struct graph_resource *resource = graph_resource_at(graph, access->resource);
    enum work_kind kind = (enum work_kind)graph_nodes(graph)[node].kind;
    if (access->mode == BRAID_READ)
        return READS;
    if (access->mode == BRAID_EXCLUSIVE && !resource->bytes)
        return ADDS;
    if (access->mode != BRAID_WRITE || work_has_body(kind))
        return CHANGES;
    bool may_stay = graph_needs_data(graph, node, access) || kind == WORK_EMPTY;
    return may_stay || resource->num_versions ? ADDS : OVERWRITES;
}

static size_t begin_range(struct walk *walk)
{
    return walk->begin = walk->reach->needs.num;
}

static bool put(struct walk *walk, uint32_t needed)
{
    struct array *needs = &walk->reach->needs;
    const uint32_t *items = needs->items;
    if (needed == GRAPH_NONE || (needs->num > walk->begin && items[needs->num - 1] == needed))
        return true;
    return braid_array_put(needs, &needed, sizeof(needed));
}

static bool add_need(struct walk *walk, uint32_t node, uint32_t needed)
{
    return needed == node || put(walk, needed);
}

// A node may need its own change of the frame before.
static bool add_crossing(struct walk *walk, uint32_t node, uint32_t segment)
{
    if (!walk->is_old[segment] || walk->latest[segment] == GRAPH_NONE)
        return true;
    return braid_array_put(&walk->reach->crossings,
                           &(struct reach_crossing){ node, walk->latest[segment] },
                           sizeof(struct reach_crossing));
}

static bool add_segment(struct walk *walk, uint32_t node, uint32_t segment)
{
    return add_need(walk, node, walk->latest[segment]) && add_crossing(walk, node, segment);
}

// A node that overwrites its own change of the frame before covers that, too.
static bool add_latest(struct walk *walk, uint32_t node, uint32_t resource, enum use use)
{
    uint32_t thing = thing_of(walk->graph, resource);
    bool done = true;
    for (uint32_t s = walk->segments.first[thing]; s < walk->segments.end[thing] && done; s++)
        done = use == OVERWRITES ? put(walk, walk->latest[s]) : add_segment(walk, node, s);
    return done;
}

// Adds the latest changes of all resources that the node accesses in one way. If a node does not
// overwrite a transient buffer, that has any bytes.
static bool add_accesses(struct walk *walk, uint32_t index, enum use use)
{
    const struct graph_node *node = &graph_nodes(walk->graph)[index];
    const struct graph_access *accesses = walk->graph->accesses.items;
    bool done = true;
    for (uint32_t i = 0; i < node->num_accesses && done; i++) {
        const struct graph_access *access = &accesses[node->first_access + i];
        bool is_planned = graph_resource_at(walk->graph, access->resource)->alignment;
        if (find_use(walk->graph, index, access) == use && !(use == OVERWRITES && is_planned))
            done = add_latest(walk, index, access->resource, use);
    }
    return done;
}

static bool add_edges(struct walk *walk, uint32_t node)
{
    bool done = true;
    for (size_t e = walk->edge_to[node]; e && done; e = walk->edge_after[e - 1]) {
        uint32_t from = graph_edges(walk->graph)[e - 1].from;
        done = add_need(walk, node, braid_graph_lift(walk->graph, from, GRAPH_NONE));
    }
    return done;
}

static bool add_bundle(struct walk *walk, uint32_t node)
{
    uint32_t unit = walk->units.unit_of[node];
    bool done = true;
    if (graph_nodes(walk->graph)[node].role != GRAPH_MAIN)
        return true;
    for (uint32_t i = walk->units.first_of[unit]; i < walk->units.first_of[unit + 1] && done; i++)
        done = add_need(walk, node, walk->units.members[i]);
    return done;
}

// A bundle stays as a whole. A disabled main node does not keep its preludes at work.
static bool list_needs(struct walk *walk, uint32_t node)
{
    struct reach_list *list = &walk->reach->lists[node];
    const struct array *needs = &walk->reach->needs;
    list->begin = begin_range(walk);
    bool done = add_accesses(walk, node, CHANGES) && add_edges(walk, node) &&
                add_need(walk, node, graph_nodes(walk->graph)[node].main);
    list->middle = needs->num;
    done = done && add_accesses(walk, node, READS) && add_bundle(walk, node);
    list->end = begin_range(walk);
    done = done && add_accesses(walk, node, OVERWRITES);
    list->covered = needs->num;
    return done;
}

// The vertex of an access that adds to the change before.
static bool add_change(struct walk *walk, uint32_t node, uint32_t segment)
{
    if (walk->num_changes >= GRAPH_MAX_ITEMS - walk->reach->num_nodes)
        return false;
    uint32_t vertex = walk->reach->num_nodes + 1 + walk->num_changes++;
    bool done = true;
    if (walk->is_second) {
        struct reach_list *list = &walk->reach->lists[vertex];
        list->begin = begin_range(walk);
        done = add_need(walk, vertex, node) && add_segment(walk, vertex, segment);
        list->middle = list->end = walk->reach->needs.num;
    }
    walk->latest[segment] = vertex;
    return done;
}

static bool take_changes(struct walk *walk, uint32_t index)
{
    const struct graph_node *node = &graph_nodes(walk->graph)[index];
    const struct graph_access *accesses = walk->graph->accesses.items;
    bool done = true;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        const struct graph_access *access = &accesses[node->first_access + i];
        uint32_t thing = thing_of(walk->graph, access->resource);
        enum use use = find_use(walk->graph, index, access);
        for (uint32_t s = walk->segments.first[thing];
             s < walk->segments.end[thing] && use != READS && done; s++) {
            if (use == ADDS)
                done = add_change(walk, index, s);
            else
                walk->latest[s] = index;
            walk->is_old[s] = false;
        }
    }
    return done;
}

static bool walk_nodes(struct walk *walk)
{
    bool done = true;
    for (uint32_t i = 0; i < walk->reach->num_nodes && done; i++) {
        uint32_t node = walk->units.members[i];
        if (braid_graph_region_of(walk->graph, node) != GRAPH_NONE)
            continue;
        if (walk->is_second)
            done = list_needs(walk, node);
        done = done && take_changes(walk, node);
    }
    return done;
}

// Memory that the plan chooses keeps nothing from the frame before.
static void begin_second(struct walk *walk)
{
    walk->is_second = true;
    walk->num_changes = 0;
    for (uint32_t s = 0; s < walk->segments.num_segments; s++)
        walk->is_old[s] = true;
    for (uint32_t i = 0; i < walk->graph->resources.num; i++) {
        if (!graph_resource_at(walk->graph, i)->alignment)
            continue;
        for (uint32_t s = walk->segments.first[i]; s < walk->segments.end[i]; s++)
            walk->latest[s] = GRAPH_NONE;
    }
}

static bool has_result(const braid_graph *graph, const struct graph_node *node)
{
    const struct graph_access *accesses = graph->accesses.items;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        const struct graph_access *access = &accesses[node->first_access + i];
        if (access->mode != BRAID_READ && access->mode != BRAID_EXCLUSIVE)
            return true;
    }
    return false;
}

static bool is_effect(const braid_graph *graph, const struct graph_node *node)
{
    switch ((enum work_kind)node->kind) {
    case WORK_EMPTY:
    case WORK_LOOP:
    case WORK_BRANCH:
        return false;
    case WORK_POST:
    case WORK_AWAIT:
        return true;
    default:
        return !has_result(graph, node);
    }
}

static bool list_end(struct walk *walk)
{
    const braid_graph *graph = walk->graph;
    uint32_t end = walk->reach->num_nodes;
    const uint32_t *outputs = graph->outputs.items;
    struct reach_list *list = &walk->reach->lists[end];
    bool done = true;
    list->begin = begin_range(walk);
    for (size_t i = 0; i < graph->outputs.num && done; i++)
        done = add_latest(walk, end, outputs[i], READS);
    for (uint32_t i = 0; i < end && done; i++) {
        if (is_effect(graph, &graph_nodes(graph)[i]))
            done = add_need(walk, end, braid_graph_lift(graph, i, GRAPH_NONE));
    }
    list->middle = list->end = walk->reach->needs.num;
    return done;
}

static bool begin_walk(struct walk *walk)
{
    const braid_graph *graph = walk->graph;
    uint32_t num_nodes = graph_num_nodes(graph);
    walk->latest =
        braid_store_take(&walk->store, walk->segments.num_segments, sizeof(*walk->latest));
    walk->is_old =
        braid_store_take(&walk->store, walk->segments.num_segments, sizeof(*walk->is_old));
    walk->edge_to = braid_store_take(&walk->store, num_nodes, sizeof(*walk->edge_to));
    walk->edge_after = braid_store_take(&walk->store, graph->edges.num, sizeof(*walk->edge_after));
    if (walk->store.failed)
        return false;
    for (uint32_t s = 0; s < walk->segments.num_segments; s++)
        walk->latest[s] = GRAPH_NONE;
    for (size_t e = 0; e < graph->edges.num; e++) {
        uint32_t to = braid_graph_lift(graph, graph_edges(graph)[e].to, GRAPH_NONE);
        walk->edge_after[e] = walk->edge_to[to];
        walk->edge_to[to] = e + 1;
    }
    return true;
}

static bool walk_twice(struct walk *walk)
{
    struct reach *reach = walk->reach;
    if (!begin_walk(walk) || !walk_nodes(walk))
        return false;
    reach->num_vertices = reach->num_nodes + 1 + walk->num_changes;
    reach->lists = braid_allocate_zeroed(reach->num_vertices, sizeof(*reach->lists));
    if (!reach->lists)
        return false;
    begin_second(walk);
    return walk_nodes(walk) && list_end(walk);
}

braid_status braid_reach_create(const braid_graph *graph, struct reach *out_reach)
{
    struct reach reach = { .num_nodes = graph_num_nodes(graph) };
    struct walk walk = { .graph = graph, .reach = &reach };
    braid_status status = braid_graph_find_units(graph, &walk.units);
    if (!status)
        status = braid_graph_find_segments(graph, &walk.segments);
    if (!status && !walk_twice(&walk))
        status = braid_error_no_memory("the nodes that outputs need");
    braid_graph_units_finish(&walk.units);
    braid_graph_segments_finish(&walk.segments);
    braid_store_finish(&walk.store);
    if (status)
        braid_reach_finish(&reach);
    else
        *out_reach = reach;
    return status;
}

void braid_reach_finish(struct reach *reach)
{
    free(reach->lists);
    braid_array_finish(&reach->needs);
    braid_array_finish(&reach->crossings);
    *reach = (struct reach){ 0 };
}

// Its list is the last one.
braid_status braid_reach_keep(struct reach *reach, uint32_t vertex)
{
    struct reach_list *list = &reach->lists[reach->num_nodes];
    if (!braid_array_put(&reach->needs, &vertex, sizeof(vertex)))
        return braid_error_no_memory("the nodes that outputs need");
    list->middle = list->end = reach->needs.num;
    return BRAID_OK;
}

void braid_reach_mark(const struct reach *reach, reach_rests *rests, const void *context,
                      bool *needed, uint32_t *room)
{
    const uint32_t *needs = reach->needs.items;
    uint32_t num = 0;
    memset(needed, 0, reach->num_vertices * sizeof(*needed));
    needed[reach->num_nodes] = true;
    room[num++] = reach->num_nodes;
    while (num) {
        uint32_t node = room[--num];
        const struct reach_list *list = &reach->lists[node];
        bool is_resting = node < reach->num_nodes && rests && rests(context, node);
        for (size_t i = list->begin; i < (is_resting ? list->middle : list->end); i++) {
            if (needed[needs[i]])
                continue;
            needed[needs[i]] = true;
            room[num++] = needs[i];
        }
    }
}
