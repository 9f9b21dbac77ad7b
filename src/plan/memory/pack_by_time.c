// SPDX-License-Identifier: Apache-2.0
// Walks over the issue order as an allocator would. A block takes the smallest gap that fits at its
// first use, and leaves one when it is settled. If lanes seldom wait for each other, blocks are
// settled late. So, as far as time allows, a block may also lie over unsettled blocks if it is
// ordered behind each of them.
#include "plan/memory/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/store.h"

struct gap {
    uint64_t begin, end;
};

struct moment {
    uint64_t place; // in the issue order
    uint32_t block;
};

struct walk {
    const struct lifetimes *lifetimes;
    struct moment *begins; // when blocks are first used
    struct moment *ends;   // when they are settled
    struct gap *gaps;      // by address; the last one has no end
    size_t num_gaps;
    uint64_t *offsets;
    uint64_t bytes;
};

static int compare_moments(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static size_t find_gap(const struct walk *walk, uint32_t block)
{
    uint64_t bytes = walk->lifetimes->bytes[block], alignment = walk->lifetimes->alignments[block];
    size_t best = walk->num_gaps - 1;
    for (size_t i = 0; i + 1 < walk->num_gaps; i++) {
        const struct gap *gap = &walk->gaps[i];
        uint64_t start = lifetimes_round_up(gap->begin, alignment);
        if (start >= gap->end || gap->end - start < bytes)
            continue;
        if (best == walk->num_gaps - 1 ||
            gap->end - gap->begin < walk->gaps[best].end - walk->gaps[best].begin)
            best = i;
    }
    return best;
}

static void take(struct walk *walk, uint32_t block)
{
    size_t at = find_gap(walk, block);
    struct gap gap = walk->gaps[at];
    uint64_t start = lifetimes_round_up(gap.begin, walk->lifetimes->alignments[block]);
    uint64_t end = start + walk->lifetimes->bytes[block];
    bool before = start > gap.begin, behind = end < gap.end;
    memmove(&walk->gaps[at + before + behind], &walk->gaps[at + 1],
            (walk->num_gaps - at - 1) * sizeof(gap));
    if (before)
        walk->gaps[at] = (struct gap){ gap.begin, start };
    if (behind)
        walk->gaps[at + before] = (struct gap){ end, gap.end };
    walk->num_gaps = walk->num_gaps + before + behind - 1;
    walk->offsets[block] = start;
    walk->bytes = end > walk->bytes ? end : walk->bytes;
}

static void leave(struct walk *walk, uint32_t block)
{
    uint64_t begin = walk->offsets[block], end = begin + walk->lifetimes->bytes[block];
    size_t low = 0, high = walk->num_gaps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (walk->gaps[middle].begin < end)
            low = middle + 1;
        else
            high = middle;
    }
    bool joins_before = low > 0 && walk->gaps[low - 1].end == begin;
    bool joins_behind = low < walk->num_gaps && walk->gaps[low].begin == end;
    if (joins_before && joins_behind) {
        walk->gaps[low - 1].end = walk->gaps[low].end;
        walk->num_gaps--;
        memmove(&walk->gaps[low], &walk->gaps[low + 1],
                (walk->num_gaps - low) * sizeof(*walk->gaps));
    } else if (joins_before) {
        walk->gaps[low - 1].end = end;
    } else if (joins_behind) {
        walk->gaps[low].begin = begin;
    } else {
        memmove(&walk->gaps[low + 1], &walk->gaps[low],
                (walk->num_gaps - low) * sizeof(*walk->gaps));
        walk->gaps[low] = (struct gap){ begin, end };
        walk->num_gaps++;
    }
}

static void find_moments(struct walk *walk)
{
    const struct lifetimes *lifetimes = walk->lifetimes;
    uint32_t num = lifetimes->num;
    for (uint32_t i = 0; i < num; i++) {
        walk->begins[i] = (struct moment){ lifetimes->first[i], i };
        walk->ends[i] = (struct moment){ lifetimes->settled[i], i };
    }
    qsort(walk->begins, num, sizeof(*walk->begins), compare_moments);
    qsort(walk->ends, num, sizeof(*walk->ends), compare_moments);
}

