// SPDX-License-Identifier: Apache-2.0
// Numbers in order, and their least, median and most.
#ifndef BRAID_BASE_SPREAD_H
#define BRAID_BASE_SPREAD_H

#include <stdlib.h>

#include <braid/timings.h>

static inline int compare_numbers(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static inline void sort_numbers(uint64_t *numbers, size_t num)
{
    qsort(numbers, num, sizeof(*numbers), compare_numbers);
}

// Sorts them; there is one at least.
static inline braid_spread find_spread(uint64_t *numbers, size_t num)
{
    sort_numbers(numbers, num);
    return (braid_spread){ numbers[0], numbers[num / 2], numbers[num - 1] };
}

#endif
