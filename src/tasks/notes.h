// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a plan's program note that they run, if a row of notes is that of a lane
// (note.h).
#ifndef BRAID_TASKS_NOTES_H
#define BRAID_TASKS_NOTES_H

#include "base/running.h"
#include "tasks/frame.h"
#include "tasks/program_tasks.h"

// Gives each node the row of its lane, which has the number of a node there. The kernel behind a
// node on its lane tells of its end, unless a wait or an island is between. Of a region the last
// node, if all others end before it, has no end: where others run, it does not.
void braid_notes_assign(const struct program *program, struct task_note *notes);

// Adds the nodes that run by the frame's rows.
void braid_notes_find_running(const struct program *program, const struct frame *frame,
                              struct running *running);

#endif
