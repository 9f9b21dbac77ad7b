// SPDX-License-Identifier: Apache-2.0
// The part that tells of traps, once their frames have ended.

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "base/text.h"
#include "exec/exec.h"

struct exec_traps {
    struct exec_part part;
    struct frame_trap *traps; // slot by slot, in memory that the device reaches
};

static const struct exec_part_ops ops;

static uint64_t count_frames(const braid_exec *exec, uint32_t slot)
{
    return (exec->frames.num_launched + exec->frames.num - 1 - slot) / exec->frames.num;
}

// No frame is named if a launch that failed half-way, or a captured one, may have written the trap.
static void write_where(const braid_exec *exec, uint32_t slot, uint32_t node, uint64_t iteration,
                        char *text, size_t size)
{
    const uint64_t num_told = exec->frames.slots[slot].num_told, num = count_frames(exec, slot);
    const struct program *loop = braid_exec_find_loop(exec, node);
    if (num_told < num && !exec->frames.slots[slot].is_partial)
        braid_append(text, size, " in frame %llu%s",
                     (unsigned long long)(slot + num_told * exec->frames.num),
                     num_told + 1 < num ? " or a later one" : "");
    if (loop)
        braid_append(text, size, " of loop %s, iteration %s",
                     braid_node_text(loop->node, exec->tasks.items[loop->node].name).text,
                     iteration ? braid_text_decimal((double)iteration - 1, 0).text : "unknown");
}

// A frame that runs may be writing a payload, and writes the code last.
static braid_status tell(const braid_exec *exec, uint32_t slot, uint32_t node,
                         struct frame_trap *trap, bool is_busy)
{
    char payload[2 * sizeof(trap->trap.payload) + 1], where[256] = "";
    uint32_t code = atomic_exchange((_Atomic uint32_t *)&trap->trap.code, 0);
    for (size_t i = 0; i < sizeof(trap->trap.payload); i++)
        snprintf(payload + 2 * i, 3, "%02x", trap->trap.payload[i]);
    write_where(exec, slot, node, atomic_exchange(&trap->iteration, 0), where, sizeof(where));
    return braid_error(BRAID_TRAPPED, "node %s (%s) trapped%s: code %u, payload %s%s",
                       braid_node_text(node, exec->tasks.items[node].name).text,
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

static braid_status tell_slot(braid_exec *exec, uint32_t slot, bool is_busy)
{
    const struct task_address *addresses = exec->tasks.addresses;
    struct frame_trap *traps = braid_exec_traps(exec, slot);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->tasks.num_addresses && !status; i++) {
        uint32_t number = addresses[i].trap; // from 1
        if (number && frame_trap_is_set(&traps[number - 1]))
            status = tell(exec, slot, addresses[i].node, &traps[number - 1], is_busy);
    }
    if (!status && !is_busy && !atomic_load(&exec->turn.is_unrecorded))
        exec->frames.slots[slot].num_told = count_frames(exec, slot);
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
