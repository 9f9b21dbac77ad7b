// SPDX-License-Identifier: Apache-2.0
// Edges that follow from declared accesses, and the order of nodes inside bundles.
#ifndef BRAID_GRAPH_LINKS_H
#define BRAID_GRAPH_LINKS_H

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
// insertion order, without duplicates. Accesses count in insertion order of the main nodes, within
// a bundle in running order.
// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_links(const braid_graph *graph, struct array *out_links);

// The nodes in insertion order of bundles, running order inside: for each main node its preludes,
// itself, its epilogues. first_of[i] .. first_of[i + 1] are the members of bundle i in `members`;
// unit_of maps a node to its bundle. Without bundles both are the identity.
struct graph_units {
    uint32_t num_units;
    uint32_t *first_of; // num_units + 1
    uint32_t *members;  // num_nodes
    uint32_t *unit_of;  // num_nodes
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_graph_find_units(const braid_graph *graph, struct graph_units *out_units);
void braid_graph_units_finish(struct graph_units *units);

#endif
