// SPDX-License-Identifier: Apache-2.0
// Packs blocks one by one, each into the smallest or lowest gap that its neighbours leave. This is
// greedy by size (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference,
// 2020). Several orders are tried, and the best result is squeezed.
#include "memory/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "memory/pack_by_time.h"
#include "memory/squeeze.h"

#define MOST_PAIRED 4096         // with more blocks than these not each pair is looked at,
#define MOST_QUESTIONS 800000000 // but so many

struct block_key {
    uint64_t first, second, third;
    uint32_t block;
};

struct pack {
    const struct clashes *clashes;
    const struct lifetimes *lifetimes; // of the clashes
    uint32_t *order;                   // in which blocks are placed
    uint32_t *placed;                  // blocks by rising offset
    uint64_t *offsets;                 // of this try
    uint64_t best_bytes;
    bool lowest; // which of the gaps that fit: the lowest, else the smallest
    uint64_t *best_offsets;
    struct block_key *keys;
};

// A gap that fits between those placed blocks that may be alive at once with this one.
static uint64_t find_offset(const struct pack *pack, uint32_t num_placed, uint32_t block)
{
    const struct lifetimes *lifetimes = pack->lifetimes;
    uint64_t bytes = lifetimes->bytes[block], alignment = lifetimes->alignments[block];
    uint64_t end = 0, found = UINT64_MAX, smallest = UINT64_MAX;
    for (uint32_t i = 0; i < num_placed; i++) {
        uint32_t other = pack->placed[i];
        if (!clash(pack->clashes, block, other))
            continue;
        uint64_t start = lifetimes_round_up(end, alignment), next = pack->offsets[other];
        if (next >= start && next - start >= bytes && next - start < smallest) {
            smallest = pack->lowest ? 0 : next - start;
            found = start;
        }
        uint64_t other_end = next + lifetimes->bytes[other];
        end = other_end > end ? other_end : end;
    }
    return found == UINT64_MAX ? lifetimes_round_up(end, alignment) : found;
}

static void insert(struct pack *pack, uint32_t num_placed, uint32_t block)
{
    uint32_t low = 0, high = num_placed;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pack->offsets[pack->placed[middle]] <= pack->offsets[block])
            low = middle + 1;
        else
            high = middle;
    }
    memmove(pack->placed + low + 1, pack->placed + low, (num_placed - low) * sizeof(uint32_t));
    pack->placed[low] = block;
}

// Packs in pack->order, and keeps the result if it is better than the best so far.
static void try_order(struct pack *pack)
{
    const struct lifetimes *lifetimes = pack->lifetimes;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        uint32_t block = pack->order[i];
        pack->offsets[block] = find_offset(pack, i, block);
        uint64_t end = pack->offsets[block] + lifetimes->bytes[block];
        bytes = end > bytes ? end : bytes;
        insert(pack, i, block);
    }
    if (bytes >= pack->best_bytes)
        return;
    pack->best_bytes = bytes;
    memcpy(pack->best_offsets, pack->offsets, lifetimes->num * sizeof(uint64_t));
}

