// SPDX-License-Identifier: Apache-2.0
// A program as the lists of an island.
#include "islands/gpu_island_lists.h"

#include "base/array.h"
#include "base/error.h"
#include "tasks/player.h"

// The tree of scopes is walked once for each lane, and a step ends wherever a scope begins or ends.
// All that was issued before is in earlier steps, and all lanes meet behind each. So only waits for
// positions of the same step are left.
//
// Waits gather until the lane's next call. If the lane's last call cannot publish, or the step ends
// with waits, a call without a task does it.
struct list_builder {
    const struct stage *stage;
    struct island_lists *lists;
    uint32_t *call_of;
    uint32_t lane;
    uint32_t step, scope; // at hand
    uint32_t first_wait;
    bool may_publish; // the lane's last call can
};

static struct island_call *add_call(struct list_builder *builder, const struct backend_task *task)
{
    struct island_lists *lists = builder->lists;
    struct island_call *call = &lists->calls[lists->num_calls++];
    *call = (struct island_call){ .task = task,
                                  .first_wait = builder->first_wait,
                                  .num_waits = lists->num_waits - builder->first_wait };
    builder->first_wait = lists->num_waits;
    return call;
}

// A wait for the nth position of a lane, of which some were recorded before the step.
static void add_wait(struct list_builder *builder, const struct program *program,
                     const struct program_position *position, size_t first_op)
{
    struct island_lists *lists = builder->lists;
    uint32_t num_before = 0;
    for (size_t i = 0; i < first_op; i++)
        num_before +=
            program->ops[i].kind == BRAID_STEP_RECORD && program->ops[i].lane == position->lane;
    if (position->number <= num_before)
        return;
    lists->waits[lists->num_waits++] =
        (struct island_wait){ position->lane, position->number - num_before };
    builder->may_publish = false;
}

// The step at hand began with first_op.
static void add_op(struct list_builder *builder, const struct program *program,
                   const braid_step *op, size_t first_op)
{
    struct island_lists *lists = builder->lists;
    if (op->kind == BRAID_STEP_RUN) {
        if (!program_runs(program, op))
            return;
        builder->call_of[op->node] = lists->num_calls;
        add_call(builder, &builder->stage->frame->tasks[op->node]);
        builder->may_publish = true;
    } else if (op->kind == BRAID_STEP_WAIT) {
        add_wait(builder, program, &program->positions[op->position], first_op);
    } else {
        struct island_call *call =
            builder->may_publish ? &lists->calls[lists->num_calls - 1] : add_call(builder, NULL);
        call->publishes = true;
        builder->may_publish = false;
    }
}

// Returns the step. The next one is `then`, unless that is set otherwise.
static struct island_step *end_step(struct list_builder *builder, enum island_test test,
                                    uint32_t scope)
{
    struct island_lists *lists = builder->lists;
    if (builder->first_wait != lists->num_waits)
        add_call(builder, NULL);
    builder->may_publish = false;
    lists->step_ends[(size_t)builder->step * lists->num_lanes + builder->lane] = lists->num_calls;
    struct island_step *step = &lists->steps[builder->step++];
    *step = (struct island_step){ test, scope, builder->step, builder->step };
    return step;
}

static void add_ops(struct list_builder *builder, const struct program *program);

static void add_loop(struct list_builder *builder, const struct program *body, uint32_t scope)
{
    struct island_step *enter = end_step(builder, ISLAND_TEST_ENTER, scope);
    uint32_t first = builder->step;
    add_ops(builder, body);
    end_step(builder, ISLAND_TEST_AGAIN, scope)->then = first;
    enter->otherwise = builder->step;
}

static void add_branch(struct list_builder *builder, const struct program *arms, uint32_t scope)
{
    struct island_step *choose = end_step(builder, ISLAND_TEST_CHOOSE, scope);
    add_ops(builder, arms);
    struct island_step *last = end_step(builder, ISLAND_TEST_NONE, scope);
    choose->otherwise = builder->step;
    if (!arms->has_else && !builder->lists->timed)
        return;
    if (arms->has_else)
        add_ops(builder, arms + 1);
    end_step(builder, ISLAND_TEST_NONE, scope);
    last->then = builder->step;
}

