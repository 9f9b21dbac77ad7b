// SPDX-License-Identifier: Apache-2.0
// The order of modules and kernels in an island's text: by their text, not by the order of calls.
//
// Code is found again by its text, in the process and on disk, so graphs that differ in the order
// of their calls share it.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "islands/gpu_island_maker.h"

struct entry {
    const char *text, *name;
    uint32_t was;
};

static int compare(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    int order = first->text == second->text ? 0 : strcmp(first->text, second->text);
    if (!order)
        order = strcmp(first->name, second->name);
    return order ? order : (first->was > second->was) - (first->was < second->was);
}

struct ordering {
    struct entry *entries; // as they shall stand
    uint32_t *now_at;      // by where they stood
    unsigned char *room;
    uint32_t num;
};

static void sort(struct ordering *ordering, uint32_t num)
{
    ordering->num = num;
    qsort(ordering->entries, num, sizeof(*ordering->entries), compare);
    for (uint32_t i = 0; i < num; i++)
        ordering->now_at[ordering->entries[i].was] = i;
}

static void apply(const struct ordering *ordering, void *items, size_t bytes)
{
    for (uint32_t i = 0; i < ordering->num; i++)
        memcpy(ordering->room + i * bytes,
               (const unsigned char *)items + ordering->entries[i].was * bytes, bytes);
    memcpy(items, ordering->room, ordering->num * bytes);
}

static void order_modules(struct ordering *ordering, struct gpu_island_maker *maker)
{
    for (uint32_t i = 0; i < maker->num_modules; i++)
        ordering->entries[i] = (struct entry){ maker->modules[i], "", i };
    sort(ordering, maker->num_modules);
    apply(ordering, maker->modules, sizeof(*maker->modules));
    for (uint32_t i = 0; i < maker->num_kernels; i++)
        maker->kernels[i].module = ordering->now_at[maker->kernels[i].module];
}

static void order_kernels(struct ordering *ordering, struct gpu_island_maker *maker)
{
    const struct island_lists *lists = &maker->island->lists;
    for (uint32_t i = 0; i < maker->num_kernels; i++)
        ordering->entries[i] =
            (struct entry){ maker->modules[maker->kernels[i].module], maker->kernels[i].entry, i };
    sort(ordering, maker->num_kernels);
    apply(ordering, maker->kernels, sizeof(*maker->kernels));
    apply(ordering, maker->loaded, sizeof(*maker->loaded));
    for (uint32_t i = 0; i < lists->num_calls; i++) {
        if (lists->calls[i].task)
            maker->entry_of[i] = ordering->now_at[maker->entry_of[i]];
    }
}

// There are at least as many kernels as modules.
braid_status braid_gpu_island_order(struct gpu_island_maker *maker)
{
    struct ordering ordering = {
        .entries = braid_allocate_zeroed(maker->num_kernels, sizeof(*ordering.entries)),
        .now_at = braid_allocate_zeroed(maker->num_kernels, sizeof(*ordering.now_at)),
        .room = braid_allocate_zeroed(maker->num_kernels, sizeof(*maker->kernels)),
    };
    bool has_room = ordering.entries && ordering.now_at && ordering.room;
    if (has_room) {
        order_modules(&ordering, maker);
        order_kernels(&ordering, maker);
    }
    free(ordering.entries);
    free(ordering.now_at);
    free(ordering.room);
    return has_room ? BRAID_OK : braid_error_no_memory("an island");
}
