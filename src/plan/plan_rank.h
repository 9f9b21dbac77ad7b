// SPDX-License-Identifier: Apache-2.0
// Units in the order of a 64-bit key: which of two ready units goes first.
#ifndef BRAID_PLAN_RANK_H
#define BRAID_PLAN_RANK_H

#include <stdint.h>

#include <braid/status.h>

struct plan_ranks {
    uint32_t *rank_of; // per unit; the lowest goes first
    uint32_t *unit_at; // per rank
};

// Ranks by ascending key, then by index. Overwrites keys.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_ranks_create(uint64_t *keys, uint32_t num, struct plan_ranks *out_ranks);
// Ranks the units in unit_at, whose keys stand in the same order: equal keys keep it. spare_keys
// has as many items, and is overwritten.
void braid_plan_ranks_fill(uint64_t *keys, uint32_t num, uint64_t *spare_keys,
                           struct plan_ranks *ranks);
void braid_plan_ranks_finish(struct plan_ranks *ranks);

#endif
