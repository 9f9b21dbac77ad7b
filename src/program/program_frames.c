// SPDX-License-Identifier: Apache-2.0
// From pairs of tasks to frame positions and waits for them, by walks with a clock for each lane:
// what a lane of an earlier frame knows of its own frame, then, for each distance of two frames,
// what a lane of this frame knows of that one.
#include "program/program_frames.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define NONE UINT32_MAX

// A task that others wait for.
struct source {
    uint32_t task;
    uint32_t lane;
    uint32_t count;    // tasks of its lane that have ended when it has
    uint64_t place;    // in issue order
    uint32_t position; // NONE: nobody needs to wait
};

// A wait of a task, for a source of an earlier frame.
struct awaited {
    uint32_t task, source, distance;
};

struct frames {
    struct program *program;
    const struct program_frame_link *links; // by `to`
    struct program_frame_link *sorted;
    size_t num_links;
    size_t *first_link;  // of each task, and one more
    uint32_t *source_of; // a task; NONE
    struct source *sources;
    uint32_t num_sources;
    uint32_t *known;     // of each source, what its lane knows when it has ended: a count a lane
    uint32_t *lanes;     // a clock a lane
    uint32_t *positions; // and for each position
    struct awaited *awaited; // of each link kept, by distance and then in issue order of `to`
    size_t num_awaited;
    uint32_t *num_awaits; // of each task
    size_t *next_awaited; // of each distance, while operations are written
    uint32_t distance;    // of the frames at hand
    uint32_t most_distance;
};

static uint32_t *clock_of(uint32_t *clocks, size_t index, const struct frames *frames)
{
    return clocks + index * frames->program->num_lanes;
}

static void merge(uint32_t *clock, const uint32_t *other, const struct frames *frames)
{
    for (uint32_t i = 0; i < frames->program->num_lanes; i++)
        clock[i] = other[i] > clock[i] ? other[i] : clock[i];
}

static void copy(uint32_t *to, const uint32_t *from, const struct frames *frames)
{
    memcpy(to, from, frames->program->num_lanes * sizeof(*to));
}

// By `to`, in any order among themselves.
static void sort_links(struct frames *frames)
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

static void name_sources(struct frames *frames)
{
    for (uint32_t i = 0; i < frames->program->tasks->num; i++)
        frames->source_of[i] = NONE;
    for (size_t i = 0; i < frames->num_links; i++) {
        uint32_t task = frames->links[i].from;
        if (frames->source_of[task] != NONE)
            continue;
        frames->source_of[task] = frames->num_sources;
        frames->sources[frames->num_sources++] = (struct source){ .task = task, .position = NONE };
    }
}

// What a lane does to clocks; the same in both walks but for tasks.
static void walk_sync(struct frames *frames, const struct program_op *op, uint32_t *clock)
{
    uint32_t *position = clock_of(frames->positions, op->index, frames);
    if (op->kind == PROGRAM_PUBLISH)
        copy(position, clock, frames);
    else
        merge(clock, position, frames);
}

static void walk_frame_before(struct frames *frames, struct program_walk *walk)
{
    const struct program_op *op;
    while ((op = program_walk_next(frames->program, walk))) {
        uint32_t *clock = clock_of(frames->lanes, walk->lane, frames);
        if (op->kind != PROGRAM_RUN) {
            walk_sync(frames, op, clock);
            continue;
        }
        clock[walk->lane]++;
        uint32_t index = frames->source_of[op->index];
        if (index == NONE)
            continue;
        struct source *source = &frames->sources[index];
        source->lane = walk->lane;
        source->count = clock[walk->lane];
        source->place = walk->num_done;
        copy(clock_of(frames->known, index, frames), clock, frames);
    }
}

// The latest of a task's sources that the lane does not know to have ended; NONE: it knows of all.
static uint32_t find_unknown(const struct frames *frames, uint32_t task, const uint32_t *clock)
{
    uint32_t latest = NONE;
    for (size_t i = frames->first_link[task]; i < frames->first_link[task + 1]; i++) {
        if (frames->sorted[i].frames_before != frames->distance)
            continue;
        uint32_t index = frames->source_of[frames->sorted[i].from];
        const struct source *source = &frames->sources[index];
        if (clock[source->lane] >= source->count)
            continue;
        if (latest == NONE || source->place > frames->sources[latest].place)
            latest = index;
    }
    return latest;
}

