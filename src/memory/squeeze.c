// SPDX-License-Identifier: Apache-2.0
// Fits blocks into fewer bytes by letting them push each other out. A block goes to the offset
// where the blocks in its way are the easiest to place again. These then look for a place. A block
// that often found no gap counts as hard to place, so the same few do not push each other for ever.
// The method follows Nagata and Braysy, A Powerful Route Minimization Heuristic for the Vehicle
// Routing Problem with Time Windows, 2009.
#include "memory/squeeze.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

// A round takes away one part in ROUND. It asks ROUND_QUESTIONS times whether two blocks clash,
// within LEAST_TURNS and MOST_TURNS of each block. All rounds ask MOST_QUESTIONS times, some
// hundredths of a second.
#define ROUND 100
#define LEAST_TURNS 20
#define MOST_TURNS 200
#define ROUND_QUESTIONS 2000000
#define MOST_QUESTIONS 20000000

// Where a placed block starts or ends.
struct edge {
    uint64_t at;
    uint64_t cost; // of pushing it out
};

struct squeeze {
    const struct clashes *clashes;
    uint64_t *offsets;
    uint64_t *costs;    // per block: 1 and how often there was no gap for it
    bool *is_placed;    //
    uint32_t *by_start; // the placed blocks by rising offset
    uint32_t *by_end;   // and by rising end
    uint32_t num_placed;
    uint32_t *waiting; // the other blocks
    uint32_t num_waiting;
    struct edge *starts; // of the placed blocks that clash with the one to place, rising
    struct edge *ends;   // likewise
    uint32_t num_edges;
    uint64_t limit;       // bytes to fit into
    uint64_t round_steps; // that a round may take
    uint64_t steps;       // left of all rounds
};

static uint64_t end_of(const struct squeeze *squeeze, uint32_t block)
{
    return squeeze->offsets[block] + squeeze->clashes->lifetimes->bytes[block];
}

static void insert(uint32_t *list, uint32_t low, uint32_t num, uint32_t block)
{
    memmove(list + low + 1, list + low, (num - low) * sizeof(*list));
    list[low] = block;
}

static void put(struct squeeze *squeeze, uint32_t block, uint64_t offset)
{
    squeeze->offsets[block] = offset;
    squeeze->is_placed[block] = true;
    uint32_t num = squeeze->num_placed++, start = num, end = num;
    while (start > 0 && squeeze->offsets[squeeze->by_start[start - 1]] > offset)
        start--;
    while (end > 0 && end_of(squeeze, squeeze->by_end[end - 1]) > end_of(squeeze, block))
        end--;
    insert(squeeze->by_start, start, num, block);
    insert(squeeze->by_end, end, num, block);
}

static void drop_unplaced(const struct squeeze *squeeze, uint32_t *list, uint32_t num)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < num; i++) {
        if (squeeze->is_placed[list[i]])
            list[kept++] = list[i];
    }
}

static void push_out(struct squeeze *squeeze, uint32_t block)
{
    squeeze->is_placed[block] = false;
    squeeze->waiting[squeeze->num_waiting++] = block;
}

// All of the placed blocks that are in waiting leave the lists.
static void close_lists(struct squeeze *squeeze, uint32_t num_before)
{
    uint32_t num = squeeze->num_placed, left = squeeze->num_waiting - num_before;
    drop_unplaced(squeeze, squeeze->by_start, num);
    drop_unplaced(squeeze, squeeze->by_end, num);
    squeeze->num_placed -= left;
}

static uint32_t take_largest(struct squeeze *squeeze)
{
    const uint64_t *bytes = squeeze->clashes->lifetimes->bytes;
    uint32_t largest = 0;
    for (uint32_t i = 1; i < squeeze->num_waiting; i++) {
        if (bytes[squeeze->waiting[i]] > bytes[squeeze->waiting[largest]])
            largest = i;
    }
    uint32_t block = squeeze->waiting[largest];
    squeeze->waiting[largest] = squeeze->waiting[--squeeze->num_waiting];
    return block;
}

static void find_edges(struct squeeze *squeeze, uint32_t block)
{
    uint32_t num = 0, num_ends = 0;
    for (uint32_t i = 0; i < squeeze->num_placed; i++) {
        uint32_t start = squeeze->by_start[i], end = squeeze->by_end[i];
        if (clash(squeeze->clashes, block, start))
            squeeze->starts[num++] =
                (struct edge){ squeeze->offsets[start], squeeze->costs[start] };
        if (clash(squeeze->clashes, block, end))
            squeeze->ends[num_ends++] = (struct edge){ end_of(squeeze, end), squeeze->costs[end] };
    }
    squeeze->num_edges = num;
}

