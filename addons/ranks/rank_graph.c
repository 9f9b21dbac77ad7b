// SPDX-License-Identifier: Apache-2.0
// The functions that libbraid calls for graphs with communicators, and their data of ranks.
#include "ranks/rank_graph.h"

#include <string.h>

#include "base/error.h"
#include "ranks/rank_exec.h"
#include "ranks/ranks.h"

static void release_communicators(braid_graph *graph)
{
    for (size_t i = 0; i < graph->resources.num; i++) {
        if (graph_resource_at(graph, i)->communicator)
            braid_communicator_release(graph_resource_at(graph, i)->communicator);
    }
}

static void finish(braid_graph *graph)
{
    struct rank_graph *own = rank_graph_of(graph);
    release_communicators(graph);
    braid_array_finish(&own->communications);
    braid_array_finish(&own->owners);
    braid_array_finish(&own->copies);
    braid_pointer_map_finish(&own->owned);
    free(own);
}

// A clone is a user like the graph itself. Nothing is added to it by the program, so it needs no
// owners.
static bool clone_for(const braid_graph *graph, braid_graph *made)
{
    const struct array *from = &rank_graph_of(graph)->communications;
    struct rank_graph *own = calloc(1, sizeof(*own));
    void *items = NULL;
    if (own && from->num)
        items =
            braid_array_append(&own->communications, from->num, sizeof(struct rank_description));
    if (!own || (from->num && !items)) {
        free(own);
        return false;
    }
    if (items)
        memcpy(items, from->items, from->num * sizeof(struct rank_description));
    own->base = *graph->ranks;
    made->ranks = &own->base;
    for (size_t i = 0; i < made->resources.num; i++) {
        if (graph_resource_at(made, i)->communicator)
            braid_communicator_retain(graph_resource_at(made, i)->communicator);
    }
    return true;
}

static const struct graph_ranks_ops ops = {
    .begin_task = braid_graph_begin_task,
    .end_task = braid_graph_end_task,
    .clone = clone_for,
    .finish = finish,
    .make_exec = braid_rank_make_exec,
    .make_operations = braid_rank_make_operations,
};

braid_status braid_rank_graph_begin(braid_graph *graph, uint32_t rank)
{
    if (graph->ranks)
        return BRAID_OK;
    struct rank_graph *own = calloc(1, sizeof(*own));
    if (!own)
        return braid_error_no_memory("the communicators of a graph");
    own->base = (struct graph_ranks){ .ops = &ops, .rank = rank };
    graph->ranks = &own->base;
    return BRAID_OK;
}
