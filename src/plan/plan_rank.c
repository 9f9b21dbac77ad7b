// SPDX-License-Identifier: Apache-2.0
// A stable radix sort, lowest digit first: linear, and equal keys keep the order of the units.
#include "plan/plan_rank.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/big_memory.h"
#include "base/error.h"

#define DIGIT_BITS 11
#define NUM_DIGITS (1u << DIGIT_BITS)
#define FEW 128

struct column {
    uint64_t *keys;
    uint32_t *units;
};

static void swap_columns(struct column *a, struct column *b)
{
    struct column c = *a;
    *a = *b;
    *b = c;
}

static uint32_t digit_of(uint64_t key, unsigned shift)
{
    return (uint32_t)(key >> shift) & (NUM_DIGITS - 1);
}

static void sort_digit(const struct column *from, const struct column *to, uint32_t num,
                       unsigned shift)
{
    uint32_t start[NUM_DIGITS] = { 0 };
    for (uint32_t i = 0; i < num; i++)
        start[digit_of(from->keys[i], shift)]++;
    uint32_t sum = 0;
    for (uint32_t d = 0; d < NUM_DIGITS; d++) {
        uint32_t count = start[d];
        start[d] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < num; i++) {
        uint32_t at = start[digit_of(from->keys[i], shift)]++;
        to->keys[at] = from->keys[i];
        to->units[at] = from->units[i];
    }
}

// Counting digits takes longer than this for few keys. Like that it leaves equal keys as they are.
static void sort_few(struct column *a, uint32_t num)
{
    for (uint32_t i = 1; i < num; i++) {
        uint64_t key = a->keys[i];
        uint32_t unit = a->units[i], at = i;
        for (; at > 0 && a->keys[at - 1] > key; at--) {
            a->keys[at] = a->keys[at - 1];
            a->units[at] = a->units[at - 1];
        }
        a->keys[at] = key;
        a->units[at] = unit;
    }
}

// Leaves the units in order in a->units.
static void sort_column(struct column *a, struct column *b, uint32_t num)
{
    uint64_t differing = 0;
    if (num <= FEW) {
        sort_few(a, num);
        return;
    }
    for (uint32_t i = 0; i < num; i++)
        differing |= a->keys[i] ^ a->keys[0];
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (digit_of(differing, shift) == 0)
            continue; // all keys have this digit
        sort_digit(a, b, num, shift);
        swap_columns(a, b);
    }
}

// rank_of is scratch until it is written.
void braid_plan_ranks_fill(uint64_t *keys, uint32_t num, uint64_t *spare_keys,
                           struct plan_ranks *ranks)
{
    struct column a = { keys, ranks->unit_at }, b = { spare_keys, ranks->rank_of };
    sort_column(&a, &b, num);
    if (a.units != ranks->unit_at)
        memcpy(ranks->unit_at, a.units, num * sizeof(*a.units));
    for (uint32_t i = 0; i < num; i++)
        ranks->rank_of[ranks->unit_at[i]] = i;
}

braid_status braid_plan_ranks_create(uint64_t *keys, uint32_t num, struct plan_ranks *out_ranks)
{
    struct plan_ranks ranks = { plan_allocate(num, sizeof(uint32_t)),
                                plan_allocate(num, sizeof(uint32_t)) };
    uint64_t *spare_keys = plan_allocate(num, sizeof(uint64_t));
    bool done = ranks.rank_of && ranks.unit_at && spare_keys;
    if (done) {
        for (uint32_t i = 0; i < num; i++)
            ranks.unit_at[i] = i;
        braid_plan_ranks_fill(keys, num, spare_keys, &ranks);
        *out_ranks = ranks;
    } else {
        braid_plan_ranks_finish(&ranks);
    }
    free(spare_keys);
    return done ? BRAID_OK : braid_error_no_memory("the order of ready nodes");
}

void braid_plan_ranks_finish(struct plan_ranks *ranks)
{
    free(ranks->rank_of);
    free(ranks->unit_at);
    *ranks = (struct plan_ranks){ 0 };
}
