// SPDX-License-Identifier: Apache-2.0
// A graph's nodes as tasks of a backend.
#include "program/tasks.h"

#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "plan/schedule.h"
#include "program/kernel_map.h"

static const struct graph_kernel *kernel_of(const braid_graph *graph, uint32_t node)
{
    return &((const struct graph_kernel *)graph->kernels.items)[graph_nodes(graph)[node].payload];
}

// All argument bytes in one piece, each argument where the graph has it, and bound to it.
static braid_status bind_args(const braid_graph *graph, struct tasks *tasks)
{
    size_t num_args = graph->arg_sizes.num, num_bytes = graph->arg_bytes.num;
    unsigned char *bytes = braid_allocate_zeroed(num_bytes, 1);
    tasks->slot_bytes[TASK_SLOT_ARGUMENTS] = bytes;
    tasks->num_slot_bytes[TASK_SLOT_ARGUMENTS] = num_bytes;
    tasks->bindings = braid_allocate_zeroed(num_args, sizeof(*tasks->bindings));
    tasks->first_binding = braid_allocate_zeroed((size_t)tasks->num + 1, sizeof(uint32_t));
    tasks->arg_sizes = braid_allocate_zeroed(num_args, sizeof(*tasks->arg_sizes));
    if (!bytes || !tasks->bindings || !tasks->first_binding || !tasks->arg_sizes)
        return braid_error_no_memory("the arguments of an exec");
    tasks->num_args = (uint32_t)num_args;
    if (num_args == 0)
        return BRAID_OK;
    memcpy(bytes, graph->arg_bytes.items, num_bytes);
    memcpy(tasks->arg_sizes, graph->arg_sizes.items, num_args * sizeof(*tasks->arg_sizes));
    uint64_t offset = 0;
    for (size_t i = 0; i < num_args; i++) {
        tasks->bindings[i] = (struct task_binding){ .slot = TASK_SLOT_ARGUMENTS, .offset = offset };
        offset += graph_arg_stride(tasks->arg_sizes[i]);
    }
    return BRAID_OK;
}

// The arguments of nodes stand one behind the other, node by node.
static void number_bindings(struct tasks *tasks, const struct graph_kernel *kernel, uint32_t node)
{
    for (uint32_t i = 0; i < kernel->num_args; i++)
        tasks->bindings[kernel->first_arg + i].index = i;
    tasks->first_binding[node + 1] = kernel->first_arg + kernel->num_args;
    if (kernel->num_args > tasks->max_args)
        tasks->max_args = kernel->num_args;
}

static struct node_text name_node(const braid_graph *graph, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(graph, node));
}

static braid_status check_same_args(const braid_graph *graph, uint32_t first, uint32_t node)
{
    const struct graph_kernel *a = kernel_of(graph, first);
    const struct graph_kernel *b = kernel_of(graph, node);
    const uint32_t *sizes = graph->arg_sizes.items;
    bool same = a->num_args == b->num_args;
    for (uint32_t i = 0; same && i < a->num_args; i++)
        same = sizes[a->first_arg + i] == sizes[b->first_arg + i];
    if (same)
        return BRAID_OK;
    return braid_error(BRAID_INVALID_ARGUMENT,
                       "nodes %s and %s give kernel '%s' arguments of different sizes",
                       name_node(graph, first).text, name_node(graph, node).text, a->kernel->name);
}

static struct backend_launch describe_launch(const struct tasks *tasks,
                                             const struct graph_kernel *kernel)
{
    return (struct backend_launch){
        .grid = kernel->grid,
        .block = kernel->block,
        .cluster = { kernel->cluster[0], kernel->cluster[1], kernel->cluster[2] },
        .shared_bytes = kernel->shared_bytes,
        .priority = kernel->priority,
        .num_args = kernel->num_args,
        .arg_bytes = tasks->arg_sizes + kernel->first_arg,
    };
}

static struct backend_task describe_other(const braid_graph *graph, const struct graph_node *node)
{
    const struct graph_copy *copies = graph->copies.items;
    const struct graph_fill *fills = graph->fills.items;
    const struct graph_host *hosts = graph->hosts.items;
    const struct graph_native *natives = graph->natives.items;
    struct backend_task task = { .kind = BACKEND_TASK_EMPTY };
    switch ((enum graph_node_kind)node->kind) {
    case GRAPH_COPY:
        task.kind = BACKEND_TASK_COPY;
        task.copy.to = copies[node->payload].to;
        task.copy.from = copies[node->payload].from;
        task.copy.bytes = copies[node->payload].bytes;
        break;
    case GRAPH_FILL:
        task.kind = BACKEND_TASK_FILL;
        task.fill.to = fills[node->payload].to;
        task.fill.value = fills[node->payload].value;
        task.fill.value_bytes = fills[node->payload].value_bytes;
        task.fill.num_values = fills[node->payload].num_values;
        break;
    case GRAPH_HOST:
        task.kind = BACKEND_TASK_HOST;
        task.host.call = hosts[node->payload].call;
        task.host.user = hosts[node->payload].user;
        break;
    case GRAPH_NATIVE:
        task.kind = BACKEND_TASK_NATIVE;
        task.native.call = natives[node->payload].call;
        task.native.user = natives[node->payload].user;
        break;
    case GRAPH_KERNEL:
    case GRAPH_EMPTY:
        break;
    }
    return task;
}

