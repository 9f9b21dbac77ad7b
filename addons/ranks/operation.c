// SPDX-License-Identifier: Apache-2.0
// The names of operations, and the sizes of their elements.
#include "ranks/operation.h"

#include <stdio.h>

void braid_rank_describe(char *text, size_t size, uint32_t operation, const char *name,
                         uint64_t count, uint32_t peer)
{
    static const char *const words[] = {
        [BRAID_RANK_SEND] = "send",
        [BRAID_RANK_RECEIVE] = "receive",
        [BRAID_RANK_BROADCAST] = "broadcast",
        [BRAID_RANK_ALL_REDUCE] = "all-reduce",
        [BRAID_RANK_ALL_GATHER] = "all-gather",
        [BRAID_RANK_REDUCE_SCATTER] = "reduce-scatter",
    };
    char with[32] = "";
    if (operation <= BRAID_RANK_BROADCAST)
        snprintf(with, sizeof(with), " %s rank %u", operation == BRAID_RANK_SEND ? "to" : "from",
                 peer);
    snprintf(text, size, "%s '%s' of %llu element%s%s", words[operation], name,
             (unsigned long long)count, count == 1 ? "" : "s", with);
}

uint32_t braid_element_bytes(uint32_t element)
{
    static const uint32_t bytes[] = { 1, 4, 4, 8, 8, 4, 8 };
    return element < sizeof(bytes) / sizeof(*bytes) ? bytes[element] : 0;
}
