// SPDX-License-Identifier: Apache-2.0
// Graphs of device work: nodes, edges, and clones of both.
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "handles.h"

static uint64_t last_family;

CUgraph graph_create(bool public)
{
    CUgraph graph = handles_allocate(sizeof(*graph));
    if (graph == NULL)
        return NULL;
    graph->references = 1;
    graph->family = ++last_family;
    graph->public = public;
    if (public && !handles_add(HANDLE_GRAPH, graph)) {
        free(graph);
        return NULL;
    }
    return graph;
}

static void free_node(CUgraphNode node)
{
    handles_remove(node);
    work_finish(&node->work);
    free(node->before);
    handles_free(node, sizeof(*node));
}

CUgraph graph_hold(CUgraph graph)
{
    graph->references++;
    return graph;
}

void graph_drop(CUgraph graph)
{
    if (graph == NULL || --graph->references > 0)
        return;
    handles_remove(graph);
    for (size_t i = 0; i < graph->num_nodes; i++)
        free_node(graph->nodes[i]);
    conditions_drop_of(graph);
    free(graph->nodes);
    handles_free(graph, sizeof(*graph));
}

static bool make_room(CUgraph graph)
{
    if (graph->num_nodes < graph->capacity)
        return true;
    size_t capacity = graph->capacity == 0 ? 8 : graph->capacity * 2;
    CUgraphNode *nodes = realloc(graph->nodes, capacity * sizeof(*nodes));
    if (nodes == NULL)
        return false;
    graph->nodes = nodes;
    graph->capacity = capacity;
    return true;
}

// A node without edges, at the end. Takes the work over on success only.
static CUgraphNode append(CUgraph graph, const struct work *work, uint64_t id)
{
    CUgraphNode node = make_room(graph) ? handles_allocate(sizeof(*node)) : NULL;
    if (node == NULL || (graph->public && !handles_add(HANDLE_NODE, node))) {
        free(node);
        return NULL;
    }
    node->graph = graph;
    node->index = graph->num_nodes;
    node->id = id;
    node->work = *work;
    node->enabled = true;
    graph->nodes[graph->num_nodes++] = node;
    return node;
}

static bool has_edge(CUgraphNode from, CUgraphNode to)
{
    for (size_t i = 0; i < to->num_before; i++)
        if (to->before[i].from == from)
            return true;
    return false;
}

