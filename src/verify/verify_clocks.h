// SPDX-License-Identifier: Apache-2.0
// Clocks of the proof of a plan: the nodes known to have ended. Clocks share their equal parts.
#ifndef BRAID_VERIFY_CLOCKS_H
#define BRAID_VERIFY_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

// A clock says of each lane how many of its nodes are known to have ended. With few lanes it is one
// block of a word each, and every clock has its own: that is fastest. With more lanes it is a tree
// of blocks of 64 words. A leaf holds the numbers of 64 lanes, and a block above holds 64 blocks.
// Blocks count their users and are changed only while they have one. So a copy of a clock costs
// nothing, and merging two looks only where they differ. Memory grows with the differences between
// lanes: a hundred thousand lanes with equal knowledge are one clock.
typedef uint32_t verify_clock; // a block; 0: nothing has ended

#define VERIFY_LANES_IN_ONE 128 // at most, in one block
#define VERIFY_BLOCK 64
#define VERIFY_BLOCK_BITS 6

struct verify_clocks {
    uint32_t num_words;  // a block's
    uint32_t word_mask;  // takes the number of a word in a block
    uint32_t height;     // the tree's, without its leaves
    struct array blocks; // num_words uint32_t each; the first is all zeros and never changes
    struct array users;  // uint32_t, of each block
    uint32_t unused;     // a block to use again, whose first word is the next; 0: none
    size_t most_words;
    bool is_full;   // most_words were not enough: what clocks say is of no use any more
    bool no_memory; // memory ran out, with the same result
};

// Clocks of `num_lanes` lanes; false when memory runs out.
bool braid_verify_clocks_init(struct verify_clocks *clocks, uint32_t num_lanes, size_t most_words);
void braid_verify_clocks_finish(struct verify_clocks *clocks);

// Forgets a clock.
void braid_verify_clocks_drop(struct verify_clocks *clocks, verify_clock clock);

static inline uint32_t *verify_block(const struct verify_clocks *clocks, uint32_t block)
{
    return (uint32_t *)clocks->blocks.items + (size_t)block * clocks->num_words;
}

// The word on the way to a lane in a block at some height.
static inline uint32_t verify_word(const struct verify_clocks *clocks, uint32_t lane,
                                   uint32_t height)
{
    return lane >> (VERIFY_BLOCK_BITS * height) & clocks->word_mask;
}

// How many nodes of a lane are known to have ended. In the empty block every way leads to itself.
static inline uint32_t verify_num_ended(const struct verify_clocks *clocks, verify_clock clock,
                                        uint32_t lane)
{
    for (uint32_t height = clocks->height; height > 0; height--)
        clock = verify_block(clocks, clock)[verify_word(clocks, lane, height)];
    return verify_block(clocks, clock)[verify_word(clocks, lane, 0)];
}

// The three below for any clock.
verify_clock braid_verify_clocks_copy(struct verify_clocks *clocks, verify_clock clock,
                                      verify_clock from);
verify_clock braid_verify_clocks_merge(struct verify_clocks *clocks, verify_clock clock,
                                       verify_clock other);
verify_clock braid_verify_clocks_raise(struct verify_clocks *clocks, verify_clock clock,
                                       uint32_t lane, uint32_t turn);

// Whether a clock is one block that is its own.
static inline bool verify_is_block(const struct verify_clocks *clocks, verify_clock clock)
{
    return clocks->height == 0 && clock != 0;
}

// The clock with the knowledge of `from`, in the place of `clock`.
static inline verify_clock verify_copy(struct verify_clocks *clocks, verify_clock clock,
                                       verify_clock from)
{
    if (!verify_is_block(clocks, clock))
        return braid_verify_clocks_copy(clocks, clock, from);
    uint32_t *words = verify_block(clocks, clock), *others = verify_block(clocks, from);
    uint32_t num_words = clocks->num_words;
    for (uint32_t i = 0; i < num_words; i++)
        words[i] = others[i];
    return clock;
}

// The clock with the knowledge of `clock` and `other`, in the place of `clock`.
static inline verify_clock verify_merge(struct verify_clocks *clocks, verify_clock clock,
                                        verify_clock other)
{
    if (!verify_is_block(clocks, clock))
        return braid_verify_clocks_merge(clocks, clock, other);
    uint32_t *words = verify_block(clocks, clock), *others = verify_block(clocks, other);
    uint32_t num_words = clocks->num_words;
    for (uint32_t i = 0; i < num_words; i++)
        words[i] = others[i] > words[i] ? others[i] : words[i];
    return clock;
}

// The clock that knows besides `clock` that `turn` nodes of a lane have ended, in its place.
static inline verify_clock verify_raise(struct verify_clocks *clocks, verify_clock clock,
                                        uint32_t lane, uint32_t turn)
{
    if (verify_num_ended(clocks, clock, lane) >= turn)
        return clock;
    if (!verify_is_block(clocks, clock))
        return braid_verify_clocks_raise(clocks, clock, lane, turn);
    verify_block(clocks, clock)[lane] = turn;
    return clock;
}

#endif
