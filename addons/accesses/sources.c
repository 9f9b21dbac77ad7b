// SPDX-License-Identifier: Apache-2.0
// Sets of sources, each held once.
#include "accesses/sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/host_memory.h"

enum { FEWEST_SLOTS = 256, UPPER = 32 }; // the upper half of 8 bytes begins at a bit

// A list leads to ever more places.
enum { MOST_DEPTH = 2, MOST_PLACES = 4096 };

// The result of a change of a set, or of joining two.
struct source_memo {
    uint32_t a, b, change; // b: a set, or how far
    uint32_t result;       // plus 1; 0: the slot is free
};

void braid_source_sets_finish(struct source_sets *sets)
{
    braid_array_finish(&sets->members);
    braid_array_finish(&sets->sets);
    braid_array_finish(&sets->room);
    braid_array_finish(&sets->places);
    braid_free(sets->slots);
    braid_free(sets->memos);
    *sets = (struct source_sets){ 0 };
}

const uint64_t *braid_sources_members(const struct source_sets *sets, uint32_t a, uint32_t *out_num)
{
    *out_num = 0;
    if (!a)
        return NULL;
    const struct source_set *set = (const struct source_set *)sets->sets.items + (a - 1);
    *out_num = set->num;
    return (const uint64_t *)sets->members.items + set->first;
}

// ---- one number for each set ----

static uint64_t hash_of(const uint64_t *members, uint32_t num)
{
    return hash_bytes(members, num * sizeof(*members));
}

static uint32_t *find_slot(const struct source_sets *sets, const uint64_t *members, uint32_t num)
{
    size_t at = hash_of(members, num) & (sets->num_slots - 1);
    for (;; at = (at + 1) & (sets->num_slots - 1)) {
        uint32_t other_num = 0, other = sets->slots[at];
        const uint64_t *others = braid_sources_members(sets, other, &other_num);
        if (!other || (other_num == num && memcmp(others, members, num * sizeof(*members)) == 0))
            return &sets->slots[at];
    }
}

// At least half of the slots are free.
static bool grow_slots(struct source_sets *sets)
{
    if (2 * (sets->sets.num + 1) <= sets->num_slots)
        return true;
    size_t num_slots = sets->num_slots ? 2 * sets->num_slots : FEWEST_SLOTS;
    uint32_t *slots = braid_allocate_zeroed(num_slots, sizeof(*slots));
    if (!slots)
        return false;
    braid_free(sets->slots);
    sets->slots = slots;
    sets->num_slots = num_slots;
    for (uint32_t i = 1; i <= sets->sets.num; i++) {
        uint32_t num;
        const uint64_t *members = braid_sources_members(sets, i, &num);
        *find_slot(sets, members, num) = i;
    }
    return true;
}

// The members are in order.
static uint32_t intern(struct source_sets *sets, const uint64_t *members, uint32_t num)
{
    if (num == 0 || sets->failed || !grow_slots(sets)) {
        sets->failed = sets->failed || num > 0;
        return 0;
    }
    uint32_t *slot = find_slot(sets, members, num);
    if (*slot)
        return *slot;
    struct source_set set = { .first = sets->members.num, .num = num };
    uint64_t *copy = braid_array_append(&sets->members, num, sizeof(*copy));
    if (!copy || !braid_array_put(&sets->sets, &set, sizeof(set))) {
        sets->failed = true;
        return 0;
    }
    memcpy(copy, members, num * sizeof(*copy));
    return *slot = (uint32_t)sets->sets.num;
}

uint32_t braid_sources_one(struct source_sets *sets, uint64_t source)
{
    return intern(sets, &source, 1);
}

