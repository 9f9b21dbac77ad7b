// SPDX-License-Identifier: Apache-2.0
// Destroying with work in flight while driver calls fail: one failure is made good, and what cannot
// be told to have ended is kept until it can, or for good. The log says so; the message stays.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { NUM_FRAMES = 3 };

static char logged[8192];

static void take_log(void *user, braid_status status, const char *message)
{
    (void)user;
    (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

static void fail_calls(const char *rules)
{
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rules));
}

static braid_device_info read_stats(const braid_device *device)
{
    braid_device_info stats;
    braid_device_get_info(device, &stats);
    return stats;
}

static void open_frame(struct frame *frame)
{
    reset_standin();
    logged[0] = '\0';
    check_ok(frame_open(frame, "cuda"));
}

// Some frames in flight, whose host calls and copies of the program's own memory come late.
static void launch_frames(struct frame *frame, braid_exec_mode mode)
{
    check_ok(frame_create_exec(frame, mode));
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "5000"));
    for (int i = 0; i < NUM_FRAMES; i++)
        check_ok(braid_exec_launch(frame->exec, frame->stream));
}

static void destroy_exec(struct frame *frame, const char *rules)
{
    // "there is no backend named 'none'"
    braid_device *none = NULL;
    assert_int_not_equal(braid_device_open(&(braid_device_options){ .backend = "none" }, &none),
                         BRAID_OK);
    logged[0] = '\0';
    fail_calls(rules);
    braid_exec_destroy(frame->exec);
    frame->exec = NULL;
    fail_calls(NULL);
    assert_non_null(strstr(braid_error_message(), "'none'"));
}

static void fail_once(braid_exec_mode mode, const char *rules)
{
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, mode);
    destroy_exec(&frame, rules);
    assert_int_equal(frame.num_host_calls, NUM_FRAMES);
    assert_int_equal(read_stats(frame.device).events_leased, 0);
    frame_finish(&frame);
    check_nothing_is_left();
}

static void fail_for_a_while(braid_exec_mode mode, const char *rules)
{
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, mode);
    destroy_exec(&frame, rules);
    assert_true(read_stats(frame.device).events_leased > 0);
    assert_non_null(strstr(logged, "kept"));
    check_ok(braid_stream_synchronize(frame.device, frame.stream));
    assert_int_equal(frame.num_host_calls, NUM_FRAMES);
    // Whoever makes the next exec frees what was kept.
    check_ok(frame_create_exec(&frame, mode));
    check_ok(frame_run(&frame, 7));
    braid_exec_destroy(frame.exec);
    frame.exec = NULL;
    assert_int_equal(read_stats(frame.device).events_leased, 0);
    frame_finish(&frame);
    check_nothing_is_left();
}

static void in_each_mode(void (*try)(braid_exec_mode mode, const char *rules), const char *rules)
{
    try(BRAID_MODE_STREAMS, rules);
    try(BRAID_MODE_NATIVE, rules);
}

static void an_exec_whose_wait_fails_once(void **state)
{
    (void)state;
    in_each_mode(fail_once, "cuEventSynchronize:1=999");
    in_each_mode(fail_once, "cuCtxGetCurrent:1=999");
    in_each_mode(fail_once, "cuCtxSetCurrent:1=999");
}

static void an_exec_whose_waits_fail(void **state)
{
    (void)state;
    in_each_mode(fail_for_a_while, "cuEventSynchronize:1+=999");
    in_each_mode(fail_for_a_while, "cuCtxGetCurrent:1+=999");
    in_each_mode(fail_for_a_while, "*:1+=700");
}

// Closing the device does, where no exec is made or destroyed.
static void an_exec_that_is_kept_until_the_device_is_closed(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, BRAID_MODE_STREAMS);
    destroy_exec(&frame, "cuEventSynchronize:1+=999");
    frame_finish(&frame);
    check_nothing_is_left();
}

static void count_late(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void a_stream(void **state)
{
    (void)state;
    static const char *const rules[] = { "cuStreamSynchronize:1=999", "cuStreamSynchronize:1+=999",
                                         "cuCtxGetCurrent:1=999", "cuCtxGetCurrent:1+=999" };
    for (int i = 0; i < 4; i++) {
        struct frame frame;
        atomic_int num_calls = 0;
        open_frame(&frame);
        assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "5000"));
        check_ok(braid_stream_host_call(frame.device, frame.stream, count_late, &num_calls));
        fail_calls(rules[i]);
        braid_stream_destroy(frame.stream);
        frame.stream = NULL;
        fail_calls(NULL);
        bool once = i % 2 == 0;
        assert_int_equal(standin_live("stream"), once ? 0 : 1);
        frame_finish(&frame);
        assert_int_equal(atomic_load(&num_calls), 1);
        check_nothing_is_left();
    }
}

