// SPDX-License-Identifier: Apache-2.0
// If a driver call fails, Braid says so, leaves nothing behind, and goes on afterwards. Some call
// returns each failure, or the log has it where calls return nothing, or the list below has the
// reason why it may be silent. Of each path to a driver call, the first and the last fail.
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_loader.h"
#include "gpu/gpu_testing.h"
#include "gpu/life.h"
#include "gpu/life_loop.h"
#include "gpu/life_pair.h"
#include "gpu/sweep.h"
#include "support/call_paths.h"
#include "support/check.h"

enum { OUT_OF_MEMORY = 2, UNKNOWN_ERROR = 999, NUM_KINDS = 8 };

// Failures that nobody is told of, for they were made good.
static const struct {
    const char *function;
    bool only_while_destroying;
    const char *reason;
} silent[] = {
    { "cuCtxGetCurrent", false, "made a second time" },
    { "cuCtxSetCurrent", false, "made a second time" },
    { "cuThreadExchangeStreamCaptureMode", false, "made a second time" },
    { "cuStreamSynchronize", true, "made a second time" },
    { "cuEventSynchronize", true, "made a second time" },
};

static bool may_be_silent(const char *function, bool destroying)
{
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
        if (strcmp(silent[i].function, function) == 0)
            return destroying || !silent[i].only_while_destroying;
    }
    return false;
}

static const char *const kinds[NUM_KINDS] = { "context", "stream", "event", "module",
                                              "graph",   "exec",   "pool",  "memory" };

static void count_live(long *live)
{
    for (int i = 0; i < NUM_KINDS; i++)
        live[i] = standin_live(kinds[i]);
}

// A call that destroys and fails leaves its object with the driver: nobody can help that.
static bool may_leave_its_object(const char *function)
{
    return strstr(function, "Destroy") || strstr(function, "Free") || strstr(function, "Unload") ||
           strstr(function, "Release");
}

// A graph may have bodies.
static long most_in_one(const char *function)
{
    return strcmp(function, "cuGraphDestroy") == 0 ? 1 + LIFE_BODIES : 1;
}

// The counters stay where a failed call left them: what counts is what comes on top.
static void check_left(const char *function, const long *before)
{
    long left = 0, now[NUM_KINDS];
    count_live(now);
    for (int i = 0; i < NUM_KINDS; i++)
        left += now[i] - before[i];
    if (left > (may_leave_its_object(function) ? most_in_one(function) : 0))
        fail_msg("%ld objects left over", left);
    assert_int_equal(standin_bad_accesses(), 0);
}

static const char *current_function;
static void (*live_one)(struct life *life) = life_live;

static void note_calls(struct life *life)
{
    life->calls_before_destroying = standin_calls(current_function);
}

// Whether the messages tell of a call of the function. What makes the device current is one thing
// to them.
static bool tells(const char *messages, const char *function)
{
    return life_names(messages, function) ||
           (strncmp(function, "cuCtx", 5) == 0 &&
            life_names(messages, "when the device was made current"));
}

// If an island has no memory, its nodes are launched one by one, or it takes no notes of them. The
// log tells.
static bool does_without(const struct life *life, const char *function)
{
    bool is_island = life_names(life->logged, "stay outside of an island") ||
                     life_names(life->logged, "no memory for the notes of islands");
    return is_island && tells(life->logged, function);
}

// What a queue call of the program's was told is its own to pass on; it gives the status only.
static void check_told(const struct life *life, const char *function, bool destroying)
{
    bool returned =
        life->num_failed > 0 &&
        (tells(life->returned, function) ||
         (life_names(life->returned, "queue call returned") && tells(life->logged, function)));
    if (!returned &&
        !((destroying || may_leave_its_object(function)) && tells(life->logged, function)) &&
        !may_be_silent(function, destroying) && !does_without(life, function))
        fail_msg("nobody was told, while %s: returned '%s', logged '%s'",
                 destroying ? "destroying" : "running", life->returned, life->logged);
}

