// SPDX-License-Identifier: Apache-2.0
// Which kernels are loaded already, by address; used while an exec is made.
#ifndef BRAID_PROGRAM_KERNEL_MAP_H
#define BRAID_PROGRAM_KERNEL_MAP_H

#include "backends/backend.h"

struct kernel_slot {
    const braid_kernel *kernel; // NULL: an empty slot
    struct backend_kernel *loaded;
    uint32_t first_node; // that uses it
};

// An open-addressing hash table; zero-initialised is empty.
struct kernel_map {
    struct kernel_slot *slots;
    size_t num_slots; // a power of two, or 0
    size_t num_used;
};

// The kernel's slot, a new one with `loaded` NULL where it has none; NULL when memory runs out.
// Valid until the next call.
struct kernel_slot *braid_kernel_map_find(struct kernel_map *map, const braid_kernel *kernel);

void braid_kernel_map_finish(struct kernel_map *map);

#endif