static void walk_this_frame(struct frames *frames, struct program_walk *walk)
{
    const struct program_op *op;
    while ((op = program_walk_next(frames->program, walk))) {
        uint32_t *clock = clock_of(frames->lanes, walk->lane, frames), unknown;
        if (op->kind != PROGRAM_RUN) {
            walk_sync(frames, op, clock);
            continue;
        }
        while ((unknown = find_unknown(frames, op->index, clock)) != NONE) {
            merge(clock, clock_of(frames->known, unknown, frames), frames);
            frames->sources[unknown].position = 0; // numbered later
            frames->awaited[frames->num_awaited++] =
                (struct awaited){ op->index, unknown, frames->distance };
            frames->num_awaits[op->index]++;
        }
    }
}

static bool walk_with(struct frames *frames,
                      void (*walk_frame)(struct frames *frames, struct program_walk *walk))
{
    size_t num_lanes = frames->program->num_lanes;
    struct program_walk walk;
    memset(frames->lanes, 0, num_lanes * num_lanes * sizeof(uint32_t));
    bool begun = braid_program_walk_begin(frames->program, &walk);
    if (begun)
        walk_frame(frames, &walk);
    braid_program_walk_end(&walk);
    return begun;
}

static bool walk_all(struct frames *frames)
{
    bool done = walk_with(frames, walk_frame_before);
    for (frames->distance = 1; done && frames->distance <= frames->most_distance;
         frames->distance++) {
        frames->next_awaited[frames->distance] = frames->num_awaited;
        done = walk_with(frames, walk_this_frame);
    }
    return done;
}

// A lane's operations with the new ones among them, and the issue order likewise.
static void write_op(struct program *to, size_t *next_op, uint32_t lane, struct program_op op)
{
    to->ops[next_op[lane]++] = op;
    to->order[to->num_ops++] = lane;
}

// Tasks are written in the order in which they were walked, so those of each distance come in turn.
static void write_awaits(struct frames *frames, struct program *to, size_t *next_op, uint32_t lane,
                         uint32_t task)
{
    uint32_t left = frames->num_awaits[task];
    for (uint32_t d = 1; left && d <= frames->most_distance; d++) {
        size_t *next = &frames->next_awaited[d];
        for (; left && *next < frames->num_awaited; (*next)++, left--) {
            const struct awaited *awaited = &frames->awaited[*next];
            if (awaited->task != task || awaited->distance != d)
                break;
            const struct source *source = &frames->sources[awaited->source];
            write_op(to, next_op, lane,
                     (struct program_op){ PROGRAM_AWAIT_FRAME, (uint16_t)d, source->position });
        }
    }
}

static void write_task(struct frames *frames, struct program *to, size_t *next_op, uint32_t lane,
                       struct program_op op)
{
    write_awaits(frames, to, next_op, lane, op.index);
    write_op(to, next_op, lane, op);
    uint32_t index = frames->source_of[op.index];
    if (index != NONE && frames->sources[index].position != NONE)
        write_op(to, next_op, lane,
                 (struct program_op){ PROGRAM_PUBLISH_FRAME, 0, frames->sources[index].position });
}

// In issue order, so that those of a lane rise.
static void number_positions(struct frames *frames, struct program_walk *walk, struct program *to,
                             uint32_t *num_of_lane)
{
    const struct program_op *op;
    while ((op = program_walk_next(frames->program, walk))) {
        uint32_t index = op->kind == PROGRAM_RUN ? frames->source_of[op->index] : NONE;
        if (index == NONE || frames->sources[index].position == NONE)
            continue;
        frames->sources[index].position = to->num_frame_positions;
        to->frame_positions[to->num_frame_positions++] = (struct program_position){
            .lane = walk->lane, .number = ++num_of_lane[walk->lane], .task = op->index
        };
    }
}

static size_t count_new(const struct frames *frames)
{
    size_t num = frames->num_awaited;
    for (uint32_t i = 0; i < frames->num_sources; i++)
        num += frames->sources[i].position != NONE;
    return num;
}

