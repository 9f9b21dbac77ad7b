// SPDX-License-Identifier: Apache-2.0
// Makes the graph without the nodes that no output needs, and finds which may idle besides.
#include "graph/cull.h"

#include "base/error.h"
#include "graph/regions.h"

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
            braid_reach_keep(cull->reach, i))
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
        if (cull->needed[crossing->node] && braid_reach_keep(cull->reach, crossing->needed))
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
        braid_reach_finish(cull->reach);
    return done;
}

braid_status braid_graph_cull(const braid_graph *graph, struct culled *out_culled)
{
    *out_culled = (struct culled){ .graph = graph };
    if (!graph->outputs.num || graph->is_culled || graph->open.num)
        return BRAID_OK;
    struct culled *culled = out_culled;
    braid_status status = braid_reach_create(graph, &culled->reach);
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
    free(cull.needed);
    free(cull.unmade);
    free(cull.room);
    if (done)
        return BRAID_OK;
    braid_culled_finish(culled);
    return braid_error_no_memory("the graph without nodes that no output needs");
}

braid_status braid_culled_keep(struct culled *culled, uint32_t node)
{
    node_at(&culled->own, node)->may_idle = false;
    return braid_reach_keep(&culled->reach, node);
}

void braid_culled_finish(struct culled *culled)
{
    braid_reach_finish(&culled->reach);
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
