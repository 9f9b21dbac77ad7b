// SPDX-License-Identifier: Apache-2.0
// A graph's nodes as tasks of a backend.
#include "program/tasks.h"

#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "base/pointer_map.h"
#include "plan/schedule.h"

static const struct graph_kernel *kernel_of(const braid_graph *graph, uint32_t node)
{
    return &((const struct graph_kernel *)graph->kernels.items)[graph_nodes(graph)[node].payload];
}

static bool fill_slot(struct tasks *tasks, enum task_slot slot, const void *bytes, size_t num)
{
    tasks->slot_bytes[slot] = braid_allocate_zeroed(num, 1);
    tasks->num_slot_bytes[slot] = num;
    if (tasks->slot_bytes[slot] && num && bytes)
        memcpy(tasks->slot_bytes[slot], bytes, num);
    return tasks->slot_bytes[slot];
}

// The bytes of each slot in one piece: arguments and host calls stand where the graph has them.
static braid_status make_slots(const braid_graph *graph, struct tasks *tasks)
{
    size_t num_args = graph->arg_sizes.num, num_addresses = graph->addresses.num;
    bool made =
        fill_slot(tasks, TASK_SLOT_ARGUMENTS, graph->arg_bytes.items, graph->arg_bytes.num) &&
        fill_slot(tasks, TASK_SLOT_HOST_CALLS, graph->hosts.items,
                  graph->hosts.num * sizeof(struct graph_host)) &&
        fill_slot(tasks, TASK_SLOT_ADDRESSES, NULL, num_addresses * sizeof(void *));
    tasks->bindings = braid_allocate_zeroed(num_args + graph->hosts.num + num_addresses,
                                            sizeof(*tasks->bindings));
    tasks->first_binding = braid_allocate_zeroed((size_t)tasks->num + 1, sizeof(uint32_t));
    tasks->addresses = braid_allocate_zeroed(num_addresses, sizeof(*tasks->addresses));
    tasks->arg_sizes = braid_allocate_zeroed(num_args, sizeof(*tasks->arg_sizes));
    if (!made || !tasks->bindings || !tasks->first_binding || !tasks->addresses ||
        !tasks->arg_sizes)
        return braid_error_no_memory("the values of an exec");
    tasks->num_args = (uint32_t)num_args;
    if (num_args)
        memcpy(tasks->arg_sizes, graph->arg_sizes.items, num_args * sizeof(*tasks->arg_sizes));
    return BRAID_OK;
}

static void bind(struct tasks *tasks, enum task_field field, enum task_slot slot, uint32_t index,
                 uint64_t offset)
{
    tasks->bindings[tasks->num_bindings++] = (struct task_binding){
        .field = (uint8_t)field, .slot = (uint8_t)slot, .index = index, .offset = offset
    };
}

static void bind_args(struct tasks *tasks, const struct graph_kernel *kernel)
{
    uint64_t offset = kernel->arg_offset;
    for (uint32_t i = 0; i < kernel->num_args; i++) {
        bind(tasks, TASK_ARGUMENT, TASK_SLOT_ARGUMENTS, i, offset);
        offset += graph_arg_stride(tasks->arg_sizes[kernel->first_arg + i]);
    }
    if (kernel->num_args > tasks->max_args)
        tasks->max_args = kernel->num_args;
}

static uint64_t offset_of_arg(const struct tasks *tasks, const struct graph_kernel *kernel,
                              uint32_t index)
{
    uint64_t offset = kernel->arg_offset;
    for (uint32_t i = 0; i < index; i++)
        offset += graph_arg_stride(tasks->arg_sizes[kernel->first_arg + i]);
    return offset;
}

// Binds a field to a word of its own that frames write the address to.
static struct task_address bind_word(struct tasks *tasks, enum task_field field)
{
    uint64_t offset = tasks->num_addresses * sizeof(void *);
    bind(tasks, field, TASK_SLOT_ADDRESSES, 0, offset);
    return (struct task_address){ .slot = TASK_SLOT_ADDRESSES, .offset = offset };
}

