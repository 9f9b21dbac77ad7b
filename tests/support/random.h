// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers (splitmix64), the same on every machine.
#ifndef BRAID_TESTS_RANDOM_H
#define BRAID_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t value = random->state += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

// A number less than `limit`, which is not 0.
static inline uint32_t random_below(struct random *random, uint32_t limit)
{
    return (uint32_t)(random_next(random) % limit);
}

// True `percent` times in a hundred.
static inline bool random_chance(struct random *random, uint32_t percent)
{
    return random_below(random, 100) < percent;
}

#endif
