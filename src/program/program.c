// SPDX-License-Identifier: Apache-2.0
// From a schedule's steps to a program's operations.
//
// Three walks. The first numbers records: two with nothing between them are one moment, and before
// the first task there is none. The second takes the waits lane by lane and keeps those that no
// earlier one of the lane covers. The third writes the operations and numbers the positions that
// are still waited for. What is left out depends on the program alone, not on who plays it.
#include "program/program.h"

#include "base/array.h"
#include "base/error.h"

#define NONE UINT32_MAX

// A moment of a lane that the schedule records.
struct moment {
    uint32_t lane;
    uint32_t number;   // on its lane
    uint32_t position; // NONE: nobody waits for it
    bool waited;
};

struct wait {
    uint32_t moment; // NONE: there is nothing to wait for
    uint32_t lane;
};

struct lane_state {
    uint32_t num_moments;
    uint32_t last_moment;
    uint32_t last_position; // the lane's last operation publishes it; NONE: that is another one
    uint32_t num_waits;     // of the second walk: the end of the lane's waits
    bool something_since;   // the last moment
    size_t num_ops;
};

struct builder {
    const braid_schedule *schedule;
    const struct tasks *tasks;
    struct program *program;
    struct lane_state *lanes;
    uint32_t *moment_of; // a node
    struct moment *moments;
    struct wait *waits;   // in issue order
    uint32_t *by_lane;    // indices of waits, lane by lane
    uint32_t *covered;    // a lane: the number of it that the lane at hand has waited for
    uint32_t *covered_by; // and the lane, plus 1, that this is about
    uint32_t num_moments, num_waits;
};

static bool is_empty(const struct builder *builder, uint32_t node)
{
    return builder->tasks->items[node].kind == WORK_EMPTY;
}

static void note_record(struct builder *builder, const braid_step *step)
{
    struct lane_state *lane = &builder->lanes[step->lane];
    if (lane->something_since) {
        lane->last_moment = builder->num_moments++;
        builder->moments[lane->last_moment] =
            (struct moment){ .lane = step->lane, .number = ++lane->num_moments, .position = NONE };
    }
    lane->something_since = false;
    builder->moment_of[step->node] = lane->num_moments ? lane->last_moment : NONE;
}

static void note_wait(struct builder *builder, const braid_step *step)
{
    uint32_t moment = builder->moment_of[step->node];
    if (moment != NONE && builder->moments[moment].lane == step->lane)
        moment = NONE;
    builder->waits[builder->num_waits++] = (struct wait){ moment, step->lane };
    builder->lanes[step->lane].num_waits++;
    if (moment != NONE)
        builder->lanes[step->lane].something_since = true;
}

static void find_moments(struct builder *builder)
{
    for (size_t i = 0; i < builder->schedule->num_steps; i++) {
        const braid_step *step = &builder->schedule->steps[i];
        if (step->kind == BRAID_STEP_RECORD)
            note_record(builder, step);
        else if (step->kind == BRAID_STEP_WAIT)
            note_wait(builder, step);
        else if (!is_empty(builder, step->node))
            builder->lanes[step->lane].something_since = true;
    }
}

// Sorts the waits by lane, each lane's in issue order.
static void sort_waits(struct builder *builder)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < builder->program->num_lanes; i++) {
        uint32_t num = builder->lanes[i].num_waits;
        builder->lanes[i].num_waits = first;
        first += num;
    }
    for (uint32_t i = 0; i < builder->num_waits; i++)
        builder->by_lane[builder->lanes[builder->waits[i].lane].num_waits++] = i;
}

static void drop_covered_waits(struct builder *builder)
{
    sort_waits(builder);
    for (uint32_t i = 0; i < builder->num_waits; i++) {
        struct wait *wait = &builder->waits[builder->by_lane[i]];
        if (wait->moment == NONE)
            continue;
        struct moment *moment = &builder->moments[wait->moment];
        if (builder->covered_by[moment->lane] == wait->lane + 1 &&
            builder->covered[moment->lane] >= moment->number) {
            wait->moment = NONE;
            continue;
        }
        builder->covered_by[moment->lane] = wait->lane + 1;
        builder->covered[moment->lane] = moment->number;
        moment->waited = true;
    }
}

