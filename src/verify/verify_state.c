// SPDX-License-Identifier: Apache-2.0
// The explicit edges that a proof looks at, and the messages of its findings.
#include "verify/verify_state.h"

#include "base/big_memory.h"
#include "base/error.h"

static bool sort_edges(struct verify *verify, const struct graph_edge *edges, size_t num_edges)
{
    size_t num_nodes = verify->num_nodes;
    verify->pred_first = plan_allocate_zeroed(num_nodes + 1, sizeof(uint32_t));
    verify->preds = plan_allocate(num_edges, sizeof(uint32_t));
    if (!verify->pred_first || !verify->preds)
        return false;
    for (size_t i = 0; i < num_edges; i++)
        verify->pred_first[(size_t)edges[i].to + 2]++;
    for (size_t i = 1; i < num_nodes + 2; i++)
        verify->pred_first[i] += verify->pred_first[i - 1];
    for (size_t i = 0; i < num_edges; i++)
        verify->preds[verify->pred_first[(size_t)edges[i].to + 1]++] = edges[i].from;
    return true;
}

// With regions, edges across the border of one are those of its node.
bool braid_verify_find_edges(struct verify *verify)
{
    const braid_graph *graph = verify->graph;
    size_t num = graph->edges.num, num_lifted = 0;
    if (!graph->regions.num)
        return sort_edges(verify, graph_edges(graph), num);
    struct graph_edge *lifted = malloc((num + 1) * sizeof(*lifted));
    for (size_t i = 0; lifted && i < num; i++) {
        uint32_t from = braid_graph_lift(graph, graph_edges(graph)[i].from, verify->region);
        uint32_t to = braid_graph_lift(graph, graph_edges(graph)[i].to, verify->region);
        if (from != GRAPH_NONE && to != GRAPH_NONE && from != to)
            lifted[num_lifted++] = (struct graph_edge){ from, to };
    }
    bool done = lifted && sort_edges(verify, lifted, num_lifted);
    free(lifted);
    return done;
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
