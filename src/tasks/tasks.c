// SPDX-License-Identifier: Apache-2.0
// A graph's nodes as tasks of a backend.
#include "tasks/tasks.h"

#include <string.h>

#include "base/error.h"
#include "base/node_text.h"
#include "base/pointer_map.h"
#include "graph/placed.h"
#include "graph/regions.h"
#include "plan/schedule.h"

static void fill_slot(struct tasks *tasks, enum task_slot slot, const void *bytes, size_t num)
{
    tasks->slot_bytes[slot] = braid_store_take(&tasks->store, num, 1);
    tasks->num_slot_bytes[slot] = num;
    if (tasks->slot_bytes[slot] && num && bytes)
        memcpy(tasks->slot_bytes[slot], bytes, num);
}

// The bytes of each slot in one piece: arguments and works stand where the graph has them.
static braid_status make_slots(const braid_graph *graph, struct tasks *tasks)
{
    size_t num_args = graph->arg_sizes.num;
    fill_slot(tasks, TASK_SLOT_ARGUMENTS, graph->arg_bytes.items, graph->arg_bytes.num);
    fill_slot(tasks, TASK_SLOT_WORKS, graph->works.items, graph->works.num * sizeof(union work));
    fill_slot(tasks, TASK_SLOT_CONTROLS, NULL, tasks->num * sizeof(struct task_control));
    tasks->offsets = braid_store_take(&tasks->store, tasks->num, sizeof(*tasks->offsets));
    tasks->addresses = braid_store_take(&tasks->store, graph->addresses.num + graph->traps.num,
                                        sizeof(*tasks->addresses));
    tasks->first_address =
        braid_store_take(&tasks->store, (size_t)tasks->num + 1, sizeof(uint32_t));
    tasks->version_memory = braid_store_take(&tasks->store, graph->versions.num, sizeof(void *));
    tasks->arg_sizes = braid_store_take(&tasks->store, num_args, sizeof(*tasks->arg_sizes));
    if (tasks->store.failed)
        return braid_error_no_memory("the values of an exec");
    tasks->num_args = (uint32_t)num_args;
    tasks->num_version_memory = graph->versions.num;
    if (graph->versions.num)
        memcpy(tasks->version_memory, graph->versions.items, graph->versions.num * sizeof(void *));
    if (num_args)
        memcpy(tasks->arg_sizes, graph->arg_sizes.items, num_args * sizeof(*tasks->arg_sizes));
    return BRAID_OK;
}

uint64_t braid_tasks_arg_offset(const struct tasks *tasks, uint32_t node, uint32_t index)
{
    uint64_t offset = tasks->offsets[node];
    for (uint32_t i = 0; i < index; i++)
        offset += graph_arg_stride(tasks->items[node].launch.arg_bytes[i]);
    return offset;
}

uint64_t braid_tasks_arg_bytes(const struct tasks *tasks, uint32_t node)
{
    return braid_tasks_arg_offset(tasks, node, tasks->items[node].launch.num_args) -
           tasks->offsets[node];
}

bool braid_tasks_is_address(const struct tasks *tasks, uint32_t node, uint32_t slot,
                            uint64_t offset)
{
    for (uint32_t i = tasks->first_address[node]; i < tasks->first_address[node + 1]; i++) {
        const struct task_address *address = &tasks->addresses[i];
        if (!address->is_set && address->slot == slot && address->offset == offset)
            return true;
    }
    return false;
}

static struct task_address place_address(const braid_graph *graph, const struct tasks *tasks,
                                         const struct graph_address *address)
{
    struct task_address placed = { .node = address->node,
                                   .slot = TASK_SLOT_WORKS,
                                   .resource = address->resource };
    if (graph_nodes(graph)[address->node].kind == WORK_KERNEL) {
        placed.slot = TASK_SLOT_ARGUMENTS;
        placed.offset =
            braid_tasks_arg_offset(tasks, address->node, address->operand) + address->offset;
    } else {
        placed.offset = tasks->offsets[address->node] + address->operand;
    }
    return placed;
}

// The target in its node that an address is, as a parameter would name it.
static braid_target target_of(const struct tasks *tasks, const struct graph_address *address)
{
    enum work_kind kind = tasks->items[address->node].kind;
    if (kind == WORK_KERNEL)
        return BRAID_TARGET_ARGUMENT;
    if (kind == WORK_HOST || kind == WORK_QUEUE)
        return BRAID_TARGET_USER;
    bool is_from = (kind == WORK_COPY && address->operand == offsetof(struct work_copy, from)) ||
                   (kind == WORK_POST && address->operand == offsetof(struct work_post, from));
    return is_from ? BRAID_TARGET_FROM : BRAID_TARGET_TO;
}

