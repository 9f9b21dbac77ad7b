// SPDX-License-Identifier: Apache-2.0
// Copies the contents of a graph's buffers, and compares them.
#include "exec/audit_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

static braid_status add(struct audit_state *state, const void *memory, uint64_t bytes,
                        uint32_t resource)
{
    if (!memory || !bytes)
        return BRAID_OK;
    struct audit_part *part = braid_array_append(&state->parts, 1, sizeof(*part));
    if (!part)
        return braid_error_no_memory("the contents of buffers");
    *part =
        (struct audit_part){ (unsigned char *)(uintptr_t)memory, bytes, state->bytes, resource };
    state->bytes += bytes;
    return BRAID_OK;
}

// Names of earlier versions, and ranges, have the memory of others.
static braid_status add_resource(struct audit_state *state, const braid_graph *graph,
                                 const braid_exec *exec, uint32_t index)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    braid_status status = BRAID_OK;
    if (resource->buffer != index || resource->frames_before)
        return BRAID_OK;
    for (uint32_t i = 0; i < resource->num_versions && !status; i++)
        status = add(state, exec->tasks.version_memory[resource->first_version + i],
                     resource->bytes, index);
    return resource->num_versions ? status : add(state, resource->address, resource->bytes, index);
}

static braid_status add_all(struct audit_state *state, const braid_graph *graph,
                            const braid_exec *exec)
{
    const struct exec_arena *arena = exec->memory.arenas;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < graph->resources.num && !status; i++)
        status = add_resource(state, graph, exec, i);
    if (!status && arena)
        status = add(state, arena->begin, exec->memory.plan.info.arena_bytes, GRAPH_NONE);
    return status;
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
    struct audit_difference difference = { .resource = part->resource, .memory = part->memory };
    for (uint64_t i = 0; i < part->bytes; i++) {
        if (part->memory[i] == before[i])
            continue;
        if (!difference.num++)
            difference.first = i;
        difference.last = i;
    }
    return difference;
}

bool braid_audit_state_differs(const struct audit_state *state, enum audit_copy copy,
                               struct audit_difference *out_difference)
{
    const struct audit_part *parts = state->parts.items;
    for (size_t i = 0; i < state->parts.num; i++) {
        const unsigned char *before = kept(state, &parts[i], copy);
        if (parts[i].resource == GRAPH_NONE || !memcmp(parts[i].memory, before, parts[i].bytes))
            continue;
        *out_difference = tell(&parts[i], before);
        return true;
    }
    return false;
}
