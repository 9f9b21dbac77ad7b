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
    braid_memory_info info;
    braid_memory_plan_get_info(plan, &info);
    exec->info.transient_bytes = info.arena_bytes;
    exec->info.unshared_transient_bytes = info.unshared_bytes;
    exec->info.transient_bound_bytes = info.bound_bytes;
    exec->arena_alignment = info.alignment;
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

// What drivers allocate is aligned for most buffers; others begin further on.
braid_status braid_exec_allocate_arena(braid_exec *exec, struct frame_slot *slot)
{
    uint64_t bytes = exec->info.transient_bytes;
    uint64_t alignment = exec->arena_alignment;
    if (!bytes)
        return BRAID_OK;
    if (alignment > DEVICE_ALIGNMENT)
        bytes += alignment - DEVICE_ALIGNMENT;
    struct backend *backend = exec->device->backend;
    braid_status status =
        backend->ops->allocate(backend, BRAID_MEMORY_DEVICE, bytes, &slot->memory);
    if (status) {
        slot->memory = NULL;
        return braid_error(status, "the transient buffers of an exec on %s take %llu bytes: %s",
                           exec->device->label, (unsigned long long)bytes, braid_error_message());
    }
    uintptr_t begin = ((uintptr_t)slot->memory + alignment - 1) / alignment * alignment;
    slot->arena = (unsigned char *)slot->memory + (begin - (uintptr_t)slot->memory);
    exec->info.memory_bytes += bytes;
    return BRAID_OK;
}

void braid_exec_free_arena(braid_exec *exec, struct frame_slot *slot)
{
    struct backend *backend = exec->device->backend;
    if (slot->memory)
        backend->ops->release(backend, BRAID_MEMORY_DEVICE, slot->memory);
    slot->memory = NULL;
    slot->arena = NULL;
}
