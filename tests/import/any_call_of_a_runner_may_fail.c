// SPDX-License-Identifier: Apache-2.0
// Whichever call of the driver fails while a runner tries ways, no frame is played twice, and each
// launch that succeeds has played its frame. The runner leaves nothing behind.
#include "gpu/gpu_testing.h"
#include "import/captures.h"
#include "support/runner.h"
#include "support/sanitizers.h"

#ifdef UNDER_TSAN
#define ANY_STEP 97
#else
#define ANY_STEP 23
#endif

enum {
    UNKNOWN_ERROR = 999,
    OUT_OF_MEMORY = 2,
    NUM_FRAMES = 160,
    STEP = ANY_STEP,
    MOST_CALLS = 1 << 13
};

static CUgraphExec program;
static const char *calls[MOST_CALLS];
static unsigned num_calls;
static long num_kept; // objects that the driver did not destroy

static void note_call(const char *function)
{
    if (num_calls < MOST_CALLS)
        calls[num_calls++] = function;
}

static braid_status play_before(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)user;
    return cuGraphLaunch(program, braid_stream_get_handle(stream)) ? BRAID_DEVICE_ERROR : BRAID_OK;
}

// Memory 0 goes up by one with each frame, and memory 2 beside it.
static void capture(void)
{
    begin_capture();
    LAUNCH("copy", here.memory[0], here.memory[0]);
    LAUNCH("copy", here.memory[2], here.memory[2]);
    must(cuStreamEndCapture(here.stream, &here.graph));
    must(cuGraphInstantiateWithFlags(&program, here.graph, 0));
    check_ok(braid_import_create(here.device, here.graph, &(braid_import_options){ TEXTS(text) },
                                 &here.import));
}

static uint32_t word_of(int memory)
{
    uint32_t word;
    must(cuMemcpyDtoH_v2(&word, here.memory[memory], sizeof(word)));
    return word;
}

struct outcome {
    uint32_t num_played, num_failed;
    bool is_made, is_chosen;
};

static struct outcome run(void)
{
    struct outcome found = { 0 };
    braid_runner *runner;
    braid_runner_info info;
    if (braid_runner_create(here.device, braid_import_get_graph(here.import),
                            &(braid_runner_options){ .as_before = play_before }, &runner))
        return found;
    found.is_made = true;
    for (int i = 0; i < NUM_FRAMES; i++) {
        (void)runner_await_way(runner); // so calls of its thread come in the same order
        const bool is_played = braid_runner_launch(runner, NULL) == BRAID_OK;
        found.num_played += is_played;
        found.num_failed += !is_played;
        found.num_failed += braid_runner_wait(runner) != BRAID_OK;
    }
    braid_runner_get_info(runner, &info);
    found.is_chosen = info.is_chosen;
    braid_runner_destroy(runner);
    return found;
}

static void fail_one_call(unsigned nth, int code)
{
    must(cuMemsetD8_v2(here.memory[0], 0, BYTES));
    must(cuMemsetD8_v2(here.memory[2], 0, BYTES));
    num_calls = 0;
    standin_watch(note_call);
    fail_calls("*:%u=%d", nth, code);
    const struct outcome found = run();
    fail_calls(NULL);
    standin_watch(NULL);
    if (num_calls < nth) // waits made fewer calls than before
        return;
    must(cuCtxSynchronize());
    const uint32_t first = word_of(0), second = word_of(2);
    if (first < found.num_played || first > found.num_played + found.num_failed ||
        second < found.num_played || second > found.num_played + found.num_failed)
        fail_msg("call %u failed: %u launches played, %u failed, and words are %u and %u", nth,
                 found.num_played, found.num_failed, first, second);
    num_kept += strstr(calls[nth - 1], "Destroy") || strstr(calls[nth - 1], "Free") ||
                strstr(calls[nth - 1], "Unload");
}

static void sweep(int code)
{
    braid_device *const whole = here.device;
    const long before = count_objects();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &here.device));
    capture();
    num_kept = 0;
    assert_true(run().is_chosen); // so that all is known
    num_calls = 0;
    standin_watch(note_call);
    const struct outcome usual = run();
    standin_watch(NULL);
    assert_true(usual.is_made && usual.is_chosen);
    assert_int_equal(usual.num_failed, 0);
    const unsigned num = num_calls;
    for (unsigned nth = 1; nth <= num; nth += STEP)
        fail_one_call(nth, code);
    print_message("summary: %u of %u calls failed\n", (num + STEP - 1) / STEP, num);
    assert_true(num > 500);
    braid_import_destroy(here.import);
    must(cuGraphExecDestroy(program));
    must(cuGraphDestroy(here.graph));
    check_ok(braid_device_close(here.device));
    here.device = whole;
    assert_in_range(count_objects(), before, before + num_kept);
}

static void a_call_fails(void **state)
{
    (void)state;
    sweep(UNKNOWN_ERROR);
}

static void a_call_finds_no_memory(void **state)
{
    (void)state;
    sweep(OUT_OF_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_fails),
        cmocka_unit_test(a_call_finds_no_memory),
    };
    return cmocka_run_group_tests(tests, open_captures, close_captures);
}
