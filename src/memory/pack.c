// SPDX-License-Identifier: Apache-2.0
// Packs blocks one by one, each into the smallest or lowest gap that its neighbours leave
// (greedy by size: Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference,
// 2020). Several orders are tried; then the block that ends highest is moved to the front, again
// and again.
#include "memory/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

// Comparisons of two blocks that improving may take, some tenths of a second; and what over the
// bound is good enough, one part in so many.
#define MOST_COMPARISONS 200000000
#define GOOD_ENOUGH 20
#define MOST_TRIES 4000
#define PATIENCE 24 // tries without success before something else is tried

struct block_key {
    uint64_t first, second, third;
    uint32_t block;
};

struct pack {
    const struct lifetimes *lifetimes;
    uint32_t *order;   // in which blocks are placed
    uint32_t *placed;  // blocks by rising offset
    uint64_t *offsets; // of this try
    uint32_t *best;    // the order of the best try
    uint64_t best_bytes;
    bool lowest; // which of the gaps that fit: the lowest, else the smallest
    uint64_t *best_offsets;
    struct block_key *keys;
    uint64_t *clashes; // a row of bits a block: those it may be alive with; NULL: too many blocks
    size_t words;      // of a row
};

#define MOST_ROWS 8192 // rows of bits take 8 MiB then

static bool clash(const struct pack *pack, uint32_t a, uint32_t b)
{
    if (pack->clashes)
        return pack->clashes[a * pack->words + b / 64] >> (b % 64) & 1;
    return lifetimes_interfere(pack->lifetimes, a, b);
}

// Asking a bit is several times as fast as comparing clocks.
static bool find_clashes(struct pack *pack)
{
    uint32_t num = pack->lifetimes->num;
    pack->words = ((size_t)num + 63) / 64;
    if (num > MOST_ROWS)
        return true;
    pack->clashes = braid_allocate_zeroed(num * pack->words, sizeof(uint64_t));
    for (uint32_t a = 0; pack->clashes && a < num; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (!lifetimes_interfere(pack->lifetimes, a, b))
                continue;
            pack->clashes[a * pack->words + b / 64] |= (uint64_t)1 << (b % 64);
            pack->clashes[b * pack->words + a / 64] |= (uint64_t)1 << (a % 64);
        }
    }
    return pack->clashes;
}

static uint64_t round_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

// A gap that fits between those placed blocks that may be alive at once with this one.
static uint64_t find_offset(const struct pack *pack, uint32_t num_placed, uint32_t block)
{
    const struct lifetimes *lifetimes = pack->lifetimes;
    uint64_t bytes = lifetimes->bytes[block], alignment = lifetimes->alignments[block];
    uint64_t end = 0, found = UINT64_MAX, smallest = UINT64_MAX;
    for (uint32_t i = 0; i < num_placed; i++) {
        uint32_t other = pack->placed[i];
        if (!clash(pack, block, other))
            continue;
        uint64_t start = round_up(end, alignment), next = pack->offsets[other];
        if (next >= start && next - start >= bytes && next - start < smallest) {
            smallest = pack->lowest ? 0 : next - start;
            found = start;
        }
        uint64_t other_end = next + lifetimes->bytes[other];
        end = other_end > end ? other_end : end;
    }
    return found == UINT64_MAX ? round_up(end, alignment) : found;
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
    memcpy(pack->best, pack->order, lifetimes->num * sizeof(uint32_t));
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

// From below: next comes whichever can lie lowest on those before it, among equals the first by
// key.
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
            if (lowest[block] < end && clash(pack, block, key.block))
                lowest[block] = round_up(end, lifetimes->alignments[block]);
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

// Moves the block that ends highest in the latest try to the front of the order.
static void raise_highest(struct pack *pack)
{
    const struct lifetimes *lifetimes = pack->lifetimes;
    uint32_t highest = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        uint32_t block = pack->order[i];
        if (pack->offsets[block] + lifetimes->bytes[block] > end) {
            end = pack->offsets[block] + lifetimes->bytes[block];
            highest = i;
        }
    }
    uint32_t block = pack->order[highest];
    memmove(pack->order + 1, pack->order, highest * sizeof(uint32_t));
    pack->order[0] = block;
}

// Goes back to the best order and moves a few blocks to other places in it.
static void shake(struct pack *pack, uint64_t *random)
{
    uint32_t num = pack->lifetimes->num;
    memcpy(pack->order, pack->best, num * sizeof(uint32_t));
    for (int i = 0; i < 3; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX
        uint32_t from = (uint32_t)((*random >> 33) % num);
        uint32_t block = pack->order[from], to = (uint32_t)((*random >> 40) % (from + 1));
        memmove(pack->order + to + 1, pack->order + to, (from - to) * sizeof(uint32_t));
        pack->order[to] = block;
    }
}

// Moves what ends highest to the front until that has not helped for a while, shakes, and goes on
// with the other kind of gap.
static void improve(struct pack *pack, uint64_t bound)
{
    uint64_t num = pack->lifetimes->num;
    uint64_t tries = MOST_COMPARISONS / (num * num), good = bound + bound / GOOD_ENOUGH, random = 1;
    if (tries > MOST_TRIES)
        tries = MOST_TRIES;
    uint32_t in_vain = PATIENCE;
    for (uint64_t i = 0; i < tries && pack->best_bytes > good; i++) {
        uint64_t before = pack->best_bytes;
        if (in_vain++ < PATIENCE) {
            raise_highest(pack);
        } else {
            shake(pack, &random);
            pack->lowest = !pack->lowest;
            in_vain = 0;
        }
        try_order(pack);
        if (pack->best_bytes < before)
            in_vain = 0;
    }
}

braid_status braid_pack(const struct lifetimes *lifetimes, uint64_t bound, uint64_t *out_offsets,
                        uint64_t *out_bytes)
{
    uint32_t num = lifetimes->num;
    struct pack pack = {
        .lifetimes = lifetimes,
        .order = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .placed = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .offsets = braid_allocate_zeroed(num, sizeof(uint64_t)),
        .best = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .keys = braid_allocate_zeroed(num, sizeof(struct block_key)),
        .best_bytes = UINT64_MAX,
        .best_offsets = out_offsets,
    };
    bool done =
        pack.order && pack.placed && pack.offsets && pack.best && pack.keys && find_clashes(&pack);
    if (done) {
        try_orders(&pack, bound);
        improve(&pack, bound);
        *out_bytes = pack.best_bytes;
    }
    free(pack.order);
    free(pack.placed);
    free(pack.offsets);
    free(pack.best);
    free(pack.keys);
    free(pack.clashes);
    return done ? BRAID_OK : braid_error_no_memory("the memory of a plan");
}
