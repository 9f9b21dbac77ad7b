// SPDX-License-Identifier: Apache-2.0
// The regions and explicit edges that the proofs of a graph share, and the messages of findings.
#include "verify/verify_state.h"

#include "base/big_memory.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "graph/segments.h"

// ---- proves that conflicting accesses are ordered as they were declared ----

struct segment {
    uint32_t writer;  // the last node to write it or hold it exclusively, or GRAPH_NONE
    uint32_t readers; // first of the readers since, 1 + index into readers; 0: none
    uint32_t wholes;  // first of the readers of the whole buffer before that write; likewise
    uint32_t adders;  // first of those that accumulate, with none of the others between
    uint32_t before;  // first of the readers of a part that each of these stands behind
    uint32_t before_wholes, before_end; // and of the whole: from the one up to the other
};

struct reader {
    uint32_t node, next;
};

struct verify_accesses {
    const braid_graph *graph;
    const struct verify *verify; // at the node at hand
    struct graph_segments parts;
    struct segment *segments;
    uint32_t *wholes;     // per buffer, first of all readers of the whole, 1 + index; 0: none
    struct array readers; // struct reader
    uint32_t unused;      // readers to use again, 1 + index; 0: none
};

static void verify_accesses_destroy(struct verify_accesses *accesses)
{
    if (!accesses)
        return;
    braid_graph_segments_finish(&accesses->parts);
    braid_free(accesses->segments);
    braid_free(accesses->wholes);
    braid_array_finish(&accesses->readers);
    braid_free(accesses);
}

static braid_status verify_accesses_create(const braid_graph *graph,
                                           struct verify_accesses **out_accesses)
{
    struct verify_accesses *accesses = braid_allocate_zeroed(1, sizeof(*accesses));
    if (!accesses)
        return braid_error_no_memory("the proof of a plan");
    accesses->graph = graph;
    braid_status status = braid_graph_find_segments(graph, &accesses->parts);
    if (!status) {
        accesses->segments =
            braid_allocate_zeroed(accesses->parts.num_segments, sizeof(*accesses->segments));
        accesses->wholes = braid_allocate_zeroed(graph->resources.num, sizeof(*accesses->wholes));
        if (!accesses->segments || !accesses->wholes)
            status = braid_error_no_memory("the proof of a plan");
    }
    if (status) {
        verify_accesses_destroy(accesses);
        return status;
    }
    for (uint32_t i = 0; i < accesses->parts.num_segments; i++)
        accesses->segments[i].writer = GRAPH_NONE;
    *out_accesses = accesses;
    return BRAID_OK;
}

struct node_text braid_verify_name(const struct verify *verify, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(verify->graph, node));
}

braid_status braid_verify_report(const struct verify *verify, uint32_t before, uint32_t node,
                                 const char *why)
{
    return braid_error(
        BRAID_INTERNAL, "the plan lets node %s start before node %s has ended, against %s",
        braid_verify_name(verify, node).text, braid_verify_name(verify, before).text, why);
}

static braid_status report_pair(const struct verify *verify, uint32_t before, uint32_t node,
                                uint32_t resource)
{
    char buffer[512], why[600];
    const char *name = braid_graph_resource_name(verify->graph, resource, buffer, sizeof(buffer));
    snprintf(why, sizeof(why), "their accesses to '%.150s'", name);
    return braid_verify_report(verify, before, node, why);
}

// Nodes are inserted where their bundle's main node stands; inside a bundle the running order is
// proved elsewhere.
static braid_status check_pair(const struct verify_accesses *accesses, uint32_t before,
                               uint32_t node, uint32_t resource)
{
    const struct verify *verify = accesses->verify;
    if (before == GRAPH_NONE || before == node)
        return BRAID_OK;
    if (verify_turn_of_unit(verify, before) > verify_turn_of_unit(verify, node))
        return report_pair(verify, node, before, resource);
    if (!verify_is_ordered(verify, before, node))
        return report_pair(verify, before, node, resource);
    return BRAID_OK;
}

// Puts a reader before the others of a list.
static bool add_reader(struct verify_accesses *accesses, uint32_t *first, uint32_t node)
{
    uint32_t index = accesses->unused;
    if (index) {
        accesses->unused = ((struct reader *)accesses->readers.items)[index - 1].next;
    } else {
        if (accesses->readers.num >= UINT32_MAX ||
            !braid_array_append(&accesses->readers, 1, sizeof(struct reader)))
            return false;
        index = (uint32_t)accesses->readers.num;
    }
    ((struct reader *)accesses->readers.items)[index - 1] = (struct reader){ node, *first };
    *first = index;
    return true;
}

static braid_status take_readers(struct verify_accesses *accesses, struct segment *segment,
                                 uint32_t node, uint32_t resource)
{
    struct reader *readers = accesses->readers.items;
    braid_status status = BRAID_OK;
    while (!status && segment->readers) {
        uint32_t index = segment->readers;
        struct reader *reader = &readers[index - 1];
        status = check_pair(accesses, reader->node, node, resource);
        segment->readers = reader->next;
        reader->next = accesses->unused;
        accesses->unused = index;
    }
    return status;
}

