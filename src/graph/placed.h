// SPDX-License-Identifier: Apache-2.0
// A graph whose nodes have places: the program's own nodes, and the copies between places that they
// need. It is planned, verified and played like any other graph.
#ifndef BRAID_GRAPH_PLACED_H
#define BRAID_GRAPH_PLACED_H

#include <stdatomic.h>

#include <braid/schedule.h>

#include "graph/graph.h"

// A place model with nothing left out.
struct place_model {
    uint32_t num_places;
    uint32_t num_nodes;      // the program's: those behind them are copies
    uint32_t *speeds;        // by index of the place, as the links
    braid_place_link *links; // from * num_places + to
};

// `graph` has the id and version of the program's graph, so handles are good for both. The
// program's nodes and resources keep their numbers in it. Copies stand behind the nodes. Replicas
// stand behind the resources: each is a transient buffer whose home is its place. Accesses count in
// the order of graph->sequence, in which every edge goes forward. All nodes have a place.
// Thread-safety: read only once made; the count of users is atomic.
struct placed {
    atomic_uint num_users;
    braid_graph *graph;
    struct place_model model;
    braid_planned_copy
        *copies; // in the order of their nodes, which read one resource and write one
    uint32_t num_copies;
    uint64_t copy_bytes;
    uint64_t one_place_ns; // the makespan on the best place alone; 0: there is no such plan
};

static inline uint32_t placed_place(const braid_graph *graph, uint32_t node)
{
    return graph->places
               ? graph_place_index(graph_nodes(graph)[graph_nodes(graph)[node].main].place)
               : 0;
}

static inline const braid_place_link *placed_link(const struct place_model *model, uint32_t from,
                                                  uint32_t to)
{
    return &model->links[(size_t)from * model->num_places + to];
}

// The time of a copy of so many bytes from one place to another; at least 1 ns.
uint64_t braid_place_copy_ns(const struct place_model *model, uint32_t from, uint32_t to,
                             uint64_t bytes);
// The time on a place of a node with a known cost.
uint64_t braid_place_cost_ns(const struct place_model *model, uint32_t place, uint64_t cost_ns);

// Errors: BRAID_INVALID_ARGUMENT (too many places, a speed of 0), BRAID_NO_MEMORY.
braid_status braid_place_model_copy(const braid_place_model *model, struct place_model *out_model);
void braid_place_model_finish(struct place_model *model);

// One more user; the last one to release it frees it. Takes NULL.
struct placed *braid_placed_share(struct placed *placed);
void braid_placed_release(struct placed *placed);

// clone.c: the same graph again, with its id and version. Errors: BRAID_NO_MEMORY.
braid_status braid_graph_clone(const braid_graph *graph, braid_graph **out_clone);

#endif