// The lane's place for one more operation; operations are written when `ops` is there.
static void emit(struct builder *builder, uint32_t lane, enum program_op_kind kind, uint32_t index)
{
    struct program *program = builder->program;
    size_t place = builder->lanes[lane].num_ops++;
    builder->lanes[lane].last_position = kind == PROGRAM_PUBLISH ? index : NONE;
    if (program->ops) {
        program->ops[program->lanes[lane].first_op + place] =
            (struct program_op){ .kind = (uint16_t)kind, .index = index };
        program->order[program->num_ops] = lane;
    }
    program->num_ops++;
}

// An empty task behind a position that its lane has just published has ended by then as well.
static void keep_empty(struct builder *builder, const braid_step *step)
{
    struct program *program = builder->program;
    const struct lane_state *lane = &builder->lanes[step->lane];
    if (program->empties)
        program->empties[program->num_empties] =
            (struct program_empty){ .task = step->node,
                                    .lane = step->lane,
                                    .op = program->lanes[step->lane].first_op + lane->num_ops -
                                          (lane->last_position != NONE) };
    program->num_empties++;
}

static void emit_position(struct builder *builder, const braid_step *step)
{
    struct program *program = builder->program;
    uint32_t moment = builder->moment_of[step->node];
    if (moment == NONE || !builder->moments[moment].waited)
        return;
    struct lane_state *lane = &builder->lanes[step->lane];
    uint32_t *position = &builder->moments[moment].position;
    if (*position == NONE && lane->last_position != NONE)
        *position = lane->last_position; // a wait between the two was dropped
    if (*position != NONE)
        return;
    *position = program->num_positions++;
    if (program->positions)
        program->positions[*position] = (struct program_position){ .lane = step->lane,
                                                                   .number = ++lane->num_moments,
                                                                   .task = step->node };
    emit(builder, step->lane, PROGRAM_PUBLISH, *position);
}

static void emit_ops(struct builder *builder)
{
    struct program *program = builder->program;
    program->num_ops = 0;
    program->num_positions = 0;
    program->num_empties = 0;
    for (uint32_t i = 0; i < program->num_lanes; i++)
        builder->lanes[i] = (struct lane_state){ .last_position = NONE };
    for (uint32_t i = 0; i < builder->num_moments; i++)
        builder->moments[i].position = NONE;
    uint32_t wait = 0;
    for (size_t i = 0; i < builder->schedule->num_steps; i++) {
        const braid_step *step = &builder->schedule->steps[i];
        if (step->kind == BRAID_STEP_RECORD) {
            emit_position(builder, step);
        } else if (step->kind == BRAID_STEP_WAIT) {
            uint32_t moment = builder->waits[wait++].moment;
            if (moment != NONE)
                emit(builder, step->lane, PROGRAM_WAIT, builder->moments[moment].position);
        } else if (is_empty(builder, step->node)) {
            keep_empty(builder, step);
        } else {
            emit(builder, step->lane, PROGRAM_RUN, step->node);
        }
    }
}

// After a walk that only counted.
static bool allocate_ops(struct builder *builder)
{
    struct program *program = builder->program;
    size_t first = 0;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        program->lanes[i].first_op = first;
        program->lanes[i].num_ops = builder->lanes[i].num_ops;
        first += builder->lanes[i].num_ops;
    }
    program->ops = braid_allocate_zeroed(program->num_ops, sizeof(*program->ops));
    program->order = braid_allocate_zeroed(program->num_ops, sizeof(*program->order));
    program->positions = braid_allocate_zeroed(program->num_positions, sizeof(*program->positions));
    program->empties = braid_allocate_zeroed(program->num_empties, sizeof(*program->empties));
    return program->ops && program->order && program->positions && program->empties;
}

static void describe_lanes(const braid_schedule *schedule, struct program *program)
{
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        struct program_lane *lane = &program->lanes[i];
        const struct program_op *ops = &program->ops[lane->first_op];
        lane->place = schedule_lane_place(schedule, i);
        lane->needs_fork = lane->num_ops && ops[0].kind != PROGRAM_WAIT;
        lane->needs_join = lane->num_ops && ops[lane->num_ops - 1].kind != PROGRAM_PUBLISH;
    }
}