static void drop_list(struct verify_accesses *accesses, uint32_t *first)
{
    struct reader *readers = accesses->readers.items;
    while (*first) {
        uint32_t index = *first;
        *first = readers[index - 1].next;
        readers[index - 1].next = accesses->unused;
        accesses->unused = index;
    }
}

// Checks those of a list from the first on to `end`.
static braid_status check_list(const struct verify_accesses *accesses, uint32_t first, uint32_t end,
                               uint32_t node, uint32_t resource)
{
    const struct reader *readers = accesses->readers.items;
    braid_status status = BRAID_OK;
    for (uint32_t i = first; !status && i != end; i = readers[i - 1].next)
        status = check_pair(accesses, readers[i - 1].node, node, resource);
    return status;
}

static braid_status check_change(const struct verify_accesses *accesses,
                                 const struct segment *segment, uint32_t node, uint32_t resource)
{
    braid_status status = check_pair(accesses, segment->writer, node, resource);
    return status ? status : check_list(accesses, segment->adders, 0, node, resource);
}

static braid_status check_write(struct verify_accesses *accesses, uint32_t node,
                                const struct graph_access *access, uint32_t first, uint32_t end)
{
    const struct graph_resource *resources = accesses->graph->resources.items;
    uint32_t latest = accesses->wholes[resources[access->resource].buffer];
    uint32_t checked = latest; // wholes before this one
    for (uint32_t part = first; part < end; part++) {
        struct segment *segment = &accesses->segments[part];
        braid_status status = check_change(accesses, segment, node, access->resource);
        if (!status)
            status = take_readers(accesses, segment, node, access->resource);
        if (!status && segment->wholes != checked) // a neighbour has mostly the same
            status = check_list(accesses, latest, segment->wholes, node, access->resource);
        if (status)
            return status;
        checked = segment->wholes;
        segment->wholes = latest;
        segment->writer = node;
        drop_list(accesses, &segment->adders);
        drop_list(accesses, &segment->before);
    }
    return BRAID_OK;
}

// Accumulating accesses stand behind the readers that come before all of them, or the writer.
static void begin_adding(struct verify_accesses *accesses, struct segment *segment, uint32_t latest)
{
    if (segment->readers || segment->wholes != latest)
        segment->writer = GRAPH_NONE; // behind the readers, as what accumulated before them
    drop_list(accesses, &segment->adders);
    drop_list(accesses, &segment->before);
    segment->before = segment->readers;
    segment->before_wholes = latest;
    segment->before_end = segment->wholes;
    segment->readers = 0;
    segment->wholes = latest;
}

static braid_status check_accumulate(struct verify_accesses *accesses, uint32_t node,
                                     const struct graph_access *access, uint32_t first,
                                     uint32_t end)
{
    const struct graph_resource *resources = accesses->graph->resources.items;
    uint32_t latest = accesses->wholes[resources[access->resource].buffer];
    uint32_t checked_from = 0, checked_end = 0;
    for (uint32_t part = first; part < end; part++) {
        struct segment *segment = &accesses->segments[part];
        if (!segment->adders || segment->readers || segment->wholes != latest)
            begin_adding(accesses, segment, latest);
        braid_status status = check_pair(accesses, segment->writer, node, access->resource);
        if (!status)
            status = check_list(accesses, segment->before, 0, node, access->resource);
        if (!status &&
            (segment->before_wholes != checked_from || segment->before_end != checked_end))
            status = check_list(accesses, segment->before_wholes, segment->before_end, node,
                                access->resource);
        if (status)
            return status;
        checked_from = segment->before_wholes;
        checked_end = segment->before_end;
        if (!add_reader(accesses, &segment->adders, node))
            return braid_error_no_memory("the proof of a plan");
    }
    return BRAID_OK;
}

// Who reads a whole buffer is kept once, not with each of its segments.
static braid_status check_read(struct verify_accesses *accesses, uint32_t node,
                               const struct graph_access *access, uint32_t first, uint32_t end)
{
    const struct graph_resource *resources = accesses->graph->resources.items;
    uint32_t buffer = resources[access->resource].buffer;
    bool whole = first == accesses->parts.first[buffer] && end == accesses->parts.end[buffer];
    for (uint32_t part = first; part < end; part++) {
        struct segment *segment = &accesses->segments[part];
        braid_status status = check_change(accesses, segment, node, access->resource);
        if (status)
            return status;
        if (!whole && !add_reader(accesses, &segment->readers, node))
            return braid_error_no_memory("the proof of a plan");
    }
    if (whole && !add_reader(accesses, &accesses->wholes[buffer], node))
        return braid_error_no_memory("the proof of a plan");
    return BRAID_OK;
}

