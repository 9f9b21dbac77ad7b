// SPDX-License-Identifier: Apache-2.0
// A launch starts after earlier work of its stream and after the program's last launch, later work
// starts after it, and lanes and programs that are not held up go on.
#include <stdlib.h>

#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/failing_memory.h"
#include "support/hand_program.h"

static struct backend *backend;
static struct backend_stream *a, *b;

static int set_up(void **state)
{
    (void)state;
    backend = open_cpu(2);
    a = new_stream(backend);
    b = new_stream(backend);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    backend->ops->stream_destroy(backend, a);
    backend->ops->stream_destroy(backend, b);
    close_cpu(backend);
    return 0;
}

static struct backend_task host_task(braid_host_function *call, void *user)
{
    return (struct backend_task){
        .kind = WORK_HOST,
        .name = "host",
        .host = { .call = call, .user = user },
    };
}

// Lane i runs task i alone.
static struct hand_program *create_program(const struct backend_task *tasks, uint32_t num_tasks)
{
    struct hand_step steps[8];
    struct hand_lane lanes[8];
    assert_true(num_tasks <= 8);
    for (uint32_t i = 0; i < num_tasks; i++) {
        steps[i] = (struct hand_step){ .kind = BRAID_STEP_RUN, .index = i };
        lanes[i] = (struct hand_lane){ .steps = &steps[i], .num_steps = 1 };
    }
    struct hand_plan plan = {
        .lanes = lanes, .num_lanes = num_tasks, .tasks = tasks, .num_tasks = num_tasks
    };
    struct hand_program *program = NULL;
    check_ok(hand_program_create(backend, &braid_walker_player, &plan, &program));
    return program;
}

static void launch(struct hand_program *program, struct backend_stream *stream)
{
    check_ok(hand_program_launch(program, stream));
}

static void destroy(struct hand_program *program)
{
    hand_program_destroy(program);
}

static void add_one(void *counter)
{
    atomic_fetch_add((atomic_uint *)counter, 1);
}

static void a_launch_keeps_its_place_in_the_stream(void **state)
{
    (void)state;
    struct gate before = { 0 }, inside = { 0 };
    atomic_uint num_inside = 0, num_after = 0;
    const struct backend_task tasks[] = { host_task(add_one, &num_inside),
                                          host_task(gate_pass, &inside) };
    struct hand_program *program = create_program(tasks, 2);
    queue_host(backend, a, gate_pass, &before);
    launch(program, a);
    queue_host(backend, a, add_one, &num_after);
    queue_host(backend, b, add_one, &num_after);
    synchronize(backend, b);
    assert_int_equal(atomic_load(&num_inside), 0);
    gate_open(&before);
    assert_true(reaches(&num_inside, 1));
    assert_int_equal(atomic_load(&num_after), 1); // b's: a's work follows the whole launch
    assert_int_equal(backend->ops->stream_query(backend, a), BRAID_NOT_READY);
    gate_open(&inside);
    synchronize(backend, a);
    assert_int_equal(atomic_load(&num_after), 2);
    destroy(program);
}

struct overlap {
    atomic_uint num_inside, num_overlaps, num_runs;
};

static void note_overlap(void *user)
{
    struct overlap *overlap = user;
    if (atomic_fetch_add(&overlap->num_inside, 1))
        atomic_fetch_add(&overlap->num_overlaps, 1);
    for (volatile int i = 0; i < 500; i++)
        continue;
    atomic_fetch_add(&overlap->num_runs, 1);
    atomic_fetch_sub(&overlap->num_inside, 1);
}

static void launches_of_one_program_never_overlap(void **state)
{
    (void)state;
    struct overlap overlap = { 0 };
    const struct backend_task task = host_task(note_overlap, &overlap);
    struct hand_program *program = create_program(&task, 1);
    for (int i = 0; i < 500; i++) {
        launch(program, a);
        launch(program, b);
        launch(program, NULL);
    }
    synchronize(backend, a);
    synchronize(backend, b);
    synchronize(backend, NULL);
    assert_int_equal(atomic_load(&overlap.num_runs), 1500);
    assert_int_equal(atomic_load(&overlap.num_overlaps), 0);
    destroy(program);
}

static void launches_of_one_program_keep_their_order_across_streams(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    atomic_uint count = 0;
    const struct backend_task task = host_task(add_one, &count);
    struct hand_program *program = create_program(&task, 1);
    queue_host(backend, a, gate_pass, &gate);
    launch(program, a);
    launch(program, b); // second, so it waits for a's
    assert_int_equal(backend->ops->stream_query(backend, b), BRAID_NOT_READY);
    assert_int_equal(atomic_load(&count), 0);
    gate_open(&gate);
    synchronize(backend, b);
    assert_int_equal(atomic_load(&count), 2);
    destroy(program);
}

struct meeting {
    atomic_uint num_arrived, num_missed;
};

static void meet(void *user)
{
    struct meeting *meeting = user;
    atomic_fetch_add(&meeting->num_arrived, 1);
    if (!reaches(&meeting->num_arrived, 2))
        atomic_fetch_add(&meeting->num_missed, 1);
}

static void two_lanes_run_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct meeting meeting = { 0 };
        const struct backend_task tasks[] = { host_task(meet, &meeting),
                                              host_task(meet, &meeting) };
        struct hand_program *program = create_program(tasks, 2);
        launch(program, a);
        synchronize(backend, a);
        assert_int_equal(atomic_load(&meeting.num_missed), 0);
        destroy(program);
    }
}

