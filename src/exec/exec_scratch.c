// SPDX-License-Identifier: Apache-2.0
// Scratch that grows between launches: the memory of a frame is packed anew, proven anew, and put
// in the place of the old one in all slots or in none.
//
// Nothing in a frame's arena outlives the frame, so nothing has to be copied; but what frames in
// flight have must stay, and they are awaited before.
#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec_memory.h"
#include "graph/placed.h"
#include "verify/verify_program.h"

// Whose memory is still what it was, while slots get new memory one after another.
struct growth {
    braid_exec *exec;
    struct exec_arena arenas[EXEC_MOST_FRAMES]; // new ones, then old ones
    uint64_t *offsets;                          // of addresses, as they were
    struct exec_edit *edits;
    const void **values;
};

static braid_status check(const braid_exec *exec, braid_resource scratch, uint64_t bytes)
{
    static const char function[] = "braid_exec_set_scratch";
    if (!exec)
        return braid_error_null(function, "exec");
    braid_status status = braid_inside_check(function, exec);
    if (status)
        return status;
    const braid_graph *graph = exec->scratch_graph;
    if (scratch.graph != exec->graph_id || !graph || scratch.index >= graph->resources.num ||
        !((const struct graph_resource *)graph->resources.items)[scratch.index].is_scratch)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "%s: resource %u of graph %u is no scratch of the exec's graph",
                           function, scratch.index, scratch.graph);
    if (exec->placed)
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: scratch of an exec on several devices does not grow", function);
    if (bytes == 0 || bytes > INT64_MAX)
        return braid_error(BRAID_INVALID_ARGUMENT, "%s: %llu bytes", function,
                           (unsigned long long)bytes);
    return BRAID_OK;
}

braid_status braid_exec_keep_scratch(braid_exec *exec, const braid_graph *graph)
{
    const struct graph_resource *resources = graph->resources.items;
    for (size_t i = 0; i < graph->resources.num; i++) {
        if (resources[i].is_scratch)
            return braid_graph_clone(graph, &exec->scratch_graph);
    }
    return BRAID_OK;
}

// As declared, and of each node that uses it.
static void set_bytes(const braid_exec *exec, uint32_t scratch, uint64_t bytes)
{
    struct graph_resource *resources = exec->scratch_graph->resources.items;
    for (uint32_t i = 0; i < exec->scratch_graph->resources.num; i++) {
        if (i == scratch || resources[i].scratch == scratch)
            resources[i].bytes = bytes;
    }
}

static bool allocate(struct growth *growth)
{
    uint32_t num = growth->exec->tasks.num_addresses;
    growth->offsets = braid_allocate_zeroed(num, sizeof(*growth->offsets));
    growth->edits = braid_allocate_zeroed(num, sizeof(*growth->edits));
    growth->values = braid_allocate_zeroed(num, sizeof(*growth->values));
    return growth->offsets && growth->edits && growth->values;
}

// Frees the arenas that are left: the old ones, or the new ones where they did not get in place.
static void give_back(struct growth *growth)
{
    for (uint32_t i = 0; i < growth->exec->num_slots; i++)
        braid_exec_free_memory(growth->exec->device, &growth->arenas[i]);
    free(growth->offsets);
    free(growth->edits);
    free(growth->values);
}

// Gives a slot's tasks their addresses in an arena.
static braid_status move(struct growth *growth, uint32_t slot, const struct exec_arena *arena)
{
    const struct tasks *tasks = &growth->exec->tasks;
    for (uint32_t i = 0; i < tasks->num_addresses; i++) {
        const struct task_address *address = &tasks->addresses[i];
        growth->values[i] = arena->begin + address->arena_offset;
        growth->edits[i] = (struct exec_edit){ .from = (const unsigned char *)&growth->values[i],
                                               .offset = address->offset,
                                               .slot = address->slot,
                                               .node = address->node,
                                               .bytes = sizeof(growth->values[i]) };
    }
    return braid_exec_change_slot(growth->exec, slot, growth->edits, tasks->num_addresses);
}

static void swap_offsets(struct growth *growth)
{
    struct tasks *tasks = &growth->exec->tasks;
    for (uint32_t i = 0; i < tasks->num_addresses; i++) {
        uint64_t offset = growth->offsets[i];
        growth->offsets[i] = tasks->addresses[i].arena_offset;
        tasks->addresses[i].arena_offset = offset;
    }
}

// The first `num` slots get back what they had.
static void move_back(struct growth *growth, uint32_t num)
{
    struct error_attempt attempt;
    braid_status status = BRAID_OK;
    braid_error_begin_attempt(&attempt);
    for (uint32_t i = 0; i < num; i++) {
        braid_status moved = move(growth, i, &growth->exec->slots[i].arena);
        status = status ? status : moved;
    }
    braid_error_end_noted(&attempt, status);
}

static braid_status move_all(struct growth *growth, const braid_memory_plan *plan)
{
    braid_exec *exec = growth->exec;
    braid_status status = BRAID_OK;
    swap_offsets(growth); // keeps them
    status = braid_tasks_place(&exec->tasks, exec->scratch_graph, plan);
    uint32_t num = 0;
    while (num < exec->num_slots && !status) {
        status = move(growth, num, &growth->arenas[num]);
        num += !status;
    }
    if (!status)
        return BRAID_OK;
    swap_offsets(growth);
    move_back(growth, num);
    return status;
}

static braid_status put_in_place(struct growth *growth, const braid_memory_plan *plan)
{
    braid_exec *exec = growth->exec;
    braid_memory_info info;
    braid_memory_plan_get_info(plan, &info);
    struct backend *backend = exec->device->backend;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->num_slots && !status; i++)
        status = backend->ops->event_synchronize(backend, exec->slots[i].done->backend);
    for (uint32_t i = 0; i < exec->num_slots && !status; i++)
        status = braid_exec_allocate_memory(exec->device, info.arena_bytes, info.alignment,
                                            &growth->arenas[i]);
    if (!status)
        status = move_all(growth, plan);
    if (status)
        return status;
    for (uint32_t i = 0; i < exec->num_slots; i++) {
        struct exec_arena old = exec->slots[i].arena;
        exec->slots[i].arena = growth->arenas[i];
        growth->arenas[i] = old;
    }
    exec->memory = info;
    braid_exec_tell_memory(exec, &info);
    return BRAID_OK;
}

static braid_status grow(struct growth *growth)
{
    braid_exec *exec = growth->exec;
    braid_memory_plan *plan = NULL;
    if (!allocate(growth))
        return braid_error_no_memory("scratch that grows");
    braid_status status = braid_memory_plan_create(exec->schedule, exec->scratch_graph, &plan);
    if (!status)
        status = braid_program_verify(&exec->program, exec->scratch_graph, plan);
    if (!status)
        status = put_in_place(growth, plan);
    braid_memory_plan_destroy(plan);
    return status;
}

braid_status braid_exec_set_scratch(braid_exec *exec, braid_resource scratch, uint64_t bytes)
{
    braid_status status = check(exec, scratch, bytes);
    if (!status)
        status = braid_exec_check_lost(exec);
    if (status)
        return status;
    struct growth growth = { .exec = exec };
    braid_exec_begin_launch(exec);
    const struct graph_resource *resources = exec->scratch_graph->resources.items;
    uint64_t before = resources[scratch.index].bytes;
    if (bytes > before) {
        set_bytes(exec, scratch.index, bytes);
        status = grow(&growth);
        if (status)
            set_bytes(exec, scratch.index, before);
        give_back(&growth);
    }
    braid_exec_end_launch(exec);
    return status;
}
