// SPDX-License-Identifier: Apache-2.0
// A hash table from addresses to numbers.
#include "base/pointer_map.h"

#include "base/host_memory.h"

// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): things are aligned, so the low
// bits of their addresses say nothing.
static size_t home_of(size_t num_slots, const void *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 32) & (num_slots - 1);
}

static struct pointer_slot *probe(struct pointer_slot *slots, size_t num_slots, const void *key)
{
    size_t at = home_of(num_slots, key);
    while (slots[at].key && slots[at].key != key)
        at = (at + 1) & (num_slots - 1);
    return &slots[at];
}

bool braid_pointer_map_reserve(struct pointer_map *map)
{
    if (2 * (map->num_used + 1) <= map->num_slots)
        return true;
    size_t num_slots = map->num_slots ? 2 * map->num_slots : 16;
    struct pointer_slot *slots = braid_allocate_zeroed(num_slots, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < map->num_slots; i++) {
        if (map->slots[i].key)
            *probe(slots, num_slots, map->slots[i].key) = map->slots[i];
    }
    braid_free(map->slots);
    map->slots = slots;
    map->num_slots = num_slots;
    return true;
}

uint32_t braid_pointer_map_get(const struct pointer_map *map, const void *key)
{
    if (!map->num_slots)
        return POINTER_MAP_NONE;
    const struct pointer_slot *slot = probe(map->slots, map->num_slots, key);
    return slot->key ? slot->value : POINTER_MAP_NONE;
}

void braid_pointer_map_put(struct pointer_map *map, const void *key, uint32_t value)
{
    *probe(map->slots, map->num_slots, key) = (struct pointer_slot){ .key = key, .value = value };
    map->num_used++;
}

// Knuth's algorithm R (6.4): a later key moves into the hole, unless its home lies behind that. So
// no key has an empty slot between its home and itself.
uint32_t braid_pointer_map_take(struct pointer_map *map, const void *key)
{
    uint32_t value = braid_pointer_map_get(map, key);
    if (value == POINTER_MAP_NONE)
        return value;
    struct pointer_slot *slots = map->slots;
    size_t mask = map->num_slots - 1;
    size_t hole = (size_t)(probe(slots, map->num_slots, key) - slots);
    for (size_t at = (hole + 1) & mask; slots[at].key; at = (at + 1) & mask) {
        size_t from_home = (at - home_of(map->num_slots, slots[at].key)) & mask;
        if (from_home < ((at - hole) & mask))
            continue;
        slots[hole] = slots[at];
        hole = at;
    }
    slots[hole] = (struct pointer_slot){ 0 };
    map->num_used--;
    return value;
}

void braid_pointer_map_finish(struct pointer_map *map)
{
    braid_free(map->slots);
    *map = (struct pointer_map){ 0 };
}