// Two failures lose a frame: its end is neither recorded nor awaited. Nothing runs behind it, and
// nobody is told that it has ended, until a launch on its stream has waited for it.
static void a_lost_frame_is_not_forgotten(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, BRAID_MODE_NATIVE);
    fail_calls("cuEventRecord:1=999,cuStreamSynchronize:1=999");
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR, "cuEventRecord");
    fail_calls(NULL);
    check_fails(braid_exec_wait(frame.exec), BRAID_DEVICE_ERROR, "neither recorded nor awaited");
    check_fails(braid_exec_query(frame.exec), BRAID_DEVICE_ERROR, "neither recorded nor awaited");
    check_fails(braid_exec_launch(frame.exec, NULL), BRAID_DEVICE_ERROR, "same stream");
    fail_calls("cuStreamSynchronize:1=999");
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR,
                "cuStreamSynchronize");
    fail_calls(NULL);
    check_fails(braid_exec_wait(frame.exec), BRAID_DEVICE_ERROR, "neither recorded nor awaited");
    check_ok(frame_run(&frame, 7));
    assert_int_equal(frame.num_host_calls, NUM_FRAMES + 2);
    frame_finish(&frame);
    check_nothing_is_left();
}

// The lanes' own streams are waited for as well, and that can fail too.
static void a_lost_lane_is_not_forgotten(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, BRAID_MODE_STREAMS);
    fail_calls("cuEventRecord:2+=999,cuStreamSynchronize:1+=999");
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR, "cuEventRecord");
    fail_calls("cuStreamSynchronize:2=999");
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR,
                "cuStreamSynchronize");
    fail_calls(NULL);
    check_ok(frame_run(&frame, 7));
    frame_finish(&frame);
    check_nothing_is_left();
}

// A lane whose end is neither recorded nor awaited loses the frame, though the frame's own end can
// be recorded. Whichever record fails, the wait for what it left behind fails too.
static void a_lost_lane_loses_its_frame(void **state)
{
    (void)state;
    int num_lost = 0;
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, BRAID_MODE_STREAMS);
    for (int nth = 1;; nth++) {
        char rules[64];
        long records = standin_calls("cuEventRecord"), waits = standin_calls("cuStreamSynchronize");
        snprintf(rules, sizeof(rules), "cuEventRecord:%d=999,cuStreamSynchronize:1=999", nth);
        fail_calls(rules);
        braid_status status = braid_exec_launch(frame.exec, frame.stream);
        fail_calls(NULL);
        if (standin_calls("cuEventRecord") - records < nth) {
            check_ok(status);
            break;
        }
        assert_int_not_equal(status, BRAID_OK);
        if (standin_calls("cuStreamSynchronize") > waits) {
            check_fails(braid_exec_wait(frame.exec), BRAID_DEVICE_ERROR,
                        "neither recorded nor awaited");
            num_lost++;
        }
        check_ok(frame_run(&frame, 7));
    }
    assert_true(num_lost >= 2); // a lane's and the frame's
    frame_finish(&frame);
    check_nothing_is_left();
}

int cuCtxGetCurrent(void **context); // of the stand-in
int cuCtxSetCurrent(void *context);

static void what_was_current_before(void **state)
{
    (void)state;
    struct frame frame;
    void *current = NULL;
    open_frame(&frame);
    fail_calls("cuCtxSetCurrent:2=999");
    check_ok(braid_stream_query(frame.device, frame.stream));
    fail_calls(NULL);
    assert_int_equal(cuCtxGetCurrent(&current), 0);
    assert_null(current);
    assert_string_equal(logged, "");
    fail_calls("cuCtxSetCurrent:2+=999");
    check_ok(braid_stream_query(frame.device, frame.stream));
    fail_calls(NULL);
    assert_non_null(strstr(logged, "making current again what was current before"));
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    frame_finish(&frame);
    check_nothing_is_left();
}

// What is kept is looked at again without waiting, and stays while its frames run.
static atomic_bool gate_is_open;

static void wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&gate_is_open))
        ;
}

