// SPDX-License-Identifier: Apache-2.0
// Writes a plan's program anew with frame positions and the waits for them among its operations.
#include "tasks/program_frames.h"

#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"

#define FRAME_NONE UINT32_MAX

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

// ---- waits ----

// From pairs of tasks to waits, by walks with a clock for each lane. The first walk finds how much
// a lane of an earlier frame knows of its own frame. For each distance of two frames a further walk
// finds how much a lane of this frame knows of the earlier one.

static uint32_t *clock_of(uint32_t *clocks, size_t index, const struct frame_waits *frames)
{
    return clocks + index * frames->program->num_lanes;
}

static void merge(uint32_t *clock, const uint32_t *other, const struct frame_waits *frames)
{
    for (uint32_t i = 0; i < frames->program->num_lanes; i++)
        clock[i] = other[i] > clock[i] ? other[i] : clock[i];
}

static void copy(uint32_t *to, const uint32_t *from, const struct frame_waits *frames)
{
    memcpy(to, from, frames->program->num_lanes * sizeof(*to));
}

// By `to`, in any order among themselves.
static void sort_links(struct frame_waits *frames)
{
    uint32_t num_tasks = frames->program->tasks->num;
    for (size_t i = 0; i < frames->num_links; i++)
        frames->first_link[frames->links[i].to + 1]++;
    for (uint32_t i = 0; i < num_tasks; i++)
        frames->first_link[i + 1] += frames->first_link[i];
    for (size_t i = frames->num_links; i-- > 0;)
        frames->sorted[--frames->first_link[frames->links[i].to + 1]] = frames->links[i];
    // Each entry now is where the links of the task before begin: back by one.
    for (uint32_t i = 0; i < num_tasks; i++)
        frames->first_link[i] = frames->first_link[i + 1];
    frames->first_link[num_tasks] = frames->num_links;
}

static void name_sources(struct frame_waits *frames)
{
    for (uint32_t i = 0; i < frames->program->tasks->num; i++)
        frames->source_of[i] = FRAME_NONE;
    for (size_t i = 0; i < frames->num_links; i++) {
        uint32_t task = frames->links[i].from;
        if (frames->source_of[task] != FRAME_NONE)
            continue;
        frames->source_of[task] = frames->num_sources;
        frames->sources[frames->num_sources++] =
            (struct source){ .task = task, .position = FRAME_NONE };
    }
}

// The effect of a record or a wait on clocks. It is the same in both walks; that of tasks is not.
static void walk_sync(struct frame_waits *frames, const braid_step *op, uint32_t *clock)
{
    uint32_t *position = clock_of(frames->positions, op->position, frames);
    if (op->kind == BRAID_STEP_RECORD)
        copy(position, clock, frames);
    else
        merge(clock, position, frames);
}

static void walk_frame_before(struct frame_waits *frames)
{
    for (size_t i = 0; i < frames->program->num_ops; i++) {
        const braid_step *op = &frames->program->ops[i];
        uint32_t *clock = clock_of(frames->lanes, op->lane, frames);
        if (op->kind != BRAID_STEP_RUN) {
            walk_sync(frames, op, clock);
            continue;
        }
        clock[op->lane]++;
        uint32_t index = frames->source_of[op->node];
        if (index == FRAME_NONE)
            continue;
        struct source *source = &frames->sources[index];
        source->lane = op->lane;
        source->count = clock[op->lane];
        source->place = i;
        copy(clock_of(frames->known, index, frames), clock, frames);
    }
}

// The latest of a task's sources that the lane does not know to have ended; FRAME_NONE: it knows of
// all.
static uint32_t find_unknown(const struct frame_waits *frames, uint32_t task, const uint32_t *clock)
{
    uint32_t latest = FRAME_NONE;
    for (size_t i = frames->first_link[task]; i < frames->first_link[task + 1]; i++) {
        if (frames->sorted[i].frames_before != frames->distance)
            continue;
        uint32_t index = frames->source_of[frames->sorted[i].from];
        const struct source *source = &frames->sources[index];
        if (clock[source->lane] >= source->count)
            continue;
        if (latest == FRAME_NONE || source->place > frames->sources[latest].place)
            latest = index;
    }
    return latest;
}

