// SPDX-License-Identifier: Apache-2.0
// Which of some elements come before which, and few orders of all in which each two that nothing
// orders stand both ways.
//
// There are no more such orders than elements that nothing orders among each other, at most (the
// width). By Dilworth's theorem so many chains have all elements. In the order of a chain each of
// its elements comes as early as it may, so right behind those that must come before it. Of two
// elements that nothing orders, each comes first in the order of its own chain.
#ifndef BRAID_AUDIT_AUDIT_POSET_H
#define BRAID_AUDIT_AUDIT_POSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

#define AUDIT_MOST_ELEMENTS 4096 // time grows with the third power, at worst
#define AUDIT_NO_ELEMENT UINT32_MAX

// ---- sets of numbers: a bit for each ----

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

// ---- the order of elements ----

struct audit_poset {
    uint32_t num, num_words;
    uint64_t *after; // by element: the set of those behind it in every order
    uint64_t *met;   // by element: those, all before it, and all behind it in an order so far
    uint64_t *open, *room;
    uint32_t *next, *previous;    // neighbours in its chain
    uint32_t *forward, *backward; // orders: of the elements that may come next, the lowest or the
                                  // highest one comes next
    uint32_t *numbers, *queue;    // room
    uint32_t chain;               // first element of the next one
};

static inline uint64_t *audit_poset_after(const struct audit_poset *poset, uint32_t element)
{
    return poset->after + (size_t)element * poset->num_words;
}

static inline uint64_t *audit_poset_met(const struct audit_poset *poset, uint32_t element)
{
    return poset->met + (size_t)element * poset->num_words;
}

// Nothing is ordered yet. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_poset_create(uint32_t num, struct audit_poset *out_poset);
void braid_audit_poset_finish(struct audit_poset *poset);

// Puts an element before another. There is no cycle.
void braid_audit_poset_put(struct audit_poset *poset, uint32_t before, uint32_t after);
// Behind the last of those: finds `forward` and all else, and forgets orders so far.
void braid_audit_poset_start(struct audit_poset *poset);

// The next order of all. False: each two elements without an order have stood both ways.
bool braid_audit_poset_next(struct audit_poset *poset, uint32_t *out_order);

#endif
