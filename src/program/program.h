// SPDX-License-Identifier: Apache-2.0
// A program: a schedule and its tasks in the one form that every player plays.
//
// Each lane is a list of operations in the order in which it does them. A lane counts the positions
// that it publishes: to publish the nth is to say that all before it on the lane has ended, and who
// waits for the nth goes on when that many are published. Operations of all lanes also have one
// issue order, in which each wait stands behind its position.
//
// What players need not know any more: empty tasks, positions that nobody waits for, waits for
// something that an earlier wait of the lane covers, and which lanes the frame forks to and joins.
#ifndef BRAID_PROGRAM_PROGRAM_H
#define BRAID_PROGRAM_PROGRAM_H

#include "plan/schedule.h"
#include "program/tasks.h"

enum program_op_kind {
    PROGRAM_RUN,     // runs task `index`
    PROGRAM_PUBLISH, // publishes position `index`
    PROGRAM_WAIT,    // waits for position `index` of another lane
    // Of programs whose frames overlap, see program_frames.h:
    PROGRAM_PUBLISH_FRAME, // publishes frame position `index`, to the frame after
    PROGRAM_AWAIT_FRAME,   // waits for frame position `index` of an earlier frame
};

struct program_op {
    uint16_t kind;          // enum program_op_kind
    uint16_t frames_before; // of PROGRAM_AWAIT_FRAME: how much earlier; 1: the frame before
    uint32_t index;
};

// Positions of all lanes have one numbering, in issue order.
struct program_position {
    uint32_t lane;
    uint32_t number; // on its lane, from 1
    uint32_t task;   // after which it is published, for messages
};

// A lane whose first operation is a wait needs no fork: what it waits for was itself forked (the
// first operation of a frame is no wait, and each wait stands behind its position). A lane whose
// last operation publishes needs no join: some other lane waits for that, and of the lanes that so
// wait for each other's ends the last one in issue order does not end by publishing.
struct program_lane {
    uint32_t place; // the device that it runs on
    bool needs_fork;
    bool needs_join;
    size_t first_op, num_ops; // of program.ops
};

// A task without work, left out: it has ended as soon as all operations before `op` have, which is
// one of its lane or the end of that.
struct program_empty {
    uint32_t task, lane;
    size_t op;
};

// A stretch of a lane that is one kernel, where the player makes islands: nothing but operations
// that run tasks.
struct program_island {
    uint32_t lane;
    size_t first_op, num_ops;
};

struct program {
    const struct tasks *tasks;  // by node index; they outlive the program
    struct program_lane *lanes; // as in the schedule
    uint32_t num_lanes;
    struct program_op *ops; // lane by lane
    size_t num_ops;
    uint32_t *order; // the lanes of all operations, in issue order
    struct program_position *positions;
    uint32_t num_positions;
    struct program_empty *empties; // in issue order
    uint32_t num_empties;
    struct program_island *islands; // lane by lane, in order
    uint32_t num_islands;
    struct program_position *frame_positions; // numbered by lane, in issue order, like positions
    uint32_t num_frame_positions;
};

// A place in issue order: for (walk = start; next(program, &walk, &op);).
struct program_walk {
    size_t num_done;
    size_t *next_op; // of each lane
    uint32_t lane;   // of the operation at hand
};

// Zeroed, for as many lanes as the program has. False: no memory.
bool braid_program_walk_begin(const struct program *program, struct program_walk *out_walk);
void braid_program_walk_end(struct program_walk *walk);

// The next operation in issue order, or NULL behind the last.
static inline const struct program_op *program_walk_next(const struct program *program,
                                                         struct program_walk *walk)
{
    if (walk->num_done == program->num_ops)
        return NULL;
    walk->lane = program->order[walk->num_done++];
    return &program->ops[walk->next_op[walk->lane]++];
}

// Takes from the schedule what players need; the tasks are the schedule's nodes.
// Errors: BRAID_NO_MEMORY.
braid_status braid_program_create(const braid_schedule *schedule, const struct tasks *tasks,
                                  struct program *out_program);
void braid_program_finish(struct program *program);

// program_posts.c: moves each post of an operation between ranks forward in issue order, with the
// waits before it on its lane, to where it stands behind all that it waits for: before kernels that
// might fill the device, and so hold up what other ranks wait for. Posts keep their order among
// each other, and so do lanes and positions. False: no memory, and nothing has changed.
bool braid_program_issue_posts_first(struct program *program);

#endif
