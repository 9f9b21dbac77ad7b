// SPDX-License-Identifier: Apache-2.0
// Proves that conflicting accesses are ordered as they were declared.
#include "verify/verify_state.h"

#include "base/array.h"
#include "base/error.h"
#include "graph/segments.h"

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

braid_status braid_verify_accesses_create(const braid_graph *graph,
                                          struct verify_accesses **out_accesses)
{
    struct verify_accesses *accesses = calloc(1, sizeof(*accesses));
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
        braid_verify_accesses_destroy(accesses);
        return status;
    }
    for (uint32_t i = 0; i < accesses->parts.num_segments; i++)
        accesses->segments[i].writer = GRAPH_NONE;
    *out_accesses = accesses;
    return BRAID_OK;
}

void braid_verify_accesses_destroy(struct verify_accesses *accesses)
{
    if (!accesses)
        return;
    braid_graph_segments_finish(&accesses->parts);
    free(accesses->segments);
    free(accesses->wholes);
    braid_array_finish(&accesses->readers);
    free(accesses);
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
    const struct graph_access *list = accesses->graph->accesses.items;
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        uint32_t resource = list[node->first_access + i].resource;
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
    const struct graph_access *list = graph->accesses.items;
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        const struct graph_access *access = &list[graph_node->first_access + i];
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
