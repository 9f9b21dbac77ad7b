// SPDX-License-Identifier: Apache-2.0
// A device that breaks in the middle of a launch fails every call from then on, those that join and
// record what was queued among them. The message is still that of the first failure, as if only
// that one call had failed, and names the node.
#include <stdio.h>
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { UNKNOWN_ERROR = 999, ILLEGAL_ADDRESS = 700 };

// Launches with the nth call of any function failing, and with "+" those after it too.
static braid_status launch_failing(struct frame *frame, long nth, const char *later_too, int code)
{
    fail_calls("*:%ld%s=%d", nth, later_too, code);
    braid_status status = braid_exec_launch(frame->exec, frame->stream);
    fail_calls(NULL);
    return status;
}

// "launch of node 1 'sum' (cuda:0, lane 1)": without the error's name, for which the driver is
// asked too.
static void note_what_failed(char *out_text, size_t size)
{
    snprintf(out_text, size, "%s", braid_error_get_message());
    char *end = strstr(out_text, " failed");
    assert_non_null(end);
    *end = '\0';
}

static void open_and_run(struct frame *frame, braid_exec_mode mode)
{
    reset_standin();
    check_ok(frame_open(frame, "cuda"));
    check_ok(frame_create_exec(frame, mode));
    check_ok(frame_run(frame, 1));
}

int cuDevicePrimaryCtxRetain(void **context, int device); // the stand-in's
int cuDevicePrimaryCtxRelease(int device);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);

// What was queued before the failure runs on: the stand-in's driver is as well as before.
static void await_driver(void)
{
    void *context = NULL;
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(cuCtxSetCurrent(context), 0);
    assert_int_equal(cuCtxSynchronize(), 0);
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    assert_int_equal(cuDevicePrimaryCtxRelease(0), 0);
}

// A device of its own, since it stays failed.
static void break_from_call(long nth, braid_exec_mode mode, char *out_text, size_t size)
{
    struct frame frame;
    open_and_run(&frame, mode);
    check_fails(launch_failing(&frame, nth, "+", ILLEGAL_ADDRESS), BRAID_DEVICE_ERROR, "");
    note_what_failed(out_text, size);
    check_fails(braid_exec_wait(frame.exec), BRAID_DEVICE_ERROR, "failed before");
    check_fails(frame_run(&frame, 1), BRAID_DEVICE_ERROR, "failed before");
    await_driver();
    frame_finish(&frame);
}

// Returns how many failures named a node.
static int break_at_each_call(braid_exec_mode mode)
{
    struct frame frame;
    int num_named = 0;
    char expected[512], found[512];
    open_and_run(&frame, mode);
    long calls = standin_calls("*");
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    calls = standin_calls("*") - calls;
    check_ok(braid_exec_wait(frame.exec));
    for (long nth = 1; nth <= calls; nth++) {
        if (launch_failing(&frame, nth, "", UNKNOWN_ERROR) == BRAID_OK)
            continue; // what was current before is not: nobody is told
        note_what_failed(expected, sizeof(expected));
        check_ok(frame_run(&frame, 1));
        break_from_call(nth, mode, found, sizeof(found));
        assert_string_equal(found, expected);
        num_named += strchr(found, '\'') != NULL;
    }
    check_ok(frame_run(&frame, 7));
    check_ok(frame_read(&frame));
    assert_int_equal(frame.read[5], frame_result(7));
    frame_finish(&frame);
    check_nothing_is_left();
    return num_named;
}

static void on_streams(void **state)
{
    (void)state;
    // Six tasks reach the device, each by a call that makes it current and one that queues it.
    assert_true(break_at_each_call(BRAID_MODE_STREAMS) >= 2 * 6);
}

static void as_a_driver_graph(void **state)
{
    (void)state;
    break_at_each_call(BRAID_MODE_GRAPH);
}

// The driver does not say whose fault it was: another exec is told the same.
static void a_fault_is_reported_by_every_wait(void **state)
{
    (void)state;
    struct frame frame;
    check_ok(frame_open(&frame, "cuda"));
    check_ok(frame_create_exec(&frame, BRAID_MODE_STREAMS));
    braid_exec *faulty = frame.exec;
    check_ok(frame_create_exec(&frame, BRAID_MODE_GRAPH));
    check_ok(frame_run(&frame, 1));
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=700"));
    (void)!braid_exec_launch(faulty, frame.stream); // may meet the fault, or be ahead of it
    for (int i = 0; i < 2; i++) {
        check_fails(braid_exec_wait(faulty), BRAID_DEVICE_ERROR, "(700)");
        check_fails(braid_exec_wait_for(faulty, BRAID_LAST_FRAME, 0), BRAID_DEVICE_ERROR, "(700)");
        check_fails(braid_exec_wait(frame.exec), BRAID_DEVICE_ERROR, "(700)");
    }
    reset_standin();
    standin_forget_faults();
    braid_exec_destroy(faulty);
    frame_finish(&frame);
}

// Fills a word of the second device there.
static braid_exec *make_far(braid_device *group, uint32_t *word, braid_exec_mode mode)
{
    braid_resource buffer;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "word", word, 4, &buffer));
    check_ok(braid_graph_set_home(graph, buffer, 2));
    const braid_fill fill = { BRAID_ACCESSES({ buffer, BRAID_WRITE }), .node.place = 2,
                              .to_resource = buffer, .value_bytes = 4, .num_values = 1 };
    check_ok(braid_graph_add_fill(graph, &fill, NULL));
    const braid_exec_options options = { .mode = mode };
    return own_exec(group, graph, &options);
}

// A frame on two devices ends on the first, which is well: the second is asked, too.
static void break_the_second(braid_exec_mode mode)
{
    braid_device *devices[2];
    braid_device *group;
    void *words[2];
    for (uint32_t i = 0; i < 2; i++) {
        const braid_device_options options = { .backend = "cuda", .ordinal = i };
        check_ok(braid_device_open(&options, &devices[i]));
        check_ok(braid_memory_allocate(devices[i], BRAID_MEMORY_DEVICE, 4, &words[i]));
    }
    check_ok(braid_device_open_group(devices, 2, &group));
    braid_exec *exec = make_far(group, words[1], mode);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", "1=700"));
    (void)!braid_exec_launch(exec, NULL); // may meet the fault, or be ahead of it
    check_fails(braid_exec_wait(exec), BRAID_DEVICE_ERROR, "cuda:1");
    check_fails(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_DEVICE_ERROR, "cuda:1");
    check_ok(braid_stream_fill(braid_device_get_default_stream(devices[0]), words[0], 1, 4, 1));
    check_ok(braid_stream_wait(braid_device_get_default_stream(devices[0])));
    assert_true(standin_configure("BRAID_STANDIN_ASYNC", NULL));
    standin_forget_faults();
    destroy_now(exec);
    braid_device_close(group);
    for (uint32_t i = 0; i < 2; i++) {
        braid_memory_free(devices[i], words[i]);
        check_ok(braid_device_close(devices[i]));
    }
    check_nothing_is_left();
}

static void of_several_devices_the_broken_one_is_named(void **state)
{
    (void)state;
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", "2"));
    break_the_second(BRAID_MODE_STREAMS);
    break_the_second(BRAID_MODE_GRAPH);
    assert_true(standin_configure("BRAID_STANDIN_DEVICES", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(on_streams),
        standin_test(as_a_driver_graph),
        standin_test(a_fault_is_reported_by_every_wait),
        standin_test(of_several_devices_the_broken_one_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
