// SPDX-License-Identifier: Apache-2.0
// Destroying while driver calls fail: one failure is made good, and after two the device has
// failed. All that the driver still accepts is released. The log says so; the message stays.
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { NUM_FRAMES = 3 };

static char logged[8192];

static void take_log(braid_status status, const char *message, void *user)
{
    (void)user;
    (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
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
    assert_non_null(strstr(braid_error_get_message(), "'none'"));
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

// The frames have ended before, since the stand-in works on.
static void fail_for_good(braid_exec_mode mode, const char *rules)
{
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, mode);
    check_ok(braid_exec_wait(frame.exec));
    destroy_exec(&frame, rules);
    assert_non_null(strstr(logged, "can be neither recorded nor awaited"));
    assert_int_equal(read_stats(frame.device).events_leased, 0);
    check_fails(braid_stream_wait(frame.stream), BRAID_DEVICE_ERROR, "failed before");
    check_fails(frame_create_exec(&frame, mode), BRAID_DEVICE_ERROR, "failed before");
    frame_finish(&frame);
    assert_int_equal(standin_bad_accesses(), 0);
}

static void in_each_mode(void (*try)(braid_exec_mode mode, const char *rules), const char *rules)
{
    try(BRAID_MODE_STREAMS, rules);
    try(BRAID_MODE_GRAPH, rules);
}

static void an_exec_whose_wait_fails_once(void **state)
{
    (void)state;
    in_each_mode(fail_once, "cuEventSynchronize:1=999");
    in_each_mode(fail_once, "cuCtxGetCurrent:1=999");
    in_each_mode(fail_once, "cuCtxSetCurrent:1=999");
    in_each_mode(fail_once, "cuThreadExchangeStreamCaptureMode:1=999");
}

static void an_exec_whose_waits_fail(void **state)
{
    (void)state;
    in_each_mode(fail_for_good, "cuEventSynchronize:1+=999");
    check_nothing_is_left();
    fail_for_good(BRAID_MODE_STREAMS, "*:1+=700");
    check_nothing_is_left();
}

static void count_late(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void a_stream_whose_wait_fails_once(void **state)
{
    (void)state;
    static const char *const rules[] = { "cuStreamSynchronize:1=999", "cuCtxGetCurrent:1=999" };
    for (int i = 0; i < 2; i++) {
        struct frame frame;
        atomic_int num_calls = 0;
        open_frame(&frame);
        assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "5000"));
        check_ok(braid_stream_host_call(frame.stream, count_late, &num_calls));
        fail_calls(rules[i]);
        braid_stream_destroy(frame.stream);
        frame.stream = NULL;
        fail_calls(NULL);
        assert_int_equal(atomic_load(&num_calls), 1);
        assert_int_equal(standin_live("stream"), 0);
        frame_finish(&frame);
        check_nothing_is_left();
    }
}

static void a_stream_whose_waits_fail(void **state)
{
    (void)state;
    struct frame frame;
    braid_stream *other = NULL;
    open_frame(&frame);
    check_ok(braid_stream_create(frame.device, NULL, &other));
    fail_calls("cuStreamSynchronize:1+=999");
    braid_stream_destroy(other);
    fail_calls(NULL);
    assert_non_null(strstr(logged, "waiting for a stream that is destroyed (cuda:0) failed"));
    assert_int_equal(standin_live("stream"), 1);
    check_fails(braid_stream_query(frame.stream), BRAID_DEVICE_ERROR,
                "cuda:0 failed before: waiting for a stream that is destroyed");
    frame_finish(&frame);
    check_nothing_is_left();
}

int cuCtxGetCurrent(void **context); // the stand-in's
int cuCtxSetCurrent(void *context);

static void what_was_current_before(void **state)
{
    (void)state;
    struct frame frame;
    void *current = NULL;
    open_frame(&frame);
    fail_calls("cuCtxSetCurrent:2=999");
    check_ok(braid_stream_query(frame.stream));
    fail_calls(NULL);
    assert_int_equal(cuCtxGetCurrent(&current), 0);
    assert_null(current);
    assert_string_equal(logged, "");
    fail_calls("cuCtxSetCurrent:2+=999");
    check_ok(braid_stream_query(frame.stream));
    fail_calls(NULL);
    assert_non_null(strstr(logged, "making current again what was current before"));
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    frame_finish(&frame);
    check_nothing_is_left();
}

// The program's call leaves no device current, and calls fail once it has returned.
static braid_status leave_none_current(braid_device *device, braid_stream *stream, void *rules)
{
    (void)device, (void)stream;
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    fail_calls("%s", (const char *)rules);
    return BRAID_OK;
}

