// SPDX-License-Identifier: Apache-2.0
// The times of an exec's last frames, as read from its player, slot by slot.
#ifndef BRAID_EXEC_EXEC_TIMES_H
#define BRAID_EXEC_EXEC_TIMES_H

#include "program/profile.h"
#include "program/program.h"

// Guarded by the exec's lock.
struct exec_times {
    uint32_t room;       // frames that are told of at most; 0: the exec keeps no times
    uint32_t num_frames; // that are told of
    uint32_t *order;     // where in the profile they are, the oldest first
    uint64_t *numbers;   // which frame of the exec each is
    // When the host launched each of the last `room` frames, in turn.
    struct profile_span *launches;
    struct profile profile; // of a few more where slots do not share out the room evenly
    uint64_t num_launches;  // of the exec so far
    uint64_t num_read;      // launches when the profile was read
    size_t *op_of_node; // of an empty node: the one that it ends with. SIZE_MAX: the frame's begin
    uint64_t *scratch;  // a number a frame
};

// How many of them each slot keeps.
static inline uint32_t exec_times_of_slot(uint32_t num_frames, uint32_t num_slots)
{
    return num_frames / num_slots + (num_frames % num_slots != 0);
}

// Room for the times of as many frames of a program. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_times_create(const struct program *program, uint32_t num_frames,
                                     uint32_t num_slots, struct exec_times *out_times);
void braid_exec_times_finish(struct exec_times *times);
// The frames from `first` to `end` were launched by a call that began then and has ended now.
void braid_exec_times_note_launch(struct exec_times *times, uint64_t first, uint64_t end,
                                  uint64_t begun_ns);

#endif