// The island of an operation's task, or NONE.
static uint32_t island_of(const struct builder *builder, const struct program_op *op)
{
    const uint32_t *islands = builder->schedule->division.island_of;
    return islands && op->kind == PROGRAM_RUN ? islands[op->index] : NONE;
}

// Tasks of an island follow each other on their lane; of one task alone nothing is gained.
static bool find_islands(struct builder *builder)
{
    struct program *program = builder->program;
    program->islands =
        braid_allocate_zeroed(builder->schedule->info.num_islands, sizeof(*program->islands));
    if (!program->islands)
        return false;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        size_t op = program->lanes[i].first_op, end = op + program->lanes[i].num_ops;
        while (op < end) {
            size_t first = op;
            uint32_t island = island_of(builder, &program->ops[op++]);
            while (island != NONE && op < end && island_of(builder, &program->ops[op]) == island)
                op++;
            if (op - first > 1)
                program->islands[program->num_islands++] =
                    (struct program_island){ .lane = i, .first_op = first, .num_ops = op - first };
        }
    }
    return true;
}

static bool allocate(struct builder *builder)
{
    const braid_schedule_info *info = &builder->schedule->info;
    size_t num_lanes = info->num_lanes, num_nodes = info->num_nodes;
    size_t num_records = 0, num_waits = 0;
    for (size_t i = 0; i < builder->schedule->num_steps; i++) {
        num_records += builder->schedule->steps[i].kind == BRAID_STEP_RECORD;
        num_waits += builder->schedule->steps[i].kind == BRAID_STEP_WAIT;
    }
    builder->program->lanes = braid_allocate_zeroed(num_lanes, sizeof(*builder->program->lanes));
    builder->lanes = braid_allocate_zeroed(num_lanes, sizeof(*builder->lanes));
    builder->moment_of = braid_allocate_zeroed(num_nodes, sizeof(uint32_t));
    builder->moments = braid_allocate_zeroed(num_records, sizeof(*builder->moments));
    builder->waits = braid_allocate_zeroed(num_waits, sizeof(*builder->waits));
    builder->by_lane = braid_allocate_zeroed(num_waits, sizeof(uint32_t));
    builder->covered = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    builder->covered_by = braid_allocate_zeroed(num_lanes, sizeof(uint32_t));
    return builder->program->lanes && builder->lanes && builder->moment_of && builder->moments &&
           builder->waits && builder->by_lane && builder->covered && builder->covered_by;
}

static bool build(struct builder *builder)
{
    if (!allocate(builder))
        return false;
    find_moments(builder);
    drop_covered_waits(builder);
    emit_ops(builder);
    if (!allocate_ops(builder))
        return false;
    emit_ops(builder);
    describe_lanes(builder->schedule, builder->program);
    if (builder->tasks->num_operations && !braid_program_issue_posts_first(builder->program))
        return false;
    return find_islands(builder);
}

braid_status braid_program_create(const braid_schedule *schedule, const struct tasks *tasks,
                                  struct program *out_program)
{
    struct program program = { .tasks = tasks, .num_lanes = schedule->info.num_lanes };
    struct builder builder = { .schedule = schedule, .tasks = tasks, .program = &program };
    bool built = build(&builder);
    free(builder.lanes);
    free(builder.moment_of);
    free(builder.moments);
    free(builder.waits);
    free(builder.by_lane);
    free(builder.covered);
    free(builder.covered_by);
    if (!built) {
        braid_program_finish(&program);
        return braid_error_no_memory("the program of an exec");
    }
    *out_program = program;
    return BRAID_OK;
}

void braid_program_finish(struct program *program)
{
    free(program->lanes);
    free(program->ops);
    free(program->order);
    free(program->positions);
    free(program->empties);
    free(program->islands);
    free(program->frame_positions);
    *program = (struct program){ 0 };
}

bool braid_program_walk_begin(const struct program *program, struct program_walk *out_walk)
{
    *out_walk = (struct program_walk){
        .next_op = braid_allocate_zeroed(program->num_lanes, sizeof(size_t)),
    };
    for (uint32_t i = 0; out_walk->next_op && i < program->num_lanes; i++)
        out_walk->next_op[i] = program->lanes[i].first_op;
    return out_walk->next_op;
}

void braid_program_walk_end(struct program_walk *walk)
{
    free(walk->next_op);
}
