// SPDX-License-Identifier: Apache-2.0
// Making memory plans, and reading them.
#include "memory/memory_plan.h"

#include "base/array.h"
#include "base/error.h"
#include "base/sized.h"
#include "memory/antichain.h"
#include "memory/lifetimes.h"
#include "memory/pack.h"

static braid_status add_up(const struct lifetimes *lifetimes, braid_memory_info *info)
{
    info->num_transients = lifetimes->num;
    info->alignment = 1;
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        if (lifetimes->bytes[i] > MEMORY_NONE / 2 - info->unshared_bytes)
            return braid_error(BRAID_INVALID_ARGUMENT,
                               "the transient buffers have over 2^63 bytes");
        info->unshared_bytes += lifetimes->bytes[i];
        if (lifetimes->alignments[i] > info->alignment)
            info->alignment = lifetimes->alignments[i];
    }
    return BRAID_OK;
}

// From offsets of blocks to offsets of resources.
static void spread(const braid_graph *graph, const struct lifetimes *lifetimes,
                   const uint64_t *block_offsets, struct braid_memory_plan *plan)
{
    const struct graph_resource *resources = graph->resources.items;
    for (size_t i = 0; i < plan->num_resources; i++) {
        uint32_t block = lifetimes->block_of[i];
        plan->offsets[i] =
            block == LIFETIMES_NONE ? MEMORY_NONE : block_offsets[block] + resources[i].offset;
    }
}

static braid_status pack(const struct lifetimes *lifetimes, const braid_graph *graph,
                         struct braid_memory_plan *plan)
{
    uint64_t *block_offsets = braid_allocate_zeroed(lifetimes->num, sizeof(uint64_t));
    plan->num_resources = graph->resources.num;
    plan->offsets = braid_allocate_zeroed(plan->num_resources, sizeof(uint64_t));
    braid_status status = block_offsets && plan->offsets
                              ? add_up(lifetimes, &plan->info)
                              : braid_error_no_memory("the memory of a plan");
    if (!status && lifetimes->num)
        status = braid_antichain_bytes(lifetimes, &plan->info.bound_bytes);
    if (!status && lifetimes->num)
        status =
            braid_pack(lifetimes, plan->info.bound_bytes, block_offsets, &plan->info.arena_bytes);
    if (!status)
        spread(graph, lifetimes, block_offsets, plan);
    free(block_offsets);
    return status;
}

braid_status braid_memory_plan_create(const braid_schedule *schedule, const braid_graph *graph,
                                      braid_memory_plan **out_plan)
{
    if (!schedule || !graph || !out_plan)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_memory_plan_create: %s is NULL",
                           !schedule ? "schedule"
                           : !graph  ? "graph"
                                     : "out_plan");
    if (schedule->graph_id != graph->id || schedule->graph_version != graph->version)
        return braid_error(
            BRAID_INVALID_ARGUMENT, "braid_memory_plan_create: the schedule is of %s",
            schedule->graph_id != graph->id ? "another graph" : "this graph before it was changed");
    if (schedule->placed) // its steps are of that one
        graph = schedule->placed->graph;
    struct braid_memory_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return braid_error_no_memory("the memory of a plan");
    plan->graph_id = graph->id;
    plan->graph_version = graph->version;
    struct lifetimes lifetimes = { 0 };
    braid_status status = braid_lifetimes_create(schedule, graph, &lifetimes);
    if (!status)
        status = pack(&lifetimes, graph, plan);
    braid_lifetimes_finish(&lifetimes);
    if (status)
        braid_memory_plan_destroy(plan);
    else
        *out_plan = plan;
    return status;
}

void braid_memory_plan_destroy(braid_memory_plan *plan)
{
    if (!plan)
        return;
    free(plan->offsets);
    free(plan);
}

void braid_memory_plan_get_info_sized(const braid_memory_plan *plan, braid_memory_info *out_info,
                                      size_t bytes)
{
    static const braid_memory_info none;
    write_sized(out_info, bytes, plan ? &plan->info : &none, sizeof(none));
}

braid_status braid_memory_plan_get_offset(const braid_memory_plan *plan, braid_resource transient,
                                          uint64_t *out_offset)
{
    if (!plan || !out_offset)
        return braid_error(BRAID_INVALID_ARGUMENT, "braid_memory_plan_get_offset: %s is NULL",
                           plan ? "out_offset" : "plan");
    if (transient.graph != plan->graph_id || transient.index >= plan->num_resources ||
        plan->offsets[transient.index] == MEMORY_NONE)
        return braid_error(BRAID_INVALID_ARGUMENT,
                           "braid_memory_plan_get_offset: resource %u of graph %u is not a "
                           "transient buffer that a node of this graph uses",
                           transient.index, transient.graph);
    *out_offset = plan->offsets[transient.index];
    return BRAID_OK;
}
