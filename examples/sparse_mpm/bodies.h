// SPDX-License-Identifier: Apache-2.0
// What every kernel does, for the CPU and the GPUs: each body handles the elements first,
// first + stride, first + 2 stride... and reads on the device how many there are.
//
// Part of the device source. Before it, kernels_cpu.c and kernels_gpu.h each define the three
// operations that many threads may do at once on one word:
//     mpm_append(&list, entry)            adds an entry to a list
//     mpm_add_fixed(&sum, value, alone)   adds to a sum; alone: no other thread adds to this grid
//     mpm_add_foam(&foam, amount)         likewise
//     mpm_mark(&flag)                     sets a flag to 1
//     mpm_take(&list)                     takes an entry from a list that is not empty
#ifndef MPM_BODIES_H
#define MPM_BODIES_H

#include "grid.h"

// Where a cell lies: its slot and its place in the slot's block.
typedef struct mpm_place {
    unsigned slot, offset;
} mpm_place;

MPM_SHARED mpm_place mpm_place_of(const mpm_grid *grid, int x, int y)
{
    unsigned column = (unsigned)x, row = (unsigned)y;
    mpm_place place;
    place.slot = row / MPM_BLOCK_SIDE * grid->slots_a_side + column / MPM_BLOCK_SIDE;
    place.offset = row % MPM_BLOCK_SIDE * MPM_BLOCK_SIDE + column % MPM_BLOCK_SIDE;
    return place;
}

// The index in the leaves of a cell that is known to be active.
MPM_SHARED unsigned mpm_active_cell(const mpm_grid *grid, int x, int y)
{
    mpm_place place = mpm_place_of(grid, x, y);
    return grid->block_of[place.slot] * MPM_BLOCK_CELLS + place.offset;
}

// The index in the leaves of any cell, or MPM_NO_BLOCK where the grid has none.
MPM_SHARED unsigned mpm_find(const mpm_grid *grid, int x, int y)
{
    int side = (int)grid->slots_a_side * MPM_BLOCK_SIDE;
    if (x < 0 || y < 0 || x >= side || y >= side)
        return MPM_NO_BLOCK;
    mpm_place place = mpm_place_of(grid, x, y);
    unsigned block = grid->block_of[place.slot];
    return block == MPM_NO_BLOCK ? MPM_NO_BLOCK : block * MPM_BLOCK_CELLS + place.offset;
}

MPM_SHARED mpm_fixed mpm_mass_at(const mpm_grid *grid, int x, int y)
{
    unsigned cell = mpm_find(grid, x, y);
    return cell == MPM_NO_BLOCK ? 0 : grid->cells[cell].mass;
}

// One cell of an element list, seen from a sparse loop.
typedef struct mpm_visit {
    int x, y;
    unsigned cell; // its index in the leaves
} mpm_visit;

MPM_SHARED mpm_visit mpm_visit_of(const mpm_grid *grid, const mpm_list *parts, unsigned index)
{
    unsigned entry = parts->entries[index / MPM_ENTRY_CELLS];
    unsigned slot = entry / MPM_ENTRIES_A_BLOCK, part = entry % MPM_ENTRIES_A_BLOCK;
    unsigned offset = part * MPM_ENTRY_CELLS + index % MPM_ENTRY_CELLS;
    mpm_visit visit;
    visit.x = (int)(slot % grid->slots_a_side * MPM_BLOCK_SIDE + offset % MPM_BLOCK_SIDE);
    visit.y = (int)(slot / grid->slots_a_side * MPM_BLOCK_SIDE + offset / MPM_BLOCK_SIDE);
    visit.cell = grid->block_of[slot] * MPM_BLOCK_CELLS + offset;
    return visit;
}

// Preludes of sparse loops.

MPM_SHARED void mpm_clear_list(mpm_list list, unsigned first)
{
    if (first == 0)
        *list.length = 0;
}

MPM_SHARED void mpm_list_pointers(const mpm_grid *grid, unsigned first, unsigned stride)
{
    for (unsigned slot = first; slot < grid->num_slots; slot += stride)
        if (grid->mask[slot])
            mpm_append(&grid->pointers, slot);
}

