// SPDX-License-Identifier: Apache-2.0
// Edges that follow from declared accesses, by one walk over the accesses in insertion order. The
// walk keeps for each segment its last writer, the accumulating nodes and the readers since. A
// reader of a whole buffer is kept once, not with each segment.
#include "graph/links.h"

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/segments.h"

// ---- bundles ----

void braid_graph_units_finish(struct graph_units *units)
{
    braid_store_finish(&units->store);
    *units = (struct graph_units){ 0 };
}

// Numbers the main nodes in insertion order, or in the order that the graph says, and gives each
// bundle its number of members.
static uint32_t number_units(const braid_graph *graph, struct graph_units *units)
{
    const struct graph_node *nodes = graph_nodes(graph);
    uint32_t num_nodes = graph_num_nodes(graph);
    uint32_t num_units = 0;
    const uint32_t *sequence = graph->sequence.items;
    for (size_t i = 0; i < graph->sequence.num; i++)
        units->unit_of[sequence[i]] = num_units++;
    for (uint32_t i = 0; i < num_nodes && !sequence; i++) {
        if (nodes[i].role == GRAPH_MAIN)
            units->unit_of[i] = num_units++;
    }
    for (uint32_t i = 0; i < num_nodes; i++) {
        if (nodes[i].role != GRAPH_MAIN)
            units->unit_of[i] = units->unit_of[nodes[i].main];
        units->first_of[units->unit_of[i] + 1]++;
    }
    for (uint32_t u = 0; u < num_units; u++)
        units->first_of[u + 1] += units->first_of[u];
    return num_units;
}

// Fills in one role after the other. So inside a bundle preludes come before the main node and
// epilogues after it, each in the order of adding. `next` holds the next free place of each bundle.
static void place_members(const braid_graph *graph, struct graph_units *units, uint32_t *next)
{
    static const enum graph_role running_order[] = { GRAPH_PRELUDE, GRAPH_MAIN, GRAPH_EPILOGUE };
    const struct graph_node *nodes = graph_nodes(graph);
    uint32_t num_nodes = graph_num_nodes(graph);
    for (uint32_t u = 0; u < units->num_units; u++)
        next[u] = units->first_of[u];
    for (int role = 0; role < 3; role++) {
        for (uint32_t i = 0; i < num_nodes; i++) {
            if (nodes[i].role != running_order[role])
                continue;
            units->index_of[i] = next[units->unit_of[i]]++;
            units->members[units->index_of[i]] = i;
        }
    }
}

static void make_identity(uint32_t num_nodes, struct graph_units *units)
{
    units->num_units = num_nodes;
    for (uint32_t i = 0; i < num_nodes; i++)
        units->first_of[i] = units->members[i] = units->index_of[i] = units->unit_of[i] = i;
    units->first_of[num_nodes] = num_nodes;
}

static bool make_bundles(const braid_graph *graph, struct graph_units *units)
{
    units->num_units = number_units(graph, units);
    uint32_t *next = braid_allocate_zeroed(units->num_units, sizeof(*next));
    if (!next)
        return false;
    place_members(graph, units, next);
    braid_free(next);
    return true;
}

braid_status braid_graph_find_units(const braid_graph *graph, struct graph_units *out_units)
{
    uint32_t num_nodes = graph_num_nodes(graph);
    struct graph_units units = { 0 };
    struct store *store = &units.store;
    units.first_of = braid_store_take(store, (size_t)num_nodes + 1, sizeof(uint32_t));
    units.members = braid_store_take(store, num_nodes, sizeof(uint32_t));
    units.index_of = braid_store_take(store, num_nodes, sizeof(uint32_t));
    units.unit_of = braid_store_take(store, num_nodes, sizeof(uint32_t));
    bool done = !store->failed;
    if (done && !graph_has_units(graph))
        make_identity(num_nodes, &units);
    else if (done)
        done = make_bundles(graph, &units);
    if (!done) {
        braid_graph_units_finish(&units);
        return braid_error_no_memory("the bundles of a graph");
    }
    *out_units = units;
    return BRAID_OK;
}

// ---- links ----

#define NO_READER UINT32_MAX

struct segment_state {
    uint32_t writer;    // last node that wrote or held it exclusively, or GRAPH_NONE
    uint32_t readers;   // head of the list of readers of a part since, or NO_READER
    uint32_t whole;     // the latest reader of the whole buffer before the last write, or NO_READER
    bool was_exclusive; // how `writer` used it
    uint32_t
        accumulators; // list of the latest that accumulated with no other between, or NO_READER
    uint32_t before;  // list of the readers of a part that each of these follows; likewise
    uint32_t before_whole; // and of the whole: from this one on
    uint32_t before_end;   // up to this one, which is not among them
};