static void forget_node(struct verify_accesses *accesses, uint32_t index)
{
    const struct graph_node *node = &graph_nodes(accesses->graph)[index];
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        uint32_t resource = graph_access_of(accesses->graph, node, i)->resource;
        for (uint32_t part = accesses->parts.first[resource]; part < accesses->parts.end[resource];
             part++)
            accesses->segments[part] = (struct segment){ .writer = GRAPH_NONE };
        accesses->wholes[graph_resource_at(accesses->graph, resource)->buffer] = 0;
    }
}

void braid_verify_accesses_forget(struct verify_accesses *accesses, const struct verify *verify)
{
    for (uint32_t i = verify->first_node; i < verify->end_node; i++) {
        if (verify_is_here(verify, i))
            forget_node(accesses, i);
    }
    accesses->readers.num = accesses->unused = 0;
}

braid_status braid_verify_accesses_node(struct verify_accesses *accesses,
                                        const struct verify *verify, uint32_t node)
{
    const braid_graph *graph = accesses->graph;
    accesses->verify = verify;
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    const uint32_t num = graph->imported_places ? 0 : graph_node->num_accesses;
    for (uint32_t i = 0; i < num; i++) {
        const struct graph_access *access = graph_access_of(graph, graph_node, i);
        uint32_t first = accesses->parts.first[access->resource];
        uint32_t end = accesses->parts.end[access->resource];
        braid_status status;
        if (access->mode == BRAID_READ)
            status = check_read(accesses, node, access, first, end);
        else if (access->mode == BRAID_ACCUMULATE)
            status = check_accumulate(accesses, node, access, first, end);
        else
            status = check_write(accesses, node, access, first, end);
        if (status)
            return status;
    }
    return BRAID_OK;
}

// ---- the state ----

static bool sort_edges(struct verify_whole *whole, const struct graph_edge *edges, size_t num_edges)
{
    size_t num_nodes = whole->num_nodes;
    whole->pred_first = plan_allocate_zeroed(num_nodes + 1, sizeof(uint32_t));
    whole->preds = plan_allocate(num_edges, sizeof(uint32_t));
    if (!whole->pred_first || !whole->preds)
        return false;
    for (size_t i = 0; i < num_edges; i++)
        whole->pred_first[(size_t)edges[i].to + 2]++;
    for (size_t i = 1; i < num_nodes + 2; i++)
        whole->pred_first[i] += whole->pred_first[i - 1];
    for (size_t i = 0; i < num_edges; i++)
        whole->preds[whole->pred_first[(size_t)edges[i].to + 1]++] = edges[i].from;
    return true;
}

// With regions, an edge is one of the region where its ends meet.
static bool find_edges(struct verify_whole *whole)
{
    const braid_graph *graph = whole->graph;
    size_t num = graph->edges.num, num_lifted = 0;
    if (!graph->regions.num)
        return sort_edges(whole, graph_edges(graph), num);
    struct graph_edge *lifted = braid_allocate((num + 1) * sizeof(*lifted));
    for (size_t i = 0; lifted && i < num; i++) {
        uint32_t from = graph_edges(graph)[i].from, to = graph_edges(graph)[i].to;
        braid_graph_meet(graph, &from, &to);
        if (from != to)
            lifted[num_lifted++] = (struct graph_edge){ from, to };
    }
    bool done = lifted && sort_edges(whole, lifted, num_lifted);
    braid_free(lifted);
    return done;
}

static bool find_regions(struct verify_whole *whole)
{
    if (!whole->graph->regions.num)
        return true;
    whole->region_of = plan_allocate(whole->num_nodes, sizeof(uint32_t));
    for (uint32_t i = 0; whole->region_of && i < whole->num_nodes; i++)
        whole->region_of[i] = braid_graph_region_of(whole->graph, i);
    return whole->region_of;
}

void braid_verify_whole_destroy(struct verify_whole *whole)
{
    if (!whole)
        return;
    braid_free(whole->region_of);
    braid_free(whole->spots);
    braid_free(whole->pred_first);
    braid_free(whole->preds);
    braid_graph_units_finish(&whole->units);
    verify_accesses_destroy(whole->accesses);
    braid_free(whole);
}

braid_status braid_verify_whole_create(const braid_graph *graph, struct verify_whole **out_whole)
{
    struct verify_whole *whole = braid_allocate_zeroed(1, sizeof(*whole));
    if (!whole)
        return braid_error_no_memory("the proof of a plan");
    whole->graph = graph;
    whole->num_nodes = graph_num_nodes(graph);
    whole->spots = plan_allocate_zeroed(whole->num_nodes, sizeof(*whole->spots));
    braid_status status = BRAID_OK;
    if (!whole->spots || !find_regions(whole) || !find_edges(whole))
        status = braid_error_no_memory("the proof of a plan");
    if (!status && graph_has_units(graph))
        status = braid_graph_find_units(graph, &whole->units);
    if (!status && graph->accesses.num)
        status = verify_accesses_create(graph, &whole->accesses);
    if (status)
        braid_verify_whole_destroy(whole);
    else
        *out_whole = whole;
    return status;
}
