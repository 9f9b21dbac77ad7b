// SPDX-License-Identifier: Apache-2.0
// If a driver call fails, Braid says so, leaves nothing behind, and goes on afterwards.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "gpu/life_pair.h"
#include "gpu/sweep.h"
#include "support/check.h"

enum { OUT_OF_MEMORY = 2, UNKNOWN_ERROR = 999, FRAMES = 4 };

static const struct sweep_words words[] = {
    CUDA_WORDS,
    { "", "stay outside of an island", .goes_on = true, .reason = "its nodes are launched alone" },
    { "", "the host waits instead", .goes_on = true, .reason = "the work has ended then" },
    { "", "no memory for the notes of islands", .goes_on = true, .reason = "it takes none" },
    { 0 },
};

static void check_mode(void (*live)(struct life *life), braid_exec_mode mode, int code)
{
    const struct sweep sweep = {
        .interposer = &cuda_calls,
        .live = live,
        .life = { .backend = "cuda", .mode = mode },
        .words = words,
        .code = code,
        .frames = FRAMES,
        // Missing memory goes the ways of an unknown error, and fewer paths tell of its own status.
        .step = sweep_step() * (code == OUT_OF_MEMORY ? 4 : 1),
        .least = live == life_live ? 150 : 50,
    };
    reset_standin();
    sweep_run(&sweep, mode == BRAID_MODE_GRAPH ? "as a graph" : "on streams");
}

static void on_streams_out_of_memory(void **state)
{
    (void)state;
    check_mode(life_live, BRAID_MODE_STREAMS, OUT_OF_MEMORY);
}

static void on_streams_unknown_error(void **state)
{
    (void)state;
    check_mode(life_live, BRAID_MODE_STREAMS, UNKNOWN_ERROR);
}

static void as_a_driver_graph(void **state)
{
    (void)state;
    check_mode(life_live, BRAID_MODE_GRAPH, OUT_OF_MEMORY);
    check_mode(life_live, BRAID_MODE_GRAPH, UNKNOWN_ERROR);
}

static void check_two_devices(braid_exec_mode mode)
{
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    check_mode(life_live_on_two, mode, UNKNOWN_ERROR);
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
    bool failed = true;
    for (long nth = 1; failed; nth++) {
        struct life life = { .backend = "cuda", .mode = BRAID_MODE_GRAPH };
        long before = standin_calls(find);
        cuda_calls.begin();
        fail_calls("%s:%ld=%d,%s:1=%d", find, nth, UNKNOWN_ERROR, undo, UNKNOWN_ERROR);
        life_live(&life);
        fail_calls(NULL);
        cuda_calls.check_left(undo);
        assert_non_null(strstr(life.logged, undo));
        failed = standin_calls(find) - before >= nth;
        assert_true(!failed || strstr(life.returned, find));
    }
}

// An argument is a pattern of the tests to run: programs at once take less long than one.
// Copies and fills of several rows have calls of their own.
static void rows_with_unknown_error(void **state)
{
    static const char *const functions[] = { "cuMemcpy3DAsync", "cuMemsetD2D8Async",
                                             "cuMemsetD2D16Async", "cuMemsetD2D32Async" };
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct frame frame;
        const braid_rows rows = { .num = 2, .to_pitch = 8, .from_pitch = 8 };
        reset_standin();
        check_ok(frame_open(&frame, "cuda"));
        const braid_copy copy = {
            .to = frame.words + 1, .from = frame.words, .bytes = 4, .rows = rows
        };
        const braid_fill fill = {
            .to = frame.words, .value_bytes = i == 3 ? 4 : i, .num_values = 1, .rows = rows
        };
        braid_graph *graph = own_graph();
        check_ok(i ? braid_graph_add_fill(graph, &fill, NULL)
                   : braid_graph_add_copy(graph, &copy, NULL));
        check_ok(braid_exec_create(
            frame.device, graph, &(braid_exec_options){ .mode = BRAID_MODE_STREAMS }, &frame.exec));
        fail_calls("%s:1=%d", functions[i], UNKNOWN_ERROR);
        check_fails(braid_exec_launch(frame.exec, NULL), BRAID_DEVICE_ERROR, functions[i]);
        fail_calls(NULL);
        check_ok(braid_exec_launch(frame.exec, NULL));
        check_ok(braid_exec_wait(frame.exec));
        frame_finish(&frame);
        check_nothing_is_left();
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    // Lives with failures leave modules behind, so that the case which counts objects is the first.
    const struct CMUnitTest tests[] = {
        standin_test(rows_with_unknown_error),
        cmocka_unit_test(on_streams_out_of_memory),
        cmocka_unit_test(on_streams_unknown_error),
        cmocka_unit_test(as_a_driver_graph),
        cmocka_unit_test(with_two_devices_on_streams),
        cmocka_unit_test(with_two_devices_as_a_graph),
        cmocka_unit_test(what_undoes_a_failure_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
