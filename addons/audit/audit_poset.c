// SPDX-License-Identifier: Apache-2.0
// The order of elements: which come after which, and the fewest chains that have all of them. Then
// orders of all elements: one for each chain, unless the orders so far have done its work.
#include "audit/audit_poset.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"

enum { NUM_ARRAYS = 6 };

braid_status braid_audit_poset_create(uint32_t num, struct audit_poset *out_poset)
{
    struct audit_poset poset = { .num = num, .num_words = (num + 63) / 64 };
    size_t rows = (size_t)num * poset.num_words;
    poset.after = braid_allocate_zeroed(2 * rows + 2 * (size_t)poset.num_words, sizeof(uint64_t));
    poset.next = braid_allocate_zeroed((size_t)NUM_ARRAYS * num, sizeof(uint32_t));
    if (!poset.after || !poset.next) {
        braid_audit_poset_finish(&poset);
        return braid_error_no_memory("the orders of an audit");
    }
    poset.met = poset.after + rows;
    poset.open = poset.met + rows;
    poset.room = poset.open + poset.num_words;
    uint32_t **arrays[] = { &poset.previous, &poset.forward, &poset.backward, &poset.numbers,
                            &poset.queue };
    for (uint32_t i = 0; i < NUM_ARRAYS - 1; i++)
        *arrays[i] = poset.next + (size_t)(i + 1) * num;
    *out_poset = poset;
    return BRAID_OK;
}

void braid_audit_poset_finish(struct audit_poset *poset)
{
    braid_free(poset->after);
    braid_free(poset->next);
    *poset = (struct audit_poset){ 0 };
}

void braid_audit_poset_put(struct audit_poset *poset, uint32_t before, uint32_t after)
{
    audit_set_add(audit_poset_after(poset, before), after);
}

// Counts the elements of a set, or takes them away again.
static void count_members(struct audit_poset *poset, const uint64_t *set, uint32_t number)
{
    uint32_t member = audit_set_find(set, 0, poset->num);
    for (; member < poset->num; member = audit_set_find(set, member + 1, poset->num))
        poset->numbers[member] += number;
}

// Kahn's algorithm: `numbers` are of elements that have yet to come before.
static void find_order(struct audit_poset *poset, bool lowest_first, uint32_t *order)
{
    memset(poset->numbers, 0, poset->num * sizeof(*poset->numbers));
    for (uint32_t i = 0; i < poset->num; i++)
        count_members(poset, audit_poset_after(poset, i), 1);
    for (uint32_t at = 0; at < poset->num; at++) {
        uint32_t i = lowest_first ? 0 : poset->num - 1;
        while (poset->numbers[i])
            i += lowest_first ? 1 : UINT32_MAX;
        order[at] = i;
        poset->numbers[i] = AUDIT_NO_ELEMENT;
        count_members(poset, audit_poset_after(poset, i), UINT32_MAX);
    }
}

// Adds to each set those of its members, which are complete if they stand further behind.
static void close_sets(struct audit_poset *poset)
{
    for (uint32_t at = poset->num; at-- > 0;) {
        uint64_t *after = audit_poset_after(poset, poset->forward[at]);
        memcpy(poset->room, after, poset->num_words * sizeof(*after));
        uint32_t member = audit_set_find(poset->room, 0, poset->num);
        for (; member < poset->num; member = audit_set_find(poset->room, member + 1, poset->num))
            audit_set_join(after, audit_poset_after(poset, member), poset->num_words);
    }
}

// Turns the path by which `to` was found: each element on it gets the next one that it led to.
static void turn_path(struct audit_poset *poset, const uint32_t *from, uint32_t begin, uint32_t to)
{
    uint32_t element;
    do {
        element = from[to];
        uint32_t next = poset->next[element];
        poset->next[element] = to;
        poset->previous[to] = element;
        to = next;
    } while (element != begin);
}

// Gives the last element of a chain a next one, so that two chains become one. Others may get
// another next one for that.
static bool lengthen(struct audit_poset *poset, uint32_t last)
{
    uint32_t *from = poset->numbers, *queue = poset->queue, num = 1;
    queue[0] = last;
    memcpy(poset->room, poset->open, poset->num_words * sizeof(*poset->room));
    for (uint32_t at = 0; at < num; at++) {
        const uint64_t *after = audit_poset_after(poset, queue[at]);
        for (uint32_t word = 0; word < poset->num_words; word++) {
            uint64_t found = after[word] & poset->room[word];
            poset->room[word] &= ~found;
            for (; found; found &= found - 1) {
                uint32_t element = 64 * word + (uint32_t)__builtin_ctzll(found);
                from[element] = queue[at];
                if (poset->previous[element] == AUDIT_NO_ELEMENT) {
                    turn_path(poset, from, last, element);
                    return true;
                }
                queue[num++] = poset->previous[element];
            }
        }
    }
    return false;
}