static void two_programs_run_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct meeting meeting = { 0 };
        const struct backend_task task = host_task(meet, &meeting);
        struct hand_program *one = create_program(&task, 1), *two = create_program(&task, 1);
        launch(one, a);
        launch(two, b);
        synchronize(backend, a);
        synchronize(backend, b);
        assert_int_equal(atomic_load(&meeting.num_missed), 0);
        destroy(one);
        destroy(two);
    }
}

// Lane 0 is stuck in its task, lane 1 waits for it; both workers have been there. Lanes 2 and 3,
// which wait for each other in turn, and another program must run all the same.
static void a_stuck_lane_holds_up_only_those_who_wait_for_it(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    atomic_uint num_waiting = 0, num_free = 0;
    const struct backend_task tasks[] = {
        host_task(gate_pass, &gate), host_task(add_one, &num_waiting),
        host_task(add_one, &num_free), host_task(add_one, &num_free), host_task(add_one, &num_free)
    };
    const struct hand_step lane0[] = { { BRAID_STEP_RUN, 0 }, { BRAID_STEP_RECORD, 0 } };
    const struct hand_step lane1[] = { { BRAID_STEP_WAIT, 0 }, { BRAID_STEP_RUN, 1 } };
    const struct hand_step lane2[] = { { BRAID_STEP_RUN, 2 },
                                       { BRAID_STEP_RECORD, 1 },
                                       { BRAID_STEP_WAIT, 2 },
                                       { BRAID_STEP_RUN, 3 } };
    const struct hand_step lane3[] = { { BRAID_STEP_WAIT, 1 },
                                       { BRAID_STEP_RUN, 4 },
                                       { BRAID_STEP_RECORD, 2 } };
    const struct hand_lane lanes[] = { { lane0, 2 }, { lane1, 2 }, { lane2, 4 }, { lane3, 3 } };
    struct hand_plan plan = {
        .lanes = lanes, .num_lanes = 4, .num_records = 3, .tasks = tasks, .num_tasks = 5
    };
    struct hand_program *program = NULL;
    check_ok(hand_program_create(backend, &braid_walker_player, &plan, &program));
    struct hand_program *other = create_program(&tasks[2], 1);
    launch(program, a);
    launch(other, b);
    synchronize(backend, b);
    assert_true(reaches(&num_free, 4));
    assert_int_equal(atomic_load(&num_waiting), 0);
    gate_open(&gate);
    synchronize(backend, a);
    assert_int_equal(atomic_load(&num_waiting), 1);
    assert_false(atomic_load(&gate.gave_way));
    destroy(program);
    destroy(other);
}

static void a_program_without_work_still_orders_the_stream(void **state)
{
    (void)state;
    const struct backend_task tasks[] = { { .kind = WORK_EMPTY, .name = "join" } };
    struct hand_program *program = create_program(tasks, 1), *nothing = create_program(NULL, 0);
    atomic_uint count = 0;
    for (unsigned i = 1; i <= 20; i++) {
        launch(program, a);
        launch(nothing, a);
        queue_host(backend, a, add_one, &count);
        synchronize(backend, a);
        assert_int_equal(atomic_load(&count), i);
    }
    destroy(program);
    destroy(nothing);
}

static void a_queue_call_is_refused_by_name(void **state)
{
    (void)state;
    const struct backend_task task = { .kind = WORK_QUEUE, .name = "gemm" };
    const struct hand_step step = { BRAID_STEP_RUN, 0 };
    const struct hand_lane lane = { &step, 1 };
    struct hand_plan plan = { .lanes = &lane, .num_lanes = 1, .tasks = &task, .num_tasks = 1 };
    struct hand_program *program = NULL;
    check_fails(hand_program_create(backend, &braid_walker_player, &plan, &program),
                BRAID_UNSUPPORTED, "gemm");
    assert_null(program);
}

static void repeated_launches_allocate_nothing(void **state)
{
    (void)state;
    atomic_uint count = 0;
    struct gate gate = { 0 };
    const struct backend_task tasks[] = { host_task(add_one, &count), host_task(add_one, &count) };
    struct hand_program *program = create_program(tasks, 2);
    queue_host(backend, a, gate_pass, &gate);
    launch(program, a);
    launch(program, a);
    gate_open(&gate);
    synchronize(backend, a);
    uint64_t num_calls = failing_memory_num_calls();
    for (int i = 0; i < 1000; i++) {
        launch(program, a);
        launch(program, a);
        synchronize(backend, a);
    }
    assert_int_equal(failing_memory_num_calls(), num_calls);
    assert_int_equal(atomic_load(&count), 4004);
    destroy(program);
}

static void creating_survives_every_failed_allocation(void **state)
{
    (void)state;
    atomic_uint count = 0;
    const struct backend_task task = host_task(add_one, &count);
    const struct hand_step step = { BRAID_STEP_RUN, 0 };
    const struct hand_lane lane = { &step, 1 };
    struct hand_plan plan = { .lanes = &lane, .num_lanes = 1, .tasks = &task, .num_tasks = 1 };
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        struct hand_program *program = NULL;
        failing_memory_arm(nth);
        braid_status status = hand_program_create(backend, &braid_walker_player, &plan, &program);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        destroy(program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_launch_keeps_its_place_in_the_stream, set_up, tear_down),
        cmocka_unit_test_setup_teardown(launches_of_one_program_never_overlap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(launches_of_one_program_keep_their_order_across_streams,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_lanes_run_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_programs_run_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stuck_lane_holds_up_only_those_who_wait_for_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_program_without_work_still_orders_the_stream, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_queue_call_is_refused_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repeated_launches_allocate_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(creating_survives_every_failed_allocation, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("cpu: programs keep their place", tests, NULL, NULL);
}