static void add_scope(struct list_builder *builder, const struct program *body)
{
    uint32_t scope = builder->scope++;
    builder->call_of[body->node] = scope;
    if (builder->stage->frame->tasks[body->node].kind == WORK_LOOP)
        add_loop(builder, body, scope);
    else
        add_branch(builder, body, scope);
}

static void add_ops(struct list_builder *builder, const struct program *program)
{
    size_t first_op = 0;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (op->kind == BRAID_STEP_LOOP) {
            add_scope(builder, &program->bodies[op->position]);
            first_op = i + 1;
        } else if (op->lane == builder->lane) {
            add_op(builder, program, op, first_op);
        }
    }
}

// The lists' needs.
struct list_needs {
    uint32_t num_lanes, num_scopes;
    size_t num_ops;
};

static void find_needs(const struct program *program, struct list_needs *needs)
{
    needs->num_ops += program->num_ops;
    if (program->num_lanes > needs->num_lanes)
        needs->num_lanes = program->num_lanes;
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        needs->num_scopes += !program->bodies[i].is_else;
        find_needs(&program->bodies[i], needs);
    }
}

// A scope begins a step, and ends two at most.
static bool allocate(const struct list_needs *needs, struct island_lists *lists)
{
    const size_t num_steps = 3 * (size_t)needs->num_scopes + 1;
    const size_t num_ends = num_steps * needs->num_lanes;
    lists->num_lanes = needs->num_lanes;
    lists->num_scopes = needs->num_scopes;
    lists->calls = braid_allocate_zeroed(needs->num_ops + num_ends, sizeof(*lists->calls));
    lists->lane_first =
        braid_allocate_zeroed((size_t)needs->num_lanes + 1, sizeof(*lists->lane_first));
    lists->waits = braid_allocate_zeroed(needs->num_ops, sizeof(*lists->waits));
    lists->steps = braid_allocate_zeroed(num_steps, sizeof(*lists->steps));
    lists->step_ends = braid_allocate_zeroed(num_ends, sizeof(*lists->step_ends));
    return lists->calls && lists->lane_first && lists->waits && lists->steps && lists->step_ends;
}

// The last step's calls are those behind the last scope, if there are any.
static void add_lane(struct list_builder *builder, const struct program *program)
{
    builder->step = builder->scope = 0;
    add_ops(builder, program);
    if (program->num_ops == 0 || program->ops[program->num_ops - 1].kind != BRAID_STEP_LOOP)
        end_step(builder, ISLAND_TEST_NONE, 0);
    builder->lists->lane_first[builder->lane + 1] = builder->lists->num_calls;
}

static bool has_calls(const struct island_lists *lists, uint32_t step)
{
    bool has = false;
    for (uint32_t lane = 0; lane < lists->num_lanes && !has; lane++) {
        struct island_range range = braid_island_range(lists, step, lane);
        has = range.first < range.end;
    }
    return has;
}

static uint32_t next_step(const struct island_lists *lists, uint32_t step)
{
    return step < lists->num_steps ? step : ISLAND_END;
}

// A step without a test takes over that of a next step without calls, so that lanes meet once. An
// arm at the end of an iteration ends so. Where the branch is timed, its end is behind that step.
static void connect_steps(struct island_lists *lists)
{
    for (uint32_t i = lists->num_steps; i-- > 0;) {
        struct island_step *step = &lists->steps[i];
        step->then = next_step(lists, step->then);
        step->otherwise = next_step(lists, step->otherwise);
        if (step->test == ISLAND_TEST_NONE && !lists->timed && step->then != ISLAND_END &&
            !has_calls(lists, step->then))
            *step = lists->steps[step->then];
    }
}

braid_status braid_island_lists_of_program(const struct stage *stage, uint32_t *call_of,
                                           struct island_lists *out_lists)
{
    struct list_needs needs = { 0 };
    struct island_lists lists = { .timed = stage->num_profiled != 0 };
    find_needs(stage->program, &needs);
    if (!allocate(&needs, &lists)) {
        braid_island_lists_finish(&lists);
        return braid_error_no_memory("an island");
    }
    struct list_builder builder = { .stage = stage, .lists = &lists, .call_of = call_of };
    for (; builder.lane < lists.num_lanes; builder.lane++)
        add_lane(&builder, stage->program);
    lists.num_steps = builder.step;
    connect_steps(&lists);
    *out_lists = lists;
    return BRAID_OK;
}
