// SPDX-License-Identifier: Apache-2.0
// Entry points that instantiate, upload, launch and destroy executable graphs.
#include "graph_exec.h"

#include <stdlib.h>

#include "capture.h"
#include "context.h"
#include "entry.h"
#include "event.h"
#include "graph_memory.h"
#include "handles.h"
#include "launch.h"
#include "module.h"
#include "report.h"
#include "stream.h"

// An upload needs a stream, which only cuGraphInstantiateWithParams takes.
static const unsigned long long plain_flags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

// Guarded by the world's lock.
static uint64_t num_launches;
static CUgraphExec with_memory; // a graph with nodes of memory has one at a time

static bool has_exec(CUgraph graph)
{
    CUgraphExec exec = with_memory;
    while (exec != NULL && exec->plan->family != graph->family)
        exec = exec->next;
    return exec != NULL;
}

static void unlist(CUgraphExec exec)
{
    CUgraphExec *link = &with_memory;
    while (*link != NULL && *link != exec)
        link = &(*link)->next;
    if (*link == exec)
        *link = exec->next;
}

void graph_exec_set_context(CUgraph graph, CUcontext context)
{
    for (size_t i = 0; i < graph->num_nodes; i++) {
        struct work *work = &graph->nodes[i]->work;
        if (work->context == NULL)
            work->context = context;
        if (work->kind == WORK_CHILD)
            graph_exec_set_context(work->child, context);
        for (unsigned k = 0; k < work_num_bodies(work); k++)
            graph_exec_set_context(work->conditional.bodies[k], context);
    }
}

CUgraphNode graph_exec_writable(CUgraphExec exec, CUgraphNode node, CUresult *out_error)
{
    *out_error = CUDA_ERROR_INVALID_VALUE;
    if (!handles_known(HANDLE_EXEC, exec) || !handles_known(HANDLE_NODE, node) ||
        graph_find(exec->plan, node) == NULL)
        return NULL;
    if (exec->plan->references > 1) {
        CUgraph clone = graph_clone(exec->plan, false);
        *out_error = CUDA_ERROR_OUT_OF_MEMORY;
        if (clone == NULL)
            return NULL;
        graph_drop(exec->plan);
        exec->plan = clone;
    }
    return graph_find(exec->plan, node);
}

// What the device does by itself, as it does bodies.
static bool may_be_inside(const struct work *work)
{
    return work->kind == WORK_KERNEL || work->kind == WORK_COPY || work->kind == WORK_FILL ||
           work->kind == WORK_EMPTY || work->kind == WORK_CHILD || work->kind == WORK_CONDITIONAL;
}

static bool is_behind(CUgraphNode node, CUgraphNode other, bool *seen)
{
    bool found = node == other;
    if (found || seen[node->index])
        return found;
    seen[node->index] = true;
    for (size_t i = 0; i < node->num_before && !found; i++)
        found = is_behind(node->before[i].from, other, seen);
    return found;
}

// Loops side by side make driver 580.159 fail or hang. Branches are refused alike.
static CUresult check_order_of_loops(CUgraph graph)
{
    CUgraphNode last = NULL;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < graph->num_nodes && result == CUDA_SUCCESS; i++) {
        CUgraphNode node = graph->nodes[i];
        if (node->work.kind != WORK_CONDITIONAL)
            continue;
        bool *seen = calloc(graph->num_nodes, sizeof(*seen));
        if (seen == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
        if (last != NULL && !is_behind(node, last, seen)) {
            complain("conditional nodes stand side by side, where the driver may fail or hang");
            result = CUDA_ERROR_NOT_SUPPORTED;
        }
        free(seen);
        last = node;
    }
    return result;
}

static CUresult check_graph(CUgraph graph)
{
    bool no_memory = false;
    if (!handles_known(HANDLE_GRAPH, graph))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph_has_cycle(graph, &no_memory))
        return no_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_order_of_loops(graph);
    for (size_t i = 0; i < graph->num_nodes && result == CUDA_SUCCESS; i++) {
        const struct work *work = &graph->nodes[i]->work;
        result = launch_check_room(work);
        if (result == CUDA_SUCCESS && graph->is_body && !may_be_inside(work))
            result = CUDA_ERROR_INVALID_VALUE;
        for (unsigned k = 0; k < work_num_bodies(work) && result == CUDA_SUCCESS; k++)
            result = check_graph(work->conditional.bodies[k]);
    }
    return result;
}

// Expects the world's lock.
static CUresult make_exec(CUgraph graph, unsigned long long flags, CUgraphExec *out_exec)
{
    CUresult result = check_graph(graph);
    if (result == CUDA_SUCCESS && has_exec(graph))
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result != CUDA_SUCCESS)
        return result;
    CUgraphExec exec = calloc(1, sizeof(*exec));
    CUgraph plan = exec == NULL ? NULL : graph_clone(graph, false);
    if (plan == NULL || !handles_add(HANDLE_EXEC, exec)) {
        graph_drop(plan);
        free(exec);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->plan = plan;
    exec->flags = flags;
    exec->context = context_current();
    graph_exec_set_context(plan, exec->context);
    if (graph_has_memory(plan)) {
        exec->next = with_memory;
        with_memory = exec;
    }
    *out_exec = exec;
    return CUDA_SUCCESS;
}