// False when there is no such call any more.
static bool fail_nth(const char *function, long nth, int code, braid_exec_mode mode)
{
    struct life life = { .backend = "cuda", .mode = mode, .before_destroying = note_calls };
    char rule[96];
    long live[NUM_KINDS], before = standin_calls(function);
    count_live(live);
    snprintf(rule, sizeof(rule), "%s:%ld=%d", function, nth, code);
    print_message("# %s\n", rule);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    current_function = function;
    live_one(&life);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    check_left(function, live);
    if (standin_calls(function) - before < nth) {
        assert_int_equal(life.num_failed, 0);
        return false;
    }
    check_told(&life, function, nth > life.calls_before_destroying - before);
    return true;
}

enum { FRAMES = 4, MOST = 1024 };

static void note_paths(braid_exec_mode mode)
{
    struct life life = { .backend = "cuda", .mode = mode };
    call_paths_begin(FRAMES);
    standin_watch(call_paths_note_of_library);
    live_one(&life);
    standin_watch(NULL);
    call_paths_end();
    assert_int_equal(life.num_failed, 0);
}

static void check_mode(braid_exec_mode mode, int code)
{
    int num = 0;
    long numbers[MOST];
    // Missing memory goes the ways of an unknown error, and fewer paths tell of its own status.
    long step = sweep_step() * (code == OUT_OF_MEMORY ? 4 : 1);
    reset_standin();
    note_paths(mode);
    for (size_t i = 0; i < braid_gpu_symbols.num_rows; i++) {
        char function[64];
        const char *name = braid_gpu_symbols.rows[i].names[GPU_CUDA][0];
        if (!name)
            continue;
        // The stand-in counts all versions of a function under its plain name.
        snprintf(function, sizeof(function), "%.*s", (int)strcspn(name, "_"), name);
        if (!sweep_tries(function))
            continue;
        size_t num_chosen = call_paths_choose(function, step, 0, numbers, MOST);
        for (size_t k = 0; k < num_chosen; k++)
            num += fail_nth(function, numbers[k], code, mode);
    }
    print_message("summary: %d failures told, one a life\n", num);
    int least = live_one == life_live ? 150 : 50;
    assert_true(num > least / step || !sweep_is_whole());
}

static void on_streams_out_of_memory(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_STREAMS, OUT_OF_MEMORY);
}

static void on_streams_unknown_error(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_STREAMS, UNKNOWN_ERROR);
}

static void as_a_driver_graph(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_GRAPH, OUT_OF_MEMORY);
    check_mode(BRAID_MODE_GRAPH, UNKNOWN_ERROR);
}

static void check_two_devices(braid_exec_mode mode)
{
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    live_one = life_live_on_two;
    check_mode(mode, UNKNOWN_ERROR);
    live_one = life_live;
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", NULL));
}

static void with_two_devices_on_streams(void **state)
{
    (void)state;
    check_two_devices(BRAID_MODE_STREAMS);
}

static void with_two_devices_as_a_graph(void **state)
{
    (void)state;
    check_two_devices(BRAID_MODE_GRAPH);
}

// A module whose function is not found is unloaded. Should that fail too, the first failure is
// returned, and the second is in the log: a module stays with the driver.
static void what_undoes_a_failure_may_fail(void **state)
{
    (void)state;
    static const char find[] = "cuModuleGetFunction", undo[] = "cuModuleUnload";
    reset_standin();
    for (long nth = 1;; nth++) {
        struct life life = { .backend = "cuda", .mode = BRAID_MODE_GRAPH };
        char rules[96];
        long live[NUM_KINDS], before = standin_calls(find);
        count_live(live);
        snprintf(rules, sizeof(rules), "%s:%ld=%d,%s:1=%d", find, nth, UNKNOWN_ERROR, undo,
                 UNKNOWN_ERROR);
        assert_true(standin_configure("BRAID_STANDIN_FAIL", rules));
        life_live(&life);
        assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
        check_left(undo, live);
        assert_true(tells(life.logged, undo));
        if (standin_calls(find) - before < nth)
            break;
        assert_true(tells(life.returned, find));
    }
}

// An argument is a pattern of the tests to run: programs at once take less long than one.
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams_out_of_memory),
        cmocka_unit_test(on_streams_unknown_error),
        cmocka_unit_test(as_a_driver_graph),
        cmocka_unit_test(with_two_devices_on_streams),
        cmocka_unit_test(with_two_devices_as_a_graph),
        cmocka_unit_test(what_undoes_a_failure_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
