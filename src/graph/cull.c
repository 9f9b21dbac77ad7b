// SPDX-License-Identifier: Apache-2.0
// Makes the graph without the nodes that no output needs, and finds which may idle besides.
#include "graph/cull.h"

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/graph.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "graph/segments.h"

// A need across a frame's end: of a change that no node of the frame at hand has made.
struct reach_crossing {
    uint32_t node, needed; // vertices
};

// ---- needs ----

// Finds which nodes need the results of which, by two walks over the accesses in insertion order.
// The first finds the last node that changes each segment, the second lists the needs of each node.
// If a frame reads a segment before it writes it, the last change of the frame before is needed.

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
    bool done = true;
    for (uint32_t i = 0; i < node->num_accesses && done; i++) {
        const struct graph_access *access = graph_access_of(walk->graph, node, i);
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
    bool done = true;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        const struct graph_access *access = graph_access_of(walk->graph, node, i);
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
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        const struct graph_access *access = graph_access_of(graph, node, i);
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

static void reach_finish(struct reach *reach)
{
    braid_free(reach->lists);
    braid_array_finish(&reach->needs);
    braid_array_finish(&reach->crossings);
    *reach = (struct reach){ 0 };
}

// Errors: BRAID_NO_MEMORY.
static braid_status reach_create(const braid_graph *graph, struct reach *out_reach)
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
        reach_finish(&reach);
    else
        *out_reach = reach;
    return status;
}

// Has the frame's end need one more vertex. Errors: BRAID_NO_MEMORY.
// Its list is the last one.
static braid_status reach_keep(struct reach *reach, uint32_t vertex)
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

// ---- the culled graph ----

struct cull {
    const braid_graph *from;
    braid_graph *to;
    struct reach *reach;
    bool *needed;   // by vertex
    bool *unmade;   // by vertex
    uint32_t *room; // by vertex
};

static struct graph_node *node_at(const braid_graph *graph, uint32_t node)
{
    return &((struct graph_node *)graph->nodes.items)[node];
}

static bool is_left_out(const braid_graph *graph, uint32_t node)
{
    return graph_nodes(graph)[node].is_left_out;
}

// Whether a vertex that nothing needs leaves data unmade. An empty node leaves all data as they
// were. So does a vertex of an access, which needs its node and the change before.
static bool is_unmade(const struct cull *cull, uint32_t vertex)
{
    const struct reach_list *list = &cull->reach->lists[vertex];
    const uint32_t *needs = cull->reach->needs.items;
    if (vertex < cull->reach->num_nodes && graph_nodes(cull->from)[vertex].kind != WORK_EMPTY)
        return true;
    size_t i = list->begin;
    while (i < list->middle && !cull->unmade[needs[i]])
        i++;
    return i < list->middle;
}

// Marks the vertices behind which is a change of a node that nothing needs. Most needs are of
// earlier vertices, but frames make cycles.
static void mark_unmade(struct cull *cull)
{
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (uint32_t i = 0; i < cull->reach->num_vertices; i++) {
            if (!cull->needed[i] && !cull->unmade[i] && is_unmade(cull, i))
                goes_on = cull->unmade[i] = true;
        }
    }
}

// Whether the node overwrites such a change.
static bool covers_unmade(const struct cull *cull, uint32_t node)
{
    const struct reach_list *list = &cull->reach->lists[node];
    const uint32_t *needs = cull->reach->needs.items;
    size_t i = list->end;
    while (i < list->covered && !cull->unmade[needs[i]])
        i++;
    return i < list->covered;
}

static void leave_out(struct graph_node *node)
{
    node->own_kind = node->kind;
    node->kind = WORK_EMPTY;
    node->is_left_out = true;
    node->num_accesses = node->lane_hint = node->place = 0;
    node->cost_ns = 0;
    node->may_rest = false;
}

static void mark_nodes(struct cull *cull)
{
    for (uint32_t i = 0; i < cull->reach->num_nodes; i++) {
        struct graph_node *node = node_at(cull->to, i);
        if (!cull->needed[braid_graph_lift(cull->from, i, GRAPH_NONE)]) {
            leave_out(node);
            cull->to->num_left_out++;
        }
    }
}

static bool copy_nodes(struct cull *cull)
{
    size_t num = cull->from->nodes.num;
    void *nodes = num ? braid_array_append(&cull->to->nodes, num, sizeof(struct graph_node)) : NULL;
    if (nodes)
        memcpy(nodes, cull->from->nodes.items, num * sizeof(struct graph_node));
    return nodes || !num;
}

// Keeps the items of nodes that stay: node `which` of an item is at `node_offset` in it.
static bool keep(const struct cull *cull, const struct array *from, struct array *to,
                 size_t item_bytes, const size_t *node_offsets, size_t num_offsets)
{
    for (size_t i = 0; i < from->num; i++) {
        const char *item = (const char *)from->items + i * item_bytes;
        bool stays = true;
        for (size_t k = 0; k < num_offsets; k++) {
            uint32_t node;
            memcpy(&node, item + node_offsets[k], sizeof(node));
            stays = stays && !is_left_out(cull->to, node);
        }
        if (stays && !braid_array_put(to, item, item_bytes))
            return false;
    }
    return true;
}

