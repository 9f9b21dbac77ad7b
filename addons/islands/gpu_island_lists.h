// SPDX-License-Identifier: Apache-2.0
// The work of an island: lanes of calls with waits, and the words that its kernel reads of them.
//
// In an island a lane is a team of groups of threads of one kernel, of one at least. A group runs a
// block of a call. The blocks of a call run side by side on the groups of a team, and then in turn.
//
// An island with loops or branches, its scopes, goes from step to step. In a step each lane runs a
// part of its calls. Then all lanes meet, one of them tests, and all go on to the same step.
#ifndef BRAID_ISLANDS_GPU_ISLAND_LISTS_H
#define BRAID_ISLANDS_GPU_ISLAND_LISTS_H

#include "backends/gpu/gpu_backend.h"

// Waits until `lane` has published that many calls.
struct island_wait {
    uint32_t lane, number;
};

struct island_call {
    const struct backend_task
        *task; // a kernel, copy or fill; NULL: nothing to run, only to wait or publish
    uint32_t first_wait, num_waits; // in island_lists.waits
    bool publishes;
    bool fences;     // its blocks, were they several, might wait for each other
    braid_dim3 grid; // with which the island was made
};

// The test behind a step: none, before or behind the iterations of a loop, or before a branch. In
// timed islands each arm ends with a step of its scope without a test, also an arm without nodes.
enum island_test { ISLAND_TEST_NONE, ISLAND_TEST_ENTER, ISLAND_TEST_AGAIN, ISLAND_TEST_CHOOSE };
enum { ISLAND_END = 0 }; // no step goes back to the first

struct island_step {
    enum island_test test;
    uint32_t scope;
    uint32_t then, otherwise; // the next step, if the test says yes or no; or ISLAND_END
};

struct island_lists {
    struct island_call *calls; // lane by lane, and step by step
    uint32_t *lane_first;      // num_lanes + 1
    uint32_t num_lanes, num_calls;
    struct island_wait *waits; // for what is published in the same step
    uint32_t num_waits;
    bool timed;  // calls write when they begin and end
    bool spread; // the plan reckons with a multiprocessor for each lane
    bool whole;  // a whole program: its arguments may be away

    // With scopes only; without, all calls are of one step.
    struct island_step *steps;
    uint32_t *step_ends; // step by step, of each lane: behind its last call
    uint32_t num_steps, num_scopes;
};

// The calls of a lane in a step: [first, end).
struct island_range {
    uint32_t first, end;
};
uint32_t braid_island_count_steps(const struct island_lists *lists); // 1 at least
struct island_range braid_island_range(const struct island_lists *lists, uint32_t step,
                                       uint32_t lane);

// How the lanes are laid out on the device.
struct island_layout {
    uint32_t group_threads; // whole warps
    uint32_t num_groups;    // in a block
    uint32_t team;          // groups of a lane
    uint32_t num_blocks;
    uint32_t num_at_once; // blocks that a multiprocessor has room for: one at least
    uint32_t num_threads; // each block's: those of its groups, and perhaps some that only load
    uint32_t num_args;    // a frame's, or where they are away a block's, in 16 bytes
    uint32_t most_units;  // the most in any block's list, in 16 bytes
    uint32_t span;        // by how much each lane's progress grows in a frame, or step
    bool chain;           // there is one lane
    bool is_away;         // arguments are in memory, each block's of its own lanes
    bool flat;            // all blocks are one-dimensional
    bool wide;            // some call has several blocks
    bool early;           // it may be launched early: it waits for its predecessors
    bool timed;           // calls write when they begin and end
    bool loops;           // the lists have scopes
    bool cancels;         // the host may cancel its frame
    uint32_t small; // bytes: each call has so many of arguments, 4, 8 or 16, and one block; 0: no
    uint32_t lane_shared; // bytes of shared memory that kernels have in a lane
    uint32_t numbers;     // kernels' barriers: bits
    bool whole;           // every call that runs something takes all threads of its group
    bool apart; // kernels' barriers are others than their groups': fewer threads may meet there
    bool grids_vary; // every call's grid of now is in front of its arguments; (0, 0, 0): skipped
};

static inline uint32_t island_lanes_of_a_block(const struct island_layout *layout)
{
    return layout->num_groups / layout->team;
}

// All that the island's kernel reads: for each block a head, then its shapes, lists and waits.
struct island_words {
    uint32_t *words;
    size_t num_units; // each has 16 bytes
};

// Whether each step can run to its end: each lane in its order, each wait for something that is
// published. That nothing waits in a circle is shown by running them; so is that every kernel task
// of the lists runs once.
braid_status braid_island_lists_check(const struct island_lists *lists);

// The most urgent priority of the kernels that are called; 0: there is no kernel.
int32_t braid_island_lists_priority(const struct island_lists *lists);
void braid_island_lists_finish(struct island_lists *lists);

// Where an argument stands behind `at` bytes of others; the island's code says the same.
static inline uint32_t island_arg_offset(uint32_t at, uint32_t bytes)
{
    uint32_t align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
    return (at + align - 1) / align * align;
}

// The bytes of a call's arguments, in whole 16 bytes.
uint32_t braid_island_arg_bytes(const struct backend_launch *launch);
void braid_island_put_args(const struct backend_launch *launch, unsigned char *to);

// Where grids vary, the bytes before the arguments of a call hold its grid, without blocks if it is
// disabled. `task` is NULL for calls that run nothing; copies and fills keep the grid of the call.
enum { ISLAND_GRID_BYTES = 16 };
void braid_island_put_grid(const struct island_call *call, const struct backend_task *task,
                           unsigned char *to);

// Writes the words. entry_of[call] and args_of[call] (in bytes) belong to lists->calls; fills
// layout->most_units. Errors: BRAID_NO_MEMORY, BRAID_UNSUPPORTED (too many shapes or waits).
braid_status braid_island_words_create(const struct island_lists *lists, const uint32_t *entry_of,
                                       const uint32_t *args_of, struct island_layout *layout,
                                       struct island_words *out_words);

#endif
