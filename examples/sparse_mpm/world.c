// SPDX-License-Identifier: Apache-2.0
// Allocates, fills and reads back the simulation's memory.
#include "world.h"

#include <stdlib.h>

#include "../check.h"

static void *allocate(struct mpm_world *world, braid_device *device, size_t bytes)
{
    void *memory;
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory));
    world->memories[world->num_memories++] = (struct mpm_memory){ device, memory };
    return memory;
}

// num_words words, each `value`.
static unsigned *allocate_words(struct mpm_world *world, int material, size_t num_words,
                                unsigned value)
{
    braid_device *device = world->devices[material];
    unsigned *words = allocate(world, device, num_words * sizeof(*words));
    CHECK(braid_stream_fill(braid_device_get_default_stream(device), words, value, sizeof(*words),
                            num_words));
    return words;
}

static mpm_list allocate_list(struct mpm_world *world, int material, size_t max_entries)
{
    return (mpm_list){ allocate_words(world, material, 1, 0),
                       allocate_words(world, material, max_entries, 0) };
}

static void upload(braid_device *device, void *to, const void *from, size_t bytes)
{
    CHECK(braid_stream_copy(braid_device_get_default_stream(device), to, from, bytes));
    CHECK(braid_stream_wait(braid_device_get_default_stream(device)));
}

// All blocks of the pool are free: as many as slots, so that no activation can fail.
static void fill_pool(braid_device *device, const mpm_grid *grid)
{
    unsigned *blocks = check_memory(calloc(grid->num_slots, sizeof(*blocks)));
    for (unsigned i = 0; i < grid->num_slots; i++)
        blocks[i] = i;
    upload(device, grid->free.entries, blocks, grid->num_slots * sizeof(*blocks));
    upload(device, grid->free.length, &grid->num_slots, sizeof(grid->num_slots));
    free(blocks);
}

static void init_grid(struct mpm_world *world, int material)
{
    unsigned side = (unsigned)world->scene->num_cells / MPM_BLOCK_SIDE;
    size_t slots = (size_t)side * side, cells = slots * MPM_BLOCK_CELLS;
    mpm_grid *grid = &world->grids.of[material];
    *grid = (mpm_grid){ .slots_a_side = side, .num_slots = (unsigned)slots };
    grid->mask = allocate_words(world, material, slots, 0);
    grid->block_of = allocate_words(world, material, slots, MPM_NO_BLOCK);
    grid->free = allocate_list(world, material, slots);
    grid->recycled = allocate_list(world, material, slots);
    grid->pointers = allocate_list(world, material, slots);
    grid->parts = allocate_list(world, material, slots * MPM_ENTRIES_A_BLOCK);
    // All zero bits are zero in a cell and in a vector too.
    grid->cells = (mpm_cell *)(void *)allocate_words(
        world, material, cells * sizeof(mpm_cell) / sizeof(unsigned), 0);
    grid->velocity = (mpm_vector *)(void *)allocate_words(
        world, material, cells * sizeof(mpm_vector) / sizeof(unsigned), 0);
    if (material == MPM_WATER) {
        grid->foam_parts = allocate_list(world, material, slots * MPM_ENTRIES_A_BLOCK);
        grid->foam = allocate_words(world, material, cells, 0);
    }
    fill_pool(world->devices[material], grid);
}

static void init_material(struct mpm_world *world, int material)
{
    const struct mpm_scene *scene = world->scene;
    size_t bytes = scene->num_particles[material] * sizeof(mpm_particle);
    init_grid(world, material);
    world->particles[material] = allocate(world, world->devices[material], bytes);
    upload(world->devices[material], world->particles[material], scene->particles[material], bytes);
}

static void init_materials(struct mpm_world *world)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        init_material(world, m);
}

uint32_t mpm_world_place(const struct mpm_world *world, int material)
{
    uint32_t last = world->num_places - 1;
    return (uint32_t)material < last ? (uint32_t)material : last;
}

void mpm_world_init(struct mpm_world *world, braid_device *device, const struct mpm_scene *scene)
{
    *world = (struct mpm_world){
        .device = device, .devices = { device, device, device }, .num_places = 1, .scene = scene
    };
    init_materials(world);
}

void mpm_world_init_split(struct mpm_world *world, braid_device *const *devices,
                          uint32_t num_devices, bool shared, const struct mpm_scene *scene)
{
    *world = (struct mpm_world){
        .device = devices[0], .num_places = num_devices, .shared = shared, .scene = scene
    };
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        world->devices[m] = devices[mpm_world_place(world, m)];
    init_materials(world);
}

void mpm_world_finish(struct mpm_world *world)
{
    for (uint32_t i = 0; i < world->num_memories; i++)
        braid_memory_free(world->memories[i].device, world->memories[i].memory);
}

// Copies device memory to new host memory.
static void *download(braid_device *device, const void *from, size_t bytes)
{
    void *memory = check_memory(malloc(bytes));
    CHECK(braid_stream_copy(braid_device_get_default_stream(device), memory, from, bytes));
    CHECK(braid_stream_wait(braid_device_get_default_stream(device)));
    return memory;
}

static unsigned *read_foam(const struct mpm_world *world)
{
    const mpm_grid *grid = &world->grids.of[MPM_WATER];
    size_t num_cells = (size_t)grid->num_slots * MPM_BLOCK_CELLS,
           width = (size_t)world->scene->num_cells;
    braid_device *device = world->devices[MPM_WATER];
    unsigned *block_of = download(device, grid->block_of, grid->num_slots * sizeof(*block_of));
    unsigned *leaves = download(device, grid->foam, num_cells * sizeof(*leaves));
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
        out_state->particles[m] = download(world->devices[m], world->particles[m],
                                           world->scene->num_particles[m] * sizeof(mpm_particle));
    out_state->foam = read_foam(world);
}

void mpm_state_finish(struct mpm_state *state)
{
    for (int m = 0; m < MPM_NUM_MATERIALS; m++)
        free(state->particles[m]);
    free(state->foam);
}
