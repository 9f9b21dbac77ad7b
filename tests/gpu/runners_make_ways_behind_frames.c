// SPDX-License-Identifier: Apache-2.0
// While a runner's next way is made, frames are played by the best way so far. Whatever becomes of
// that way, each frame is played once, and nothing is left.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/capturing.h"
#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"
#include "support/runner.h"
#include "support/sanitizers.h"

enum { FRAMES_BESIDE = 30, MOST_FRAMES = 400, MOST_LOADS = 12, MOST_NAPS = 100000 };

static pthread_t program;
static const char *held; // a call of the driver; "": any; NULL: none
static atomic_bool is_held, may_go_on;
static atomic_int num_here, num_behind; // islands that each thread has loaded

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

// Calls on threads of Braid's wait for the test.
static void hold(const char *function)
{
    if (!held || (*held && strcmp(function, held) != 0) || pthread_equal(pthread_self(), program))
        return;
    atomic_store(&is_held, true);
    while (!atomic_load(&may_go_on))
        nap();
}

static void watch_module(const char *text)
{
    if (strstr(text, "braid_island"))
        atomic_fetch_add(pthread_equal(pthread_self(), program) ? &num_here : &num_behind, 1);
}

static void begin(const char *call)
{
    program = pthread_self();
    held = call;
    atomic_store(&is_held, false);
    atomic_store(&may_go_on, false);
    atomic_store(&num_here, 0);
    atomic_store(&num_behind, 0);
    standin_hold(hold);
    standin_watch_modules(watch_module);
}

static void end(void)
{
    standin_hold(NULL);
    standin_watch_modules(NULL);
}

static void launch(braid_runner *runner)
{
    check_ok(braid_runner_launch(runner, NULL));
    check_ok(braid_runner_wait(runner));
}

static unsigned launch_until_chosen(braid_runner *runner)
{
    unsigned num = 0;
    for (; !runner_await_way(runner).is_chosen; num++) {
        assert_true(num < MOST_FRAMES);
        launch(runner);
    }
    return num;
}

static void check_frames(const struct island_chain *chain, unsigned num)
{
    for (unsigned i = 0; i < ISLAND_CHAIN; i++)
        assert_int_equal(chain->ran[i], num);
}

static void check_reason(braid_runner *runner, const char *part)
{
    braid_runner_info info;
    braid_runner_get_info(runner, &info);
    if (!strstr(info.reason, part))
        fail_msg("the runner tells: %s", info.reason);
}

// The chain has costs, by which one island is shorter.
static braid_runner *make_held(struct island_chain *chain, const char *call)
{
    braid_runner *runner;
    island_chain_make(chain, &island_other);
    begin(call);
    check_ok(braid_runner_create(chain->device, chain->graph, NULL, &runner));
    for (int i = 0; i < MOST_NAPS && !atomic_load(&is_held); i++)
        nap();
    assert_true(atomic_load(&is_held));
    return runner;
}

static void frames_go_on_while_an_island_is_loaded(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_runner_info info;
    braid_runner *runner = make_held(&chain, "cuModuleLoadData");
    for (int i = 0; i < FRAMES_BESIDE; i++)
        launch(runner);
    braid_runner_get_info(runner, &info);
    assert_true(info.is_making && !info.is_chosen);
    assert_int_equal(info.frame_ns, 0);
    assert_string_equal(info.way, "the graph's costs");
    check_frames(&chain, FRAMES_BESIDE);
    atomic_store(&may_go_on, true);
    const unsigned num = FRAMES_BESIDE + launch_until_chosen(runner);
    check_frames(&chain, num);
    check_reason(runner, "us; islands: ");
    assert_int_equal(atomic_load(&num_here), 0);
    assert_int_equal(atomic_load(&num_behind), 1);
    braid_runner_destroy(runner);
    end();
}

static void a_graph_without_islands_has_no_such_way(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_runner *runner;
    island_chain_make(&chain, &island_other);
    for (int i = 0; i < ISLAND_CHAIN; i++)
        check_ok(braid_graph_set_cost(chain.graph, chain.nodes[i], 1000000));
    begin(NULL);
    check_ok(braid_runner_create(chain.device, chain.graph, NULL, &runner));
    check_frames(&chain, launch_until_chosen(runner));
    check_reason(runner, "islands: the plan has none");
    assert_int_equal(atomic_load(&num_behind), 0);
    braid_runner_destroy(runner);
    end();
}

static void code_that_cannot_be_compiled_is_no_way(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_exec *exec;
    braid_runner *runner;
    island_chain_make(&chain, &island_other);
    check_ok(braid_exec_create(chain.device, chain.graph,
                               &(braid_exec_options){ .islands = BRAID_ISLANDS_NEVER }, &exec));
    assert_int_equal(setenv("BRAID_STANDIN_NVRTC_FAIL", "nvrtcCompileProgram=6", 1), 0);
    begin(NULL);
    check_ok(braid_runner_create(chain.device, chain.graph, NULL, &runner));
    check_frames(&chain, launch_until_chosen(runner));
    assert_int_equal(unsetenv("BRAID_STANDIN_NVRTC_FAIL"), 0);
    check_reason(runner, "islands: the plan has none");
    braid_runner_destroy(runner);
    braid_exec_destroy(exec);
    end();
}

