// SPDX-License-Identifier: Apache-2.0
// Edges that follow from declared accesses, and the order of nodes inside bundles.
#ifndef BRAID_GRAPH_LINKS_H
#define BRAID_GRAPH_LINKS_H

#include "base/store.h"
#include "graph/graph.h"

// Why an access edge exists.
enum graph_hazard {
    GRAPH_READ_AFTER_WRITE, // data flows
    GRAPH_WRITE_AFTER_READ,
    GRAPH_WRITE_AFTER_WRITE,
    GRAPH_EXCLUSIVE_USE,
};

// One access edge between nodes of different bundles. Of several reasons for one pair the first
// data flow is kept, else the first reason.
struct graph_link {
    uint32_t from, to;
    uint32_t resource; // as declared by the later node
    uint32_t hazard;   // enum graph_hazard
};

// Appends the access edges of the whole graph to out_links (struct graph_link), ordered by `to` in
// insertion order, without duplicates. A graph with edges only has none. Accesses count in
// insertion order of the main nodes, within a bundle in running order. Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_links(const braid_graph *graph, struct array *out_links);

// The nodes in insertion order of bundles, running order inside: for each main node its preludes,
// itself, its epilogues. first_of[i] .. first_of[i + 1] are the members of bundle i in `members`;
// unit_of maps a node to its bundle. Without bundles both are the identity.
struct graph_units {
    uint32_t num_units;
    uint32_t *first_of; // num_units + 1
    uint32_t *members;  // num_nodes
    uint32_t *index_of; // num_nodes: where a node stands in members
    uint32_t *unit_of;  // num_nodes
    struct store store; // holds the arrays
};

// The node that runs right before a node in its bundle, and the one right after; GRAPH_NONE at the
// ends.
static inline uint32_t graph_member_before(const struct graph_units *units, uint32_t node)
{
    uint32_t index = units->index_of[node];
    return index == units->first_of[units->unit_of[node]] ? GRAPH_NONE : units->members[index - 1];
}

static inline uint32_t graph_member_after(const struct graph_units *units, uint32_t node)
{
    uint32_t index = units->index_of[node] + 1;
    return index == units->first_of[units->unit_of[node] + 1] ? GRAPH_NONE : units->members[index];
}

// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_units(const braid_graph *graph, struct graph_units *out_units);
void braid_graph_units_finish(struct graph_units *units);

struct frame_link {
    uint32_t from;          // in an earlier frame
    uint32_t to;            // in this frame; may be the same node
    uint32_t frames_before; // how much earlier; 1: of the frame before
};

// Finds pairs that order any two accesses in conflict: the access of the earlier frame comes first,
// however far apart the frames are. The pairs rely on the order inside each frame. Transient
// buffers are each frame's own. *out_undeclared is the first node with work that declares no
// access, or GRAPH_NONE: for such a node no pairs are enough. The time is proportional to the
// accesses times the segments that each covers, and to the pairs. Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_frame_links(const braid_graph *graph, struct array *out_links,
                                          uint32_t *out_undeclared);

#endif
