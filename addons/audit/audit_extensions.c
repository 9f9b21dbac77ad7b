// SPDX-License-Identifier: Apache-2.0
// Orders of all elements: one for each chain, unless the orders so far have done its work.
#include <string.h>

#include "audit/audit_poset.h"
#include "audit/audit_sets.h"

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
