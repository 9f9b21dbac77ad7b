// SPDX-License-Identifier: Apache-2.0
// Where nvJitLink is there, it compiles islands, and the driver does nothing meanwhile. Whatever
// becomes of that, the driver compiles the same text, frames are right, and the log tells why.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"
#include "support/runner.h"

enum { FRAMES_BESIDE = 30, MOST_NAPS = 100000, MOST_LOG = 4000 };

static atomic_int num_compiled, num_waiting; // islands, threads
static atomic_bool holds, is_held, may_go_on;
static const char *held_text = "braid_island"; // a part of the text that is counted, and held
static char told[MOST_LOG];
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

// The stand-in nvJitLink calls it at each of its calls.
BRAID_API void braid_standin_nvjitlink(const char *function, const char *text);
void braid_standin_nvjitlink(const char *function, const char *text)
{
    if (strcmp(function, "nvJitLinkComplete") != 0 || !strstr(text, held_text))
        return;
    atomic_fetch_add(&num_compiled, 1);
    if (!atomic_load(&holds))
        return;
    atomic_store(&is_held, true);
    while (!atomic_load(&may_go_on))
        nap();
}

static void take_log(braid_status status, const char *message, void *user)
{
    (void)status, (void)user;
    pthread_mutex_lock(&told_lock);
    strncat(told, message, sizeof(told) - strlen(told) - 1);
    pthread_mutex_unlock(&told_lock);
}

static void begin(bool hold)
{
    atomic_store(&num_compiled, 0);
    atomic_store(&holds, hold);
    atomic_store(&is_held, false);
    atomic_store(&may_go_on, false);
    *told = '\0';
    braid_log_set(take_log, NULL);
}

static void await_hold(void)
{
    for (int i = 0; i < MOST_NAPS && !atomic_load(&is_held); i++)
        nap();
    assert_true(atomic_load(&is_held));
}

static void check_told(const char *part)
{
    if (!strstr(told, part))
        fail_msg("the log does not tell '%s': %s", part, told);
}

// One exec of one island, and a frame of it.
static void play_island(void)
{
    struct island_chain chain;
    island_chain_make(&chain, &island_other);
    braid_exec *exec = own_exec(chain.device, chain.graph,
                                &(braid_exec_options){ .islands = BRAID_ISLANDS_ALWAYS });
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    for (unsigned i = 0; i < ISLAND_CHAIN; i++)
        assert_int_equal(chain.ran[i], 1);
}

// ---- with it ----

// The compile ends after the frames: if one waited for it, this would not end.
static void frames_pass_while_it_compiles(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_runner *runner;
    island_chain_make(&chain, &island_other);
    begin(true);
    check_ok(braid_runner_create(chain.device, chain.graph, NULL, &runner));
    await_hold();
    const long loaded = standin_calls("cuModuleLoadData");
    for (int i = 0; i < FRAMES_BESIDE; i++) {
        check_ok(braid_runner_launch(runner, NULL));
        check_ok(braid_runner_wait(runner));
    }
    assert_int_equal(chain.ran[ISLAND_CHAIN - 1], FRAMES_BESIDE);
    assert_int_equal(standin_calls("cuModuleLoadData"), loaded);
    atomic_store(&may_go_on, true);
    (void)runner_await_way(runner);
    assert_int_equal(atomic_load(&num_compiled), 1);
    assert_true(standin_calls("cuModuleLoadData") > loaded);
    braid_runner_destroy(runner);
    assert_string_equal(told, "");
}

// No lock is held over a compile: code of another kernel is loaded meanwhile.
static void other_code_is_loaded_while_it_compiles(void **state)
{
    (void)state;
    struct island_chain chain;
    braid_runner *runner;
    island_chain_make(&chain, &island_other);
    braid_graph *other = own_graph();
    const uint32_t node = 0;
    check_ok(braid_graph_add_kernel(
        other,
        &(braid_kernel_node){ .kernel = &island_outsider,
                              BRAID_ARGS(BRAID_ARG(chain.other), BRAID_ARG(node)) },
        NULL));
    begin(true);
    check_ok(braid_runner_create(chain.device, chain.graph, NULL, &runner));
    await_hold();
    (void)own_exec(chain.device, other, NULL);
    atomic_store(&may_go_on, true);
    (void)runner_await_way(runner);
    braid_runner_destroy(runner);
}

static struct island_chain shared;
static braid_graph *early_graph;

static void *make_early_exec(void *out_exec)
{
    check_ok(braid_exec_create(shared.device, early_graph,
                               &(braid_exec_options){ .islands = BRAID_ISLANDS_NEVER }, out_exec));
    return NULL;
}

