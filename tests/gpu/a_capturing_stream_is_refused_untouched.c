// SPDX-License-Identifier: Apache-2.0
// A launch that cannot become part of a capture is refused by name, and nothing of it is queued:
// the capture goes on and ends whole, and so does the exec.
#include <string.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/capturing.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

static void open(struct frame *frame, braid_exec_mode mode)
{
    check_ok(frame_open(frame, "cuda"));
    check_ok(frame_create_exec(frame, mode));
    check_ok(frame_run(frame, 1));
}

// The capture ends well with one node of the program's, and the exec still runs.
static void end(struct frame *frame, struct capture *capture)
{
    check_ok(braid_exec_wait_for(frame->exec, BRAID_LAST_FRAME, 0));
    check_ok(braid_exec_wait(frame->exec));
    assert_int_equal(cuMemsetD32Async(&frame->words[9], 8, 1, capture->handle), 0);
    end_capture(capture);
    assert_int_equal(count_nodes(capture), 1);
    replay(capture);
    check_ok(frame_run(frame, 5));
    check_ok(braid_exec_launch(frame->exec, capture->stream));
    check_ok(braid_exec_wait(frame->exec));
    check_ok(frame_read(frame));
    assert_int_equal(frame->read[5], frame_result(5));
    assert_int_equal(frame->read[9], 8);
    finish_capture(capture);
    frame_finish(frame);
    check_nothing_is_left();
}

// It was never captured before, and might spoil the program's capture.
static void a_queue_call_of_an_exec_on_streams(void **state)
{
    (void)state;
    struct frame frame;
    struct capture capture;
    open(&frame, BRAID_MODE_STREAMS);
    begin_capture(&capture, frame.device, CAPTURE_RELAXED);
    check_fails(braid_exec_launch(frame.exec, capture.stream), BRAID_UNSUPPORTED,
                "node 8 'graph' is a queue call");
    end(&frame, &capture);
}

// Waiting of the null stream for a stream that captures would spoil the capture.
static void the_null_stream_beside_a_blocking_stream(void **state)
{
    (void)state;
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++) {
        struct frame frame;
        struct capture capture;
        open(&frame, (braid_exec_mode)mode);
        begin_blocking_capture(&capture, frame.device);
        check_fails(braid_exec_launch(frame.exec, NULL), BRAID_UNSUPPORTED,
                    "the null stream waits for is being captured");
        end(&frame, &capture);
    }
}

static void many_frames(void **state)
{
    (void)state;
    struct frame frame;
    struct capture capture;
    open(&frame, BRAID_MODE_GRAPH);
    begin_capture(&capture, frame.device, CAPTURE_GLOBAL);
    check_fails(braid_exec_launch_many(frame.exec, capture.stream, 2, NULL, 0), BRAID_UNSUPPORTED,
                "its stream is being captured");
    end(&frame, &capture);
}

static void a_driver_without_the_calls(void **state)
{
    (void)state;
    struct frame frame;
    struct capture capture;
    open(&frame, BRAID_MODE_GRAPH);
    struct gpu_backend *gpu = gpu_from(frame.device->backend);
    const struct gpu_api *api = gpu->api;
    for (int i = 0; i < 2; i++) {
        struct gpu_api less = *api;
        if (i == 0)
            less.capture_info = NULL;
        else
            less.capture_go_on = NULL;
        begin_capture(&capture, frame.device, CAPTURE_THREAD_LOCAL);
        gpu->api = &less;
        check_fails(braid_exec_launch(frame.exec, capture.stream), BRAID_UNSUPPORTED,
                    "the driver has no call for it");
        gpu->api = api;
        end_capture(&capture);
        assert_int_equal(count_nodes(&capture), 0);
        finish_capture(&capture);
    }
    frame_finish(&frame);
}

// The driver says that the place of the stream has an edge that is not plain.
static void a_stream_behind_an_early_start(void **state)
{
    (void)state;
    struct frame frame;
    struct capture capture;
    open(&frame, BRAID_MODE_GRAPH);
    begin_capture(&capture, frame.device, CAPTURE_GLOBAL);
    fail_calls("cuStreamGetCaptureInfo:1=%d", GPU_LOSSY_QUERY);
    check_fails(braid_exec_launch(frame.exec, capture.stream), BRAID_UNSUPPORTED,
                "the stream's last kernel lets others start early");
    fail_calls(NULL);
    end(&frame, &capture);
}

static void a_capture_that_is_spoilt(void **state)
{
    (void)state;
    struct frame frame;
    struct capture capture;
    open(&frame, BRAID_MODE_GRAPH);
    begin_capture(&capture, frame.device, CAPTURE_RELAXED);
    assert_int_not_equal(cuStreamSynchronize(capture.handle), 0);
    check_fails(braid_exec_launch(frame.exec, capture.stream), BRAID_UNSUPPORTED,
                "its stream is being captured");
    assert_int_not_equal(cuStreamEndCapture(capture.handle, &capture.graph), 0);
    begin_again(&capture);
    end(&frame, &capture);
}

static braid_status launch_inner(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_exec_launch(user, stream);
}

// The refusal makes the outer exec take streams, where the inner one can be launched.
static void an_exec_launched_by_a_queue_call_runs_on_streams(void **state)
{
    (void)state;
    struct frame frame;
    braid_graph *graph = NULL;
    braid_exec *outer = NULL;
    braid_exec_info info;
    check_ok(frame_open(&frame, "cuda"));
    check_ok(frame_create_exec(&frame, BRAID_MODE_AUTO));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_queue_call(
        graph,
        &(braid_queue_call){ .node.name = "inner", .call = launch_inner, .user = frame.exec },
        NULL));
    check_ok(braid_exec_create(frame.device, graph, NULL, &outer));
    braid_graph_destroy(graph);
    braid_exec_get_info(outer, &info);
    assert_int_equal(info.mode, BRAID_MODE_STREAMS);
    assert_non_null(strstr(info.reason, "inner"));
    assert_non_null(strstr(info.reason, "a queue call launches it"));
    check_ok(braid_exec_set_arg(frame.exec, frame.summed, 3, BRAID_ARG(((uint32_t){ 9 }))));
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(outer, frame.stream));
    check_ok(frame_read(&frame));
    assert_int_equal(frame.read[5], frame_result(9));
    assert_int_equal(frame.num_host_calls, 3);
    braid_exec_destroy(outer);
    frame_finish(&frame);
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(a_queue_call_of_an_exec_on_streams),
        standin_test(the_null_stream_beside_a_blocking_stream),
        standin_test(many_frames),
        standin_test(a_driver_without_the_calls),
        standin_test(a_stream_behind_an_early_start),
        standin_test(a_capture_that_is_spoilt),
        standin_test(an_exec_launched_by_a_queue_call_runs_on_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
