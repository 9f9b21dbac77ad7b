// SPDX-License-Identifier: Apache-2.0
// A reader of a graph gets back what its kernels were made from, also in a child, and their edges.
#include <string.h>

#include "driver.h"

// mix(struct of 24 bytes, word, pointer)
static const char mix_kernel[] = ".version 7.8\n"
                                 ".target sm_90\n"
                                 ".address_size 64\n"
                                 ".visible .entry mix(\n"
                                 "    .param .align 8 .b8 mix_param_0[24],\n"
                                 "    .param .u32 mix_param_1,\n"
                                 "    .param .u64 mix_param_2\n"
                                 ")\n"
                                 "{ ret; }\n";

struct array {
    unsigned *data;
    size_t shape[2];
};

__attribute__((visibility("default"))) void braid_standin_mix(const unsigned grid[3],
                                                              const unsigned block[3],
                                                              unsigned shared_bytes, void **args);

void braid_standin_mix(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    **(unsigned **)args[2] = ((struct array *)args[0])->data[0] + *(unsigned *)args[1];
}

// The kernel's graph, with the arguments that its node was made from.
struct mixing {
    CUmodule module;
    CUfunction mix;
    CUgraph graph;
    unsigned *memory;
    struct array array;
    unsigned word;
    unsigned *to;
};

static struct mixing open_mixing(void)
{
    struct mixing mixing = { .word = 7 };
    must(cuModuleLoadData(&mixing.module, mix_kernel));
    must(cuModuleGetFunction(&mixing.mix, mixing.module, "mix"));
    must(cuGraphCreate(&mixing.graph, 0));
    mixing.memory = make_memory(2);
    mixing.array = (struct array){ mixing.memory, { 3, 4 } };
    mixing.to = mixing.memory + 1;
    return mixing;
}

static void close_mixing(struct mixing *mixing)
{
    must(cuGraphDestroy(mixing->graph));
    free_memory(mixing->memory);
    must(cuModuleUnload(mixing->module));
}

static CUgraphNode add_mix(struct mixing *mixing)
{
    CUgraphNode node;
    void *params[] = { &mixing->array, &mixing->word, &mixing->to };
    const CUDA_KERNEL_NODE_PARAMS kernel = { .func = mixing->mix,
                                             .gridDimX = 2,
                                             .gridDimY = 3,
                                             .gridDimZ = 4,
                                             .blockDimX = 5,
                                             .blockDimY = 6,
                                             .blockDimZ = 7,
                                             .sharedMemBytes = 128,
                                             .kernelParams = params };
    must(cuGraphAddKernelNode_v2(&node, mixing->graph, NULL, 0, &kernel));
    return node;
}

static void kernels_tell_their_arguments(void **state)
{
    (void)state;
    struct mixing mixing = open_mixing();
    CUgraphNode node = add_mix(&mixing);
    CUDA_KERNEL_NODE_PARAMS told;
    CUDA_KERNEL_NODE_PARAMS_v1 told_v1;
    CUcontext context;
    must(cuCtxGetCurrent(&context));
    must(cuGraphKernelNodeGetParams_v2(node, &told));
    assert_ptr_equal(told.func, mixing.mix);
    assert_ptr_equal(told.ctx, context);
    assert_null(told.kern);
    assert_null(told.extra);
    assert_int_equal(told.gridDimZ, 4);
    assert_int_equal(told.blockDimY, 6);
    assert_int_equal(told.sharedMemBytes, 128);
    assert_memory_equal(told.kernelParams[0], &mixing.array, sizeof(mixing.array));
    assert_int_equal(*(unsigned *)told.kernelParams[1], 7);
    assert_ptr_equal(*(unsigned **)told.kernelParams[2], mixing.to);
    assert_true(told.kernelParams[1] != &mixing.word); // the node has a copy
    must(cuGraphKernelNodeGetParams(node, &told_v1));
    assert_ptr_equal(told_v1.func, mixing.mix);
    assert_int_equal(told_v1.gridDimX, 2);
    assert_ptr_equal(told_v1.kernelParams, told.kernelParams);
    must_be(cuGraphKernelNodeGetParams_v2(node, NULL), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphKernelNodeGetParams(NULL, &told_v1), CUDA_ERROR_INVALID_VALUE);
    close_mixing(&mixing);
}

