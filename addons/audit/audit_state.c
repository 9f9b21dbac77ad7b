// SPDX-License-Identifier: Apache-2.0
// Copies the contents of a graph's buffers, and compares them.
#include "audit/audit_state.h"

#include <string.h>
#include <sys/mman.h>

#include "audit/audit_pages.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "graph/extents.h"

// Bytes that the process can read.
struct range {
    uintptr_t begin, end;
};

static braid_status take_readable(void *ranges, const struct audit_mapping *mapping)
{
    if (!(mapping->rights & PROT_READ))
        return BRAID_OK;
    struct range *range = braid_array_append(ranges, 1, sizeof(*range));
    if (!range)
        return braid_error_no_memory("the contents of buffers");
    *range = (struct range){ mapping->begin, mapping->end };
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

// A program may declare memory of the host that it never touches.
static braid_status add_memory(struct audit_state *state, const struct array *readable,
                               const void *memory, uint64_t bytes, uint32_t resource)
{
    const struct range *ranges = readable->items;
    uintptr_t begin = (uintptr_t)memory, end = begin + bytes;
    bool is_hosts = true;
    if (!memory)
        return BRAID_OK;
    braid_status status = braid_audit_reach_is_hosts(state->reach, memory, &is_hosts);
    if (!status && !is_hosts)
        return add(state, (struct audit_part){ .memory = (unsigned char *)begin,
                                               .bytes = bytes,
                                               .resource = resource,
                                               .node = GRAPH_NONE });
    for (size_t i = 0; i < readable->num && !status; i++) {
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
                                 const braid_graph *graph, uint32_t index)
{
    const struct graph_resource *resource = graph_resource_at(graph, index);
    void *const *versions = state->reach->exec->tasks.version_memory + resource->first_version;
    braid_status status = BRAID_OK;
    if (resource->buffer != index || resource->frames_before)
        return BRAID_OK;
    for (uint32_t i = 0; i < resource->num_versions && !status; i++)
        status = add_memory(state, readable, versions[i], resource->bytes, index);
    if (!resource->num_versions)
        status = add_memory(state, readable, resource->address, resource->bytes, index);
    return status;
}

// The memory of which an import tells. Common bytes are kept for each resource.
static braid_status add_known(struct audit_state *state, const struct array *readable,
                              const braid_graph *graph)
{
    const struct extent *all = graph->known.items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < graph->known.num && !status; i++) {
        if (all[i].last)
            status = add_memory(state, readable, (const void *)all[i].begin, // NOLINT
                                all[i].last - all[i].begin + 1, all[i].buffer);
    }
    return status;
}

static braid_status add_traps(struct audit_state *state)
{
    const braid_exec *exec = state->reach->exec;
    struct frame_trap *trap = braid_exec_traps(exec, 0);
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < exec->tasks.num_addresses && !status; i++) {
        const struct task_address *address = &exec->tasks.addresses[i];
        if (address->trap)
            status = add(state, (struct audit_part){ .memory = (unsigned char *)trap++,
                                                     .bytes = sizeof(trap->trap),
                                                     .resource = GRAPH_NONE,
                                                     .node = address->node });
    }
    return status;
}

static braid_status add_all(struct audit_state *state, const braid_graph *graph)
{
    const braid_exec *exec = state->reach->exec;
    const struct exec_arena *arena = exec->memory.arenas;
    struct array readable = { 0 };
    braid_status status = braid_audit_pages_list(take_readable, &readable);
    for (uint32_t i = 0; i < graph->resources.num && !status; i++)
        status = add_resource(state, &readable, graph, i);
    if (!status)
        status = add_known(state, &readable, graph);
    braid_array_finish(&readable);
    if (!status && arena)
        status = add(state, (struct audit_part){ .memory = arena->begin,
                                                 .bytes = exec->memory.plan.info.arena_bytes,
                                                 .resource = GRAPH_NONE,
                                                 .node = GRAPH_NONE });
    return status ? status : add_traps(state);
}

