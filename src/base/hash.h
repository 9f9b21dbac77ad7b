// SPDX-License-Identifier: Apache-2.0
// FNV-1a (Fowler, Noll, Vo), a hash that takes bytes piece by piece.
#ifndef BRAID_BASE_HASH_H
#define BRAID_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t hash_of_nothing = 0xcbf29ce484222325;

static inline uint64_t hash_more(uint64_t hash, const void *bytes, size_t num)
{
    for (size_t i = 0; i < num; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return hash;
}

static inline uint64_t hash_bytes(const void *bytes, size_t num)
{
    return hash_more(hash_of_nothing, bytes, num);
}

#endif