#define UNTOUCHED                                                                                  \
    (struct segment_state)                                                                         \
    {                                                                                              \
        GRAPH_NONE, NO_READER, NO_READER, false, NO_READER, NO_READER, NO_READER, NO_READER        \
    }

struct reader {
    uint32_t node;
    uint32_t next;   // an earlier one, or NO_READER
    uint32_t access; // its number in the order of the walk
};

struct walk {
    const braid_graph *graph;
    struct graph_units units;
    struct graph_segments segments;
    struct segment_state *states;
    struct array readers;  // struct reader
    uint32_t free_readers; // list of unused elements
    uint32_t *wholes;      // per buffer its latest reader of the whole, or NO_READER
    size_t *latest_link;   // per node: 1 + index of the latest link from it
    struct array *links;   // struct graph_link
    uint32_t node;         // the node walked now
    uint32_t resource;     // and the resource it touches
    uint32_t access;       // by the access with this number in the order of the walk
    uint32_t buffer;       // the buffer of that resource
    uint32_t linked_whole; // readers of the whole after this one are linked to this access
    uint32_t linked_from;  // and so are those from this one on, up to linked_end
    uint32_t linked_end;
    struct store store; // holds the arrays
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
    if (!braid_array_put(walk->links, &link, sizeof(link)))
        return false;
    walk->latest_link[from] = walk->links->num;
    return true;
}

static bool add_reader(struct walk *walk, uint32_t *head)
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
    ((struct reader *)walk->readers.items)[index] =
        (struct reader){ walk->node, *head, walk->access };
    *head = index;
    return true;
}

static bool follow_list(struct walk *walk, uint32_t head, uint32_t end, enum graph_hazard hazard)
{
    const struct reader *readers = walk->readers.items;
    bool linked = true;
    for (uint32_t i = head; linked && i != end; i = readers[i].next)
        linked = add_link(walk, readers[i].node, hazard);
    return linked;
}

static void free_list(struct walk *walk, uint32_t *head)
{
    struct reader *readers = walk->readers.items;
    while (*head != NO_READER) {
        uint32_t next = readers[*head].next;
        readers[*head].next = walk->free_readers;
        walk->free_readers = *head;
        *head = next;
    }
}

// Links from the last change of the segment: the nodes that accumulated into it, or its writer.
static bool follow_change(struct walk *walk, const struct segment_state *state,
                          enum graph_hazard hazard)
{
    if (state->accumulators != NO_READER)
        return follow_list(walk, state->accumulators, NO_READER, hazard);
    return add_link(walk, state->writer, hazard);
}

static bool follow_writer(struct walk *walk, const struct segment_state *state)
{
    return follow_change(walk, state,
                         state->was_exclusive ? GRAPH_EXCLUSIVE_USE : GRAPH_READ_AFTER_WRITE);
}

static bool was_read(const struct walk *walk, const struct segment_state *state)
{
    return state->readers != NO_READER || state->whole != walk->wholes[walk->buffer];
}

static bool read_segment(struct walk *walk, struct segment_state *state)
{
    return follow_writer(walk, state) && add_reader(walk, &state->readers);
}

// Orders the node after all readers of a segment since its last write, the latest first, and takes
// those of a part off their list. Another segment of this access may have been read as a whole by
// the same: these need not be looked at again.
static bool follow_readers(struct walk *walk, struct segment_state *state, enum graph_hazard hazard)
{
    struct reader *readers = walk->readers.items;
    uint32_t latest = walk->wholes[walk->buffer];
    uint32_t whole = state->whole == walk->linked_whole ? state->whole : latest;
    bool linked = true;
    while (linked && (state->readers != NO_READER || whole != state->whole)) {
        uint32_t part = state->readers;
        if (part == NO_READER ||
            (whole != state->whole && readers[whole].access > readers[part].access)) {
            linked = add_link(walk, readers[whole].node, hazard);
            whole = readers[whole].next;
            continue;
        }
        linked = add_link(walk, readers[part].node, hazard);
        state->readers = readers[part].next;
        readers[part].next = walk->free_readers;
        walk->free_readers = part;
    }
    walk->linked_whole = state->whole;
    state->whole = latest;
    return linked;
}

// A group of accumulating nodes begins. Each follows all readers so far, or the writer if no node
// has read since. The readers follow all earlier changes of the segment.
static void begin_accumulating(struct walk *walk, struct segment_state *state)
{
    free_list(walk, &state->accumulators);
    free_list(walk, &state->before);
    if (was_read(walk, state)) {
        state->writer = GRAPH_NONE;
        state->was_exclusive = false;
    }
    state->before = state->readers;
    state->before_whole = walk->wholes[walk->buffer];
    state->before_end = state->whole;
    state->readers = NO_READER;
    state->whole = state->before_whole;
}

