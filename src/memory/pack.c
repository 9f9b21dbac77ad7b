// SPDX-License-Identifier: Apache-2.0
// Packs blocks one by one, the largest first, each into the smallest gap that its neighbours leave.
// This is greedy by size (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net
// Inference, 2020). The result is squeezed.
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
    uint64_t bytes, places; // places: from the first use to the last
    uint32_t block;
};

struct pack {
    const struct clashes *clashes;
    const struct lifetimes *lifetimes; // of the clashes
    struct block_key *keys;            // in the order in which blocks are placed
    uint32_t *placed;                  // blocks by rising offset
    uint64_t *offsets;
};

// The smallest gap that fits between those placed blocks that may be alive at once with this one.
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
            smallest = next - start;
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

// Large ones first, then long-lived ones.
static int compare_keys(const void *left, const void *right)
{
    const struct block_key *a = left;
    const struct block_key *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->places != b->places)
        return a->places > b->places ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static uint64_t place_all(struct pack *pack)
{
    const struct lifetimes *lifetimes = pack->lifetimes;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lifetimes->num; i++)
        pack->keys[i] =
            (struct block_key){ lifetimes->bytes[i], lifetimes->last[i] - lifetimes->first[i], i };
    qsort(pack->keys, lifetimes->num, sizeof(*pack->keys), compare_keys);
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        uint32_t block = pack->keys[i].block;
        pack->offsets[block] = find_offset(pack, i, block);
        uint64_t end = pack->offsets[block] + lifetimes->bytes[block];
        bytes = end > bytes ? end : bytes;
        insert(pack, i, block);
    }
    return bytes;
}

static bool pack_greedily(const struct clashes *clashes, uint64_t *out_offsets, uint64_t *out_bytes)
{
    uint32_t num = clashes->lifetimes->num;
    struct pack pack = {
        .clashes = clashes,
        .lifetimes = clashes->lifetimes,
        .keys = braid_allocate_zeroed(num, sizeof(struct block_key)),
        .placed = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .offsets = out_offsets,
    };
    bool done = pack.keys && pack.placed;
    if (done)
        *out_bytes = place_all(&pack);
    free(pack.keys);
    free(pack.placed);
    return done;
}

braid_status braid_pack(const struct lifetimes *lifetimes, uint64_t bound, uint64_t *out_offsets,
                        uint64_t *out_bytes)
{
    struct clashes clashes = { 0 };
    uint64_t bytes = 0;
    if (lifetimes->num > MOST_PAIRED)
        return braid_pack_by_time(lifetimes, MOST_QUESTIONS, out_offsets, out_bytes);
    braid_status status = braid_clashes_create(lifetimes, &clashes);
    if (!status && !pack_greedily(&clashes, out_offsets, &bytes))
        status = braid_error_no_memory("the memory of a plan");
    if (!status)
        status = braid_squeeze(&clashes, bound, out_offsets, &bytes);
    if (!status)
        *out_bytes = bytes;
    braid_clashes_finish(&clashes);
    return status;
}
