// SPDX-License-Identifier: Apache-2.0
// Clocks and memory of the replay bench.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "replay.h"

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t replay_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t replay_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void replay_sleep_ns(uint64_t ns)
{
    struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u) };
    nanosleep(&time, NULL);
}

void *replay_allocate(size_t num, size_t bytes)
{
    void *memory = calloc(num ? num : 1, bytes);
    if (memory)
        return memory;
    fprintf(stderr, "out of memory\n");
    exit(1);
}
