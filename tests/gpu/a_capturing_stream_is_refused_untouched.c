// SPDX-License-Identifier: Apache-2.0
// A launch on a stream that is being captured is refused before anything is queued: the capture
// stays valid, and so does the exec. The same where a queue call launches another exec.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

int cuCtxSetCurrent(void *context);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphDestroy(void *graph);

enum { BLOCKING = 0, NON_BLOCKING = 1, CAPTURE_RELAXED = 2 };

// A frame, and a stream of the program's, which captures.
struct capture {
    struct frame frame;
    void *handle;
    braid_stream *stream;
};

static void begin(struct capture *capture, braid_exec_mode mode, unsigned flags)
{
    void *context = NULL;
    reset_standin();
    check_ok(frame_open(&capture->frame, "cuda"));
    check_ok(frame_create_exec(&capture->frame, mode));
    check_ok(frame_run(&capture->frame, 1));
    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(cuCtxSetCurrent(context), 0);
    assert_int_equal(cuStreamCreate(&capture->handle, flags), 0);
    assert_int_equal(cuStreamBeginCapture_v2(capture->handle, CAPTURE_RELAXED), 0);
    check_ok(braid_stream_wrap(capture->frame.device, capture->handle, &capture->stream));
}

// The capture ends well, whatever was refused, and the exec still runs.
static void end(struct capture *capture)
{
    struct frame *frame = &capture->frame;
    void *graph = NULL;
    check_ok(braid_exec_wait_for(frame->exec, BRAID_LAST_FRAME, 0));
    check_ok(braid_exec_wait(frame->exec));
    assert_int_equal(cuStreamEndCapture(capture->handle, &graph), 0);
    assert_non_null(graph);
    assert_int_equal(cuGraphDestroy(graph), 0);
    check_ok(frame_run(frame, 5));
    check_ok(braid_exec_launch(frame->exec, capture->stream));
    check_ok(braid_exec_wait(frame->exec));
    check_ok(frame_read(frame));
    assert_int_equal(frame->read[5], frame_result(5));
    braid_stream_destroy(capture->stream);
    assert_int_equal(cuStreamDestroy_v2(capture->handle), 0);
    frame_finish(frame);
    assert_int_equal(cuCtxSetCurrent(NULL), 0);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), 0);
    check_nothing_is_left();
}

static void check_mode(braid_exec_mode mode)
{
    struct capture capture;
    begin(&capture, mode, NON_BLOCKING);
    check_fails(braid_exec_launch(capture.frame.exec, capture.stream), BRAID_UNSUPPORTED,
                "being captured");
    end(&capture);
    // Waiting of the null stream for a stream that captures would spoil the capture.
    begin(&capture, mode, BLOCKING);
    check_fails(braid_exec_launch(capture.frame.exec, NULL), BRAID_UNSUPPORTED, "being captured");
    end(&capture);
}

static void on_streams(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_STREAMS);
}

static void as_a_driver_graph(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_GRAPH);
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
    reset_standin();
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
        cmocka_unit_test(on_streams),
        cmocka_unit_test(as_a_driver_graph),
        cmocka_unit_test(an_exec_launched_by_a_queue_call_runs_on_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
