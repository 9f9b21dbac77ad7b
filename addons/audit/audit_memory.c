// SPDX-License-Identifier: Apache-2.0
// The memory of a graph's buffers, and of its accesses.
#include <stdlib.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/error.h"
#include "graph/extents.h"

enum { ALIGNMENT = 64 };

// As the first frame has it; 0: not known.
static uintptr_t find_memory(const braid_graph *graph, const braid_exec *exec, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(graph, resource);
    const struct exec_memory *memory = &exec->memory;
    if (declared->address)
        return (uintptr_t)declared->address + declared->offset;
    if (declared->num_versions) {
        uint32_t version =
            (declared->num_versions - declared->frames_before) % declared->num_versions;
        return (uintptr_t)exec->tasks.version_memory[declared->first_version + version];
    }
    if (!memory->arenas || memory->plan.offsets[resource] == MEMORY_NONE)
        return 0;
    return (uintptr_t)memory->arenas[0].begin + memory->plan.offsets[resource];
}

static bool is_buffer(const braid_graph *graph, uint32_t resource)
{
    const struct graph_resource *declared = graph_resource_at(graph, resource);
    return declared->buffer == resource && declared->bytes && !declared->is_scratch;
}

// If ranges begin together, the inner one is the later one. Of equal ones the first resource is.
static int compare_ranges(const void *a, const void *b)
{
    const struct audit_range *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->resource > right->resource ? -1 : left->resource < right->resource;
}

static void add_range(struct audit_memory *memory, uint32_t resource, uintptr_t begin,
                      uintptr_t end)
{
    if (begin)
        memory->ranges[memory->num_ranges++] = (struct audit_range){ begin, end, resource, 0 };
}

static void add_buffer(struct audit_memory *memory, const braid_graph *graph, uint32_t resource,
                       uintptr_t begin)
{
    add_range(memory, resource, begin, begin + graph_resource_at(graph, resource)->bytes);
}

// An import's memory is of a GPU, and the CPU has no room for its pages.
static void fill_known(struct audit_memory *memory, const braid_graph *graph,
                       const braid_exec *exec)
{
    const struct extent *all = graph->known.items;
    for (size_t i = 0; i < graph->known.num && !exec->device->backend->ops->run_here; i++) {
        if (all[i].last)
            memory->known[all[i].buffer] = (struct audit_extent){ all[i].begin, all[i].last + 1 };
    }
}

// Whether the graph has a name for the version of some frames before.
static bool has_name(const braid_graph *graph, uint32_t versioned, uint32_t frames_before)
{
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, i);
        if (resource->num_versions && resource->versioned == versioned &&
            resource->frames_before % resource->num_versions == frames_before)
            return true;
    }
    return false;
}

// Versions that no node can declare count as the buffer.
static void add_versions(struct audit_memory *memory, const braid_graph *graph,
                         const braid_exec *exec, uint32_t versioned)
{
    const struct graph_resource *resource = graph_resource_at(graph, versioned);
    for (uint32_t i = 1; i < resource->num_versions && resource->versioned == versioned; i++) {
        if (!has_name(graph, versioned, resource->num_versions - i))
            add_buffer(memory, graph, versioned,
                       (uintptr_t)exec->tasks.version_memory[resource->first_version + i]);
    }
}

// Makes buffers of the bytes from *at to `end`. Returns the innermost range that goes on there.
static uint32_t divide(struct audit_memory *memory, uint32_t inner, uintptr_t *at, uintptr_t end)
{
    while (inner != GRAPH_NONE) {
        const struct audit_range *range = &memory->ranges[inner];
        const uintptr_t next = range->end < end ? range->end : end;
        if (next > *at) {
            memory->buffers[memory->num_buffers++] = (struct audit_buffer){
                .begin = *at, .end = next, .resource = range->resource, .origin = range->begin
            };
            *at = next;
        }
        if (range->end > end)
            return inner;
        inner = range->outer;
    }
    return inner;
}

// Buffers of an import may be parts of others.
static void divide_ranges(struct audit_memory *memory)
{
    uint32_t inner = GRAPH_NONE;
    uintptr_t at = 0;
    if (memory->num_ranges)
        qsort(memory->ranges, memory->num_ranges, sizeof(*memory->ranges), compare_ranges);
    for (uint32_t i = 0; i < memory->num_ranges; i++) {
        struct audit_range *range = &memory->ranges[i];
        range->outer = divide(memory, inner, &at, range->begin);
        at = range->begin;
        inner = i;
    }
    divide(memory, inner, &at, UINTPTR_MAX);
}

static void fill_buffers(struct audit_memory *memory, const braid_graph *graph,
                         const braid_exec *exec)
{
    for (uint32_t i = 0; i < graph->resources.num; i++) {
        if (is_buffer(graph, i))
            add_buffer(memory, graph, i, find_memory(graph, exec, i));
        add_range(memory, i, memory->known[i].begin, memory->known[i].end);
        add_versions(memory, graph, exec, i);
    }
    divide_ranges(memory);
    for (size_t i = 0; i < memory->num_buffers; i++) {
        const struct audit_buffer *buffer = &memory->buffers[i];
        struct audit_extent *last =
            memory->num_extents ? &memory->extents[memory->num_extents - 1] : NULL;
        if (!last || buffer->begin > last->end)
            memory->extents[memory->num_extents++] =
                (struct audit_extent){ buffer->begin, buffer->end };
        else if (buffer->end > last->end)
            last->end = buffer->end;
    }
}

