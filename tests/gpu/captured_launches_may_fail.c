// SPDX-License-Identifier: Apache-2.0
// Whichever call of the driver or allocation fails while an exec is launched into a capture, the
// launch says so or does without. The capture ends whole, with the plan or without it, and the exec
// can be launched again.
#include <string.h>

#include "gpu/capturing.h"
#include "gpu/gpu_testing.h"
#include "gpu/island_graph.h"
#include "support/check.h"
#include "support/failing_memory.h"

enum { UNKNOWN_ERROR = 999, MOST_CALLS = 1 << 10, NUM_NODES = 4000 };

static const char *calls[MOST_CALLS];
static int num_calls;

static void note_call(const char *function)
{
    assert_true(num_calls < MOST_CALLS);
    calls[num_calls++] = function;
}

static struct frame frame;

// Launches into a capture that has one node of the program's, and ends it. Beside, fails call `nth`
// or, if that is 0, allocation `allocation`; 0: none.
static braid_status launch(int nth, uint64_t allocation)
{
    struct capture capture;
    begin_capture(&capture, frame.device, CAPTURE_GLOBAL);
    assert_int_equal(cuMemsetD32Async(frame.words, 77, FRAME_WORDS, capture.handle), 0);
    if (nth)
        fail_calls("*:%d=%d", nth, UNKNOWN_ERROR);
    if (allocation)
        failing_memory_arm_once(allocation);
    num_calls = 0;
    standin_watch(note_call);
    braid_status status = braid_exec_launch(frame.exec, capture.stream);
    standin_watch(NULL);
    failing_memory_disarm();
    fail_calls(NULL);
    end_capture(&capture);
    assert_int_equal(count_nodes(&capture), status ? 1 : 2);
    const int num_before = frame.num_host_calls;
    replay(&capture);
    check_ok(frame_read(&frame));
    assert_int_equal(frame.read[5], status ? 77 : frame_result(4));
    assert_int_equal(frame.num_host_calls - num_before, status ? 0 : 1);
    finish_capture(&capture);
    return status;
}

static char logged[1 << 12];

static void note_log(braid_status status, const char *message, void *user)
{
    (void)status, (void)user;
    if (strlen(logged) + strlen(message) < sizeof(logged))
        strcat(logged, message);
}

// As capturing begins: the exec has launched a frame.
static void open(void)
{
    check_ok(frame_open(&frame, "cuda"));
    check_ok(frame_create_exec(&frame, BRAID_MODE_GRAPH));
    check_ok(frame_run(&frame, 4));
}

// Calls about the thread are made a second time, and so is that by which the stream goes on. The
// log tells of calls that destroy; they leave their objects, so nothing else runs behind this test.
static bool may_be_silent(const char *function)
{
    static const char *const functions[] = { "cuCtx", "cuThreadExchangeStreamCaptureMode",
                                             "cuStreamUpdateCaptureDependencies", "Destroy" };
    bool may = false;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        may = may || strstr(function, functions[i]);
    return may;
}

static void any_call(void **state)
{
    (void)state;
    int num_failed = 0, nth, num;
    braid_log_set(note_log, NULL);
    open();
    check_ok(launch(0, 0));
    num = num_calls;
    for (nth = 1; nth <= num; nth++) {
        logged[0] = '\0';
        braid_status status = launch(nth, 0);
        const char *message = braid_error_get_message();
        num_failed += status != BRAID_OK;
        if (!status && !may_be_silent(calls[nth - 1]))
            fail_msg("nobody was told of call %d, of %s", nth, calls[nth - 1]);
        if (!status && strstr(calls[nth - 1], "Destroy") && !strstr(logged, calls[nth - 1]))
            fail_msg("the log tells nothing of call %d, of %s", nth, calls[nth - 1]);
        bool is_told = strstr(message, calls[nth - 1]) && strstr(message, "(999)");
        if (status && !is_told && !may_be_silent(calls[nth - 1]))
            fail_msg("call %d, of %s, failed, and '%s' was returned", nth, calls[nth - 1], message);
        if (status) // takes the pinned memory that was left, so that the next one makes all calls
            check_ok(launch(0, 0));
        check_ok(frame_run(&frame, 4));
    }
    print_message("summary: of %d captured launches, with a call that fails, %d failed\n", nth - 1,
                  num_failed);
    assert_true(num_failed > 25);
    frame_finish(&frame);
    assert_int_equal(standin_bad_accesses(), 0);
    braid_log_set(NULL, NULL);
}