MPM_SHARED void mpm_list_parts(const mpm_grid *grid, mpm_list parts, unsigned first,
                               unsigned stride)
{
    unsigned length = *grid->pointers.length * MPM_ENTRIES_A_BLOCK;
    for (unsigned i = first; i < length; i += stride) {
        unsigned slot = grid->pointers.entries[i / MPM_ENTRIES_A_BLOCK];
        mpm_append(&parts, slot * MPM_ENTRIES_A_BLOCK + i % MPM_ENTRIES_A_BLOCK);
    }
}

// Particles to grid.

MPM_SHARED void mpm_clear_cells(const mpm_grid *grid, unsigned first, unsigned stride)
{
    unsigned length = *grid->parts.length * MPM_ENTRY_CELLS;
    const mpm_cell nothing = { 0, 0, 0 };
    for (unsigned i = first; i < length; i += stride)
        grid->cells[mpm_visit_of(grid, &grid->parts, i).cell] = nothing;
}

// Marks the slots of the 3 x 3 cells that a particle touches: one, two or four.
MPM_SHARED void mpm_mark_slots_of(const mpm_grid *grid, mpm_stencil stencil)
{
    unsigned left = (unsigned)stencil.x / MPM_BLOCK_SIDE;
    unsigned right = (unsigned)(stencil.x + 2) / MPM_BLOCK_SIDE;
    unsigned low = (unsigned)stencil.y / MPM_BLOCK_SIDE;
    unsigned high = (unsigned)(stencil.y + 2) / MPM_BLOCK_SIDE;
    for (unsigned row = low; row <= high; row++)
        for (unsigned column = left; column <= right; column++)
            mpm_mark(&grid->mask[row * grid->slots_a_side + column]);
}

MPM_SHARED void mpm_mark_slots(const mpm_grid *grid, const mpm_particle *particles,
                               unsigned num_particles, unsigned first, unsigned stride)
{
    for (unsigned p = first; p < num_particles; p += stride)
        mpm_mark_slots_of(grid, mpm_stencil_at(particles[p].position));
}

// Gives each marked slot a block.
MPM_SHARED void mpm_activate(const mpm_grid *grid, unsigned first, unsigned stride)
{
    for (unsigned slot = first; slot < grid->num_slots; slot += stride)
        if (grid->mask[slot] && grid->block_of[slot] == MPM_NO_BLOCK)
            grid->block_of[slot] = mpm_take(&grid->free);
}

MPM_SHARED void mpm_add_share(mpm_cell *cell, mpm_cell share, int alone)
{
    mpm_add_fixed(&cell->mass, share.mass, alone);
    mpm_add_fixed(&cell->momentum_x, share.momentum_x, alone);
    mpm_add_fixed(&cell->momentum_y, share.momentum_y, alone);
}

MPM_SHARED void mpm_particles_to_grid(const mpm_grid *grid, const mpm_rules *rules,
                                      const mpm_particle *particles, unsigned num_particles,
                                      unsigned first, unsigned stride, int alone)
{
    for (unsigned p = first; p < num_particles; p += stride) {
        mpm_particle particle = particles[p];
        mpm_matrix transfer = mpm_transfer(rules, &particle);
        mpm_stencil stencil = mpm_stencil_at(particle.position);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                mpm_add_share(&grid->cells[mpm_active_cell(grid, stencil.x + i, stencil.y + j)],
                              mpm_share(&particle, &transfer, &stencil, i, j), alone);
    }
}

// The grid.

MPM_SHARED mpm_cell mpm_all_materials(const mpm_grids *grids, int x, int y)
{
    mpm_cell all = { 0, 0, 0 };
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        unsigned cell = mpm_find(&grids->of[m], x, y);
        if (cell == MPM_NO_BLOCK)
            continue;
        all.mass += grids->of[m].cells[cell].mass;
        all.momentum_x += grids->of[m].cells[cell].momentum_x;
        all.momentum_y += grids->of[m].cells[cell].momentum_y;
    }
    return all;
}

