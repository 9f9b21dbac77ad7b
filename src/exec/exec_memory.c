// SPDX-License-Identifier: Apache-2.0
// The memory that an exec has of its device.
#include "exec/exec_memory.h"

#include "base/error.h"
#include "base/host_memory.h"
#include "graph/add.h"
#include "plan/memory/lifetimes.h"
#include "verify/verify_program.h"

// ---- arenas ----

static bool has_transients(const braid_graph *graph)
{
    const struct graph_resource *resources = graph->resources.items;
    for (size_t i = 0; i < graph->resources.num; i++) {
        if (resources[i].alignment)
            return true;
    }
    return false;
}

// A place without transient buffers has an empty part.
static uint64_t place_begin(const struct memory_plan *plan, uint32_t place)
{
    return place < plan->num_places ? plan->begins[place] : plan->info.arena_bytes;
}

// `what` needs it. Drivers align memory enough for most buffers; other arenas begin further on.
static braid_status allocate_arena(const braid_device *device, const char *what, uint64_t bytes,
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
        return braid_error(status, "the %s of an exec on %s take %llu bytes: %s", what,
                           device->label, (unsigned long long)arena.bytes,
                           braid_error_get_message());
    arena.begin = (unsigned char *)arena.memory + (-(uintptr_t)arena.memory & (alignment - 1));
    *out_arena = arena;
    return BRAID_OK;
}

braid_status braid_exec_allocate_zeros(braid_device *device, const char *what, uint64_t bytes,
                                       uint64_t alignment, struct exec_arena *out_arena)
{
    braid_status status = allocate_arena(device, what, bytes, alignment, out_arena);
    const struct backend_task fill = {
        .kind = WORK_FILL,
        .name = what,
        .node = BACKEND_NO_NODE,
        .fill = { .to = out_arena->begin, .value_bytes = 1, .num_values = bytes },
    };
    return status || !bytes ? status : braid_device_run_now(device, &fill);
}

void braid_exec_free_arena(const braid_device *device, struct exec_arena *arena)
{
    if (arena->memory)
        device->backend->ops->release(device->backend, BRAID_MEMORY_DEVICE, arena->memory);
    *arena = (struct exec_arena){ 0 };
}

static void free_arenas(const braid_exec *exec, struct exec_arena *arenas)
{
    uint32_t num = exec_num_places(exec);
    for (uint32_t i = 0; arenas && i < exec->frames.num * num; i++)
        arenas[i].block ? exec->memory.pool->give_back(&arenas[i])
                        : braid_exec_free_arena(exec->places.devices[i % num], &arenas[i]);
    braid_free(arenas);
}

static braid_status make_arenas(const braid_exec *exec, const struct memory_plan *plan,
                                braid_memory_pool *pool, struct exec_arena **out_arenas)
{
    uint32_t num = exec_num_places(exec);
    struct exec_arena *arenas =
        braid_allocate_zeroed((size_t)exec->frames.num * num, sizeof(*arenas));
    braid_status status = arenas ? BRAID_OK : braid_error_no_memory("the arenas of an exec");
    for (uint32_t i = 0; i < exec->frames.num * num && !status; i++) {
        uint32_t place = i % num;
        uint64_t bytes = place_begin(plan, place + 1) - place_begin(plan, place);
        status = pool ? pool->take(pool, exec, i, bytes, plan->info.alignment, arenas)
                      : allocate_arena(exec->places.devices[place], "transient buffers", bytes,
                                       plan->info.alignment, &arenas[i]);
    }
    if (status)
        free_arenas(exec, arenas);
    else
        *out_arenas = arenas;
    return status;
}

static void place_tasks(braid_exec *exec, const braid_graph *graph, const struct memory_plan *plan)
{
    braid_tasks_set_offsets(&exec->tasks, graph, plan->offsets);
    for (uint32_t i = 0; i < exec->tasks.num_addresses; i++) {
        struct task_address *address = &exec->tasks.addresses[i];
        if (!address->num_versions)
            address->arena_offset -= place_begin(plan, address->place);
    }
}

// Frees the plan and the arenas from before.
static void put(braid_exec *exec, struct memory_plan plan, struct exec_arena *arenas)
{
    struct exec_memory *memory = &exec->memory;
    struct memory_plan old_plan = memory->plan;
    struct exec_arena *old_arenas = memory->arenas;
    pthread_mutex_lock(&memory->lock);
    memory->plan = plan;
    memory->arenas = arenas;
    pthread_mutex_unlock(&memory->lock);
    braid_memory_plan_finish(&old_plan);
    free_arenas(exec, old_arenas);
}

