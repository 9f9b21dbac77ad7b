// SPDX-License-Identifier: Apache-2.0
// How long a kernel takes as a call inside an island, where few of its blocks run side by side.
#include "islands/plan_inside.h"

enum {
    WARP = 32,           // threads
    MOST_THREADS = 1024, // in a block of the island
    MOST_GROUPS = 14,    // groups of more than a warp, which each have one of 16 barriers
    LEAST_A_BLOCK = 64,  // threads that a block counts for, as in plan_costs.c
};

#define LONGEST_NS ((uint64_t)INT64_MAX / 2)

void braid_plan_block_add(struct plan_block *block, const struct island_fit *fit)
{
    if (!fit->is_empty && fit->threads > block->threads)
        block->threads = fit->threads;
    block->runs_alone |= fit->runs_alone;
}

// As braid_gpu_island_lay_out lays them out: whole warps, and barriers for more than one.
uint32_t braid_plan_groups_of_a_block(struct plan_block block)
{
    uint32_t threads = block.threads < MOST_THREADS ? block.threads : MOST_THREADS;
    uint32_t group = threads ? (threads + WARP - 1) / WARP * WARP : WARP;
    uint32_t groups = MOST_THREADS / group;
    if (block.runs_alone)
        return 1;
    return group > WARP && groups > MOST_GROUPS ? MOST_GROUPS : groups;
}

uint32_t braid_plan_groups_of(const struct island_fit *fits, uint32_t num)
{
    struct plan_block block = { 0 };
    for (uint32_t i = 0; i < num; i++)
        braid_plan_block_add(&block, &fits[i]);
    return braid_plan_groups_of_a_block(block);
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return value / by + (value % by != 0);
}

// How often the blocks of a kernel would fill the device. A block alone takes one part in so many
// of the kernel's time.
static uint64_t waves_of(const struct island_fit *fit, const struct plan_room *room)
{
    uint64_t threads = fit->threads > LEAST_A_BLOCK ? fit->threads : LEAST_A_BLOCK;
    uint64_t at_once = room->max_threads / threads;
    return at_once && fit->blocks > at_once ? divide_up(fit->blocks, at_once) : 1;
}

// A round takes as long as a block alone. If that is next to nothing, it takes the time that a
// launch hides otherwise. So it does for a copy or fill: the driver's way of doing it tells nothing
// of the further rounds.
static uint64_t rounds_ns(const struct island_fit *fit, const struct plan_room *room,
                          uint64_t cost_ns, uint64_t num_rounds)
{
    uint64_t block_ns = cost_ns / waves_of(fit, room), ns;
    uint64_t more_ns = block_ns > room->round_ns && !fit->is_move ? block_ns : room->round_ns;
    if (num_rounds < 2)
        return cost_ns;
    if (__builtin_mul_overflow(more_ns, num_rounds - 1, &ns) || ns > LONGEST_NS / 2 ||
        block_ns > LONGEST_NS / 2)
        return LONGEST_NS;
    return block_ns + ns;
}

uint64_t braid_plan_inside_ns(const struct island_fit *fit, const struct plan_room *room,
                              uint64_t cost_ns)
{
    if (fit->is_empty || fit->why_not)
        return cost_ns;
    return rounds_ns(fit, room, cost_ns, divide_up(fit->blocks, room->groups));
}
