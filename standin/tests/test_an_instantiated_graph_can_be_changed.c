// SPDX-License-Identifier: Apache-2.0
// An instantiated graph can be changed for later launches; launches in flight keep what they had.
#include "driver.h"

static CUDA_KERNEL_NODE_PARAMS kernel_node(CUfunction function, void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){ function, 1, 1, 1, 1, 1, 1, 0, params };
}

static void new_parameters_do_not_touch_a_launch_in_flight(void **state)
{
    (void)state;
    struct gate gate;
    struct words words = load_words();
    unsigned *memory = make_memory(2), *target = &memory[0];
    void *params[] = { &target };
    CUDA_KERNEL_NODE_PARAMS node = kernel_node(words.add_one, params);
    CUstream stream = make_stream();
    CUgraph graph;
    CUgraphNode add;
    CUgraphExec exec;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddKernelNode_v2(&add, graph, NULL, 0, &node));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    close_gate(&gate, stream);
    must(cuGraphLaunch(exec, stream));
    target = &memory[1];
    must(cuGraphExecKernelNodeSetParams_v2(exec, add, &node));
    must(cuGraphLaunch(exec, stream));
    must(cuGraphLaunch(exec, stream));
    open_gate(&gate);
    must(cuStreamSynchronize(stream));
    assert_int_equal(memory[0], 1);
    assert_int_equal(memory[1], 2);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

static CUgraph fill_then_copy(unsigned *memory, unsigned value, CUgraphNode *out_fill,
                              CUgraphNode *out_copy)
{
    CUgraph graph;
    CUcontext context;
    const CUDA_MEMSET_NODE_PARAMS fill = { device(memory), 0, value, 4, 4, 1 };
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = device(memory),
                                 .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .dstDevice = device(memory + 4),
                                 .WidthInBytes = 16,
                                 .Height = 1,
                                 .Depth = 1 };
    must(cuCtxGetCurrent(&context));
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddMemsetNode(out_fill, graph, NULL, 0, &fill, context));
    must(cuGraphAddMemcpyNode(out_copy, graph, out_fill, 1, &copy, context));
    return graph;
}

static void fills_and_copies_take_new_parameters(void **state)
{
    (void)state;
    unsigned *memory = make_memory(8);
    CUgraphNode fill, copy;
    CUgraph graph = fill_then_copy(memory, 7, &fill, &copy);
    CUgraphExec exec;
    CUcontext context;
    must(cuCtxGetCurrent(&context));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[7], 7);
    const CUDA_MEMSET_NODE_PARAMS other = { device(memory), 0, 9, 4, 4, 1 };
    must(cuGraphExecMemsetNodeSetParams(exec, fill, &other, context));
    must_be(cuGraphExecMemsetNodeSetParams(exec, copy, &other, context), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[4], 9);
    must(cuGraphNodeSetEnabled(exec, copy, 0));
    must(cuMemsetD32_v2(device(memory), 0, 8));
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[0], 9);
    assert_int_equal(memory[4], 0);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    free_memory(memory);
}

static void a_whole_graph_replaces_one_of_the_same_shape(void **state)
{
    (void)state;
    unsigned *memory = make_memory(8);
    CUgraphNode fill, copy, second_fill, second_copy;
    CUgraph graph = fill_then_copy(memory, 1, &fill, &copy);
    CUgraph second = fill_then_copy(memory, 2, &second_fill, &second_copy), third;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphExecUpdate_v2(exec, second, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[7], 2);
    must(cuGraphNodeSetEnabled(exec, copy, 0)); // the first graph's nodes still name the exec's
    must(cuGraphCreate(&third, 0));
    must_be(cuGraphExecUpdate_v2(exec, third, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuGraphDestroy(second));
    must(cuGraphDestroy(third));
    free_memory(memory);
}

static void priorities_stay_with_the_node(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *memory = make_memory(1);
    void *params[] = { &memory };
    CUDA_KERNEL_NODE_PARAMS node = kernel_node(words.add_one, params);
    CUgraph graph;
    CUgraphNode add, other;
    CUgraphExec exec;
    CUlaunchAttributeValue value = { .priority = -3 };
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddKernelNode_v2(&add, graph, NULL, 0, &node));
    must(cuGraphAddKernelNode_v2(&other, graph, NULL, 0, &node));
    must(cuGraphKernelNodeSetAttribute(add, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    must(cuGraphKernelNodeCopyAttributes(other, add));
    value.priority = 0;
    must(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    assert_int_equal(value.priority, -3);
    must(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
    must(cuGraphUpload(exec, NULL));
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(memory[0], 2);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    free_memory(memory);
    must(cuModuleUnload(words.module));
}

static void launches_of_one_exec_follow_each_other(void **state)
{
    (void)state;
    struct gate gate;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream stream = make_stream(), other = make_stream();
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    close_gate(&gate, stream);
    must(cuGraphLaunch(exec, stream));
    must(cuGraphLaunch(exec, other));
    await_gate(&gate);
    must_be(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuStreamSynchronize(other));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(other));
}

// A record in a graph is visible to a wait that is submitted after the launch.
static void event_nodes_tie_launches_to_streams(void **state)
{
    (void)state;
    struct gate gate;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream stream = make_stream(), other = make_stream();
    CUevent event = make_event();
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    close_gate(&gate, stream);
    must(cuGraphLaunch(exec, stream));
    must(cuStreamWaitEvent(other, event, 0));
    await_gate(&gate);
    must_be(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    must_be(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    open_gate(&gate);
    must(cuStreamSynchronize(other));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuEventDestroy_v2(event));
    must(cuStreamDestroy_v2(stream));
    must(cuStreamDestroy_v2(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_parameters_do_not_touch_a_launch_in_flight),
        cmocka_unit_test(fills_and_copies_take_new_parameters),
        cmocka_unit_test(a_whole_graph_replaces_one_of_the_same_shape),
        cmocka_unit_test(priorities_stay_with_the_node),
        cmocka_unit_test(launches_of_one_exec_follow_each_other),
        cmocka_unit_test(event_nodes_tie_launches_to_streams),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