// Binds the addresses of the node, which come next in the graph's list.
static void bind_addresses(const braid_graph *graph, struct tasks *tasks, uint32_t node)
{
    const struct graph_address *addresses = graph->addresses.items;
    const struct graph_resource *resources = graph->resources.items;
    const struct graph_trap *traps = graph->traps.items;
    for (; tasks->num_addresses - tasks->num_traps < graph->addresses.num; tasks->num_addresses++) {
        const struct graph_address *next = &addresses[tasks->num_addresses - tasks->num_traps];
        const struct graph_resource *resource = &resources[next->resource];
        if (next->node != node)
            break;
        struct task_address *address = &tasks->addresses[tasks->num_addresses];
        *address = place_address(graph, tasks, next);
        if (resource->num_versions > 1)
            tasks->items[node].varies |= 1u << target_of(tasks, next);
        address->num_versions = resource->num_versions;
        address->first = resource->first_version;
        address->frames_before = resource->frames_before;
        address->memory_offset = next->addend + (resource->num_versions ? resource->offset : 0);
    }
    for (; tasks->num_traps < graph->traps.num && traps[tasks->num_traps].node == node;
         tasks->num_addresses++) {
        uint32_t argument = traps[tasks->num_traps++].argument;
        tasks->addresses[tasks->num_addresses] =
            (struct task_address){ .node = node,
                                   .slot = TASK_SLOT_ARGUMENTS,
                                   .offset = braid_tasks_arg_offset(tasks, node, argument),
                                   .num_versions = 1,
                                   .trap = tasks->num_traps };
    }
    tasks->first_address[node + 1] = tasks->num_addresses;
}

static struct backend_launch describe_launch(const struct tasks *tasks,
                                             const struct graph_kernel *kernel)
{
    return (struct backend_launch){
        .grid = kernel->grid,
        .block = kernel->block,
        .cluster = { kernel->cluster[0], kernel->cluster[1], kernel->cluster[2] },
        .shared_bytes = kernel->shared_bytes,
        .priority = kernel->priority ? kernel->priority : tasks->priority,
        .num_args = kernel->num_args,
        .arg_bytes = tasks->arg_sizes + kernel->first_arg,
        .grid_from = kernel->grid_from,
        .cooperative = kernel->cooperative,
    };
}

static braid_status load_for(struct backend *backend, const struct graph_kernel *kernel,
                             const struct tasks *tasks, unsigned changes,
                             struct backend_kernel **out_kernel)
{
    if (tasks->waits)
        changes |= backend->ops->kernel_changes & KERNEL_WAITS_FIRST;
    return backend->ops->kernel_load(backend, kernel->kernel, changes, NULL,
                                     tasks->arg_sizes + kernel->first_arg, kernel->num_args,
                                     out_kernel);
}

static braid_status load_noting(struct backend *backend, const struct graph_kernel *kernel,
                                const struct tasks *tasks, unsigned notes,
                                struct backend_kernel **out_kernel)
{
    struct error_attempt attempt;
    braid_error_begin_attempt(&attempt);
    braid_status status = load_for(backend, kernel, tasks, notes, out_kernel);
    braid_error_end_attempt(&attempt, status == BRAID_UNSUPPORTED ? BRAID_OK : status);
    return status;
}

// Finds the kernel among those loaded for the node's place, or loads it. A map for each place.
static braid_status load_kernel(const braid_graph *graph, uint32_t node, struct pointer_map *maps,
                                struct tasks *tasks)
{
    const struct graph_kernel *kernel = graph_kernel_of(graph, node);
    uint32_t place = tasks->items[node].place;
    uint32_t loaded = braid_pointer_map_get(&maps[place], kernel->kernel);
    if (loaded != POINTER_MAP_NONE) {
        tasks->items[node].launch.kernel = tasks->kernels[loaded].kernel;
        return BRAID_OK;
    }
    if (!braid_pointer_map_reserve(&maps[place]))
        return braid_error_no_memory("the kernels of an exec");
    struct backend *backend = places_backend(tasks->places, tasks->backend, place);
    struct task_kernel *slot = &tasks->kernels[tasks->num_kernels];
    unsigned changes = kernel->grid_from ? KERNEL_READS_GRID : KERNEL_AS_IT_IS;
    bool notes = tasks->notes && !changes && backend->ops->notes == BACKEND_NOTES_LANES;
    braid_status status = BRAID_UNSUPPORTED;
    if (notes)
        status = load_noting(backend, kernel, tasks, KERNEL_NOTES, &slot->kernel);
    if (notes && status == BRAID_UNSUPPORTED)
        status = load_noting(backend, kernel, tasks, KERNEL_NOTES_BEGIN, &slot->kernel);
    if (status == BRAID_UNSUPPORTED) // the backend notes the begin before the kernel
        status = load_for(backend, kernel, tasks, changes, &slot->kernel);
    if (status)
        return braid_error(status, "node %s: %s",
                           braid_node_text(node, braid_graph_name(graph, node)).text,
                           braid_error_get_message());
    slot->place = place;
    braid_pointer_map_put(&maps[place], kernel->kernel, (uint32_t)tasks->num_kernels++);
    tasks->items[node].launch.kernel = slot->kernel;
    return BRAID_OK;
}

