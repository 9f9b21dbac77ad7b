// SPDX-License-Identifier: Apache-2.0
// The part that tells which nodes run: rows of notes (note.h), and which frames have ended.
#ifndef BRAID_EXEC_BLACK_BOX_H
#define BRAID_EXEC_BLACK_BOX_H

#include "base/note.h"
#include "exec/exec_part.h"

enum { BLACK_BOX_ENDS = 32 }; // events that it leases

// Does nothing if the options ask for no black box. Behind the tasks. Errors: BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR.
braid_status braid_exec_add_black_box(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options);
// Gives the nodes of the exec's program their rows, and empties these. No frame is in flight.
void braid_exec_place_notes(braid_exec *exec);
// Those of a slot; NULL: there is no black box.
struct note *braid_exec_notes(const braid_exec *exec, uint32_t slot);

#endif