CUresult graph_add_edge(CUgraphNode from, CUgraphNode to, CUgraphEdgeData data)
{
    if (from == to || from->graph != to->graph || has_edge(from, to))
        return CUDA_ERROR_INVALID_VALUE;
    struct edge *before = realloc(to->before, (to->num_before + 1) * sizeof(*before));
    if (before == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    to->before = before;
    before[to->num_before++] = (struct edge){ from, data };
    return CUDA_SUCCESS;
}

CUresult graph_remove_edge(CUgraphNode from, CUgraphNode to)
{
    for (size_t i = 0; i < to->num_before; i++)
        if (to->before[i].from == from) {
            to->before[i] = to->before[--to->num_before];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

void graph_remove(CUgraphNode node)
{
    CUgraph graph = node->graph;
    for (size_t i = 0; i < graph->num_nodes; i++)
        graph_remove_edge(node, graph->nodes[i]);
    graph->num_nodes--;
    for (size_t i = node->index; i < graph->num_nodes; i++) {
        graph->nodes[i] = graph->nodes[i + 1];
        graph->nodes[i]->index = i;
    }
    free_node(node);
}

CUresult graph_add(CUgraph graph, struct work *work, const CUgraphNode *after,
                   const CUgraphEdgeData *edges, size_t num_after, CUgraphNode *out_node)
{
    CUresult result = work_check(work);
    for (size_t i = 0; i < num_after && result == CUDA_SUCCESS; i++)
        if (!handles_known(HANDLE_NODE, after[i]) || after[i]->graph != graph)
            result = CUDA_ERROR_INVALID_VALUE;
    CUgraphNode node = result == CUDA_SUCCESS ? append(graph, work, graph->next_id) : NULL;
    if (node == NULL) {
        work_finish(work);
        return result == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : result;
    }
    graph->next_id++;
    for (size_t i = 0; i < num_after && result == CUDA_SUCCESS; i++) {
        CUgraphEdgeData plain = { 0 };
        result = graph_add_edge(after[i], node, edges == NULL ? plain : edges[i]);
    }
    if (result != CUDA_SUCCESS) {
        graph_remove(node);
        return result;
    }
    *out_node = node;
    return CUDA_SUCCESS;
}

static bool clone_edges(CUgraph clone, CUgraph graph)
{
    for (size_t i = 0; i < graph->num_nodes; i++) {
        CUgraphNode from = graph->nodes[i], to = clone->nodes[i];
        if (from->num_before == 0)
            continue;
        to->before = calloc(from->num_before, sizeof(*to->before));
        if (to->before == NULL)
            return false;
        to->num_before = from->num_before;
        for (size_t j = 0; j < from->num_before; j++)
            to->before[j] =
                (struct edge){ clone->nodes[from->before[j].from->index], from->before[j].data };
    }
    return true;
}

static bool clone_nodes(CUgraph clone, CUgraph graph)
{
    for (size_t i = 0; i < graph->num_nodes; i++) {
        struct work work;
        if (!work_clone(&graph->nodes[i]->work, clone->public, &work))
            return false;
        CUgraphNode node = append(clone, &work, graph->nodes[i]->id);
        if (node == NULL) {
            work_finish(&work);
            return false;
        }
        node->enabled = graph->nodes[i]->enabled;
    }
    return true;
}

CUgraph graph_clone(CUgraph graph, bool public)
{
    CUgraph clone = graph_create(public);
    if (clone == NULL)
        return NULL;
    if (!public)
        clone->family = graph->family;
    clone->next_id = graph->next_id;
    if (!clone_nodes(clone, graph) || !clone_edges(clone, graph)) {
        graph_drop(clone);
        return NULL;
    }
    return clone;
}

static CUgraphNode find_within(CUgraph clone, CUgraphNode node)
{
    CUgraphNode found = NULL;
    for (size_t i = 0; i < clone->num_nodes && found == NULL; i++) {
        const struct work *work = &clone->nodes[i]->work;
        if (work->kind == WORK_CHILD)
            found = graph_find(work->child, node);
        for (unsigned k = 0; k < work_num_bodies(work) && found == NULL; k++)
            found = graph_find(work->conditional.bodies[k], node);
    }
    return found;
}

CUgraphNode graph_find(CUgraph clone, CUgraphNode node)
{
    if (node->graph->family != clone->family)
        return find_within(clone, node);
    size_t low = 0, high = clone->num_nodes; // ids grow with the index
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clone->nodes[middle]->id < node->id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < clone->num_nodes && clone->nodes[low]->id == node->id ? clone->nodes[low] : NULL;
}

bool graph_has_conditions(CUgraph graph)
{
    bool has = false;
    for (size_t i = 0; i < graph->num_nodes; i++)
        has |= graph->nodes[i]->work.kind == WORK_CONDITIONAL;
    return has;
}

bool graph_has_memory(CUgraph graph)
{
    bool has = false;
    for (size_t i = 0; i < graph->num_nodes; i++)
        has |= work_is_of_memory(&graph->nodes[i]->work);
    return has;
}

// Marks nodes whose predecessors are all marked, until nothing changes.
bool graph_has_cycle(CUgraph graph, bool *out_no_memory)
{
    bool *done = calloc(graph->num_nodes + 1, sizeof(*done));
    *out_no_memory = done == NULL;
    if (done == NULL)
        return true;
    size_t num_done = 0, before;
    do {
        before = num_done;
        for (size_t i = 0; i < graph->num_nodes; i++) {
            bool ready = !done[i];
            for (size_t j = 0; ready && j < graph->nodes[i]->num_before; j++)
                ready = done[graph->nodes[i]->before[j].from->index];
            done[i] |= ready;
            num_done += ready;
        }
    } while (num_done != before);
    free(done);
    return num_done != graph->num_nodes;
}

CUgraphNodeType graph_node_type(const struct work *work)
{
    switch (work->kind) {
    case WORK_KERNEL:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case WORK_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case WORK_FILL:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    case WORK_HOST:
        return CU_GRAPH_NODE_TYPE_HOST;
    case WORK_CHILD:
        return CU_GRAPH_NODE_TYPE_GRAPH;
    case WORK_CONDITIONAL:
        return CU_GRAPH_NODE_TYPE_CONDITIONAL;
    case WORK_EVENT_WAIT:
        return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case WORK_EVENT_RECORD:
        return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case WORK_WRITE_VALUE:
    case WORK_WAIT_VALUE:
        return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case WORK_SEMAPHORE:
        return work->semaphore.signals ? CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
                                       : CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    case WORK_RESERVED_ARRIVE:
        return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    case WORK_RESERVED_BURY:
        return CU_GRAPH_NODE_TYPE_MEM_FREE;
    default:
        return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

bool edge_is_plain(CUgraphEdgeData edge)
{
    return edge.from_port == 0 && edge.type == 0;
}

static bool make_room_in_list(struct node_list *list)
{
    if (list->count < list->capacity)
        return true;
    size_t capacity = list->capacity == 0 ? 4 : list->capacity * 2;
    CUgraphNode *nodes = realloc(list->nodes, capacity * sizeof(*nodes));
    if (nodes == NULL)
        return false;
    list->nodes = nodes;
    CUgraphEdgeData *edges = realloc(list->edges, capacity * sizeof(*edges));
    if (edges == NULL)
        return false;
    list->edges = edges;
    list->capacity = capacity;
    return true;
}

bool node_list_add(struct node_list *list, CUgraphNode node, CUgraphEdgeData edge)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->nodes[i] == node) {
            list->edges[i] = edge_is_plain(edge) ? edge : list->edges[i];
            return true;
        }
    if (!make_room_in_list(list))
        return false;
    list->nodes[list->count] = node;
    list->edges[list->count++] = edge;
    return true;
}

bool node_list_copy(struct node_list *to, const struct node_list *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++)
        if (!node_list_add(to, from->nodes[i], from->edges[i]))
            return false;
    return true;
}

void node_list_finish(struct node_list *list)
{
    free(list->nodes);
    free(list->edges);
    *list = (struct node_list){ 0 };
}
