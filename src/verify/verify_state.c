// SPDX-License-Identifier: Apache-2.0
// The regions and explicit edges that the proofs of a graph share, and the messages of findings.
#include "verify/verify_state.h"

#include "base/big_memory.h"
#include "base/error.h"

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
    struct graph_edge *lifted = malloc((num + 1) * sizeof(*lifted));
    for (size_t i = 0; lifted && i < num; i++) {
        uint32_t from = graph_edges(graph)[i].from, to = graph_edges(graph)[i].to;
        braid_graph_meet(graph, &from, &to);
        if (from != to)
            lifted[num_lifted++] = (struct graph_edge){ from, to };
    }
    bool done = lifted && sort_edges(whole, lifted, num_lifted);
    free(lifted);
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

braid_status braid_verify_whole_create(const braid_graph *graph, struct verify_whole **out_whole)
{
    struct verify_whole *whole = calloc(1, sizeof(*whole));
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
        status = braid_verify_accesses_create(graph, &whole->accesses);
    if (status)
        braid_verify_whole_destroy(whole);
    else
        *out_whole = whole;
    return status;
}

void braid_verify_whole_destroy(struct verify_whole *whole)
{
    if (!whole)
        return;
    free(whole->region_of);
    free(whole->spots);
    free(whole->pred_first);
    free(whole->preds);
    braid_graph_units_finish(&whole->units);
    braid_verify_accesses_destroy(whole->accesses);
    free(whole);
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
