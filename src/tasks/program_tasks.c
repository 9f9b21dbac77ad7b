// SPDX-License-Identifier: Apache-2.0
// Takes the program of a schedule for an exec, and finds its islands.
#include "tasks/program_tasks.h"

#include "base/error.h"
#include "base/host_memory.h"

// The island of an operation of a lane, or PLAN_NONE.
static uint32_t island_at(const braid_schedule *schedule, uint32_t lane, size_t i)
{
    const braid_step *op = program_lane_op(&schedule->program, lane, i);
    const uint32_t *islands = schedule->division.island_of;
    return op->kind == BRAID_STEP_RUN ? islands[op->node] : PLAN_NONE;
}

// Nodes of an island follow each other on their lane; of one call alone nothing is gained.
static uint32_t *find_islands(const braid_schedule *schedule, uint32_t lane, uint32_t *calls,
                              struct program *program)
{
    const struct program_lane *from = &program->lanes[lane];
    for (size_t i = 0; i < from->num_ops;) {
        struct program_island island = { .lane = lane,
                                         .first_op = from->first_op + i,
                                         .calls = calls };
        uint32_t number = island_at(schedule, lane, i);
        do {
            const braid_step *op = program_lane_op(program, lane, i++);
            if (number != PLAN_NONE && program_runs(program, op))
                calls[island.num_calls++] = op->node;
        } while (number != PLAN_NONE && i < from->num_ops &&
                 island_at(schedule, lane, i) == number);
        island.num_ops = from->first_op + i - island.first_op;
        if (island.num_calls > 1)
            program->islands[program->num_islands++] = island;
        calls += island.num_calls;
    }
    return calls;
}

// The schedule's bodies with tasks.
static bool copy_bodies(const braid_schedule *schedule, struct program *program)
{
    const uint32_t *island_of = schedule->division.island_of;
    const struct program *from = program->bodies;
    bool done = true;
    program->bodies = NULL;
    if (program->num_bodies)
        program->bodies = braid_allocate_zeroed(program->num_bodies, sizeof(*program->bodies));
    for (uint32_t i = 0; program->bodies && i < program->num_bodies; i++) {
        program->bodies[i] = from[i];
        program->bodies[i].tasks = program->tasks;
        program->bodies[i].is_island = island_of && island_of[from[i].node] != PLAN_NONE;
        done = copy_bodies(schedule, &program->bodies[i]) && done;
    }
    return done && (program->bodies || !program->num_bodies);
}

braid_status braid_program_create(const braid_schedule *schedule, const struct tasks *tasks,
                                  uint8_t is_island, struct program *out_program)
{
    struct program program = schedule->program;
    uint32_t num = schedule->info.num_islands;
    program.tasks = tasks;
    program.is_island = is_island;
    program.islands = braid_allocate_zeroed(num, sizeof(*program.islands));
    program.island_calls = braid_allocate_zeroed(num ? program.num_nodes : 0, sizeof(uint32_t));
    if (!copy_bodies(schedule, &program) || !program.islands || !program.island_calls) {
        braid_program_finish(&program);
        return braid_error_no_memory("the program of an exec");
    }
    uint32_t *calls = program.island_calls;
    for (uint32_t i = 0; num && i < program.num_lanes; i++)
        calls = find_islands(schedule, i, calls, &program);
    *out_program = program;
    return BRAID_OK;
}

void braid_program_finish(struct program *program)
{
    for (uint32_t i = 0; program->bodies && i < program->num_bodies; i++)
        braid_program_finish(&program->bodies[i]);
    braid_free(program->bodies);
    braid_free(program->islands);
    braid_free(program->island_calls);
    braid_free(program->frame_positions);
    braid_free(program->frame_waits);
    if (program->owns_ops) {
        braid_free(program->ops);
        braid_free(program->lanes);
        braid_free(program->lane_ops);
    }
    *program = (struct program){ 0 };
}
