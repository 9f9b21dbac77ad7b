// SPDX-License-Identifier: Apache-2.0
// The times of the operations of a program in the last frames.
#ifndef BRAID_PROGRAM_PROFILE_H
#define BRAID_PROGRAM_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include <braid/status.h>

// When something began and ended. Both 0: that is not known.
struct profile_span {
    uint64_t begin, end;
};

// Room for the times of some frames. A player keeps the frames in turn, in its own form; what it
// hands out is in nanoseconds of one clock, the oldest frame first.
struct profile {
    uint32_t room;               // frames
    uint32_t num_frames;         // that are there
    size_t num_ops;              // of the program
    struct profile_span *ops;    // room * num_ops; those of publishing stay zero
    struct profile_span *frames; // room
};

// Errors: BRAID_NO_MEMORY.
braid_status braid_profile_create(uint32_t num_frames, size_t num_ops, struct profile *out_profile);
void braid_profile_finish(struct profile *profile);

#endif
