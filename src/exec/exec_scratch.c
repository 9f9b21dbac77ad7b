// SPDX-License-Identifier: Apache-2.0
// Scratch that grows between launches: the memory of a frame is packed anew, proven anew, and put
// in the place of the old one in all slots or in none.
//
// Nothing in a frame's arena outlives the frame, so nothing has to be copied; but what frames in
// flight have must stay, and they are awaited before.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec_memory.h"
#include "verify/verify_program.h"

// Arenas of a change by slot and place, in a list of those that nobody may free before the exec.
struct exec_arenas {
    struct exec_arenas *next;
    struct exec_arena items[];
};

// Whose memory is still what it was, while slots get new memory one after another.
struct growth {
    braid_exec *exec;
    uint32_t num_places;
    struct exec_arenas *arenas;      // new ones, then old ones
    bool is_stuck[EXEC_MOST_FRAMES]; // nodes of the slot keep addresses in its new arenas
    bool any_stuck;
    uint64_t *offsets; // of addresses, as they were, and in the new arenas where those are given up
    struct exec_edit *edits;
    const void **values;
};

static braid_status check(const braid_exec *exec, braid_resource scratch, uint64_t bytes)
{
    static const char function[] = "braid_exec_set_scratch";
    braid_status status = braid_exec_check(function, exec);
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
    size_t num_arenas = (size_t)growth->exec->num_slots * growth->num_places;
    growth->arenas =
        calloc(1, sizeof(*growth->arenas) + num_arenas * sizeof(growth->arenas->items[0]));
    growth->offsets = braid_allocate_zeroed(num, sizeof(*growth->offsets));
    growth->edits = braid_allocate_zeroed(num, sizeof(*growth->edits));
    growth->values = braid_allocate_zeroed(num, sizeof(*growth->values));
    return growth->arenas && growth->offsets && growth->edits && growth->values;
}

static struct exec_arena *new_arena(const struct growth *growth, uint32_t slot, uint32_t place)
{
    return &growth->arenas->items[slot * growth->num_places + place];
}

static void free_arenas(const braid_exec *exec, struct exec_arenas *arenas)
{
    uint32_t num_places = exec_num_places(exec);
    for (uint32_t i = 0; i < exec->num_slots * num_places; i++)
        braid_exec_free_memory(exec->places.devices[i % num_places], &arenas->items[i]);
    free(arenas);
}

void braid_exec_free_stuck_arenas(braid_exec *exec)
{
    while (exec->stuck_arenas) {
        struct exec_arenas *arenas = exec->stuck_arenas;
        exec->stuck_arenas = arenas->next;
        free_arenas(exec, arenas);
    }
}

// Leaves a slot's new arenas to the exec, by taking those of the others from among them.
static void leave_stuck(struct growth *growth)
{
    braid_exec *exec = growth->exec;
    for (uint32_t slot = 0; slot < exec->num_slots; slot++) {
        for (uint32_t p = 0; p < growth->num_places; p++) {
            struct exec_arena *arena = new_arena(growth, slot, p);
            if (growth->is_stuck[slot])
                exec->version_bytes += arena->bytes;
            else
                braid_exec_free_memory(exec->places.devices[p], arena);
        }
    }
    growth->arenas->next = exec->stuck_arenas;
    exec->stuck_arenas = growth->arenas;
    growth->arenas = NULL;
    braid_exec_tell_memory(exec, &exec->memory);
}

// Frees the arenas that are left: the old ones, or the new ones where they did not get in place.
static void give_back(struct growth *growth)
{
    if (growth->any_stuck)
        leave_stuck(growth);
    if (growth->arenas)
        free_arenas(growth->exec, growth->arenas);
    free(growth->offsets);
    free(growth->edits);
    free(growth->values);
}

static const unsigned char *address_bytes(const struct growth *growth, uint32_t slot, uint32_t i)
{
    const struct task_address *address = &growth->exec->tasks.addresses[i];
    return growth->exec->slots[slot].frame.slots[address->slot] + address->offset;
}

// As an edit for a change of the slot.
static void point_to(struct growth *growth, uint32_t edit, uint32_t i,
                     const struct exec_arena *arena)
{
    const struct task_address *address = &growth->exec->tasks.addresses[i];
    growth->values[edit] = arena->begin + address->arena_offset;
    growth->edits[edit] = (struct exec_edit){ .from = (const unsigned char *)&growth->values[edit],
                                              .offset = address->offset,
                                              .slot = address->slot,
                                              .node = address->node,
                                              .bytes = sizeof(growth->values[edit]) };
}

static bool holds(const struct exec_arena *arena, uintptr_t value)
{
    return value - (uintptr_t)arena->memory < arena->bytes;
}

