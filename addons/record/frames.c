// SPDX-License-Identifier: Apache-2.0
// Finds the part of a sequence that repeats, without trying each period.
//
// In a part that repeats, each value comes back a period later: that is the distance to the first,
// second .. next place of the same value. The distances that come most often are tried.
#include "record/frames.h"

#include <stdlib.h>

#include "base/host_memory.h"

enum { NEXT_PLACES = 8, MOST_TRIED = 64, LEAST_TIMES = 3 };

struct place {
    uint64_t value;
    size_t at;
};

static int compare_places(const void *first, const void *second)
{
    const struct place *a = first, *b = second;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

// How often each distance comes.
static void count_distances(const struct place *places, size_t num, uint32_t *counts)
{
    for (size_t i = 0; i < num; i++)
        for (size_t k = 1; k <= NEXT_PLACES && i + k < num; k++)
            if (places[i + k].value == places[i].value)
                counts[places[i + k].at - places[i].at]++;
}

// Looks at all parts that repeat with this period.
static void try_period(const uint64_t *launches, size_t num, size_t period, struct repetition *best)
{
    size_t run = 0;
    for (size_t i = 0; i + period <= num; i++) {
        if (i + period < num && launches[i] == launches[i + period]) {
            run++;
            continue;
        }
        const size_t times = (run + period) / period, length = times * period;
        const size_t longest = best->times * best->period;
        if (times >= LEAST_TIMES &&
            (length > longest || (length == longest && period < best->period)))
            *best = (struct repetition){ i - run, period, times };
        run = 0;
    }
}

bool recorder_find_repetition(const uint64_t *launches, size_t num, struct repetition *out_found)
{
    struct repetition best = { 0, 0, 0 };
    struct place *places = braid_allocate(num * sizeof(*places));
    uint32_t *counts = braid_allocate_zeroed(num + 1, sizeof(*counts));
    if (places && counts) {
        for (size_t i = 0; i < num; i++)
            places[i] = (struct place){ launches[i], i };
        qsort(places, num, sizeof(*places), compare_places);
        count_distances(places, num, counts);
        for (int tried = 0; tried < MOST_TRIED; tried++) {
            size_t most = 0;
            for (size_t i = 1; i <= num / LEAST_TIMES; i++)
                most = counts[i] > counts[most] ? i : most;
            if (most == 0)
                break;
            counts[most] = 0;
            try_period(launches, num, most, &best);
        }
    }
    braid_free(places);
    braid_free(counts);
    *out_found = best;
    return best.times > 0;
}
