// SPDX-License-Identifier: Apache-2.0
// A lane whose walker loses its core while it polls is walked on by the one that waits for it.
#include <pthread.h>
#include <signal.h>

#include "backends/cpu/walker/walker.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/hand_program.h"

enum { MAX_FRAMES = 20000, NUM_SIGNALS = 1000, NUM_LATER_FRAMES = 100 };

// Two lanes: the first waits for the second's first task, which the second wait follows.
enum { BEGIN_FIRST, GO_ON_FIRST, STOP_FIRST_WALKER, END_SECOND, NUM_TASKS };

// A signal handler keeps the first lane's walker where it is, as a system would that runs something
// else on its core, if it finds the lane left open. The first task of the second lane sends the
// signals; when that task ends, so does the first lane's wait.
static struct backend *backend;
static struct hand_program *program;
static _Atomic pthread_t first_walker;
static atomic_bool first_has_begun, second_has_begun, wait_is_over;
static bool stops; // in this frame
static atomic_bool wants_stop, is_stopped;
static struct gate resume;
static atomic_uint num_gone_on, num_ends; // runs of these tasks

// The program lives while a stop is wanted, and nothing tells the thread sanitizer so.
__attribute__((no_sanitize("thread"))) static bool is_lane_open(void)
{
    return atomic_load(&cpu_program_of(program->playing)->lanes[0].open_at);
}

static void stop_if_open(int signal)
{
    (void)signal; // a sanitizer may keep it until the program is gone, when the wait is over
    if (!atomic_load(&wants_stop) || !pthread_equal(pthread_self(), first_walker) ||
        atomic_load(&wait_is_over) || !is_lane_open() || atomic_exchange(&is_stopped, true))
        return;
    gate_pass(&resume);
    atomic_store(&is_stopped, false);
}

// Where a walker is to be stopped, both lanes are walked at once.
static void begin_first(void *user)
{
    (void)user;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    atomic_store(&first_walker, pthread_self());
    atomic_store(&wants_stop, stops && !atomic_load(&is_stopped));
    atomic_store(&first_has_begun, true);
    while (stops && !atomic_load(&second_has_begun) && !atomic_load(&is_stopped))
        braid_cpu_relax();
}

static void stop_first_walker(void *user)
{
    (void)user;
    atomic_store(&second_has_begun, true);
    while (!atomic_load(&first_has_begun))
        braid_cpu_relax();
    for (int i = 0; i < NUM_SIGNALS && !atomic_load(&is_stopped); i++) {
        if (atomic_load(&wants_stop))
            pthread_kill(first_walker, SIGUSR1);
        for (int k = 0; k < 10; k++)
            braid_cpu_relax();
    }
    atomic_store(&wait_is_over, true);
}

static void go_on_first(void *user)
{
    (void)user;
    atomic_fetch_add(&num_gone_on, 1);
}

static void end_second(void *user)
{
    (void)user;
    atomic_fetch_add(&num_ends, 1);
}

static struct backend_task host_task(braid_host_function *call)
{
    return (struct backend_task){ .kind = WORK_HOST, .name = "host", .host = { .call = call } };
}

static void create_program(void)
{
    static const struct hand_step first[] = {
        { .kind = BRAID_STEP_RUN, .index = BEGIN_FIRST },
        { .kind = BRAID_STEP_WAIT, .index = 0 },
        { .kind = BRAID_STEP_RUN, .index = GO_ON_FIRST },
        { .kind = BRAID_STEP_RECORD, .index = 1 },
    };
    static const struct hand_step second[] = {
        { .kind = BRAID_STEP_RUN, .index = STOP_FIRST_WALKER },
        { .kind = BRAID_STEP_RECORD, .index = 0 },
        { .kind = BRAID_STEP_WAIT, .index = 1 },
        { .kind = BRAID_STEP_RUN, .index = END_SECOND },
    };
    const struct backend_task tasks[NUM_TASKS] = {
        [BEGIN_FIRST] = host_task(begin_first),
        [GO_ON_FIRST] = host_task(go_on_first),
        [STOP_FIRST_WALKER] = host_task(stop_first_walker),
        [END_SECOND] = host_task(end_second),
    };
    const struct hand_lane lanes[] = { { .steps = first, .num_steps = 4 },
                                       { .steps = second, .num_steps = 4 } };
    struct hand_plan plan = {
        .lanes = lanes, .num_lanes = 2, .tasks = tasks, .num_tasks = NUM_TASKS, .num_records = 2
    };
    check_ok(hand_program_create(backend, &braid_walker_player, &plan, &program));
}

static void run_frame(bool with_stop)
{
    unsigned num_before = atomic_load(&num_ends);
    atomic_store(&first_has_begun, false);
    atomic_store(&second_has_begun, false);
    atomic_store(&wait_is_over, false);
    stops = with_stop;
    check_ok(hand_program_launch(program, NULL));
    assert_true(reaches(&num_ends, num_before + 1)); // a wait for the stream would walk lanes
    atomic_store(&wants_stop, false);
}

static int set_up(void **state)
{
    (void)state;
    struct sigaction action = { .sa_handler = stop_if_open, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    atomic_store(&resume.open, false);
    backend = open_cpu(2);
    create_program();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_cpu(backend);
    return 0;
}

// Runs frames until one has stopped the first walker, and has ended all the same.
static void run_until_stopped(void)
{
    for (int i = 0; i < MAX_FRAMES && !atomic_load(&is_stopped); i++)
        run_frame(true);
    assert_false(atomic_load(&resume.gave_way));
    assert_true(atomic_load(&is_stopped));
}

static void frames_end_without_a_walker_that_has_stopped(void **state)
{
    (void)state;
    run_until_stopped();
    for (int i = 0; i < NUM_LATER_FRAMES; i++)
        run_frame(false);
    assert_true(atomic_load(&is_stopped));
    gate_open(&resume);
    for (int i = 0; i < NUM_LATER_FRAMES; i++) // it comes back somewhere in these
        run_frame(false);
    synchronize(backend, NULL);
    hand_program_destroy(program);
    assert_int_equal(atomic_load(&num_gone_on), atomic_load(&num_ends));
}

static void *open_later(void *user)
{
    (void)user;
    for (int i = 0; i < 100; i++)
        braid_cpu_give_way();
    gate_open(&resume);
    return NULL;
}

// It looks at the program's words when it is back.
static void a_program_is_freed_only_when_its_walkers_are_back(void **state)
{
    (void)state;
    run_until_stopped();
    pthread_t opener;
    assert_int_equal(pthread_create(&opener, NULL, open_later, NULL), 0);
    synchronize(backend, NULL);
    hand_program_destroy(program);
    bool was_stopped = atomic_load(&is_stopped);
    assert_int_equal(pthread_join(opener, NULL), 0);
    assert_false(was_stopped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_end_without_a_walker_that_has_stopped, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_program_is_freed_only_when_its_walkers_are_back, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("cpu: polling lanes are taken over", tests, NULL, NULL);
}
