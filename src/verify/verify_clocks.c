// SPDX-License-Identifier: Apache-2.0
// Blocks of clocks: made, shared, merged and used again.
#include "verify/verify_clocks.h"

#include <string.h>

#define NOTHING 0
#define BLOCK_BYTES (VERIFY_BLOCK * sizeof(uint32_t)) // in a tree

static uint32_t *users_of(const struct verify_clocks *clocks, uint32_t block)
{
    return (uint32_t *)clocks->users.items + block;
}

// A block with one user whose words are to be set, or NOTHING.
static uint32_t new_block(struct verify_clocks *clocks)
{
    uint32_t block = clocks->unused;
    if (block) {
        clocks->unused = verify_block(clocks, block)[0];
    } else {
        block = (uint32_t)clocks->users.num;
        clocks->is_full |= clocks->blocks.num >= clocks->most_words;
        if (clocks->is_full || clocks->no_memory)
            return NOTHING;
        if (!braid_array_reserve(&clocks->users, 1, sizeof(uint32_t)) ||
            !braid_array_append(&clocks->blocks, clocks->num_words, sizeof(uint32_t))) {
            clocks->no_memory = true;
            return NOTHING;
        }
        clocks->users.num++;
    }
    *users_of(clocks, block) = 1;
    return block;
}

static void free_block(struct verify_clocks *clocks, uint32_t block)
{
    verify_block(clocks, block)[0] = clocks->unused;
    clocks->unused = block;
}

bool braid_verify_clocks_init(struct verify_clocks *clocks, uint32_t num_lanes, size_t most_words)
{
    *clocks = (struct verify_clocks){ .most_words = most_words };
    clocks->num_words = VERIFY_BLOCK;
    clocks->word_mask = VERIFY_BLOCK - 1;
    if (num_lanes <= VERIFY_LANES_IN_ONE) {
        clocks->num_words =
            (num_lanes + 4) / 4 * 4; // some, and a multiple: loops are short of tails
        clocks->word_mask = UINT32_MAX;
        num_lanes = 0;
    }
    while (num_lanes > (uint64_t)VERIFY_BLOCK << (VERIFY_BLOCK_BITS * clocks->height))
        clocks->height++;
    uint32_t nothing = new_block(clocks);
    if (clocks->no_memory)
        return false;
    memset(verify_block(clocks, nothing), 0, clocks->num_words * sizeof(uint32_t));
    return true;
}

void braid_verify_clocks_finish(struct verify_clocks *clocks)
{
    braid_array_finish(&clocks->blocks);
    braid_array_finish(&clocks->users);
}

static void keep(struct verify_clocks *clocks, uint32_t block)
{
    ++*users_of(clocks, block);
}

static void drop(struct verify_clocks *clocks, uint32_t block, uint32_t height)
{
    if (block == NOTHING || --*users_of(clocks, block) > 0)
        return;
    for (uint32_t i = 0; height > 0 && i < VERIFY_BLOCK; i++)
        drop(clocks, verify_block(clocks, block)[i], height - 1);
    free_block(clocks, block);
}

static void drop_all(struct verify_clocks *clocks, const uint32_t *words, uint32_t height)
{
    for (uint32_t i = 0; height > 0 && i < VERIFY_BLOCK; i++)
        drop(clocks, words[i], height - 1);
}

static void keep_all(struct verify_clocks *clocks, const uint32_t *words, uint32_t height)
{
    for (uint32_t i = 0; height > 0 && i < VERIFY_BLOCK; i++)
        keep(clocks, words[i]);
}

void braid_verify_clocks_drop(struct verify_clocks *clocks, verify_clock clock)
{
    drop(clocks, clock, clocks->height);
}

static void raise_words(uint32_t *words, const uint32_t *others, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        words[i] = others[i] > words[i] ? others[i] : words[i];
}

