// SPDX-License-Identifier: Apache-2.0
// Parts that tell of frames: how many have ended, which nodes run, which frames are late, and nodes
// that rest.
#ifndef BRAID_EXEC_EXEC_PARTS_H
#define BRAID_EXEC_EXEC_PARTS_H

#include <stdbool.h>

#include <braid/exec.h>

#include "base/running.h"
#include "exec/exec.h"
#include "exec/exec_part.h"
#include "tasks/frame.h"
#include "tasks/program_tasks.h"

// exec_ended.c: how many frames have ended, and when a frame was launched.

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

// black_box.c: which nodes run, by rows of notes (note.h).

// Does nothing if the options ask for no black box. Behind the tasks and braid_exec_add_ended.
// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
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

// deadline.c: frames that have not ended by their deadline. Such frames are late.

// Does nothing if the options have no deadline. Behind all that its callback asks. Errors:
// BRAID_NO_MEMORY.
braid_status braid_exec_add_deadline(braid_exec *exec, const braid_exec_options *options);

// Ends the thread, if there is one. It reads the other parts, so this comes before they go.
void braid_exec_stop_deadline(const braid_exec *exec);

// 0: the exec has none.
uint64_t braid_exec_deadline_ns(const braid_exec *exec);

// The late frames up to `last` of which no wait has told, from *out_first to *out_last. Of several
// threads one takes them. False: there are none.
bool braid_exec_take_late(const braid_exec *exec, uint64_t last, uint64_t *out_first,
                          uint64_t *out_last);

// exec_idle.c: nodes that rest in the frames in which parameters disable all that need them.

// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_idle_create(braid_exec *exec);

// Keeps the nodes at work that the player cannot disable, with all that these need, once frames are
// made. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_idle_keep(braid_exec *exec);

// With the lock held, before a slot takes the values that were set. Disables the nodes that nothing
// needs with these, and enables the others again.
void braid_exec_idle_update(braid_exec *exec);

#endif