// A changed kernel is other code than the kernel as it is, though both come from one image.
static void a_kernel_is_loaded_as_it_is_while_its_change_compiles(void **state)
{
    (void)state;
    braid_exec *early;
    braid_node node = { 0 };
    pthread_t thread;
    island_chain_make(&shared, &island_other);
    early_graph = own_graph();
    for (uint32_t i = 0; i < 2; i++)
        check_ok(braid_graph_add_kernel(
            early_graph,
            &(braid_kernel_node){ .node = { .after = &node, .num_after = i > 0, .cost_ns = 5000 },
                                  .kernel = &island_outsider,
                                  BRAID_ARGS(BRAID_ARG(shared.other), BRAID_ARG(i)) },
            &node));
    held_text = "griddepcontrol";
    begin(true);
    assert_int_equal(pthread_create(&thread, NULL, make_early_exec, &early), 0);
    await_hold();
    (void)own_exec(shared.device, early_graph, &(braid_exec_options){ .no_rewriting = true });
    atomic_store(&may_go_on, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    held_text = "braid_island";
    braid_exec_destroy(early);
}

static void *make_exec(void *out_exec)
{
    atomic_fetch_add(&num_waiting, 1);
    check_ok(braid_exec_create(shared.device, shared.graph,
                               &(braid_exec_options){ .islands = BRAID_ISLANDS_ALWAYS }, out_exec));
    return NULL;
}

static void two_threads_that_want_the_same_code_compile_once(void **state)
{
    (void)state;
    pthread_t threads[2];
    braid_exec *execs[2];
    island_chain_make(&shared, &island_other);
    begin(true);
    atomic_store(&num_waiting, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_exec, &execs[i]), 0);
    await_hold();
    while (atomic_load(&num_waiting) < 2)
        nap();
    for (int i = 0; i < 20; i++)
        nap(); // so that the other one comes to the code
    atomic_store(&may_go_on, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        check_ok(braid_exec_launch(execs[i], NULL));
        check_ok(braid_exec_wait(execs[i]));
        braid_exec_destroy(execs[i]);
    }
    assert_int_equal(atomic_load(&num_compiled), 1);
    assert_int_equal(shared.ran[0], 2);
}

static void any_call_of_it_may_fail(void **state)
{
    static const char *const calls[] = { "nvJitLinkCreate", "nvJitLinkAddData", "nvJitLinkComplete",
                                         "nvJitLinkGetLinkedCubinSize", "nvJitLinkGetLinkedCubin" };
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char rule[64], message[96];
        snprintf(rule, sizeof(rule), "%s=6", calls[i]);
        snprintf(message, sizeof(message),
                 "the driver compiles the text of an island: %s returned 6", calls[i]);
        reset_standin();
        begin(false);
        assert_int_equal(setenv("BRAID_STANDIN_NVJITLINK_FAIL", rule, 1), 0);
        play_island();
        assert_int_equal(unsetenv("BRAID_STANDIN_NVJITLINK_FAIL"), 0);
        check_told(message);
        if (i == 2)
            check_told("returned 6: ptxas of the stand-in");
        finish_standin();
    }
}

static void calls_that_change_nothing_may_fail(void **state)
{
    (void)state;
    begin(false);
    assert_int_equal(setenv("BRAID_STANDIN_NVJITLINK_FAIL", "nvJitLinkDestroy=6", 1), 0);
    play_island();
    check_told("nvJitLink keeps its memory");
    assert_int_equal(unsetenv("BRAID_STANDIN_NVJITLINK_FAIL"), 0);
}

// A frame of a runner whose island is loaded while such calls fail, and the runner's reason.
static void play_while_loads_fail(const char *rules, struct island_chain *chain,
                                  char reason[MOST_LOG])
{
    braid_runner *runner;
    braid_runner_info info;
    begin(true);
    island_chain_make(chain, &island_other);
    check_ok(braid_runner_create(chain->device, chain->graph, NULL, &runner));
    await_hold();
    fail_calls(rules);
    atomic_store(&may_go_on, true);
    (void)runner_await_way(runner);
    fail_calls(NULL);
    check_ok(braid_runner_launch(runner, NULL));
    check_ok(braid_runner_wait(runner));
    braid_runner_get_info(runner, &info);
    snprintf(reason, MOST_LOG, "%s", info.reason);
    assert_int_equal(chain->ran[0], 1);
    braid_runner_destroy(runner);
}

// An island of other code on the chain's device.
static void play_other_island(const struct island_chain *chain)
{
    braid_graph *graph = own_graph();
    braid_node node = { 0 };
    for (uint32_t i = 0; i < 3; i++)
        check_ok(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .node = { .after = &node, .num_after = i > 0 },
                                  .kernel = &island_other,
                                  BRAID_ARGS(BRAID_ARG(chain->other), BRAID_ARG(i)) },
            &node));
    braid_exec *exec =
        own_exec(chain->device, graph, &(braid_exec_options){ .islands = BRAID_ISLANDS_ALWAYS });
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

