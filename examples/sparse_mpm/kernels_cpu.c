// SPDX-License-Identifier: Apache-2.0
// The kernels on the CPU: each does the threads of some blocks, one after the other.
#include "kernels.h"

#include "host_words.h"

#include "bodies.h"

// The threads of some blocks, numbered over the whole grid.
struct threads {
    unsigned begin, end, stride;
};

static struct threads threads_of(const braid_blocks *blocks)
{
    unsigned block = blocks->block.x;
    return (struct threads){ (unsigned)blocks->begin * block, (unsigned)blocks->end * block,
                             blocks->grid.x * block };
}

static void clear_list(const braid_blocks *blocks, void *const *args)
{
    const mpm_list *list = args[0];
    mpm_clear_list(*list, threads_of(blocks).begin);
}

static void list_pointers(const braid_blocks *blocks, void *const *args)
{
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_list_pointers(args[0], first, threads.stride);
}

static void list_parts(const braid_blocks *blocks, void *const *args)
{
    const mpm_list *parts = args[1];
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_list_parts(args[0], *parts, first, threads.stride);
}

static void clear_cells(const braid_blocks *blocks, void *const *args)
{
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_clear_cells(args[0], first, threads.stride);
}

static void mark_slots(const braid_blocks *blocks, void *const *args)
{
    const mpm_particle *const *particles = args[1];
    const unsigned *num_particles = args[2];
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_mark_slots(args[0], *particles, *num_particles, first, threads.stride);
}

static void activate(const braid_blocks *blocks, void *const *args)
{
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_activate(args[0], first, threads.stride);
}

// A grid of one block cannot be split over workers, so it needs no atomic sums.
static void particles_to_grid(const braid_blocks *blocks, void *const *args)
{
    const mpm_particle *const *particles = args[2];
    const unsigned *num_particles = args[3];
    struct threads threads = threads_of(blocks);
    if (blocks->grid.x == 1) {
        mpm_particles_to_grid(args[0], args[1], *particles, *num_particles, 0, 1, 1);
        return;
    }
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_particles_to_grid(args[0], args[1], *particles, *num_particles, first, threads.stride,
                              0);
}

static void update_grid(const braid_blocks *blocks, void *const *args)
{
    const mpm_vector *gravity = args[MPM_GRAVITY_ARG];
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_update_grid(args[0], args[1], *gravity, first, threads.stride);
}

static void update_grid_from(const braid_blocks *blocks, void *const *args)
{
    const mpm_vector *gravity = args[MPM_GRAVITY_ARG];
    mpm_grids grids = *(const mpm_grids *)args[0];
    struct threads threads = threads_of(blocks);
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        grids.of[m].block_of = *(unsigned *const *)args[MPM_GRAVITY_ARG + 1 + m];
        grids.of[m].cells = *(mpm_cell *const *)args[MPM_GRAVITY_ARG + 1 + MPM_NUM_MATERIALS + m];
    }
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_update_grid(&grids, args[1], *gravity, first, threads.stride);
}

static void grid_to_particles(const braid_blocks *blocks, void *const *args)
{
    mpm_particle *const *particles = args[2];
    const unsigned *num_particles = args[3];
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_grid_to_particles(args[0], args[1], *particles, *num_particles, first, threads.stride);
}

static void fade_foam(const braid_blocks *blocks, void *const *args)
{
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_fade_foam(args[0], first, threads.stride);
}

static void deactivate(const braid_blocks *blocks, void *const *args)
{
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_deactivate(args[0], first, threads.stride);
}

static void free_recycled(const braid_blocks *blocks, void *const *args)
{
    struct threads threads = threads_of(blocks);
    for (unsigned first = threads.begin; first < threads.end; first++)
        mpm_free_recycled(args[0], first, threads.stride);
}

const braid_kernel mpm_kernels[MPM_NUM_KERNELS] = {
    [MPM_CLEAR_LIST] = { .name = "clear_list", .cpu = clear_list, .source = mpm_device_source },
    [MPM_LIST_POINTERS] = { .name = "list_pointers",
                            .cpu = list_pointers,
                            .source = mpm_device_source },
    [MPM_LIST_PARTS] = { .name = "list_parts", .cpu = list_parts, .source = mpm_device_source },
    [MPM_CLEAR_CELLS] = { .name = "clear_cells", .cpu = clear_cells, .source = mpm_device_source },
    [MPM_MARK_SLOTS] = { .name = "mark_slots", .cpu = mark_slots, .source = mpm_device_source },
    [MPM_ACTIVATE] = { .name = "activate", .cpu = activate, .source = mpm_device_source },
    [MPM_PARTICLES_TO_GRID] = { .name = "particles_to_grid",
                                .cpu = particles_to_grid,
                                .source = mpm_device_source },
    [MPM_UPDATE_GRID] = { .name = "update_grid", .cpu = update_grid, .source = mpm_device_source },
    [MPM_UPDATE_FROM] = { .name = "update_grid_from",
                          .cpu = update_grid_from,
                          .source = mpm_device_source },
    [MPM_GRID_TO_PARTICLES] = { .name = "grid_to_particles",
                                .cpu = grid_to_particles,
                                .source = mpm_device_source },
    [MPM_FADE_FOAM] = { .name = "fade_foam", .cpu = fade_foam, .source = mpm_device_source },
    [MPM_DEACTIVATE] = { .name = "deactivate", .cpu = deactivate, .source = mpm_device_source },
    [MPM_FREE_RECYCLED] = { .name = "free_recycled",
                            .cpu = free_recycled,
                            .source = mpm_device_source },
};
