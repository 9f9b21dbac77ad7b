// SPDX-License-Identifier: Apache-2.0
// The digest of bytes in a record, and of its file.
#include <braid/record.h>

static uint64_t mix(uint64_t digest, uint64_t number)
{
    digest = (digest ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 32;
}

// Compilers make one load of it where the lowest byte comes first.
static uint64_t whole_number_of(const uint8_t *b)
{
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
           (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 |
           (uint64_t)b[7] << 56;
}

static uint64_t number_of(const uint8_t *bytes, uint64_t num)
{
    uint64_t number = 0;
    for (uint64_t i = 0; i < num; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

// 0 stands for no digest.
uint64_t braid_record_get_digest(const void *bytes, uint64_t num)
{
    const uint8_t *at = bytes;
    uint64_t digest = mix(0, num);
    for (; num >= 8; num -= 8, at += 8)
        digest = mix(digest, whole_number_of(at));
    digest = mix(digest, number_of(at, num));
    return digest ? digest : 1;
}
