// SPDX-License-Identifier: Apache-2.0
// A program keeps of a plan's steps only what players must do: no task without work, no position
// that nobody waits for, no wait that an earlier one covers, no fork or join that follows from
// waits. And it issues posts of operations between ranks before other work that could begin then.
#include <stdio.h>
#include <string.h>

#include "program/program.h"
#include "support/check.h"
#include "support/hand_program.h"

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

// "r2 p1 w0.1": runs task 2, publishes its first position, waits for the first of lane 0.
static void assert_lane(const struct hand_program *hand, uint32_t lane, const char *expected,
                        bool needs_fork, bool needs_join)
{
    const struct program *program = &hand->program;
    const struct program_lane *from = &program->lanes[lane];
    char text[128] = "";
    for (size_t i = 0; i < from->num_ops; i++) {
        const struct program_op *op = &program->ops[from->first_op + i];
        const struct program_position *position = &program->positions[op->index];
        char *end = text + strlen(text);
        size_t size = sizeof(text) - strlen(text);
        const char *space = i ? " " : "";
        if (op->kind == PROGRAM_RUN)
            snprintf(end, size, "%sr%u", space, op->index);
        else if (op->kind == PROGRAM_PUBLISH)
            snprintf(end, size, "%sp%u", space, position->number);
        else
            snprintf(end, size, "%sw%u.%u", space, position->lane, position->number);
    }
    assert_string_equal(text, expected);
    assert_int_equal(from->needs_fork, needs_fork);
    assert_int_equal(from->needs_join, needs_join);
}

static void a_task_without_work_leaves_its_waits_and_its_position(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RECORD, 0 } };
    const struct hand_step b[] = { { RUN, 1 }, { WAIT, 0 }, { RUN, 5 }, { RECORD, 1 }, { RUN, 3 } };
    const struct hand_step c[] = { { WAIT, 1 }, { RUN, 2 } };
    struct hand_program *program =
        make((const struct hand_lane[]){ { a, 2 }, { b, 5 }, { c, 2 } }, 3);
    assert_lane(program, 0, "r0 p1", true, false);
    assert_lane(program, 1, "r1 w0.1 p1 r3", true, true);
    assert_lane(program, 2, "w1.1 r2", false, true);
    assert_int_equal(program->program.num_empties, 1);
    hand_program_destroy(program);
}

static void nobody_waits_for_what_has_nothing_before_it(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 5 }, { RECORD, 0 } };
    const struct hand_step b[] = { { WAIT, 0 }, { RUN, 1 } };
    struct hand_program *program = make((const struct hand_lane[]){ { a, 2 }, { b, 2 } }, 2);
    assert_lane(program, 0, "", false, false);
    assert_lane(program, 1, "r1", true, true); // it begins with work now, so it is forked
    hand_program_destroy(program);
}

static void a_wait_that_an_earlier_one_covers_goes_with_its_position(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RECORD, 0 }, { RUN, 1 }, { RECORD, 1 } };
    const struct hand_step b[] = { { WAIT, 1 }, { RUN, 2 }, { WAIT, 0 }, { RUN, 3 } };
    struct hand_program *program = make((const struct hand_lane[]){ { a, 4 }, { b, 4 } }, 2);
    assert_lane(program, 0, "r0 r1 p1", true, false);
    assert_lane(program, 1, "w0.1 r2 r3", false, true);
    hand_program_destroy(program);
}

static void two_records_with_nothing_between_are_one_position(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RECORD, 0 }, { RUN, 5 }, { RECORD, 1 } };
    const struct hand_step b[] = { { WAIT, 0 }, { RUN, 1 } };
    const struct hand_step c[] = { { WAIT, 1 }, { RUN, 2 } };
    struct hand_program *program =
        make((const struct hand_lane[]){ { a, 4 }, { b, 2 }, { c, 2 } }, 3);
    assert_lane(program, 0, "r0 p1", true, false);
    assert_lane(program, 1, "w0.1 r1", false, true);
    assert_lane(program, 2, "w0.1 r2", false, true);
    hand_program_destroy(program);
}

static void a_position_that_nobody_waits_for_is_not_published(void **state)
{
    (void)state;
    const struct hand_step a[] = { { RUN, 0 }, { RECORD, 0 } };
    struct hand_program *program = make((const struct hand_lane[]){ { a, 2 } }, 1);
    assert_lane(program, 0, "r0", true, true);
    hand_program_destroy(program);
}

static void add_to(char *text, size_t size, uint32_t lane, const struct program_op *op)
{
    static const char letters[] = {
        [PROGRAM_RUN] = 'r', [PROGRAM_PUBLISH] = 'p', [PROGRAM_WAIT] = 'w'
    };
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%u:%c", used ? " " : "", lane, letters[op->kind]);
    used = strlen(text);
    if (op->kind == PROGRAM_RUN)
        snprintf(text + used, size - used, "%u", op->index);
}

// Of all operations, each with its lane.
static void assert_order(const struct hand_program *hand, const char *expected)
{
    struct program_walk walk;
    char text[200] = "";
    const struct program_op *op;
    assert_true(braid_program_walk_begin(&hand->program, &walk));
    while ((op = program_walk_next(&hand->program, &walk)))
        add_to(text, sizeof(text), walk.lane, op);
    braid_program_walk_end(&walk);
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
    program->tasks.items[2].kind = program->tasks.items[3].kind = WORK_POST;
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
    program->tasks.items[2].kind = program->tasks.items[3].kind = WORK_POST;
    assert_true(braid_program_issue_posts_first(&program->program));
    assert_order(program, "0:r0 0:r1 0:p 1:w 1:r2 2:r3 0:r4");
    hand_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_without_work_leaves_its_waits_and_its_position),
        cmocka_unit_test(nobody_waits_for_what_has_nothing_before_it),
        cmocka_unit_test(a_wait_that_an_earlier_one_covers_goes_with_its_position),
        cmocka_unit_test(two_records_with_nothing_between_are_one_position),
        cmocka_unit_test(a_position_that_nobody_waits_for_is_not_published),
        cmocka_unit_test(posts_are_issued_before_what_they_do_not_wait_for),
        cmocka_unit_test(posts_are_not_exchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
