// SPDX-License-Identifier: Apache-2.0
// A program's operations lane by lane, and freeing programs.
#include "plan/program.h"

#include "base/big_memory.h"
#include "base/host_memory.h"

static void place_lanes(struct program *program, size_t *next)
{
    for (uint32_t i = 0; i < program->num_lanes; i++)
        program->lanes[i].num_ops = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        program->lanes[program->ops[i].lane].num_ops++;
    size_t first = 0;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        program->lanes[i].first_op = next[i] = first;
        first += program->lanes[i].num_ops;
    }
}

static bool is_nothing(const struct program *program, const braid_step *op)
{
    return op->kind == BRAID_STEP_RUN && program->kinds[op->node] == WORK_EMPTY;
}

static void describe_lane(const struct program *program, uint32_t index)
{
    struct program_lane *lane = &program->lanes[index];
    size_t first = 0, end = lane->num_ops;
    while (first < end && is_nothing(program, program_lane_op(program, index, first)))
        first++;
    while (end > first && is_nothing(program, program_lane_op(program, index, end - 1)))
        end--;
    lane->has_work = first < end;
    lane->needs_fork =
        first < end && program_lane_op(program, index, first)->kind != BRAID_STEP_WAIT;
    lane->needs_join =
        first < end && program_lane_op(program, index, end - 1)->kind != BRAID_STEP_RECORD;
}

bool braid_program_list_lanes(struct program *program)
{
    if (program->num_ops > UINT32_MAX)
        return false;
    size_t *next = braid_allocate_zeroed(program->num_lanes, sizeof(*next));
    braid_free(program->lane_ops);
    program->lane_ops = plan_allocate(program->num_ops, sizeof(uint32_t));
    bool done = next && program->lane_ops;
    if (done) {
        place_lanes(program, next);
        for (size_t i = 0; i < program->num_ops; i++)
            program->lane_ops[next[program->ops[i].lane]++] = (uint32_t)i;
        for (uint32_t i = 0; i < program->num_lanes; i++)
            describe_lane(program, i);
    }
    braid_free(next);
    return done;
}

const struct program *braid_program_find_body(const struct program *program, uint32_t node)
{
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        if (program->bodies[i].node == node)
            return &program->bodies[i];
    }
    return NULL;
}

void braid_program_free(struct program *program)
{
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        program->bodies[i].kinds = NULL;
        braid_program_free(&program->bodies[i]);
    }
    braid_free(program->bodies);
    braid_free(program->ops);
    braid_free(program->lanes);
    braid_free(program->lane_ops);
    braid_free(program->positions);
    braid_free(program->kinds);
    *program = (struct program){ 0 };
}
