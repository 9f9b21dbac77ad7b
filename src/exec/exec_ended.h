// SPDX-License-Identifier: Apache-2.0
// The part that tells how many frames have ended, and when a frame was launched.
#ifndef BRAID_EXEC_EXEC_ENDED_H
#define BRAID_EXEC_EXEC_ENDED_H

#include <stdbool.h>

#include <braid/exec.h>

enum { EXEC_MARKS = 32 }; // events that it leases

// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_exec_add_ended(braid_exec *exec);

// Whether marks tell that so many frames have ended. False for execs without the part. Takes no
// lock. Waits and launches both ask it, since a mark passes before the end of its frame is reached.
bool braid_exec_knows_ended(const braid_exec *exec, uint64_t num);

// For execs with the part. None takes a lock.
// The number of frames that have ended. Errors: BRAID_DEVICE_ERROR.
braid_status braid_exec_ask_ended(const braid_exec *exec, uint64_t *out_num);
// The same for a caller that tells nobody of an error.
uint64_t braid_exec_count_ended(const braid_exec *exec);
// When the frame was launched, or a later one that shares its mark; UINT64_MAX: it was not.
uint64_t braid_exec_launched_ns(const braid_exec *exec, uint64_t frame);

#endif
