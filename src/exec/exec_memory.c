// SPDX-License-Identifier: Apache-2.0
// The memory that an exec has of its device.
#include "exec/exec_memory.h"

#include "base/error.h"
#include "verify/verify_program.h"

enum { DEVICE_ALIGNMENT = 256 }; // of what every backend allocates

static bool has_transients(const braid_graph *graph)
{
    const struct graph_resource *resources = graph->resources.items;
    for (size_t i = 0; i < graph->resources.num; i++) {
        if (resources[i].alignment)
            return true;
    }
    return false;
}

uint64_t braid_exec_place_begin(const struct memory_plan *plan, uint32_t place)
{
    return place < plan->num_places ? plan->begins[place] : plan->info.arena_bytes;
}

void braid_exec_place_tasks(braid_exec *exec, const braid_graph *graph,
                            const struct memory_plan *plan)
{
    braid_tasks_place(&exec->tasks, graph, plan->offsets);
    for (uint32_t i = 0; exec->placed && i < exec->tasks.num_addresses; i++) {
        struct task_address *address = &exec->tasks.addresses[i];
        if (!address->num_versions)
            address->arena_offset -= braid_exec_place_begin(plan, address->place);
    }
}

static braid_status use_plan(braid_exec *exec, const braid_graph *graph,
                             const struct memory_plan *plan)
{
    exec->memory = plan->info;
    braid_exec_tell_memory(exec, &exec->memory);
    for (uint32_t i = 0; exec->placed && i <= exec->places.num; i++)
        exec->arena_begins[i] = braid_exec_place_begin(plan, i);
    braid_exec_place_tasks(exec, graph, plan);
    return braid_program_verify(&exec->program, graph, plan);
}

braid_status braid_exec_plan_memory(braid_exec *exec, const braid_graph *graph)
{
    if (!has_transients(graph))
        return braid_program_verify(&exec->program, graph, NULL);
    struct memory_plan plan;
    braid_status status = braid_memory_plan_create(exec->schedule, graph, &plan);
    if (status)
        return status;
    status = use_plan(exec, graph, &plan);
    braid_memory_plan_finish(&plan);
    return status;
}

void braid_exec_tell_memory(braid_exec *exec, const struct memory_info *plan)
{
    uint64_t bytes = exec->version_bytes;
    for (uint32_t i = 0; i < exec->num_slots; i++) {
        const struct frame_slot *slot = &exec->slots[i];
        bytes += slot->arena.bytes;
        for (uint32_t p = 1; slot->more && p < exec->places.num; p++)
            bytes += slot->more[p].bytes;
    }
    pthread_mutex_lock(&exec->info_lock);
    exec->info.transient_bytes = plan->arena_bytes;
    exec->info.unshared_transient_bytes = plan->unshared_bytes;
    exec->info.transient_bound_bytes = plan->bound_bytes;
    exec->info.memory_bytes = bytes;
    pthread_mutex_unlock(&exec->info_lock);
}

// What drivers allocate is aligned for most buffers; others begin further on.
braid_status braid_exec_allocate_memory(const braid_device *device, uint64_t bytes,
                                        uint64_t alignment, struct exec_arena *out_arena)
{
    struct exec_arena arena = { .bytes = bytes };
    if (!arena.bytes)
        return BRAID_OK;
    if (alignment > DEVICE_ALIGNMENT)
        arena.bytes += alignment - DEVICE_ALIGNMENT;
    struct backend *backend = device->backend;
    braid_status status =
        backend->ops->allocate(backend, BRAID_MEMORY_DEVICE, arena.bytes, &arena.memory);
    if (status)
        return braid_error(status, "the transient buffers of an exec on %s take %llu bytes: %s",
                           device->label, (unsigned long long)arena.bytes, braid_error_message());
    uintptr_t begin = ((uintptr_t)arena.memory + alignment - 1) / alignment * alignment;
    arena.begin = (unsigned char *)arena.memory + (begin - (uintptr_t)arena.memory);
    *out_arena = arena;
    return BRAID_OK;
}

// Of a place in a plan for several.
static braid_status allocate_place(const braid_exec *exec, uint32_t place,
                                   struct exec_arena *out_arena)
{
    uint64_t bytes = exec->arena_begins[place + 1] - exec->arena_begins[place];
    return braid_exec_allocate_memory(exec->places.devices[place], bytes, exec->memory.alignment,
                                      out_arena);
}

braid_status braid_exec_allocate_arenas(braid_exec *exec, struct frame_slot *slot)
{
    const struct memory_info *plan = &exec->memory;
    braid_status status = BRAID_OK;
    if (!exec->placed)
        status = braid_exec_allocate_memory(exec->device, plan->arena_bytes, plan->alignment,
                                            &slot->arena);
    for (uint32_t i = 0; exec->placed && i < exec->places.num && !status; i++)
        status = allocate_place(exec, i, i ? &slot->more[i] : &slot->arena);
    if (!status)
        braid_exec_tell_memory(exec, plan);
    return status;
}

braid_status braid_exec_create_frame(braid_exec *exec, struct frame_slot *slot, uint64_t number)
{
    unsigned char *begins[MOST_PLACES] = { slot->arena.begin };
    for (uint32_t i = 1; slot->more && i < exec->places.num; i++)
        begins[i] = slot->more[i].begin;
    return braid_frame_create(&exec->tasks, begins, number, &slot->frame);
}

void braid_exec_free_memory(const braid_device *device, struct exec_arena *arena)
{
    if (arena->memory)
        device->backend->ops->release(device->backend, BRAID_MEMORY_DEVICE, arena->memory);
    *arena = (struct exec_arena){ 0 };
}

void braid_exec_free_arenas(const braid_exec *exec, struct frame_slot *slot)
{
    braid_exec_free_memory(exec->device, &slot->arena);
    for (uint32_t i = 1; slot->more && i < exec->places.num; i++)
        braid_exec_free_memory(exec->places.devices[i], &slot->more[i]);
}