uint32_t braid_sources_behind(struct source_sets *sets, uint64_t pointer, int64_t offset)
{
    const bool is_known =
        !source_left(pointer) && offset == (int32_t)offset && !source_is_anywhere((uint32_t)offset);
    struct source_place *places = sets->places.items;
    const bool is_below = source_is_sunk(pointer) || offset < 0;
    struct source_place place = { .base = source_at_left(pointer, is_below ? 2 : 0),
                                  .offset = is_known ? (uint32_t)offset : SOURCE_ANYWHERE,
                                  .depth = 1 };
    if (source_kind(pointer) == SOURCE_POINTED)
        place.depth += places[source_item(pointer)].depth;
    uint32_t item = 0;
    while (item < sets->places.num &&
           (places[item].base != place.base || places[item].offset != place.offset))
        item++;
    if (place.depth > MOST_DEPTH || item == MOST_PLACES)
        return 0;
    if (item == sets->places.num && !braid_array_put(&sets->places, &place, sizeof(place)))
        sets->failed = true;
    return braid_sources_one(sets, source_make(SOURCE_POINTED, item, 0));
}

// ---- changes of one source ----

static void put_source(struct source_sets *sets, uint64_t source)
{
    sets->failed = sets->failed || !braid_array_put(&sets->room, &source, sizeof(source));
}

static void put(struct source_sets *sets, enum source_kind kind, uint32_t item, uint32_t offset)
{
    put_source(sets, source_make(kind, item, offset));
}

// Some shift of a source that stands for 8 bytes of memory, or for a part of them.
static void put_loaded(struct source_sets *sets, enum source_kind kind, uint32_t left)
{
    put_source(sets, source_at_left(source_make(kind, 0, 0), left));
}

static void put_moved(struct source_sets *sets, uint64_t source)
{
    const bool is_first = source_is_pointer(source) && !source_left(source);
    put_source(sets, is_first ? source_at_left(source, 1) : source);
}

static void put_sunk(struct source_sets *sets, uint64_t source)
{
    put_source(sets, source_is_pointer(source) ? source_at_left(source, 2) : source);
}

static uint32_t moved(uint32_t offset, uint32_t by)
{
    return source_is_anywhere(offset) ? offset : offset + by;
}

// Where the address of a parameter goes.
static uint32_t moved_address(uint32_t offset, int32_t by)
{
    const uint32_t step = source_step(offset);
    const int64_t to = (int64_t)(int32_t)offset + by;
    if (source_is_anywhere(offset))
        return offset;
    if (step)
        return source_stepped(step, source_first((int64_t)(offset & SOURCE_MOST_STEP) + by, step));
    return to < SOURCE_FARTHEST && to > -SOURCE_FARTHEST ? (uint32_t)to : SOURCE_ANYWHERE;
}

static uint32_t moved_by_steps(uint32_t offset, uint32_t by)
{
    const uint32_t before = source_step(offset), step = source_divisor(by, before);
    const int64_t from = before ? (int64_t)(offset & SOURCE_MOST_STEP) : (int32_t)offset;
    return source_is_anywhere(offset) || step < SOURCE_FEWEST_STEP || step > SOURCE_MOST_STEP
               ? SOURCE_ANYWHERE
               : source_stepped(step, source_first(from, step));
}

// The halves of a word, of which `change` takes one or both.
static void put_halves(struct source_sets *sets, enum source_change change, uint32_t item,
                       uint32_t offset)
{
    if (change != SOURCE_UPPER)
        put(sets, SOURCE_HALF, item, offset);
    if (change != SOURCE_LOWER)
        put(sets, SOURCE_HALF, item, moved(offset, 4));
}

static void narrow(struct source_sets *sets, enum source_change change, uint64_t source)
{
    const uint32_t item = source_item(source), offset = source_offset(source);
    switch (source_kind(source)) {
    case SOURCE_WORD:
        put_halves(sets, change, item, offset);
        break;
    case SOURCE_HIGH: // the set has the half, too
        break;
    case SOURCE_LOADED:
        put_loaded(sets, SOURCE_PART, source_left(source));
        break;
    case SOURCE_SHIFTED: // its lower half has bits of the upper one, and may bring these back
        put_loaded(sets, SOURCE_PART, 0);
        if (change != SOURCE_UPPER)
            put_source(sets, source);
        break;
    case SOURCE_POINTED:
        put_loaded(sets, SOURCE_PART, 0);
        break;
    default:
        put_source(sets, source);
    }
}

