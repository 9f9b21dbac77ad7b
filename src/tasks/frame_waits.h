// SPDX-License-Identifier: Apache-2.0
// Which tasks of a frame wait for which of earlier frames, once all waits that follow are left out.
#ifndef BRAID_TASKS_FRAME_WAITS_H
#define BRAID_TASKS_FRAME_WAITS_H

#include "base/store.h"
#include "tasks/program_tasks.h"

#define FRAME_NONE UINT32_MAX

// A task of a frame that starts when one of an earlier frame has ended. Both have work.
struct program_frame_link {
    uint32_t from, to;
    uint32_t frames_before; // how much earlier; 1: of the frame before
};

// A task that others wait for.
struct source {
    uint32_t task;
    uint32_t lane;
    uint32_t count;    // tasks of its lane that have ended when it has
    uint64_t place;    // in issue order
    uint32_t position; // FRAME_NONE: nobody needs to wait
};

// A wait of a task, for a source of an earlier frame.
struct awaited {
    uint32_t task, source, distance;
    uint32_t next; // the same task's next one; FRAME_NONE
};

struct frame_waits {
    struct program *program;
    const struct program_frame_link *links; // by `to`
    struct program_frame_link *sorted;
    size_t num_links;
    size_t *first_link;  // for each task, and one more
    uint32_t *source_of; // a task; FRAME_NONE
    struct source *sources;
    uint32_t num_sources;
    uint32_t *known;         // by source, what its lane knows when it has ended: a count a lane
    uint32_t *lanes;         // a clock a lane
    uint32_t *positions;     // and for each position
    struct awaited *awaited; // one for each link kept, by distance and then in issue order of `to`
    size_t num_awaited;
    uint32_t *first_awaited; // by task; FRAME_NONE
    uint32_t *island_of;     // by task; FRAME_NONE
    uint32_t distance;       // how far apart the frames at hand are
    uint32_t most_distance;
    struct store store; // holds the arrays
};

// Finds the waits; `program`, `links` and their number are given. Returns false if memory ran out.
// In both cases braid_frame_waits_finish frees the rest of the struct.
bool braid_frame_waits_find(struct frame_waits *frames);
void braid_frame_waits_finish(struct frame_waits *frames);

#endif
