// SPDX-License-Identifier: Apache-2.0
// Copies the contents of a graph's buffers, and compares them.
#include "exec/audit_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/error.h"
#include "exec/audit_pages.h"

// Bytes that the process can read.
struct range {
    uintptr_t begin, end;
};

static braid_status take_readable(void *ranges, uintptr_t begin, uintptr_t end, int rights)
{
    if (!(rights & PROT_READ))
        return BRAID_OK;
    struct range *range = braid_array_append(ranges, 1, sizeof(*range));
    if (!range)
        return braid_error_no_memory("the contents of buffers");
    *range = (struct range){ begin, end };
    return BRAID_OK;
}

static braid_status add(struct audit_state *state, struct audit_part added)
{
    if (!added.memory || !added.bytes)
        return BRAID_OK;
    struct audit_part *part = braid_array_append(&state->parts, 1, sizeof(*part));
    if (!part)
        return braid_error_no_memory("the contents of buffers");
    *part = added;
    part->offset = state->bytes;
    state->bytes += added.bytes;
    return BRAID_OK;
}

// A program may declare memory that it never touches.
static braid_status add_memory(struct audit_state *state, const struct array *readable,
                               const void *memory, uint64_t bytes, uint32_t resource)
{
    const struct range *ranges = readable->items;
    uintptr_t begin = (uintptr_t)memory, end = begin + bytes;
    braid_status status = BRAID_OK;
    for (size_t i = 0; begin && i < readable->num && !status; i++) {
        uintptr_t from = begin > ranges[i].begin ? begin : ranges[i].begin;
        uintptr_t to = end < ranges[i].end ? end : ranges[i].end;
        if (from < to)
            status = add(state, (struct audit_part){ .memory = (unsigned char *)from,
                                                     .bytes = to - from,
                                                     .resource = resource,
                                                     .node = GRAPH_NONE,
                                                     .skipped = from - begin });
    }
    return status;
}

// Names of earlier versions, and ranges, have the memory of others.
static braid_status add_resource(struct audit_state *state, const struct array *readable,
                                 const braid_graph *graph, const braid_exec *exec, uint32_t index)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    void *const *versions = exec->tasks.version_memory + resource->first_version;
    braid_status status = BRAID_OK;
    if (resource->buffer != index || resource->frames_before)
        return BRAID_OK;
    for (uint32_t i = 0; i < resource->num_versions && !status; i++)
        status = add_memory(state, readable, versions[i], resource->bytes, index);
    if (!resource->num_versions)
        status = add_memory(state, readable, resource->address, resource->bytes, index);
    return status;
}

static braid_status add_traps(struct audit_state *state, const braid_exec *exec)
{
    braid_trap *trap = braid_exec_traps(exec, 0);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->tasks.num_addresses && !status; i++) {
        const struct task_address *address = &exec->tasks.addresses[i];
        if (address->trap)
            status = add(state, (struct audit_part){ .memory = (unsigned char *)trap++,
                                                     .bytes = sizeof(*trap),
                                                     .resource = GRAPH_NONE,
                                                     .node = address->node });
    }
    return status;
}

static braid_status add_all(struct audit_state *state, const braid_graph *graph,
                            const braid_exec *exec)
{
    const struct exec_arena *arena = exec->memory.arenas;
    struct array readable = { 0 };
    braid_status status = braid_audit_pages_list(take_readable, &readable);
    for (uint32_t i = 0; i < graph->resources.num && !status; i++)
        status = add_resource(state, &readable, graph, exec, i);
    braid_array_finish(&readable);
    if (!status && arena)
        status = add(state, (struct audit_part){ .memory = arena->begin,
                                                 .bytes = exec->memory.plan.info.arena_bytes,
                                                 .resource = GRAPH_NONE,
                                                 .node = GRAPH_NONE });
    return status ? status : add_traps(state, exec);
}

braid_status braid_audit_state_create(const braid_graph *graph, const braid_exec *exec,
                                      struct audit_state *out_state)
{
    struct audit_state state = { 0 };
    braid_status status = add_all(&state, graph, exec);
    if (!status)
        state.copies = braid_allocate_zeroed(state.bytes, AUDIT_NUM_COPIES);
    if (!status && !state.copies)
        status = braid_error(BRAID_NO_MEMORY,
                             "braid_exec_audit: two copies of all buffers take 2 * %llu bytes",
                             (unsigned long long)state.bytes);
    if (status)
        braid_audit_state_finish(&state);
    else
        *out_state = state;
    return status;
}

void braid_audit_state_finish(struct audit_state *state)
{
    braid_array_finish(&state->parts);
    free(state->copies);
    *state = (struct audit_state){ 0 };
}

static unsigned char *kept(const struct audit_state *state, const struct audit_part *part,
                           enum audit_copy copy)
{
    return state->copies + (uint64_t)copy * state->bytes + part->offset;
}

void braid_audit_state_keep(struct audit_state *state, enum audit_copy copy)
{
    const struct audit_part *parts = state->parts.items;
    for (size_t i = 0; i < state->parts.num; i++)
        memcpy(kept(state, &parts[i], copy), parts[i].memory, parts[i].bytes);
}

void braid_audit_state_restore(const struct audit_state *state, enum audit_copy copy)
{
    const struct audit_part *parts = state->parts.items;
    for (size_t i = 0; i < state->parts.num; i++) {
        const unsigned char *from = kept(state, &parts[i], copy);
        if (memcmp(parts[i].memory, from, parts[i].bytes)) // else it may be read only
            memcpy(parts[i].memory, from, parts[i].bytes);
    }
}

static struct audit_difference tell(const struct audit_part *part, const unsigned char *before)
{
    struct audit_difference difference = { part->resource, part->node,
                                           .memory = part->memory - part->skipped };
    for (uint64_t i = 0; i < part->bytes; i++) {
        if (part->memory[i] == before[i])
            continue;
        if (!difference.num++)
            difference.first = part->skipped + i;
        difference.last = part->skipped + i;
    }
    return difference;
}

bool braid_audit_state_differs(const struct audit_state *state, enum audit_copy copy,
                               struct audit_difference *out_difference)
{
    const struct audit_part *parts = state->parts.items;
    for (size_t i = 0; i < state->parts.num; i++) {
        const unsigned char *before = kept(state, &parts[i], copy);
        bool is_result = parts[i].resource != GRAPH_NONE || parts[i].node != GRAPH_NONE;
        if (!is_result || !memcmp(parts[i].memory, before, parts[i].bytes))
            continue;
        *out_difference = tell(&parts[i], before);
        return true;
    }
    return false;
}
