// SPDX-License-Identifier: Apache-2.0
// A set of small integers that gives its lowest member: a tree of 64-bit words, 64 children a word.
#ifndef BRAID_PLAN_BITS_H
#define BRAID_PLAN_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/host_memory.h"

// Each operation touches one word a level: four for sixteen million members.
struct plan_bits {
    uint64_t *words;     // level after level, members first
    uint64_t *level[6];  // into words; 64^6 members exceed 32 bits
    size_t num_words[6]; // by level
    int num_levels;
};

// An empty set for members 0 .. size - 1; false when memory runs out.
static inline bool plan_bits_init(struct plan_bits *bits, uint32_t size)
{
    size_t offset[6], total = 0, num = size ? size : 1;
    *bits = (struct plan_bits){ 0 };
    do {
        num = (num + 63) / 64;
        bits->num_words[bits->num_levels] = num;
        offset[bits->num_levels++] = total;
        total += num;
    } while (num > 1);
    bits->words = braid_allocate_zeroed(total, sizeof(*bits->words));
    for (int i = 0; bits->words && i < bits->num_levels; i++)
        bits->level[i] = bits->words + offset[i];
    return bits->words;
}

static inline void plan_bits_finish(struct plan_bits *bits)
{
    braid_free(bits->words);
    *bits = (struct plan_bits){ 0 };
}

static inline bool plan_bits_empty(const struct plan_bits *bits)
{
    return bits->level[bits->num_levels - 1][0] == 0;
}

static inline void plan_bits_add(struct plan_bits *bits, uint32_t member)
{
    for (int i = 0; i < bits->num_levels; i++) {
        uint64_t *word = &bits->level[i][member >> 6];
        uint64_t before = *word;
        *word |= UINT64_C(1) << (member & 63);
        if (before)
            return; // the levels above know already
        member >>= 6;
    }
}

static inline void plan_bits_remove(struct plan_bits *bits, uint32_t member)
{
    for (int i = 0; i < bits->num_levels; i++) {
        uint64_t *word = &bits->level[i][member >> 6];
        *word &= ~(UINT64_C(1) << (member & 63));
        if (*word)
            return;
        member >>= 6;
    }
}

// The lowest member of a set that is not empty.
static inline uint32_t plan_bits_lowest(const struct plan_bits *bits)
{
    uint32_t member = 0;
    for (int i = bits->num_levels; i-- > 0;)
        member = member << 6 | (uint32_t)__builtin_ctzll(bits->level[i][member]);
    return member;
}

// The lowest member that is at least `from`; UINT32_MAX if there is none.
static inline uint32_t plan_bits_next(const struct plan_bits *bits, uint32_t from)
{
    for (int i = 0; i < bits->num_levels && from >> 6 < bits->num_words[i]; i++) {
        uint64_t rest = bits->level[i][from >> 6] >> (from & 63);
        if (rest) {
            uint32_t member = from + (uint32_t)__builtin_ctzll(rest);
            while (i-- > 0)
                member = member << 6 | (uint32_t)__builtin_ctzll(bits->level[i][member]);
            return member;
        }
        from = (from >> 6) + 1;
    }
    return UINT32_MAX;
}

#endif
