// SPDX-License-Identifier: Apache-2.0
// The lists of an island: checking them, and writing the words that its kernel reads.
#include "islands/gpu_island_lists.h"

#include <string.h>

#include "base/error.h"
#include "base/host_memory.h"
#include "islands/gpu_island_move.h"

enum {
    UNIT_WORDS = 4, // 16 bytes
    // Entry, threads, blocks, whether the grid varies, grid, block, two words that nobody reads.
    SHAPE_UNITS = 3,
    MOST_SHAPES = 1 << 16,
    MOST_WAITS = 1 << 15, // one call's
    WAIT_LANE_SHIFT = 20,
    NO_ENTRY = 1 << 16, // more than there are
};

int32_t braid_island_lists_priority(const struct island_lists *lists)
{
    bool found = false;
    int32_t most = 0;
    for (uint32_t i = 0; i < lists->num_calls; i++) {
        const struct backend_task *task = lists->calls[i].task;
        if (!task || task->kind != WORK_KERNEL || (found && task->launch.priority >= most))
            continue;
        most = task->launch.priority;
        found = true;
    }
    return most;
}

void braid_island_lists_finish(struct island_lists *lists)
{
    braid_free(lists->calls);
    braid_free(lists->lane_first);
    braid_free(lists->waits);
    braid_free(lists->steps);
    braid_free(lists->step_ends);
    *lists = (struct island_lists){ 0 };
}

uint32_t braid_island_count_steps(const struct island_lists *lists)
{
    return lists->num_scopes ? lists->num_steps : 1;
}

struct island_range braid_island_range(const struct island_lists *lists, uint32_t step,
                                       uint32_t lane)
{
    const size_t at = (size_t)step * lists->num_lanes + lane;
    if (!lists->num_scopes)
        return (struct island_range){ lists->lane_first[lane], lists->lane_first[lane + 1] };
    return (struct island_range){
        step ? lists->step_ends[at - lists->num_lanes] : lists->lane_first[lane],
        lists->step_ends[at],
    };
}

static bool may_run(const struct island_lists *lists, const struct island_call *call,
                    const uint32_t *published)
{
    for (uint32_t i = 0; i < call->num_waits; i++) {
        const struct island_wait *wait = &lists->waits[call->first_wait + i];
        if (published[wait->lane] < wait->number)
            return false;
    }
    return true;
}

// Runs lanes as far as they go, over and over, until none goes on.
static bool run_to_end(const struct island_lists *lists, uint32_t step, uint32_t *next,
                       uint32_t *published)
{
    bool moved = true;
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        next[lane] = braid_island_range(lists, step, lane).first;
        published[lane] = 0;
    }
    while (moved) {
        moved = false;
        for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
            uint32_t end = braid_island_range(lists, step, lane).end;
            while (next[lane] < end && may_run(lists, &lists->calls[next[lane]], published)) {
                published[lane] += lists->calls[next[lane]].publishes;
                next[lane]++;
                moved = true;
            }
        }
    }
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        if (next[lane] != braid_island_range(lists, step, lane).end)
            return false;
    }
    return true;
}

braid_status braid_island_lists_check(const struct island_lists *lists)
{
    uint32_t *next = braid_allocate(((size_t)lists->num_lanes + 1) * sizeof(*next));
    uint32_t *published = braid_allocate_zeroed((size_t)lists->num_lanes + 1, sizeof(*published));
    braid_status status = BRAID_OK;
    if (!next || !published) {
        status = braid_error_no_memory("the check of an island");
    } else {
        for (uint32_t i = 0; i < lists->num_waits && !status; i++) {
            if (lists->waits[i].lane >= lists->num_lanes)
                status = braid_error(BRAID_INTERNAL, "an island waits for a lane that it has not");
        }
        for (uint32_t i = 0; i < braid_island_count_steps(lists) && !status; i++)
            if (!run_to_end(lists, i, next, published))
                status = braid_error(BRAID_INTERNAL, "the lanes of an island wait for each other");
    }
    braid_free(next);
    braid_free(published);
    return status;
}

uint32_t braid_island_arg_bytes(const struct backend_launch *launch)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < launch->num_args; i++)
        at = island_arg_offset(at, launch->arg_bytes[i]) + launch->arg_bytes[i];
    return at;
}

void braid_island_put_args(const struct backend_launch *launch, unsigned char *to)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < launch->num_args; i++) {
        at = island_arg_offset(at, launch->arg_bytes[i]);
        memcpy(to + at, launch->args[i], launch->arg_bytes[i]);
        at += launch->arg_bytes[i];
    }
}

void braid_island_put_grid(const struct island_call *call, const struct backend_task *task,
                           unsigned char *to)
{
    uint32_t words[ISLAND_GRID_BYTES / 4] = { 0 };
    if (task && !task->disabled) {
        const braid_dim3 grid = task->kind == WORK_KERNEL ? task->launch.grid : call->grid;
        words[0] = grid.x;
        words[1] = grid.y;
        words[2] = grid.z;
    }
    memcpy(to, words, sizeof(words));
}

