// SPDX-License-Identifier: Apache-2.0
// Numbers of things that are known by their address.
#ifndef BRAID_BASE_POINTER_MAP_H
#define BRAID_BASE_POINTER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POINTER_MAP_NONE UINT32_MAX

struct pointer_slot {
    const void *key; // NULL: an empty slot
    uint32_t value;
};

// An open-addressing hash table; zero-initialised is empty. Only look-ups depend on the addresses,
// never an order, so plans and programs stay the same from run to run.
struct pointer_map {
    struct pointer_slot *slots;
    size_t num_slots; // a power of two, or 0
    size_t num_used;
};

// Makes room for one more key; false when memory runs out.
bool braid_pointer_map_reserve(struct pointer_map *map);

// The key's number, or POINTER_MAP_NONE.
uint32_t braid_pointer_map_get(const struct pointer_map *map, const void *key);

// Adds a key that is not in the map, for which there is room.
void braid_pointer_map_put(struct pointer_map *map, const void *key, uint32_t value);

// Takes a key out. Returns its number, or POINTER_MAP_NONE.
uint32_t braid_pointer_map_take(struct pointer_map *map, const void *key);

void braid_pointer_map_finish(struct pointer_map *map);

#endif
