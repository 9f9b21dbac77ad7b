// SPDX-License-Identifier: Apache-2.0
// A plan's program: planning ends in it, and the verifier, the drawings and all players read it.
//
// Its operations stand in one issue order, in which each wait stands behind its record. A lane
// counts the positions that it records. Recording the nth says that all operations before it on the
// lane have ended. A wait for the nth goes on when that many are recorded.
#ifndef BRAID_PLAN_PROGRAM_H
#define BRAID_PLAN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/schedule.h>

#include "base/work.h"

// Operations are the public steps, and more kinds. BRAID_STEP_LOOP plays body `position`, or
// the one behind it if that is its else.
// Two order frames that overlap, see program_frames.h:
#define PROGRAM_RECORD_FRAME ((braid_step_kind)16) // a frame position, for later frames
#define PROGRAM_AWAIT_FRAME ((braid_step_kind)17)  // `position` is an index into frame_waits

// Positions of all lanes have one numbering, in issue order.
struct program_position {
    uint32_t lane;
    uint32_t number; // on its lane, from 1
    uint32_t node;   // after which it is recorded
};

// A wait for a frame position of an earlier frame.
struct program_frame_wait {
    uint32_t position;
    uint32_t frames_before; // 1: of the frame before
};

// A lane whose first operation is a wait needs no fork: it waits for an operation that was itself
// forked. (The first operation of a frame is no wait, and each wait stands behind its record.) A
// lane whose last operation records needs no join: some other lane waits for that. Of the lanes
// that so wait for each other's ends, the last one in issue order does not end by recording. Nodes
// without work at either end count for nothing.
struct program_lane {
    uint32_t place; // the device that it runs on
    bool needs_fork;
    bool needs_join;
    bool has_work;            // it does more than run nodes without work
    size_t first_op, num_ops; // in lane_ops
};

// A stretch of a lane that is one kernel, where the player makes islands. All its operations run
// nodes, of which those with work are its calls.
struct program_island {
    uint32_t lane;
    size_t first_op, num_ops; // in lane_ops
    const uint32_t *calls;    // nodes, in program.island_calls
    uint32_t num_calls;
};

struct tasks;

// The program of the frame, or of a region inside it. A region's has lanes and positions of its
// own, and ends when all its lanes have ended. Nodes have the numbers of the graph everywhere.
struct program {
    braid_step *ops; // in issue order
    size_t num_ops;
    struct program_lane *lanes;
    uint32_t num_lanes;
    uint32_t *lane_ops; // indices of operations, lane by lane
    struct program_position *positions;
    uint32_t num_positions;
    uint8_t *kinds; // by node: enum work_kind; a body's are the frame's
    uint32_t num_nodes;
    uint32_t region;    // the graph's number for it; GRAPH_NONE: the frame
    uint32_t node;      // that a region is from outside
    uint64_t expected;  // how often the plan expects that it is played
    uint64_t most;      // how often it is played when it is entered, and whether its condition ends
    bool has_condition; // that sooner
    bool has_else;      // the body behind it is played instead, once, where the condition is 0
    bool is_else;       // this is such a body; no operation enters it
    struct program *bodies;
    uint32_t num_bodies;

    // An exec's, which shares the rest with its schedule unless it owns operations.
    const struct tasks *tasks;      // by node index; they outlive the program
    uint8_t is_island;              // it is, or is in, one kernel; 2: its lanes have room alone
    struct program_island *islands; // lane by lane, in order
    uint32_t num_islands;
    uint32_t *island_calls;
    bool owns_ops;                            // ops, lanes and lane_ops; frame_* exist only then
    struct program_position *frame_positions; // numbered by lane, in issue order, like positions
    uint32_t num_frame_positions;
    struct program_frame_wait *frame_waits;
    uint32_t num_frame_waits;
};

// Whether an operation runs something: a node without work has ended when all before it has.
static inline bool program_runs(const struct program *program, const braid_step *op)
{
    return op->kind == BRAID_STEP_RUN && program->kinds[op->node] != WORK_EMPTY;
}

// Whether an operation takes time: it runs something, or enters a region.
static inline bool program_takes_time(const struct program *program, const braid_step *op)
{
    return op->kind == BRAID_STEP_LOOP || program_runs(program, op);
}

// Whether an operation waits for another lane, or for another frame.
static inline bool program_waits(const braid_step *op)
{
    return op->kind == BRAID_STEP_WAIT || op->kind == PROGRAM_AWAIT_FRAME;
}

// Whether an exec with times tells that of an operation.
static inline bool program_is_timed(const struct program *program, const braid_step *op)
{
    return program_waits(op) || program_takes_time(program, op);
}

// Whether an operation is a node of its region: one that runs, or one that is entered.
static inline bool program_has_node(const braid_step *op)
{
    return op->kind == BRAID_STEP_RUN || op->kind == BRAID_STEP_LOOP;
}

// The device that all of a region runs on.
static inline uint32_t program_place(const struct program *region)
{
    return region->num_lanes ? region->lanes[0].place : 0;
}

// The i-th operation of a lane.
static inline const braid_step *program_lane_op(const struct program *program, uint32_t lane,
                                                size_t i)
{
    return &program->ops[program->lane_ops[program->lanes[lane].first_op + i]];
}

// An index of positions or of frame_positions.
static inline uint32_t program_position_index(const struct program *program, const braid_step *op)
{
    return op->kind == PROGRAM_AWAIT_FRAME ? program->frame_waits[op->position].position
                                           : op->position;
}

// The position that an operation records or waits for.
static inline const struct program_position *program_position_of(const struct program *program,
                                                                 const braid_step *op)
{
    bool of_frames = op->kind == PROGRAM_AWAIT_FRAME || op->kind == PROGRAM_RECORD_FRAME;
    uint32_t index = program_position_index(program, op);
    return of_frames ? &program->frame_positions[index] : &program->positions[index];
}

// How many frames earlier than its own the frame is that an operation waits for.
static inline uint32_t program_frames_before(const struct program *program, const braid_step *op)
{
    return op->kind == PROGRAM_AWAIT_FRAME ? program->frame_waits[op->position].frames_before : 0;
}

// The body that a node enters, behind which its else may be; NULL: it is no region of this one.
const struct program *braid_program_find_body(const struct program *program, uint32_t node);

// Lists the operations by lane and says which lanes the frame forks to and joins; `lanes` has their
// places. False: no memory.
bool braid_program_list_lanes(struct program *program);

// Moves each post of an operation between ranks forward in issue order, with the waits before it on
// its lane. It then stands right behind all operations that it waits for. So it stands before
// kernels that might fill the device and hold up other ranks. Posts keep their order among each
// other, and so do lanes and positions. False: no memory, and nothing has changed.
bool braid_program_issue_posts_first(struct program *program);

// Frees the arrays of a schedule's program.
void braid_program_free(struct program *program);

// Whether an island has the operation. Operations are asked for in issue order of a lane, and
// *island, 0 at first, follows them.
static inline bool program_in_island(const struct program *program, size_t op, uint32_t *island)
{
    const struct program_island *islands = program->islands;
    while (*island < program->num_islands &&
           islands[*island].first_op + islands[*island].num_ops <= op)
        ++*island;
    return *island < program->num_islands && islands[*island].first_op <= op;
}

#endif
