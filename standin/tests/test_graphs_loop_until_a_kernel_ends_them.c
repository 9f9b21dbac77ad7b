// SPDX-License-Identifier: Apache-2.0
// A loop in a graph runs its body until a kernel sets its condition to 0. A branch runs one arm.
#include "driver.h"

static void say_nothing(void *user)
{
    (void)user;
}

// begin(handle, first) sets a condition to `first`, and prints; next(left, handle) counts down to
// 0.
static const char loop_kernels[] = ".version 8.3\n"
                                   ".target sm_90\n"
                                   ".address_size 64\n"
                                   ".extern .func cudaGraphSetConditional(.param .b64 h,\n"
                                   "    .param .b32 v);\n"
                                   ".extern .func (.param .b32 r) vprintf(.param .b64 f,\n"
                                   "    .param .b64 a);\n"
                                   ".visible .entry begin(.param .u64 handle, .param .u32 first)\n"
                                   "{\n"
                                   "    .reg .b32 %r;\n"
                                   "    .reg .b64 %d;\n"
                                   "    .param .b64 h;\n"
                                   "    .param .b32 v;\n"
                                   "    ld.param.u64 %d, [handle];\n"
                                   "    ld.param.u32 %r, [first];\n"
                                   "    st.param.b64 [h], %d;\n"
                                   "    st.param.b32 [v], %r;\n"
                                   "    call.uni cudaGraphSetConditional, (h, v);\n"
                                   "    .param .b32 printed;\n"
                                   "    call.uni (printed), vprintf, (h, h);\n"
                                   "    ret;\n"
                                   "}\n"
                                   ".visible .entry next(.param .u64 left, .param .u64 handle)\n"
                                   "{\n"
                                   "    .reg .b32 %r;\n"
                                   "    .reg .b64 %d<2>;\n"
                                   "    ld.param.u64 %d0, [left];\n"
                                   "    ld.param.u64 %d1, [handle];\n"
                                   "    ld.global.u32 %r, [%d0];\n"
                                   "    sub.u32 %r, %r, 1;\n"
                                   "    st.global.u32 [%d0], %r;\n"
                                   "    {\n"
                                   "    .param .b64 h;\n"
                                   "    .param .b32 v;\n"
                                   "    st.param.b64 [h], %d1;\n"
                                   "    st.param.b32 [v], %r;\n"
                                   "    call.uni cudaGraphSetConditional, (h, v);\n"
                                   "    }\n"
                                   "    ret;\n"
                                   "}\n";

struct loop {
    CUmodule module;
    CUfunction begin, next;
    struct words words;
    unsigned *memory; // what is left, and what is added to
    CUgraph graph, body;
    CUgraphConditionalHandle handle;
    CUgraphNode node, add;
};

static CUgraphNode add_kernel(CUgraph graph, CUgraphNode after, CUfunction function, void **params)
{
    const CUDA_KERNEL_NODE_PARAMS node = { function, 1, 1, 1, 1, 1, 1, 0, params };
    CUgraphNode added;
    must(cuGraphAddKernelNode_v2(&added, graph, &after, after != NULL, &node));
    return added;
}

static CUgraphNodeParams conditional_node(CUgraphConditionalHandle handle,
                                          CUgraphConditionalNodeType type, unsigned size)
{
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    return params;
}

static CUgraphNodeParams loop_node(CUgraphConditionalHandle handle)
{
    return conditional_node(handle, CU_GRAPH_COND_TYPE_WHILE, 1);
}

// A loop that adds 1 in each of `left` iterations. Whether its condition is set before it, or has a
// first value.
static void make_loop(struct loop *loop, unsigned left, bool begins, unsigned flags)
{
    unsigned first = 1, *target;
    *loop = (struct loop){ .words = load_words(), .memory = make_memory(2) };
    target = &loop->memory[1];
    loop->memory[0] = left;
    must(cuModuleLoadData(&loop->module, loop_kernels));
    must(cuModuleGetFunction(&loop->begin, loop->module, "begin"));
    must(cuModuleGetFunction(&loop->next, loop->module, "next"));
    must(cuGraphCreate(&loop->graph, 0));
    must(cuGraphConditionalHandleCreate(&loop->handle, loop->graph, current_context(), 1, flags));
    CUgraphNode before = NULL;
    if (begins)
        before = add_kernel(loop->graph, NULL, loop->begin, (void *[]){ &loop->handle, &first });
    CUgraphNodeParams params = loop_node(loop->handle);
    must(cuGraphAddNode_v2(&loop->node, loop->graph, &before, NULL, before != NULL, &params));
    loop->body = params.conditional.phGraph_out[0];
    loop->add = add_kernel(loop->body, NULL, loop->words.add_one, (void *[]){ &target });
    add_kernel(loop->body, loop->add, loop->next, (void *[]){ &loop->memory, &loop->handle });
}

