// SPDX-License-Identifier: Apache-2.0
// A launch on a stream that is being captured adds the plan to the capture, in each mode of
// captures and of execs. Each replay does what a frame with the values of that launch does, on its
// own.
#include <string.h>

#include "gpu/capturing.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { NUM_REPLAYS = 4 };

static void open(struct frame *frame, braid_exec_mode mode)
{
    check_ok(frame_open(frame, "cuda"));
    check_ok(frame_create_exec(frame, mode));
}

static uint32_t word(struct frame *frame, uint32_t index)
{
    check_ok(frame_read(frame));
    return frame->read[index];
}

static void clear(const struct frame *frame)
{
    check_ok(braid_stream_fill(frame->stream, frame->words, 0, 4, FRAME_WORDS));
    check_ok(braid_stream_wait(frame->stream));
}

// The plan stands between two fills of the program: it is behind the first and before the second.
static void check_mode(int mode)
{
    struct frame made, *frame = &made;
    open(frame, BRAID_MODE_GRAPH);
    struct capture capture;
    check_ok(frame_run(frame, 1));
    begin_capture(&capture, frame->device, mode);
    assert_int_equal(cuMemsetD32Async(frame->words, 77, 1, capture.handle), 0);
    check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(((uint32_t){ 40 }))));
    check_ok(braid_exec_launch(frame->exec, capture.stream));
    assert_int_equal(cuMemcpyAsync(&frame->words[6], &frame->words[5], 4, capture.handle), 0);
    end_capture(&capture);
    assert_int_equal(frame->num_host_calls, 1); // by the frame before
    assert_int_equal(word(frame, 5), frame_result(1));
    for (uint32_t i = 0; i < NUM_REPLAYS; i++) {
        clear(frame);
        frame->own = 0;
        replay(&capture);
        assert_int_equal(frame->num_host_calls, 2 + 2 * i);
        assert_int_equal(frame->own, 7);
        assert_int_equal(word(frame, 6), frame_result(40));
        check_ok(frame_run(frame, i)); // a frame between, with other values
        assert_int_equal(word(frame, 5), frame_result(i));
    }
    assert_int_equal(braid_exec_get_num_launched(frame->exec), 1 + NUM_REPLAYS);
    finish_capture(&capture);
    frame_finish(frame);
}

static void in_each_mode_of_captures(void **state)
{
    (void)state;
    for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++)
        check_mode(mode);
}

// Two plans in one capture have transient memory and pinned memory of their own.
static void two_launches_are_two_graphs(void **state)
{
    (void)state;
    struct frame made, *frame = &made;
    open(frame, BRAID_MODE_GRAPH);
    struct capture capture;
    begin_capture(&capture, frame->device, CAPTURE_THREAD_LOCAL);
    check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(((uint32_t){ 2 }))));
    check_ok(braid_exec_launch(frame->exec, capture.stream));
    assert_int_equal(cuMemcpyAsync(&frame->words[6], &frame->words[5], 4, capture.handle), 0);
    check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(((uint32_t){ 3 }))));
    check_ok(braid_exec_launch(frame->exec, capture.stream));
    end_capture(&capture);
    replay(&capture);
    assert_int_equal(word(frame, 6), frame_result(2));
    assert_int_equal(frame->read[5], frame_result(3));
    assert_int_equal(frame->num_host_calls, 2);
    finish_capture(&capture);
    frame_finish(frame);
}

// The program instantiates the plan's own graph.
static void a_plan_is_a_graph(void **state)
{
    (void)state;
    struct frame made, *frame = &made;
    open(frame, BRAID_MODE_GRAPH);
    void *graph = NULL, *executable = NULL;
    struct capture capture;
    check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(((uint32_t){ 9 }))));
    check_ok(braid_exec_make_cuda_graph(frame->exec, &graph));
    check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(((uint32_t){ 1 }))));
    begin_capture(&capture, frame->device, CAPTURE_RELAXED); // for its stream and context
    end_capture(&capture);
    assert_int_equal(cuGraphInstantiateWithFlags(&executable, graph, 0), 0);
    for (int i = 0; i < 2; i++) {
        clear(frame);
        assert_int_equal(cuGraphLaunch(executable, capture.handle), 0);
        assert_int_equal(cuStreamSynchronize(capture.handle), 0);
        assert_int_equal(word(frame, 5), frame_result(9));
    }
    assert_int_equal(cuGraphExecDestroy(executable), 0);
    finish_capture(&capture);
    frame_finish(frame);
}

// An import reads the plan's nodes where the program's are.
static void a_captured_plan_is_imported(void **state)
{
    (void)state;
    struct frame made, *frame = &made;
    open(frame, BRAID_MODE_GRAPH);
    struct capture capture;
    braid_import *import = NULL;
    braid_import_info info;
    begin_capture(&capture, frame->device, CAPTURE_RELAXED);
    assert_int_equal(cuMemsetD32Async(frame->words, 77, 1, capture.handle), 0);
    check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(((uint32_t){ 6 }))));
    check_ok(braid_exec_launch(frame->exec, capture.stream));
    assert_int_equal(cuMemcpyAsync(&frame->words[6], &frame->words[5], 4, capture.handle), 0);
    end_capture(&capture);
    check_ok(braid_import_create(frame->device, capture.graph, NULL, &import));
    braid_import_get_info(import, &info);
    assert_int_equal(info.num_kernels, 3);
    braid_exec *exec = own_exec(frame->device, braid_import_get_graph(import), NULL);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(word(frame, 6), frame_result(6));
    assert_int_equal(frame->num_host_calls, 1);
    destroy_now(exec);
    braid_import_destroy(import);
    finish_capture(&capture);
    frame_finish(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(in_each_mode_of_captures),
        standin_test(two_launches_are_two_graphs),
        standin_test(a_plan_is_a_graph),
        standin_test(a_captured_plan_is_imported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
