// SPDX-License-Identifier: Apache-2.0
// Writes a program anew with frame positions and the waits for them among its operations.
#include "program/program_frames.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"

// A lane's operations with the new ones among them, and the issue order likewise.
static void write_op(struct program *to, size_t *next_op, uint32_t lane, struct program_op op)
{
    to->ops[next_op[lane]++] = op;
    to->order[to->num_ops++] = lane;
}

static void write_awaits(const struct frame_waits *frames, struct program *to, size_t *next_op,
                         uint32_t lane, uint32_t task)
{
    for (uint32_t i = frames->first_awaited[task]; i != FRAME_NONE; i = frames->awaited[i].next) {
        const struct awaited *awaited = &frames->awaited[i];
        const struct source *source = &frames->sources[awaited->source];
        write_op(to, next_op, lane,
                 (struct program_op){ PROGRAM_AWAIT_FRAME, (uint16_t)awaited->distance,
                                      source->position });
    }
}

static void write_publish(const struct frame_waits *frames, struct program *to, size_t *next_op,
                          uint32_t lane, uint32_t task)
{
    uint32_t index = frames->source_of[task];
    if (index != FRAME_NONE && frames->sources[index].position != FRAME_NONE)
        write_op(to, next_op, lane,
                 (struct program_op){ PROGRAM_PUBLISH_FRAME, 0, frames->sources[index].position });
}

// An island stays one stretch: what its tasks await stands before it and what they publish behind,
// which is sooner and later than would do. A frame waits for earlier ones alone, so this closes no
// circle.
static void write_task(const struct frame_waits *frames, struct program *to, size_t *next_op,
                       uint32_t lane, const struct program_op *op)
{
    const struct program *from = frames->program;
    uint32_t island = frames->island_of[op->index];
    const struct program_op *first =
        island == FRAME_NONE ? op : &from->ops[from->islands[island].first_op];
    size_t num = island == FRAME_NONE ? 1 : from->islands[island].num_ops;
    for (size_t i = 0; i < num && op == first; i++)
        write_awaits(frames, to, next_op, lane, first[i].index);
    if (island != FRAME_NONE && op == first)
        to->islands[island] = (struct program_island){ lane, next_op[lane], num };
    write_op(to, next_op, lane, *op);
    for (size_t i = 0; i < num && op == first + num - 1; i++)
        write_publish(frames, to, next_op, lane, first[i].index);
}

// In issue order, so that those of a lane rise.
static void number_positions(struct frame_waits *frames, struct program_walk *walk,
                             struct program *to, uint32_t *num_of_lane)
{
    const struct program_op *op;
    while ((op = program_walk_next(frames->program, walk))) {
        uint32_t index = op->kind == PROGRAM_RUN ? frames->source_of[op->index] : FRAME_NONE;
        if (index == FRAME_NONE || frames->sources[index].position == FRAME_NONE)
            continue;
        frames->sources[index].position = to->num_frame_positions;
        to->frame_positions[to->num_frame_positions++] = (struct program_position){
            .lane = walk->lane, .number = ++num_of_lane[walk->lane], .task = op->index
        };
    }
}

static size_t count_new(const struct frame_waits *frames)
{
    size_t num = frames->num_awaited;
    for (uint32_t i = 0; i < frames->num_sources; i++)
        num += frames->sources[i].position != FRAME_NONE;
    return num;
}

// Where the lanes begin, and how many operations each has.
static void place_lanes(const struct frame_waits *frames, struct program *to, size_t *next_op)
{
    const struct program *from = frames->program;
    size_t first = 0;
    for (uint32_t i = 0; i < from->num_lanes; i++) {
        struct program_lane *lane = &to->lanes[i];
        *lane = from->lanes[i];
        for (size_t k = 0; k < from->lanes[i].num_ops; k++) {
            const struct program_op *op = &from->ops[from->lanes[i].first_op + k];
            uint32_t index = op->kind == PROGRAM_RUN ? frames->source_of[op->index] : FRAME_NONE;
            lane->num_ops += op->kind == PROGRAM_RUN ? frames->num_awaits[op->index] : 0;
            lane->num_ops += index != FRAME_NONE && frames->sources[index].position != FRAME_NONE;
        }
        lane->first_op = next_op[i] = first;
        first += lane->num_ops;
    }
}

