// SPDX-License-Identifier: Apache-2.0
// Packs blocks one by one, the largest first, each at the lowest offset that the others leave. Then
// fits them into fewer bytes by letting them push each other out. A block goes to the offset
// where the blocks in its way are the easiest to place again. These then look for a place. A block
// that often found no gap counts as hard to place, so the same few do not push each other for ever.
// The method follows Nagata and Braysy, A Powerful Route Minimization Heuristic for the Vehicle
// Routing Problem with Time Windows, 2009.
#include "plan/memory/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/store.h"

#define MOST_PAIRED 4096              // with more blocks than these not each pair is looked at,
#define MOST_PAIRED_BY_TIME 800000000 // but so many

// A round takes away one part in ROUND. It asks ROUND_QUESTIONS times whether two blocks clash,
// within LEAST_TURNS and MOST_TURNS of each block. All rounds ask MOST_QUESTIONS times, some
// hundredths of a second.
#define ROUND 100
#define LEAST_TURNS 20
#define MOST_TURNS 200
#define ROUND_QUESTIONS 2000000
#define MOST_QUESTIONS 15000000

// Which blocks may be alive at once: a row of bits a block. Asking a bit is several times as fast
// as comparing clocks.
struct clashes {
    const struct lifetimes *lifetimes;
    uint64_t *rows;
    size_t words; // in a row
};

// Where a placed block starts or ends.
struct edge {
    uint64_t at;
    uint64_t cost; // what pushing it out costs
};

struct pack {
    const struct clashes *clashes;
    uint64_t *offsets;
    uint64_t *costs;    // per block: 1 and how often there was no gap for it
    bool *is_placed;    //
    uint32_t *by_start; // the placed blocks by rising offset
    uint32_t *by_end;   // and by rising end
    uint32_t num_placed;
    uint32_t *waiting; // the other blocks
    uint32_t num_waiting;
    struct edge *starts; // for placed blocks that clash with the one to place, rising
    struct edge *ends;   // for the same blocks, rising
    uint32_t num_edges;
    uint64_t limit;       // bytes to fit into
    uint64_t round_steps; // that a round may take
    uint64_t steps;       // left of all rounds
};

static braid_status find_clashes(struct clashes *clashes)
{
    const struct lifetimes *lifetimes = clashes->lifetimes;
    uint32_t num = lifetimes->num;
    clashes->words = ((size_t)num + 63) / 64;
    clashes->rows = braid_allocate_zeroed(num * clashes->words, sizeof(uint64_t));
    if (!clashes->rows)
        return braid_error_no_memory("the memory of a plan");
    for (uint32_t a = 0; a < num; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (!lifetimes_interfere(lifetimes, a, b))
                continue;
            clashes->rows[a * clashes->words + b / 64] |= (uint64_t)1 << (b % 64);
            clashes->rows[b * clashes->words + a / 64] |= (uint64_t)1 << (a % 64);
        }
    }
    return BRAID_OK;
}

static bool clash(const struct clashes *clashes, uint32_t a, uint32_t b)
{
    return clashes->rows[a * clashes->words + b / 64] >> (b % 64) & 1;
}

static uint64_t end_of(const struct pack *pack, uint32_t block)
{
    return pack->offsets[block] + pack->clashes->lifetimes->bytes[block];
}

static void insert(uint32_t *list, uint32_t low, uint32_t num, uint32_t block)
{
    memmove(list + low + 1, list + low, (num - low) * sizeof(*list));
    list[low] = block;
}

static void put(struct pack *pack, uint32_t block, uint64_t offset)
{
    pack->offsets[block] = offset;
    pack->is_placed[block] = true;
    uint32_t num = pack->num_placed++, start = num, end = num;
    while (start > 0 && pack->offsets[pack->by_start[start - 1]] > offset)
        start--;
    while (end > 0 && end_of(pack, pack->by_end[end - 1]) > end_of(pack, block))
        end--;
    insert(pack->by_start, start, num, block);
    insert(pack->by_end, end, num, block);
}

static void drop_unplaced(const struct pack *pack, uint32_t *list, uint32_t num)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < num; i++) {
        if (pack->is_placed[list[i]])
            list[kept++] = list[i];
    }
}

static void push_out(struct pack *pack, uint32_t block)
{
    pack->is_placed[block] = false;
    pack->waiting[pack->num_waiting++] = block;
}

// All of the placed blocks that are in waiting leave the lists.
static void close_lists(struct pack *pack, uint32_t num_before)
{
    uint32_t num = pack->num_placed, left = pack->num_waiting - num_before;
    drop_unplaced(pack, pack->by_start, num);
    drop_unplaced(pack, pack->by_end, num);
    pack->num_placed -= left;
}

static uint32_t take_largest(struct pack *pack)
{
    const uint64_t *bytes = pack->clashes->lifetimes->bytes;
    uint32_t largest = 0;
    for (uint32_t i = 1; i < pack->num_waiting; i++) {
        if (bytes[pack->waiting[i]] > bytes[pack->waiting[largest]])
            largest = i;
    }
    uint32_t block = pack->waiting[largest];
    pack->waiting[largest] = pack->waiting[--pack->num_waiting];
    return block;
}