// A block's words while they are written.
struct writer {
    uint32_t *words;
    size_t num, room; // in words
    bool failed;
};

static size_t put(struct writer *writer, const uint32_t *words, size_t num)
{
    if (num == 0)
        return writer->num;
    if (writer->num + num > writer->room) {
        size_t room = 2 * (writer->num + num) + 256;
        uint32_t *grown = braid_reallocate(writer->words, room * sizeof(*grown));
        if (!grown) {
            writer->failed = true;
            return 0;
        }
        writer->words = grown;
        writer->room = room;
    }
    size_t at = writer->num;
    memcpy(writer->words + at, words, num * sizeof(*words));
    writer->num += num;
    return at;
}

static void put_to_unit(struct writer *writer)
{
    static const uint32_t zeros[UNIT_WORDS];
    put(writer, zeros, (UNIT_WORDS - writer->num % UNIT_WORDS) % UNIT_WORDS);
}

struct shape {
    uint32_t words[SHAPE_UNITS * UNIT_WORDS];
};

struct shapes {
    struct shape *items;
    uint32_t num;
};

// No thread takes part.
static struct shape shape_of_nothing(uint32_t entry, bool grids_vary)
{
    return (struct shape){ { entry, 0, 1, grids_vary, 1, 1, 1, 1, 1, 1 } };
}

static struct shape shape_of(const struct island_call *call, uint32_t entry,
                             const struct island_layout *layout)
{
    if (!call->task)
        return shape_of_nothing(0, layout->grids_vary);
    struct island_move move;
    const struct backend_launch *launch =
        braid_island_launch_of(call->task, layout->group_threads, &move);
    return (struct shape){ {
        entry,
        launch->block.x * launch->block.y * launch->block.z,
        launch->grid.x * launch->grid.y * launch->grid.z,
        layout->grids_vary,
        launch->grid.x,
        launch->grid.y,
        launch->grid.z,
        launch->block.x,
        launch->block.y,
        launch->block.z,
    } };
}

// The last ones first: neighbours on a lane are often alike.
static uint32_t find_shape(struct shapes *shapes, const struct shape *shape)
{
    for (uint32_t i = shapes->num; i-- > 0;) {
        if (memcmp(&shapes->items[i], shape, sizeof(*shape)) == 0)
            return i;
    }
    struct shape *items =
        braid_reallocate(shapes->items, ((size_t)shapes->num + 1) * sizeof(*items));
    if (!items)
        return UINT32_MAX;
    shapes->items = items;
    items[shapes->num] = *shape;
    return shapes->num++;
}

// Lanes of one block, as places in lists->calls.
struct block_of {
    uint32_t first_lane, end_lane;
};

static uint32_t encode_wait(const struct island_wait *wait)
{
    return wait->lane << WAIT_LANE_SHIFT | wait->number;
}

static void put_call(const struct island_lists *lists, const struct island_call *call,
                     uint32_t shape, uint32_t args, struct writer *calls, struct writer *waits)
{
    uint32_t words[UNIT_WORDS] = {
        shape | call->num_waits << 16 | (call->publishes ? UINT32_C(1) << 31 : 0), args
    };
    if (call->num_waits > 2)
        words[2] = (uint32_t)waits->num;
    for (uint32_t i = 0; i < call->num_waits; i++) {
        uint32_t wait = encode_wait(&lists->waits[call->first_wait + i]);
        if (call->num_waits <= 2)
            words[2 + i] = wait;
        else
            put(waits, &wait, 1);
    }
    put(calls, words, UNIT_WORDS);
}

// All parts of one block, before they are joined.
struct block_parts {
    struct shapes shapes;
    struct writer calls, waits;
};

static braid_status put_lane(const struct island_lists *lists, uint32_t lane,
                             const uint32_t *entry_of, const uint32_t *args_of,
                             const struct island_layout *layout, struct block_parts *parts)
{
    for (uint32_t i = lists->lane_first[lane]; i < lists->lane_first[lane + 1]; i++) {
        struct shape wanted = shape_of(&lists->calls[i], entry_of[i], layout);
        uint32_t shape = find_shape(&parts->shapes, &wanted);
        if (shape == UINT32_MAX)
            return braid_error_no_memory("an island");
        if (shape >= MOST_SHAPES || lists->calls[i].num_waits >= MOST_WAITS)
            return braid_error(BRAID_UNSUPPORTED,
                               "an island has at most %d launch shapes and %d "
                               "waits of one node",
                               MOST_SHAPES, MOST_WAITS);
        put_call(lists, &lists->calls[i], shape, args_of[i], &parts->calls, &parts->waits);
    }
    return BRAID_OK;
}

static uint32_t units_of(size_t num_words)
{
    return (uint32_t)((num_words + UNIT_WORDS - 1) / UNIT_WORDS);
}

