// SPDX-License-Identifier: Apache-2.0
// Arguments changed between launches reach the launches after the change, and no earlier one.
#include <stdlib.h>

#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/hand_program.h"

enum { NUM_FRAMES = 40, NUM_TASKS = 3 };

// Each task appends its value to its own log.
struct log {
    unsigned values[NUM_FRAMES * 30];
    unsigned num;
};

static void append_value(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    struct log *log = *(struct log **)args[0];
    log->values[log->num++] = *(const unsigned *)args[1];
}

struct changing {
    struct backend *backend;
    struct backend_kernel *kernel;
    struct hand_program *program;
    struct log *logs; // a task
};

static void create(struct changing *program, struct backend *backend)
{
    program->backend = backend;
    program->kernel = load_kernel(backend, "append", append_value);
    program->logs = calloc(NUM_TASKS, sizeof(*program->logs));
    assert_non_null(program->logs);
    struct backend_task tasks[NUM_TASKS];
    struct hand_step steps[NUM_TASKS];
    struct hand_lane lanes[NUM_TASKS];
    struct log *logs[NUM_TASKS];
    unsigned zero = 0;
    void *args[NUM_TASKS][2];
    static const uint32_t bytes[] = { sizeof(struct log *), sizeof(unsigned) };
    for (uint32_t i = 0; i < NUM_TASKS; i++) {
        logs[i] = &program->logs[i];
        args[i][0] = &logs[i];
        args[i][1] = &zero;
        tasks[i] = (struct backend_task){ .kind = WORK_KERNEL,
                                          .name = "append",
                                          .launch = { .kernel = program->kernel,
                                                      .grid = { 1, 1, 1 },
                                                      .block = { 1, 1, 1 },
                                                      .num_args = 2,
                                                      .args = args[i],
                                                      .arg_bytes = bytes } };
        steps[i] = (struct hand_step){ BRAID_STEP_RUN, i };
        lanes[i] = (struct hand_lane){ &steps[i], 1 };
    }
    struct hand_plan plan = {
        .lanes = lanes, .num_lanes = NUM_TASKS, .tasks = tasks, .num_tasks = NUM_TASKS
    };
    check_ok(hand_program_create(backend, &braid_walker_player, &plan, &program->program));
}

static void destroy(struct changing *program)
{
    hand_program_destroy(program->program);
    program->backend->ops->kernel_unload(program->backend, program->kernel);
    free(program->logs);
}

static braid_status set_value(struct changing *program, uint32_t task, unsigned value)
{
    struct log *log = &program->logs[task];
    return hand_program_set_args(program->program, task, (void *[]){ &log, &value });
}

static void launch(struct changing *program)
{
    check_ok(hand_program_launch(program->program, NULL));
}

static void frames_in_flight_keep_their_arguments(void **state)
{
    (void)state;
    struct changing program;
    struct gate gate = { 0 };
    create(&program, open_cpu(2));
    queue_host(program.backend, NULL, gate_pass, &gate);
    for (unsigned frame = 0; frame < NUM_FRAMES; frame++) {
        check_ok(set_value(&program, 0, 10 + frame));
        check_ok(set_value(&program, 0, 100 + frame)); // the later of two changes counts
        if (frame % 3 == 0)
            check_ok(set_value(&program, 1, 200 + frame));
        launch(&program);
    }
    gate_open(&gate);
    synchronize(program.backend, NULL);
    for (unsigned frame = 0; frame < NUM_FRAMES; frame++) {
        assert_int_equal(program.logs[0].values[frame], 100 + frame);
        assert_int_equal(program.logs[1].values[frame], 200 + frame / 3 * 3);
        assert_int_equal(program.logs[2].values[frame], 0);
    }
    struct backend *backend = program.backend;
    destroy(&program);
    close_cpu(backend);
}

// As many changes wait at once as in the longest queue so far, so nothing more is needed.
static void changes_that_repeat_allocate_nothing(void **state)
{
    (void)state;
    struct changing program;
    create(&program, open_cpu(2));
    uint64_t num_calls = 0;
    for (unsigned round = 0; round < 20; round++) {
        struct gate gate = { 0 };
        queue_host(program.backend, NULL, gate_pass, &gate);
        for (unsigned frame = 0; frame < NUM_FRAMES; frame++) {
            check_ok(set_value(&program, frame % NUM_TASKS, frame));
            launch(&program);
        }
        gate_open(&gate);
        synchronize(program.backend, NULL);
        if (round == 0)
            num_calls = failing_memory_num_calls();
    }
    assert_int_equal(failing_memory_num_calls(), num_calls);
    assert_int_equal(program.logs[0].num, 20 * NUM_FRAMES);
    struct backend *backend = program.backend;
    destroy(&program);
    close_cpu(backend);
}

static void a_change_that_finds_no_memory_changes_nothing(void **state)
{
    (void)state;
    struct changing program;
    create(&program, open_cpu(2));
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        failing_memory_arm(nth);
        braid_status status = set_value(&program, 0, 7);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        check_ok(set_value(&program, 1, 8));
        launch(&program);
        synchronize(program.backend, NULL);
        assert_int_equal(program.logs[0].values[nth - 1], failed ? 0 : 7);
        assert_int_equal(program.logs[1].values[nth - 1], 8);
        failed = failed && nth < 10;
    }
    struct backend *backend = program.backend;
    destroy(&program);
    close_cpu(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_in_flight_keep_their_arguments),
        cmocka_unit_test(changes_that_repeat_allocate_nothing),
        cmocka_unit_test(a_change_that_finds_no_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("cpu: changed arguments reach later launches only", tests,
                                       NULL, NULL);
}