static void find_edges(struct pack *pack, uint32_t block)
{
    uint32_t num = 0, num_ends = 0;
    for (uint32_t i = 0; i < pack->num_placed; i++) {
        uint32_t start = pack->by_start[i], end = pack->by_end[i];
        if (clash(pack->clashes, block, start))
            pack->starts[num++] = (struct edge){ pack->offsets[start], pack->costs[start] };
        if (clash(pack->clashes, block, end))
            pack->ends[num_ends++] = (struct edge){ end_of(pack, end), pack->costs[end] };
    }
    pack->num_edges = num;
}

// The lowest of the offsets where pushing out the blocks in the way costs least. It is 0 or right
// behind another block: from anywhere else the block can go down without meeting another.
static uint64_t find_offset(struct pack *pack, uint32_t block, uint64_t *out_cost)
{
    const struct lifetimes *lifetimes = pack->clashes->lifetimes;
    uint64_t bytes = lifetimes->bytes[block], alignment = lifetimes->alignments[block];
    uint64_t least = UINT64_MAX, found = 0, offset = 0, cost = 0;
    find_edges(pack, block);
    for (uint32_t start = 0, end = 0; offset + bytes <= pack->limit && least > 0;) {
        for (; start < pack->num_edges && pack->starts[start].at < offset + bytes; start++)
            cost += pack->starts[start].cost;
        for (; end < pack->num_edges && pack->ends[end].at <= offset; end++)
            cost -= pack->ends[end].cost;
        if (cost < least) {
            least = cost;
            found = offset;
        }
        if (end == pack->num_edges)
            break;
        offset = lifetimes_round_up(pack->ends[end].at, alignment);
    }
    *out_cost = least;
    return found;
}

static void place(struct pack *pack, uint32_t block)
{
    uint64_t cost, offset = find_offset(pack, block, &cost);
    uint64_t end = offset + pack->clashes->lifetimes->bytes[block];
    if (cost) {
        uint32_t before = pack->num_waiting;
        pack->costs[block]++;
        for (uint32_t i = 0; i < pack->num_placed; i++) {
            uint32_t other = pack->by_start[i];
            if (pack->offsets[other] < end && end_of(pack, other) > offset &&
                clash(pack->clashes, block, other))
                push_out(pack, other);
        }
        close_lists(pack, before);
    }
    put(pack, block, offset);
}

// Tells whether all blocks fit under the limit.
static bool fit(struct pack *pack)
{
    uint32_t before = pack->num_waiting;
    for (uint32_t i = 0; i < pack->num_placed; i++) {
        if (end_of(pack, pack->by_start[i]) > pack->limit)
            push_out(pack, pack->by_start[i]);
    }
    close_lists(pack, before);
    for (uint64_t steps = pack->round_steps; pack->num_waiting && steps && pack->steps;) {
        place(pack, take_largest(pack));
        steps--;
        pack->steps--;
    }
    return !pack->num_waiting;
}

static void keep(const struct pack *pack, uint64_t *offsets, uint64_t *bytes)
{
    uint32_t num = pack->num_placed;
    memcpy(offsets, pack->offsets, num * sizeof(*offsets));
    *bytes = end_of(pack, pack->by_end[num - 1]);
}

static void pack_all(struct pack *pack, uint64_t bound, uint64_t *offsets, uint64_t *bytes)
{
    uint32_t num = pack->clashes->lifetimes->num;
    for (uint32_t i = 0; i < num; i++) {
        pack->costs[i] = 1;
        push_out(pack, i);
    }
    pack->limit = UINT64_MAX;
    while (pack->num_waiting)
        place(pack, take_largest(pack));
    keep(pack, offsets, bytes);
    while (*bytes > bound) {
        uint64_t limit = *bytes - 1 - *bytes / ROUND;
        pack->limit = limit > bound ? limit : bound;
        if (!fit(pack))
            return;
        keep(pack, offsets, bytes);
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

static braid_status pack_pairs(const struct clashes *clashes, uint64_t bound, uint64_t *out_offsets,
                               uint64_t *out_bytes)
{
    uint32_t num = clashes->lifetimes->num;
    struct store store = { 0 };
    struct pack pack = {
        .clashes = clashes,
        .offsets = braid_store_take(&store, num, sizeof(uint64_t)),
        .costs = braid_store_take(&store, num, sizeof(uint64_t)),
        .is_placed = braid_store_take(&store, num, sizeof(bool)),
        .by_start = braid_store_take(&store, num, sizeof(uint32_t)),
        .by_end = braid_store_take(&store, num, sizeof(uint32_t)),
        .waiting = braid_store_take(&store, num, sizeof(uint32_t)),
        .starts = braid_store_take(&store, num, sizeof(struct edge)),
        .ends = braid_store_take(&store, num, sizeof(struct edge)),
        .round_steps = find_round_steps(num),
        .steps = MOST_QUESTIONS / 2 / num,
    };
    if (!store.failed)
        pack_all(&pack, bound, out_offsets, out_bytes);
    braid_store_finish(&store);
    return store.failed ? braid_error_no_memory("the memory of a plan") : BRAID_OK;
}

braid_status braid_pack(const struct lifetimes *lifetimes, uint64_t bound, uint64_t *out_offsets,
                        uint64_t *out_bytes)
{
    struct clashes clashes = { .lifetimes = lifetimes };
    if (lifetimes->num > MOST_PAIRED)
        return braid_pack_by_time(lifetimes, MOST_PAIRED_BY_TIME, out_offsets, out_bytes);
    braid_status status = find_clashes(&clashes);
    if (!status)
        status = pack_pairs(&clashes, bound, out_offsets, out_bytes);
    free(clashes.rows);
    return status;
}
