// SPDX-License-Identifier: Apache-2.0
// Allocates, fills and reads back the simulation's memory.
#include "world.h"

#include <stdlib.h>

#include "../check.h"

static void *allocate(struct mpm_world *world, size_t bytes)
{
    void *memory;
    CHECK(braid_memory_allocate(world->device, BRAID_MEMORY_DEVICE, bytes, &memory));
    world->memories[world->num_memories++] = memory;
    return memory;
}

// num_words words, each `value`.
static unsigned *allocate_words(struct mpm_world *world, size_t num_words, unsigned value)
{
    unsigned *words = allocate(world, num_words * sizeof(*words));
    CHECK(braid_stream_fill(world->device, NULL, words, value, sizeof(*words), num_words));
    return words;
}

static mpm_list allocate_list(struct mpm_world *world, size_t max_entries)
{
    return (mpm_list){ allocate_words(world, 1, 0), allocate_words(world, max_entries, 0) };
}

static void upload(const struct mpm_world *world, void *to, const void *from, size_t bytes)
{
    CHECK(braid_stream_copy(world->device, NULL, to, from, bytes));
    CHECK(braid_stream_synchronize(world->device, NULL));
}

// All blocks of the pool are free: as many as slots, so that no activation can fail.
static void fill_pool(struct mpm_world *world, const mpm_grid *grid)
{
    unsigned *blocks = check_memory(calloc(grid->num_slots, sizeof(*blocks)));
    for (unsigned i = 0; i < grid->num_slots; i++)
        blocks[i] = i;
    upload(world, grid->free.entries, blocks, grid->num_slots * sizeof(*blocks));
    upload(world, grid->free.length, &grid->num_slots, sizeof(grid->num_slots));
    free(blocks);
}

static void init_grid(struct mpm_world *world, int material)
{
    unsigned side = (unsigned)world->scene->num_cells / MPM_BLOCK_SIDE;
    size_t slots = (size_t)side * side, cells = slots * MPM_BLOCK_CELLS;
    mpm_grid *grid = &world->grids.of[material];
    *grid = (mpm_grid){ .slots_a_side = side, .num_slots = (unsigned)slots };
    grid->mask = allocate_words(world, slots, 0);
    grid->block_of = allocate_words(world, slots, MPM_NO_BLOCK);
    grid->free = allocate_list(world, slots);
    grid->recycled = allocate_list(world, slots);
    grid->pointers = allocate_list(world, slots);
    grid->parts = allocate_list(world, slots * MPM_ENTRIES_A_BLOCK);
    // All zero bits are zero in a cell and in a vector too.
    grid->cells =
        (mpm_cell *)(void *)allocate_words(world, cells * sizeof(mpm_cell) / sizeof(unsigned), 0);
    grid->velocity = (mpm_vector *)(void *)allocate_words(
        world, cells * sizeof(mpm_vector) / sizeof(unsigned), 0);
    if (material == MPM_WATER) {
        grid->foam_parts = allocate_list(world, slots * MPM_ENTRIES_A_BLOCK);
        grid->foam = allocate_words(world, cells, 0);
    }
    fill_pool(world, grid);
}

void mpm_world_init(struct mpm_world *world, braid_device *device, const struct mpm_scene *scene)
{
    *world = (struct mpm_world){ .device = device, .scene = scene };
    for (int m = 0; m < MPM_NUM_MATERIALS; m++) {
        size_t bytes = scene->num_particles[m] * sizeof(mpm_particle);
        init_grid(world, m);
        world->particles[m] = allocate(world, bytes);
        upload(world, world->particles[m], scene->particles[m], bytes);
    }
}

void mpm_world_finish(struct mpm_world *world)
{
    for (uint32_t i = 0; i < world->num_memories; i++)
        braid_memory_free(world->device, BRAID_MEMORY_DEVICE, world->memories[i]);
}

// Copies device memory to new host memory.
static void *download(const struct mpm_world *world, const void *from, size_t bytes)
{
    void *memory = check_memory(malloc(bytes));
    CHECK(braid_stream_copy(world->device, NULL, memory, from, bytes));
    CHECK(braid_stream_synchronize(world->device, NULL));
    return memory;
}

static unsigned *read_foam(const struct mpm_world *world)
{
    const mpm_grid *grid = &world->grids.of[MPM_WATER];
    size_t num_cells = (size_t)grid->num_slots * MPM_BLOCK_CELLS,
           width = (size_t)world->scene->num_cells;
    unsigned *block_of = download(world, grid->block_of, grid->num_slots * sizeof(*block_of));
    unsigned *leaves = download(world, grid->foam, num_cells * sizeof(*leaves));
    unsigned *foam = check_memory(calloc(num_cells, sizeof(*foam)));
    for (size_t i = 0; i < num_cells; i++) {
        size_t x = i % width, y = i / width;
        size_t slot = y / MPM_BLOCK_SIDE * grid->slots_a_side + x / MPM_BLOCK_SIDE;
        size_t offset = y % MPM_BLOCK_SIDE * MPM_BLOCK_SIDE + x % MPM_BLOCK_SIDE;
        if (block_of[slot] != MPM_NO_BLOCK)
            foam[i] = leaves[block_of[slot] * (size_t)MPM_BLOCK_CELLS + offset];
    }
    free(leaves);
    free(block_of);
    return foam;
}

void mpm_world_read(const struct mpm_world *world, struct mpm_state *out_state)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        out_state->particles[m] = download(world, world->particles[m],
                                           world->scene->num_particles[m] * sizeof(mpm_particle));
    out_state->foam = read_foam(world);
}

void mpm_state_finish(struct mpm_state *state)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        free(state->particles[m]);
    free(state->foam);
}
