// SPDX-License-Identifier: Apache-2.0
// Launches of graphs are opened to their nodes, though the program destroyed the graph at once.
#include "record/program.h"

#include <string.h>

enum { BYTES = 64 };

static CUdeviceptr memory, other;
static CUstream stream;
static CUevent event;

static CUgraphNode add_kernel(CUgraph graph, const CUgraphNode *after, size_t num, uint32_t number)
{
    CUgraphNode node;
    void *arguments[] = { &memory, &number };
    const CUDA_KERNEL_NODE_PARAMS parameters = {
        .func = program.add,
        .gridDimX = 1,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 1,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = arguments,
    };
    must(cuGraphAddKernelNode_v2(&node, graph, after, num, &parameters));
    return node;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphDestroy(graph));
    return exec;
}

// Two kernels, a fill behind the first, and a child with one kernel behind both.
// The graph stays: its nodes name those of the exec.
static CUgraphExec make_exec(CUgraph graph, CUgraphNode *out_first, CUgraphNode *out_fill)
{
    CUgraph child;
    CUgraphExec exec;
    CUgraphNode nodes[4];
    CUcontext context = program.context;
    must(cuGraphCreate(&child, 0));
    add_kernel(child, NULL, 0, 300);
    const CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = other, .value = 9, .elementSize = 1, .width = BYTES, .height = 1
    };
    nodes[0] = add_kernel(graph, NULL, 0, 100);
    must(cuGraphAddMemsetNode(&nodes[1], graph, nodes, 1, &fill, context));
    nodes[2] = add_kernel(graph, NULL, 0, 200);
    must(cuGraphAddChildGraphNode(&nodes[3], graph, nodes + 1, 2, child));
    must(cuGraphDestroy(child));
    *out_first = nodes[0];
    *out_fill = nodes[1];
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static CUgraphExec capture(void)
{
    CUgraph graph;
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_add(stream, memory, 400);
    must(cuMemcpyDtoDAsync_v2(other, memory, BYTES, stream));
    must(cuStreamEndCapture(stream, &graph));
    return instantiate(graph);
}

static void change_kernel(CUgraphExec exec, CUgraphNode node, uint32_t number)
{
    void *arguments[] = { &other, &number };
    const CUDA_KERNEL_NODE_PARAMS parameters = {
        .func = program.add,
        .gridDimX = 2,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 1,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = arguments,
    };
    must(cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters));
}

// ---- the record ----

static const braid_record_graph *graph_of(const braid_record_contents *contents, uint32_t frame,
                                          uint32_t number)
{
    const braid_record_frame *row = &contents->frames[frame];
    assert_true(number < row->num_operations);
    const braid_record_work *work = &contents->operations[row->first_operation + number].work;
    assert_int_equal(work->kind, BRAID_RECORD_GRAPH);
    return &contents->graphs[work->graph];
}

// The only kernel node with this number as its second argument, or NULL.
static const braid_record_node *find_add(const braid_record_contents *contents,
                                         const braid_record_graph *graph, uint32_t number)
{
    for (uint32_t i = 0; i < graph->num_nodes; i++) {
        const braid_record_node *node = &contents->nodes[graph->first_node + i];
        if (node->work.kind == BRAID_RECORD_KERNEL && node->work.parameter_bytes == 12 &&
            memcmp((const char *)node->work.parameters + 8, &number, 4) == 0)
            return node;
    }
    return NULL;
}

static const braid_record_node *find_kind(const braid_record_contents *contents,
                                          const braid_record_graph *graph,
                                          braid_record_work_kind kind)
{
    for (uint32_t i = 0; i < graph->num_nodes; i++)
        if (contents->nodes[graph->first_node + i].work.kind == kind)
            return &contents->nodes[graph->first_node + i];
    return NULL;
}

static bool is_before(const braid_record_contents *contents, const braid_record_graph *graph,
                      const braid_record_node *first, const braid_record_node *second)
{
    const uint32_t number = (uint32_t)(first - contents->nodes) - graph->first_node;
    for (uint32_t i = 0; i < second->num_befores; i++)
        if (contents->befores[second->first_before + i] == number)
            return true;
    return false;
}