static braid_status describe_node(const braid_graph *graph, uint32_t node, struct pointer_map *maps,
                                  struct tasks *tasks)
{
    const struct graph_node *graph_node = &graph_nodes(graph)[node];
    struct backend_task *task = &tasks->items[node];
    struct task_control *control =
        (struct task_control *)(void *)tasks->slot_bytes[TASK_SLOT_CONTROLS] + node;
    control->enabled = 1;
    *task = (struct backend_task){ .kind = (enum work_kind)graph_node->kind,
                                   .node = node,
                                   .place = tasks->places ? placed_place(graph, node) : 0 };
    if (task->kind == WORK_KERNEL) {
        const struct graph_kernel *kernel = graph_kernel_of(graph, node);
        task->launch = describe_launch(tasks, kernel);
        control->grid = kernel->grid;
        task->varies = kernel->empty ? 1u << BRAID_TARGET_ENABLED : 0;
        tasks->offsets[node] = kernel->arg_offset;
        tasks->max_args = kernel->num_args > tasks->max_args ? kernel->num_args : tasks->max_args;
    } else {
        tasks->offsets[node] = graph_node->payload * sizeof(union work);
    }
    task->is_inside = braid_graph_region_of(graph, node) != GRAPH_NONE;
    task->may_idle = graph_node->may_idle;
    bind_addresses(graph, tasks, node);
    return task->kind == WORK_KERNEL ? load_kernel(graph, node, maps, tasks) : BRAID_OK;
}

static braid_status describe_all(const braid_graph *graph, struct tasks *tasks)
{
    struct pointer_map maps[MOST_PLACES] = { 0 };
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num && !status; i++)
        status = describe_node(graph, i, maps, tasks);
    for (uint32_t i = 0; i < (tasks->places ? tasks->places->num : 1); i++)
        braid_pointer_map_finish(&maps[i]);
    return status;
}

static void note_parameters(const braid_graph *graph, struct tasks *tasks)
{
    const struct graph_parameter_use *uses = graph->uses.items;
    for (size_t i = 0; i < graph->uses.num; i++)
        tasks->items[uses[i].node].varies |= 1u << uses[i].target;
}

braid_status braid_tasks_create(struct backend *backend, const struct places *places,
                                const braid_graph *graph, bool notes, bool waits, int32_t priority,
                                struct tasks *out_tasks)
{
    struct tasks tasks = { .backend = backend,
                           .waits = waits,
                           .places = places,
                           .priority = priority,
                           .num = graph_num_nodes(graph),
                           .num_regions = (uint32_t)graph->regions.num };
    tasks.items = braid_store_take(&tasks.store, tasks.num, sizeof(*tasks.items));
    tasks.kernels = braid_store_take(&tasks.store, graph->kernels.num, sizeof(*tasks.kernels));
    if (notes)
        tasks.notes = braid_store_take(&tasks.store, tasks.num, sizeof(*tasks.notes));
    for (uint32_t i = 0; tasks.notes && i < tasks.num; i++)
        tasks.notes[i].row = i;
    braid_status status = BRAID_OK;
    if (tasks.store.failed)
        status = braid_error_no_memory("the tasks of an exec");
    if (!status)
        status = make_slots(graph, &tasks);
    if (!status)
        status = describe_all(graph, &tasks);
    if (!status)
        note_parameters(graph, &tasks);
    if (status) {
        braid_tasks_finish(&tasks);
        return status;
    }
    *out_tasks = tasks;
    return BRAID_OK;
}

void braid_tasks_finish(struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->num_kernels; i++) {
        struct backend *backend =
            places_backend(tasks->places, tasks->backend, tasks->kernels[i].place);
        backend->ops->kernel_unload(backend, tasks->kernels[i].kernel);
    }
    braid_store_finish(&tasks->store);
    *tasks = (struct tasks){ 0 };
}

void braid_tasks_set_offsets(struct tasks *tasks, const braid_graph *graph, const uint64_t *offsets)
{
    const struct graph_resource *resources = graph->resources.items;
    for (uint32_t i = 0; i < tasks->num_addresses; i++) {
        struct task_address *address = &tasks->addresses[i];
        if (address->num_versions)
            continue;
        uint32_t buffer = resources[address->resource].buffer;
        address->place = tasks->places ? resources[buffer].home : 0;
        uint64_t offset = offsets[address->resource];
        address->arena_offset = offset == UINT64_MAX ? 0 : offset; // UINT64_MAX: it is left out
    }
}

void braid_tasks_name(struct tasks *tasks, const braid_schedule *schedule)
{
    for (uint32_t i = 0; i < tasks->num; i++) {
        tasks->items[i].name = braid_schedule_node_name(schedule, i);
        tasks->items[i].lane = schedule->lane_of[i];
    }
}
