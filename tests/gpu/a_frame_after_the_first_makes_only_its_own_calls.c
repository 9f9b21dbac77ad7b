// SPDX-License-Identifier: Apache-2.0
// After the first launch nothing is created, destroyed, allocated or freed, and nothing waits.
#include <stdio.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

static const char *const forbidden[] = {
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuCtxSynchronize",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy",
    "cuEventCreate",
    "cuEventDestroy",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuGraphCreate",
    "cuGraphDestroy",
    "cuGraphAddKernelNode",
    "cuGraphInstantiateWithFlags",
    "cuGraphExecDestroy",
    "cuStreamBeginCapture",
    "cuMemcpy",
    "cuFuncSetAttribute",
};

enum { NUM_FORBIDDEN = sizeof(forbidden) / sizeof(forbidden[0]), FRAMES = 20 };

static void launch_frames(struct frame *frame, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++) {
        check_ok(braid_exec_set_arg(frame->exec, frame->summed, 3, BRAID_ARG(i)));
        check_ok(braid_exec_launch(frame->exec, frame->stream));
    }
}

static void count_forbidden(long *counts)
{
    for (size_t i = 0; i < NUM_FORBIDDEN; i++)
        counts[i] = standin_calls(forbidden[i]);
}

static void check_mode(braid_exec_mode mode)
{
    struct frame frame;
    long before[NUM_FORBIDDEN], after[NUM_FORBIDDEN];
    reset_standin();
    check_ok(frame_open(&frame, "cuda"));
    check_ok(frame_create_exec(&frame, mode));
    launch_frames(&frame, 1);
    count_forbidden(before);
    launch_frames(&frame, FRAMES);
    count_forbidden(after);
    for (size_t i = 0; i < NUM_FORBIDDEN; i++) {
        if (after[i] != before[i])
            fail_msg("%s was called %ld times in %d frames", forbidden[i], after[i] - before[i],
                     FRAMES);
    }
    check_ok(braid_exec_wait(frame.exec));
    check_ok(frame_read(&frame));
    assert_int_equal(frame.read[5], frame_result(FRAMES - 1));
    assert_int_equal(frame.num_host_calls, FRAMES + 1);
    frame_finish(&frame);
    check_nothing_is_left();
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

static void a_graph_frame_is_one_change_and_one_launch(void **state)
{
    (void)state;
    struct frame frame;
    check_ok(frame_open(&frame, "cuda"));
    check_ok(frame_create_exec(&frame, BRAID_MODE_GRAPH));
    launch_frames(&frame, 1);
    long changes = standin_calls("cuGraphExecKernelNodeSetParams");
    long launches = standin_calls("cuGraphLaunch");
    launch_frames(&frame, FRAMES); // the first has the argument that the graph has
    assert_int_equal(standin_calls("cuGraphExecKernelNodeSetParams") - changes, FRAMES - 1);
    assert_int_equal(standin_calls("cuGraphLaunch") - launches, FRAMES);
    assert_int_equal(standin_calls("cuLaunchKernel"), 0);
    check_ok(braid_exec_wait(frame.exec));
    frame_finish(&frame);
}

enum { NUM_NODES = 400, MOST_USERS = 40 };

// What the driver is told when a parameter is set that so many among all nodes use.
static long count_changes(uint32_t num_users)
{
    struct frame frame;
    braid_parameter addend;
    uint32_t value = 5;
    reset_standin();
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_parameter(graph, "addend", sizeof(value), &addend));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        uint32_t *words = frame.words;
        braid_node node;
        const braid_kernel_node launch = { .kernel = &sum_kernel,
                                           BRAID_ARGS(BRAID_ARG(words), BRAID_ARG(words),
                                                      BRAID_ARG(words), BRAID_ARG(value)) };
        check_ok(braid_graph_add_kernel(graph, &launch, &node));
        if (i % (NUM_NODES / MOST_USERS) == 0 && i / (NUM_NODES / MOST_USERS) < num_users)
            check_ok(braid_graph_use_parameter(
                graph, addend, &(braid_parameter_use){ .node = node, .argument = 3 }));
    }
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .max_lanes = 1 };
    check_ok(braid_exec_create(frame.device, graph, &options, &frame.exec));
    long before = standin_calls("cuGraphExecKernelNodeSetParams");
    value = 6;
    check_ok(braid_exec_set_parameter(frame.exec, addend, &value));
    assert_int_equal(standin_calls("cuGraphExecKernelNodeSetParams"), before);
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    long changes = standin_calls("cuGraphExecKernelNodeSetParams") - before;
    frame_finish(&frame);
    return changes;
}

// However many nodes there are.
static void a_parameter_costs_a_call_for_each_of_its_users(void **state)
{
    (void)state;
    assert_int_equal(count_changes(0), 0);
    assert_int_equal(count_changes(1), 1);
    assert_int_equal(count_changes(MOST_USERS), MOST_USERS);
}

static void check_entries(const char *function, long before, long expected)
{
    if (standin_calls(function) - before != expected)
        fail_msg("a launch made %ld calls of %s, not %ld", standin_calls(function) - before,
                 function, expected);
}

static void check_entered_once(braid_exec_mode mode, uint32_t num_frames)
{
    static const char *const functions[] = { "cuCtxGetCurrent", "cuCtxSetCurrent",
                                             "cuThreadExchangeStreamCaptureMode" };
    static const long expected[] = { 1, 2, 2 }; // the last two: there and back
    struct frame frame;
    braid_resource words;
    reset_standin();
    check_ok(frame_open(&frame, "cuda"));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "words", frame.words, 4, &words));
    const braid_kernel_node launch = {
        .kernel = &sum_kernel,
        BRAID_ARGS(BRAID_INOUT(words), BRAID_IN(words), BRAID_IN(words),
                   BRAID_ARG(((uint32_t){ 1 }))),
    };
    for (int i = 0; i < 3; i++)
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    const braid_exec_options options = { .mode = mode,
                                         .islands = BRAID_ISLANDS_NEVER,
                                         .frames_in_flight = num_frames };
    check_ok(braid_exec_create(frame.device, graph, &options, &frame.exec));
    for (int i = 0; i < 4; i++)
        check_ok(braid_exec_launch(frame.exec, frame.stream));
    check_ok(braid_exec_wait(frame.exec));
    long before[3];
    for (int i = 0; i < 3; i++)
        before[i] = standin_calls(functions[i]);
    check_ok(braid_exec_launch(frame.exec, frame.stream));
    for (int i = 0; i < 3; i++)
        check_entries(functions[i], before[i], expected[i]);
    frame_finish(&frame);
}

// On a thread without a context.
static void a_launch_makes_the_device_current_once(void **state)
{
    (void)state;
    check_entered_once(BRAID_MODE_GRAPH, 1);
    check_entered_once(BRAID_MODE_STREAMS, 1);
    check_entered_once(BRAID_MODE_GRAPH, 3);
    check_entered_once(BRAID_MODE_STREAMS, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(a_parameter_costs_a_call_for_each_of_its_users),
        standin_test(a_graph_frame_is_one_change_and_one_launch),
        standin_test(a_launch_makes_the_device_current_once),
        standin_test(on_streams),
        standin_test(as_a_driver_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
