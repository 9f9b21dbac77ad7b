// SPDX-License-Identifier: Apache-2.0
// Reads the tasks of an island: the kernels they call, how its lanes lie in blocks and groups, and
// where arguments lie.
#include "backends/gpu/gpu_island_maker.h"

#include <stdlib.h>

#include "backends/gpu/gpu_island_move.h"
#include "base/error.h"
#include "base/node_text.h"

enum {
    MOST_BARRIERS = 14, // of groups of more than a warp, which each have one or two of 16
    MOST_WARPS = 32,
    MOST_SMALL = 30000,    // bytes of all such arguments
    LEAST_THREADS = 128,   // that load the lists and arguments
    OTHER_PARAMETERS = 64, // bytes that the kernel's other parameters take at most
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

static braid_status find_source(struct gpu_island_maker *maker, const struct backend_task *task,
                                const struct backend_launch *launch, uint32_t *out_source)
{
    const char *text = gpu_kernel_from(launch->kernel)->code.source, *reason = NULL;
    for (uint32_t i = 0; i < maker->num_sources; i++) {
        *out_source = i;
        if (maker->source_texts[i] == text)
            return BRAID_OK;
    }
    if (!braid_island_source_read(text, &maker->sources[maker->num_sources], &reason))
        return reason ? braid_gpu_island_refuse(task, reason) : braid_error_no_memory("an island");
    maker->source_texts[maker->num_sources] = text;
    *out_source = maker->num_sources++;
    return BRAID_OK;
}

static braid_status find_kernel(struct gpu_island_maker *maker, const struct backend_task *task,
                                const struct backend_launch *launch, uint32_t *out_kernel)
{
    for (uint32_t i = 0; i < maker->num_kernels; i++) {
        *out_kernel = i;
        if (maker->loaded[i] == gpu_kernel_from(launch->kernel))
            return BRAID_OK;
    }
    uint32_t source = 0;
    braid_status status = find_source(maker, task, launch, &source);
    if (status)
        return status;
    maker->kernels[maker->num_kernels] = (struct island_kernel){
        .source = source,
        .name = gpu_kernel_from(launch->kernel)->entry,
        .arg_bytes = launch->arg_bytes,
        .num_args = launch->num_args,
    };
    maker->loaded[maker->num_kernels] = gpu_kernel_from(launch->kernel);
    *out_kernel = maker->num_kernels++;
    return BRAID_OK;
}

static braid_status read_call(struct gpu_island_maker *maker, uint32_t call)
{
    const struct backend_task *task = maker->island->lists.calls[call].task;
    if (!task) { // a call that runs nothing
        maker->least_threads = 0;
        return BRAID_OK;
    }
    const char *reason = NULL;
    struct island_move move;
    const struct backend_launch *launch = braid_island_launch_of(task, &move);
    braid_status status = find_kernel(maker, task, launch, &maker->entry_of[call]);
    if (status)
        return status;
    const struct island_kernel *kernel = &maker->kernels[maker->entry_of[call]];
    uint64_t threads = volume(launch->block), blocks = volume(launch->grid);
    struct island_facts facts;
    if (!braid_island_entry_fits(&maker->sources[kernel->source], kernel->name, threads, blocks,
                                 &facts, &reason))
        return braid_gpu_island_refuse(task, reason);
    maker->island->lists.calls[call].fences = facts.fences;
    maker->island->lists.calls[call].grid = launch->grid;
    maker->facts.shared |= facts.shared;
    maker->facts.barriers |= facts.barriers;
    maker->most_threads = threads > maker->most_threads ? (uint32_t)threads : maker->most_threads;
    maker->least_threads =
        threads < maker->least_threads ? (uint32_t)threads : maker->least_threads;
    maker->most_blocks = blocks > maker->most_blocks ? (uint32_t)blocks : maker->most_blocks;
    uint32_t bytes = braid_island_arg_bytes(launch);
    maker->most_arg_bytes = bytes > maker->most_arg_bytes ? bytes : maker->most_arg_bytes;
    maker->island->layout.flat &= launch->block.y == 1 && launch->block.z == 1;
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

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// How many bytes each call's arguments take so that they can be loaded at once.
static uint32_t small_args(const struct gpu_island_maker *maker)
{
    uint32_t most = maker->most_arg_bytes, bytes = most <= 4 ? 4 : most <= 8 ? 8 : 16;
    bool has_room = (uint64_t)maker->island->lists.num_calls * bytes <= MOST_SMALL;
    bool narrow = maker->most_blocks <= 1 && !maker->island->layout.grids_vary;
    return most <= 16 && narrow && has_room ? bytes : 0;
}

// Static shared memory is one for the whole block, so kernels that use it run one at a time there.
braid_status braid_gpu_island_lay_out(struct gpu_island_maker *maker, bool chain)
{
    struct island_layout *layout = &maker->island->layout;
    uint32_t lanes = maker->island->lists.num_lanes;
    uint32_t group = (maker->most_threads + WARP - 1) / WARP * WARP;
    group = group ? group : WARP;
    layout->whole = maker->least_threads == group;
    layout->apart = maker->facts.barriers && !layout->whole && group != WARP;
    uint32_t most = smaller(ISLAND_MOST_THREADS / group, group == WARP   ? MOST_WARPS
                                                         : layout->apart ? MOST_BARRIERS / 2
                                                                         : MOST_BARRIERS);
    if (maker->facts.shared)
        most = 1;
    uint32_t units = (uint32_t)maker->gpu->attributes[GPU_NUM_UNITS];
    layout->group_threads = group;
    layout->chain = chain;
    layout->timed = maker->island->lists.timed;
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
    layout->num_threads = layout->num_groups * group;
    if (layout->num_threads < LEAST_THREADS && !(chain && layout->num_groups > 1))
        layout->num_threads = LEAST_THREADS;
    if (lanes > 4096)
        return braid_error(BRAID_UNSUPPORTED, "an island has at most 4096 lanes, not %u", lanes);
    return BRAID_OK;
}

static uint32_t longest_lane(const struct island_lists *lists)
{
    uint32_t most = 0;
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        uint32_t num = 0;
        for (uint32_t i = lists->lane_first[lane]; i < lists->lane_first[lane + 1]; i++)
            num += lists->calls[i].publishes;
        most = num > most ? num : most;
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

braid_status braid_gpu_island_place_args(struct gpu_island_maker *maker)
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
    uint64_t units = at / 16 + 1;
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
