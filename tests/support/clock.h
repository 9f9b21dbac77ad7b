// SPDX-License-Identifier: Apache-2.0
// The host's monotonic clock, in nanoseconds.
#ifndef BRAID_TESTS_CLOCK_H
#define BRAID_TESTS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

// Between two looks at a word that another thread will write: the core is free for that thread.
static inline void clock_nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

#endif