static void check_built(const braid_record_contents *contents, const braid_record_graph *graph)
{
    const braid_record_node *first = find_add(contents, graph, 100);
    const braid_record_node *second = find_add(contents, graph, 200);
    const braid_record_node *fill = find_kind(contents, graph, BRAID_RECORD_FILL);
    const braid_record_node *child = find_kind(contents, graph, BRAID_RECORD_GRAPH);
    assert_int_equal(graph->num_nodes, 4);
    assert_true(first && second && fill && child);
    assert_int_equal(first->num_befores + second->num_befores, 0);
    assert_int_equal(fill->num_befores, 1);
    assert_true(is_before(contents, graph, first, fill));
    assert_int_equal(child->num_befores, 2);
    assert_true(is_before(contents, graph, fill, child));
    assert_true(is_before(contents, graph, second, child));
    assert_int_equal(fill->work.to.address, other);
    assert_int_equal(fill->work.width, BYTES);
    assert_non_null(find_add(contents, &contents->graphs[child->work.graph], 300));
}

static void check_changed(const braid_record_contents *contents, const braid_record_graph *graph)
{
    const braid_record_node *changed = find_add(contents, graph, 101);
    const braid_record_node *fill = find_kind(contents, graph, BRAID_RECORD_FILL);
    assert_null(find_add(contents, graph, 100));
    assert_non_null(changed);
    assert_int_equal(changed->work.grid[0], 2);
    assert_memory_equal(changed->work.parameters, &other, 8);
    assert_true(fill->is_disabled);
}

static void graphs_are_opened(void **state)
{
    CUgraph graph;
    CUgraphNode first, fill;
    (void)state;
    must(cuMemAlloc_v2(&memory, BYTES));
    must(cuMemAlloc_v2(&other, BYTES));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, 0));
    must(cuGraphCreate(&graph, 0));
    CUgraphExec built = make_exec(graph, &first, &fill), captured = capture();
    assert_true(braid_record_frame_mark());
    must(cuGraphLaunch(built, stream));
    must(cuGraphLaunch(captured, stream));
    must(cuGraphLaunch(built, stream));
    must(cuStreamSynchronize(stream));
    assert_true(braid_record_frame_mark());
    // A capture while the record runs is no work.
    CUgraphExec again = capture();
    change_kernel(built, first, 101);
    must(cuGraphNodeSetEnabled(built, fill, 0));
    must(cuGraphLaunch(built, stream));
    must(cuGraphExecDestroy(built));
    must(cuGraphLaunch(again, stream));
    // A graph that no operation launches is not in the record.
    CUgraphExec refused = capture();
    assert_int_not_equal(cuGraphLaunch(refused, (CUstream)(uintptr_t)0xdead), CUDA_SUCCESS);
    assert_true(braid_record_frame_mark());
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_frames, 2);
    // The one built, twice, each with its child, and two captured ones.
    assert_int_equal(contents->num_graphs, 6);
    check_built(contents, graph_of(contents, 0, 0));
    const braid_record_graph *copied = graph_of(contents, 0, 1);
    const braid_record_node *copy = find_kind(contents, copied, BRAID_RECORD_COPY);
    assert_int_equal(copied->num_nodes, 2);
    assert_true(is_before(contents, copied, find_add(contents, copied, 400), copy));
    assert_int_equal(copy->work.from.address, memory);
    assert_int_equal(copy->work.to.address, other);
    assert_int_equal(copy->work.width, BYTES);
    // Two launches of one exec are one graph.
    assert_ptr_equal(graph_of(contents, 0, 2), graph_of(contents, 0, 0));
    assert_int_equal(contents->frames[1].num_operations, 2);
    check_changed(contents, graph_of(contents, 1, 0));
    assert_int_equal(graph_of(contents, 1, 1)->num_nodes, 2);
    close_own_record();
    must(cuGraphDestroy(graph));
    must(cuGraphExecDestroy(captured));
    must(cuGraphExecDestroy(again));
    must(cuGraphExecDestroy(refused));
    must(cuStreamDestroy_v2(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(graphs_are_opened) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
