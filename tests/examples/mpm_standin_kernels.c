// SPDX-License-Identifier: Apache-2.0
// The kernels of sparse_mpm under the names by which a driver that stands in for a GPU looks for
// them.
#include "kernels.h"

// standin_kernel.h has it as a pointer.
typedef void standin_function(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args);

BRAID_API standin_function braid_standin_clear_list, braid_standin_list_pointers,
    braid_standin_list_parts, braid_standin_clear_cells, braid_standin_mark_slots,
    braid_standin_activate, braid_standin_particles_to_grid, braid_standin_update_grid,
    braid_standin_grid_to_particles, braid_standin_fade_foam, braid_standin_deactivate,
    braid_standin_free_recycled;

// The kernels for the CPU take the same arguments as those for a GPU.
static void run_grid(enum mpm_kernel kernel, const unsigned grid[3], const unsigned block[3],
                     unsigned shared_bytes, void **args)
{
    (void)shared_bytes;
    braid_blocks blocks = { .begin = 0,
                            .end = (uint64_t)grid[0] * grid[1] * grid[2],
                            .grid = { grid[0], grid[1], grid[2] },
                            .block = { block[0], block[1], block[2] } };
    mpm_kernels[kernel].cpu(&blocks, args);
}

void braid_standin_clear_list(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    run_grid(MPM_CLEAR_LIST, grid, block, shared_bytes, args);
}

void braid_standin_list_pointers(const unsigned grid[3], const unsigned block[3],
                                 unsigned shared_bytes, void **args)
{
    run_grid(MPM_LIST_POINTERS, grid, block, shared_bytes, args);
}

void braid_standin_list_parts(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    run_grid(MPM_LIST_PARTS, grid, block, shared_bytes, args);
}

void braid_standin_clear_cells(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    run_grid(MPM_CLEAR_CELLS, grid, block, shared_bytes, args);
}

void braid_standin_mark_slots(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    run_grid(MPM_MARK_SLOTS, grid, block, shared_bytes, args);
}

void braid_standin_activate(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                            void **args)
{
    run_grid(MPM_ACTIVATE, grid, block, shared_bytes, args);
}

void braid_standin_particles_to_grid(const unsigned grid[3], const unsigned block[3],
                                     unsigned shared_bytes, void **args)
{
    run_grid(MPM_PARTICLES_TO_GRID, grid, block, shared_bytes, args);
}

void braid_standin_update_grid(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    run_grid(MPM_UPDATE_GRID, grid, block, shared_bytes, args);
}

void braid_standin_grid_to_particles(const unsigned grid[3], const unsigned block[3],
                                     unsigned shared_bytes, void **args)
{
    run_grid(MPM_GRID_TO_PARTICLES, grid, block, shared_bytes, args);
}

void braid_standin_fade_foam(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args)
{
    run_grid(MPM_FADE_FOAM, grid, block, shared_bytes, args);
}

void braid_standin_deactivate(const unsigned grid[3], const unsigned block[3],
                              unsigned shared_bytes, void **args)
{
    run_grid(MPM_DEACTIVATE, grid, block, shared_bytes, args);
}

void braid_standin_free_recycled(const unsigned grid[3], const unsigned block[3],
                                 unsigned shared_bytes, void **args)
{
    run_grid(MPM_FREE_RECYCLED, grid, block, shared_bytes, args);
}