// An exclusive access orders its node, which need not touch anything.
static void fill_accesses(struct audit_memory *memory, const braid_graph *graph,
                          const braid_exec *exec)
{
    const struct graph_access *accesses = graph->accesses.items;
    memory->num_accesses = graph->accesses.num;
    for (size_t i = 0; i < graph->accesses.num; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, accesses[i].resource);
        const struct audit_extent known = memory->known[accesses[i].resource];
        uintptr_t begin =
            resource->bytes ? find_memory(graph, exec, accesses[i].resource) : known.begin;
        bool is_made = begin && accesses[i].mode == BRAID_EXCLUSIVE;
        memory->accesses[i] = (struct audit_access){
            .begin = begin,
            .end = resource->bytes && begin ? begin + resource->bytes : known.end,
            .may_read = accesses[i].mode != BRAID_WRITE,
            .may_write = accesses[i].mode != BRAID_READ,
            .was_read = is_made,
            .was_written = is_made,
        };
    }
}

size_t braid_audit_most_buffers(const braid_graph *graph)
{
    return 2 * (graph->resources.num + graph->versions.num);
}

void *braid_audit_carve(unsigned char *block, size_t *used, size_t num, size_t bytes)
{
    size_t at = *used;
    *used += (num * bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return block ? block + at : NULL;
}

// At most one range for a resource and for a version.
void braid_audit_memory_lay_out(struct audit_memory *memory, unsigned char *block, size_t *used,
                                const braid_graph *graph)
{
    size_t num = braid_audit_most_buffers(graph), num_accesses = graph->accesses.num;
    *memory = (struct audit_memory){ 0 };
    memory->buffers = braid_audit_carve(block, used, num, sizeof(*memory->buffers));
    memory->ranges = braid_audit_carve(block, used, num / 2, sizeof(*memory->ranges));
    memory->known = braid_audit_carve(block, used, graph->resources.num, sizeof(*memory->known));
    memory->extents = braid_audit_carve(block, used, num, sizeof(*memory->extents));
    memory->accesses = braid_audit_carve(block, used, num_accesses, sizeof(*memory->accesses));
}

void braid_audit_memory_fill(struct audit_memory *memory, const braid_graph *graph,
                             const braid_exec *exec)
{
    fill_known(memory, graph, exec);
    fill_buffers(memory, graph, exec);
    fill_accesses(memory, graph, exec);
}

braid_status braid_audit_memory_create(const braid_graph *graph, const braid_exec *exec,
                                       struct audit_memory *out_memory, void **out_block)
{
    size_t used = 0;
    braid_audit_memory_lay_out(out_memory, NULL, &used, graph);
    void *block = braid_allocate_zeroed(used, 1);
    if (!block)
        return braid_error_no_memory("an audit");
    used = 0;
    braid_audit_memory_lay_out(out_memory, block, &used, graph);
    braid_audit_memory_fill(out_memory, graph, exec);
    *out_block = block;
    return BRAID_OK;
}

struct audit_buffer *braid_audit_find_buffer(const struct audit_memory *memory, uintptr_t address)
{
    for (size_t i = 0; i < memory->num_buffers; i++)
        if (memory->buffers[i].begin <= address && address < memory->buffers[i].end)
            return &memory->buffers[i];
    return NULL;
}

bool braid_audit_has_buffer(const struct audit_memory *memory, uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < memory->num_extents; i++)
        if (memory->extents[i].begin < end && begin < memory->extents[i].end)
            return true;
    return false;
}

// ---- accesses of which all bytes are known at once: of copies, fills and system calls ----

// The end of the bytes from `begin` on that are declared alike, and whether they are.
static uintptr_t find_end(const struct audit_access *declared, uint32_t num, uintptr_t begin,
                          uintptr_t end, bool writes, bool *out_is_declared)
{
    uintptr_t next = end, reached = begin;
    for (uint32_t i = 0; i < num; i++) {
        const struct audit_access *access = &declared[i];
        if (writes && !access->may_write)
            continue;
        if (access->begin <= begin && access->end > reached)
            reached = access->end;
        if (access->begin > begin && access->begin < next)
            next = access->begin;
    }
    *out_is_declared = reached > begin;
    return *out_is_declared ? reached : next;
}

static void count(struct audit_memory *memory, uintptr_t begin, uintptr_t end, bool writes)
{
    for (size_t i = 0; i < memory->num_buffers; i++) {
        struct audit_buffer *buffer = &memory->buffers[i];
        uintptr_t from = buffer->begin > begin ? buffer->begin : begin;
        uintptr_t last = (buffer->end < end ? buffer->end : end) - 1;
        if (from <= last)
            audit_count_bytes(&buffer->counts[writes], from, last);
    }
}

void braid_audit_memory_judge(struct audit_memory *memory, struct audit_access *declared,
                              uint32_t num_declared, uintptr_t begin, uintptr_t end, bool writes)
{
    for (uint32_t i = 0; i < num_declared; i++) {
        struct audit_access *access = &declared[i];
        if (access->begin >= end || begin >= access->end)
            continue;
        access->was_read = true;
        access->was_written = access->was_written || (writes && access->may_write);
    }
    while (begin < end) {
        bool is_declared = false;
        uintptr_t next = find_end(declared, num_declared, begin, end, writes, &is_declared);
        if (!is_declared)
            count(memory, begin, next, writes);
        begin = next;
    }
}