// A search that fails has seen elements that no later search can use.
static void find_chains(struct audit_poset *poset)
{
    memset(poset->open, 0xff, poset->num_words * sizeof(*poset->open));
    memset(poset->next, 0xff, poset->num * sizeof(*poset->next));
    memset(poset->previous, 0xff, poset->num * sizeof(*poset->previous));
    for (uint32_t i = 0; i < poset->num; i++) {
        if (!lengthen(poset, i))
            memcpy(poset->open, poset->room, poset->num_words * sizeof(*poset->open));
    }
}

static void forget_orders(struct audit_poset *poset)
{
    poset->chain = 0;
    memcpy(poset->met, poset->after, (size_t)poset->num * poset->num_words * sizeof(*poset->met));
    for (uint32_t i = 0; i < poset->num; i++) {
        audit_set_add(audit_poset_met(poset, i), i);
        for (uint32_t k = 0; k < poset->num; k++) {
            if (audit_set_has(audit_poset_after(poset, k), i))
                audit_set_add(audit_poset_met(poset, i), k);
        }
    }
}

void braid_audit_poset_start(struct audit_poset *poset)
{
    find_order(poset, true, poset->forward);
    find_order(poset, false, poset->backward);
    close_sets(poset);
    find_chains(poset);
    forget_orders(poset);
}

// ---- orders of all elements ----

// Whether each element that nothing orders with this one has been behind it.
static bool has_met_all(const struct audit_poset *poset, uint32_t element)
{
    const uint64_t *met = audit_poset_met(poset, element);
    uint32_t i = 0;
    while (i < poset->num && audit_set_has(met, i))
        i++;
    return i == poset->num;
}

static bool is_done(const struct audit_poset *poset, uint32_t chain)
{
    uint32_t element = chain;
    while (element != AUDIT_NO_ELEMENT && has_met_all(poset, element))
        element = poset->next[element];
    return element == AUDIT_NO_ELEMENT;
}

// Appends elements that were not taken yet, in the order of `from`: all, or `last` and all before
// it.
static uint32_t take(const struct audit_poset *poset, const uint32_t *from, uint32_t last,
                     uint32_t *order, uint32_t num)
{
    for (uint32_t i = 0; i < poset->num; i++) {
        uint32_t element = from[i];
        bool is_wanted = last == AUDIT_NO_ELEMENT || element == last ||
                         audit_set_has(audit_poset_after(poset, element), last);
        if (!is_wanted || audit_set_has(poset->room, element))
            continue;
        audit_set_add(poset->room, element);
        order[num++] = element;
    }
    return num;
}

static void make_order(struct audit_poset *poset, uint32_t chain, const uint32_t *from,
                       uint32_t *order)
{
    uint32_t num = 0;
    memset(poset->room, 0, poset->num_words * sizeof(*poset->room));
    for (uint32_t last = chain; last != AUDIT_NO_ELEMENT; last = poset->next[last])
        num = take(poset, from, last, order, num);
    take(poset, from, AUDIT_NO_ELEMENT, order, num);
}

static void note_order(struct audit_poset *poset, const uint32_t *order)
{
    memset(poset->room, 0, poset->num_words * sizeof(*poset->room));
    for (uint32_t i = poset->num; i-- > 0;) {
        audit_set_join(audit_poset_met(poset, order[i]), poset->room, poset->num_words);
        audit_set_add(poset->room, order[i]);
    }
}

// Later orders turn as many other pairs as they can, so that the orders of most chains can be left
// out.
bool braid_audit_poset_next(struct audit_poset *poset, uint32_t *out_order)
{
    uint32_t chain = poset->chain;
    bool is_first = chain == 0;
    while (chain < poset->num &&
           (poset->previous[chain] != AUDIT_NO_ELEMENT || (!is_first && is_done(poset, chain))))
        chain++;
    if (chain >= poset->num)
        return false;
    make_order(poset, chain, is_first ? poset->forward : poset->backward, out_order);
    note_order(poset, out_order);
    poset->chain = chain + 1;
    return true;
}
