// SPDX-License-Identifier: Apache-2.0
// Edges that follow from declared accesses: one walk over the accesses in insertion order, keeping
// for each segment its last writer and the readers since.
#include "graph/links.h"

#include "base/error.h"
#include "graph/segments.h"

#define NO_READER UINT32_MAX

struct segment_state {
    uint32_t writer;    // last node that wrote or held it exclusively, or GRAPH_NONE
    uint32_t readers;   // head of the list of readers since, or NO_READER
    bool was_exclusive; // how `writer` used it
};

struct reader {
    uint32_t node;
    uint32_t next;
};

struct walk {
    const braid_graph *graph;
    struct graph_units units;
    struct graph_segments segments;
    struct segment_state *states;
    struct array readers;  // struct reader
    uint32_t free_readers; // list of unused elements
    size_t *latest_link;   // per node: 1 + index of the latest link from it
    struct array *links;   // struct graph_link
    uint32_t node;         // the node walked now
    uint32_t resource;     // and the resource it touches
};

// Links an earlier node to the one walked now. Of several reasons data flow wins, else the first.
static bool add_link(struct walk *walk, uint32_t from, enum graph_hazard hazard)
{
    if (from == GRAPH_NONE || walk->units.unit_of[from] == walk->units.unit_of[walk->node])
        return true;
    struct graph_link link = { from, walk->node, walk->resource, (uint32_t)hazard };
    if (walk->latest_link[from]) {
        struct graph_link *links = walk->links->items;
        struct graph_link *latest = &links[walk->latest_link[from] - 1];
        if (latest->to == walk->node) {
            if (hazard == GRAPH_READ_AFTER_WRITE && latest->hazard != GRAPH_READ_AFTER_WRITE)
                *latest = link;
            return true;
        }
    }
    struct graph_link *slot = braid_array_append(walk->links, 1, sizeof(*slot));
    if (!slot)
        return false;
    *slot = link;
    walk->latest_link[from] = walk->links->num;
    return true;
}

static bool add_reader(struct walk *walk, struct segment_state *state)
{
    uint32_t index = walk->free_readers;
    if (index == NO_READER) {
        if (walk->readers.num >= NO_READER ||
            !braid_array_append(&walk->readers, 1, sizeof(struct reader)))
            return false;
        index = (uint32_t)walk->readers.num - 1;
    } else {
        walk->free_readers = ((struct reader *)walk->readers.items)[index].next;
    }
    ((struct reader *)walk->readers.items)[index] = (struct reader){ walk->node, state->readers };
    state->readers = index;
    return true;
}

static bool read_segment(struct walk *walk, struct segment_state *state)
{
    enum graph_hazard hazard = state->was_exclusive ? GRAPH_EXCLUSIVE_USE : GRAPH_READ_AFTER_WRITE;
    return add_link(walk, state->writer, hazard) && add_reader(walk, state);
}

// Orders the node after all readers since the last write, and takes them off the list. The last
// writer needs a link only if there were none, since each reader stands behind it.
static bool overwrite_segment(struct walk *walk, struct segment_state *state, bool exclusive)
{
    enum graph_hazard after_read = exclusive ? GRAPH_EXCLUSIVE_USE : GRAPH_WRITE_AFTER_READ;
    enum graph_hazard after_write =
        exclusive || state->was_exclusive ? GRAPH_EXCLUSIVE_USE : GRAPH_WRITE_AFTER_WRITE;
    bool linked = state->readers != NO_READER || add_link(walk, state->writer, after_write);
    struct reader *readers = walk->readers.items;
    for (uint32_t i = state->readers; linked && i != NO_READER;) {
        uint32_t next = readers[i].next;
        linked = add_link(walk, readers[i].node, after_read);
        readers[i].next = walk->free_readers;
        walk->free_readers = i;
        state->readers = i = next;
    }
    state->writer = walk->node;
    state->was_exclusive = exclusive;
    return linked;
}

static bool walk_segment(struct walk *walk, uint32_t segment, uint32_t mode)
{
    struct segment_state *state = &walk->states[segment];
    switch ((enum braid_access_mode)mode) {
    case BRAID_READ:
        return read_segment(walk, state);
    case BRAID_WRITE:
        return overwrite_segment(walk, state, false);
    case BRAID_READ_WRITE:
        return read_segment(walk, state) && overwrite_segment(walk, state, false);
    case BRAID_EXCLUSIVE:
        break;
    }
    return overwrite_segment(walk, state, true);
}

static bool walk_node(struct walk *walk, uint32_t node)
{
    const struct graph_node *graph_node = &graph_nodes(walk->graph)[node];
    const struct graph_access *accesses = walk->graph->accesses.items;
    walk->node = node;
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        const struct graph_access *access = &accesses[graph_node->first_access + i];
        walk->resource = access->resource;
        uint32_t end = walk->segments.end[access->resource];
        for (uint32_t s = walk->segments.first[access->resource]; s < end; s++) {
            if (!walk_segment(walk, s, access->mode))
                return false;
        }
    }
    return true;
}

static bool start_walk(struct walk *walk)
{
    uint32_t num_segments = walk->segments.num_segments;
    walk->states = braid_allocate_zeroed(num_segments, sizeof(*walk->states));
    walk->latest_link =
        braid_allocate_zeroed(graph_num_nodes(walk->graph), sizeof(*walk->latest_link));
    if (!walk->states || !walk->latest_link)
        return false;
    walk->free_readers = NO_READER;
    for (uint32_t s = 0; s < num_segments; s++)
        walk->states[s] = (struct segment_state){ .writer = GRAPH_NONE, .readers = NO_READER };
    return true;
}

static bool walk_all(struct walk *walk)
{
    if (!start_walk(walk))
        return false;
    uint32_t num_nodes = graph_num_nodes(walk->graph);
    for (uint32_t i = 0; i < num_nodes; i++) {
        if (!walk_node(walk, walk->units.members[i]))
            return false;
    }
    return true;
}

static void finish_walk(struct walk *walk)
{
    braid_graph_units_finish(&walk->units);
    braid_graph_segments_finish(&walk->segments);
    braid_array_finish(&walk->readers);
    free(walk->states);
    free(walk->latest_link);
}

braid_status braid_graph_find_links(const braid_graph *graph, struct array *out_links)
{
    if (graph->accesses.num == 0)
        return BRAID_OK;
    struct walk walk = { .graph = graph, .links = out_links };
    braid_status status = braid_graph_find_units(graph, &walk.units);
    if (!status)
        status = braid_graph_find_segments(graph, &walk.segments);
    if (!status && !walk_all(&walk))
        status = braid_error_no_memory("the edges that follow from accesses");
    finish_walk(&walk);
    return status;
}
