// SPDX-License-Identifier: Apache-2.0
// The two-level sparse grid of one material: pointer blocks over dense cells.
//
// Part of the device source too. The root is a square of slots. A slot whose mask is set points to
// a dense block of 8 x 8 cells out of a pool; all other slots take no cells. A sparse loop visits
// the active cells only: it strides over an element list that its preludes have just made, and
// reads the list's length on the device, so the host never needs to know it.
#ifndef MPM_GRID_H
#define MPM_GRID_H

#include "physics.h"

#define MPM_BLOCK_SIDE 8
#define MPM_BLOCK_CELLS (MPM_BLOCK_SIDE * MPM_BLOCK_SIDE)

// An entry of a cell list covers this many cells: two rows of a block.
#define MPM_ENTRY_CELLS 16
#define MPM_ENTRIES_A_BLOCK (MPM_BLOCK_CELLS / MPM_ENTRY_CELLS)

#define MPM_NO_BLOCK 0xffffffffu

typedef struct mpm_list {
    unsigned *length;
    unsigned *entries;
} mpm_list;

typedef struct mpm_grid {
    unsigned slots_a_side, num_slots;
    unsigned *mask;       // by slot: 1 when it is active
    unsigned *block_of;   // by slot: its block, or MPM_NO_BLOCK
    mpm_list free;        // the allocator: blocks that no slot points to
    mpm_list recycled;    // blocks given back, not yet free
    mpm_list pointers;    // active slots
    mpm_list parts;       // slot * MPM_ENTRIES_A_BLOCK + part, of the blocks of cells
    mpm_list foam_parts;  // the same for the second leaf under the pointers, foam; water only
    mpm_cell *cells;      // leaf 1 by block: what the particles have added
    mpm_vector *velocity; // leaf 1 by block: what the grid makes of it
    unsigned *foam;       // leaf 2 by block; water only, else NULL
} mpm_grid;

// All grids, for loops that look at the other materials in a cell.
typedef struct mpm_grids {
    mpm_grid of[MPM_NUM_MATERIALS];
} mpm_grids;

#endif