static braid_status make_memory(braid_exec *exec, const braid_graph *graph, struct memory_plan plan,
                                braid_memory_pool *pool)
{
    struct exec_arena *arenas = NULL;
    braid_status status = braid_program_verify(&exec->program, graph, &plan);
    if (!status)
        status = make_arenas(exec, &plan, pool, &arenas);
    if (status) {
        braid_memory_plan_finish(&plan);
        return status;
    }
    place_tasks(exec, graph, &plan);
    put(exec, plan, arenas);
    return BRAID_OK;
}

braid_status braid_exec_plan_memory(braid_exec *exec, const braid_graph *graph)
{
    if (!has_transients(graph))
        return braid_program_verify(&exec->program, graph, NULL);
    struct memory_plan plan;
    braid_status status = braid_memory_plan_create(exec->schedule, graph, false, &plan);
    return status ? status : make_memory(exec, graph, plan, exec->memory.pool);
}

void braid_exec_find_arenas(const braid_exec *exec, uint32_t slot, unsigned char **out_begins)
{
    const struct exec_arena *arenas = exec->memory.arenas;
    uint32_t num = exec_num_places(exec);
    for (uint32_t i = 0; i < num; i++)
        out_begins[i] = arenas ? arenas[slot * num + i].begin : NULL;
}

// Has frames resolve their addresses in the arenas that they have from now on.
static void exec_use_memory(braid_exec *exec)
{
    for (uint32_t i = 0; i < exec->frames.num; i++)
        braid_exec_find_arenas(exec, i, exec->frames.slots[i].frame.arenas);
    for (uint32_t i = 0; i < exec->tasks.num_addresses; i++)
        braid_exec_values_mark(&exec->values, &exec->tasks, exec->tasks.addresses[i].node);
}

braid_status braid_exec_part_memory(braid_exec *exec, const braid_graph *graph)
{
    if (!has_transients(graph))
        return BRAID_OK;
    struct memory_plan plan;
    braid_status status = braid_memory_plan_create(exec->schedule, graph, true, &plan);
    if (!status)
        status = make_memory(exec, graph, plan, NULL);
    if (!status)
        exec_use_memory(exec);
    return status;
}

void braid_exec_drop_memory(braid_exec *exec)
{
    put(exec, (struct memory_plan){ 0 }, NULL);
}

void braid_exec_tell_memory(const braid_exec *exec, braid_exec_info *info)
{
    const struct exec_memory *memory = &exec->memory;
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&memory->lock;
    info->memory_bytes = memory->versions.bytes;
    for (uint32_t i = 0; memory->box_words && i < exec_num_places(exec); i++)
        info->memory_bytes += memory->box_words[i].bytes;
    pthread_mutex_lock(lock);
    for (uint32_t i = 0; memory->arenas && i < exec->frames.num * exec_num_places(exec); i++)
        info->memory_bytes += memory->arenas[i].block ? 0 : memory->arenas[i].bytes;
    info->transient_bytes = memory->plan.info.arena_bytes;
    info->unshared_transient_bytes = memory->plan.info.unshared_bytes;
    pthread_mutex_unlock(lock);
}

// ---- versions ----

// Versioned buffers of an exec: their memory, and after how many frames it is the same again.

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

// Places the versions whose memory is the exec's. `memory` is NULL to count, or where they are to
// lie. More than fits into an address is UINT64_MAX.
static uint64_t place_all(braid_exec *exec, const braid_graph *graph, unsigned char *memory)
{
    const struct graph_resource *resources = graph->resources.items;
    uint64_t bytes = 0;
    for (size_t i = 0; i < graph->resources.num; i++) {
        const struct graph_resource *resource = &resources[i];
        void *const *given = graph->versions.items;
        if (resource->num_versions < 2 || resource->frames_before || given[resource->first_version])
            continue;
        for (uint32_t k = 0; k < resource->num_versions; k++) {
            if (memory)
                exec->tasks.version_memory[resource->first_version + k] = memory + bytes;
            if (resource->bytes > UINT64_MAX / 4 || bytes > UINT64_MAX / 4)
                return UINT64_MAX;
            bytes += lifetimes_round_up(resource->bytes, DEVICE_ALIGNMENT);
        }
    }
    return bytes;
}

braid_status braid_exec_allocate_versions(braid_exec *exec, const braid_graph *graph)
{
    uint64_t period = 1;
    for (uint32_t i = 0; i < exec->tasks.num_addresses; i++) {
        uint32_t num = exec->tasks.addresses[i].num_versions;
        period = num ? period / common_divisor(period, num) * num : period;
    }
    exec->frames.version_period = period;
    uint64_t bytes = place_all(exec, graph, NULL);
    if (bytes == 0)
        return BRAID_OK;
    if (bytes == UINT64_MAX)
        return braid_error(BRAID_NO_MEMORY, "the versioned buffers of an exec on %s are too large",
                           exec->device->label);
    braid_status status = braid_exec_allocate_zeros(exec->device, "versioned buffers", bytes,
                                                    DEVICE_ALIGNMENT, &exec->memory.versions);
    if (!status)
        place_all(exec, graph, exec->memory.versions.begin);
    return status;
}