static void go(struct walk *walk)
{
    uint32_t num = walk->lifetimes->num, left = 0;
    const struct moment *begins = walk->begins, *ends = walk->ends;
    walk->num_gaps = 1;
    walk->gaps[0] = (struct gap){ 0, UINT64_MAX };
    for (uint32_t i = 0; i < num; i++) {
        for (; left < num && ends[left].place <= begins[i].place; left++)
            leave(walk, ends[left].block);
        take(walk, begins[i].block);
    }
}

// How many blocks are not settled, for each block that begins, in all.
static uint64_t count_questions(const struct walk *walk)
{
    uint32_t num = walk->lifetimes->num, left = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < num; i++) {
        while (left < num && walk->ends[left].place <= walk->begins[i].place)
            left++;
        sum += i - left;
    }
    return sum;
}

// The smallest gap that blocks leave which are neither settled nor ordered before this one. Drops
// those that are settled from the list, which goes by address.
static uint64_t find_offset(const struct walk *walk, uint32_t block, uint32_t *list, uint32_t *num)
{
    const struct lifetimes *lifetimes = walk->lifetimes;
    uint64_t bytes = lifetimes->bytes[block], alignment = lifetimes->alignments[block];
    uint64_t end = 0, found = UINT64_MAX, smallest = UINT64_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *num; i++) {
        uint32_t other = list[i];
        if (lifetimes->settled[other] <= lifetimes->first[block])
            continue;
        list[kept++] = other;
        if (lifetimes_precede(lifetimes, other, block))
            continue;
        uint64_t start = lifetimes_round_up(end, alignment), next = walk->offsets[other];
        if (next >= start && next - start >= bytes && next - start < smallest) {
            smallest = next - start;
            found = start;
        }
        uint64_t other_end = next + lifetimes->bytes[other];
        end = other_end > end ? other_end : end;
    }
    *num = kept;
    return found == UINT64_MAX ? lifetimes_round_up(end, alignment) : found;
}

static void go_by_order(struct walk *walk, uint32_t *list)
{
    uint32_t num = 0;
    for (uint32_t i = 0; i < walk->lifetimes->num; i++) {
        uint32_t block = walk->begins[i].block, low = 0;
        uint64_t offset = find_offset(walk, block, list, &num);
        for (uint32_t high = num; low < high;) {
            uint32_t middle = low + (high - low) / 2;
            if (walk->offsets[list[middle]] <= offset)
                low = middle + 1;
            else
                high = middle;
        }
        memmove(list + low + 1, list + low, (num++ - low) * sizeof(*list));
        list[low] = block;
        walk->offsets[block] = offset;
        uint64_t end = offset + walk->lifetimes->bytes[block];
        walk->bytes = end > walk->bytes ? end : walk->bytes;
    }
}

static bool pack_all(struct walk *walk, uint64_t most_questions)
{
    find_moments(walk);
    if (count_questions(walk) > most_questions) {
        go(walk);
        return true;
    }
    uint32_t *list = braid_allocate_zeroed(walk->lifetimes->num, sizeof(*list));
    if (!list)
        return false;
    go_by_order(walk, list);
    free(list);
    return true;
}

braid_status braid_pack_by_time(const struct lifetimes *lifetimes, uint64_t most_questions,
                                uint64_t *out_offsets, uint64_t *out_bytes)
{
    uint32_t num = lifetimes->num;
    struct store store = { 0 };
    struct walk walk = {
        .lifetimes = lifetimes,
        .begins = braid_store_take(&store, num, sizeof(struct moment)),
        .ends = braid_store_take(&store, num, sizeof(struct moment)),
        .gaps = braid_store_take(&store, 2 * (size_t)num + 2, sizeof(struct gap)),
        .offsets = out_offsets,
    };
    bool done = !store.failed && pack_all(&walk, most_questions);
    if (done)
        *out_bytes = walk.bytes;
    braid_store_finish(&store);
    return done ? BRAID_OK : braid_error_no_memory("the memory of a plan");
}