static void an_exec_that_is_kept_while_its_frames_run(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    atomic_store(&gate_is_open, false);
    check_ok(braid_stream_host_call(frame.device, frame.stream, wait_for_gate, NULL));
    launch_frames(&frame, BRAID_MODE_NATIVE);
    destroy_exec(&frame, "cuEventSynchronize:1+=999");
    check_ok(frame_create_exec(&frame, BRAID_MODE_NATIVE));
    assert_int_equal(read_stats(frame.device).events_leased, 2);
    atomic_store(&gate_is_open, true);
    frame_finish(&frame);
    assert_int_equal(standin_bad_accesses(), 0);
    check_nothing_is_left();
}

static void an_exec_with_a_lost_frame(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, BRAID_MODE_STREAMS);
    fail_calls("cuEventRecord:2+=999,cuStreamSynchronize:1+=999");
    check_fails(braid_exec_launch(frame.exec, frame.stream), BRAID_DEVICE_ERROR, "cuEventRecord");
    destroy_exec(&frame, NULL);
    assert_true(read_stats(frame.device).events_leased > 0);
    frame_finish(&frame);
    check_nothing_is_left();
}

static void memory_events_and_modules(void **state)
{
    (void)state;
    struct frame frame;
    braid_event *event = NULL;
    open_frame(&frame);
    check_ok(frame_create_exec(&frame, BRAID_MODE_NATIVE));
    check_ok(braid_event_create(frame.device, NULL, &event));
    fail_calls("cuCtxGetCurrent:1=999");
    braid_event_destroy(event);
    fail_calls("cuCtxGetCurrent:1=999");
    braid_memory_free(frame.device, BRAID_MEMORY_HOST, frame.read);
    frame.read = NULL;
    destroy_exec(&frame, NULL);
    braid_stream_destroy(frame.stream);
    frame.stream = NULL;
    braid_memory_free(frame.device, BRAID_MEMORY_DEVICE, frame.words);
    fail_calls("cuCtxGetCurrent:1=999");
    braid_device_close(frame.device);
    fail_calls(NULL);
    check_nothing_is_left();
}

static void destroy_all(struct frame *frame, braid_event *event)
{
    braid_event_destroy(event);
    braid_exec_destroy(frame->exec);
    frame->exec = NULL;
    braid_stream_destroy(frame->stream);
    frame->stream = NULL;
    braid_memory_free(frame->device, BRAID_MEMORY_HOST, frame->read);
    frame->read = NULL;
    braid_memory_free(frame->device, BRAID_MEMORY_DEVICE, frame->words);
    frame->words = NULL;
}

// Making the device current is tried twice. Where both fail, the next call that destroys something
// destroys that too.
static void what_could_not_be_destroyed(braid_exec_mode mode)
{
    long num_kept = 0; // pinned memory for copies, which the device keeps for the next exec
    for (int nth = 0;; nth++) {
        struct frame frame;
        char rules[64];
        void *memory = NULL;
        braid_event *event = NULL;
        open_frame(&frame);
        check_ok(frame_create_exec(&frame, mode));
        check_ok(frame_run(&frame, 7));
        check_ok(
            braid_event_create(frame.device, &(braid_event_options){ .timing = true }, &event));
        snprintf(rules, sizeof(rules), "cuCtxGetCurrent:%d=999,cuCtxGetCurrent:%d=999", nth,
                 nth + 1);
        long before = standin_calls("cuCtxGetCurrent");
        fail_calls(nth ? rules : NULL);
        destroy_all(&frame, event);
        fail_calls(NULL);
        bool was_last = standin_calls("cuCtxGetCurrent") - before < nth;
        check_ok(braid_memory_allocate(frame.device, BRAID_MEMORY_HOST, 4, &memory));
        braid_memory_free(frame.device, BRAID_MEMORY_HOST, memory);
        num_kept = nth ? num_kept : standin_live("memory");
        assert_int_equal(standin_live("memory"), num_kept);
        frame_finish(&frame);
        check_nothing_is_left();
        if (was_last)
            return;
    }
}

static void what_could_not_be_destroyed_on_streams(void **state)
{
    (void)state;
    what_could_not_be_destroyed(BRAID_MODE_STREAMS);
}

static void what_could_not_be_destroyed_of_a_graph(void **state)
{
    (void)state;
    what_could_not_be_destroyed(BRAID_MODE_NATIVE);
}

// The last tests: what they leave behind is there for good.

