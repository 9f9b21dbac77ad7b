// SPDX-License-Identifier: Apache-2.0
// Entry points that add, remove and list the edges and nodes of a graph.
#include "entry.h"
#include "graph.h"
#include "handles.h"

static bool usable(CUgraph graph, CUgraphNode node)
{
    return handles_known(HANDLE_NODE, node) && node->graph == graph;
}

bool edge_valid(CUgraphEdgeData edge, CUgraphNode from, CUgraphNode to)
{
    bool from_kernel = from->work.kind == WORK_KERNEL;
    bool kernels = from_kernel && (to == NULL || to->work.kind == WORK_KERNEL);
    if (edge.to_port != 0)
        return false;
    if (edge.type == EDGE_PROGRAMMATIC)
        return kernels && (edge.from_port == PORT_TRIGGERED || edge.from_port == PORT_BEGUN);
    return edge.type == 0 && (edge.from_port == 0 || (edge.from_port == PORT_BEGUN && from_kernel));
}

static CUresult change_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *edges, size_t count, bool add)
{
    if (!handles_known(HANDLE_GRAPH, graph) || (count > 0 && (from == NULL || to == NULL)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!add && graph_has_memory(graph))
        return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++)
        if (!usable(graph, from[i]) || !usable(graph, to[i]) ||
            (edges != NULL && !edge_valid(edges[i], from[i], to[i])))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        const CUgraphEdgeData plain = { 0 };
        CUresult result = add ? graph_add_edge(from[i], to[i], edges == NULL ? plain : edges[i])
                              : graph_remove_edge(from[i], to[i]);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

static CUresult change(const char *function, CUgraph graph, const CUgraphNode *from,
                       const CUgraphNode *to, const CUgraphEdgeData *edges, size_t count, bool add)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = change_edges(graph, from, to, edges, count, add);
    world_unlock();
    return result;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t count)
{
    return change(__func__, graph, from, to, NULL, count, true);
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count)
{
    return change(__func__, graph, from, to, edges, count, true);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count)
{
    return change(__func__, graph, from, to, NULL, count, false);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edges, size_t count)
{
    return change(__func__, graph, from, to, edges, count, false);
}

// What all lists below share: with NULL arrays only the count is given; else up to *count entries
// are written, the rest of the arrays is cleared, and *count says how many there are.
struct list {
    CUgraphNode *from, *to;
    CUgraphEdgeData *edges;
    size_t room, count;
    bool lossy; // an edge has data and the caller gave no array for it
};

static void list_put(struct list *list, CUgraphNode from, CUgraphNode to, CUgraphEdgeData data)
{
    size_t at = list->count++;
    if (list->from == NULL || at >= list->room)
        return;
    list->from[at] = from;
    if (list->to != NULL)
        list->to[at] = to;
    if (list->edges != NULL)
        list->edges[at] = data;
    else if (!edge_is_plain(data))
        list->lossy = true;
}

static CUresult list_end(struct list *list, size_t *count)
{
    for (size_t i = list->count; list->from != NULL && i < list->room; i++) {
        list->from[i] = NULL;
        if (list->to != NULL)
            list->to[i] = NULL;
    }
    *count = list->from != NULL && list->count > list->room ? list->room : list->count;
    return list->lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

static CUresult get_nodes(const char *function, CUgraph graph, CUgraphNode *nodes,
                          size_t *num_nodes, bool roots_only)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (num_nodes == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const CUgraphEdgeData plain = { 0 };
    struct list list = { .from = nodes, .room = *num_nodes };
    world_lock();
    bool known = handles_known(HANDLE_GRAPH, graph);
    for (size_t i = 0; known && i < graph->num_nodes; i++)
        if (!roots_only || graph->nodes[i]->num_before == 0)
            list_put(&list, graph->nodes[i], NULL, plain);
    world_unlock();
    return known ? list_end(&list, num_nodes) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *num_nodes)
{
    return get_nodes(__func__, graph, nodes, num_nodes, false);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *num_nodes)
{
    return get_nodes(__func__, graph, nodes, num_nodes, true);
}

static void list_edges_into(struct list *list, CUgraphNode node)
{
    for (size_t i = 0; i < node->num_before; i++)
        list_put(list, node->before[i].from, node, node->before[i].data);
}

static CUresult get_edges(const char *function, CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                          CUgraphEdgeData *edges, size_t *num_edges)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (num_edges == NULL || (from == NULL) != (to == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct list list = { .from = from, .to = to, .edges = edges, .room = *num_edges };
    world_lock();
    bool known = handles_known(HANDLE_GRAPH, graph);
    for (size_t i = 0; known && i < graph->num_nodes; i++)
        list_edges_into(&list, graph->nodes[i]);
    world_unlock();
    return known ? list_end(&list, num_edges) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *num_edges)
{
    return get_edges(__func__, graph, from, to, NULL, num_edges);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *num_edges)
{
    return get_edges(__func__, graph, from, to, edges, num_edges);
}

static CUresult get_before(const char *function, CUgraphNode node, CUgraphNode *before,
                           CUgraphEdgeData *edges, size_t *num_before)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (num_before == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct list list = { .from = before, .edges = edges, .room = *num_before };
    world_lock();
    bool known = handles_known(HANDLE_NODE, node);
    if (known)
        list_edges_into(&list, node);
    world_unlock();
    return known ? list_end(&list, num_before) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *before, size_t *num_before)
{
    return get_before(__func__, node, before, NULL, num_before);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *before,
                                       CUgraphEdgeData *edges, size_t *num_before)
{
    return get_before(__func__, node, before, edges, num_before);
}

static CUresult get_after(const char *function, CUgraphNode node, CUgraphNode *after,
                          CUgraphEdgeData *edges, size_t *num_after)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (num_after == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct list list = { .from = after, .edges = edges, .room = *num_after };
    world_lock();
    bool known = handles_known(HANDLE_NODE, node);
    for (size_t i = 0; known && i < node->graph->num_nodes; i++) {
        CUgraphNode other = node->graph->nodes[i];
        for (size_t j = 0; j < other->num_before; j++)
            if (other->before[j].from == node)
                list_put(&list, other, NULL, other->before[j].data);
    }
    world_unlock();
    return known ? list_end(&list, num_after) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *after, size_t *num_after)
{
    return get_after(__func__, node, after, NULL, num_after);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *after,
                                         CUgraphEdgeData *edges, size_t *num_after)
{
    return get_after(__func__, node, after, edges, num_after);
}
