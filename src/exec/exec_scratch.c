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
#include "verify/verify_program.h"

// Whose memory is still what it was, while slots get new memory one after another.
struct growth {
    braid_exec *exec;
    uint32_t num_places;
    struct exec_arena *arenas; // new ones, then old ones: by slot and place
    uint64_t *offsets;         // of addresses, as they were
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
    growth->arenas = braid_allocate_zeroed((size_t)growth->exec->num_slots * growth->num_places,
                                           sizeof(*growth->arenas));
    growth->offsets = braid_allocate_zeroed(num, sizeof(*growth->offsets));
    growth->edits = braid_allocate_zeroed(num, sizeof(*growth->edits));
    growth->values = braid_allocate_zeroed(num, sizeof(*growth->values));
    return growth->arenas && growth->offsets && growth->edits && growth->values;
}

// Frees the arenas that are left: the old ones, or the new ones where they did not get in place.
static void give_back(struct growth *growth)
{
    const braid_exec *exec = growth->exec;
    for (uint32_t i = 0; growth->arenas && i < exec->num_slots * growth->num_places; i++)
        braid_exec_free_memory(exec->places.devices[i % growth->num_places], &growth->arenas[i]);
    free(growth->arenas);
    free(growth->offsets);
    free(growth->edits);
    free(growth->values);
}

static struct exec_arena *new_arena(const struct growth *growth, uint32_t slot, uint32_t place)
{
    return &growth->arenas[slot * growth->num_places + place];
}

// Gives a slot's tasks their addresses in the new arenas, or in those that the slot has.
static braid_status move(struct growth *growth, uint32_t slot, bool to_new)
{
    const struct tasks *tasks = &growth->exec->tasks;
    for (uint32_t i = 0; i < tasks->num_addresses; i++) {
        const struct task_address *address = &tasks->addresses[i];
        const struct exec_arena *arena =
            to_new ? new_arena(growth, slot, address->place)
                   : exec_arena_at(&growth->exec->slots[slot], address->place);
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
        braid_status moved = move(growth, i, false);
        status = status ? status : moved;
    }
    braid_error_end_noted(&attempt, status);
}

static braid_status move_all(struct growth *growth, const braid_memory_plan *plan)
{
    braid_exec *exec = growth->exec;
    braid_status status = BRAID_OK;
    swap_offsets(growth); // keeps them
    status = braid_exec_place_tasks(exec, exec->scratch_graph, plan);
    uint32_t num = 0;
    while (num < exec->num_slots && !status) {
        status = move(growth, num, true);
        num += !status;
    }
    if (!status)
        return BRAID_OK;
    swap_offsets(growth);
    move_back(growth, num);
    return status;
}

static braid_status allocate_slot(struct growth *growth, const braid_memory_plan *plan,
                                  uint32_t slot)
{
    braid_status status = BRAID_OK;
    for (uint32_t p = 0; p < growth->num_places && !status; p++) {
        uint64_t bytes = braid_exec_place_begin(plan, p + 1) - braid_exec_place_begin(plan, p);
        status = braid_exec_allocate_memory(growth->exec->places.devices[p], bytes,
                                            plan->info.alignment, new_arena(growth, slot, p));
    }
    return status;
}

static void swap_arenas(struct growth *growth, uint32_t slot)
{
    for (uint32_t p = 0; p < growth->num_places; p++) {
        struct exec_arena *arena = exec_arena_at(&growth->exec->slots[slot], p), old = *arena;
        *arena = *new_arena(growth, slot, p);
        *new_arena(growth, slot, p) = old;
    }
}

static braid_status put_in_place(struct growth *growth, const braid_memory_plan *plan)
{
    braid_exec *exec = growth->exec;
    braid_memory_info info;
    braid_memory_plan_get_info(plan, &info);
    braid_status status = braid_exec_await_frames(exec);
    for (uint32_t i = 0; i < exec->num_slots && !status; i++)
        status = allocate_slot(growth, plan, i);
    if (!status)
        status = move_all(growth, plan);
    if (status)
        return status;
    for (uint32_t i = 0; i < exec->num_slots; i++)
        swap_arenas(growth, i);
    for (uint32_t i = 0; exec->placed && i <= exec->places.num; i++)
        exec->arena_begins[i] = braid_exec_place_begin(plan, i);
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
    if (status)
        return status;
    struct growth growth = { .exec = exec, .num_places = exec_num_places(exec) };
    braid_exec_begin_launch(exec);
    status = braid_exec_check_lost(exec);
    const struct graph_resource *resources = exec->scratch_graph->resources.items;
    uint64_t before = resources[scratch.index].bytes;
    if (!status && bytes > before) {
        set_bytes(exec, scratch.index, bytes);
        status = grow(&growth);
        if (status)
            set_bytes(exec, scratch.index, before);
        give_back(&growth);
    }
    braid_exec_end_launch(exec);
    return status;
}
