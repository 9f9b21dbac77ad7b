// SPDX-License-Identifier: Apache-2.0
// Making memory plans.
#include "plan/memory/memory_plan.h"

#include "base/array.h"
#include "base/error.h"
#include "plan/memory/lifetimes.h"
#include "plan/memory/pack.h"

static braid_status add_up(const struct lifetimes *lifetimes, struct memory_info *info)
{
    info->alignment = 1;
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        if (lifetimes->bytes[i] > MEMORY_NONE / 2 - info->unshared_bytes)
            return braid_error_invalid("the transient buffers have over 2^63 bytes");
        info->unshared_bytes += lifetimes->bytes[i];
        if (lifetimes->alignments[i] > info->alignment)
            info->alignment = lifetimes->alignments[i];
    }
    return BRAID_OK;
}

// From offsets of blocks to offsets of resources.
static void spread(const braid_graph *graph, const struct lifetimes *lifetimes,
                   const uint64_t *block_offsets, struct memory_plan *plan)
{
    const struct graph_resource *resources = graph->resources.items;
    for (size_t i = 0; i < plan->num_resources; i++) {
        uint32_t block = lifetimes->block_of[i];
        plan->offsets[i] =
            block == LIFETIMES_NONE ? MEMORY_NONE : block_offsets[block] + resources[i].offset;
    }
}

// One behind the other.
static uint64_t lay_out(const struct lifetimes *lifetimes, uint64_t *block_offsets)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        block_offsets[i] = lifetimes_round_up(end, lifetimes->alignments[i]);
        end = block_offsets[i] + lifetimes->bytes[i];
    }
    return end;
}

static braid_status pack_all(const struct lifetimes *lifetimes, struct memory_plan *plan,
                             uint64_t *block_offsets)
{
    uint64_t bound = 0, bytes = 0;
    braid_status status = braid_lifetimes_most_alive(lifetimes, &bound);
    if (!status && plan->is_apart)
        bytes = lay_out(lifetimes, block_offsets);
    else if (!status)
        status = braid_pack(lifetimes, bound, block_offsets, &bytes);
    plan->info.bound_bytes += bound;
    plan->info.arena_bytes += bytes;
    return status;
}

// The blocks of one place, behind those of the places before.
static braid_status pack_place(const struct lifetimes *lifetimes, const uint32_t *chosen,
                               uint32_t num_chosen, struct memory_plan *plan,
                               uint64_t *block_offsets)
{
    struct lifetimes some = { 0 };
    uint64_t begin = plan->info.arena_bytes;
    uint64_t *offsets = braid_allocate_zeroed(num_chosen, sizeof(*offsets));
    braid_status status = offsets ? braid_lifetimes_select(lifetimes, chosen, num_chosen, &some)
                                  : braid_error_no_memory("the memory of a plan");
    if (!status)
        status = pack_all(&some, plan, offsets);
    for (uint32_t i = 0; i < num_chosen && !status; i++)
        block_offsets[chosen[i]] = begin + offsets[i];
    braid_lifetimes_finish(&some);
    free(offsets);
    return status;
}

static braid_status pack_places(const struct lifetimes *lifetimes, const braid_graph *graph,
                                struct memory_plan *plan, uint64_t *block_offsets)
{
    const struct graph_resource *resources = graph->resources.items;
    uint64_t alignment = plan->info.alignment;
    uint32_t *chosen = braid_allocate_zeroed(lifetimes->num, sizeof(*chosen));
    braid_status status = chosen ? BRAID_OK : braid_error_no_memory("the memory of a plan");
    for (uint32_t place = 0; place < plan->num_places && !status; place++) {
        uint32_t num = 0;
        for (uint32_t i = 0; i < lifetimes->num; i++) {
            if (resources[lifetimes->resources[i]].home == place)
                chosen[num++] = i;
        }
        if (num)
            status = pack_place(lifetimes, chosen, num, plan, block_offsets);
        plan->info.arena_bytes = (plan->info.arena_bytes + alignment - 1) / alignment * alignment;
        plan->begins[place + 1] = plan->info.arena_bytes;
    }
    free(chosen);
    return status;
}

static braid_status pack_blocks(const struct lifetimes *lifetimes, const braid_graph *graph,
                                struct memory_plan *plan, uint64_t *block_offsets)
{
    braid_status status = add_up(lifetimes, &plan->info);
    if (status || !lifetimes->num)
        return status;
    if (plan->num_places > 1)
        return pack_places(lifetimes, graph, plan, block_offsets);
    status = pack_all(lifetimes, plan, block_offsets);
    plan->begins[1] = plan->info.arena_bytes;
    return status;
}

static braid_status pack(const struct lifetimes *lifetimes, const braid_graph *graph,
                         struct memory_plan *plan)
{
    uint64_t *block_offsets = braid_allocate_zeroed(lifetimes->num, sizeof(uint64_t));
    plan->num_resources = graph->resources.num;
    plan->offsets = braid_allocate_zeroed(plan->num_resources, sizeof(uint64_t));
    plan->begins = braid_allocate_zeroed((size_t)plan->num_places + 1, sizeof(uint64_t));
    braid_status status = block_offsets && plan->offsets && plan->begins
                              ? pack_blocks(lifetimes, graph, plan, block_offsets)
                              : braid_error_no_memory("the memory of a plan");
    if (!status)
        spread(graph, lifetimes, block_offsets, plan);
    free(block_offsets);
    return status;
}

braid_status braid_memory_plan_create(const braid_schedule *schedule, const braid_graph *graph,
                                      bool is_apart, struct memory_plan *out_plan)
{
    struct memory_plan plan = {
        .is_apart = is_apart,
        .num_places = schedule->placed ? schedule->placed->model.num_places : 1,
    };
    struct lifetimes lifetimes = { 0 };
    braid_status status = braid_lifetimes_create(schedule, graph, &lifetimes);
    if (!status && lifetimes.num)
        status = braid_settle(schedule, &lifetimes);
    if (!status)
        status = pack(&lifetimes, graph, &plan);
    braid_lifetimes_finish(&lifetimes);
    if (status)
        braid_memory_plan_finish(&plan);
    else
        *out_plan = plan;
    return status;
}

void braid_memory_plan_finish(struct memory_plan *plan)
{
    free(plan->offsets);
    free(plan->begins);
    *plan = (struct memory_plan){ 0 };
}
