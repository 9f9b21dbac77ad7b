// SPDX-License-Identifier: Apache-2.0
// Issues posts of operations between ranks before other work that could begin at the same time.
//
// Two kernels that are queued on two streams begin in that order. The first may have as many blocks
// as the device has room for. Posts of several communicators are never exchanged, since all ranks
// queue them in one order.
#include <stdlib.h>

#include "base/array.h"
#include "base/big_memory.h"
#include "plan/program.h"

struct issue {
    struct program *program;
    braid_step *ops; // in the new order
    size_t num;
    size_t *num_issued; // by lane
    bool *recorded;     // by position
    size_t next_post;   // the first operation, as they were, that may be a post not yet issued
};

static bool is_post(const struct program *program, const braid_step *op)
{
    return op->kind == BRAID_STEP_RUN && program->kinds[op->node] == WORK_POST;
}

static const braid_step *next_of(const struct issue *issue, uint32_t lane)
{
    return program_lane_op(issue->program, lane, issue->num_issued[lane]);
}

static bool is_issued(const struct issue *issue, const braid_step *op)
{
    return issue->num_issued[op->lane] == issue->program->lanes[op->lane].num_ops ||
           op < next_of(issue, op->lane);
}

static void issue_next(struct issue *issue, uint32_t lane)
{
    const braid_step *op = next_of(issue, lane);
    issue->num_issued[lane]++;
    issue->ops[issue->num++] = *op;
    if (op->kind == BRAID_STEP_RECORD)
        issue->recorded[op->position] = true;
}

// Whether only satisfied waits stand between a post and the issued operations of its lane.
static bool may_issue(const struct issue *issue, const braid_step *post)
{
    const struct program *program = issue->program;
    for (size_t i = issue->num_issued[post->lane];; i++) {
        const braid_step *op = program_lane_op(program, post->lane, i);
        if (op == post)
            return true;
        if (op->kind != BRAID_STEP_WAIT || !issue->recorded[op->position])
            return false;
    }
}

// In the order as it was, as far as they may be.
static void issue_posts(struct issue *issue)
{
    const struct program *program = issue->program;
    for (; issue->next_post < program->num_ops; issue->next_post++) {
        const braid_step *post = &program->ops[issue->next_post];
        if (!is_post(program, post) || is_issued(issue, post))
            continue;
        if (!may_issue(issue, post))
            return;
        while (!is_issued(issue, post))
            issue_next(issue, post->lane);
    }
}

static void issue_all(struct issue *issue)
{
    const struct program *program = issue->program;
    for (size_t i = 0; i < program->num_ops; i++) {
        const braid_step *op = &program->ops[i];
        if (!is_issued(issue, op) && op->kind == BRAID_STEP_RUN)
            issue_posts(issue);
        if (!is_issued(issue, op))
            issue_next(issue, op->lane);
    }
}

bool braid_program_issue_posts_first(struct program *program)
{
    struct issue issue = {
        .program = program,
        .ops = plan_allocate(program->num_ops, sizeof(*issue.ops)),
        .num_issued = braid_allocate_zeroed(program->num_lanes, sizeof(*issue.num_issued)),
        .recorded = braid_allocate_zeroed(program->num_positions, sizeof(*issue.recorded)),
    };
    bool has_memory = issue.ops && issue.num_issued && issue.recorded;
    if (has_memory) {
        issue_all(&issue);
        free(program->ops);
        program->ops = issue.ops;
    } else {
        free(issue.ops);
    }
    free(issue.num_issued);
    free(issue.recorded);
    return has_memory && braid_program_list_lanes(program);
}