// The block with these words. The caller has counted a user of each block that they name. If `into`
// or `from` has the same words, it is the result. Otherwise it is `into` changed or a new block.
// Takes one user off `into`. If that user was the only one, the words have their users from `into`.
static uint32_t replace(struct verify_clocks *clocks, uint32_t into, uint32_t from,
                        const uint32_t *words, uint32_t height)
{
    bool shared = *users_of(clocks, into) > 1;
    bool same = memcmp(words, verify_block(clocks, into), BLOCK_BYTES) == 0;
    if (same && shared)
        drop_all(clocks, words, height);
    if (same)
        return into;
    uint32_t block = into;
    if (memcmp(words, verify_block(clocks, from), BLOCK_BYTES) == 0) {
        drop_all(clocks, words, height); // `from` has its own
        keep(clocks, from);
        block = from;
    } else if (!shared) {
        memcpy(verify_block(clocks, into), words, BLOCK_BYTES);
        return into;
    } else {
        block = new_block(clocks);
        if (block == NOTHING) {
            drop_all(clocks, words, height);
            return into;
        }
        memcpy(verify_block(clocks, block), words, BLOCK_BYTES);
    }
    if (--*users_of(clocks, into) == 0)
        free_block(clocks, into);
    return block;
}

static uint32_t merge_trees(struct verify_clocks *clocks, uint32_t into, uint32_t from,
                            uint32_t height)
{
    if (into == from || from == NOTHING)
        return into;
    if (into == NOTHING) {
        keep(clocks, from);
        return from;
    }
    uint32_t words[VERIFY_BLOCK];
    memcpy(words, verify_block(clocks, into), BLOCK_BYTES);
    if (height == 0) {
        raise_words(words, verify_block(clocks, from), VERIFY_BLOCK);
        return replace(clocks, into, from, words, height);
    }
    if (*users_of(clocks, into) > 1)
        keep_all(clocks, words, height); // the blocks of `into` stay with it
    for (uint32_t i = 0; i < VERIFY_BLOCK; i++)
        words[i] = merge_trees(clocks, words[i], verify_block(clocks, from)[i], height - 1);
    return replace(clocks, into, from, words, height);
}

// A block with the same words that has no other user, in the place of `block`; or NOTHING, and
// `block` is as it was.
static uint32_t own_block(struct verify_clocks *clocks, uint32_t block, uint32_t height)
{
    if (block != NOTHING && *users_of(clocks, block) == 1)
        return block;
    uint32_t own = new_block(clocks);
    if (own == NOTHING)
        return NOTHING;
    uint32_t *words = verify_block(clocks, own);
    memcpy(words, verify_block(clocks, block), clocks->num_words * sizeof(*words));
    keep_all(clocks, words, height);
    if (block != NOTHING)
        --*users_of(clocks, block);
    return own;
}

verify_clock braid_verify_clocks_copy(struct verify_clocks *clocks, verify_clock clock,
                                      verify_clock from)
{
    if (clocks->height == 0) {
        uint32_t own = own_block(clocks, clock, 0);
        return own == NOTHING ? NOTHING : verify_copy(clocks, own, from);
    }
    keep(clocks, from);
    drop(clocks, clock, clocks->height);
    return from;
}

verify_clock braid_verify_clocks_merge(struct verify_clocks *clocks, verify_clock clock,
                                       verify_clock other)
{
    if (clocks->height > 0)
        return merge_trees(clocks, clock, other, clocks->height);
    uint32_t own = own_block(clocks, clock, 0);
    return own == NOTHING ? clock : verify_merge(clocks, own, other);
}

static uint32_t raise_turn(struct verify_clocks *clocks, uint32_t block, uint32_t lane,
                           uint32_t turn, uint32_t height)
{
    uint32_t own = own_block(clocks, block, height);
    if (own == NOTHING)
        return block;
    uint32_t number = verify_word(clocks, lane, height), word = turn;
    if (height > 0)
        word = raise_turn(clocks, verify_block(clocks, own)[number], lane, turn, height - 1);
    verify_block(clocks, own)[number] = word;
    return own;
}

verify_clock braid_verify_clocks_raise(struct verify_clocks *clocks, verify_clock clock,
                                       uint32_t lane, uint32_t turn)
{
    return raise_turn(clocks, clock, lane, turn, clocks->height);
}