// Each kind of what was left fails to be destroyed once more, for some call that failed to make the
// device current, and the log tells of it.
static void what_cannot_be_destroyed_later_either(void **state)
{
    (void)state;
    static const char *const functions[] = { "cuEventDestroy",     "cuMemFree:",
                                             "cuMemFree_v2:",      "cuMemFreeHost",
                                             "cuGraphExecDestroy", "cuGraphDestroy" };
    enum { NUM_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };
    bool told[NUM_FUNCTIONS] = { false };
    for (int nth = 1; nth < 20; nth++) {
        struct frame frame;
        char text[320];
        void *memory = NULL;
        braid_event *event = NULL;
        open_frame(&frame);
        check_ok(frame_create_exec(&frame, BRAID_MODE_NATIVE));
        check_ok(
            braid_event_create(frame.device, &(braid_event_options){ .timing = true }, &event));
        check_ok(braid_memory_allocate(frame.device, BRAID_MEMORY_HOST, 4, &memory));
        snprintf(text, sizeof(text),
                 "cuCtxGetCurrent:%d=999,cuCtxGetCurrent:%d=999,cuEventDestroy:1+=999,"
                 "cuMemFree:1+=999,cuMemFreeHost:1+=999,cuGraphExecDestroy:1+=999,"
                 "cuGraphDestroy:1+=999",
                 nth, nth + 1);
        fail_calls(text);
        destroy_all(&frame, event);
        braid_memory_free(frame.device, BRAID_MEMORY_HOST, memory);
        fail_calls(NULL);
        for (int i = 0; i < NUM_FUNCTIONS; i++) {
            snprintf(text, sizeof(text),
                     "destruction of what could not be destroyed before (cuda:0) failed: "
                     "CUDA_ERROR_UNKNOWN (999) from %s",
                     functions[i]);
            told[i] |= strstr(logged, text) != NULL;
        }
        frame_finish(&frame);
    }
    assert_true(told[0]);
    assert_true(told[1] || told[2]);
    assert_true(told[3]);
    assert_true(told[4]);
    assert_true(told[5]);
}

static void a_device_whose_default_stream_does_not_answer(void **state)
{
    (void)state;
    struct frame frame;
    atomic_int num_calls = 0;
    open_frame(&frame);
    check_ok(braid_stream_host_call(frame.device, NULL, count_late, &num_calls));
    check_ok(braid_stream_synchronize(frame.device, NULL));
    fail_calls("cuStreamSynchronize:2+=999"); // the first is for the frame's stream
    logged[0] = '\0';
    frame_finish(&frame);
    fail_calls(NULL);
    assert_non_null(strstr(logged, "not closed but kept"));
}

static void a_device_that_answers_nothing(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, BRAID_MODE_STREAMS);
    fail_calls("*:1+=700");
    logged[0] = '\0';
    braid_exec_destroy(frame.exec);
    braid_stream_destroy(frame.stream);
    braid_memory_free(frame.device, BRAID_MEMORY_HOST, frame.read);
    braid_memory_free(frame.device, BRAID_MEMORY_DEVICE, frame.words);
    check_fails(braid_device_close(frame.device), BRAID_DEVICE_ERROR, "not closed but kept");
    assert_non_null(strstr(logged, "not closed but kept"));
    fail_calls(NULL);
    while (frame.num_host_calls < NUM_FRAMES)
        ; // what was kept serves the frames to their end
    assert_int_equal(standin_bad_accesses(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exec_whose_wait_fails_once),
        cmocka_unit_test(an_exec_whose_waits_fail),
        cmocka_unit_test(an_exec_that_is_kept_until_the_device_is_closed),
        cmocka_unit_test(a_stream),
        cmocka_unit_test(a_lost_frame_is_not_forgotten),
        cmocka_unit_test(a_lost_lane_is_not_forgotten),
        cmocka_unit_test(a_lost_lane_loses_its_frame),
        cmocka_unit_test(what_was_current_before),
        cmocka_unit_test(an_exec_that_is_kept_while_its_frames_run),
        cmocka_unit_test(an_exec_with_a_lost_frame),
        cmocka_unit_test(memory_events_and_modules),
        cmocka_unit_test(what_could_not_be_destroyed_on_streams),
        cmocka_unit_test(what_could_not_be_destroyed_of_a_graph),
        cmocka_unit_test(what_cannot_be_destroyed_later_either),
        cmocka_unit_test(a_device_whose_default_stream_does_not_answer),
        cmocka_unit_test(a_device_that_answers_nothing),
    };
    braid_log_set(take_log, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
