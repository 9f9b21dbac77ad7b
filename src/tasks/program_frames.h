// SPDX-License-Identifier: Apache-2.0
// The overlap of frames of a plan's program: waits of a frame for positions of earlier frames.
//
// Each frame runs on lanes of its own. After a task that a later frame has to wait for, its lane
// publishes a frame position. Before a task that has to wait, its lane awaits those positions of an
// earlier frame that it does not know of already. Frame positions of one frame are published once
// each, and are awaited any number of times by later frames.
#ifndef BRAID_TASKS_PROGRAM_FRAMES_H
#define BRAID_TASKS_PROGRAM_FRAMES_H

#include "base/store.h"
#include "tasks/program_tasks.h"

// A task of a frame that starts when one of an earlier frame has ended. Both have work.
struct program_frame_link {
    uint32_t from, to;
    uint32_t frames_before; // how much earlier; 1: of the frame before
};

// Adds the operations that order frames by the links, and none that the lanes' order and waits
// imply together with others. Takes memory for tasks that are waited for times lanes. If it fails,
// the program is as it was. Errors: BRAID_NO_MEMORY.
braid_status braid_program_order_frames(struct program *program,
                                        const struct program_frame_link *links, size_t num_links);

#endif
