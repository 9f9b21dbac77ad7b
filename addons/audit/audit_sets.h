// SPDX-License-Identifier: Apache-2.0
// Sets of numbers: a bit for each.
#ifndef BRAID_AUDIT_AUDIT_SETS_H
#define BRAID_AUDIT_AUDIT_SETS_H

#include <stdbool.h>
#include <stdint.h>

static inline void audit_set_add(uint64_t *set, uint32_t member)
{
    set[member / 64] |= UINT64_C(1) << member % 64;
}

static inline bool audit_set_has(const uint64_t *set, uint32_t member)
{
    return set[member / 64] >> member % 64 & 1;
}

static inline void audit_set_join(uint64_t *set, const uint64_t *other, uint32_t num_words)
{
    for (uint32_t i = 0; i < num_words; i++)
        set[i] |= other[i];
}

// The first member from `member` on; `num`: there is none below that.
static inline uint32_t audit_set_find(const uint64_t *set, uint32_t member, uint32_t num)
{
    while (member < num) {
        uint64_t rest = set[member / 64] >> member % 64;
        if (rest)
            return member + (uint32_t)__builtin_ctzll(rest);
        member = (member / 64 + 1) * 64;
    }
    return num;
}

#endif