static void packed_arguments_are_told_as_a_buffer(void **state)
{
    (void)state;
    struct mixing mixing = open_mixing();
    CUgraphNode node = add_mix(&mixing);
    CUDA_KERNEL_NODE_PARAMS told;
    unsigned char packed[40] = { 0 };
    size_t bytes = sizeof(packed);
    memcpy(packed, &mixing.array, sizeof(mixing.array));
    memcpy(packed + 24, &mixing.word, sizeof(mixing.word));
    memcpy(packed + 32, &mixing.to, sizeof(mixing.to));
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END };
    must(cuGraphKernelNodeGetParams_v2(node, &told));
    void **params = told.kernelParams;
    told.kernelParams = NULL;
    told.extra = extra;
    must(cuGraphKernelNodeSetParams_v2(node, &told));
    must(cuGraphKernelNodeGetParams_v2(node, &told));
    assert_null(told.kernelParams);
    assert_true(params != NULL && told.extra != extra);
    assert_ptr_equal(told.extra[0], CU_LAUNCH_PARAM_BUFFER_POINTER);
    assert_memory_equal(told.extra[1], packed, sizeof(packed));
    assert_ptr_equal(told.extra[2], CU_LAUNCH_PARAM_BUFFER_SIZE);
    assert_int_equal(*(size_t *)told.extra[3], sizeof(packed));
    assert_ptr_equal(told.extra[4], CU_LAUNCH_PARAM_END);
    close_mixing(&mixing);
}

static void set_attribute(CUgraphNode node, CUlaunchAttributeID id, CUlaunchAttributeValue value)
{
    must(cuGraphKernelNodeSetAttribute(node, id, &value));
}

static CUlaunchAttributeValue get_attribute(CUgraphNode node, CUlaunchAttributeID id)
{
    CUlaunchAttributeValue value;
    memset(&value, 0xEE, sizeof(value));
    must(cuGraphKernelNodeGetAttribute(node, id, &value));
    return value;
}

static void set_all_attributes(CUgraphNode node, void *memory)
{
    const CUaccessPolicyWindow window = { memory, 8, 0.5f, 1, 2 };
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                  (CUlaunchAttributeValue){ .accessPolicyWindow = window });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                  (CUlaunchAttributeValue){ .cooperative = 1 });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                  (CUlaunchAttributeValue){ .clusterDim = { 2, 3, 1 } });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                  (CUlaunchAttributeValue){ .clusterSchedulingPolicyPreference = 2 });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, (CUlaunchAttributeValue){ .priority = -3 });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                  (CUlaunchAttributeValue){ .memSyncDomainMap = { 2, 3 } });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                  (CUlaunchAttributeValue){ .memSyncDomain = 1 });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                  (CUlaunchAttributeValue){ .deviceUpdatableKernelNode = { 1, NULL } });
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                  (CUlaunchAttributeValue){ .sharedMemCarveout = 75 });
}