// Whether a slot has what the exec gave it, and not what the program has put in its place: arenas,
// also those that nodes kept addresses in, have no bytes in common with what the program has.
static bool is_of_exec(const struct growth *growth, uint32_t slot, uint32_t i)
{
    const braid_exec *exec = growth->exec;
    uint32_t place = exec->tasks.addresses[i].place;
    uintptr_t value;
    memcpy(&value, address_bytes(growth, slot, i), sizeof(value));
    bool found = holds(exec_arena_at(&exec->slots[slot], place), value);
    for (const struct exec_arenas *stuck = exec->stuck_arenas; stuck && !found; stuck = stuck->next)
        found = holds(&stuck->items[slot * growth->num_places + place], value);
    return found;
}

// Gives a slot's tasks their addresses in the new arenas.
static braid_status move(struct growth *growth, uint32_t slot)
{
    const struct tasks *tasks = &growth->exec->tasks;
    uint32_t num = 0;
    for (uint32_t i = 0; i < tasks->num_addresses; i++) {
        if (is_of_exec(growth, slot, i))
            point_to(growth, num++, i, new_arena(growth, slot, tasks->addresses[i].place));
    }
    return braid_exec_change_slot(growth->exec, slot, growth->edits, num);
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

// Of an address as a slot has it, when the offsets are swapped back.
static bool is_new(const struct growth *growth, uint32_t slot, uint32_t i)
{
    const struct task_address *address = &growth->exec->tasks.addresses[i];
    const void *value = new_arena(growth, slot, address->place)->begin + growth->offsets[i];
    return memcmp(address_bytes(growth, slot, i), &value, sizeof(value)) == 0;
}

// Node by node: one that refuses leaves none of the others where it was.
static braid_status move_slot_back(struct growth *growth, uint32_t slot)
{
    braid_exec *exec = growth->exec;
    const struct task_address *addresses = exec->tasks.addresses;
    braid_status status = BRAID_OK;
    for (uint32_t first = 0, end; first < exec->tasks.num_addresses; first = end) {
        uint32_t num = 0;
        for (end = first;
             end < exec->tasks.num_addresses && addresses[end].node == addresses[first].node;
             end++) {
            if (is_new(growth, slot, end))
                point_to(growth, num++, end,
                         exec_arena_at(&exec->slots[slot], addresses[end].place));
        }
        braid_status back = BRAID_OK;
        if (num)
            back = braid_exec_change_slot(exec, slot, growth->edits, num);
        status = status ? status : back;
    }
    return status;
}

// All slots get back what they had, also the one whose change failed: of that a node may have
// refused to be taken back.
static void move_back(struct growth *growth)
{
    for (uint32_t slot = 0; slot < growth->exec->num_slots; slot++) {
        struct error_attempt attempt;
        braid_error_begin_attempt(&attempt);
        braid_status status = move_slot_back(growth, slot);
        growth->is_stuck[slot] = status != BRAID_OK;
        growth->any_stuck = growth->any_stuck || status;
        braid_error_end_noted(&attempt, status);
    }
}

static braid_status move_all(struct growth *growth, const struct memory_plan *plan)
{
    braid_exec *exec = growth->exec;
    braid_status status = BRAID_OK;
    swap_offsets(growth); // keeps them
    braid_exec_place_tasks(exec, exec->scratch_graph, plan);
    for (uint32_t slot = 0; slot < exec->num_slots && !status; slot++)
        status = move(growth, slot);
    if (!status)
        return BRAID_OK;
    swap_offsets(growth);
    move_back(growth);
    return status;
}

static braid_status allocate_slot(struct growth *growth, const struct memory_plan *plan,
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

static braid_status put_in_place(struct growth *growth, const struct memory_plan *plan)
{
    braid_exec *exec = growth->exec;
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
    exec->memory = plan->info;
    braid_exec_tell_memory(exec, &plan->info);
    return BRAID_OK;
}

static braid_status grow(struct growth *growth)
{
    braid_exec *exec = growth->exec;
    struct memory_plan plan;
    if (!allocate(growth))
        return braid_error_no_memory("scratch that grows");
    braid_status status = braid_memory_plan_create(exec->schedule, exec->scratch_graph, &plan);
    if (status)
        return status;
    status = braid_program_verify(&exec->program, exec->scratch_graph, &plan);
    if (!status)
        status = put_in_place(growth, &plan);
    braid_memory_plan_finish(&plan);
    return status;
}

braid_status braid_exec_set_scratch(braid_exec *exec, braid_resource scratch, uint64_t bytes)
{
    braid_status status = check(exec, scratch, bytes);
    if (status)
        return status;
    struct growth growth = { .exec = exec, .num_places = exec_num_places(exec) };
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
