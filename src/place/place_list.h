// SPDX-License-Identifier: Apache-2.0
// Placing by list scheduling: unit by unit, each where it ends first.
#ifndef BRAID_PLACE_PLACE_LIST_H
#define BRAID_PLACE_PLACE_LIST_H

#include "place/place_times.h"

// What a unit's place is chosen by, beside when it ends there.
enum place_rule {
    PLACE_BY_END,   // nothing: HEFT (Topcuoglu, Hariri, Wu 2002)
    PLACE_BY_AHEAD, // the shortest that is ahead from there: PEFT (Arabnejad, Barbosa 2014)
};

// Units in the order of HEFT: by the heaviest path ahead, with what flows along it at the mean of
// all pairs of places. Every edge goes forward. Errors: BRAID_NO_MEMORY.
braid_status braid_place_order(const struct place_task *task, uint32_t **out_order);

// Puts all units on places. Errors: BRAID_NO_MEMORY.
braid_status braid_place_list(const struct place_task *task, const uint32_t *order,
                              enum place_rule rule, struct place_times *times);

// Puts all units where place_of says. False: no memory.
bool braid_place_follow(const uint32_t *order, const uint8_t *place_of, struct place_times *times);

#endif