MPM_SHARED void mpm_update_cell(const mpm_grids *grids, const mpm_rules *rules, mpm_visit at,
                                mpm_vector gravity)
{
    const mpm_grid *grid = &grids->of[rules->material];
    mpm_fixed neighbours[4] = { 0, 0, 0, 0 };
    mpm_cell own = grid->cells[at.cell], all = mpm_all_materials(grids, at.x, at.y);
    if (own.mass > 0 && all.mass > own.mass) {
        neighbours[0] = mpm_mass_at(grid, at.x - 1, at.y);
        neighbours[1] = mpm_mass_at(grid, at.x + 1, at.y);
        neighbours[2] = mpm_mass_at(grid, at.x, at.y - 1);
        neighbours[3] = mpm_mass_at(grid, at.x, at.y + 1);
    }
    grid->velocity[at.cell] = mpm_cell_velocity(rules, at.x, at.y, own, all, neighbours, gravity);
}

MPM_SHARED void mpm_update_grid(const mpm_grids *grids, const mpm_rules *rules, mpm_vector gravity,
                                unsigned first, unsigned stride)
{
    const mpm_grid *grid = &grids->of[rules->material];
    unsigned length = *grid->parts.length * MPM_ENTRY_CELLS;
    for (unsigned i = first; i < length; i += stride)
        mpm_update_cell(grids, rules, mpm_visit_of(grid, &grid->parts, i), gravity);
}

// Grid to particles.

MPM_SHARED void mpm_grid_to_particles(const mpm_grid *grid, const mpm_rules *rules,
                                      mpm_particle *particles, unsigned num_particles,
                                      unsigned first, unsigned stride)
{
    for (unsigned p = first; p < num_particles; p += stride) {
        mpm_particle particle = particles[p];
        mpm_stencil stencil = mpm_stencil_at(particle.position);
        unsigned home = mpm_active_cell(grid, (int)particle.position.x, (int)particle.position.y);
        mpm_forget_velocity(&particle);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                mpm_gather(&particle, &stencil, i, j,
                           grid->velocity[mpm_active_cell(grid, stencil.x + i, stencil.y + j)]);
        mpm_advance(rules, &particle);
        unsigned foam = mpm_foam_made(rules, &particle);
        if (foam > 0)
            mpm_add_foam(&grid->foam[home], foam);
        particles[p] = particle;
    }
}

// Once a frame: foam fades, and blocks that have become empty go back to the pool.

MPM_SHARED void mpm_fade_foam(const mpm_grid *grid, unsigned first, unsigned stride)
{
    unsigned length = *grid->foam_parts.length * MPM_ENTRY_CELLS;
    for (unsigned i = first; i < length; i += stride) {
        unsigned *foam = &grid->foam[mpm_visit_of(grid, &grid->foam_parts, i).cell];
        *foam = mpm_foam_left(*foam);
    }
}

MPM_SHARED int mpm_block_empty(const mpm_grid *grid, unsigned block)
{
    for (unsigned i = block * MPM_BLOCK_CELLS; i < (block + 1) * MPM_BLOCK_CELLS; i++)
        if (grid->cells[i].mass != 0 || (grid->foam && grid->foam[i] != 0))
            return 0;
    return 1;
}

MPM_SHARED void mpm_deactivate(const mpm_grid *grid, unsigned first, unsigned stride)
{
    for (unsigned i = first; i < *grid->pointers.length; i += stride) {
        unsigned slot = grid->pointers.entries[i], block = grid->block_of[slot];
        if (!mpm_block_empty(grid, block))
            continue;
        grid->mask[slot] = 0;
        grid->block_of[slot] = MPM_NO_BLOCK;
        mpm_append(&grid->recycled, block);
    }
}

// An empty block is all zeros already: giving it back is a move from one list to the other.
MPM_SHARED void mpm_free_recycled(const mpm_grid *grid, unsigned first, unsigned stride)
{
    for (unsigned i = first; i < *grid->recycled.length; i += stride)
        mpm_append(&grid->free, grid->recycled.entries[i]);
}

#endif
