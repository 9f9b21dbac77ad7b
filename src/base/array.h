// SPDX-License-Identifier: Apache-2.0
// Growable arrays of one element type.
#ifndef BRAID_BASE_ARRAY_H
#define BRAID_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host_memory.h"

// Zero-initialised is empty. The element size is given at each call and must always be the same.
struct array {
    void *items;
    size_t num;
    size_t capacity;
};

// Makes room for `extra` more elements; false, and nothing changed, when memory or size_t runs out.
bool braid_array_reserve(struct array *array, size_t extra, size_t item_bytes);

// Appends `num` uninitialised elements and returns the first, or NULL and nothing changed.
void *braid_array_append(struct array *array, size_t num, size_t item_bytes);

// Appends a copy of an element; false, and nothing changed, when memory runs out.
bool braid_array_put(struct array *array, const void *item, size_t item_bytes);

// The first item with `key` or more, or `num`. Items begin with a uint32_t, and stand by that.
size_t braid_array_find(const struct array *array, uint32_t key, size_t item_bytes);

void braid_array_finish(struct array *array);

#endif