// An empty task stands before an operation of its lane: the same one, and what was put before it.
static void place_empties(const struct frame_waits *frames, const struct program *to)
{
    const struct program *from = frames->program;
    for (uint32_t i = 0; i < from->num_empties; i++) {
        struct program_empty *empty = &to->empties[i];
        const struct program_lane *old = &from->lanes[empty->lane];
        size_t num_before = empty->op - old->first_op, done = 0;
        size_t op = to->lanes[empty->lane].first_op;
        size_t end = op + to->lanes[empty->lane].num_ops;
        while (done < num_before)
            done += to->ops[op++].kind < PROGRAM_PUBLISH_FRAME;
        while (num_before && op < end && to->ops[op].kind == PROGRAM_PUBLISH_FRAME)
            op++;
        empty->op = op;
    }
}

static bool write_program(struct frame_waits *frames, struct program *to)
{
    const struct program *from = frames->program;
    size_t num_ops = from->num_ops + count_new(frames);
    struct program_walk walk = { 0 }, names = { 0 };
    size_t *next_op = braid_allocate_zeroed(from->num_lanes, sizeof(*next_op));
    uint32_t *num_of_lane = braid_allocate_zeroed(from->num_lanes, sizeof(*num_of_lane));
    to->lanes = braid_allocate_zeroed(from->num_lanes, sizeof(*to->lanes));
    to->ops = braid_allocate_zeroed(num_ops, sizeof(*to->ops));
    to->order = braid_allocate_zeroed(num_ops, sizeof(*to->order));
    to->empties = braid_allocate_zeroed(from->num_empties, sizeof(*to->empties));
    to->islands = braid_allocate_zeroed(from->num_islands, sizeof(*to->islands));
    to->frame_positions = braid_allocate_zeroed(frames->num_sources, sizeof(*to->frame_positions));
    // Both begin, whatever becomes of the first: both are ended below.
    bool walks = braid_program_walk_begin(from, &walk);
    bool also_walks = braid_program_walk_begin(from, &names);
    bool done = walks && also_walks && next_op && num_of_lane && to->lanes && to->ops &&
                to->order && to->empties && to->islands && to->frame_positions;
    if (done) {
        const struct program_op *op;
        number_positions(frames, &names, to, num_of_lane);
        place_lanes(frames, to, next_op);
        while ((op = program_walk_next(from, &walk))) {
            if (op->kind == PROGRAM_RUN)
                write_task(frames, to, next_op, walk.lane, op);
            else
                write_op(to, next_op, walk.lane, *op);
        }
        if (from->num_empties)
            memcpy(to->empties, from->empties, from->num_empties * sizeof(*to->empties));
        place_empties(frames, to);
    }
    braid_program_walk_end(&walk);
    braid_program_walk_end(&names);
    free(next_op);
    free(num_of_lane);
    return done;
}

// The new program takes over what did not change.
static bool rewrite(struct frame_waits *frames)
{
    struct program *program = frames->program;
    struct program to = { .tasks = program->tasks,
                          .num_lanes = program->num_lanes,
                          .num_positions = program->num_positions,
                          .num_empties = program->num_empties,
                          .num_islands = program->num_islands };
    bool done = write_program(frames, &to);
    if (done) {
        to.positions = program->positions;
        program->positions = NULL;
        struct program old = *program;
        *program = to;
        to = old;
    }
    braid_program_finish(&to);
    return done;
}

braid_status braid_program_order_frames(struct program *program,
                                        const struct program_frame_link *links, size_t num_links)
{
    struct frame_waits frames = { .program = program, .links = links, .num_links = num_links };
    bool done = braid_frame_waits_find(&frames) && rewrite(&frames);
    braid_frame_waits_finish(&frames);
    return done ? BRAID_OK : braid_error_no_memory("the order of frames");
}

size_t braid_program_num_frame_waits(const struct program *program)
{
    size_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        num += program->ops[i].kind == PROGRAM_AWAIT_FRAME;
    return num;
}