// The stream's place is set twice at most; then the capture cannot end whole.
static void the_stream_goes_on_at_the_second_try(void **state)
{
    (void)state;
    struct capture capture;
    open();
    begin_capture(&capture, frame.device, CAPTURE_RELAXED);
    fail_calls("cuStreamUpdateCaptureDependencies:1+=%d", UNKNOWN_ERROR);
    check_fails(braid_exec_launch(frame.exec, capture.stream), BRAID_DEVICE_ERROR,
                "cuStreamUpdateCaptureDependencies");
    fail_calls(NULL);
    assert_int_not_equal(cuStreamEndCapture(capture.handle, &capture.graph), 0);
    begin_again(&capture);
    end_capture(&capture);
    finish_capture(&capture);
    check_ok(frame_run(&frame, 4));
    frame_finish(&frame);
}

static void any_allocation(void **state)
{
    (void)state;
    uint64_t num_failed = 0;
    braid_status status = BRAID_NO_MEMORY;
    open();
    check_ok(launch(0, 0));
    while (status) {
        status = launch(0, num_failed + 1);
        assert_true(!status || status == BRAID_NO_MEMORY);
        num_failed += status != BRAID_OK;
        check_ok(frame_run(&frame, 4));
    }
    print_message("summary: %u allocations failed\n", (unsigned)num_failed);
    assert_true(num_failed > 10);
    frame_finish(&frame);
}

// As the whole graph's island, whose arguments are too many for a launch. The player copies them
// to the device before its first launch, which there is none of here.
static braid_exec *make_long_island(braid_device *device, void *ran)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH, .islands = BRAID_ISLANDS_WHOLE };
    const uint32_t node = 0;
    const unsigned long unused = 0;
    const braid_arg args[] = { BRAID_ARG(ran), BRAID_ARG(node), BRAID_ARG(unused) };
    braid_graph *graph = own_graph();
    braid_node last;
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        const braid_kernel_node launch = { .node = { .after = &last, .num_after = i > 0 },
                                           .kernel = &island_note,
                                           .args = args,
                                           .num_args = 3 };
        check_ok(braid_graph_add_kernel(graph, &launch, &last));
    }
    return own_exec(device, graph, &options);
}

static void arguments_of_islands_come_along(void **state)
{
    (void)state;
    braid_device *device = own_device("cuda");
    void *ran;
    struct capture capture;
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, 256, &ran));
    memset(ran, 0, 256); // the stand-in's device memory is the host's
    braid_exec *exec = make_long_island(device, ran);
    begin_capture(&capture, device, CAPTURE_GLOBAL);
    fail_calls("cuMemcpyAsync:1=999");
    check_fails(braid_exec_launch(exec, capture.stream), BRAID_DEVICE_ERROR, "cuMemcpyAsync");
    long nth = 0, before;
    braid_status status;
    do { // each wait fails but those of the last try
        before = standin_calls("cuStreamSynchronize");
        fail_calls("cuStreamSynchronize:%ld=%d", ++nth, UNKNOWN_ERROR);
        status = braid_exec_launch(exec, capture.stream);
        fail_calls(NULL);
    } while (status);
    assert_int_equal(standin_calls("cuStreamSynchronize") - before, nth - 1);
    end_capture(&capture);
    replay(&capture);
    assert_int_equal(*(const unsigned *)ran, NUM_NODES);
    finish_capture(&capture);
    destroy_now(exec);
    braid_memory_free(device, ran);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(the_stream_goes_on_at_the_second_try),
        standin_test(any_allocation),
        standin_test(arguments_of_islands_come_along),
        cmocka_unit_test(any_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
