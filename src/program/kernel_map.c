// SPDX-License-Identifier: Apache-2.0
// A hash table from kernels to their loaded form. Only look-ups depend on the addresses, never an
// order, so plans and programs stay the same from run to run.
#include "program/kernel_map.h"

#include <stdlib.h>

// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): kernels are aligned, so the
// low bits of their addresses say nothing.
static struct kernel_slot *probe(struct kernel_slot *slots, size_t num_slots,
                                 const braid_kernel *kernel)
{
    uint64_t hash = (uint64_t)(uintptr_t)kernel * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & (num_slots - 1);
    while (slots[at].kernel && slots[at].kernel != kernel)
        at = (at + 1) & (num_slots - 1);
    return &slots[at];
}

static bool grow(struct kernel_map *map)
{
    size_t num_slots = map->num_slots ? 2 * map->num_slots : 64;
    struct kernel_slot *slots = calloc(num_slots, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < map->num_slots; i++) {
        if (map->slots[i].kernel)
            *probe(slots, num_slots, map->slots[i].kernel) = map->slots[i];
    }
    free(map->slots);
    map->slots = slots;
    map->num_slots = num_slots;
    return true;
}

struct kernel_slot *braid_kernel_map_find(struct kernel_map *map, const braid_kernel *kernel)
{
    if (2 * (map->num_used + 1) > map->num_slots && !grow(map))
        return NULL;
    struct kernel_slot *slot = probe(map->slots, map->num_slots, kernel);
    if (!slot->kernel) {
        slot->kernel = kernel;
        map->num_used++;
    }
    return slot;
}

void braid_kernel_map_finish(struct kernel_map *map)
{
    free(map->slots);
    *map = (struct kernel_map){ 0 };
}