static bool accumulate_segment(struct walk *walk, struct segment_state *state)
{
    if (state->accumulators == NO_READER || was_read(walk, state))
        begin_accumulating(walk, state);
    enum graph_hazard after = state->was_exclusive ? GRAPH_EXCLUSIVE_USE : GRAPH_READ_AFTER_WRITE;
    bool linked = add_link(walk, state->writer, after) &&
                  follow_list(walk, state->before, NO_READER, GRAPH_WRITE_AFTER_READ);
    // A neighbour has mostly been read as a whole by the same.
    if (linked &&
        (state->before_whole != walk->linked_from || state->before_end != walk->linked_end)) {
        linked = follow_list(walk, state->before_whole, state->before_end, GRAPH_WRITE_AFTER_READ);
        walk->linked_from = state->before_whole;
        walk->linked_end = state->before_end;
    }
    return linked && add_reader(walk, &state->accumulators);
}

// The last writer needs a link only if nobody has read since, since each reader stands behind it.
static bool overwrite_segment(struct walk *walk, struct segment_state *state, bool exclusive)
{
    enum graph_hazard after_read = exclusive ? GRAPH_EXCLUSIVE_USE : GRAPH_WRITE_AFTER_READ;
    enum graph_hazard after_write =
        exclusive || state->was_exclusive ? GRAPH_EXCLUSIVE_USE : GRAPH_WRITE_AFTER_WRITE;
    bool linked = was_read(walk, state) ? follow_readers(walk, state, after_read)
                                        : follow_change(walk, state, after_write);
    free_list(walk, &state->accumulators);
    free_list(walk, &state->before);
    state->writer = walk->node;
    state->was_exclusive = exclusive;
    return linked;
}

static bool walk_segment(struct walk *walk, struct segment_state *state, uint32_t mode)
{
    switch ((enum braid_access_mode)mode) {
    case BRAID_READ:
        return read_segment(walk, state);
    case BRAID_WRITE:
        return overwrite_segment(walk, state, false);
    case BRAID_READ_WRITE:
        return read_segment(walk, state) && overwrite_segment(walk, state, false);
    case BRAID_ACCUMULATE:
        return accumulate_segment(walk, state);
    case BRAID_EXCLUSIVE:
        break;
    }
    return overwrite_segment(walk, state, true);
}

static bool is_whole(const struct walk *walk, uint32_t resource)
{
    const struct graph_segments *segments = &walk->segments;
    return segments->first[resource] == segments->first[walk->buffer] &&
           segments->end[resource] == segments->end[walk->buffer];
}

static bool walk_access(struct walk *walk, const struct graph_access *access)
{
    walk->resource = access->resource;
    walk->buffer = graph_resource_at(walk->graph, access->resource)->buffer;
    walk->access++;
    walk->linked_whole = walk->wholes[walk->buffer];
    walk->linked_from = walk->linked_end = NO_READER;
    bool reads_whole = access->mode == BRAID_READ && is_whole(walk, access->resource);
    uint32_t end = walk->segments.end[access->resource];
    for (uint32_t s = walk->segments.first[access->resource]; s < end; s++) {
        struct segment_state *state = &walk->states[s];
        if (!(reads_whole ? follow_writer(walk, state) : walk_segment(walk, state, access->mode)))
            return false;
    }
    return !reads_whole || add_reader(walk, &walk->wholes[walk->buffer]);
}

static bool walk_node(struct walk *walk, uint32_t node)
{
    const struct graph_node *graph_node = &graph_nodes(walk->graph)[node];
    walk->node = node;
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        if (!walk_access(walk, graph_access_of(walk->graph, graph_node, i)))
            return false;
    }
    return true;
}

static bool start_walk(struct walk *walk)
{
    uint32_t num_segments = walk->segments.num_segments;
    walk->states = braid_store_take(&walk->store, num_segments, sizeof(*walk->states));
    walk->latest_link =
        braid_store_take(&walk->store, graph_num_nodes(walk->graph), sizeof(*walk->latest_link));
    size_t num_resources = walk->graph->resources.num;
    walk->wholes = braid_store_take(&walk->store, num_resources, sizeof(*walk->wholes));
    if (walk->store.failed)
        return false;
    for (size_t i = 0; i < num_resources; i++)
        walk->wholes[i] = NO_READER;
    walk->free_readers = NO_READER;
    for (uint32_t s = 0; s < num_segments; s++)
        walk->states[s] = UNTOUCHED;
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
    braid_store_finish(&walk->store);
}

braid_status braid_graph_find_links(const braid_graph *graph, struct array *out_links)
{
    if (graph->accesses.num == 0 || graph->imported_places)
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
