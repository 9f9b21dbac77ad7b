// SPDX-License-Identifier: Apache-2.0
// The end of the device source: CUDA C that is also HIP C++, compiled when an exec is created.
//
// The build puts device_start.h, physics.h, grid.h, bodies.h and this file into one string.

#define MPM_FIRST (blockIdx.x * blockDim.x + threadIdx.x)
#define MPM_STRIDE (gridDim.x * blockDim.x)

extern "C" __global__ void clear_list(mpm_list list)
{
    mpm_clear_list(list, MPM_FIRST);
}

extern "C" __global__ void list_pointers(mpm_grid grid)
{
    mpm_list_pointers(&grid, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void list_parts(mpm_grid grid, mpm_list parts)
{
    mpm_list_parts(&grid, parts, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void clear_cells(mpm_grid grid)
{
    mpm_clear_cells(&grid, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void mark_slots(mpm_grid grid, const mpm_particle *particles,
                                      unsigned num_particles)
{
    mpm_mark_slots(&grid, particles, num_particles, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void activate(mpm_grid grid)
{
    mpm_activate(&grid, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void particles_to_grid(mpm_grid grid, mpm_rules rules,
                                             const mpm_particle *particles, unsigned num_particles)
{
    mpm_particles_to_grid(&grid, &rules, particles, num_particles, MPM_FIRST, MPM_STRIDE, 0);
}

extern "C" __global__ void update_grid(mpm_grids grids, mpm_rules rules, mpm_vector gravity)
{
    mpm_update_grid(&grids, &rules, gravity, MPM_FIRST, MPM_STRIDE);
}

// Blocks and cells of each material are where the plan says.
extern "C" __global__ void update_grid_from(mpm_grids grids, mpm_rules rules, mpm_vector gravity,
                                            unsigned *blocks0, unsigned *blocks1, unsigned *blocks2,
                                            mpm_cell *cells0, mpm_cell *cells1, mpm_cell *cells2)
{
    grids.of[0].block_of = blocks0, grids.of[1].block_of = blocks1, grids.of[2].block_of = blocks2;
    grids.of[0].cells = cells0, grids.of[1].cells = cells1, grids.of[2].cells = cells2;
    mpm_update_grid(&grids, &rules, gravity, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void grid_to_particles(mpm_grid grid, mpm_rules rules,
                                             mpm_particle *particles, unsigned num_particles)
{
    mpm_grid_to_particles(&grid, &rules, particles, num_particles, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void fade_foam(mpm_grid grid)
{
    mpm_fade_foam(&grid, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void deactivate(mpm_grid grid)
{
    mpm_deactivate(&grid, MPM_FIRST, MPM_STRIDE);
}

extern "C" __global__ void free_recycled(mpm_grid grid)
{
    mpm_free_recycled(&grid, MPM_FIRST, MPM_STRIDE);
}
