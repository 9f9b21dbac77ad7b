// SPDX-License-Identifier: Apache-2.0
// Reads the tasks of an island: the kernels they call, how its lanes lie in blocks and groups, and
// where arguments lie.
#include "islands/gpu_island_maker.h"

#include <stdlib.h>

#include "backends/driver_graph/driver_graph_islands.h"
#include "base/error.h"
#include "base/node_text.h"
#include "islands/gpu_island_kernel.h"
#include "islands/gpu_island_move.h"

enum {
    MOST_BARRIERS = 14, // for groups of more than a warp, which each have one or two of 16
    MOST_WARPS = 32,
    MOST_SMALL = 30000,     // bytes of all such arguments
    LEAST_THREADS = 128,    // that load the lists and arguments
    LISTS_BYTES = 64 << 10, // shared memory that lists and arguments may have
    OTHER_PARAMETERS = 96,  // bytes that the kernel's other parameters take
    MOST_ARGUMENTS = 32764,
    MOST_ARGUMENTS_BEFORE_12_1 = 4096,
    WARP = 32,
};

static uint64_t volume(braid_dim3 size)
{
    return (uint64_t)size.x * size.y * size.z;
}

braid_status braid_gpu_island_refuse(const struct backend_task *task, const char *reason)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s cannot be in an island: %s",
                       braid_node_text(task->node, task->name).text, reason);
}

static uint32_t find_module(struct gpu_island_maker *maker, const char *text)
{
    for (uint32_t i = 0; i < maker->num_modules; i++) {
        if (maker->modules[i] == text)
            return i;
    }
    maker->modules[maker->num_modules] = text;
    return maker->num_modules++;
}

static uint32_t find_kernel(struct gpu_island_maker *maker, const struct backend_launch *launch,
                            const struct gpu_callable *callable)
{
    for (uint32_t i = 0; i < maker->num_kernels; i++) {
        if (maker->loaded[i] == gpu_kernel_from(launch->kernel))
            return i;
    }
    maker->kernels[maker->num_kernels] =
        (struct island_kernel){ .module = find_module(maker, callable->text),
                                .entry = callable->entry,
                                .needs = &callable->needs };
    maker->loaded[maker->num_kernels] = gpu_kernel_from(launch->kernel);
    return maker->num_kernels++;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void note_call(struct gpu_island_maker *maker, const struct backend_launch *launch,
                      const struct gpu_callable *callable)
{
    const struct ptx_callable *needs = &callable->needs;
    struct island_layout *layout = &maker->island->layout;
    uint32_t threads = (uint32_t)volume(launch->block), blocks = (uint32_t)volume(launch->grid);
    maker->barriers |= needs->barriers;
    maker->is_partial |= needs->is_partial;
    maker->is_plain &= needs->is_plain;
    maker->most_threads = larger(maker->most_threads, threads);
    maker->least_threads = smaller(maker->least_threads, threads);
    maker->most_blocks = larger(maker->most_blocks, blocks);
    maker->most_arg_bytes = larger(maker->most_arg_bytes, braid_island_arg_bytes(launch));
    layout->flat &= launch->block.y == 1 && launch->block.z == 1;
    layout->numbers |= needs->numbers;
    layout->lane_shared = larger(layout->lane_shared, braid_gpu_callable_shared(callable, launch));
}

static braid_status read_call(struct gpu_island_maker *maker, uint32_t index)
{
    struct island_call *call = &maker->island->lists.calls[index];
    if (!call->task) { // a call that runs nothing
        maker->least_threads = 0;
        return BRAID_OK;
    }
    struct island_move move;
    const struct gpu_callable *callable;
    const struct backend_launch *launch = braid_island_launch_of(call->task, &move);
    maker->island->cancelled = call->task->cancelled_there; // the same for all tasks
    braid_status status =
        braid_gpu_find_callable(maker->gpu, gpu_kernel_from(launch->kernel), &callable);
    const char *reason = status ? NULL : braid_gpu_callable_refuse(callable, launch);
    if (reason)
        status = braid_gpu_island_refuse(call->task, reason);
    if (status)
        return status;
    maker->entry_of[index] = find_kernel(maker, launch, callable);
    call->fences = callable->needs.fences;
    call->grid = launch->grid;
    note_call(maker, launch, callable);
    return BRAID_OK;
}

braid_status braid_gpu_island_read_calls(struct gpu_island_maker *maker)
{
    braid_status status = BRAID_OK;
    maker->island->layout.flat = true;
    for (uint32_t i = 0; i < maker->island->lists.num_calls && !status; i++)
        status = read_call(maker, i);
    return status;
}

// How many bytes each call's arguments take so that they can be loaded at once.
static uint32_t small_args(const struct gpu_island_maker *maker)
{
    uint32_t most = maker->most_arg_bytes, bytes = most <= 4 ? 4 : most <= 8 ? 8 : 16;
    bool has_room = (uint64_t)maker->island->lists.num_calls * bytes <= MOST_SMALL;
    bool narrow = maker->most_blocks <= 1 && !maker->island->layout.grids_vary;
    return most <= 16 && narrow && has_room && maker->is_plain ? bytes : 0;
}

// Each number of kernels' barriers is one for each lane, behind those where lanes meet themselves.
static uint32_t most_by_barriers(const struct island_layout *layout)
{
    uint32_t num = 1;
    for (uint32_t bits = layout->apart ? layout->numbers : 0; bits; bits &= bits - 1)
        num++;
    return MOST_BARRIERS / num;
}

// So many lanes of a block have their shared memory beside lists and arguments.
static uint32_t most_by_memory(const struct gpu_island_maker *maker)
{
    uint32_t each = maker->island->layout.lane_shared;
    int most = maker->gpu->attributes[GPU_MAX_SHARED_OPTIN];
    if (most <= 0)
        most = maker->gpu->attributes[GPU_MAX_SHARED];
    if (each > ISLAND_MOST_SHARED || most < LISTS_BYTES)
        return 1;
    return each ? larger((uint32_t)(most - LISTS_BYTES) / each, 1) : ISLAND_MOST_THREADS;
}

braid_status braid_gpu_island_lay_out(struct gpu_island_maker *maker, bool chain)
{
    struct island_layout *layout = &maker->island->layout;
    uint32_t lanes = maker->island->lists.num_lanes;
    uint32_t group = (maker->most_threads + WARP - 1) / WARP * WARP;
    group = group ? group : WARP;
    layout->whole = maker->least_threads == group;
    bool is_alike = layout->whole && layout->numbers == 1 && !maker->is_partial;
    layout->apart = maker->barriers && !is_alike && group != WARP;
    uint32_t most =
        smaller(ISLAND_MOST_THREADS / group, group == WARP ? MOST_WARPS : most_by_barriers(layout));
    most = smaller(most, most_by_memory(maker));
    if (most == 0)
        return braid_error(BRAID_UNSUPPORTED,
                           "the kernels of an island have more barriers than it has");
    uint32_t units = (uint32_t)maker->gpu->attributes[GPU_NUM_UNITS];
    layout->group_threads = group;
    layout->chain = chain;
    layout->timed = maker->island->lists.timed;
    layout->loops = maker->island->lists.num_scopes > 0;
    layout->cancels = maker->island->cancelled;
    layout->early = maker->gpu->attributes[GPU_MAJOR] >= 9;
    layout->num_blocks = 1;
    layout->wide = maker->most_blocks > 1 || layout->grids_vary;
    layout->small = small_args(maker);
    if (chain) {
        layout->num_groups = smaller(most, maker->most_blocks ? maker->most_blocks : 1);
    } else if (lanes <= most) {
        layout->num_groups = lanes;
    } else {
        layout->num_groups = smaller(most, (lanes + units - 1) / units);
        layout->num_blocks = (lanes + layout->num_groups - 1) / layout->num_groups;
    }
    layout->num_at_once = (layout->num_blocks + units - 1) / units;
    layout->num_threads = layout->num_groups * group;
    if (layout->num_threads < LEAST_THREADS && !(chain && layout->num_groups > 1))
        layout->num_threads = LEAST_THREADS;
    if (lanes > 4096)
        return braid_error(BRAID_UNSUPPORTED, "an island has at most 4096 lanes, not %u", lanes);
    return BRAID_OK;
}

// In one step.
static uint32_t longest_lane(const struct island_lists *lists)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < lists->num_lanes * braid_island_count_steps(lists); k++) {
        struct island_range range =
            braid_island_range(lists, k / lists->num_lanes, k % lists->num_lanes);
        uint32_t num = 0;
        for (uint32_t i = range.first; i < range.end; i++)
            num += lists->calls[i].publishes;
        most = larger(most, num);
    }
    return most;
}

