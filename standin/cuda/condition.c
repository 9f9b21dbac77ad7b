// SPDX-License-Identifier: Apache-2.0
// Conditions in graphs, and the entry points that make them, and loops and branches.
#include "condition.h"

#include <limits.h>
#include <stdlib.h>

#include "context.h"
#include "entry.h"
#include "graph.h"
#include "graph_node.h"
#include "handles.h"
#include "report.h"

// Guarded by the world's lock. Clones of a node share the condition.
struct condition {
    struct condition *next;          // among all
    struct condition *next_in_graph; // among those that the same graph holds
    uint64_t handle;                 // never used again
    CUgraph graph;                   // that it was made for, while that lives
    int references;                  // the graph's, and one of each node
    unsigned first_value;
    bool has_first_value, is_set, is_used;
    unsigned value;
};

static struct condition *conditions;
static uint64_t last_handle;

struct condition *condition_hold(struct condition *condition)
{
    condition->references++;
    return condition;
}

void condition_drop(struct condition *condition)
{
    struct condition **link = &conditions;
    if (--condition->references > 0)
        return;
    while (*link != condition)
        link = &(*link)->next;
    *link = condition->next;
    free(condition);
}

void conditions_drop_of(CUgraph graph)
{
    while (graph->conditions != NULL) {
        struct condition *condition = graph->conditions;
        graph->conditions = condition->next_in_graph;
        condition->graph = NULL;
        condition_drop(condition);
    }
}

static struct condition *find(uint64_t handle)
{
    struct condition *condition = conditions;
    while (condition != NULL && condition->handle != handle)
        condition = condition->next;
    return condition;
}

void conditions_begin(CUgraph plan)
{
    for (size_t i = 0; i < plan->num_nodes; i++) {
        const struct work *work = &plan->nodes[i]->work;
        if (work->kind != WORK_CONDITIONAL)
            continue;
        struct condition *condition = work->conditional.condition;
        condition->is_set = condition->has_first_value;
        condition->value = condition->first_value;
        for (unsigned k = 0; k < work_num_bodies(work); k++)
            conditions_begin(work->conditional.bodies[k]);
    }
}

unsigned condition_body(const struct condition *condition, CUcontext context)
{
    if (!condition->is_set) {
        complain("a loop or branch begins with a condition that nobody has set");
        context_poison(context, CUDA_ERROR_LAUNCH_FAILED);
    }
    return context->fault != CUDA_SUCCESS ? UINT_MAX : condition->value == 0;
}

uint64_t condition_handle(const struct condition *condition)
{
    return condition->handle;
}

bool condition_set(uint64_t handle, unsigned value)
{
    world_lock();
    struct condition *condition = find(handle);
    if (condition != NULL) {
        condition->is_set = true;
        condition->value = value;
    }
    world_unlock();
    return condition != NULL;
}

static struct condition *make(CUgraph graph, unsigned first_value, bool has_first_value)
{
    struct condition *condition = calloc(1, sizeof(*condition));
    if (condition == NULL)
        return NULL;
    *condition = (struct condition){ .next = conditions,
                                     .next_in_graph = graph->conditions,
                                     .handle = ++last_handle,
                                     .graph = graph,
                                     .references = 1,
                                     .first_value = first_value,
                                     .has_first_value = has_first_value };
    conditions = condition;
    graph->conditions = condition;
    return condition;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out_handle, CUgraph graph,
                                        CUcontext context, unsigned first_value, unsigned flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_handle == NULL || flags > CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = context_check(context);
    if (result == CUDA_SUCCESS && !handles_known(HANDLE_GRAPH, graph))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        const struct condition *condition =
            make(graph, first_value, flags == CU_GRAPH_COND_ASSIGN_DEFAULT);
        if (condition != NULL)
            *out_handle = condition->handle;
        else
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    world_unlock();
    return result;
}

static bool is_kind(const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    unsigned most = params->type == CU_GRAPH_COND_TYPE_WHILE ? 1
                    : params->type == CU_GRAPH_COND_TYPE_IF  ? 2
                                                             : 0;
    return params->size > 0 && params->size <= most;
}

static CUresult make_bodies(struct work *work)
{
    for (unsigned i = 0; i < work->conditional.num_bodies; i++) {
        CUgraph body = graph_create(true);
        if (body == NULL) {
            while (i-- > 0)
                graph_drop(work->conditional.bodies[i]);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        body->is_body = true;
        work->conditional.bodies[i] = body;
    }
    return CUDA_SUCCESS;
}

// Expects the world's lock.
static CUresult add_conditional(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                                const CUgraphEdgeData *edges, size_t num_after,
                                CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    struct condition *condition = find(params->handle);
    struct work work = { .kind = WORK_CONDITIONAL };
    if (!handles_known(HANDLE_GRAPH, graph) || condition == NULL || condition->graph == NULL ||
        condition->is_used || !is_kind(params))
        return CUDA_ERROR_INVALID_VALUE;
    work.conditional.is_loop = params->type == CU_GRAPH_COND_TYPE_WHILE;
    work.conditional.num_bodies = params->size;
    CUresult result = node_set_context(&work, params->ctx);
    if (result == CUDA_SUCCESS)
        result = make_bodies(&work);
    if (result != CUDA_SUCCESS)
        return result;
    work.conditional.condition = condition_hold(condition);
    result = graph_add(graph, &work, after, edges, num_after, out_node);
    if (result != CUDA_SUCCESS)
        return result;
    condition->is_used = true;
    params->phGraph_out = (*out_node)->work.conditional.bodies;
    return CUDA_SUCCESS;
}

// This call adds only loops and branches.
CUresult cuGraphAddNode_v2(CUgraphNode *out_node, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t num_after,
                           CUgraphNodeParams *params)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_node == NULL || params == NULL || (after == NULL && num_after > 0))
        return CUDA_ERROR_INVALID_VALUE;
    if (params->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return CUDA_ERROR_NOT_SUPPORTED;
    world_lock();
    result = add_conditional(out_node, graph, after, edges, num_after, &params->conditional);
    world_unlock();
    return result;
}