// A load that fails is that of a kernel, and there is no runner, or that of the island.
static void a_load_may_fail(void **state)
{
    (void)state;
    int num_refused = 0, num_told = 0;
    for (int nth = 1; nth <= MOST_LOADS; nth++) {
        struct island_chain chain;
        braid_runner *runner = NULL;
        reset_standin();
        island_chain_make(&chain, &island_other);
        begin(NULL);
        fail_calls("cuModuleLoadData:%d=999", nth);
        const bool is_made = !braid_runner_create(chain.device, chain.graph, NULL, &runner);
        num_refused += !is_made;
        if (is_made) {
            braid_runner_info info;
            check_frames(&chain, launch_until_chosen(runner));
            braid_runner_get_info(runner, &info);
            num_told += strstr(info.reason, "islands: ") && strstr(info.reason, "999");
        }
        fail_calls(NULL);
        braid_runner_destroy(runner);
        end();
        finish_standin();
    }
    assert_int_equal(num_told, 1);
    assert_in_range(num_refused, 1, MOST_LOADS - 2);
}

static atomic_bool is_destroying;

static void *let_go(void *argument)
{
    while (!atomic_load(&is_destroying))
        nap();
    nap();
    atomic_store(&may_go_on, true);
    return argument;
}

static void destroying_waits_for_a_way_that_is_made(void **state)
{
    (void)state;
    struct island_chain chain;
    pthread_t helper;
    braid_runner *runner = make_held(&chain, "cuModuleLoadData");
    atomic_store(&is_destroying, false);
    launch(runner);
    assert_int_equal(pthread_create(&helper, NULL, let_go, NULL), 0);
    atomic_store(&is_destroying, true);
    braid_runner_destroy(runner);
    assert_true(atomic_load(&may_go_on));
    assert_int_equal(pthread_join(helper, NULL), 0);
    check_frames(&chain, 1);
    end();
}

// It plays the graph that was planned before, and later ways are not made.
static void the_program_may_change_its_graph_meanwhile(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_runner *runner = make_held(&chain, ""); // before the plan
    const uint32_t number = ISLAND_CHAIN;
    for (int i = 0; i < 100; i++)
        check_ok(braid_graph_add_kernel(
            chain.graph,
            &(braid_kernel_node){ .kernel = &island_other,
                                  BRAID_ARGS(BRAID_ARG(chain.ran), BRAID_ARG(number)) },
            NULL));
    atomic_store(&may_go_on, true);
    check_frames(&chain, launch_until_chosen(runner));
    assert_int_equal(chain.ran[ISLAND_CHAIN], 0);
    check_reason(runner, "1 lane: the graph was changed");
    braid_runner_destroy(runner);
    end();
}

// The driver would end a capture in which another thread allocates or loads in the strict mode.
static void the_program_may_capture_meanwhile(void **state)
{
    (void)state;
    for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
        struct island_chain chain;
        struct capture capture;
        reset_standin();
        braid_runner *runner = make_held(&chain, ""); // before its calls
        begin_capture(&capture, chain.device, mode);
        atomic_store(&may_go_on, true);
        check_ok(braid_runner_launch(runner, NULL));
        (void)runner_await_way(runner);
        assert_int_equal(atomic_load(&num_behind), 1);
        end_capture(&capture);
        finish_capture(&capture);
        check_frames(&chain, 1 + launch_until_chosen(runner));
        check_reason(runner, "us; islands: ");
        braid_runner_destroy(runner);
        end();
        finish_standin();
    }
}

#if !defined(UNDER_TSAN) && !defined(UNDER_ASAN)
static atomic_bool refuses_threads;

BRAID_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                             void *(*main)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create *next;
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return atomic_load(&refuses_threads) ? EAGAIN : next(thread, attributes, main, argument);
}

static void without_a_thread_the_launch_makes_the_way(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_runner *runner;
    island_chain_make(&chain, &island_other);
    begin(NULL);
    atomic_store(&refuses_threads, true);
    check_ok(braid_runner_create(chain.device, chain.graph, NULL, &runner));
    assert_false(runner_await_way(runner).is_making);
    atomic_store(&refuses_threads, false);
    check_frames(&chain, launch_until_chosen(runner));
    assert_int_equal(atomic_load(&num_here), 1);
    assert_int_equal(atomic_load(&num_behind), 0);
    braid_runner_destroy(runner);
    end();
}
#endif

// The thread is none of the child's.
static void a_child_of_the_process_does_not_wait(void **state)
{
    (void)state;
#ifdef UNDER_TSAN
    print_message("skipped: the thread sanitizer knows no children of processes with threads\n");
    skip();
#endif
    struct island_chain chain;
    int status = 0;
    braid_runner *runner = make_held(&chain, "cuModuleLoadData");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        braid_runner_destroy(runner);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    atomic_store(&may_go_on, true);
    braid_runner_destroy(runner);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(frames_go_on_while_an_island_is_loaded),
        standin_test(a_graph_without_islands_has_no_such_way),
        standin_test(code_that_cannot_be_compiled_is_no_way),
        standin_test(a_load_may_fail),
        standin_test(destroying_waits_for_a_way_that_is_made),
        standin_test(the_program_may_change_its_graph_meanwhile),
        standin_test(the_program_may_capture_meanwhile),
#if !defined(UNDER_TSAN) && !defined(UNDER_ASAN)
        standin_test(without_a_thread_the_launch_makes_the_way),
#endif
        standin_test(a_child_of_the_process_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
