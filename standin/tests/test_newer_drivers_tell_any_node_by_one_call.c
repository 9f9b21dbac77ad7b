// SPDX-License-Identifier: Apache-2.0
// From 13.2 on one call tells what any node does; older drivers lack it.
#include <string.h>

#include "driver.h"

static int open_newer_driver(void **state)
{
    open_driver(state);
    assert_true(standin_configure("BRAID_STANDIN_VERSION", "13020"));
    return 0;
}

static CUgraphNodeParams tell(CUgraphNode node, CUgraphNodeType type)
{
    CUgraphNodeParams params;
    memset(&params, 0xEE, sizeof(params));
    must(cuGraphNodeGetParams(node, &params));
    assert_int_equal(params.type, type);
    return params;
}

static CUgraphNodeParams conditional(CUgraph graph, CUgraphConditionalNodeType type, unsigned size)
{
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    must(
        cuGraphConditionalHandleCreate(&params.conditional.handle, graph, current_context(), 0, 0));
    params.conditional.type = type;
    params.conditional.size = size;
    return params;
}

static void loops_and_branches_tell_their_bodies(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode loop, branch, inner;
    must(cuGraphCreate(&graph, 0));
    CUgraphNodeParams made = conditional(graph, CU_GRAPH_COND_TYPE_WHILE, 1);
    must(cuGraphAddNode_v2(&loop, graph, NULL, NULL, 0, &made));
    CUgraphNodeParams told = tell(loop, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    assert_int_equal(told.conditional.handle, made.conditional.handle);
    assert_int_equal(told.conditional.type, CU_GRAPH_COND_TYPE_WHILE);
    assert_int_equal(told.conditional.size, 1);
    assert_ptr_equal(told.conditional.phGraph_out[0], made.conditional.phGraph_out[0]);
    must(cuGraphAddEmptyNode(&inner, told.conditional.phGraph_out[0], NULL, 0));
    tell(inner, CU_GRAPH_NODE_TYPE_EMPTY);
    made = conditional(graph, CU_GRAPH_COND_TYPE_IF, 2);
    must(cuGraphAddNode_v2(&branch, graph, &loop, NULL, 1, &made));
    told = tell(branch, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    assert_int_equal(told.conditional.type, CU_GRAPH_COND_TYPE_IF);
    assert_int_equal(told.conditional.size, 2);
    assert_ptr_equal(told.conditional.phGraph_out[1], made.conditional.phGraph_out[1]);
    must(cuGraphDestroy(graph));
}

static void do_nothing(void *user)
{
    (void)user;
}

static void work_is_told_as_by_the_call_of_its_kind(void **state)
{
    (void)state;
    struct words words = load_words();
    unsigned *word = make_memory(1);
    void *params[] = { &word };
    CUcontext context;
    CUgraph graph;
    CUgraphNode node;
    const CUDA_KERNEL_NODE_PARAMS kernel = { words.add_one, 2, 1, 1, 1, 1, 1, 0, params };
    const CUDA_MEMSET_NODE_PARAMS fill = { device(word), 0, 5, 4, 1, 1 };
    const CUDA_HOST_NODE_PARAMS call = { do_nothing, word };
    const CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .srcDevice = device(word),
                                 .dstMemoryType = CU_MEMORYTYPE_HOST,
                                 .dstHost = &context,
                                 .WidthInBytes = 4,
                                 .Height = 1,
                                 .Depth = 1 };
    must(cuCtxGetCurrent(&context));
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    CUgraphNodeParams told = tell(node, CU_GRAPH_NODE_TYPE_KERNEL);
    assert_ptr_equal(told.kernel.func, words.add_one);
    assert_int_equal(told.kernel.gridDimX, 2);
    assert_ptr_equal(*(unsigned **)told.kernel.kernelParams[0], word);
    must(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, context));
    told = tell(node, CU_GRAPH_NODE_TYPE_MEMSET);
    assert_memory_equal(&told.memset, &fill, sizeof(fill));
    assert_ptr_equal(told.memset.ctx, context);
    must(cuGraphAddHostNode(&node, graph, NULL, 0, &call));
    told = tell(node, CU_GRAPH_NODE_TYPE_HOST);
    assert_ptr_equal(told.host.userData, word);
    must(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    told = tell(node, CU_GRAPH_NODE_TYPE_MEMCPY);
    assert_ptr_equal(told.memcpy.copyCtx, context);
    assert_ptr_equal(told.memcpy.copyParams.dstHost, &context);
    assert_int_equal(told.memcpy.copyParams.srcDevice, device(word));
    must(cuGraphDestroy(graph));
    free_memory(word);
    must(cuModuleUnload(words.module));
}

static void the_other_kinds_are_told_too(void **state)
{
    (void)state;
    CUevent event = make_event();
    CUgraph graph, child;
    CUgraphNode node, alloc;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
        .bytesize = 4,
    };
    CUstreamBatchMemOpParams operation = { .waitValue = { CU_STREAM_MEM_OP_WRITE_VALUE_32 } };
    must(cuGraphCreate(&graph, 0));
    must(cuGraphCreate(&child, 0));
    must(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    assert_ptr_equal(tell(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD).eventRecord.event, event);
    must(cuGraphAddEventWaitNode(&node, graph, NULL, 0, event));
    assert_ptr_equal(tell(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT).eventWait.event, event);
    must(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    must(cuGraphDestroy(child));
    must(cuGraphChildGraphNodeGetGraph(node, &child));
    assert_ptr_equal(tell(node, CU_GRAPH_NODE_TYPE_GRAPH).graph.graph, child);
    must(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    assert_int_equal(tell(alloc, CU_GRAPH_NODE_TYPE_MEM_ALLOC).alloc.dptr, memory.dptr);
    operation.waitValue.address = memory.dptr;
    const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = { NULL, 1, &operation, 0 };
    must(cuGraphAddBatchMemOpNode(&node, graph, &alloc, 1, &batch));
    CUgraphNodeParams told = tell(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    assert_int_equal(told.memOp.count, 1);
    assert_int_equal(told.memOp.paramArray->waitValue.address, memory.dptr);
    must(cuGraphAddMemFreeNode(&node, graph, &node, 1, memory.dptr));
    assert_int_equal(tell(node, CU_GRAPH_NODE_TYPE_MEM_FREE).free.dptr, memory.dptr);
    must_be(cuGraphNodeGetParams(node, NULL), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphNodeGetParams(NULL, &told), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(graph));
    must(cuEventDestroy_v2(event));
}

static void older_drivers_lack_it(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode node;
    CUgraphNodeParams params;
    void *found = NULL;
    int version = 0;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    must(cuDriverGetVersion(&version));
    assert_int_equal(version, 13020);
    must(cuGetProcAddress_v2("cuGraphNodeGetParams", &found, 13020, 0, NULL));
    assert_non_null(found);
    assert_true(standin_configure("BRAID_STANDIN_VERSION", "12020"));
    must(cuDriverGetVersion(&version));
    assert_int_equal(version, 12020);
    must_be(cuGetProcAddress_v2("cuGraphNodeGetParams", &found, 13020, 0, NULL),
            CUDA_ERROR_NOT_FOUND);
    must_be(cuGraphNodeGetParams(node, &params), CUDA_ERROR_NOT_SUPPORTED);
    void *edges = NULL;
    CUresult (*first_shape)(CUgraph, CUgraphNode *, CUgraphNode *, size_t *) = cuGraphGetEdges;
    must(cuGetProcAddress_v2("cuGraphGetEdges", &edges, 13020, 0, NULL));
    assert_memory_equal(&edges, &first_shape, sizeof(edges)); // 12.3 brought the second one
    assert_false(standin_configure("BRAID_STANDIN_VERSION", "9000"));
    must(cuGraphDestroy(graph));
}

// A runtime asks for addresses before it makes any other call. This test runs first.
static void shapes_are_told_at_the_first_call(void **state)
{
    void *found = NULL;
    (void)state;
    must(cuGetProcAddress_v2("cuGetProcAddress", &found, 12000, 0, NULL));
    assert_non_null(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_told_at_the_first_call),
        cmocka_unit_test_setup_teardown(loops_and_branches_tell_their_bodies, open_newer_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(work_is_told_as_by_the_call_of_its_kind, open_newer_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(the_other_kinds_are_told_too, open_newer_driver,
                                        close_driver),
        cmocka_unit_test_setup_teardown(older_drivers_lack_it, open_newer_driver, close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
