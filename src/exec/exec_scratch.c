// SPDX-License-Identifier: Apache-2.0
// Scratch that grows: the setter writes down the size. The next launch packs the memory of a frame
// anew, proves it, and gives all slots larger arenas or none.
//
// Nothing in a frame's arena outlives the frame, so nothing has to be copied. The frames in flight
// are awaited before, so their arenas can be freed at once. The addresses of the nodes are resolved
// again in each slot's next launch.

#include "base/error.h"
#include "base/inside.h"
#include "exec/exec_memory.h"
#include "graph/add.h"

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
    braid_exec_use_memory(exec);
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
