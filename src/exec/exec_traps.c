// SPDX-License-Identifier: Apache-2.0
// The part that tells of traps, once their frames have ended.

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/text.h"
#include "exec/exec.h"

struct exec_traps {
    struct exec_part part;
    struct frame_trap *traps;        // slot by slot, in memory that the device reaches
    uint64_t told[EXEC_MOST_FRAMES]; // by slot: how many of its frames have no trap to tell
};

static const struct exec_part_ops ops;

static uint64_t count_frames(const braid_exec *exec, uint32_t slot)
{
    return (exec->frames.num_launched + exec->frames.num - 1 - slot) / exec->frames.num;
}

// No frame is named if a launch that failed half-way, or a captured one, may have written the trap.
static void write_where(const braid_exec *exec, uint32_t slot, uint64_t told, uint32_t node,
                        uint64_t iteration, char *text)
{
    const uint64_t end = count_frames(exec, slot);
    const struct program *loop = braid_exec_find_loop(exec, node);
    if (told < end && !exec->frames.slots[slot].is_partial)
        text +=
            sprintf(text, " in frame %llu%s", (unsigned long long)(slot + told * exec->frames.num),
                    told + 1 < end ? " or a later one" : "");
    if (loop)
        sprintf(text, " of loop %s, iteration %s",
                braid_node_text(loop->node, exec->tasks.items[loop->node].name).text,
                iteration ? braid_text_decimal((double)iteration - 1, 0).text : "unknown");
}

// A frame that runs may be writing a payload, and writes the code last.
static braid_status tell(const braid_exec *exec, uint32_t slot, uint64_t told,
                         const struct task_address *address, bool is_busy)
{
    struct frame_trap *own = &braid_exec_traps(exec, slot)[address->trap - 1];
    const braid_trap *trap = &own->trap;
    char payload[2 * sizeof(trap->payload) + 1], where[256] = "";
    uint32_t code = atomic_exchange((_Atomic uint32_t *)&own->trap.code, 0);
    for (size_t i = 0; i < sizeof(trap->payload); i++)
        snprintf(payload + 2 * i, 3, "%02x", trap->payload[i]);
    write_where(exec, slot, told, address->node, atomic_exchange(&own->iteration, 0), where);
    return braid_error(BRAID_TRAPPED, "node %s (%s) trapped%s: code %u, payload %s%s",
                       braid_node_text(address->node, exec->tasks.items[address->node].name).text,
                       exec->device->label, where, code, payload,
                       is_busy ? ", into which a later frame may be writing" : "");
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct exec_traps *traps = (struct exec_traps *)part;
    struct backend *backend = exec->device->backend;
    backend->ops->release(backend, BRAID_MEMORY_HOST, traps->traps);
    braid_free(traps);
}

static const struct exec_part_ops ops = { .finish = finish };

braid_status braid_exec_add_traps(braid_exec *exec)
{
    struct backend *backend = exec->device->backend;
    size_t bytes = (size_t)exec->frames.num * exec->tasks.num_traps * sizeof(struct frame_trap);
    void *memory = NULL;
    if (!bytes)
        return BRAID_OK;
    struct exec_traps *traps = braid_allocate_zeroed(1, sizeof(*traps));
    if (!traps)
        return braid_error_no_memory("the traps of an exec");
    traps->part.ops = &ops;
    braid_exec_add_part(&exec->parts, &traps->part);
    braid_status status = backend->ops->allocate(backend, BRAID_MEMORY_HOST, bytes, &memory);
    traps->traps = memory;
    if (!status)
        memset(memory, 0, bytes);
    return status;
}

struct frame_trap *braid_exec_traps(const braid_exec *exec, uint32_t slot)
{
    const struct exec_traps *traps = (struct exec_traps *)braid_exec_find_part(exec->parts, &ops);
    return traps ? traps->traps + (size_t)slot * exec->tasks.num_traps : NULL;
}

static braid_status tell_slot(const braid_exec *exec, uint32_t slot, bool is_busy)
{
    struct exec_traps *own = (struct exec_traps *)braid_exec_find_part(exec->parts, &ops);
    const struct tasks *tasks = &exec->tasks;
    const struct frame_trap *traps = braid_exec_traps(exec, slot);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < tasks->num_addresses && !status; i++) {
        uint32_t number = tasks->addresses[i].trap; // from 1
        if (number && frame_trap_is_set(&traps[number - 1]))
            status = tell(exec, slot, own->told[slot], &tasks->addresses[i], is_busy);
    }
    if (!status && !is_busy && !atomic_load(&exec->turn.is_unrecorded))
        own->told[slot] = count_frames(exec, slot);
    return status;
}

// With the lock no frame is launched meanwhile, and of several threads that wait one is told.
braid_status braid_exec_tell_traps(braid_exec *exec, uint64_t frame)
{
    braid_status status = BRAID_OK;
    if (!braid_exec_traps(exec, 0))
        return BRAID_OK;
    pthread_mutex_lock(&exec->turn.lock);
    for (uint32_t slot = 0; slot < exec->frames.num && !status; slot++) {
        bool is_busy = braid_exec_slot_has_work(exec, slot);
        if (!is_busy || frame == BRAID_LAST_FRAME || frame % exec->frames.num == slot)
            status = tell_slot(exec, slot, is_busy);
    }
    pthread_mutex_unlock(&exec->turn.lock);
    return status;
}