// A queue call, and a fill behind it, which needs the device current.
static braid_status launch_queue_call(struct frame *frame, const char *rules)
{
    braid_node call;
    braid_graph *graph = NULL;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_queue_call(
        graph, &(braid_queue_call){ .call = leave_none_current, .user = (void *)(uintptr_t)rules },
        &call));
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ BRAID_AFTER(call), .to = frame->words, .value = 7,
                                                 .value_bytes = 4, .num_values = 1 },
                                  NULL));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    check_ok(braid_exec_create(frame->device, graph, &options, &frame->exec));
    braid_graph_destroy(graph);
    logged[0] = '\0';
    braid_status status = braid_exec_launch(frame->exec, frame->stream);
    fail_calls(NULL);
    return status;
}

static void what_is_current_behind_a_queue_call(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    check_ok(launch_queue_call(&frame, "cuCtxGetCurrent:1=999"));
    check_ok(frame_read(&frame));
    assert_int_equal(frame.read[0], 7);
    assert_string_equal(logged, "");
    frame_finish(&frame);
    check_nothing_is_left();
    open_frame(&frame);
    check_fails(launch_queue_call(&frame, "cuCtxGetCurrent:1=999,cuCtxGetCurrent:2=999"),
                BRAID_DEVICE_ERROR, "cuda:0");
    assert_non_null(strstr(logged, "going on behind a queue call (cuda:0) failed"));
    check_fails(braid_stream_query(frame.stream), BRAID_DEVICE_ERROR,
                "cuda:0 failed before: going on behind a queue call");
    frame_finish(&frame);
    check_nothing_is_left();
}

int cuThreadExchangeStreamCaptureMode(int *mode);

static int exchange_mode(int mode)
{
    assert_int_equal(cuThreadExchangeStreamCaptureMode(&mode), 0);
    return mode;
}

static void the_mode_for_captures(void **state)
{
    enum { THREAD_LOCAL = 1, RELAXED = 2 };
    (void)state;
    struct frame frame;
    open_frame(&frame);
    exchange_mode(THREAD_LOCAL);
    fail_calls("cuThreadExchangeStreamCaptureMode:1=999,cuThreadExchangeStreamCaptureMode:3=999");
    check_ok(braid_stream_query(frame.stream));
    fail_calls(NULL);
    assert_int_equal(exchange_mode(THREAD_LOCAL), THREAD_LOCAL);
    assert_string_equal(logged, "");
    fail_calls("cuThreadExchangeStreamCaptureMode:1+=999");
    check_fails(braid_stream_query(frame.stream), BRAID_DEVICE_ERROR,
                "when the device was made current");
    fail_calls("cuThreadExchangeStreamCaptureMode:2+=999");
    check_ok(braid_stream_query(frame.stream));
    fail_calls(NULL);
    assert_non_null(strstr(logged, "going back to the thread's mode for captures"));
    assert_int_equal(exchange_mode(0), RELAXED);
    frame_finish(&frame);
    check_nothing_is_left();
}

static void memory_events_and_modules(void **state)
{
    (void)state;
    struct frame frame;
    braid_event *event = NULL;
    open_frame(&frame);
    check_ok(frame_create_exec(&frame, BRAID_MODE_GRAPH));
    check_ok(braid_event_create(frame.device, NULL, &event));
    fail_calls("cuCtxGetCurrent:1=999");
    braid_event_destroy(event);
    fail_calls("cuCtxGetCurrent:1=999");
    braid_memory_free(frame.device, frame.read);
    frame.read = NULL;
    destroy_exec(&frame, NULL);
    braid_stream_destroy(frame.stream);
    frame.stream = NULL;
    braid_memory_free(frame.device, frame.words);
    fail_calls("cuCtxGetCurrent:1=999");
    braid_device_close(frame.device);
    fail_calls(NULL);
    check_nothing_is_left();
}

// A device that cannot be made current twice in a row has failed. What was to be destroyed then is
// left to the driver, and nothing else.
static void a_device_that_is_not_made_current(void **state)
{
    (void)state;
    struct frame frame;
    braid_event *event = NULL;
    open_frame(&frame);
    check_ok(braid_event_create(frame.device, NULL, &event));
    fail_calls("cuCtxGetCurrent:1+=999");
    braid_event_destroy(event);
    fail_calls(NULL);
    assert_non_null(strstr(logged, "destruction of an event (cuda:0) failed"));
    check_fails(braid_stream_query(frame.stream), BRAID_DEVICE_ERROR, "destruction of an event");
    frame_finish(&frame);
    assert_int_equal(standin_live("event"), 1);
    assert_int_equal(standin_live("stream") + standin_live("memory") + standin_live("context"), 0);
}

