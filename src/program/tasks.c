// SPDX-License-Identifier: Apache-2.0
// A graph's nodes as tasks of a backend.
#include "program/tasks.h"

#include <string.h>

#include "base/error.h"
#include "base/inside.h"
#include "base/node_text.h"
#include "base/pointer_map.h"
#include "plan/schedule.h"

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

// Stands for the program's host calls, so that what they must not do is known as theirs.
static void run_host_call(void *user)
{
    const struct graph_host *host = user;
    struct inside inside;
    braid_inside_begin(&inside, NULL);
    host->call(host->user);
    braid_inside_end(&inside);
}

static braid_status copy_hosts(const braid_graph *graph, struct tasks *tasks)
{
    size_t num = graph->hosts.num;
    tasks->hosts = braid_allocate_zeroed(num, sizeof(*tasks->hosts));
    if (!tasks->hosts)
        return braid_error_no_memory("the host calls of an exec");
    if (num)
        memcpy(tasks->hosts, graph->hosts.items, num * sizeof(*tasks->hosts));
    return BRAID_OK;
}

static struct backend_task describe_other(const struct tasks *tasks, const braid_graph *graph,
                                          const struct graph_node *node)
{
    const struct graph_copy *copies = graph->copies.items;
    const struct graph_fill *fills = graph->fills.items;
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
        task.host.call = run_host_call;
        task.host.user = &tasks->hosts[node->payload];
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
static braid_status load_kernel(const braid_graph *graph, uint32_t node, struct pointer_map *map,
                                struct tasks *tasks)
{
    const struct graph_kernel *kernel = kernel_of(graph, node);
    uint32_t loaded = braid_pointer_map_get(map, kernel->kernel);
    if (loaded != POINTER_MAP_NONE) {
        tasks->items[node].launch.kernel = tasks->kernels[loaded];
        return BRAID_OK;
    }
    if (!braid_pointer_map_reserve(map))
        return braid_error_no_memory("the kernels of an exec");
    struct backend *backend = tasks->backend;
    struct backend_kernel **slot = &tasks->kernels[tasks->num_kernels];
    braid_status status = backend->ops->kernel_load(
        backend, kernel->kernel, tasks->arg_sizes + kernel->first_arg, kernel->num_args, slot);
    if (status)
        return braid_error(status, "node %s: %s", name_node(graph, node).text,
                           braid_error_message());
    braid_pointer_map_put(map, kernel->kernel, (uint32_t)tasks->num_kernels++);
    tasks->items[node].launch.kernel = *slot;
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

static braid_status describe_node(const braid_graph *graph, uint32_t node, struct pointer_map *map,
                                  struct tasks *tasks)
{
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    struct backend_task *task = &tasks->items[node];
    tasks->first_binding[node + 1] = tasks->first_binding[node];
    if (graph_node->kind != GRAPH_KERNEL) {
        *task = describe_other(tasks, graph, graph_node);
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
    struct pointer_map map = { 0 };
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num && !status; i++)
        status = describe_node(graph, i, &map, tasks);
    braid_pointer_map_finish(&map);
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
        status = copy_hosts(graph, &tasks);
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
    free(tasks->hosts);
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
