// SPDX-License-Identifier: Apache-2.0
// Placing by list scheduling: unit by unit, each where it ends first.
#ifndef BRAID_PLACE_PLACE_LIST_H
#define BRAID_PLACE_PLACE_LIST_H

#include "place/place_times.h"

// Puts all units on places by HEFT (Topcuoglu, Hariri, Wu 2002). Errors: BRAID_NO_MEMORY.
braid_status braid_place_list(struct place_times *times);

#endif
