// SPDX-License-Identifier: Apache-2.0
// Writes a plan's program anew with frame positions and the waits for them among its operations.
#include "tasks/program_frames.h"

#include "base/array.h"
#include "base/error.h"

static bool is_awaited(const struct frame_waits *frames, uint32_t node)
{
    uint32_t index = frames->source_of[node];
    return index != FRAME_NONE && frames->sources[index].position != FRAME_NONE;
}

static void write_awaits(const struct frame_waits *frames, struct program *to, uint32_t lane,
                         uint32_t node)
{
    for (uint32_t i = frames->first_awaited[node]; i != FRAME_NONE; i = frames->awaited[i].next) {
        const struct awaited *awaited = &frames->awaited[i];
        const struct source *source = &frames->sources[awaited->source];
        to->ops[to->num_ops++] =
            (braid_step){ PROGRAM_AWAIT_FRAME, lane, source->task, to->num_frame_waits };
        to->frame_waits[to->num_frame_waits++] =
            (struct program_frame_wait){ source->position, awaited->distance };
    }
}

// An island stays one stretch: all waits of its calls stand before it, and all their records behind
// it. These waits are sooner, and these records later, than necessary. A frame waits only for
// earlier frames, so this closes no cycle.
static void write_run(const struct frame_waits *frames, struct program *to, const braid_step *op)
{
    uint32_t island = frames->island_of[op->node];
    const uint32_t *calls = &op->node;
    uint32_t num = 1;
    if (island != FRAME_NONE) {
        calls = frames->program->islands[island].calls;
        num = frames->program->islands[island].num_calls;
    }
    for (uint32_t i = 0; i < num && op->node == calls[0]; i++)
        write_awaits(frames, to, op->lane, calls[i]);
    to->ops[to->num_ops++] = *op;
    for (uint32_t i = 0; i < num && op->node == calls[num - 1]; i++) {
        if (is_awaited(frames, calls[i]))
            to->ops[to->num_ops++] =
                (braid_step){ PROGRAM_RECORD_FRAME, op->lane, calls[i],
                              frames->sources[frames->source_of[calls[i]]].position };
    }
}

// In issue order, so that those of a lane rise.
static void number_positions(struct frame_waits *frames, struct program *to, uint32_t *num_of_lane)
{
    const struct program *from = frames->program;
    for (size_t i = 0; i < from->num_ops; i++) {
        const braid_step *op = &from->ops[i];
        if (op->kind != BRAID_STEP_RUN || !is_awaited(frames, op->node))
            continue;
        frames->sources[frames->source_of[op->node]].position = to->num_frame_positions;
        to->frame_positions[to->num_frame_positions++] =
            (struct program_position){ op->lane, ++num_of_lane[op->lane], op->node };
    }
}

// Frames fork and join as they did: awaited tasks of other frames are no part of the frame.
static bool list_lanes(const struct program *from, struct program *to)
{
    if (!braid_program_list_lanes(to))
        return false;
    for (uint32_t i = 0; i < to->num_lanes; i++) {
        to->lanes[i].needs_fork = from->lanes[i].needs_fork;
        to->lanes[i].needs_join = from->lanes[i].needs_join;
    }
    uint32_t island = 0;
    for (size_t i = 0; i < to->num_ops && island < to->num_islands; i++) {
        const braid_step *op = &to->ops[to->lane_ops[i]];
        uint32_t first = from->ops[from->lane_ops[from->islands[island].first_op]].node;
        if (op->kind == BRAID_STEP_RUN && op->node == first)
            to->islands[island++].first_op = i;
    }
    return true;
}

static bool write_program(struct frame_waits *frames, struct program *to)
{
    const struct program *from = frames->program;
    size_t num_ops = from->num_ops + frames->num_awaited + frames->num_sources;
    uint32_t *num_of_lane = braid_allocate_zeroed(from->num_lanes, sizeof(*num_of_lane));
    to->ops = braid_allocate_zeroed(num_ops, sizeof(*to->ops));
    to->lanes = braid_allocate_zeroed(from->num_lanes, sizeof(*to->lanes));
    to->islands = braid_allocate_zeroed(from->num_islands, sizeof(*to->islands));
    to->frame_positions = braid_allocate_zeroed(frames->num_sources, sizeof(*to->frame_positions));
    to->frame_waits = braid_allocate_zeroed(frames->num_awaited, sizeof(*to->frame_waits));
    bool done = num_of_lane && to->ops && to->lanes && to->islands && to->frame_positions &&
                to->frame_waits;
    if (done) {
        number_positions(frames, to, num_of_lane);
        for (uint32_t i = 0; i < to->num_lanes; i++)
            to->lanes[i].place = from->lanes[i].place;
        for (uint32_t i = 0; i < to->num_islands; i++)
            to->islands[i] = from->islands[i];
        for (size_t i = 0; i < from->num_ops; i++) {
            if (from->ops[i].kind == BRAID_STEP_RUN)
                write_run(frames, to, &from->ops[i]);
            else
                to->ops[to->num_ops++] = from->ops[i];
        }
    }
    free(num_of_lane);
    return done && list_lanes(from, to);
}

// The new program takes over the members that did not change.
static bool rewrite(struct frame_waits *frames)
{
    struct program *program = frames->program, to = *program;
    to.ops = NULL;
    to.lanes = NULL;
    to.lane_ops = NULL;
    to.num_ops = 0;
    to.owns_ops = true;
    bool done = write_program(frames, &to);
    if (done) {
        struct program old = *program;
        *program = to;
        to = old;
    }
    to.island_calls = NULL; // the plan's program has them, whichever it is
    to.bodies = NULL;
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
