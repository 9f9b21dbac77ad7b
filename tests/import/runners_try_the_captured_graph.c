// SPDX-License-Identifier: Apache-2.0
// A runner plays an import in its program's place: each launch does the captured work once, by a
// plan or by the program's own graph.
#include "import/captures.h"
#include "standin_control.h"
#include "support/runner.h"

#pragma weak standin_watch_modules

static CUgraphExec program;
static unsigned num_before;
static bool fails;

static braid_status play_before(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)user;
    num_before++;
    if (fails)
        return BRAID_DEVICE_ERROR;
    return cuGraphLaunch(program, braid_stream_get_handle(stream)) ? BRAID_DEVICE_ERROR : BRAID_OK;
}

// Memory 0 goes up by two with each frame, and memory 2 by one, through memory that the graph
// allocates.
static void capture(void)
{
    CUdeviceptr own;
    must(cuMemsetD8_v2(here.memory[0], 0, BYTES));
    must(cuMemsetD8_v2(here.memory[2], 0, BYTES));
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[1]);
    must(cuMemAllocAsync(&own, 64, here.stream));
    LAUNCH("copy", here.memory[1], here.memory[0]);
    must(cuMemcpyDtoDAsync_v2(own, here.memory[2], 4, here.stream));
    LAUNCH("copy", own, here.memory[2]);
    must(cuMemFreeAsync(own, here.stream));
    must(cuStreamEndCapture(here.stream, &here.graph));
}

static uint32_t word_of(int memory)
{
    uint32_t word;
    must(cuMemcpyDtoH_v2(&word, here.memory[memory], sizeof(word)));
    return word;
}

static int num_waiting; // texts that were loaded to start early

static void watch_module(const char *loaded)
{
    num_waiting += strstr(loaded, "griddepcontrol.wait") != NULL;
}

static void check_launches(const braid_import_options *options, const char *way)
{
    braid_runner *runner;
    braid_runner_info info = { .is_chosen = false };
    braid_stream *theirs;
    uint32_t num = 0;
    capture();
    must(cuGraphInstantiateWithFlags(&program, here.graph, 0));
    check_ok(braid_import_create(here.device, here.graph, options, &here.import));
    check_ok(braid_runner_create(here.device, braid_import_get_graph(here.import),
                                 &(braid_runner_options){ .as_before = play_before }, &runner));
    assert_int_equal(num_waiting, 0); // the first way plays the program's functions
    check_ok(braid_stream_wrap(here.device, here.stream, &theirs));
    for (; !info.is_chosen; num++) {
        assert_true(num < 2000);
        (void)runner_await_way(runner);
        check_ok(braid_runner_launch(runner, num % 5 ? theirs : NULL));
        if (num % 16 == 0)
            check_ok(braid_runner_wait(runner));
        braid_runner_get_info(runner, &info);
    }
    for (int i = 0; i < 3; i++, num++)
        check_ok(braid_runner_launch(runner, theirs));
    check_ok(braid_runner_wait(runner));
    assert_true(num_before > 0);
    assert_int_equal(word_of(0), 2 * num);
    assert_int_equal(word_of(2), num);
    if (!strstr(info.reason, "measured costs: ") || !strstr(info.reason, "as before: ") ||
        !strstr(info.reason, way))
        fail_msg("the runner tells: %s", info.reason);
    braid_runner_destroy(runner);
    braid_stream_destroy(theirs);
    braid_import_destroy(here.import);
    must(cuGraphExecDestroy(program));
    must(cuGraphDestroy(here.graph));
}

static void each_launch_does_the_work_once(void **state)
{
    (void)state;
    check_launches(&(braid_import_options){ TEXTS(text) }, "guessed costs: ");
}

// Only that way loads the text.
static void functions_from_their_text_are_a_way(void **state)
{
    (void)state;
    const CUmodule module = here.module;
    const char *const texts[] = { copy_text };
    if (!standin_watch_modules) {
        print_message("skipped: only the stand-in for CUDA tells which texts are loaded\n");
        skip();
    }
    must(cuModuleLoadData(&here.module, copy_text));
    standin_watch_modules(watch_module);
    check_launches(&(braid_import_options){ .reloaded = texts, .num_reloaded = 1 },
                   "functions from their text: ");
    standin_watch_modules(NULL);
    assert_int_equal(num_waiting, 1);
    must(cuModuleUnload(here.module));
    here.module = module;
}

static void a_captured_stream_takes_no_launch(void **state)
{
    (void)state;
    braid_runner *runner;
    braid_stream *theirs;
    capture();
    check_ok(braid_import_create(here.device, here.graph, NULL, &here.import));
    check_ok(braid_runner_create(here.device, braid_import_get_graph(here.import), NULL, &runner));
    check_ok(braid_stream_wrap(here.device, here.stream, &theirs));
    begin_capture();
    check_fails(braid_runner_launch(runner, theirs), BRAID_UNSUPPORTED,
                "its stream is being captured");
    CUgraph nothing;
    size_t num;
    must(cuStreamEndCapture(here.stream, &nothing));
    must(cuGraphGetNodes(nothing, NULL, &num));
    assert_int_equal(num, 0);
    must(cuGraphDestroy(nothing));
    check_ok(braid_runner_launch(runner, theirs));
    braid_runner_destroy(runner);
    braid_stream_destroy(theirs);
    braid_import_destroy(here.import);
    must(cuGraphDestroy(here.graph));
}

static void a_failure_of_the_programs_graph_is_told(void **state)
{
    (void)state;
    braid_runner *runner;
    braid_runner_info info = { .is_chosen = false };
    uint32_t num = 0, num_failed = 0;
    capture();
    fails = true;
    check_ok(braid_import_create(here.device, here.graph, &(braid_import_options){ TEXTS(text) },
                                 &here.import));
    check_ok(braid_runner_create(here.device, braid_import_get_graph(here.import),
                                 &(braid_runner_options){ .as_before = play_before }, &runner));
    for (; !info.is_chosen && num < 2000; num++) {
        (void)runner_await_way(runner);
        num_failed += braid_runner_launch(runner, NULL) != BRAID_OK;
        check_ok(braid_runner_wait(runner));
        braid_runner_get_info(runner, &info);
    }
    fails = false;
    assert_int_equal(num_failed, 1);
    assert_int_equal(word_of(2), num - 1);
    braid_runner_destroy(runner);
    braid_import_destroy(here.import);
    must(cuGraphDestroy(here.graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launch_does_the_work_once),
        cmocka_unit_test(functions_from_their_text_are_a_way),
        cmocka_unit_test(a_captured_stream_takes_no_launch),
        cmocka_unit_test(a_failure_of_the_programs_graph_is_told),
    };
    return cmocka_run_group_tests(tests, open_captures, close_captures);
}
