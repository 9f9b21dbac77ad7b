// SPDX-License-Identifier: Apache-2.0
// A frame forks to and joins only the lanes for which this does not follow from waits, and nodes
// without work count for nothing. And a program issues posts of operations between ranks before
// other work that could begin then.
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/hand_program.h"
#include "tasks/program_tasks.h"

enum { NUM_TASKS = 6 };
static const braid_step_kind RUN = BRAID_STEP_RUN, RECORD = BRAID_STEP_RECORD,
                             WAIT = BRAID_STEP_WAIT;

// Task 5 has no work.
static struct hand_program *make(const struct hand_lane *lanes, uint32_t num_lanes)
{
    struct backend_task tasks[NUM_TASKS] = { { .kind = WORK_EMPTY } };
    for (int i = 0; i < NUM_TASKS; i++)
        tasks[i].kind = i == 5 ? WORK_EMPTY : WORK_HOST;
    const struct hand_plan plan = {
        .lanes = lanes,
        .num_lanes = num_lanes,
        .num_records = NUM_TASKS,
        .tasks = tasks,
        .num_tasks = NUM_TASKS,
    };
    struct hand_program *program = NULL;
    check_ok(hand_program_create(NULL, NULL, &plan, &program));
    return program;
}

static void assert_lane(const struct hand_program *hand, uint32_t index, bool needs_fork,
                        bool needs_join)
{
    const struct program_lane *lane = &hand->program.lanes[index];
    assert_int_equal(lane->needs_fork, needs_fork);
    assert_int_equal(lane->needs_join, needs_join);
    assert_int_equal(lane->has_work, true);
}

static void a_lane_that_waits_first_is_not_forked(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RECORD, 0 } };
    const struct hand_step b[] = { { RUN, 1 }, { WAIT, 0 }, { RUN, 5 }, { RECORD, 1 }, { RUN, 3 } };
    const struct hand_step c[] = { { WAIT, 1 }, { RUN, 2 } };
    struct hand_program *program =
        make((const struct hand_lane[]){ { a, 2 }, { b, 5 }, { c, 2 } }, 3);
    assert_lane(program, 0, true, false);
    assert_lane(program, 1, true, true);
    assert_lane(program, 2, false, true);
    hand_program_destroy(program);
}

static void nodes_without_work_count_for_nothing(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RECORD, 0 }, { RUN, 5 } };
    const struct hand_step b[] = { { RUN, 5 }, { WAIT, 0 }, { RUN, 1 } };
    const struct hand_step c[] = { { RUN, 5 } };
    struct hand_program *program =
        make((const struct hand_lane[]){ { a, 3 }, { b, 3 }, { c, 1 } }, 3);
    assert_lane(program, 0, true, false);
    assert_lane(program, 1, false, true);
    const struct program_lane *idle = &program->program.lanes[2];
    assert_false(idle->has_work || idle->needs_fork || idle->needs_join);
    hand_program_destroy(program);
}

static void add_to(char *text, size_t size, const braid_step *op)
{
    static const char letters[] = {
        [BRAID_STEP_RUN] = 'r', [BRAID_STEP_RECORD] = 'p', [BRAID_STEP_WAIT] = 'w'
    };
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%u:%c", used ? " " : "", op->lane, letters[op->kind]);
    used = strlen(text);
    if (op->kind == BRAID_STEP_RUN)
        snprintf(text + used, size - used, "%u", op->node);
}

// Compares all operations, each with its lane.
static void assert_order(const struct hand_program *hand, const char *expected)
{
    char text[200] = "";
    for (size_t i = 0; i < hand->program.num_ops; i++)
        add_to(text, sizeof(text), &hand->program.ops[i]);
    assert_string_equal(text, expected);
}

// Task 1 could begin with the two posts, and would be queued between them.
static void posts_are_issued_before_what_they_do_not_wait_for(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RECORD, 0 }, { RUN, 1 } };
    const struct hand_step b[] = { { WAIT, 0 }, { RUN, 2 }, { RUN, 3 } };
    struct hand_program *program = make((const struct hand_lane[]){ { a, 3 }, { b, 3 } }, 2);
    assert_order(program, "0:r0 0:p 0:r1 1:w 1:r2 1:r3");
    program->program.kinds[2] = program->program.kinds[3] = WORK_POST;
    assert_true(braid_program_issue_posts_first(&program->program));
    assert_order(program, "0:r0 0:p 1:w 1:r2 1:r3 0:r1");
    hand_program_destroy(program);
}

// That of lane 1 is behind task 1, and that of lane 2, which waits for nothing, behind it: so it is
// with the other ranks.
static void posts_are_not_exchanged(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RUN, 1 }, { RECORD, 0 }, { RUN, 4 } };
    const struct hand_step b[] = { { WAIT, 0 }, { RUN, 2 } };
    const struct hand_step c[] = { { RUN, 3 } };
    struct hand_program *program =
        make((const struct hand_lane[]){ { a, 4 }, { b, 2 }, { c, 1 } }, 3);
    assert_order(program, "0:r0 0:r1 0:p 0:r4 1:w 1:r2 2:r3");
    program->program.kinds[2] = program->program.kinds[3] = WORK_POST;
    assert_true(braid_program_issue_posts_first(&program->program));
    assert_order(program, "0:r0 0:r1 0:p 1:w 1:r2 2:r3 0:r4");
    hand_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_waits_first_is_not_forked),
        cmocka_unit_test(nodes_without_work_count_for_nothing),
        cmocka_unit_test(posts_are_issued_before_what_they_do_not_wait_for),
        cmocka_unit_test(posts_are_not_exchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
