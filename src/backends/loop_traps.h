// SPDX-License-Identifier: Apache-2.0
// Traps of nodes in a loop that the host drives: in which iteration they were written.
#ifndef BRAID_BACKENDS_LOOP_TRAPS_H
#define BRAID_BACKENDS_LOOP_TRAPS_H

#include "plan/program.h"
#include "tasks/frame.h"

// Behind an iteration of a loop, whose writes are seen. `number` is the iteration's, from 1. Loops
// inside have noted theirs before.
void braid_loop_traps_note(const struct program *body, const struct frame *frame, uint64_t number);

#endif
