// SPDX-License-Identifier: Apache-2.0
// The host's clock that Braid's times are told by.
#ifndef BRAID_BASE_CLOCK_H
#define BRAID_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// A moment by the clock of a device and by the host's, which may be off by error_ns at most.
struct clock_pair {
    uint64_t device_ns, host_ns, error_ns;
    uint32_t drift; // by so many millionths of the time since they may go apart
};

// Two crystals: each is good to 50 millionths or better.
enum { CLOCK_DRIFT = 100 };

// Whether the moment between two readings of the host's clock is known better than `best`, which is
// it then. A pair that is all zero is known worse than any.
static inline bool clock_pair_take(struct clock_pair *best, uint64_t before_ns, uint64_t after_ns,
                                   uint64_t device_ns)
{
    uint64_t error_ns = (after_ns - before_ns) / 2 + 1;
    if (best->error_ns && error_ns >= best->error_ns)
        return false;
    *best = (struct clock_pair){ device_ns, before_ns + (after_ns - before_ns) / 2, error_ns,
                                 CLOCK_DRIFT };
    return true;
}

// By how much a time of the device, told by the host's clock, may be off.
static inline uint64_t clock_pair_error(const struct clock_pair *pair, uint64_t device_ns)
{
    uint64_t apart_ns =
        device_ns > pair->device_ns ? device_ns - pair->device_ns : pair->device_ns - device_ns;
    return pair->error_ns + apart_ns / 1000000 * pair->drift + pair->drift;
}

#endif
