// SPDX-License-Identifier: Apache-2.0
// Making memory plans: offsets for blocks, so that those that may be alive at once do not overlap.
#include "plan/memory/memory_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "plan/memory/lifetimes.h"

// ---- many blocks, by time ----

// Walks over the issue order as an allocator would. A block takes the smallest gap that fits at its
// first use, and leaves one when it is settled. If lanes seldom wait for each other, blocks are
// settled late. So, as far as time allows, a block may also lie over unsettled blocks if it is
// ordered behind each of them.

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
static uint64_t find_gap_offset(const struct walk *walk, uint32_t block, uint32_t *list,
                                uint32_t *num)
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
        uint64_t offset = find_gap_offset(walk, block, list, &num);
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

static bool walk_all(struct walk *walk, uint64_t most_questions)
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
    braid_free(list);
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
    bool done = !store.failed && walk_all(&walk, most_questions);
    if (done)
        *out_bytes = walk.bytes;
    braid_store_finish(&store);
    return done ? BRAID_OK : braid_error_no_memory("the memory of a plan");
}

// ---- blocks by size ----

// Packs blocks one by one, the largest first, each at the lowest offset that the others leave. Then
// fits them into fewer bytes by letting them push each other out. A block goes to the offset
// where the blocks in its way are the easiest to place again. These then look for a place. A block
// that often found no gap counts as hard to place, so the same few do not push each other for ever.
// The method follows Nagata and Braysy, A Powerful Route Minimization Heuristic for the Vehicle
// Routing Problem with Time Windows, 2009.

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

static void place_all(struct pack *pack, uint64_t bound, uint64_t *offsets, uint64_t *bytes)
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
        place_all(&pack, bound, out_offsets, out_bytes);
    braid_store_finish(&store);
    return store.failed ? braid_error_no_memory("the memory of a plan") : BRAID_OK;
}

// Fills out_offsets (one a block); returns the bytes of the arena in out_bytes. `bound` is the
// least that is possible: when it is met, no better packing is looked for.
// Errors: BRAID_NO_MEMORY.
static braid_status pack_by_size(const struct lifetimes *lifetimes, uint64_t bound,
                                 uint64_t *out_offsets, uint64_t *out_bytes)
{
    struct clashes clashes = { .lifetimes = lifetimes };
    if (lifetimes->num > MOST_PAIRED)
        return braid_pack_by_time(lifetimes, MOST_PAIRED_BY_TIME, out_offsets, out_bytes);
    braid_status status = find_clashes(&clashes);
    if (!status)
        status = pack_pairs(&clashes, bound, out_offsets, out_bytes);
    braid_free(clashes.rows);
    return status;
}

// ---- memory plans ----

static braid_status add_up(const struct lifetimes *lifetimes, struct memory_info *info)
{
    info->alignment = 1;
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        if (lifetimes->bytes[i] > MEMORY_NONE / 2 - info->unshared_bytes)
            return braid_error_invalid("the transient buffers have over 2^63 bytes");
        info->unshared_bytes += lifetimes->bytes[i];
        if (lifetimes->alignments[i] > info->alignment)
            info->alignment = lifetimes->alignments[i];
    }
    return BRAID_OK;
}

// From offsets of blocks to offsets of resources.
static void spread(const braid_graph *graph, const struct lifetimes *lifetimes,
                   const uint64_t *block_offsets, struct memory_plan *plan)
{
    const struct graph_resource *resources = graph->resources.items;
    for (size_t i = 0; i < plan->num_resources; i++) {
        uint32_t block = lifetimes->block_of[i];
        plan->offsets[i] =
            block == LIFETIMES_NONE ? MEMORY_NONE : block_offsets[block] + resources[i].offset;
    }
}

// One behind the other.
static uint64_t lay_out(const struct lifetimes *lifetimes, uint64_t *block_offsets)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < lifetimes->num; i++) {
        block_offsets[i] = lifetimes_round_up(end, lifetimes->alignments[i]);
        end = block_offsets[i] + lifetimes->bytes[i];
    }
    return end;
}

static braid_status pack_all(const struct lifetimes *lifetimes, struct memory_plan *plan,
                             uint64_t *block_offsets)
{
    uint64_t bound = 0, bytes = 0;
    braid_status status = braid_lifetimes_most_alive(lifetimes, &bound);
    if (!status && plan->is_apart)
        bytes = lay_out(lifetimes, block_offsets);
    else if (!status)
        status = pack_by_size(lifetimes, bound, block_offsets, &bytes);
    plan->info.bound_bytes += bound;
    plan->info.arena_bytes += bytes;
    return status;
}