// The lowest of the offsets where pushing out the blocks in the way costs least. It is 0 or right
// behind another block: from anywhere else the block can go down without meeting another.
static uint64_t find_offset(struct squeeze *squeeze, uint32_t block, uint64_t *out_cost)
{
    const struct lifetimes *lifetimes = squeeze->clashes->lifetimes;
    uint64_t bytes = lifetimes->bytes[block], alignment = lifetimes->alignments[block];
    uint64_t least = UINT64_MAX, found = 0, offset = 0, cost = 0;
    find_edges(squeeze, block);
    for (uint32_t start = 0, end = 0; offset + bytes <= squeeze->limit && least > 0;) {
        for (; start < squeeze->num_edges && squeeze->starts[start].at < offset + bytes; start++)
            cost += squeeze->starts[start].cost;
        for (; end < squeeze->num_edges && squeeze->ends[end].at <= offset; end++)
            cost -= squeeze->ends[end].cost;
        if (cost < least) {
            least = cost;
            found = offset;
        }
        if (end == squeeze->num_edges)
            break;
        offset = lifetimes_round_up(squeeze->ends[end].at, alignment);
    }
    *out_cost = least;
    return found;
}

static void place(struct squeeze *squeeze, uint32_t block)
{
    uint64_t cost, offset = find_offset(squeeze, block, &cost);
    uint64_t end = offset + squeeze->clashes->lifetimes->bytes[block];
    if (cost) {
        uint32_t before = squeeze->num_waiting;
        squeeze->costs[block]++;
        for (uint32_t i = 0; i < squeeze->num_placed; i++) {
            uint32_t other = squeeze->by_start[i];
            if (squeeze->offsets[other] < end && end_of(squeeze, other) > offset &&
                clash(squeeze->clashes, block, other))
                push_out(squeeze, other);
        }
        close_lists(squeeze, before);
    }
    put(squeeze, block, offset);
}

// Tells whether all blocks fit under the limit.
static bool fit(struct squeeze *squeeze)
{
    uint32_t before = squeeze->num_waiting;
    for (uint32_t i = 0; i < squeeze->num_placed; i++) {
        if (end_of(squeeze, squeeze->by_start[i]) > squeeze->limit)
            push_out(squeeze, squeeze->by_start[i]);
    }
    close_lists(squeeze, before);
    for (uint64_t steps = squeeze->round_steps; squeeze->num_waiting && steps && squeeze->steps;) {
        place(squeeze, take_largest(squeeze));
        steps--;
        squeeze->steps--;
    }
    return !squeeze->num_waiting;
}

static void squeeze_all(struct squeeze *squeeze, uint64_t bound, uint64_t *offsets, uint64_t *bytes)
{
    uint32_t num = squeeze->clashes->lifetimes->num;
    for (uint32_t i = 0; i < num; i++) {
        squeeze->costs[i] = 1;
        put(squeeze, i, offsets[i]);
    }
    while (*bytes > bound) {
        uint64_t limit = *bytes - 1 - *bytes / ROUND;
        squeeze->limit = limit > bound ? limit : bound;
        if (!fit(squeeze))
            return;
        memcpy(offsets, squeeze->offsets, num * sizeof(*offsets));
        *bytes = end_of(squeeze, squeeze->by_end[num - 1]);
    }
}

static uint64_t find_round_steps(uint32_t num)
{
    uint64_t affordable = ROUND_QUESTIONS / 2 / num;
    uint64_t least = (uint64_t)LEAST_TURNS * num, most = (uint64_t)MOST_TURNS * num;
    if (affordable < least)
        return least;
    return affordable < most ? affordable : most;
}

braid_status braid_squeeze(const struct clashes *clashes, uint64_t bound, uint64_t *offsets,
                           uint64_t *bytes)
{
    uint32_t num = clashes->lifetimes->num;
    if (*bytes <= bound)
        return BRAID_OK;
    struct squeeze squeeze = {
        .clashes = clashes,
        .offsets = braid_allocate_zeroed(num, sizeof(uint64_t)),
        .costs = braid_allocate_zeroed(num, sizeof(uint64_t)),
        .is_placed = braid_allocate_zeroed(num, sizeof(bool)),
        .by_start = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .by_end = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .waiting = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .starts = braid_allocate_zeroed(num, sizeof(struct edge)),
        .ends = braid_allocate_zeroed(num, sizeof(struct edge)),
        .round_steps = find_round_steps(num),
        .steps = MOST_QUESTIONS / 2 / num,
    };
    bool done = squeeze.offsets && squeeze.costs && squeeze.is_placed && squeeze.by_start &&
                squeeze.by_end && squeeze.waiting && squeeze.starts && squeeze.ends;
    if (done)
        squeeze_all(&squeeze, bound, offsets, bytes);
    free(squeeze.offsets);
    free(squeeze.costs);
    free(squeeze.is_placed);
    free(squeeze.by_start);
    free(squeeze.by_end);
    free(squeeze.waiting);
    free(squeeze.starts);
    free(squeeze.ends);
    return done ? BRAID_OK : braid_error_no_memory("the memory of a plan");
}