static void a_device_whose_default_stream_does_not_answer(void **state)
{
    (void)state;
    struct frame frame;
    atomic_int num_calls = 0;
    open_frame(&frame);
    check_ok(braid_stream_host_call(braid_device_get_default_stream(frame.device), count_late,
                                    &num_calls));
    check_ok(braid_stream_wait(braid_device_get_default_stream(frame.device)));
    fail_calls("cuStreamSynchronize:2+=999"); // the first is for the frame's stream
    logged[0] = '\0';
    frame_finish(&frame);
    fail_calls(NULL);
    assert_non_null(strstr(logged, "waiting for the work of a device that is closed"));
}

// A call that runs on a thread of the driver while another stream breaks the device.
struct running_call {
    atomic_bool has_begun, may_end, has_ended;
};

static void run_until_told(void *user)
{
    struct running_call *call = user;
    atomic_store(&call->has_begun, true);
    while (!atomic_load(&call->may_end))
        sched_yield();
    // Long enough that a destroy which does not wait comes first.
    nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
    atomic_store(&call->has_ended, true);
}

static braid_exec *create_with_call(const struct frame *frame, struct running_call *call,
                                    bool is_blocking)
{
    braid_exec *exec = NULL;
    braid_graph *graph = NULL;
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_host_call(
        graph, &(braid_host_call){ .call = run_until_told, .user = call, .blocking = is_blocking },
        NULL));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    check_ok(braid_exec_create(frame->device, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static void break_beside_a_call(bool is_blocking)
{
    struct frame frame;
    struct running_call call = { 0 };
    open_frame(&frame);
    check_ok(frame_create_exec(&frame, BRAID_MODE_STREAMS));
    braid_exec *exec = create_with_call(&frame, &call, is_blocking);
    check_ok(braid_exec_launch(exec, frame.stream));
    while (!atomic_load(&call.has_begun))
        sched_yield();
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=700"));
    (void)!braid_stream_fill(braid_device_get_default_stream(frame.device), frame.words, 1, 4, 1);
    braid_status status = BRAID_OK;
    while (!status)
        status = braid_stream_wait(braid_device_get_default_stream(frame.device));
    check_fails(status, BRAID_DEVICE_ERROR, "(700)");
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", NULL));
    check_fails(braid_exec_wait(exec), BRAID_DEVICE_ERROR, "(700)");
    // The stand-in's own waits end with the call; a driver's return the error at once.
    fail_calls("cuEventSynchronize:1+=700,cuStreamSynchronize:1+=700");
    atomic_store(&call.may_end, true);
    braid_exec_destroy(exec);
    fail_calls(NULL);
    assert_true(atomic_load(&call.has_ended));
    frame_finish(&frame);
    standin_forget_faults();
    assert_int_equal(standin_bad_accesses(), 0);
    check_nothing_is_left();
}

static void an_exec_whose_call_still_runs(void **state)
{
    (void)state;
    break_beside_a_call(false);
    break_beside_a_call(true);
}

// Every call fails from then on, and the log is told once.
static void a_device_that_answers_nothing(void **state)
{
    (void)state;
    struct frame frame;
    open_frame(&frame);
    launch_frames(&frame, BRAID_MODE_STREAMS);
    check_ok(braid_exec_wait(frame.exec));
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=700"));
    (void)!braid_exec_launch(frame.exec, frame.stream);
    check_fails(braid_exec_wait(frame.exec), BRAID_DEVICE_ERROR, "(700)");
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", NULL));
    logged[0] = '\0';
    braid_exec_destroy(frame.exec);
    braid_stream_destroy(frame.stream);
    braid_memory_free(frame.device, frame.read);
    braid_memory_free(frame.device, frame.words);
    check_ok(braid_device_close(frame.device));
    assert_string_equal(logged, "");
    standin_forget_faults();
    assert_int_equal(standin_bad_accesses(), 0);
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exec_whose_wait_fails_once),
        cmocka_unit_test(an_exec_whose_waits_fail),
        cmocka_unit_test(an_exec_whose_call_still_runs),
        cmocka_unit_test(a_stream_whose_wait_fails_once),
        cmocka_unit_test(a_stream_whose_waits_fail),
        cmocka_unit_test(what_was_current_before),
        cmocka_unit_test(what_is_current_behind_a_queue_call),
        cmocka_unit_test(the_mode_for_captures),
        cmocka_unit_test(memory_events_and_modules),
        cmocka_unit_test(a_device_that_answers_nothing),
        cmocka_unit_test(a_device_whose_default_stream_does_not_answer),
        cmocka_unit_test(a_device_that_is_not_made_current), // and an event stays with the driver
    };
    braid_log_set(take_log, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
