// SPDX-License-Identifier: Apache-2.0
// Versioned buffers of an exec: their memory, and after how many frames it is the same again.
#include "base/error.h"
#include "exec/exec_memory.h"

enum { ALIGNMENT = 256 };

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t divisor = a, rest = b;
    while (rest) {
        uint64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return a / divisor * b;
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
            if (rounded(resource->bytes) > UINT64_MAX / 2 - bytes)
                return UINT64_MAX;
            bytes += rounded(resource->bytes);
        }
    }
    return bytes;
}

braid_status braid_exec_allocate_versions(braid_exec *exec, const braid_graph *graph)
{
    exec->frames.version_period = 1;
    for (uint32_t i = 0; i < exec->tasks.num_addresses; i++) {
        uint32_t num = exec->tasks.addresses[i].num_versions;
        exec->frames.version_period = common_multiple(exec->frames.version_period, num ? num : 1);
    }
    uint64_t bytes = place_all(exec, graph, NULL);
    if (bytes == 0)
        return BRAID_OK;
    if (bytes == UINT64_MAX)
        return braid_error(BRAID_NO_MEMORY, "the versioned buffers of an exec on %s are too large",
                           exec->device->label);
    braid_status status = braid_exec_allocate_zeros(exec->device, "versioned buffers", bytes,
                                                    ALIGNMENT, &exec->memory.versions);
    if (!status)
        place_all(exec, graph, exec->memory.versions.begin);
    return status;
}
