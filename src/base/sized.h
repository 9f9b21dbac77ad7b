// SPDX-License-Identifier: Apache-2.0
// Writing structs to programs that may have been built with another length of them: docs/abi.md.
#ifndef BRAID_BASE_SIZED_H
#define BRAID_BASE_SIZED_H

#include <stddef.h>
#include <string.h>

// Writes as much of a struct as the program's has room for, and zeroes what the program's has
// beyond ours. NULL as `out` is left alone.
static inline void write_sized(void *out, size_t out_bytes, const void *from, size_t from_bytes)
{
    if (!out)
        return;
    size_t num_shared = out_bytes < from_bytes ? out_bytes : from_bytes;
    memcpy(out, from, num_shared);
    memset((unsigned char *)out + num_shared, 0, out_bytes - num_shared);
}

#endif