// As a driver does that is older than nvJitLink, which is asked for no other code of the device.
static void a_driver_may_refuse_its_code(void **state)
{
    static const char *const rules[] = { "cuModuleLoadData:1=200", "cuModuleLoadData:1=209" };
    (void)state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct island_chain chain;
        char reason[MOST_LOG];
        reset_standin();
        play_while_loads_fail(rules[i], &chain, reason);
        check_told("an island: it does not take nvJitLink's machine code");
        assert_int_equal(atomic_load(&num_compiled), 1);
        play_other_island(&chain);
        assert_int_equal(atomic_load(&num_compiled), 1);
        finish_standin();
    }
}

// The code may call a function of the driver that an older driver lacks. Other code may not.
static void a_driver_may_lack_a_function_of_its_code(void **state)
{
    static const char *const rules[] = { "cuModuleLoadData:1=302", "cuModuleLoadData:1=500" };
    (void)state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct island_chain chain;
        char reason[MOST_LOG];
        reset_standin();
        play_while_loads_fail(rules[i], &chain, reason);
        check_told("an island: it does not take nvJitLink's machine code");
        play_other_island(&chain);
        assert_int_equal(atomic_load(&num_compiled), 2);
        finish_standin();
    }
}

// Behind a text that the driver refuses, too, nvJitLink is asked again.
static void a_refused_text_says_nothing_about_other_code(void **state)
{
    (void)state;
    struct island_chain chain;
    char reason[MOST_LOG];
    play_while_loads_fail("cuModuleLoadData:1+=209", &chain, reason);
    const int num_before = atomic_load(&num_compiled);
    play_other_island(&chain);
    assert_int_equal(atomic_load(&num_compiled), num_before + 1);
}

// Either its code, or the text behind a failure of nvJitLink, or the text behind refused code.
static void a_load_may_fail(void **state)
{
    static const struct {
        const char *library, *driver, *reason;
    } failures[] = {
        { "none=0", "cuModuleLoadData:1=999", "999" },
        { "nvJitLinkGetLinkedCubin=6", "cuModuleLoadData:1=999", "999" },
        { "none=0", "cuModuleLoadData:1+=209", "the plan has none" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        struct island_chain chain;
        char reason[MOST_LOG];
        reset_standin();
        assert_int_equal(setenv("BRAID_STANDIN_NVJITLINK_FAIL", failures[i].library, 1), 0);
        play_while_loads_fail(failures[i].driver, &chain, reason);
        assert_int_equal(unsetenv("BRAID_STANDIN_NVJITLINK_FAIL"), 0);
        if (!strstr(reason, failures[i].reason))
            fail_msg("case %zu: the runner tells: %s", i, reason);
        finish_standin();
    }
}

// A device that is opened anew finds the code on disk.
static void its_code_is_kept(void **state)
{
    (void)state;
    char folder[] = "/tmp/braid-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("BRAID_CACHE", folder, 1), 0);
    for (int round = 0; round < 2; round++) {
        reset_standin();
        begin(false);
        play_island();
        assert_int_equal(atomic_load(&num_compiled) > 0, round == 0);
        finish_standin();
    }
    assert_int_equal(setenv("BRAID_CACHE", "off", 1), 0);
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

// ---- without it ----

static void without_it_the_driver_compiles(void **state)
{
    (void)state;
    begin(false);
    play_island();
    assert_int_equal(atomic_load(&num_compiled), 0);
    check_told("the driver compiles the text of ");
    check_told("nowhere");
}

static void it_is_turned_off_without_a_word(void **state)
{
    (void)state;
    begin(false);
    play_island();
    assert_int_equal(atomic_load(&num_compiled), 0);
    assert_string_equal(told, "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest with[] = {
        standin_test(frames_pass_while_it_compiles),
        standin_test(other_code_is_loaded_while_it_compiles),
        standin_test(a_kernel_is_loaded_as_it_is_while_its_change_compiles),
        standin_test(two_threads_that_want_the_same_code_compile_once),
        standin_test(any_call_of_it_may_fail),
        standin_test(calls_that_change_nothing_may_fail),
        standin_test(a_driver_may_refuse_its_code),
        standin_test(a_driver_may_lack_a_function_of_its_code),
        standin_test(a_refused_text_says_nothing_about_other_code),
        standin_test(a_load_may_fail),
        standin_test(its_code_is_kept),
    };
    const struct CMUnitTest without[] = { standin_test(without_it_the_driver_compiles) };
    const struct CMUnitTest off[] = { standin_test(it_is_turned_off_without_a_word) };
    if (argc > 1 && strcmp(argv[1], "absent") == 0)
        return cmocka_run_group_tests(without, NULL, NULL);
    if (argc > 1 && strcmp(argv[1], "off") == 0)
        return cmocka_run_group_tests(off, NULL, NULL);
    return cmocka_run_group_tests(with, NULL, NULL);
}
