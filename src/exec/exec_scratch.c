// SPDX-License-Identifier: Apache-2.0
// Scratch that grows: the setter writes down the size. The next launch packs the memory of a frame
// anew, proves it, and gives all slots larger arenas or none.
//
// Nothing in a frame's arena outlives the frame, so nothing has to be copied. The frames in flight
// are awaited before, so their arenas can be freed at once. What the nodes are given is resolved
// again in each slot's next launch.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/inside.h"
#include "exec/exec_memory.h"
#include "verify/verify_program.h"

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

static struct graph_resource *resources_of(const braid_exec *exec)
{
    return exec->scratch_graph->resources.items;
}

static void note_bytes(braid_exec *exec)
{
    for (size_t i = 0; i < exec->scratch_graph->resources.num; i++)
        exec->scratch_bytes[i] = resources_of(exec)[i].bytes;
}

braid_status braid_exec_keep_scratch(braid_exec *exec, const braid_graph *graph)
{
    const struct graph_resource *resources = graph->resources.items;
    size_t num = graph->resources.num, i = 0;
    while (i < num && !resources[i].is_scratch)
        i++;
    if (i == num)
        return BRAID_OK;
    exec->scratch_bytes = braid_allocate_zeroed(num, sizeof(*exec->scratch_bytes));
    if (!exec->scratch_bytes)
        return braid_error_no_memory("the scratch of an exec");
    braid_status status = braid_graph_clone(graph, &exec->scratch_graph);
    if (!status)
        note_bytes(exec);
    return status;
}

static void free_arenas(const braid_exec *exec, struct exec_arena *arenas)
{
    uint32_t num_places = exec_num_places(exec);
    for (uint32_t i = 0; arenas && i < exec->num_slots * num_places; i++)
        braid_exec_free_memory(exec->places.devices[i % num_places], &arenas[i]);
    free(arenas);
}

// By slot and place.
static braid_status allocate_arenas(const braid_exec *exec, const struct memory_plan *plan,
                                    struct exec_arena *arenas)
{
    uint32_t num_places = exec_num_places(exec);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->num_slots * num_places && !status; i++) {
        uint32_t p = i % num_places;
        uint64_t bytes = braid_exec_place_begin(plan, p + 1) - braid_exec_place_begin(plan, p);
        status = braid_exec_allocate_memory(exec->places.devices[p], bytes, plan->info.alignment,
                                            &arenas[i]);
    }
    return status;
}

// Frames resolve the addresses in the arenas that they have from now on.
static void use_arenas(braid_exec *exec, const struct memory_plan *plan, struct exec_arena *arenas)
{
    uint32_t num_places = exec_num_places(exec);
    for (uint32_t i = 0; i < exec->num_slots * num_places; i++) {
        struct frame_slot *slot = &exec->slots[i / num_places];
        struct exec_arena *arena = exec_arena_at(slot, i % num_places), old = *arena;
        *arena = arenas[i];
        arenas[i] = old;
        slot->frame.arenas[i % num_places] = arena->begin;
    }
    braid_exec_place_tasks(exec, exec->scratch_graph, plan);
    for (uint32_t i = 0; i < exec->tasks.num_addresses; i++)
        braid_exec_values_mark(&exec->values, exec->tasks.num, exec->tasks.addresses[i].node);
    for (uint32_t i = 0; exec->placed && i <= exec->places.num; i++)
        exec->arena_begins[i] = braid_exec_place_begin(plan, i);
    exec->memory = plan->info;
    exec->must_grow = false;
    note_bytes(exec);
    braid_exec_tell_memory(exec, &plan->info);
}

static braid_status grow(braid_exec *exec, const struct memory_plan *plan)
{
    size_t num = (size_t)exec->num_slots * exec_num_places(exec);
    struct exec_arena *arenas = braid_allocate_zeroed(num, sizeof(*arenas));
    if (!arenas)
        return braid_error_no_memory("scratch that grows");
    braid_status status = braid_program_verify(&exec->program, exec->scratch_graph, plan);
    if (!status)
        status = allocate_arenas(exec, plan, arenas);
    if (!status)
        use_arenas(exec, plan, arenas);
    free_arenas(exec, arenas);
    return status;
}

braid_status braid_exec_grow_scratch(braid_exec *exec)
{
    struct memory_plan plan;
    if (!exec->must_grow)
        return BRAID_OK;
    braid_status status = braid_exec_await_frames(exec);
    if (!status)
        status = braid_memory_plan_create(exec->schedule, exec->scratch_graph, &plan);
    if (status)
        return status;
    status = grow(exec, &plan);
    braid_memory_plan_finish(&plan);
    return status;
}

// Whether the player can give its nodes other addresses, as far as it knows.
static braid_status check_nodes(const braid_exec *exec)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; exec->player->check_task && i < exec->tasks.num_addresses && !status;
         i++) {
        const struct task_address *address = &exec->tasks.addresses[i];
        if (!address->is_set && !address->num_versions)
            status = exec->player->check_task(exec->slots[0].playing,
                                              &exec->slots[0].frame.tasks[address->node]);
    }
    return status;
}

// As declared, and of each node that uses it; not less than the arenas have.
static void want_bytes(braid_exec *exec, uint32_t scratch, uint64_t bytes)
{
    struct graph_resource *resources = resources_of(exec);
    uint64_t has = exec->scratch_bytes[scratch];
    exec->must_grow = false;
    for (uint32_t i = 0; i < exec->scratch_graph->resources.num; i++) {
        if (i == scratch || resources[i].scratch == scratch)
            resources[i].bytes = bytes > has ? bytes : has;
        exec->must_grow = exec->must_grow || resources[i].bytes > exec->scratch_bytes[i];
    }
}

braid_status braid_exec_set_scratch(braid_exec *exec, braid_resource scratch, uint64_t bytes)
{
    braid_status status = check(exec, scratch, bytes);
    if (status)
        return status;
    pthread_mutex_lock(&exec->lock);
    if (bytes > exec->scratch_bytes[scratch.index])
        status = check_nodes(exec);
    if (!status)
        want_bytes(exec, scratch.index, bytes);
    pthread_mutex_unlock(&exec->lock);
    return status;
}