static void check_all_attributes(CUgraphNode node, const void *memory)
{
    CUlaunchAttributeValue value = get_attribute(node, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
    assert_ptr_equal(value.accessPolicyWindow.base_ptr, memory);
    assert_int_equal(value.accessPolicyWindow.num_bytes, 8);
    assert_true(value.accessPolicyWindow.hitRatio == 0.5f);
    assert_int_equal(value.accessPolicyWindow.missProp, 2);
    assert_int_equal(get_attribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative, 1);
    value = get_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    assert_int_equal(value.clusterDim.y, 3);
    value = get_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    assert_int_equal(value.clusterSchedulingPolicyPreference, 2);
    assert_int_equal(get_attribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, -3);
    value = get_attribute(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
    assert_int_equal(value.memSyncDomainMap.default_, 2);
    assert_int_equal(value.memSyncDomainMap.remote, 3);
    assert_int_equal(get_attribute(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain, 1);
    value = get_attribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
    assert_int_equal(value.deviceUpdatableKernelNode.deviceUpdatable, 1);
    value = get_attribute(node, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    assert_int_equal(value.sharedMemCarveout, 75);
}

static void new_kernels_have_plain_attributes(void **state)
{
    (void)state;
    struct mixing mixing = open_mixing();
    CUgraphNode node = add_mix(&mixing);
    CUlaunchAttributeValue value =
        get_attribute(node, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    assert_int_equal(value.sharedMemCarveout, 0);
    assert_int_equal(get_attribute(node, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain, 0);
    close_mixing(&mixing);
}

// Edges tell it.
static void early_starts_are_no_attributes_of_nodes(void **state)
{
    (void)state;
    const CUlaunchAttributeID id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    struct mixing mixing = open_mixing();
    CUgraphNode node = add_mix(&mixing);
    CUlaunchAttributeValue value = { .programmaticStreamSerializationAllowed = 1 };
    must_be(cuGraphKernelNodeSetAttribute(node, id, &value), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphKernelNodeGetAttribute(node, id, &value), CUDA_ERROR_INVALID_VALUE);
    close_mixing(&mixing);
}

static void kernels_tell_their_attributes(void **state)
{
    (void)state;
    struct mixing mixing = open_mixing();
    CUgraphNode node = add_mix(&mixing), other = add_mix(&mixing);
    CUDA_KERNEL_NODE_PARAMS told;
    CUlaunchAttributeValue value = { .deviceUpdatableKernelNode = { 0, NULL } };
    set_all_attributes(node, mixing.memory);
    check_all_attributes(node, mixing.memory);
    must(cuGraphKernelNodeGetParams_v2(node, &told));
    must(cuGraphKernelNodeSetParams_v2(node, &told)); // other parameters, the same attributes
    check_all_attributes(node, mixing.memory);
    must(cuGraphKernelNodeCopyAttributes(other, node));
    check_all_attributes(other, mixing.memory);
    must_be(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                                          &value),
            CUDA_ERROR_INVALID_VALUE);
    value.accessPolicyWindow = (CUaccessPolicyWindow){ .hitRatio = 1.5f };
    must_be(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value),
            CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, &value),
            CUDA_ERROR_INVALID_VALUE);
    close_mixing(&mixing);
}

static void a_child_can_be_read_and_changed_in_place(void **state)
{
    (void)state;
    struct mixing mixing = open_mixing();
    CUgraphNode inner = add_mix(&mixing), node, told_node;
    CUgraph graph, child = NULL;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS told;
    size_t count = 1;
    long before = standin_live("graph");
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddChildGraphNode(&node, graph, NULL, 0, mixing.graph));
    must(cuGraphChildGraphNodeGetGraph(node, &child));
    assert_true(child != NULL && child != mixing.graph);
    must(cuGraphGetNodes(child, &told_node, &count));
    assert_int_equal(count, 1);
    assert_true(told_node != inner);
    must(cuGraphKernelNodeGetParams_v2(told_node, &told));
    *(unsigned *)told.kernelParams[1] = 9;
    must(cuGraphKernelNodeSetParams_v2(told_node, &told));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(mixing.memory[1], 9); // a change of the child is one of the node
    must(cuGraphKernelNodeGetParams_v2(inner, &told));
    must(cuGraphExecKernelNodeSetParams_v2(exec, told_node, &told));
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    assert_int_equal(mixing.memory[1], 7); // and the executable graph knows the child's nodes
    must_be(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphChildGraphNodeGetGraph(inner, &child), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    assert_int_equal(standin_live("graph"), before);
    close_mixing(&mixing);
}

static void a_clone_has_children_of_its_own(void **state)
{
    (void)state;
    struct mixing mixing = open_mixing();
    CUgraph graph, clone, child = NULL, other = NULL;
    CUgraphNode node, inner;
    size_t count = 1;
    add_mix(&mixing);
    must(cuGraphCreate(&graph, 0));
    must(cuGraphAddChildGraphNode(&node, graph, NULL, 0, mixing.graph));
    must(cuGraphChildGraphNodeGetGraph(node, &child));
    must(cuGraphClone(&clone, graph));
    must(cuGraphGetNodes(clone, &node, &count));
    must(cuGraphChildGraphNodeGetGraph(node, &other));
    assert_true(other != child);
    must(cuGraphGetNodes(other, &inner, &count));
    assert_int_equal(count, 1);
    must_be(cuGraphDestroy(other), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(clone));
    must(cuGraphDestroy(graph));
    close_mixing(&mixing);
}

static int seen_priority;

static void see_priority(const char *kernel, int priority)
{
    (void)kernel;
    seen_priority = priority;
}

static void an_executable_graph_keeps_attributes_with_new_parameters(void **state)
{
    (void)state;
    struct mixing mixing = open_mixing();
    CUgraphNode node = add_mix(&mixing);
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS told;
    set_attribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, (CUlaunchAttributeValue){ .priority = -3 });
    must(cuGraphInstantiateWithFlags(&exec, mixing.graph,
                                     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
    must(cuGraphKernelNodeGetParams_v2(node, &told));
    must(cuGraphExecKernelNodeSetParams_v2(exec, node, &told));
    standin_watch_priorities(see_priority);
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
    standin_watch_priorities(NULL);
    assert_int_equal(seen_priority, -3);
    must(cuGraphExecDestroy(exec));
    close_mixing(&mixing);
}

static void nodes_tell_what_depends_on_them(void **state)
{
    (void)state;
    CUgraph graph;
    CUgraphNode first, second, third, told[3];
    CUgraphEdgeData edges[3];
    struct mixing mixing = open_mixing();
    size_t count = 3;
    const CUgraphEdgeData early = { .from_port = 1, .type = 1 };
    graph = mixing.graph;
    first = add_mix(&mixing);
    second = add_mix(&mixing);
    must(cuGraphAddEmptyNode(&third, graph, &first, 1));
    must(cuGraphAddDependencies_v2(graph, &first, &second, &early, 1));
    must_be(cuGraphNodeGetDependentNodes(first, told, &count), CUDA_ERROR_LOSSY_QUERY);
    count = 3;
    must(cuGraphNodeGetDependentNodes_v2(first, told, edges, &count));
    assert_int_equal(count, 2);
    assert_ptr_equal(told[0], second);
    assert_int_equal(edges[0].type, 1);
    assert_ptr_equal(told[1], third);
    assert_int_equal(edges[1].type, 0);
    assert_null(told[2]);
    must(cuGraphNodeGetDependentNodes(third, NULL, &count));
    assert_int_equal(count, 0);
    must_be(cuGraphNodeGetDependentNodes(first, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    close_mixing(&mixing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_tell_their_arguments),
        cmocka_unit_test(packed_arguments_are_told_as_a_buffer),
        cmocka_unit_test(new_kernels_have_plain_attributes),
        cmocka_unit_test(early_starts_are_no_attributes_of_nodes),
        cmocka_unit_test(kernels_tell_their_attributes),
        cmocka_unit_test(a_child_can_be_read_and_changed_in_place),
        cmocka_unit_test(a_clone_has_children_of_its_own),
        cmocka_unit_test(an_executable_graph_keeps_attributes_with_new_parameters),
        cmocka_unit_test(nodes_tell_what_depends_on_them),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
