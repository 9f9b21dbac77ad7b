// SPDX-License-Identifier: Apache-2.0
// The times of an exec's last frames, as read from its player.
#ifndef BRAID_EXEC_EXEC_TIMES_H
#define BRAID_EXEC_EXEC_TIMES_H

#include "program/profile.h"
#include "program/program.h"

// Guarded by the exec's lock.
struct exec_times {
    struct profile profile; // room 0: the exec keeps no times
    uint64_t num_launches;  // of the exec so far
    uint64_t num_read;      // launches when the profile was read
    size_t *op_of_node; // of an empty node: the one that it ends with. SIZE_MAX: the frame's begin
    uint64_t *scratch;  // a number a frame
};

// Room for the times of as many frames of a program. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_times_create(const struct program *program, uint32_t num_frames,
                                     struct exec_times *out_times);
void braid_exec_times_finish(struct exec_times *times);

#endif
