// SPDX-License-Identifier: Apache-2.0
// A search for better places.
#ifndef BRAID_PLACE_PLACE_SEARCH_H
#define BRAID_PLACE_PLACE_SEARCH_H

#include "place/place_list.h"

// Moves units to other places as long as that makes the estimated frame shorter, so many tries.
// `place_of` is by unit, where it begins and then the best found. Errors: BRAID_NO_MEMORY.
braid_status braid_place_search(const struct place_task *task, const uint32_t *order,
                                uint32_t num_tries, struct place_times *times, uint8_t *place_of);

#endif