static void free_loop(struct loop *loop)
{
    must(cuGraphDestroy(loop->graph));
    free_memory(loop->memory);
    must(cuModuleUnload(loop->module));
    must(cuModuleUnload(loop->words.module));
}

static void run(CUgraphExec exec)
{
    must(cuGraphLaunch(exec, NULL));
    must(cuStreamSynchronize(NULL));
}

static void a_loop_runs_until_its_condition_is_0(void **state)
{
    (void)state;
    for (int begins = 0; begins < 2; begins++) {
        struct loop loop;
        CUgraphExec exec;
        make_loop(&loop, 5, begins, begins ? 0 : CU_GRAPH_COND_ASSIGN_DEFAULT);
        must(cuGraphInstantiateWithFlags(&exec, loop.graph, 0));
        run(exec);
        assert_int_equal(loop.memory[1], 5);
        loop.memory[0] = 3;
        run(exec);
        assert_int_equal(loop.memory[1], 8);
        must(cuGraphExecDestroy(exec));
        free_loop(&loop);
    }
}

static void nodes_of_a_body_take_new_parameters(void **state)
{
    (void)state;
    struct loop loop;
    CUgraphExec exec;
    make_loop(&loop, 4, true, 0);
    must(cuGraphInstantiateWithFlags(&exec, loop.graph, 0));
    unsigned *other = make_memory(1);
    void *params[] = { &other };
    const CUDA_KERNEL_NODE_PARAMS node = { loop.words.add_one, 1, 1, 1, 1, 1, 1, 0, params };
    must(cuGraphExecKernelNodeSetParams_v2(exec, loop.add, &node));
    run(exec);
    assert_int_equal(other[0], 4);
    assert_int_equal(loop.memory[1], 0);
    loop.memory[0] = 2;
    must(cuGraphNodeSetEnabled(exec, loop.add, 0));
    run(exec);
    assert_int_equal(other[0], 4);
    assert_int_equal(loop.memory[0], 0);
    must(cuGraphExecDestroy(exec));
    free_memory(other);
    free_loop(&loop);
}

