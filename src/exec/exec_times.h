// SPDX-License-Identifier: Apache-2.0
// The times of an exec's last frames, as read from its player, slot by slot.
#ifndef BRAID_EXEC_EXEC_TIMES_H
#define BRAID_EXEC_EXEC_TIMES_H

#include <braid/timings.h>

#include "base/store.h"
#include "exec/exec_part.h"
#include "tasks/profile.h"
#include "tasks/program_tasks.h"

#define EXEC_TIMES_TALLIED (SIZE_MAX - 1) // instead of an operation: it is in a loop or branch

// The arrays that braid_exec_get_timings returns.
struct exec_told {
    braid_frame_timing *frames; // as many as are kept; NULL: nobody asked yet
    braid_node_timing *nodes;
    braid_lane_timing *lanes;
    braid_wait_timing *waits;
    braid_interval *intervals;
    struct store store; // holds these
};

// Guarded by the exec's lock, except its room.
struct exec_times {
    struct exec_part part;
    uint32_t room;       // frames that are told of at most
    uint32_t num_frames; // that are told of
    uint32_t *order;     // where in the profile they are, the oldest first
    uint64_t *numbers;   // which frame of the exec each is
    // When the host launched each of the last `room` frames, in turn.
    struct profile_span *launches;
    struct profile profile; // has a few more where slots do not share out the room evenly
    uint64_t num_launches;  // all launches of the exec so far
    uint64_t num_read;      // launches when the profile was read
    uint64_t begun_ns;      // when the launch at hand has begun
    // An empty node has the operation that it ends with; SIZE_MAX: the frame's begin.
    size_t *op_of_node;
    uint64_t *scratch; // a number a frame
    // Which nodes are disabled, a bit each: of the last `room` frames, in turn, and now.
    uint64_t *disabled, *disabled_now;
    uint64_t seen; // the values.num_controls for which disabled_now is right
    struct exec_told told;
    struct store store; // holds the arrays
};

// How many of them each slot keeps.
static inline uint32_t exec_times_of_slot(uint32_t num_frames, uint32_t num_slots)
{
    return num_frames / num_slots + (num_frames % num_slots != 0);
}

// Adds the part with room for the times of as many frames of the exec's program, if any. Errors:
// BRAID_NO_MEMORY.
braid_status braid_exec_add_times(braid_exec *exec, uint32_t num_frames);
void braid_exec_drop_times(braid_exec *exec);
// NULL: the exec keeps no times.
struct exec_times *braid_exec_get_times(const braid_exec *exec);

// With the lock held, behind the update of the frames' values: writes down which nodes they
// disable.
void braid_exec_note_disabled(const braid_exec *exec, uint64_t first, uint32_t num_frames);
// Whether one of the frames told of, the oldest first, disabled the node.
bool braid_exec_was_disabled(const braid_exec *exec, uint32_t index, uint32_t node);

#endif