// However far it was shifted.
static bool has(const uint64_t *members, uint32_t num, uint64_t source)
{
    for (uint32_t i = 0; i < num; i++) {
        if (source_at_left(members[i], 0) == source)
            return true;
    }
    return false;
}

// Halves that stand side by side in a parameter may be the halves of an address. The upper
// one is of kind `upper`.
static void meet(struct source_sets *sets, const uint64_t *members, uint32_t num, uint64_t lower,
                 enum source_kind upper)
{
    const uint32_t item = source_item(lower), offset = source_offset(lower);
    if (has(members, num, source_make(upper, item, moved(offset, 4))))
        put_sunk(sets, source_make(SOURCE_WORD, item, offset));
}

static void widen(struct source_sets *sets, const uint64_t *members, uint32_t num, uint64_t source)
{
    const enum source_kind kind = source_kind(source);
    put_source(sets, source);
    if (kind == SOURCE_PART)
        put(sets, SOURCE_LOADED, 0, 0);
    else if (kind == SOURCE_BYTES)
        put(sets, SOURCE_UNKNOWN, 0, 0);
    else if (kind == SOURCE_HALF)
        meet(sets, members, num, source, SOURCE_HALF);
}

// The sum is rounded up, so that a loop that shifts ends soon.
static uint32_t sum_of_shifts(uint32_t left, uint32_t by)
{
    return left ? (left + by + 7) & ~7u : by;
}

static void put_shifted(struct source_sets *sets, uint32_t least, uint32_t most)
{
    put(sets, SOURCE_SHIFTED, most < SOURCE_ANY_BITS ? most : SOURCE_ANY_BITS, least ? least : 1);
}

// Bits that were shifted to the right go to the left. If they come back to their place, they may be
// an address again. Nothing is left of 8 bytes that were shifted by 64 bits or more.
static void shift_back(struct source_sets *sets, uint64_t source, uint32_t by)
{
    const uint32_t least = source_offset(source), most = source_item(source);
    const bool is_known = by < SOURCE_ANY_BITS;
    if (by > least)
        put_loaded(sets, SOURCE_LOADED, by);
    if (by >= least && (by <= most || !is_known))
        put_loaded(sets, SOURCE_LOADED, 0);
    if (by < most || !is_known)
        put_shifted(sets, is_known && least > by ? least - by : 1, is_known ? most - by : most);
}

// By how far 8 bytes count as shifted to the left. Their lower half may be the upper one of an
// address that lies across two of them.
static uint32_t left_of_whole(uint32_t left, uint32_t by)
{
    return by < UPPER || by == SOURCE_ANY_BITS ? left : 0;
}

// A part has at most 4 bytes. In the upper half of 8 bytes it may be that of an address, also once
// it is shifted back to there.
static void shift_left(struct source_sets *sets, uint64_t source, uint32_t by)
{
    const uint32_t left = sum_of_shifts(source_left(source), by);
    const bool is_upper = left >= UPPER;
    switch (source_kind(source)) {
    case SOURCE_POINTED:
        put_loaded(sets, SOURCE_LOADED, left_of_whole(by, by));
        return;
    case SOURCE_LOADED:
        put_loaded(sets, SOURCE_LOADED, left_of_whole(left, by));
        return;
    case SOURCE_SHIFTED:
        shift_back(sets, source, by);
        return;
    case SOURCE_PART:
        put_source(sets, source_at_left(source, left));
        if (is_upper)
            put_loaded(sets, SOURCE_LOADED, 0);
        if (left > UPPER)
            put_loaded(sets, SOURCE_LOADED, left - UPPER);
        return;
    case SOURCE_HALF:
        put_source(sets, source_at_left(source, left));
        if (is_upper)
            put(sets, SOURCE_HIGH, source_item(source), source_offset(source));
        return;
    case SOURCE_BYTES:
        put_source(sets, source_at_left(source, left));
        if (left >= UPPER / 2)
            put(sets, SOURCE_UNKNOWN, 0, 0);
        return;
    default:
        put_moved(sets, source);
    }
}