// The blocks of one place, behind those of the places before.
static braid_status pack_place(const struct lifetimes *lifetimes, const uint32_t *chosen,
                               uint32_t num_chosen, struct memory_plan *plan,
                               uint64_t *block_offsets)
{
    struct lifetimes some = { 0 };
    uint64_t begin = plan->info.arena_bytes;
    uint64_t *offsets = braid_allocate_zeroed(num_chosen, sizeof(*offsets));
    braid_status status = offsets ? braid_lifetimes_select(lifetimes, chosen, num_chosen, &some)
                                  : braid_error_no_memory("the memory of a plan");
    if (!status)
        status = pack_all(&some, plan, offsets);
    for (uint32_t i = 0; i < num_chosen && !status; i++)
        block_offsets[chosen[i]] = begin + offsets[i];
    braid_lifetimes_finish(&some);
    braid_free(offsets);
    return status;
}

static braid_status pack_places(const struct lifetimes *lifetimes, const braid_graph *graph,
                                struct memory_plan *plan, uint64_t *block_offsets)
{
    const struct graph_resource *resources = graph->resources.items;
    uint64_t alignment = plan->info.alignment;
    uint32_t *chosen = braid_allocate_zeroed(lifetimes->num, sizeof(*chosen));
    braid_status status = chosen ? BRAID_OK : braid_error_no_memory("the memory of a plan");
    for (uint32_t place = 0; place < plan->num_places && !status; place++) {
        uint32_t num = 0;
        for (uint32_t i = 0; i < lifetimes->num; i++) {
            if (resources[lifetimes->resources[i]].home == place)
                chosen[num++] = i;
        }
        if (num)
            status = pack_place(lifetimes, chosen, num, plan, block_offsets);
        plan->info.arena_bytes = (plan->info.arena_bytes + alignment - 1) / alignment * alignment;
        plan->begins[place + 1] = plan->info.arena_bytes;
    }
    braid_free(chosen);
    return status;
}

static braid_status pack_blocks(const struct lifetimes *lifetimes, const braid_graph *graph,
                                struct memory_plan *plan, uint64_t *block_offsets)
{
    braid_status status = add_up(lifetimes, &plan->info);
    if (status || !lifetimes->num)
        return status;
    if (plan->num_places > 1)
        return pack_places(lifetimes, graph, plan, block_offsets);
    status = pack_all(lifetimes, plan, block_offsets);
    plan->begins[1] = plan->info.arena_bytes;
    return status;
}

static braid_status pack_plan(const struct lifetimes *lifetimes, const braid_graph *graph,
                              struct memory_plan *plan)
{
    uint64_t *block_offsets = braid_allocate_zeroed(lifetimes->num, sizeof(uint64_t));
    plan->num_resources = graph->resources.num;
    plan->offsets = braid_allocate_zeroed(plan->num_resources, sizeof(uint64_t));
    plan->begins = braid_allocate_zeroed((size_t)plan->num_places + 1, sizeof(uint64_t));
    braid_status status = block_offsets && plan->offsets && plan->begins
                              ? pack_blocks(lifetimes, graph, plan, block_offsets)
                              : braid_error_no_memory("the memory of a plan");
    if (!status)
        spread(graph, lifetimes, block_offsets, plan);
    braid_free(block_offsets);
    return status;
}

void braid_memory_plan_finish(struct memory_plan *plan)
{
    braid_free(plan->offsets);
    braid_free(plan->begins);
    *plan = (struct memory_plan){ 0 };
}

braid_status braid_memory_plan_create(const braid_schedule *schedule, const braid_graph *graph,
                                      bool is_apart, struct memory_plan *out_plan)
{
    struct memory_plan plan = {
        .is_apart = is_apart,
        .num_places = schedule->placed ? schedule->placed->model.num_places : 1,
    };
    struct lifetimes lifetimes = { 0 };
    braid_status status = braid_lifetimes_create(schedule, graph, &lifetimes);
    if (!status && lifetimes.num)
        status = braid_settle(schedule, &lifetimes);
    if (!status)
        status = pack_plan(&lifetimes, graph, &plan);
    braid_lifetimes_finish(&lifetimes);
    if (status)
        braid_memory_plan_finish(&plan);
    else
        *out_plan = plan;
    return status;
}
