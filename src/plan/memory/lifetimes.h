// SPDX-License-Identifier: Apache-2.0
// Which transient buffers a schedule keeps from being alive at once.
#ifndef BRAID_PLAN_MEMORY_LIFETIMES_H
#define BRAID_PLAN_MEMORY_LIFETIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/store.h"
#include "graph/graph.h"
#include "plan/schedule.h"

#define LIFETIMES_NONE UINT32_MAX

// The transient buffers that some node uses, called blocks from here on. Block b comes before block
// c exactly if every node that uses b has ended before any that uses c starts. So each user of c
// knows, for each lane, that the last user of b there has ended.
struct lifetimes {
    uint32_t num, num_lanes;
    uint32_t *block_of;  // per resource: the block that it is or is a range of, or LIFETIMES_NONE
    uint32_t *resources; // per block: its buffer
    uint64_t *bytes;     // rounded up to the alignment
    uint64_t *alignments;
    uint64_t *first, *last; // positions in issue order of the first and last use
    uint64_t *settled;      // in issue order: set by braid_settle
    uint32_t *ended;        // per block and lane: 1 + position of the last user there; 0: none
    uint32_t *known;    // per block and lane: the fewest nodes there known to have ended at a use
    struct store store; // holds the arrays
};

// Errors: BRAID_INVALID_ARGUMENT (a block is read before it is written), BRAID_NO_MEMORY.
braid_status braid_lifetimes_create(const braid_schedule *schedule, const braid_graph *graph,
                                    struct lifetimes *out_lifetimes);
void braid_lifetimes_finish(struct lifetimes *lifetimes);

// The bytes of the blocks that are alive at one position in the issue order, at most: a bound on
// every packing. Errors: BRAID_NO_MEMORY.
braid_status braid_lifetimes_most_alive(const struct lifetimes *lifetimes, uint64_t *out_bytes);

// The same of some blocks only, in the order of `chosen`, without block_of and resources.
// Errors: BRAID_NO_MEMORY.
braid_status braid_lifetimes_select(const struct lifetimes *lifetimes, const uint32_t *chosen,
                                    uint32_t num_chosen, struct lifetimes *out_lifetimes);

static inline uint64_t lifetimes_round_up(uint64_t bytes, uint64_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

static inline bool lifetimes_precede(const struct lifetimes *lifetimes, uint32_t b, uint32_t c)
{
    if (lifetimes->last[b] >= lifetimes->first[c])
        return false; // issue order keeps every order
    const uint32_t *ended = lifetimes->ended + (size_t)b * lifetimes->num_lanes;
    const uint32_t *known = lifetimes->known + (size_t)c * lifetimes->num_lanes;
    for (uint32_t lane = 0; lane < lifetimes->num_lanes; lane++) {
        if (ended[lane] > known[lane])
            return false;
    }
    return true;
}

static inline bool lifetimes_interfere(const struct lifetimes *lifetimes, uint32_t b, uint32_t c)
{
    return !lifetimes_precede(lifetimes, b, c) && !lifetimes_precede(lifetimes, c, b);
}

// Fills `settled` from the other times: per block the position from where on every node knows that
// all its users have ended. Takes time in proportion to steps times lanes. Errors: BRAID_NO_MEMORY.
braid_status braid_settle(const braid_schedule *schedule, struct lifetimes *lifetimes);

// The same for a large number of blocks, in little more than linear time.
// Fills out_offsets (one a block) and out_bytes as pack_by_size does. It asks up to most_questions
// times whether one block comes before another. If these are too few, fewer blocks share bytes:
// every node must know that the users of one have ended before the other is used. Errors:
// BRAID_NO_MEMORY.
braid_status braid_pack_by_time(const struct lifetimes *lifetimes, uint64_t most_questions,
                                uint64_t *out_offsets, uint64_t *out_bytes);

#endif
