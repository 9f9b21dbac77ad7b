// SPDX-License-Identifier: Apache-2.0
// Programs written by hand, and played.
#include "support/hand_program.h"

#include <assert.h>
#include <stdlib.h>

// Steps in issue order, and what a record's number stands for.
struct issue {
    const struct hand_plan *plan;
    braid_step *steps;
    size_t num_steps;
    size_t *next;       // of each lane
    uint32_t *last_run; // of each lane
    uint32_t *node_of;  // a record; UINT32_MAX: not made yet
};

static bool issue_step(struct issue *issue, uint32_t lane, const struct hand_step *step)
{
    uint32_t node = step->index;
    if (step->kind == BRAID_STEP_RUN)
        issue->last_run[lane] = node;
    else if (step->kind == BRAID_STEP_RECORD)
        node = issue->node_of[step->index] = issue->last_run[lane];
    else
        node = issue->node_of[step->index];
    if (node == UINT32_MAX)
        return false;
    issue->steps[issue->num_steps++] = (braid_step){ step->kind, lane, node, step->index };
    return true;
}

// Each lane in turn, as far as its waits let it.
static void issue_all(struct issue *issue)
{
    const struct hand_plan *plan = issue->plan;
    for (uint32_t i = 0; i < plan->num_records; i++)
        issue->node_of[i] = UINT32_MAX;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < plan->num_lanes; i++)
            while (issue->next[i] < plan->lanes[i].num_steps &&
                   issue_step(issue, i, &plan->lanes[i].steps[issue->next[i]])) {
                issue->next[i]++;
                moved = true;
            }
    }
}

static braid_status make_program(const struct hand_plan *plan, struct hand_program *program)
{
    size_t num_steps = 1;
    for (uint32_t i = 0; i < plan->num_lanes; i++)
        num_steps += plan->lanes[i].num_steps;
    struct issue issue = {
        .plan = plan,
        .steps = calloc(num_steps, sizeof(braid_step)),
        .next = calloc((size_t)plan->num_lanes + 1, sizeof(size_t)),
        .last_run = calloc((size_t)plan->num_lanes + 1, sizeof(uint32_t)),
        .node_of = calloc((size_t)plan->num_records + 1, sizeof(uint32_t)),
    };
    braid_status status = BRAID_NO_MEMORY;
    if (issue.steps && issue.next && issue.last_run && issue.node_of) {
        issue_all(&issue);
        assert(issue.num_steps + 1 == num_steps);
        const braid_schedule schedule = {
            .steps = issue.steps,
            .num_steps = issue.num_steps,
            .info = { .num_nodes = plan->num_tasks, .num_lanes = plan->num_lanes },
        };
        status = braid_program_create(&schedule, &program->tasks, &program->program);
    }
    free(issue.steps);
    free(issue.next);
    free(issue.last_run);
    free(issue.node_of);
    return status;
}

static braid_status play(struct hand_program *program)
{
    const struct stage stage = {
        .player = program->player,
        .device = &program->device,
        .program = &program->program,
        .frame = &program->frame,
    };
    if (!program->player)
        return BRAID_OK;
    braid_status status = program->player->check ? program->player->check(&stage) : BRAID_OK;
    return status ? status : program->player->create(&stage, &program->playing);
}

braid_status hand_program_create(struct backend *backend, const struct player *player,
                                 const struct hand_plan *plan, struct hand_program **out_program)
{
    struct hand_program *program = calloc(1, sizeof(*program));
    struct backend_task *tasks = calloc((size_t)plan->num_tasks + 1, sizeof(*tasks));
    if (!program || !tasks) {
        free(program);
        free(tasks);
        return BRAID_NO_MEMORY;
    }
    for (uint32_t i = 0; i < plan->num_tasks; i++) {
        tasks[i] = plan->tasks[i];
        tasks[i].node = i;
    }
    program->device.backend = backend;
    program->player = player;
    program->tasks = (struct tasks){ .backend = backend, .items = tasks, .num = plan->num_tasks };
    program->frame.tasks = tasks;
    braid_status status = make_program(plan, program);
    if (!status)
        status = play(program);
    if (status)
        hand_program_destroy(program);
    else
        *out_program = program;
    return status;
}

void hand_program_destroy(struct hand_program *program)
{
    if (!program)
        return;
    if (program->playing)
        program->player->destroy(program->playing);
    braid_program_finish(&program->program);
    free(program->tasks.items);
    free(program);
}

braid_status hand_program_launch(struct hand_program *program, struct backend_stream *stream)
{
    braid_stream wrapper = { .device = &program->device, .backend = stream };
    struct play_result result = { 0 };
    return program->player->launch(program->playing, stream ? &wrapper : NULL, &result);
}

braid_status hand_program_set_args(struct hand_program *program, uint32_t task, void *const *args)
{
    struct backend_task changed = program->frame.tasks[task];
    changed.launch.args = args;
    return program->player->update(program->playing, (const struct backend_task *[]){ &changed }, 1,
                                   0);
}