// By less than 32 bits, or by 1 or more that nobody knows. The sums are rounded, as those to the
// left.
static void shift_right(struct source_sets *sets, uint64_t source, uint32_t by)
{
    const bool is_pointed = source_kind(source) == SOURCE_POINTED;
    const bool is_loaded = source_kind(source) == SOURCE_LOADED || is_pointed;
    const uint32_t least = by < SOURCE_ANY_BITS ? by : 1;
    if (source_kind(source) == SOURCE_SHIFTED) {
        put_shifted(sets, (source_offset(source) + least) & ~7u,
                    sum_of_shifts(source_item(source), by));
        return;
    }
    if (is_loaded)
        put_shifted(sets, is_pointed || !source_left(source) ? least : 1, by);
    if (is_loaded && !is_pointed && source_left(source))
        put_loaded(sets, SOURCE_LOADED, 0);
    if (!is_pointed && (!is_loaded || source_left(source)))
        put_moved(sets, source);
}

// An address in a variable stays in the variable. By more than a known number of bytes, it moves to
// an unknown place of it.
static void change_local(struct source_sets *sets, enum source_change change, uint64_t source,
                         int32_t by)
{
    const uint32_t item = source_item(source), offset = source_offset(source);
    const int64_t to = (int64_t)offset + by;
    const bool is_far = to < 0 || to >= SOURCE_LOCAL_FARTHEST;
    switch (change) {
    case SOURCE_NARROW:
    case SOURCE_LOWER:
    case SOURCE_WIDEN:
    case SOURCE_MEET:
    case SOURCE_SINK:
        put_source(sets, source);
        return;
    case SOURCE_MOVE:
        if (!by || item == SOURCE_NO_LOCAL || offset == SOURCE_ANYWHERE)
            put_source(sets, source);
        else
            put(sets, SOURCE_LOCAL, item, is_far ? SOURCE_ANYWHERE : (uint32_t)to);
        return;
    default:
        put(sets, SOURCE_LOCAL, item, item == SOURCE_NO_LOCAL ? 0 : SOURCE_ANYWHERE);
    }
}

static void change_one(struct source_sets *sets, enum source_change change, uint32_t set,
                       uint32_t index, int32_t by)
{
    uint32_t num;
    const uint64_t *members = braid_sources_members(sets, set, &num), source = members[index];
    const uint32_t item = source_item(source), offset = source_offset(source);
    const enum source_kind kind = source_kind(source);
    if (kind == SOURCE_LOCAL) {
        change_local(sets, change, source, by);
        return;
    }
    switch (change) {
    case SOURCE_NARROW:
    case SOURCE_LOWER:
    case SOURCE_UPPER:
        narrow(sets, change, source);
        return;
    case SOURCE_WIDEN:
        widen(sets, members, num, source);
        return;
    case SOURCE_SHIFT_LEFT:
        shift_left(sets, source, (uint32_t)by);
        return;
    case SOURCE_SHIFT_RIGHT:
        shift_right(sets, source, (uint32_t)by);
        return;
    case SOURCE_SHIFT_DOWN:
        narrow(sets, SOURCE_UPPER, source);
        return;
    case SOURCE_MULTIPLY:
    case SOURCE_CONVERT:
        if (kind != SOURCE_LOADED && kind != SOURCE_POINTED && kind != SOURCE_SHIFTED)
            put_moved(sets, source);
        return;
    case SOURCE_MEET:
        put_source(sets, source);
        if (kind == SOURCE_HALF)
            meet(sets, members, num, source, SOURCE_HIGH);
        return;
    case SOURCE_MOVE:
        if (kind == SOURCE_PARAMETER)
            put(sets, kind, item, moved_address(offset, by));
        else if (by > 0)
            put_moved(sets, source);
        else if (by)
            put_sunk(sets, source);
        else
            put_source(sets, source);
        return;
    case SOURCE_MOVE_STEPS:
        if (kind == SOURCE_PARAMETER)
            put(sets, kind, item, moved_by_steps(offset, (uint32_t)by));
        else
            put_moved(sets, source);
        return;
    case SOURCE_SINK:
        put_sunk(sets, source);
        return;
    default:
        if (kind == SOURCE_PARAMETER)
            put(sets, kind, item, SOURCE_ANYWHERE);
        else
            put_sunk(sets, source);
    }
}