braid_status braid_audit_state_create(const braid_graph *graph, const struct audit_reach *reach,
                                      enum audit_copy last, struct audit_state *out_state)
{
    struct audit_state state = { .reach = reach };
    braid_status status = add_all(&state, graph);
    if (!status)
        state.copies = braid_allocate_zeroed(state.bytes, last + 1);
    if (!status && !state.copies)
        status = braid_error(BRAID_NO_MEMORY,
                             "braid_graph_audit: copies of all buffers take %u * %llu bytes",
                             last + 1U, (unsigned long long)state.bytes);
    if (!status)
        status = braid_audit_state_keep(&state, AUDIT_START);
    if (status)
        braid_audit_state_finish(&state);
    else
        *out_state = state;
    return status;
}

void braid_audit_state_finish(struct audit_state *state)
{
    braid_array_finish(&state->parts);
    braid_free(state->copies);
    *state = (struct audit_state){ 0 };
}

static braid_status visit(const struct audit_state *state, const struct audit_part *part,
                          enum audit_copy copy, audit_visitor *visitor, void *context)
{
    unsigned char *kept = state->copies + (uint64_t)copy * state->bytes + part->offset;
    braid_status status = BRAID_OK;
    for (uint64_t at = 0; at < part->bytes && !status; at += AUDIT_PIECE_BYTES) {
        uint64_t rest = part->bytes - at;
        struct audit_piece piece = { .memory = part->memory + at,
                                     .kept = kept + at,
                                     .begin = part->skipped + at,
                                     .bytes = rest < AUDIT_PIECE_BYTES ? rest : AUDIT_PIECE_BYTES };
        status = braid_audit_reach_read(state->reach, piece.memory, piece.bytes, &piece.now);
        if (!status)
            status = visitor(state, &piece, context);
    }
    return status;
}

braid_status braid_audit_state_visit(const struct audit_state *state, enum audit_copy copy,
                                     audit_visitor *visitor, void *context)
{
    const struct audit_part *parts = state->parts.items;
    braid_status status = BRAID_OK;
    for (size_t i = 0; i < state->parts.num && !status; i++)
        status = visit(state, &parts[i], copy, visitor, context);
    return status;
}

static braid_status keep(const struct audit_state *state, const struct audit_piece *piece,
                         void *context)
{
    (void)state, (void)context;
    memcpy(piece->kept, piece->now, piece->bytes);
    return BRAID_OK;
}

braid_status braid_audit_state_keep(struct audit_state *state, enum audit_copy copy)
{
    return braid_audit_state_visit(state, copy, keep, NULL);
}

// Memory that has not changed may be read only.
static braid_status restore(const struct audit_state *state, const struct audit_piece *piece,
                            void *context)
{
    (void)context;
    return memcmp(piece->now, piece->kept, piece->bytes)
               ? braid_audit_reach_write(state->reach, piece->memory, piece->kept, piece->bytes)
               : BRAID_OK;
}

braid_status braid_audit_state_restore(const struct audit_state *state, enum audit_copy copy)
{
    return braid_audit_state_visit(state, copy, restore, NULL);
}

static braid_status compare(const struct audit_state *state, const struct audit_piece *piece,
                            void *context)
{
    struct audit_difference *difference = context;
    (void)state;
    if (!memcmp(piece->now, piece->kept, piece->bytes))
        return BRAID_OK;
    for (uint64_t i = 0; i < piece->bytes; i++) {
        if (piece->now[i] == piece->kept[i])
            continue;
        if (!difference->num++)
            difference->first = piece->begin + i;
        difference->last = piece->begin + i;
    }
    return BRAID_OK;
}

braid_status braid_audit_state_differs(const struct audit_state *state, enum audit_copy copy,
                                       bool *out_differs, struct audit_difference *out_difference)
{
    const struct audit_part *parts = state->parts.items;
    braid_status status = BRAID_OK;
    *out_differs = false;
    for (size_t i = 0; i < state->parts.num && !status && !*out_differs; i++) {
        struct audit_difference difference = { parts[i].resource, parts[i].node,
                                               .memory = parts[i].memory - parts[i].skipped };
        bool is_result = parts[i].resource != GRAPH_NONE || parts[i].node != GRAPH_NONE;
        if (is_result)
            status = visit(state, &parts[i], copy, compare, &difference);
        *out_differs = difference.num > 0;
        if (*out_differs)
            *out_difference = difference;
    }
    return status;
}