static bool keep_items(struct cull *cull)
{
    static const size_t ends[] = { offsetof(struct graph_edge, from),
                                   offsetof(struct graph_edge, to) };
    static const size_t use = offsetof(struct graph_parameter_use, node);
    static const size_t address = offsetof(struct graph_address, node);
    static const size_t trap = offsetof(struct graph_trap, node);
    const braid_graph *from = cull->from;
    braid_graph *to = cull->to;
    return keep(cull, &from->edges, &to->edges, sizeof(struct graph_edge), ends, 2) &&
           keep(cull, &from->uses, &to->uses, sizeof(struct graph_parameter_use), &use, 1) &&
           keep(cull, &from->addresses, &to->addresses, sizeof(struct graph_address), &address,
                1) &&
           keep(cull, &from->given, &to->given, sizeof(struct graph_address), &address, 1) &&
           keep(cull, &from->traps, &to->traps, sizeof(struct graph_trap), &trap, 1);
}

// Without regions that stay the graph has none, so that players without loops play it.
static void keep_regions(braid_graph *to)
{
    bool any = false;
    for (size_t i = 0; i < to->regions.num; i++)
        any = any || !is_left_out(to, graph_regions(to)[i].node);
    if (!any)
        to->regions = (struct array){ 0 };
}

static bool may_rest(const void *context, uint32_t node)
{
    const braid_graph *graph = context;
    return graph_nodes(graph)[node].may_rest;
}

// Drivers do not disable all kinds of work.
static bool may_idle(const struct graph_node *node)
{
    return node->kind == WORK_KERNEL || node->kind == WORK_COPY || node->kind == WORK_HOST;
}

static bool keep_others(struct cull *cull)
{
    for (uint32_t i = 0; i < cull->reach->num_nodes; i++) {
        const struct graph_node *node = node_at(cull->to, i);
        if (cull->needed[i] && node->kind != WORK_EMPTY && !may_idle(node) &&
            reach_keep(cull->reach, i))
            return false;
    }
    return true;
}

// A reader that is disabled now may run in a later frame. So changes that a later frame reads are
// made in each frame.
static bool keep_crossings(struct cull *cull)
{
    const struct array *crossings = &cull->reach->crossings;
    for (size_t i = 0; i < crossings->num; i++) {
        const struct reach_crossing *crossing = &((struct reach_crossing *)crossings->items)[i];
        if (cull->needed[crossing->node] && reach_keep(cull->reach, crossing->needed))
            return false;
    }
    return true;
}

// Marks the nodes that nothing needs while parameters disable all that they may. Whether there are.
// A node must run if its result hides one of such a node, or of one that is left out.
static bool mark_idle(struct cull *cull)
{
    bool any = false;
    braid_reach_mark(cull->reach, may_rest, cull->to, cull->needed, cull->room);
    mark_unmade(cull);
    for (uint32_t i = 0; i < cull->reach->num_nodes; i++) {
        struct graph_node *node = node_at(cull->to, i);
        node->may_idle = !cull->needed[i] && may_idle(node) &&
                         braid_graph_region_of(cull->from, i) == GRAPH_NONE;
        node->must_run = !node->is_left_out && covers_unmade(cull, i);
        any = any || node->may_idle;
    }
    return any;
}

static bool cull_all(struct cull *cull)
{
    uint32_t num = cull->reach->num_vertices;
    cull->needed = braid_allocate_zeroed(num, sizeof(*cull->needed));
    cull->unmade = braid_allocate_zeroed(num, sizeof(*cull->unmade));
    cull->room = braid_allocate_zeroed(num, sizeof(*cull->room));
    if (!cull->needed || !cull->unmade || !cull->room || !copy_nodes(cull))
        return false;
    braid_reach_mark(cull->reach, NULL, NULL, cull->needed, cull->room);
    mark_nodes(cull);
    bool done = keep_items(cull) && keep_others(cull) && keep_crossings(cull);
    keep_regions(cull->to);
    if (done && !mark_idle(cull))
        reach_finish(cull->reach);
    return done;
}

void braid_culled_finish(struct culled *culled)
{
    reach_finish(&culled->reach);
    if (culled->graph == &culled->own) {
        braid_array_finish(&culled->own.nodes);
        braid_array_finish(&culled->own.edges);
        braid_array_finish(&culled->own.uses);
        braid_array_finish(&culled->own.addresses);
        braid_array_finish(&culled->own.given);
        braid_array_finish(&culled->own.traps);
    }
    *culled = (struct culled){ 0 };
}

braid_status braid_graph_cull(const braid_graph *graph, struct culled *out_culled)
{
    *out_culled = (struct culled){ .graph = graph };
    if (!graph->outputs.num || graph->is_culled || graph->open.num)
        return BRAID_OK;
    struct culled *culled = out_culled;
    braid_status status = reach_create(graph, &culled->reach);
    if (status)
        return status;
    braid_graph *own = &culled->own;
    *own = *graph;
    own->nodes = own->edges = own->uses = own->addresses = own->given = own->traps =
        (struct array){ 0 };
    own->is_culled = true;
    culled->graph = own;
    struct cull cull = { .from = graph, .to = own, .reach = &culled->reach };
    bool done = cull_all(&cull);
    braid_free(cull.needed);
    braid_free(cull.unmade);
    braid_free(cull.room);
    if (done)
        return BRAID_OK;
    braid_culled_finish(culled);
    return braid_error_no_memory("the graph without nodes that no output needs");
}

braid_status braid_culled_keep(struct culled *culled, uint32_t node)
{
    node_at(&culled->own, node)->may_idle = false;
    return reach_keep(&culled->reach, node);
}
