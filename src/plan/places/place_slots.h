// SPDX-License-Identifier: Apache-2.0
// The occupied times of one place: where a unit finds room, also between others.
#ifndef BRAID_PLAN_PLACES_PLACE_SLOTS_H
#define BRAID_PLAN_PLACES_PLACE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

// From `at` to the next level so many units run, and take so much of PLAN_WHOLE_DEVICE.
struct slot_level {
    uint64_t at;
    uint32_t num, share;
};

struct place_slots {
    struct array levels; // struct slot_level, by time; nothing runs on the last
    uint32_t most;       // units at once
};

// Nothing runs. False: no memory.
bool braid_place_slots_reset(struct place_slots *slots, uint32_t most);
void braid_place_slots_finish(struct place_slots *slots);

// The earliest start from `ready_ns` on of a unit that takes cost_ns > 0.
uint64_t braid_place_slots_find(const struct place_slots *slots, uint64_t ready_ns,
                                uint64_t cost_ns, uint32_t share);
// Occupies the time that was found. False: no memory.
bool braid_place_slots_take(struct place_slots *slots, uint64_t start_ns, uint64_t cost_ns,
                            uint32_t share);

#endif