// Where the lanes begin, and how many operations each has.
static void place_lanes(const struct frames *frames, struct program *to, size_t *next_op)
{
    const struct program *from = frames->program;
    size_t first = 0;
    for (uint32_t i = 0; i < from->num_lanes; i++) {
        struct program_lane *lane = &to->lanes[i];
        *lane = from->lanes[i];
        for (size_t k = 0; k < from->lanes[i].num_ops; k++) {
            const struct program_op *op = &from->ops[from->lanes[i].first_op + k];
            uint32_t index = op->kind == PROGRAM_RUN ? frames->source_of[op->index] : NONE;
            lane->num_ops += op->kind == PROGRAM_RUN ? frames->num_awaits[op->index] : 0;
            lane->num_ops += index != NONE && frames->sources[index].position != NONE;
        }
        lane->first_op = next_op[i] = first;
        first += lane->num_ops;
    }
}

// An empty task stands before an operation of its lane: the same one, and what was put before it.
static void place_empties(const struct frames *frames, const struct program *to)
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

static bool write_program(struct frames *frames, struct program *to)
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
    to->frame_positions = braid_allocate_zeroed(frames->num_sources, sizeof(*to->frame_positions));
    // Both begin, whatever becomes of the first: both are ended below.
    bool walks = braid_program_walk_begin(from, &walk);
    bool also_walks = braid_program_walk_begin(from, &names);
    bool done = walks && also_walks && next_op && num_of_lane && to->lanes && to->ops &&
                to->order && to->empties && to->frame_positions;
    if (done) {
        const struct program_op *op;
        number_positions(frames, &names, to, num_of_lane);
        place_lanes(frames, to, next_op);
        while ((op = program_walk_next(from, &walk))) {
            if (op->kind == PROGRAM_RUN)
                write_task(frames, to, next_op, walk.lane, *op);
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
static bool rewrite(struct frames *frames)
{
    struct program *program = frames->program;
    struct program to = { .tasks = program->tasks,
                          .num_lanes = program->num_lanes,
                          .num_positions = program->num_positions,
                          .num_empties = program->num_empties };
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

static bool allocate(struct frames *frames)
{
    const struct program *program = frames->program;
    size_t num_tasks = program->tasks->num, num_lanes = program->num_lanes;
    size_t most_sources = frames->num_links < num_tasks ? frames->num_links : num_tasks;
    frames->sorted = braid_allocate_zeroed(frames->num_links, sizeof(*frames->sorted));
    frames->first_link = braid_allocate_zeroed(num_tasks + 1, sizeof(*frames->first_link));
    frames->source_of = braid_allocate_zeroed(num_tasks, sizeof(uint32_t));
    frames->sources = braid_allocate_zeroed(most_sources, sizeof(*frames->sources));
    frames->known = braid_allocate_zeroed(most_sources, num_lanes * sizeof(uint32_t));
    frames->lanes = braid_allocate_zeroed(num_lanes, num_lanes * sizeof(uint32_t));
    frames->positions = braid_allocate_zeroed(program->num_positions, num_lanes * sizeof(uint32_t));
    frames->awaited = braid_allocate_zeroed(frames->num_links, sizeof(*frames->awaited));
    frames->next_awaited = braid_allocate_zeroed(frames->most_distance + 1, sizeof(size_t));
    frames->num_awaits = braid_allocate_zeroed(num_tasks, sizeof(uint32_t));
    return frames->sorted && frames->first_link && frames->source_of && frames->sources &&
           frames->known && frames->lanes && frames->positions && frames->awaited &&
           frames->next_awaited && frames->num_awaits;
}

static void release(struct frames *frames)
{
    free(frames->sorted);
    free(frames->first_link);
    free(frames->source_of);
    free(frames->sources);
    free(frames->known);
    free(frames->lanes);
    free(frames->positions);
    free(frames->awaited);
    free(frames->next_awaited);
    free(frames->num_awaits);
}

braid_status braid_program_order_frames(struct program *program,
                                        const struct program_frame_link *links, size_t num_links)
{
    struct frames frames = { .program = program, .links = links, .num_links = num_links };
    for (size_t i = 0; i < num_links; i++) {
        if (links[i].frames_before > frames.most_distance)
            frames.most_distance = links[i].frames_before;
    }
    bool done = allocate(&frames);
    if (done) {
        sort_links(&frames);
        name_sources(&frames);
        done = walk_all(&frames) && rewrite(&frames);
    }
    release(&frames);
    return done ? BRAID_OK : braid_error_no_memory("the order of frames");
}

size_t braid_program_num_frame_waits(const struct program *program)
{
    size_t num = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        num += program->ops[i].kind == PROGRAM_AWAIT_FRAME;
    return num;
}
