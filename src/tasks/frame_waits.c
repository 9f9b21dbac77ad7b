// SPDX-License-Identifier: Apache-2.0
// From pairs of tasks to waits, by walks with a clock for each lane. The first walk finds how much
// a lane of an earlier frame knows of its own frame. For each distance of two frames a further walk
// finds how much a lane of this frame knows of the earlier one.
#include "tasks/frame_waits.h"

#include <string.h>

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

void braid_frame_waits_finish(struct frame_waits *frames)
{
    braid_store_finish(&frames->store);
}

bool braid_frame_waits_find(struct frame_waits *frames)
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
