// SPDX-License-Identifier: Apache-2.0
// Growable arrays of one element type.
#include "base/array.h"

#include <stdint.h>
#include <string.h>

#include "base/host_memory.h"

// Grows by half: large graphs must not hold twice the bytes that they need.
bool braid_array_reserve(struct array *array, size_t extra, size_t item_bytes)
{
    if (extra <= array->capacity - array->num)
        return true;
    size_t limit = SIZE_MAX / item_bytes;
    if (extra > limit || array->num > limit - extra)
        return false;
    size_t needed = array->num + extra;
    size_t capacity = array->capacity;
    capacity = capacity < limit - capacity / 2 ? capacity + capacity / 2 : limit;
    if (capacity < 8 && limit >= 8)
        capacity = 8;
    if (capacity < needed)
        capacity = needed;
    void *items = braid_reallocate(array->items, capacity * item_bytes);
    if (!items)
        return false;
    array->items = items;
    array->capacity = capacity;
    return true;
}

void *braid_array_append(struct array *array, size_t num, size_t item_bytes)
{
    if (!braid_array_reserve(array, num, item_bytes))
        return NULL;
    void *first = array->items ? (unsigned char *)array->items + array->num * item_bytes : NULL;
    array->num += num;
    return first;
}

bool braid_array_put(struct array *array, const void *item, size_t item_bytes)
{
    void *slot = braid_array_append(array, 1, item_bytes);
    if (slot)
        memcpy(slot, item, item_bytes);
    return slot;
}

size_t braid_array_find(const struct array *array, uint32_t key, size_t item_bytes)
{
    size_t low = 0, high = array->num;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        uint32_t found;
        memcpy(&found, (const unsigned char *)array->items + middle * item_bytes, sizeof(found));
        if (found < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void braid_array_finish(struct array *array)
{
    braid_free(array->items);
    *array = (struct array){ 0 };
}
