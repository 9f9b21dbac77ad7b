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

static braid_status use_plan(braid_exec *exec, const braid_graph *graph,
                             const braid_memory_plan *plan)
{
    braid_memory_plan_get_info(plan, &exec->memory);
    braid_exec_tell_memory(exec, &exec->memory);
    braid_status status = braid_tasks_place(&exec->tasks, exec->graph_id, plan);
    return status ? status : braid_program_verify(&exec->program, graph, plan);
}

braid_status braid_exec_plan_memory(braid_exec *exec, const braid_graph *graph)
{
    if (!has_transients(graph))
        return braid_program_verify(&exec->program, graph, NULL);
    braid_memory_plan *plan = NULL;
    braid_status status = braid_memory_plan_create(exec->schedule, graph, &plan);
    if (!status)
        status = use_plan(exec, graph, plan);
    braid_memory_plan_destroy(plan);
    return status;
}

void braid_exec_tell_memory(braid_exec *exec, const braid_memory_info *plan)
{
    uint64_t bytes = exec->version_bytes;
    for (uint32_t i = 0; i < exec->num_slots; i++)
        bytes += exec->slots[i].arena.bytes;
    pthread_mutex_lock(&exec->info_lock);
    exec->info.transient_bytes = plan->arena_bytes;
    exec->info.unshared_transient_bytes = plan->unshared_bytes;
    exec->info.transient_bound_bytes = plan->bound_bytes;
    exec->info.memory_bytes = bytes;
    pthread_mutex_unlock(&exec->info_lock);
}

// What drivers allocate is aligned for most buffers; others begin further on.
braid_status braid_exec_allocate_memory(const braid_exec *exec, const braid_memory_info *plan,
                                        struct exec_arena *out_arena)
{
    struct exec_arena arena = { .bytes = plan->arena_bytes };
    uint64_t alignment = plan->alignment;
    if (!arena.bytes)
        return BRAID_OK;
    if (alignment > DEVICE_ALIGNMENT)
        arena.bytes += alignment - DEVICE_ALIGNMENT;
    struct backend *backend = exec->device->backend;
    braid_status status =
        backend->ops->allocate(backend, BRAID_MEMORY_DEVICE, arena.bytes, &arena.memory);
    if (status)
        return braid_error(status, "the transient buffers of an exec on %s take %llu bytes: %s",
                           exec->device->label, (unsigned long long)arena.bytes,
                           braid_error_message());
    uintptr_t begin = ((uintptr_t)arena.memory + alignment - 1) / alignment * alignment;
    arena.begin = (unsigned char *)arena.memory + (begin - (uintptr_t)arena.memory);
    *out_arena = arena;
    return BRAID_OK;
}

braid_status braid_exec_allocate_arena(braid_exec *exec, struct frame_slot *slot)
{
    braid_status status = braid_exec_allocate_memory(exec, &exec->memory, &slot->arena);
    if (!status)
        braid_exec_tell_memory(exec, &exec->memory);
    return status;
}

void braid_exec_free_memory(const braid_exec *exec, struct exec_arena *arena)
{
    struct backend *backend = exec->device->backend;
    if (arena->memory)
        backend->ops->release(backend, BRAID_MEMORY_DEVICE, arena->memory);
    *arena = (struct exec_arena){ 0 };
}
