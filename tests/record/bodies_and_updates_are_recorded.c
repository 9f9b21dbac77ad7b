// SPDX-License-Identifier: Apache-2.0
// Bodies of conditional nodes, events of nodes, and updates of a whole exec are in the record. If
// the driver does not answer the recorder's questions, the program gets its exec all the same.
#include "record/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUdeviceptr memory;
static CUstream stream;

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

static uint32_t number_of(const braid_record_work *work)
{
    uint32_t number;
    assert_int_equal(work->kind, BRAID_RECORD_KERNEL);
    memcpy(&number, (const char *)work->parameters + 8, sizeof(number));
    return number;
}

static const braid_record_work *launch_of(const braid_record_contents *contents, uint32_t number)
{
    const braid_record_work *work =
        &contents->operations[contents->frames[0].first_operation + number].work;
    assert_int_equal(work->kind, BRAID_RECORD_GRAPH);
    return work;
}

// A branch that is never taken: its handle is 0.
static CUgraphExec make_branch(CUgraphConditionalHandle *out_handle)
{
    CUgraph graph;
    CUgraphNode node, first;
    CUgraphExec exec;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphConditionalHandleCreate(out_handle, graph, program.context, 0,
                                        CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams parameters = {
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = { .handle = *out_handle, .type = CU_GRAPH_COND_TYPE_IF, .size = 1 },
    };
    parameters.conditional.ctx = program.context;
    first = add_kernel(graph, NULL, 0, 1);
    must(cuGraphAddNode_v2(&node, graph, &first, NULL, 1, &parameters));
    add_kernel(parameters.conditional.phGraph_out[0], NULL, 0, 2);
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphDestroy(graph));
    return exec;
}

static void check_branch(const braid_record_contents *contents, CUgraphConditionalHandle handle)
{
    const braid_record_graph *graph = &contents->graphs[launch_of(contents, 0)->graph];
    assert_int_equal(graph->num_nodes, 2);
    const braid_record_node *branch = &contents->nodes[graph->first_node + 1];
    assert_int_equal(number_of(&contents->nodes[graph->first_node].work), 1);
    assert_int_equal(branch->num_befores, 1);
    assert_int_equal(branch->work.kind, BRAID_RECORD_CONDITIONAL);
    assert_int_equal(branch->work.condition, BRAID_RECORD_IF);
    assert_int_equal(branch->work.condition_handle, handle);
    assert_int_equal(branch->work.num_bodies, 1);
    assert_true(branch->work.has_first_value);
    assert_int_equal(branch->work.first_value, 0);
    const braid_record_graph *body = &contents->graphs[branch->work.graph];
    assert_int_equal(body->num_nodes, 1);
    assert_int_equal(number_of(&contents->nodes[body->first_node].work), 2);
}

// Two graphs of one shape: a kernel, a record of an event, a kernel.
static CUgraph make_chain(CUevent event, uint32_t number, CUgraphNode *out_last)
{
    CUgraph graph;
    CUgraphNode first, record;
    must(cuGraphCreate(&graph, 0));
    first = add_kernel(graph, NULL, 0, number);
    must(cuGraphAddEventRecordNode(&record, graph, &first, 1, event));
    *out_last = add_kernel(graph, &record, 1, number + 1);
    return graph;
}

static void check_chain(const braid_record_contents *contents, uint32_t launch, uint32_t first,
                        uint32_t last)
{
    const braid_record_graph *graph = &contents->graphs[launch_of(contents, launch)->graph];
    const braid_record_node *nodes = &contents->nodes[graph->first_node];
    assert_int_equal(graph->num_nodes, 3);
    assert_int_equal(number_of(&nodes[0].work), first);
    assert_int_equal(nodes[1].work.kind, BRAID_RECORD_EVENT_RECORD);
    assert_int_equal(number_of(&nodes[2].work), last);
}

