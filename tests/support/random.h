// SPDX-License-Identifier: Apache-2.0
// Random numbers from a seed (splitmix64), the same on every machine; or choices from bytes, so
// that a fuzzer finds and shrinks what a generator makes.
#ifndef BRAID_TESTS_RANDOM_H
#define BRAID_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
    const uint8_t *at, *end; // the bytes that are left; NULL: there is a seed
};

// Zeros behind the end, so that all bytes mean something.
static inline uint32_t random_byte(struct random *random)
{
    return random->at < random->end ? *random->at++ : 0;
}

static inline uint64_t random_next(struct random *random)
{
    if (random->end) {
        uint64_t bytes = 0;
        for (int i = 0; i < 8; i++)
            bytes = bytes << 8 | random_byte(random);
        return bytes;
    }
    uint64_t value = random->state += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

// A number less than `limit`; 0 where that is 0. Small ones take one byte.
static inline uint32_t random_below(struct random *random, uint32_t limit)
{
    if (limit == 0)
        return 0;
    if (random->end && limit <= 256)
        return random_byte(random) % limit;
    return (uint32_t)(random_next(random) % limit);
}

// True `percent` times in a hundred.
static inline bool random_chance(struct random *random, uint32_t percent)
{
    return random_below(random, 100) < percent;
}

#endif
