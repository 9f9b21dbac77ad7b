// SPDX-License-Identifier: Apache-2.0
// Captured and hand-made graphs do nothing until launched, then do everything in order, every time.
#include "probe.h"

#include <stdatomic.h>
#include <string.h>

enum { NUM_BYTES = 4096 };

static const char source[] = "extern \"C\" __global__ void add(unsigned *value, unsigned amount)\n"
                             "{\n"
                             "    *value += amount;\n"
                             "}\n";

void braid_standin_add(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **arguments);
void braid_standin_add(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                       void **arguments)
{
    unsigned *value = probe_pointer_argument(arguments, 0);
    unsigned amount;
    (void)grid;
    (void)block;
    (void)shared_bytes;
    memcpy(&amount, arguments[1], sizeof(amount));
    *value += amount;
}

static hipGraphExec_t instantiate(hipGraph_t graph)
{
    hipGraphExec_t exec = NULL;
    check(hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    return exec;
}

// Captures on two streams, which one event forks and another joins:
// fill the first half | fill the second half, then copy both back.
static hipGraph_t capture_fork_and_join(hipStream_t main_stream, hipStream_t side, void *device,
                                        unsigned char *host)
{
    hipEvent_t fork = probe_event();
    hipEvent_t join = probe_event();
    hipGraph_t graph = NULL;
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    check(hip.hipStreamBeginCapture(main_stream, hipStreamCaptureModeRelaxed));
    check(hip.hipMemsetD8Async(device, 9, NUM_BYTES / 2, main_stream));
    check(hip.hipEventRecord(fork, main_stream));
    check(hip.hipStreamWaitEvent(side, fork, 0));
    check(hip.hipStreamIsCapturing(side, &status));
    assert_int_equal(status, hipStreamCaptureStatusActive);
    check(hip.hipMemsetD8Async((char *)device + NUM_BYTES / 2, 8, NUM_BYTES / 2, side));
    check(hip.hipEventRecord(join, side));
    check(hip.hipStreamWaitEvent(main_stream, join, 0));
    check(hip.hipMemcpyAsync(host, device, NUM_BYTES, hipMemcpyDeviceToHost, main_stream));
    check(hip.hipStreamEndCapture(main_stream, &graph));
    check(hip.hipStreamIsCapturing(main_stream, &status));
    assert_int_equal(status, hipStreamCaptureStatusNone);
    check(hip.hipEventDestroy(fork));
    check(hip.hipEventDestroy(join));
    return graph;
}

static void a_captured_fork_and_join_replays(void **state)
{
    (void)state;
    hipStream_t streams[2] = { probe_stream(), probe_stream() };
    void *device = NULL;
    unsigned char *host = NULL;
    check(hip.hipMalloc(&device, NUM_BYTES));
    check(hip.hipHostMalloc((void **)&host, NUM_BYTES, hipHostMallocDefault));
    memset(host, 0, NUM_BYTES);
    hipGraph_t graph = capture_fork_and_join(streams[0], streams[1], device, host);
    assert_int_equal(host[0], 0);
    hipGraphExec_t exec = instantiate(graph);
    for (int frame = 0; frame < 3; frame++) {
        memset(host, 0, NUM_BYTES);
        check(hip.hipGraphLaunch(exec, streams[0]));
        check(hip.hipStreamSynchronize(streams[0]));
        assert_int_equal(host[0], 9);
        assert_int_equal(host[NUM_BYTES / 2 - 1], 9);
        assert_int_equal(host[NUM_BYTES / 2], 8);
        assert_int_equal(host[NUM_BYTES - 1], 8);
    }
    check(hip.hipGraphExecDestroy(exec));
    check(hip.hipGraphDestroy(graph));
    check(hip.hipFree(device));
    check(hip.hipHostFree(host));
    for (int i = 0; i < 2; i++)
        check(hip.hipStreamDestroy(streams[i]));
}

static hipGraphNode_t add_fill(hipGraph_t graph, const hipGraphNode_t *after, size_t num_after,
                               void *to, unsigned value)
{
    hipGraphNode_t node = NULL;
    hipMemsetParams params = {
        .dst = to, .elementSize = 4, .height = 1, .value = value, .width = 1
    };
    check(hip.hipGraphAddMemsetNode(&node, graph, after, num_after, &params));
    return node;
}

static hipKernelNodeParams kernel_params(hipFunction_t function, void **arguments)
{
    return (hipKernelNodeParams){
        .blockDim = { 1, 1, 1 },
        .gridDim = { 1, 1, 1 },
        .func = (void *)function,
        .kernelParams = arguments,
    };
}

static hipGraphNode_t add_kernel(hipGraph_t graph, const hipGraphNode_t *after, size_t num_after,
                                 hipFunction_t function, void **arguments)
{
    hipGraphNode_t node = NULL;
    hipKernelNodeParams params = kernel_params(function, arguments);
    check(hip.hipGraphAddKernelNode(&node, graph, after, num_after, &params));
    return node;
}

// fill 5 -> add `amount` -> empty -> copy back; the last edge is added by itself.
static hipGraph_t make_chain(hipFunction_t add, unsigned **device, unsigned amount, unsigned *host,
                             hipGraphNode_t *out_kernel)
{
    hipGraph_t graph = NULL;
    hipGraphNode_t empty = NULL;
    hipGraphNode_t copy = NULL;
    void *arguments[] = { device, &amount };
    check(hip.hipGraphCreate(&graph, 0));
    hipGraphNode_t fill = add_fill(graph, NULL, 0, *device, 5);
    hipGraphNode_t kernel = add_kernel(graph, &fill, 1, add, arguments);
    check(hip.hipGraphAddEmptyNode(&empty, graph, &kernel, 1));
    check(hip.hipGraphAddMemcpyNode1D(&copy, graph, NULL, 0, host, *device, sizeof(*host),
                                      hipMemcpyDeviceToHost));
    check(hip.hipGraphAddDependencies(graph, &empty, &copy, 1));
    *out_kernel = kernel;
    return graph;
}

// What the kernel tests need.
struct fixture {
    hipModule_t module;
    hipFunction_t add;
    hipStream_t stream;
    unsigned *device;
    unsigned *host;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.module = probe_compile(source);
    fixture.add = probe_function(fixture.module, "add");
    fixture.stream = probe_stream();
    check(hip.hipMalloc((void **)&fixture.device, NUM_BYTES));
    check(hip.hipHostMalloc((void **)&fixture.host, NUM_BYTES, hipHostMallocDefault));
    *fixture.host = 0;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    check(hip.hipFree(fixture->device));
    check(hip.hipHostFree(fixture->host));
    check(hip.hipStreamDestroy(fixture->stream));
    check(hip.hipModuleUnload(fixture->module));
    return 0;
}

static void launch_and_expect(struct fixture *fixture, hipGraphExec_t exec, unsigned value)
{
    *fixture->host = 0;
    check(hip.hipGraphLaunch(exec, fixture->stream));
    check(hip.hipStreamSynchronize(fixture->stream));
    assert_int_equal(*fixture->host, value);
}

static void a_hand_made_graph_replays_and_keeps_its_arguments(void **state)
{
    struct fixture *fixture = *state;
    hipGraphNode_t kernel = NULL;
    size_t num_nodes = 0;
    hipGraph_t graph = make_chain(fixture->add, &fixture->device, 10, fixture->host, &kernel);
    check(hip.hipGraphGetNodes(graph, NULL, &num_nodes));
    assert_int_equal(num_nodes, 4);
    hipGraphExec_t exec = instantiate(graph);
    for (int frame = 0; frame < 3; frame++)
        launch_and_expect(fixture, exec, 15);
    check(hip.hipGraphExecDestroy(exec));
    check(hip.hipGraphDestroy(graph));
}

static void a_kernels_arguments_can_be_changed_between_launches(void **state)
{
    struct fixture *fixture = *state;
    hipGraphNode_t kernel = NULL;
    hipGraph_t graph = make_chain(fixture->add, &fixture->device, 10, fixture->host, &kernel);
    hipGraphExec_t exec = instantiate(graph);
    launch_and_expect(fixture, exec, 15);
    unsigned amount = 20;
    void *arguments[] = { &fixture->device, &amount };
    hipKernelNodeParams params = kernel_params(fixture->add, arguments);
    check(hip.hipGraphExecKernelNodeSetParams(exec, kernel, &params));
    amount = 0;
    launch_and_expect(fixture, exec, 25);
    check(hip.hipGraphExecDestroy(exec));
    check(hip.hipGraphDestroy(graph));
}

static void an_executable_graph_can_be_updated_from_another_graph(void **state)
{
    struct fixture *fixture = *state;
    hipGraphNode_t kernel = NULL;
    hipGraphNode_t error_node = NULL;
    hipGraphExecUpdateResult result = hipGraphExecUpdateError;
    hipGraph_t graph = make_chain(fixture->add, &fixture->device, 10, fixture->host, &kernel);
    hipGraph_t other = make_chain(fixture->add, &fixture->device, 30, fixture->host, &kernel);
    hipGraphExec_t exec = instantiate(graph);
    launch_and_expect(fixture, exec, 15);
    check(hip.hipGraphExecUpdate(exec, other, &error_node, &result));
    assert_int_equal(result, hipGraphExecUpdateSuccess);
    launch_and_expect(fixture, exec, 35);
    check(hip.hipGraphExecDestroy(exec));
    check(hip.hipGraphDestroy(graph));
    check(hip.hipGraphDestroy(other));
}

static void count(void *argument)
{
    atomic_fetch_add_explicit((atomic_int *)argument, 1, memory_order_release);
}

static void launches_behind_each_other_all_happen(void **state)
{
    struct fixture *fixture = *state;
    struct probe_gate gate = probe_gate_create();
    unsigned amount = 10;
    void *arguments[] = { &fixture->host, &amount };
    hipGraph_t graph = NULL;
    check(hip.hipGraphCreate(&graph, 0));
    add_kernel(graph, NULL, 0, fixture->add, arguments);
    hipGraphExec_t exec = instantiate(graph);
    probe_gate_close(&gate, fixture->stream);
    for (int frame = 0; frame < 3; frame++)
        check(hip.hipGraphLaunch(exec, fixture->stream));
    assert_int_equal(*fixture->host, 0);
    probe_gate_open(&gate);
    check(hip.hipStreamSynchronize(fixture->stream));
    assert_int_equal(*fixture->host, 30);
    check(hip.hipGraphExecDestroy(exec));
    check(hip.hipGraphDestroy(graph));
    probe_gate_destroy(&gate);
}

// fill -> host call
static hipGraph_t make_host_graph(void *device, atomic_int *num_calls)
{
    hipHostNodeParams params = { .fn = count, .userData = num_calls };
    hipGraph_t graph = NULL;
    hipGraphNode_t host = NULL;
    check(hip.hipGraphCreate(&graph, 0));
    hipGraphNode_t fill = add_fill(graph, NULL, 0, device, 1);
    check(hip.hipGraphAddHostNode(&host, graph, &fill, 1, &params));
    return graph;
}

static void a_host_node_runs_at_each_of_separate_launches(void **state)
{
    struct fixture *fixture = *state;
    atomic_int num_calls = 0;
    hipGraph_t graph = make_host_graph(fixture->device, &num_calls);
    hipGraphExec_t exec = instantiate(graph);
    for (int frame = 1; frame <= 3; frame++) {
        check(hip.hipGraphLaunch(exec, fixture->stream));
        check(hip.hipStreamSynchronize(fixture->stream));
        assert_int_equal(atomic_load_explicit(&num_calls, memory_order_acquire), frame);
    }
    check(hip.hipGraphExecDestroy(exec));
    check(hip.hipGraphDestroy(graph));
}

static void a_host_node_runs_at_launches_in_flight(void **state)
{
    struct fixture *fixture = *state;
    if (probe_rocm_version < ROCM_5_4) {
        print_message(
            "SKIP: before ROCm 5.4 a launch made while the one before it is in flight may "
            "lose its host nodes or damage the heap\n");
        skip();
    }
    struct probe_gate gate = probe_gate_create();
    atomic_int num_calls = 0;
    hipGraph_t graph = make_host_graph(fixture->device, &num_calls);
    hipGraphExec_t exec = instantiate(graph);
    probe_gate_close(&gate, fixture->stream);
    for (int frame = 0; frame < 3; frame++)
        check(hip.hipGraphLaunch(exec, fixture->stream));
    probe_gate_open(&gate);
    check(hip.hipStreamSynchronize(fixture->stream));
    assert_int_equal(atomic_load_explicit(&num_calls, memory_order_acquire), 3);
    check(hip.hipGraphExecDestroy(exec));
    check(hip.hipGraphDestroy(graph));
    probe_gate_destroy(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_fork_and_join_replays),
        cmocka_unit_test_setup_teardown(a_hand_made_graph_replays_and_keeps_its_arguments, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_kernels_arguments_can_be_changed_between_launches, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_executable_graph_can_be_updated_from_another_graph,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(launches_behind_each_other_all_happen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_host_node_runs_at_each_of_separate_launches, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_host_node_runs_at_launches_in_flight, set_up, tear_down),
    };
    return probe_run(tests);
}
