// SPDX-License-Identifier: Apache-2.0
// Issues posts of operations between ranks before other work that could begin at the same time.
//
// Two kernels that are queued on two streams begin in that order, and the first may have as many
// blocks as the device has room for. Posts of several communicators are never exchanged, since all
// ranks queue them in one order.
#include "program/program.h"

#include <stdlib.h>

#include "base/array.h"

struct post {
    uint32_t lane;
    size_t op; // of the program
};

struct issue {
    struct program *program;
    uint32_t *order; // the new one
    size_t num;
    size_t *num_issued; // by lane
    size_t *num_passed; // by lane, in the order as it was
    bool *published;    // by position
    struct post *posts; // in the order as it was
    size_t num_posts, next_post;
};

static bool is_post(const struct program *program, const struct program_op *op)
{
    return op->kind == PROGRAM_RUN && program->tasks->items[op->index].kind == WORK_POST;
}

static void find_posts(struct issue *issue)
{
    const struct program *program = issue->program;
    for (size_t i = 0; i < program->num_ops; i++) {
        uint32_t lane = program->order[i];
        size_t op = program->lanes[lane].first_op + issue->num_passed[lane]++;
        if (is_post(program, &program->ops[op]))
            issue->posts[issue->num_posts++] = (struct post){ lane, op };
    }
    for (uint32_t i = 0; i < program->num_lanes; i++)
        issue->num_passed[i] = 0;
}

static size_t next_op(const struct issue *issue, uint32_t lane)
{
    return issue->program->lanes[lane].first_op + issue->num_issued[lane];
}

static void issue_next(struct issue *issue, uint32_t lane)
{
    const struct program_op *op = &issue->program->ops[next_op(issue, lane)];
    issue->num_issued[lane]++;
    issue->order[issue->num++] = lane;
    if (op->kind == PROGRAM_PUBLISH)
        issue->published[op->index] = true;
    if (is_post(issue->program, op))
        issue->next_post++;
}

// Whether nothing but waits that are satisfied stands between a post and what its lane has issued.
static bool may_issue(const struct issue *issue, const struct post *post)
{
    for (size_t op = next_op(issue, post->lane); op < post->op; op++) {
        const struct program_op *before = &issue->program->ops[op];
        if (before->kind != PROGRAM_WAIT || !issue->published[before->index])
            return false;
    }
    return true;
}

static void issue_posts(struct issue *issue)
{
    while (issue->next_post < issue->num_posts) {
        const struct post post = issue->posts[issue->next_post];
        if (!may_issue(issue, &post))
            return;
        while (next_op(issue, post.lane) <= post.op)
            issue_next(issue, post.lane);
    }
}

static void issue_all(struct issue *issue)
{
    const struct program *program = issue->program;
    find_posts(issue);
    for (size_t i = 0; i < program->num_ops; i++) {
        uint32_t lane = program->order[i];
        size_t op = program->lanes[lane].first_op + issue->num_passed[lane]++;
        if (op >= next_op(issue, lane) && program->ops[op].kind == PROGRAM_RUN)
            issue_posts(issue);
        if (op >= next_op(issue, lane))
            issue_next(issue, lane);
    }
}

bool braid_program_issue_posts_first(struct program *program)
{
    struct issue issue = {
        .program = program,
        .order = braid_allocate_zeroed(program->num_ops, sizeof(*issue.order)),
        .num_issued = braid_allocate_zeroed(program->num_lanes, sizeof(*issue.num_issued)),
        .num_passed = braid_allocate_zeroed(program->num_lanes, sizeof(*issue.num_passed)),
        .published = braid_allocate_zeroed(program->num_positions, sizeof(*issue.published)),
        .posts = braid_allocate_zeroed(program->num_ops, sizeof(*issue.posts)),
    };
    bool has_memory =
        issue.order && issue.num_issued && issue.num_passed && issue.published && issue.posts;
    if (has_memory) {
        issue_all(&issue);
        free(program->order);
        program->order = issue.order;
    } else {
        free(issue.order);
    }
    free(issue.num_issued);
    free(issue.num_passed);
    free(issue.published);
    free(issue.posts);
    return has_memory;
}