// ---- scratch ----

// Scratch that grows: the setter writes down the size. The next launch packs the memory of a frame
// anew, proves it, and gives all slots larger arenas or none.
//
// Nothing in a frame's arena outlives the frame, so nothing has to be copied. The frames in flight
// are awaited before, so their arenas can be freed at once. The addresses of the nodes are resolved
// again in each slot's next launch.

static braid_status check(const braid_exec *exec, braid_resource scratch, uint64_t bytes)
{
    static const char function[] = "braid_exec_set_scratch";
    braid_status status = braid_exec_check(function, exec);
    if (status)
        return status;
    const braid_graph *graph = exec->memory.scratch_graph;
    if (scratch.graph != exec->schedule->graph_id || !graph ||
        scratch.index >= graph->resources.num ||
        !graph_resource_at(graph, scratch.index)->is_scratch)
        return braid_error_invalid("%s: resource %u of graph %u is no scratch of the exec's graph",
                                   function, scratch.index, scratch.graph);
    char room[256];
    const char *name = braid_graph_resource_name(graph, scratch.index, room, sizeof(room));
    return braid_graph_check_planned_bytes("scratch", name, bytes);
}

static struct graph_resource *resources_of(const braid_exec *exec)
{
    return exec->memory.scratch_graph->resources.items;
}

static void note_bytes(braid_exec *exec)
{
    for (size_t i = 0; i < exec->memory.scratch_graph->resources.num; i++)
        exec->memory.scratch_bytes[i] = resources_of(exec)[i].bytes;
}

braid_status braid_exec_keep_scratch(braid_exec *exec, const braid_graph *graph)
{
    const struct graph_resource *resources = graph->resources.items;
    size_t num = graph->resources.num, i = 0;
    while (i < num && !resources[i].is_scratch)
        i++;
    if (i == num)
        return BRAID_OK;
    exec->memory.scratch_bytes =
        braid_store_take(&exec->store, num, sizeof(*exec->memory.scratch_bytes));
    if (!exec->memory.scratch_bytes)
        return braid_error_no_memory("the scratch of an exec");
    braid_status status = braid_graph_clone(graph, &exec->memory.scratch_graph);
    if (!status)
        note_bytes(exec);
    return status;
}

braid_status braid_exec_grow_scratch(braid_exec *exec)
{
    if (!exec->memory.must_grow)
        return BRAID_OK;
    braid_status status = braid_exec_await_frames(exec);
    if (!status)
        status = braid_exec_plan_memory(exec, exec->memory.scratch_graph);
    if (status)
        return status;
    exec_use_memory(exec);
    exec->memory.must_grow = false;
    note_bytes(exec);
    return BRAID_OK;
}

// Whether the player can give its nodes other addresses, as far as it knows.
static braid_status check_nodes(const braid_exec *exec)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; exec->player->check_task && i < exec->tasks.num_addresses && !status;
         i++) {
        const struct task_address *address = &exec->tasks.addresses[i];
        if (!address->is_set && !address->num_versions)
            status = exec->player->check_task(exec->frames.slots[0].playing,
                                              &exec->frames.slots[0].frame.tasks[address->node]);
    }
    return status;
}

// As declared, and of each node that uses it; not less than the arenas have.
static void want_bytes(braid_exec *exec, uint32_t scratch, uint64_t bytes)
{
    struct graph_resource *resources = resources_of(exec);
    uint64_t has = exec->memory.scratch_bytes[scratch];
    exec->memory.must_grow = false;
    for (uint32_t i = 0; i < exec->memory.scratch_graph->resources.num; i++) {
        if (i == scratch || resources[i].scratch == scratch)
            resources[i].bytes = bytes > has ? bytes : has;
        exec->memory.must_grow =
            exec->memory.must_grow || resources[i].bytes > exec->memory.scratch_bytes[i];
    }
}

braid_status braid_exec_set_scratch(braid_exec *exec, braid_resource scratch, uint64_t bytes)
{
    EXEC_MEMORY(exec);
    braid_status status = check(exec, scratch, bytes);
    if (status)
        return status;
    pthread_mutex_lock(&exec->turn.lock);
    if (bytes > exec->memory.scratch_bytes[scratch.index])
        status = check_nodes(exec);
    if (!status)
        want_bytes(exec, scratch.index, bytes);
    pthread_mutex_unlock(&exec->turn.lock);
    return status;
}