static void launches_have_the_nodes_that_ran(void **state)
{
    CUgraphConditionalHandle handle;
    CUevent event;
    CUgraphNode last, other;
    CUgraphExec chain;
    CUgraphExecUpdateResultInfo info;
    CUstream second;
    (void)state;
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUgraphExec branch = make_branch(&handle);
    CUgraph graph = make_chain(event, 10, &last), newer = make_chain(event, 20, &other);
    must(cuGraphInstantiateWithFlags(&chain, graph, 0));
    assert_true(braid_record_frame_mark());
    must(cuGraphLaunch(branch, stream));
    must(cuGraphLaunch(chain, stream));
    must(cuGraphExecUpdate_v2(chain, newer, &info));
    must(cuGraphLaunch(chain, stream));
    must(cuStreamWaitEvent(second, event, 0));
    // Nodes of the first graph still name those of the exec.
    uint32_t number = 30;
    void *arguments[] = { &memory, &number };
    CUDA_KERNEL_NODE_PARAMS parameters;
    must(cuGraphKernelNodeGetParams_v2(last, &parameters));
    parameters.kernelParams = arguments;
    must(cuGraphExecKernelNodeSetParams_v2(chain, last, &parameters));
    must(cuGraphLaunch(chain, stream));
    assert_true(braid_record_frame_mark());
    const braid_record_contents *contents = open_own_record();
    check_branch(contents, handle);
    check_chain(contents, 1, 10, 11);
    check_chain(contents, 2, 20, 21);
    check_chain(contents, 4, 20, 30);
    // The wait is for the launch whose node recorded the event last.
    const braid_record_operation *wait = &contents->operations[3];
    assert_int_equal(wait->work.kind, BRAID_RECORD_EVENT_WAIT);
    assert_int_equal(wait->num_befores, 1);
    assert_int_equal(contents->befores[wait->first_before], 2);
    close_own_record();
    must(cuGraphDestroy(graph));
    must(cuGraphDestroy(newer));
    must(cuGraphExecDestroy(branch));
    must(cuGraphExecDestroy(chain));
}

// A branch with two bodies. The recorder reads both before it puts one into the exec.
static CUgraph make_two_bodies(void)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphConditionalHandle handle;
    must(cuGraphCreate(&graph, 0));
    must(cuGraphConditionalHandleCreate(&handle, graph, program.context, 0,
                                        CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams parameters = {
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = { .handle = handle, .type = CU_GRAPH_COND_TYPE_IF, .size = 2 },
    };
    parameters.conditional.ctx = program.context;
    must(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &parameters));
    for (uint32_t i = 0; i < 2; i++)
        add_kernel(parameters.conditional.phGraph_out[i], NULL, 0, i);
    return graph;
}

static void failed_questions_change_no_result(void **state)
{
    static const char *const questions[] = { "cuGraphGetNodes", "cuGraphGetEdges",
                                             "cuGraphNodeGetType", "cuGraphKernelNodeGetParams" };
    typedef bool configure(const char *setting, const char *value);
    void *driver = dlopen(getenv("BRAID_RECORD_REAL"), RTLD_LAZY | RTLD_NOLOAD);
    configure *set = (configure *)(uintptr_t)dlsym(driver, "standin_configure");
    CUgraph graph = make_two_bodies();
    (void)state;
    for (int i = 0; i < 4; i++) {
        for (int nth = 1; nth <= 7; nth++) {
            CUgraphExec exec;
            char rule[80];
            snprintf(rule, sizeof(rule), "%s:%d=999", questions[i], nth);
            assert_true(set("BRAID_STANDIN_FAIL", rule));
            must(cuGraphInstantiateWithFlags(&exec, graph, 0));
            assert_true(set("BRAID_STANDIN_FAIL", NULL));
            must(cuGraphExecDestroy(exec));
        }
    }
    must(cuGraphDestroy(graph));
    dlclose(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_questions_change_no_result),
        cmocka_unit_test(launches_have_the_nodes_that_ran),
    };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