static void a_condition_that_nobody_sets_is_a_fault(void **state)
{
    (void)state;
    struct loop loop;
    CUgraphExec exec;
    make_loop(&loop, 5, false, 0);
    must(cuGraphInstantiateWithFlags(&exec, loop.graph, 0));
    must(cuGraphLaunch(exec, NULL));
    must_be(cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
    standin_forget_faults();
    must(cuGraphExecDestroy(exec));
    free_loop(&loop);
}

static void what_a_body_cannot_have_is_refused(void **state)
{
    (void)state;
    struct loop loop;
    CUgraphExec exec;
    CUgraph clone;
    CUgraphNode node;
    make_loop(&loop, 5, true, 0);
    CUgraphNodeParams params = loop_node(loop.handle);
    must_be(cuGraphAddNode_v2(&node, loop.graph, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphDestroy(loop.body), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphClone(&clone, loop.graph), CUDA_ERROR_NOT_SUPPORTED);
    must(cuGraphCreate(&clone, 0));
    must_be(cuGraphAddChildGraphNode(&node, clone, NULL, 0, loop.graph), CUDA_ERROR_NOT_SUPPORTED);
    must(cuGraphDestroy(clone));
    const CUDA_HOST_NODE_PARAMS host = { say_nothing, NULL };
    must(cuGraphAddHostNode(&node, loop.body, NULL, 0, &host));
    must_be(cuGraphInstantiateWithFlags(&exec, loop.graph, 0), CUDA_ERROR_INVALID_VALUE);
    free_loop(&loop);
}

// The driver hangs there. Behind each other they are right.
static void loops_side_by_side_in_a_body_are_refused(void **state)
{
    (void)state;
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        struct loop loop;
        CUgraphExec exec;
        CUgraphNode inside[2] = { NULL };
        make_loop(&loop, 2, true, 0);
        for (int i = 0; i < 2; i++) {
            CUgraphConditionalHandle handle;
            must(cuGraphConditionalHandleCreate(&handle, loop.body, current_context(), 0,
                                                CU_GRAPH_COND_ASSIGN_DEFAULT));
            CUgraphNodeParams params = loop_node(handle);
            must(cuGraphAddNode_v2(&inside[i], loop.body, &inside[0], NULL, i && is_behind,
                                   &params));
        }
        must_be(cuGraphInstantiateWithFlags(&exec, loop.graph, 0),
                is_behind ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
        if (is_behind) {
            run(exec);
            assert_int_equal(loop.memory[1], 2);
            must(cuGraphExecDestroy(exec));
        }
        free_loop(&loop);
    }
}

// Each arm adds to a word of its own; a missing one does nothing.
static void a_branch_runs_the_arm_that_its_condition_chooses(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 3; first++) {
        for (unsigned num_arms = 1; num_arms <= 2; num_arms++) {
            struct words words = load_words();
            unsigned *memory = make_memory(2);
            CUmodule module;
            CUfunction begin;
            CUgraph graph;
            CUgraphExec exec;
            CUgraphNode node;
            CUgraphConditionalHandle handle;
            must(cuModuleLoadData(&module, loop_kernels));
            must(cuModuleGetFunction(&begin, module, "begin"));
            must(cuGraphCreate(&graph, 0));
            must(cuGraphConditionalHandleCreate(&handle, graph, current_context(), 0, 0));
            CUgraphNode before = add_kernel(graph, NULL, begin, (void *[]){ &handle, &first });
            CUgraphNodeParams params = conditional_node(handle, CU_GRAPH_COND_TYPE_IF, num_arms);
            must(cuGraphAddNode_v2(&node, graph, &before, NULL, 1, &params));
            for (unsigned i = 0; i < num_arms; i++)
                add_kernel(params.conditional.phGraph_out[i], NULL, words.add_one,
                           (void *[]){ &(unsigned *){ memory + i } });
            must(cuGraphInstantiateWithFlags(&exec, graph, 0));
            run(exec);
            run(exec);
            assert_int_equal(memory[0], first ? 2 : 0);
            assert_int_equal(memory[1], !first && num_arms == 2 ? 2 : 0);
            must(cuGraphExecDestroy(exec));
            must(cuGraphDestroy(graph));
            must(cuModuleUnload(module));
            must(cuModuleUnload(words.module));
            free_memory(memory);
        }
    }
}

static void conditional_nodes_of_no_kind_are_refused(void **state)
{
    (void)state;
    static const struct {
        CUgraphConditionalNodeType type;
        unsigned size;
    } wrong[] = { { CU_GRAPH_COND_TYPE_WHILE, 2 },
                  { CU_GRAPH_COND_TYPE_IF, 0 },
                  { CU_GRAPH_COND_TYPE_IF, 3 } };
    CUgraph graph;
    CUgraphNode node;
    CUgraphConditionalHandle handle;
    must(cuGraphCreate(&graph, 0));
    must_be(cuGraphConditionalHandleCreate(&handle, graph, NULL, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
    must(cuGraphConditionalHandleCreate(&handle, graph, current_context(), 0, 0));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CUgraphNodeParams params = conditional_node(handle, wrong[i].type, wrong[i].size);
        must_be(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    }
    must(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_runs_until_its_condition_is_0),
        cmocka_unit_test(nodes_of_a_body_take_new_parameters),
        cmocka_unit_test(a_condition_that_nobody_sets_is_a_fault),
        cmocka_unit_test(what_a_body_cannot_have_is_refused),
        cmocka_unit_test(loops_side_by_side_in_a_body_are_refused),
        cmocka_unit_test(a_branch_runs_the_arm_that_its_condition_chooses),
        cmocka_unit_test(conditional_nodes_of_no_kind_are_refused),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