static CUresult instantiate(const char *function, CUgraphExec *out_exec, CUgraph graph,
                            unsigned long long flags, unsigned long long accepted)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_exec == NULL || (flags & ~accepted) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = capture_refuse_unsafe();
    if (result == CUDA_SUCCESS)
        result = make_exec(graph, flags, out_exec);
    world_unlock();
    return result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out_exec, CUgraph graph, unsigned long long flags)
{
    return instantiate(__func__, out_exec, graph, flags, plain_flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out_exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    CUresult result = instantiate(__func__, out_exec, graph, params->flags,
                                  plain_flags | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
    params->hErrNode_out = NULL;
    params->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

static CUresult instantiate_with_log(const char *function, CUgraphExec *out_exec, CUgraph graph,
                                     CUgraphNode *out_error_node, char *log, size_t log_bytes)
{
    if (out_error_node != NULL)
        *out_error_node = NULL;
    if (log != NULL && log_bytes > 0)
        log[0] = '\0';
    return instantiate(function, out_exec, graph, 0, plain_flags);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out_exec, CUgraph graph, CUgraphNode *out_error_node,
                               char *log, size_t log_bytes)
{
    return instantiate_with_log(__func__, out_exec, graph, out_error_node, log, log_bytes);
}

CUresult cuGraphInstantiate(CUgraphExec *out_exec, CUgraph graph, CUgraphNode *out_error_node,
                            char *log, size_t log_bytes)
{
    return instantiate_with_log(__func__, out_exec, graph, out_error_node, log, log_bytes);
}

// Launches in flight keep the plan, so nothing waits.
CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (handles_known(HANDLE_EXEC, exec)) {
        handles_remove(exec);
        unlist(exec);
        graph_drop(exec->plan);
        ticket_drop(exec->latest);
        free(exec);
    } else {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    world_unlock();
    return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *out_flags)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (out_flags != NULL && handles_known(HANDLE_EXEC, exec))
        *out_flags = exec->flags;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream handle)
{
    CUstream stream;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = handles_known(HANDLE_EXEC, exec) ? stream_resolve(handle, &stream)
                                              : CUDA_ERROR_INVALID_VALUE;
    world_unlock();
    return result;
}

// A launch records and waits for events as of now: waits see the records before this launch.
static CUresult collect_tickets(struct launch *launch)
{
    bool any = false;
    for (size_t i = 0; i < launch->plan->num_nodes; i++) {
        enum work_kind kind = launch->plan->nodes[i]->work.kind;
        any |= kind == WORK_EVENT_RECORD || kind == WORK_EVENT_WAIT;
    }
    if (!any)
        return CUDA_SUCCESS;
    launch->tickets = calloc(launch->plan->num_nodes, sizeof(*launch->tickets));
    if (launch->tickets == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < launch->plan->num_nodes; i++) {
        const struct work *work = &launch->plan->nodes[i]->work;
        if (work->kind != WORK_EVENT_WAIT)
            continue;
        if (!handles_known(HANDLE_EVENT, work->event))
            return CUDA_ERROR_INVALID_HANDLE;
        if (work->event->ticket != NULL)
            launch->tickets[i] = ticket_hold(work->event->ticket);
    }
    for (size_t i = 0; i < launch->plan->num_nodes; i++) {
        const struct work *work = &launch->plan->nodes[i]->work;
        if (work->kind != WORK_EVENT_RECORD)
            continue;
        if (!handles_known(HANDLE_EVENT, work->event))
            return CUDA_ERROR_INVALID_HANDLE;
        launch->tickets[i] = event_begin_record(work->event);
        if (launch->tickets[i] == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

// Without the flag all nodes run with the stream's priority.
static void report_priorities(CUgraph graph, bool by_node, int priority)
{
    for (size_t i = 0; i < graph->num_nodes; i++) {
        const struct work *work = &graph->nodes[i]->work;
        if (work->kind == WORK_KERNEL)
            report_priority(work->kernel.function->name,
                            by_node ? work->kernel.attributes.priority : priority);
        if (work->kind == WORK_CHILD)
            report_priorities(work->child, by_node, priority);
        for (unsigned k = 0; k < work_num_bodies(work); k++)
            report_priorities(work->conditional.bodies[k], by_node, priority);
    }
}

// A launch cannot be captured: stream_submit refuses it.
static CUresult launch(CUgraphExec exec, CUstream handle)
{
    CUstream stream;
    if (!handles_known(HANDLE_EXEC, exec))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = stream_resolve(handle, &stream);
    if (result == CUDA_SUCCESS && stream->context != exec->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    bool captured = result == CUDA_SUCCESS && stream->capture != NULL;
    if (result == CUDA_SUCCESS && !captured)
        result = stream_submit_wait(stream, exec->latest);
    if (result == CUDA_SUCCESS && !captured)
        result = graph_memory_begin_launch(
            exec->plan, exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_LAUNCH };
    work.launch.plan = graph_hold(exec->plan);
    work.launch.number = num_launches++;
    if (!captured)
        result = collect_tickets(&work.launch);
    if (result != CUDA_SUCCESS) {
        work_finish(&work);
        return result;
    }
    result = stream_submit(stream, &work, NULL);
    if (result == CUDA_SUCCESS) {
        report_priorities(exec->plan, exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
                          stream->priority);
        graph_memory_end_launch(exec->plan);
        ticket_drop(exec->latest);
        exec->latest = ticket_hold(stream->latest);
    }
    return result;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = launch(exec, stream);
    world_unlock();
    return result;
}