// ---- results that are known ----

static struct source_memo *find_memo(const struct source_sets *sets, const struct source_memo *memo)
{
    const uint64_t key = ((uint64_t)memo->a << 32 | memo->b) + memo->change;
    const uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15); // Fibonacci's
    size_t at = (size_t)(hash ^ hash >> 32) & (sets->room_memos - 1);
    for (;; at = (at + 1) & (sets->room_memos - 1)) {
        struct source_memo *slot = &sets->memos[at];
        if (!slot->result ||
            (slot->a == memo->a && slot->b == memo->b && slot->change == memo->change))
            return slot;
    }
}

static bool grow_memos(struct source_sets *sets)
{
    if (2 * (sets->num_memos + 1) <= sets->room_memos)
        return true;
    struct source_sets grown = *sets;
    grown.room_memos = sets->room_memos ? 2 * sets->room_memos : FEWEST_SLOTS;
    grown.memos = braid_allocate_zeroed(grown.room_memos, sizeof(*grown.memos));
    if (!grown.memos)
        return false;
    for (size_t i = 0; i < sets->room_memos; i++) {
        if (sets->memos[i].result)
            *find_memo(&grown, &sets->memos[i]) = sets->memos[i];
    }
    braid_free(sets->memos);
    *sets = grown;
    return true;
}

static int compare(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

// The set of the sources in the room.
static uint32_t take_room(struct source_sets *sets)
{
    uint64_t *members = sets->room.items;
    uint32_t num = 0;
    if (sets->failed || !sets->room.num)
        return 0;
    qsort(members, sets->room.num, sizeof(*members), compare);
    for (size_t i = 0; i < sets->room.num; i++) {
        if (i == 0 || members[i] != members[num - 1])
            members[num++] = members[i];
    }
    return intern(sets, members, num);
}

static uint32_t find_result(struct source_sets *sets, struct source_memo memo)
{
    if (sets->failed || !grow_memos(sets)) {
        sets->failed = true;
        return 0;
    }
    struct source_memo *slot = find_memo(sets, &memo);
    if (slot->result)
        return slot->result - 1;
    uint32_t num, num_b = 0;
    braid_sources_members(sets, memo.a, &num);
    sets->room.num = 0;
    for (uint32_t i = 0; i < num; i++)
        change_one(sets, memo.change == SOURCE_JOIN ? SOURCE_MOVE : (enum source_change)memo.change,
                   memo.a, i, memo.change == SOURCE_JOIN ? 0 : (int32_t)memo.b);
    if (memo.change == SOURCE_JOIN)
        braid_sources_members(sets, memo.b, &num_b);
    for (uint32_t i = 0; i < num_b; i++)
        change_one(sets, SOURCE_MOVE, memo.b, i, 0);
    memo.result = take_room(sets) + 1;
    *slot = memo;
    sets->num_memos++;
    return memo.result - 1;
}

uint32_t braid_sources_join(struct source_sets *sets, uint32_t a, uint32_t b)
{
    if (a == b || !b)
        return a;
    if (!a)
        return b;
    return find_result(sets, (struct source_memo){ .a = a < b ? a : b, .b = a < b ? b : a });
}

uint32_t braid_sources_change(struct source_sets *sets, enum source_change change, uint32_t a,
                              int32_t by)
{
    if (!a || change == SOURCE_JOIN)
        return a;
    return find_result(sets, (struct source_memo){ .a = a, .b = (uint32_t)by, .change = change });
}
