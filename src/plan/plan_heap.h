// SPDX-License-Identifier: Apache-2.0
// A growing binary heap of numbered values; the lowest key comes first, then the lowest value.
#ifndef BRAID_PLAN_HEAP_H
#define BRAID_PLAN_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct plan_heap_item {
    uint64_t key;
    uint32_t value;
};

struct plan_heap {
    struct array items; // struct plan_heap_item; zero-initialised is empty
};

static inline bool plan_heap_less(const struct plan_heap_item *a, const struct plan_heap_item *b)
{
    return a->key < b->key || (a->key == b->key && a->value < b->value);
}

// The lowest item, or NULL.
static inline const struct plan_heap_item *plan_heap_first(const struct plan_heap *heap)
{
    return heap->items.num ? heap->items.items : NULL;
}

// False when memory runs out.
static inline bool plan_heap_push(struct plan_heap *heap, uint64_t key, uint32_t value)
{
    if (heap->items.num == heap->items.capacity &&
        !braid_array_reserve(&heap->items, 1, sizeof(struct plan_heap_item)))
        return false;
    struct plan_heap_item *items = heap->items.items;
    struct plan_heap_item item = { key, value };
    size_t i = heap->items.num++;
    for (; i > 0 && plan_heap_less(&item, &items[(i - 1) / 2]); i = (i - 1) / 2)
        items[i] = items[(i - 1) / 2];
    items[i] = item;
    return true;
}

// Takes the lowest item off a heap that is not empty.
static inline struct plan_heap_item plan_heap_pop(struct plan_heap *heap)
{
    struct plan_heap_item *items = heap->items.items;
    struct plan_heap_item lowest = items[0];
    size_t num = --heap->items.num;
    struct plan_heap_item item = items[num];
    size_t i = 0;
    for (size_t child = 1; child < num; child = 2 * i + 1) {
        if (child + 1 < num && plan_heap_less(&items[child + 1], &items[child]))
            child++;
        if (!plan_heap_less(&items[child], &item))
            break;
        items[i] = items[child];
        i = child;
    }
    items[i] = item;
    return lowest;
}

#endif
