// SPDX-License-Identifier: Apache-2.0
// The times of the operations of a plan's program in the last frames.
#ifndef BRAID_TASKS_PROFILE_H
#define BRAID_TASKS_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

#include "base/clock.h"
#include "base/store.h"

struct program;

// When something began and ended. Both 0: that is not known.
struct profile_span {
    uint64_t begin, end;
};

// The time of all runs together in one frame of a node that is in a loop or branch.
struct profile_tally {
    uint64_t num, sum_ns;
};

static inline void profile_tally_add(struct profile_tally *tally, uint64_t ns)
{
    tally->sum_ns += ns;
    tally->num++;
}

// The interval that the times of an operation cover.
enum profile_timer {
    PROFILE_AROUND, // from the end of what was before it on its lane: starting it is in it
    PROFILE_INSIDE, // what it does alone
    PROFILE_NOT,    // nothing: they are not known
};

// A player's clock, as found while the times of the first playing were read. It serves the other
// playings too, so that all times are of one clock. Zeroed: nothing yet.
struct profile_clock {
    const void *origin; // what times count from
    uint64_t ticks, ns; // a moment by both clocks
    double ns_a_tick;
    struct clock_pair host; // what the host's clock says at a moment of the times; see read_clock
};

// Room for the times of some frames. A player keeps the frames of a playing in turn, in its own
// form. It hands out nanoseconds of one clock, the oldest frame first, behind the times of other
// playings.
struct profile {
    struct profile_clock clock;
    uint32_t room;                 // frames
    uint32_t num_frames;           // that are there
    size_t num_ops;                // in the plan's program
    struct profile_span *ops;      // room * num_ops; those of publishing stay zero
    struct profile_span *frames;   // room
    uint32_t num_nodes;            // the graph's, where it has loops or branches; else 0
    struct profile_tally *tallies; // room * num_nodes; zero of a node that is in none
    uint8_t *timers;               // enum profile_timer, by operation
    uint8_t *tally_timers;         // enum profile_timer, by node
    struct store store;            // holds the arrays
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_profile_create(const struct program *program, uint32_t num_frames,
                                  struct profile *out_profile);
void braid_profile_finish(struct profile *profile);

// For a frame whose tasks have their times: fills in the times of waits and of the frame. A wait
// takes from the end of the operation before it on its lane to the end of the task that it waits
// for. The frame takes from the first begin to the last end. Errors: BRAID_NO_MEMORY.
braid_status braid_profile_fill_in(const struct program *program, struct profile_span *ops,
                                   struct profile_span *out_frame);

#endif
