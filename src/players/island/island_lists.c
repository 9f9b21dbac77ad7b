// SPDX-License-Identifier: Apache-2.0
// A program as the lists of an island.
#include "players/island/island_program.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

// Waits gather until the lane's next call. If the lane's last call cannot publish, or the lane ends
// with waits, a call without a task does it.
struct list_builder {
    const struct stage *stage;
    struct island_lists *lists;
    uint32_t *call_of;
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

static void add_op(struct list_builder *builder, const braid_step *op)
{
    struct island_lists *lists = builder->lists;
    const struct program *program = builder->stage->program;
    if (op->kind == BRAID_STEP_RUN) {
        if (!program_runs(program, op))
            return;
        builder->call_of[op->node] = lists->num_calls;
        add_call(builder, &builder->stage->frame->tasks[op->node]);
        builder->may_publish = true;
    } else if (op->kind == BRAID_STEP_WAIT) {
        const struct program_position *position = &program->positions[op->position];
        lists->waits[lists->num_waits++] = (struct island_wait){ position->lane, position->number };
        builder->may_publish = false;
    } else {
        struct island_call *call =
            builder->may_publish ? &lists->calls[lists->num_calls - 1] : add_call(builder, NULL);
        call->publishes = true;
        builder->may_publish = false;
    }
}

static void add_lane(struct list_builder *builder, uint32_t index)
{
    const struct program *program = builder->stage->program;
    const struct program_lane *lane = &program->lanes[index];
    builder->may_publish = false;
    for (size_t i = 0; i < lane->num_ops; i++)
        add_op(builder, program_lane_op(program, index, i));
    if (builder->first_wait != builder->lists->num_waits)
        add_call(builder, NULL);
    builder->lists->lane_first[index + 1] = builder->lists->num_calls;
}

braid_status braid_island_lists_of_program(const struct stage *stage, uint32_t *call_of,
                                           struct island_lists *out_lists)
{
    const struct program *program = stage->program;
    struct island_lists lists = { .num_lanes = program->num_lanes,
                                  .timed = stage->num_profiled != 0 };
    lists.calls =
        braid_allocate_zeroed(program->num_ops + program->num_lanes, sizeof(*lists.calls));
    lists.lane_first =
        braid_allocate_zeroed((size_t)program->num_lanes + 1, sizeof(*lists.lane_first));
    lists.waits = braid_allocate_zeroed(program->num_ops, sizeof(*lists.waits));
    if (!lists.calls || !lists.lane_first || !lists.waits) {
        braid_island_lists_finish(&lists);
        return braid_error_no_memory("an island");
    }
    struct list_builder builder = { .stage = stage, .lists = &lists, .call_of = call_of };
    for (uint32_t i = 0; i < program->num_lanes; i++)
        add_lane(&builder, i);
    *out_lists = lists;
    return BRAID_OK;
}
