// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a plan's program note that they run, if a row of notes is that of a lane
// (note.h).
#include "tasks/notes.h"

// The last node of the only lane that is joined; PLAN_NONE: several lanes are, or other arms of the
// branch run after it.
static uint32_t find_last(const struct program *program)
{
    uint32_t last = PLAN_NONE, num = 0;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        const struct program_lane *lane = &program->lanes[i];
        num += lane->needs_join && lane->has_work;
        for (size_t k = 0; k < lane->num_ops && lane->needs_join && lane->has_work; k++) {
            const braid_step *op = program_lane_op(program, i, k);
            last = program_takes_time(program, op) ? op->node : last;
        }
    }
    bool is_arm = program->region != PLAN_NONE && program->kinds[program->node] == WORK_BRANCH;
    return num == 1 && !is_arm ? last : PLAN_NONE;
}

static uint32_t find_row(const struct program *program, uint32_t lane)
{
    for (size_t i = 0; i < program->lanes[lane].num_ops; i++) {
        const braid_step *op = program_lane_op(program, lane, i);
        if (program_takes_time(program, op))
            return op->node;
    }
    return PLAN_NONE;
}

void braid_notes_assign(const struct program *program, struct task_note *notes)
{
    uint32_t island = 0, last = find_last(program);
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        uint32_t before = PLAN_NONE;
        uint32_t row = find_row(program, i);
        for (size_t k = 0; k < program->lanes[i].num_ops; k++) {
            const braid_step *op = program_lane_op(program, i, k);
            bool waits = op->kind == BRAID_STEP_WAIT || op->kind == PROGRAM_AWAIT_FRAME;
            bool is_inside = program_in_island(program, program->lanes[i].first_op + k, &island);
            if (!waits && !program_takes_time(program, op))
                continue;
            if (before != PLAN_NONE)
                notes[before].ends = waits || is_inside || op->kind == BRAID_STEP_LOOP;
            before = waits ? PLAN_NONE : op->node;
            if (before != PLAN_NONE)
                notes[before].row = row;
        }
        if (before != PLAN_NONE)
            notes[before].ends = before != last;
    }
    for (uint32_t i = 0; i < program->num_bodies; i++)
        braid_notes_assign(&program->bodies[i], notes);
}

static void add(const struct program *program, const struct frame *frame, uint32_t node,
                uint32_t lane, struct running *running)
{
    uint32_t before = running->num;
    for (uint32_t i = 0; i < program->num_bodies; i++) {
        if (program->bodies[i].node == node)
            braid_notes_find_running(&program->bodies[i], frame, running);
    }
    if (running->num == before)
        braid_running_add(running, node, program->tasks->items[node].name, lane, UINT32_MAX);
}

void braid_notes_find_running(const struct program *program, const struct frame *frame,
                              struct running *running)
{
    uint32_t before = running->num, last = find_last(program), last_lane = PLAN_NONE;
    for (uint32_t i = 0; i < program->num_lanes; i++) {
        uint32_t row = find_row(program, i);
        uint32_t node = row == PLAN_NONE ? row : note_running_node(&frame->notes[row]);
        if (node == last && node != PLAN_NONE)
            last_lane = i;
        else if (node < frame->num_tasks)
            add(program, frame, node, i, running);
    }
    if (last_lane != PLAN_NONE && running->num == before)
        add(program, frame, last, last_lane, running);
}