static struct task_address place_address(const braid_graph *graph, struct tasks *tasks,
                                         const struct graph_address *address)
{
    const struct graph_node *node = &graph_nodes(graph)[address->node];
    switch ((enum graph_address_field)address->field) {
    case GRAPH_ADDRESS_ARGUMENT:
        return (struct task_address){
            .slot = TASK_SLOT_ARGUMENTS,
            .offset = offset_of_arg(tasks, kernel_of(graph, address->node), address->argument)
        };
    case GRAPH_ADDRESS_TO:
        return bind_word(tasks, node->kind == GRAPH_COPY ? TASK_COPY_TO : TASK_FILL_TO);
    case GRAPH_ADDRESS_FROM:
        return bind_word(tasks, TASK_COPY_FROM);
    case GRAPH_ADDRESS_USER:
        break;
    }
    if (node->kind == GRAPH_NATIVE)
        return bind_word(tasks, TASK_USER);
    return (struct task_address){ .slot = TASK_SLOT_HOST_CALLS,
                                  .offset = node->payload * sizeof(struct graph_host) +
                                            offsetof(struct graph_host, user) };
}

// Those of the node, which come next in the graph's list.
static void bind_addresses(const braid_graph *graph, struct tasks *tasks, uint32_t node)
{
    const struct graph_address *addresses = graph->addresses.items;
    while (tasks->num_addresses < graph->addresses.num &&
           addresses[tasks->num_addresses].node == node) {
        const struct graph_address *address = &addresses[tasks->num_addresses];
        struct task_address placed = place_address(graph, tasks, address);
        placed.resource = address->resource;
        tasks->addresses[tasks->num_addresses++] = placed;
    }
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

// A host call is bound to its place in the frame, which sets `call` as well.
static struct backend_task describe_other(struct tasks *tasks, const braid_graph *graph,
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
        bind(tasks, TASK_HOST_CALL, TASK_SLOT_HOST_CALLS, 0,
             node->payload * sizeof(struct graph_host));
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

static braid_status describe_node(const braid_graph *graph, uint32_t node, struct pointer_map *map,
                                  struct tasks *tasks)
{
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    struct backend_task *task = &tasks->items[node];
    if (graph_node->kind != GRAPH_KERNEL) {
        *task = describe_other(tasks, graph, graph_node);
    } else {
        const struct graph_kernel *kernel = kernel_of(graph, node);
        task->kind = BACKEND_TASK_KERNEL;
        task->launch = describe_launch(tasks, kernel);
        bind_args(tasks, kernel);
    }
    task->node = node;
    bind_addresses(graph, tasks, node);
    tasks->first_binding[node + 1] = tasks->num_bindings;
    return graph_node->kind == GRAPH_KERNEL ? load_kernel(graph, node, map, tasks) : BRAID_OK;
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
        status = make_slots(graph, &tasks);
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
    free(tasks->items);
    for (int i = 0; i < TASK_NUM_SLOTS; i++)
        free(tasks->slot_bytes[i]);
    free(tasks->bindings);
    free(tasks->first_binding);
    free(tasks->addresses);
    free(tasks->arg_sizes);
    free(tasks->kernels);
    *tasks = (struct tasks){ 0 };
}

braid_status braid_tasks_place(struct tasks *tasks, uint32_t graph_id,
                               const braid_memory_plan *plan)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num_addresses && !status; i++) {
        struct task_address *address = &tasks->addresses[i];
        braid_resource resource = { .index = address->resource, .graph = graph_id };
        status = braid_memory_plan_get_offset(plan, resource, &address->arena_offset);
    }
    return status;
}

void braid_tasks_name(struct tasks *tasks, const braid_schedule *schedule)
{
    for (uint32_t i = 0; i < tasks->num; i++) {
        tasks->items[i].name = braid_schedule_node_name(schedule, i);
        tasks->items[i].lane = schedule->lane_of[i];
    }
}