// The walker begins at the first step, and goes from one to another by their numbers. Lanes beyond
// the last have nothing to do.
static void put_step(const struct island_lists *lists, const struct block_of *block,
                     uint32_t num_lanes, uint32_t step, uint32_t calls_at, struct writer *all)
{
    const uint32_t first = lists->lane_first[block->first_lane];
    if (lists->num_scopes) {
        const struct island_step *from = &lists->steps[step];
        const uint32_t words[UNIT_WORDS] = { from->test | from->scope << 2, from->then,
                                             from->otherwise, num_lanes };
        put(all, words, UNIT_WORDS);
    }
    for (uint32_t i = 0; i < num_lanes; i++) {
        const uint32_t end = lists->lane_first[block->end_lane];
        struct island_range range = { end, end };
        if (block->first_lane + i < block->end_lane)
            range = braid_island_range(lists, step, block->first_lane + i);
        const uint32_t words[2] = { calls_at + range.first - first, calls_at + range.end - first };
        put(all, words, 2);
    }
    put_to_unit(all);
}

// First shapes, then the steps with the places of each lane's calls. Behind them are the calls, two
// more that are read ahead, and the waits of calls with many.
static uint32_t join_parts(const struct island_lists *lists, const struct block_of *block,
                           uint32_t num_lanes, const struct block_parts *parts, struct writer *all,
                           uint32_t head[UNIT_WORDS])
{
    static const uint32_t zeros[2 * UNIT_WORDS];
    size_t start = all->num;
    put(all, (const uint32_t *)parts->shapes.items,
        (size_t)parts->shapes.num * SHAPE_UNITS * UNIT_WORDS);
    uint32_t lanes_at = (uint32_t)(all->num - start) / UNIT_WORDS;
    const uint32_t num_steps = braid_island_count_steps(lists);
    uint32_t calls_at =
        lanes_at + num_steps * ((lists->num_scopes > 0) + units_of((size_t)2 * num_lanes));
    for (uint32_t i = 0; i < num_steps; i++)
        put_step(lists, block, num_lanes, i, calls_at, all);
    put(all, parts->calls.words, parts->calls.num);
    put(all, zeros, 2 * UNIT_WORDS);
    uint32_t waits_at = (uint32_t)(all->num - start) / UNIT_WORDS;
    put(all, parts->waits.words, parts->waits.num);
    put_to_unit(all);
    uint32_t num_units = (uint32_t)(all->num - start) / UNIT_WORDS;
    const uint32_t words[UNIT_WORDS] = { (uint32_t)(start / UNIT_WORDS), num_units, lanes_at,
                                         waits_at };
    memcpy(head, words, sizeof(words));
    return num_units;
}

static braid_status put_block(const struct island_lists *lists, const struct block_of *block,
                              const uint32_t *entry_of, const uint32_t *args_of,
                              struct island_layout *layout, struct writer *all, uint32_t index)
{
    struct block_parts parts = { 0 };
    const struct shape nothing = shape_of_nothing(NO_ENTRY, layout->grids_vary);
    braid_status status = BRAID_OK;
    if (layout->cancels && find_shape(&parts.shapes, &nothing) != 0)
        status = braid_error_no_memory("an island");
    for (uint32_t lane = block->first_lane; lane < block->end_lane && !status; lane++)
        status = put_lane(lists, lane, entry_of, args_of, layout, &parts);
    if (!status && (parts.calls.failed || parts.waits.failed))
        status = braid_error_no_memory("an island");
    if (!status) {
        uint32_t head[UNIT_WORDS];
        uint32_t num_units =
            join_parts(lists, block, island_lanes_of_a_block(layout), &parts, all, head);
        if (!all->failed)
            memcpy(all->words + (size_t)index * UNIT_WORDS, head, sizeof(head));
        if (num_units > layout->most_units)
            layout->most_units = num_units;
    }
    braid_free(parts.shapes.items);
    braid_free(parts.calls.words);
    braid_free(parts.waits.words);
    return status;
}

braid_status braid_island_words_create(const struct island_lists *lists, const uint32_t *entry_of,
                                       const uint32_t *args_of, struct island_layout *layout,
                                       struct island_words *out_words)
{
    static const uint32_t zeros[UNIT_WORDS];
    struct writer all = { 0 };
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < layout->num_blocks; i++)
        put(&all, zeros, UNIT_WORDS);
    layout->most_units = 0;
    for (uint32_t i = 0; i < layout->num_blocks && !status; i++) {
        uint32_t per_block = island_lanes_of_a_block(layout);
        struct block_of block = { i * per_block, (i + 1) * per_block };
        if (block.end_lane > lists->num_lanes)
            block.end_lane = lists->num_lanes;
        if (block.first_lane > block.end_lane)
            block.first_lane = block.end_lane;
        status = put_block(lists, &block, entry_of, args_of, layout, &all, i);
    }
    if (!status && all.failed)
        status = braid_error_no_memory("an island");
    if (status) {
        braid_free(all.words);
        return status;
    }
    *out_words = (struct island_words){ all.words, all.num / UNIT_WORDS };
    return BRAID_OK;
}