static void walk_this_frame(struct frame_waits *frames)
{
    for (size_t i = 0; i < frames->program->num_ops; i++) {
        const braid_step *op = &frames->program->ops[i];
        uint32_t *clock = clock_of(frames->lanes, op->lane, frames), unknown;
        if (op->kind != BRAID_STEP_RUN) {
            walk_sync(frames, op, clock);
            continue;
        }
        while ((unknown = find_unknown(frames, op->node, clock)) != FRAME_NONE) {
            merge(clock, clock_of(frames->known, unknown, frames), frames);
            frames->sources[unknown].position = 0; // numbered later
            frames->awaited[frames->num_awaited++] =
                (struct awaited){ op->node, unknown, frames->distance, FRAME_NONE };
        }
    }
}

static void walk_with(struct frame_waits *frames, void (*walk_frame)(struct frame_waits *frames))
{
    size_t num_lanes = frames->program->num_lanes;
    memset(frames->lanes, 0, num_lanes * num_lanes * sizeof(uint32_t));
    walk_frame(frames);
}

static void walk_all(struct frame_waits *frames)
{
    walk_with(frames, walk_frame_before);
    for (frames->distance = 1; frames->distance <= frames->most_distance; frames->distance++)
        walk_with(frames, walk_this_frame);
}

static void sort_by_task(struct frame_waits *frames)
{
    const struct program *program = frames->program;
    for (uint32_t i = 0; i < program->tasks->num; i++)
        frames->first_awaited[i] = frames->island_of[i] = FRAME_NONE;
    for (size_t i = frames->num_awaited; i-- > 0;) {
        struct awaited *awaited = &frames->awaited[i];
        awaited->next = frames->first_awaited[awaited->task];
        frames->first_awaited[awaited->task] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < program->num_islands; i++) {
        const struct program_island *island = &program->islands[i];
        for (uint32_t k = 0; k < island->num_calls; k++)
            frames->island_of[island->calls[k]] = i;
    }
}

static bool allocate(struct frame_waits *frames)
{
    const struct program *program = frames->program;
    size_t num_tasks = program->tasks->num, num_lanes = program->num_lanes;
    size_t most_sources = frames->num_links < num_tasks ? frames->num_links : num_tasks;
    frames->sorted = braid_store_take(&frames->store, frames->num_links, sizeof(*frames->sorted));
    frames->first_link =
        braid_store_take(&frames->store, num_tasks + 1, sizeof(*frames->first_link));
    frames->source_of = braid_store_take(&frames->store, num_tasks, sizeof(uint32_t));
    frames->sources = braid_store_take(&frames->store, most_sources, sizeof(*frames->sources));
    frames->known = braid_store_take(&frames->store, most_sources, num_lanes * sizeof(uint32_t));
    frames->lanes = braid_store_take(&frames->store, num_lanes, num_lanes * sizeof(uint32_t));
    frames->positions =
        braid_store_take(&frames->store, program->num_positions, num_lanes * sizeof(uint32_t));
    frames->awaited = braid_store_take(&frames->store, frames->num_links, sizeof(*frames->awaited));
    frames->first_awaited = braid_store_take(&frames->store, num_tasks, sizeof(uint32_t));
    frames->island_of = braid_store_take(&frames->store, num_tasks, sizeof(uint32_t));
    return !frames->store.failed;
}

// Finds the waits; `program`, `links` and their number are given. Returns false if memory ran out.
// In both cases frame_waits_finish frees the rest of the struct.
static bool frame_waits_find(struct frame_waits *frames)
{
    for (size_t i = 0; i < frames->num_links; i++) {
        if (frames->links[i].frames_before > frames->most_distance)
            frames->most_distance = frames->links[i].frames_before;
    }
    if (!allocate(frames))
        return false;
    sort_links(frames);
    name_sources(frames);
    walk_all(frames);
    sort_by_task(frames);
    return true;
}

// ---- the program ----

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
    braid_free(num_of_lane);
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
    bool done = frame_waits_find(&frames) && rewrite(&frames);
    braid_store_finish(&frames.store);
    return done ? BRAID_OK : braid_error_no_memory("the order of frames");
}
