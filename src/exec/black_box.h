// SPDX-License-Identifier: Apache-2.0
// The part that tells which nodes run: rows of notes (note.h).
#ifndef BRAID_EXEC_BLACK_BOX_H
#define BRAID_EXEC_BLACK_BOX_H

#include "base/running.h"
#include "exec/exec_part.h"
#include "tasks/frame.h"
#include "tasks/program_tasks.h"

// Does nothing if the options ask for no black box. Behind the tasks and exec_ended.h. Errors:
// BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_exec_add_black_box(braid_exec *exec, const braid_graph *graph,
                                      const braid_exec_options *options);
// Gives the nodes of the exec's program their rows, and empties these. No frame is in flight.
void braid_exec_assign_notes(braid_exec *exec);
// Returns the notes of a slot; NULL: there is no black box.
struct note *braid_exec_notes(const braid_exec *exec, uint32_t slot);

// Writes the nodes that run, and returns their number; 0: there is no black box. More than
// MOST_RUNNING are not written.
size_t braid_exec_find_nodes(braid_exec *exec, braid_running_node *nodes, size_t room);

void braid_exec_free_box_words(braid_exec *exec);
// Finds the words of a slot, by place.
void braid_exec_find_box_words(const braid_exec *exec, uint32_t slot, struct box_words *out_words);

#endif
