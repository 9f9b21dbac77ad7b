// SPDX-License-Identifier: Apache-2.0
// Walkers that share a core do not stand in each other's way, and sleepers of other cores are woken
// first.
#include <pthread.h>
#include <sched.h>

#include "backends/cpu/walker/walker.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/hand_program.h"

enum { MAX_FRAMES = 2000, BUSY_NS = 300000 };

static atomic_bool first_has_begun;

static void begin_first(void *user)
{
    (void)user;
    atomic_store(&first_has_begun, true);
}

// Does not give the core up, so the other walker's yield lasts as long as this, or longer.
static void work_long(void *user)
{
    (void)user;
    uint64_t end_ns = clock_now_ns() + 100 * (uint64_t)BUSY_NS;
    while (!atomic_load(&first_has_begun) && clock_now_ns() < end_ns)
        sched_yield();
    end_ns = clock_now_ns() + BUSY_NS;
    while (clock_now_ns() < end_ns)
        braid_cpu_relax();
}

static void do_nothing(void *user)
{
    (void)user;
}

static struct backend_task host_task(braid_host_function *call)
{
    return (struct backend_task){ .kind = WORK_HOST, .name = "host", .host = { .call = call } };
}

// The first lane waits for the second's long task.
static struct hand_program *create_program(struct backend *backend)
{
    static const struct hand_step first[] = {
        { .kind = BRAID_STEP_RUN, .index = 0 },
        { .kind = BRAID_STEP_WAIT, .index = 0 },
        { .kind = BRAID_STEP_RUN, .index = 1 },
    };
    static const struct hand_step second[] = {
        { .kind = BRAID_STEP_RUN, .index = 2 },
        { .kind = BRAID_STEP_RECORD, .index = 0 },
    };
    const struct backend_task tasks[] = { host_task(begin_first), host_task(do_nothing),
                                          host_task(work_long) };
    const struct hand_lane lanes[] = { { .steps = first, .num_steps = 3 },
                                       { .steps = second, .num_steps = 2 } };
    struct hand_plan plan = {
        .lanes = lanes, .num_lanes = 2, .tasks = tasks, .num_tasks = 3, .num_records = 1
    };
    struct hand_program *program = NULL;
    check_ok(hand_program_create(backend, &braid_walker_player, &plan, &program));
    return program;
}

static unsigned run_frame(struct backend *backend, struct hand_program *program)
{
    atomic_store(&first_has_begun, false);
    check_ok(hand_program_launch(program, NULL));
    synchronize(backend, NULL);
    return atomic_load(&cpu_program_of(program->playing)->lanes[0].num_sleeps);
}

// All threads on one core: after a yield that took long the lane's walkers sleep for some waits.
// How soon they try yielding again is the scheduler's choice, so it is not asked.
static void a_walker_in_the_way_sleeps(void **state)
{
    (void)state;
    cpu_set_t all, one;
    int core = sched_getcpu();
    if (core < 0 || sched_getaffinity(0, sizeof(all), &all))
        skip_because("the system does not tell where threads run");
    CPU_ZERO(&one);
    CPU_SET((unsigned)core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    struct backend *backend = open_cpu(2); // its threads get the mask of the one that opens it
    struct hand_program *program = create_program(backend);
    unsigned num_sleeps = 0;
    int frame = 0;
    while (frame++ < MAX_FRAMES && !num_sleeps)
        num_sleeps = run_frame(backend, program);
    assert_true(num_sleeps > 0);
    hand_program_destroy(program);
    close_cpu(backend);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void wake(struct cpu_backend *backend, struct cpu_sleeper **list,
                 const struct cpu_sleeper *expected)
{
    assert_true(braid_cpu_wake_one(backend, list));
    assert_ptr_equal(backend->woken, expected);
}

static void sleepers_of_other_cores_are_woken_first(void **state)
{
    (void)state;
    struct cpu_backend *backend = cpu_backend_of(open_cpu(1));
    cpu_set_t all, one;
    int core = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET((unsigned)core, &one);
    if (core < 0 || sched_getaffinity(0, sizeof(all), &all) ||
        sched_setaffinity(0, sizeof(one), &one))
        skip_because("the system does not tell where threads run");
    struct cpu_sleeper sleepers[3];
    const int cores[3] = { core, core + 1, core };
    struct cpu_sleeper *list = NULL;
    for (int i = 2; i >= 0; i--) {
        braid_cpu_sleeper_init(&sleepers[i]);
        sleepers[i].core = cores[i];
        sleepers[i].next = list;
        list = &sleepers[i];
    }
    cpu_lock(backend);
    wake(backend, &list, &sleepers[1]);
    wake(backend, &list, &sleepers[0]);
    wake(backend, &list, &sleepers[2]);
    assert_false(braid_cpu_wake_one(backend, &list));
    cpu_unlock(backend);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sem_trywait(&sleepers[i].wake), 0);
        braid_cpu_sleeper_finish(&sleepers[i]);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    close_cpu(&backend->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walker_in_the_way_sleeps),
        cmocka_unit_test(sleepers_of_other_cores_are_woken_first),
    };
    return cmocka_run_group_tests_name("cpu: waiting lanes leave their core", tests, NULL, NULL);
}
