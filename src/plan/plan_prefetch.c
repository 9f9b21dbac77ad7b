// SPDX-License-Identifier: Apache-2.0
// Which kernels of a plan fetch inputs of the next kernel into the device's cache.
#include "plan/plan_prefetch.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "graph/segments.h"
#include "plan/plan_graph.h"

enum {
    LEAST_BLOCK_BYTES = 24 << 10, // that a block of the second kernel reads
    MOST_BYTES = 8 << 20,         // of a range that is fetched whole
    PART_BYTES = 2 << 20,         // of a larger one
};

struct prefetch_plan {
    const braid_graph *graph;
    struct graph_segments segments;
    bool *is_written; // by segment
};

static const struct graph_access *accesses_of(const braid_graph *graph, uint32_t node)
{
    const struct graph_access *accesses = graph->accesses.items;
    return accesses + graph_nodes(graph)[node].first_access;
}

// False: a node declares no access.
static bool note_writes(const struct prefetch_plan *plan)
{
    for (uint32_t i = 0; i < graph_num_nodes(plan->graph); i++) {
        const struct graph_node *node = &graph_nodes(plan->graph)[i];
        bool works = node->kind != WORK_EMPTY && !work_has_body((enum work_kind)node->kind);
        if (works && !node->num_accesses)
            return false;
        for (uint32_t j = 0; j < node->num_accesses; j++) {
            const struct graph_access *access = &accesses_of(plan->graph, i)[j];
            for (uint32_t k = plan->segments.first[access->resource];
                 k < plan->segments.end[access->resource]; k++)
                plan->is_written[k] |= access->mode != BRAID_READ;
        }
    }
    return true;
}

// NULL: its address may change, or is not known, or somebody writes there.
static const char *address_of(const struct prefetch_plan *plan, uint32_t index)
{
    const struct graph_resource *resources = plan->graph->resources.items;
    const struct graph_resource *range = &resources[index], *buffer = &resources[range->buffer];
    if (!buffer->address || buffer->alignment || buffer->num_versions)
        return NULL;
    for (uint32_t i = plan->segments.first[index]; i < plan->segments.end[index]; i++) {
        if (plan->is_written[i])
            return NULL;
    }
    return (const char *)buffer->address + range->offset;
}

// The number of the argument that is this address, or PLAN_NONE.
static uint32_t find_argument(const braid_graph *graph, const struct graph_kernel *kernel,
                              const char *address)
{
    const uint32_t *sizes = (const uint32_t *)graph->arg_sizes.items + kernel->first_arg;
    const unsigned char *bytes = (const unsigned char *)graph->arg_bytes.items + kernel->arg_offset;
    for (uint32_t i = 0; i < kernel->num_args; i++) {
        if (sizes[i] == sizeof(address) && memcmp(bytes, &address, sizeof(address)) == 0)
            return i;
        bytes += graph_arg_stride(sizes[i]);
    }
    return PLAN_NONE;
}

static uint64_t count_blocks(const struct graph_kernel *kernel)
{
    const uint64_t area = (uint64_t)kernel->grid.x * kernel->grid.y;
    return area > UINT32_MAX ? area : area * kernel->grid.z;
}

// The largest that there is.
static struct plan_prefetch find_input(const struct prefetch_plan *plan, uint32_t node)
{
    const struct graph_node *graph_node = &graph_nodes(plan->graph)[node];
    const struct graph_kernel *kernel =
        (const struct graph_kernel *)plan->graph->kernels.items + graph_node->payload;
    const struct graph_resource *resources = plan->graph->resources.items;
    struct plan_prefetch found = { .node = node };
    for (uint32_t i = 0; i < graph_node->num_accesses; i++) {
        uint32_t resource = accesses_of(plan->graph, node)[i].resource;
        uint64_t bytes = resources[resource].bytes;
        const char *address = bytes > found.bytes ? address_of(plan, resource) : NULL;
        uint32_t argument = address ? find_argument(plan->graph, kernel, address) : PLAN_NONE;
        if (argument == PLAN_NONE || bytes / LEAST_BLOCK_BYTES < count_blocks(kernel))
            continue;
        found.argument = argument;
        found.address = address;
        found.bytes = bytes;
    }
    found.bytes = found.bytes > MOST_BYTES ? PART_BYTES : found.bytes;
    return found;
}

static void choose(const struct prefetch_plan *plan, const braid_schedule *schedule,
                   const struct plan_early_node *nodes, struct plan_prefetch *prefetches)
{
    const uint32_t *island_of = schedule->division.island_of;
    for (uint32_t i = 0; i < graph_num_nodes(plan->graph); i++) {
        uint32_t before = nodes[i].behind;
        bool is_inside = island_of && (island_of[i] != PLAN_NONE || island_of[before] != PLAN_NONE);
        if (nodes[i].early && !is_inside)
            prefetches[before] = find_input(plan, i);
    }
}

braid_status braid_plan_choose_prefetch(const braid_schedule *schedule, const braid_graph *graph,
                                        const struct plan_early_node *nodes,
                                        struct plan_prefetch *out_prefetches)
{
    struct prefetch_plan plan = { .graph = graph };
    braid_status status = braid_graph_find_segments(graph, &plan.segments);
    if (status)
        return status;
    plan.is_written = braid_allocate_zeroed(plan.segments.num_segments, sizeof(bool));
    if (!plan.is_written)
        status = braid_error_no_memory("the prefetches of a plan");
    else if (note_writes(&plan))
        choose(&plan, schedule, nodes, out_prefetches);
    free(plan.is_written);
    braid_graph_segments_finish(&plan.segments);
    return status;
}