// Finds the kernel among those loaded, or loads it.
static braid_status load_kernel(const braid_graph *graph, uint32_t node, struct kernel_map *map,
                                struct tasks *tasks)
{
    const struct graph_kernel *kernel = kernel_of(graph, node);
    struct kernel_slot *slot = braid_kernel_map_find(map, kernel->kernel);
    if (!slot)
        return braid_error_no_memory("the kernels of an exec");
    if (slot->loaded) {
        tasks->items[node].launch.kernel = slot->loaded;
        return check_same_args(graph, slot->first_node, node);
    }
    struct backend *backend = tasks->backend;
    braid_status status =
        backend->ops->kernel_load(backend, kernel->kernel, tasks->arg_sizes + kernel->first_arg,
                                  kernel->num_args, &slot->loaded);
    if (status)
        return braid_error(status, "node %s: %s", name_node(graph, node).text,
                           braid_error_message());
    slot->first_node = node;
    tasks->kernels[tasks->num_kernels++] = slot->loaded;
    tasks->items[node].launch.kernel = slot->loaded;
    return BRAID_OK;
}

static braid_status prepare_task(struct backend *backend, const braid_graph *graph, uint32_t node,
                                 struct backend_task *task)
{
    if (!backend->ops->task_prepare)
        return BRAID_OK;
    braid_status status = backend->ops->task_prepare(backend, task);
    if (status)
        return braid_error(status, "node %s: %s", name_node(graph, node).text,
                           braid_error_message());
    return BRAID_OK;
}

static braid_status describe_node(const braid_graph *graph, uint32_t node, struct kernel_map *map,
                                  struct tasks *tasks)
{
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    struct backend_task *task = &tasks->items[node];
    tasks->first_binding[node + 1] = tasks->first_binding[node];
    if (graph_node->kind != GRAPH_KERNEL) {
        *task = describe_other(graph, graph_node);
        task->node = node;
        return prepare_task(tasks->backend, graph, node, task);
    }
    const struct graph_kernel *kernel = kernel_of(graph, node);
    task->kind = BACKEND_TASK_KERNEL;
    task->node = node;
    task->launch = describe_launch(tasks, kernel);
    number_bindings(tasks, kernel, node);
    return load_kernel(graph, node, map, tasks);
}

static braid_status describe_all(const braid_graph *graph, struct tasks *tasks)
{
    struct kernel_map map = { 0 };
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num && !status; i++)
        status = describe_node(graph, i, &map, tasks);
    braid_kernel_map_finish(&map);
    return status;
}

braid_status braid_tasks_create(struct backend *backend, const braid_graph *graph,
                                struct tasks *out_tasks)
{
    struct tasks tasks = { .backend = backend, .num = graph_num_nodes(graph) };
    tasks.items = braid_allocate_zeroed(tasks.num, sizeof(*tasks.items));
    tasks.kernels = braid_allocate_zeroed(graph->kernels.num, sizeof(*tasks.kernels));
    braid_status status = BRAID_OK;
    if (!tasks.items || !tasks.kernels)
        status = braid_error_no_memory("the tasks of an exec");
    if (!status)
        status = bind_args(graph, &tasks);
    if (!status)
        status = describe_all(graph, &tasks);
    if (status) {
        braid_tasks_finish(&tasks);
        return status;
    }
    *out_tasks = tasks;
    return BRAID_OK;
}

void braid_tasks_finish(struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->num_kernels; i++)
        tasks->backend->ops->kernel_unload(tasks->backend, tasks->kernels[i]);
    for (uint32_t i = 0; tasks->items && i < tasks->num; i++) {
        if (tasks->items[i].detour)
            tasks->backend->ops->task_finish(tasks->backend, &tasks->items[i]);
    }
    free(tasks->items);
    for (int i = 0; i < TASK_NUM_SLOTS; i++)
        free(tasks->slot_bytes[i]);
    free(tasks->bindings);
    free(tasks->first_binding);
    free(tasks->arg_sizes);
    free(tasks->kernels);
    *tasks = (struct tasks){ 0 };
}

void braid_tasks_name(struct tasks *tasks, const braid_schedule *schedule)
{
    for (uint32_t i = 0; i < tasks->num; i++) {
        tasks->items[i].name = braid_schedule_node_name(schedule, i);
        tasks->items[i].lane = schedule->lane_of[i];
    }
}
