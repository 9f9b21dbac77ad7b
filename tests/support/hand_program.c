// SPDX-License-Identifier: Apache-2.0
// Programs written by hand, and played.
#include "support/hand_program.h"

#include "base/host_memory.h"

#include <assert.h>
#include <stdlib.h>

// Operations in issue order, and what a record's number stands for.
struct issue {
    const struct hand_plan *plan;
    struct program *program;
    size_t *next;          // by lane
    uint32_t *last_run;    // by lane
    uint32_t *num_of_lane; // positions
    uint32_t *position_of; // a record; UINT32_MAX: not made yet
};

static void issue_record(struct issue *issue, uint32_t lane, uint32_t record)
{
    struct program *program = issue->program;
    issue->position_of[record] = program->num_positions;
    program->positions[program->num_positions++] =
        (struct program_position){ lane, ++issue->num_of_lane[lane], issue->last_run[lane] };
}

static bool issue_step(struct issue *issue, uint32_t lane, const struct hand_step *step)
{
    struct program *program = issue->program;
    braid_step op = { step->kind, lane, step->index, 0 };
    if (step->kind == BRAID_STEP_RUN)
        issue->last_run[lane] = step->index;
    else if (step->kind == BRAID_STEP_RECORD)
        issue_record(issue, lane, step->index);
    if (step->kind != BRAID_STEP_RUN) {
        op.position = issue->position_of[step->index];
        if (op.position == UINT32_MAX)
            return false;
        op.node = program->positions[op.position].node;
    }
    program->ops[program->num_ops++] = op;
    return true;
}

// Each lane in turn, as far as its waits let it.
static void issue_all(struct issue *issue)
{
    const struct hand_plan *plan = issue->plan;
    for (uint32_t i = 0; i < plan->num_records; i++)
        issue->position_of[i] = UINT32_MAX;
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

static braid_status make_program(const struct hand_plan *plan, struct hand_program *hand)
{
    struct program *program = &hand->program;
    size_t num_ops = 0;
    for (uint32_t i = 0; i < plan->num_lanes; i++)
        num_ops += plan->lanes[i].num_steps;
    *program = (struct program){
        .ops = braid_allocate_zeroed(num_ops + 1, sizeof(*program->ops)),
        .lanes = braid_allocate_zeroed((size_t)plan->num_lanes + 1, sizeof(*program->lanes)),
        .num_lanes = plan->num_lanes,
        .positions =
            braid_allocate_zeroed((size_t)plan->num_records + 1, sizeof(*program->positions)),
        .kinds = braid_allocate_zeroed((size_t)plan->num_tasks + 1, sizeof(*program->kinds)),
        .num_nodes = plan->num_tasks,
        .tasks = &hand->tasks,
    };
    struct issue issue = {
        .plan = plan,
        .program = program,
        .next = calloc((size_t)plan->num_lanes + 1, sizeof(size_t)),
        .last_run = calloc((size_t)plan->num_lanes + 1, sizeof(uint32_t)),
        .num_of_lane = calloc((size_t)plan->num_lanes + 1, sizeof(uint32_t)),
        .position_of = calloc((size_t)plan->num_records + 1, sizeof(uint32_t)),
    };
    bool done = program->ops && program->lanes && program->positions && program->kinds &&
                issue.next && issue.last_run && issue.num_of_lane && issue.position_of;
    for (uint32_t i = 0; done && i < plan->num_tasks; i++)
        program->kinds[i] = (uint8_t)plan->tasks[i].kind;
    if (done) {
        issue_all(&issue);
        assert(program->num_ops == num_ops);
        done = braid_program_list_lanes(program);
    }
    free(issue.next);
    free(issue.last_run);
    free(issue.num_of_lane);
    free(issue.position_of);
    return done ? BRAID_OK : BRAID_NO_MEMORY;
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
    braid_program_free(&program->program);
    free(program->tasks.items);
    free(program);
}

braid_status hand_program_launch(struct hand_program *program, struct backend_stream *stream)
{
    braid_stream wrapper = { .device = &program->device, .backend = stream };
    struct play_result result = { 0 };
    return program->player->launch(program->playing, &wrapper, &result);
}

braid_status hand_program_set_args(struct hand_program *program, uint32_t task, void *const *args)
{
    struct backend_task changed = program->frame.tasks[task];
    changed.launch.args = args;
    return program->player->update(program->playing, (const struct backend_task *[]){ &changed }, 1,
                                   0);
}