static int compare_keys(const void *left, const void *right)
{
    const struct block_key *a = left;
    const struct block_key *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    if (a->third != b->third)
        return a->third < b->third ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

enum order_kind {
    BY_SIZE,     // large ones first
    BY_LIFETIME, // long-lived ones first
    BY_START,    // in issue order
    NUM_ORDERS,
};

static struct block_key key_of(const struct lifetimes *lifetimes, uint32_t block,
                               enum order_kind kind)
{
    uint64_t small = UINT64_MAX - lifetimes->bytes[block];
    uint64_t brief = UINT64_MAX - (lifetimes->last[block] - lifetimes->first[block]);
    uint64_t start = lifetimes->first[block];
    switch (kind) {
    case BY_LIFETIME:
        return (struct block_key){ brief, small, start, block };
    case BY_START:
        return (struct block_key){ start, small, brief, block };
    default:
        return (struct block_key){ small, brief, start, block };
    }
}

static void try_both_gaps(struct pack *pack)
{
    for (int lowest = 0; lowest < 2; lowest++) {
        pack->lowest = lowest;
        try_order(pack);
    }
}

static void sort_keys(struct pack *pack, enum order_kind kind)
{
    uint32_t num = pack->lifetimes->num;
    for (uint32_t i = 0; i < num; i++)
        pack->keys[i] = key_of(pack->lifetimes, i, kind);
    qsort(pack->keys, num, sizeof(*pack->keys), compare_keys);
}

// From below: next comes the block that can lie lowest on those before it. Of equal ones it is the
// first by key.
static void order_from_below(struct pack *pack)
{
    const struct lifetimes *lifetimes = pack->lifetimes;
    uint64_t *lowest = pack->offsets;
    memset(lowest, 0, lifetimes->num * sizeof(*lowest));
    for (uint32_t placed = 0; placed < lifetimes->num; placed++) {
        uint32_t next = placed;
        for (uint32_t i = placed + 1; i < lifetimes->num; i++) {
            if (lowest[pack->keys[i].block] < lowest[pack->keys[next].block])
                next = i;
        }
        struct block_key key = pack->keys[next];
        memmove(pack->keys + placed + 1, pack->keys + placed, (next - placed) * sizeof(key));
        pack->keys[placed] = key;
        uint64_t end = lowest[key.block] + lifetimes->bytes[key.block];
        for (uint32_t i = placed + 1; i < lifetimes->num; i++) {
            uint32_t block = pack->keys[i].block;
            if (lowest[block] < end && clash(pack->clashes, block, key.block))
                lowest[block] = lifetimes_round_up(end, lifetimes->alignments[block]);
        }
        pack->order[placed] = key.block;
    }
}

static void try_orders(struct pack *pack, uint64_t bound)
{
    uint32_t num = pack->lifetimes->num;
    for (int kind = 0; kind < NUM_ORDERS && pack->best_bytes > bound; kind++) {
        sort_keys(pack, (enum order_kind)kind);
        for (uint32_t i = 0; i < num; i++)
            pack->order[i] = pack->keys[i].block;
        try_both_gaps(pack);
        order_from_below(pack);
        try_both_gaps(pack);
    }
}

static bool pack_greedily(const struct clashes *clashes, uint64_t bound, uint64_t *out_offsets,
                          uint64_t *out_bytes)
{
    uint32_t num = clashes->lifetimes->num;
    struct pack pack = {
        .clashes = clashes,
        .lifetimes = clashes->lifetimes,
        .order = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .placed = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .offsets = braid_allocate_zeroed(num, sizeof(uint64_t)),
        .keys = braid_allocate_zeroed(num, sizeof(struct block_key)),
        .best_bytes = UINT64_MAX,
        .best_offsets = out_offsets,
    };
    bool done = pack.order && pack.placed && pack.offsets && pack.keys;
    if (done) {
        try_orders(&pack, bound);
        *out_bytes = pack.best_bytes;
    }
    free(pack.order);
    free(pack.placed);
    free(pack.offsets);
    free(pack.keys);
    return done;
}

braid_status braid_pack(const struct lifetimes *lifetimes, uint64_t bound, uint64_t *out_offsets,
                        uint64_t *out_bytes)
{
    struct clashes clashes = { 0 };
    uint64_t bytes = 0;
    if (lifetimes->num > MOST_PAIRED)
        return braid_pack_by_time(lifetimes, bound, MOST_QUESTIONS, out_offsets, out_bytes);
    braid_status status = braid_clashes_create(lifetimes, &clashes);
    if (!status && !pack_greedily(&clashes, bound, out_offsets, &bytes))
        status = braid_error_no_memory("the memory of a plan");
    if (!status)
        status = braid_squeeze(&clashes, bound, out_offsets, &bytes);
    if (!status)
        *out_bytes = bytes;
    braid_clashes_finish(&clashes);
    return status;
}
