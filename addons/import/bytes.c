// SPDX-License-Identifier: Apache-2.0
// Bytes of buffers that nodes touch by themselves. The ends of all ranges cut a buffer into parts,
// so that each range is some of these. An access to the whole buffer touches the buffer and all
// parts of it.
#include "import/bytes.h"

#include <stdlib.h>

#include "base/error.h"

struct cut {
    uint32_t number; // accesses have it for the buffer
    uint64_t at;
};

// A part of a buffer.
struct part {
    uint32_t number, own; // accesses have them for the buffer and the part
    uint64_t from, to;
};

static braid_status no_memory(void)
{
    return braid_error_no_memory("the bytes that a recorded frame touches");
}

static braid_status put_cuts(const struct array *list, struct array *cuts)
{
    const struct import_access *accesses = list->items;
    for (size_t i = 0; i < list->num; i++) {
        const struct cut first = { accesses[i].buffer, accesses[i].from },
                         last = { accesses[i].buffer, accesses[i].to };
        if (accesses[i].to && (!braid_array_put(cuts, &first, sizeof(first)) ||
                               !braid_array_put(cuts, &last, sizeof(last))))
            return no_memory();
    }
    return BRAID_OK;
}

static int compare(const void *left, const void *right)
{
    const struct cut *a = left, *b = right;
    return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
                                  : (a->at > b->at) - (a->at < b->at);
}

static braid_status add_part(struct import_memory *memory, uint32_t first, const struct cut *cut,
                             uint64_t to, struct array *parts)
{
    const struct part part = { cut->number, (uint32_t)memory->buffers.num + first, cut->at, to };
    struct import_buffer buffer = import_buffers(memory)[cut->number - first];
    buffer.is_part = true;
    buffer.begin += cut->at;
    buffer.bytes = to - cut->at;
    buffer.name = NULL;
    return braid_array_put(parts, &part, sizeof(part)) &&
                   braid_array_put(&memory->buffers, &buffer, sizeof(buffer))
               ? BRAID_OK
               : no_memory();
}

static braid_status make_parts(struct import_memory *memory, uint32_t first, struct array *cuts,
                               struct array *parts)
{
    const struct cut *all = cuts->items;
    braid_status status = BRAID_OK;
    if (cuts->num)
        qsort(cuts->items, cuts->num, sizeof(*all), compare);
    for (size_t i = 1; i < cuts->num && !status; i++) {
        if (all[i].number == all[i - 1].number && all[i].at > all[i - 1].at)
            status = add_part(memory, first, &all[i - 1], all[i].at, parts);
    }
    return status;
}

// The first part of a buffer.
static size_t find_parts(const struct array *parts, uint32_t number)
{
    const struct part *all = parts->items;
    size_t low = 0, high = parts->num;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (all[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool put_split(struct import_access access, const struct array *parts, struct array *split)
{
    const struct part *all = parts->items;
    const uint64_t from = access.from, to = access.to;
    const uint32_t number = access.buffer;
    access.from = access.to = 0;
    bool is_done = to || braid_array_put(split, &access, sizeof(access));
    for (size_t i = find_parts(parts, number); i < parts->num && all[i].number == number && is_done;
         i++) {
        access.buffer = all[i].own;
        if (!to || (all[i].from < to && from < all[i].to))
            is_done = braid_array_put(split, &access, sizeof(access));
    }
    return is_done;
}

static braid_status split_list(struct array *list, const struct array *parts)
{
    struct array split = { 0 };
    bool is_done = true;
    for (size_t i = 0; i < list->num && is_done; i++)
        is_done = put_split(((const struct import_access *)list->items)[i], parts, &split);
    if (!is_done) {
        braid_array_finish(&split);
        return no_memory();
    }
    braid_array_finish(list);
    *list = split;
    return BRAID_OK;
}

braid_status braid_import_split_bytes(struct import_memory *memory, uint32_t first,
                                      struct array *accesses, struct array *cells)
{
    struct array cuts = { 0 }, parts = { 0 };
    braid_status status = put_cuts(accesses, &cuts);
    if (!status)
        status = put_cuts(cells, &cuts);
    if (!status)
        status = make_parts(memory, first, &cuts, &parts);
    if (!status)
        status = split_list(accesses, &parts);
    if (!status)
        status = split_list(cells, &parts);
    braid_array_finish(&cuts);
    braid_array_finish(&parts);
    return status;
}
