// SPDX-License-Identifier: Apache-2.0
// The table for libbraid_ranks.
#include "exec/for_ranks.h"

#define FILL(name) .name = braid_##name,

const struct for_ranks *braid_private_for_ranks(void)
{
    static const struct for_ranks table = { FOR_RANKS(FILL) };
    return &table;
}
