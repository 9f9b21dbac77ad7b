// SPDX-License-Identifier: Apache-2.0
// Reads the clock and sorts.
#include "measure.h"

#include <stdlib.h>
#include <time.h>

uint64_t mpm_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare_values(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

uint64_t mpm_median(uint64_t *values, uint32_t num_values)
{
    qsort(values, num_values, sizeof(*values), compare_values);
    return values[num_values / 2];
}
