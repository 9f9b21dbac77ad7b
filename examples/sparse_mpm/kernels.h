// SPDX-License-Identifier: Apache-2.0
// The kernels of sparse_mpm, as Braid takes them: a C function and the device source each.
#ifndef MPM_KERNELS_H
#define MPM_KERNELS_H

#include <braid/braid.h>

enum mpm_kernel {
    MPM_CLEAR_LIST,        // list
    MPM_LIST_POINTERS,     // grid
    MPM_LIST_PARTS,        // grid, list
    MPM_CLEAR_CELLS,       // grid
    MPM_MARK_SLOTS,        // grid, particles, num_particles
    MPM_ACTIVATE,          // grid
    MPM_PARTICLES_TO_GRID, // grid, rules, particles, num_particles
    MPM_UPDATE_GRID,       // grids, rules, gravity
    MPM_UPDATE_FROM,       // grids, rules, gravity, block_of of each, cells of each
    MPM_GRID_TO_PARTICLES, // grid, rules, particles, num_particles
    MPM_FADE_FOAM,         // grid
    MPM_DEACTIVATE,        // grid
    MPM_FREE_RECYCLED,     // grid
    MPM_NUM_KERNELS,
};

// Where the arguments of an update_grid node have gravity.
#define MPM_GRAVITY_ARG 2

extern const braid_kernel mpm_kernels[MPM_NUM_KERNELS];

// CUDA C that is also HIP C++: physics.h and the others as the build found them.
extern const char mpm_device_source[];

#endif
