// SPDX-License-Identifier: Apache-2.0
// Levels of occupation in order of time; only the latest are kept.
#include "plan/places/place_slots.h"

#include <string.h>

#include "plan/plan_costs.h"

#define MOST_LEVELS 4096 // then the later half is kept: a unit that is early seldom finds room

static struct slot_level *levels_of(const struct place_slots *slots)
{
    return slots->levels.items;
}

bool braid_place_slots_reset(struct place_slots *slots, uint32_t most)
{
    slots->most = most;
    slots->levels.num = 0;
    return braid_array_put(&slots->levels, &(struct slot_level){ 0 }, sizeof(struct slot_level));
}

void braid_place_slots_finish(struct place_slots *slots)
{
    braid_array_finish(&slots->levels);
}

// The last level that begins at or before a time; the first where none does.
static size_t find_level(const struct place_slots *slots, uint64_t at)
{
    const struct slot_level *levels = levels_of(slots);
    size_t low = 0, high = slots->levels.num;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (levels[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// A unit that takes all of the device may run where nothing does.
static bool has_room(const struct place_slots *slots, const struct slot_level *level,
                     uint32_t share)
{
    return level->num < slots->most &&
           (level->share == 0 || level->share + share <= PLAN_WHOLE_DEVICE);
}

uint64_t braid_place_slots_find(const struct place_slots *slots, uint64_t ready_ns,
                                uint64_t cost_ns, uint32_t share)
{
    const struct slot_level *levels = levels_of(slots);
    size_t i = find_level(slots, ready_ns), last = slots->levels.num - 1;
    uint64_t start = ready_ns > levels[0].at ? ready_ns : levels[0].at;
    for (;; i++) {
        if (!has_room(slots, &levels[i], share))
            start = levels[i + 1].at; // the last level has room
        else if (i == last || levels[i + 1].at >= start + cost_ns)
            return start;
    }
}

// Makes a level begin at a time; which one. There is room.
static size_t split(struct place_slots *slots, uint64_t at)
{
    struct slot_level *levels = levels_of(slots);
    size_t i = find_level(slots, at);
    if (levels[i].at == at)
        return i;
    memmove(&levels[i + 2], &levels[i + 1], (slots->levels.num - i - 1) * sizeof(*levels));
    levels[i + 1] = levels[i];
    levels[i + 1].at = at;
    slots->levels.num++;
    return i + 1;
}

static void forget_early(struct place_slots *slots)
{
    struct slot_level *levels = levels_of(slots);
    size_t kept = slots->levels.num / 2;
    memmove(levels, levels + slots->levels.num - kept, kept * sizeof(*levels));
    slots->levels.num = kept;
}

bool braid_place_slots_take(struct place_slots *slots, uint64_t start_ns, uint64_t cost_ns,
                            uint32_t share)
{
    if (slots->levels.num > MOST_LEVELS)
        forget_early(slots);
    if (!braid_array_reserve(&slots->levels, 2, sizeof(struct slot_level)))
        return false;
    if (start_ns < levels_of(slots)[0].at)
        return true; // found before what is forgotten now
    size_t first = split(slots, start_ns), end = split(slots, start_ns + cost_ns);
    for (size_t i = first; i < end; i++) {
        levels_of(slots)[i].num++;
        levels_of(slots)[i].share += share;
    }
    return true;
}