// Graphs of about the same size get the same code so; by a quarter at most.
static uint64_t round_units(uint64_t units, uint64_t most)
{
    uint64_t step = 1;
    while (units > 8 * step)
        step *= 2;
    uint64_t rounded = (units + step - 1) / step * step;
    return rounded < most ? rounded : most;
}

braid_status braid_gpu_island_lay_out_args(struct gpu_island_maker *maker)
{
    struct gpu_island *island = maker->island;
    uint64_t at = 0;
    for (uint32_t i = 0; i < island->lists.num_calls; i++) {
        const struct backend_task *task = island->lists.calls[i].task;
        if (island->layout.grids_vary)
            at = (at + 15) / 16 * 16 + ISLAND_GRID_BYTES;
        island->args_of[i] = (uint32_t)at;
        if (!task)
            continue;
        struct island_move move;
        uint32_t bytes = braid_island_arg_bytes(braid_island_launch_of(task, &move));
        uint32_t align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
        align = island->layout.small ? island->layout.small : align;
        at = (at + align - 1) / align * align;
        island->args_of[i] = (uint32_t)at;
        at += bytes;
        if (at > UINT32_MAX / 2)
            break;
    }
    at = (at + 15) / 16 * 16;
    island->scopes_at = (uint32_t)at;
    uint64_t units = at / 16 + 1 + island->lists.num_scopes * sizeof(struct island_scope) / 16;
    bool many = maker->gpu->version >= 12010;
    int limit = many ? MOST_ARGUMENTS : MOST_ARGUMENTS_BEFORE_12_1;
    uint64_t most = (uint64_t)(limit - OTHER_PARAMETERS) / 16;
    if (units > most)
        return braid_error(BRAID_UNSUPPORTED,
                           "the arguments of an island take %llu bytes, and a kernel has room for "
                           "%d",
                           (unsigned long long)(16 * units), limit - OTHER_PARAMETERS);
    units = round_units(units, most);
    island->layout.num_args = (uint32_t)units;
    island->layout.span = longest_lane(&island->lists) + 1;
    island->args = calloc(units, 16);
    return island->args ? BRAID_OK : braid_error_no_memory("an island");
}
