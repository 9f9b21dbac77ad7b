// SPDX-License-Identifier: Apache-2.0
// Storing names. A handle is the number of a block and the offset in it, 16 bits each.
#include "graph/names.h"

#include <string.h>

#include "base/host_memory.h"

#define FIRST_BLOCK_BYTES 256
#define BLOCK_BYTES 65536
#define MOST_BLOCKS 65535 // one less than 16 bits can tell: NAMES_NONE is nobody's handle

void braid_names_finish(struct names *names)
{
    char **blocks = names->blocks.items;
    for (size_t i = 0; i < names->blocks.num; i++)
        braid_free(blocks[i]);
    braid_array_finish(&names->blocks);
    *names = (struct names){ 0 };
}

static size_t block_bytes(const struct names *names, size_t needed)
{
    size_t bytes = names->capacity ? names->capacity * 2 : FIRST_BLOCK_BYTES;
    bytes = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
    return bytes > needed ? bytes : needed;
}

bool braid_names_reserve(struct names *names, const char *name)
{
    if (!name)
        return true;
    size_t needed = strlen(name) + 1;
    // Every name begins where 16 bits can tell.
    if (names->used < BLOCK_BYTES && needed <= names->capacity - names->used)
        return true;
    if (names->blocks.num == MOST_BLOCKS || !braid_array_reserve(&names->blocks, 1, sizeof(char *)))
        return false;
    size_t bytes = block_bytes(names, needed);
    char *block = braid_allocate(bytes);
    if (!block)
        return false;
    *(char **)braid_array_append(&names->blocks, 1, sizeof(char *)) = block;
    names->used = 0;
    names->capacity = bytes;
    names->bytes += bytes;
    return true;
}

uint32_t braid_names_store(struct names *names, const char *name)
{
    if (!name)
        return NAMES_NONE;
    size_t bytes = strlen(name) + 1;
    size_t block = names->blocks.num - 1, offset = names->used;
    memcpy(((char **)names->blocks.items)[block] + offset, name, bytes);
    names->used += bytes;
    return (uint32_t)(block << 16 | offset);
}

const char *braid_names_at(const struct names *names, uint32_t handle)
{
    return ((char **)names->blocks.items)[handle >> 16] + (handle & 0xffff);
}
