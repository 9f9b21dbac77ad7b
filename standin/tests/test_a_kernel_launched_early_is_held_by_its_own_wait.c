// SPDX-License-Identifier: Apache-2.0
// A kernel behind a programmatic edge is held by its own wait, and by nothing else.
#include "driver.h"

static const char ptx[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                          ".visible .entry waits(.param .u64 a, .param .u32 b)\n"
                          "{\ngriddepcontrol.launch_dependents;\ngriddepcontrol.wait;\nret;\n}\n"
                          ".visible .entry hastes(.param .u64 a, .param .u32 b)\n"
                          "{\ngriddepcontrol.launch_dependents;\nret;\n}\n"
                          ".visible .entry is_plain(.param .u64 a, .param .u32 b)\n{\nret;\n}\n";

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
__attribute__((visibility("default"))) kernel_function braid_standin_waits, braid_standin_hastes,
    braid_standin_is_plain;

void braid_standin_waits(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                         void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    **(unsigned **)args[0] = *(unsigned *)args[1];
}

void braid_standin_hastes(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                          void **args)
{
    braid_standin_waits(grid, block, shared_bytes, args);
}

void braid_standin_is_plain(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                            void **args)
{
    braid_standin_waits(grid, block, shared_bytes, args);
}

// Two kernels set a word, with an edge of this kind between them: how often the first came last.
static unsigned count_overtakings(CUfunction function, unsigned char port, unsigned char type)
{
    unsigned *memory = make_memory(1), values[2] = { 1, 2 }, overtaken = 0;
    const CUgraphEdgeData edge = { .from_port = port, .type = type };
    CUgraph graph;
    CUgraphNode nodes[2];
    CUstream stream = make_stream();
    must(cuGraphCreate(&graph, 0));
    for (int i = 0; i < 2; i++) {
        void *params[] = { &memory, &values[i] };
        const CUDA_KERNEL_NODE_PARAMS kernel = { function, 1, 1, 1, 1, 1, 1, 0, params };
        must(cuGraphAddKernelNode_v2(&nodes[i], graph, NULL, 0, &kernel));
    }
    must(cuGraphAddDependencies_v2(graph, &nodes[0], &nodes[1], &edge, 1));
    CUgraphExec exec;
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int launch = 0; launch < 100; launch++) {
        must(cuGraphLaunch(exec, stream));
        must(cuStreamSynchronize(stream));
        overtaken += *memory == 1;
    }
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuStreamDestroy_v2(stream));
    free_memory(memory);
    return overtaken;
}

static void a_wait_in_the_kernel_holds_it(void **state)
{
    (void)state;
    CUmodule module;
    CUfunction waits, hastes, is_plain;
    must(cuModuleLoadData(&module, ptx));
    must(cuModuleGetFunction(&waits, module, "waits"));
    must(cuModuleGetFunction(&hastes, module, "hastes"));
    must(cuModuleGetFunction(&is_plain, module, "is_plain"));
    assert_int_equal(count_overtakings(waits, 1, 1), 0);
    assert_int_equal(count_overtakings(waits, 2, 1), 0);
    assert_in_range(count_overtakings(hastes, 1, 1), 1, 99);
    assert_int_equal(count_overtakings(is_plain, 1, 1), 0);
    // when all blocks of the first have begun
    assert_in_range(count_overtakings(is_plain, 2, 1), 1, 99);
    assert_in_range(count_overtakings(waits, 2, 0), 1, 99); // its wait is for programmatic edges
    assert_int_equal(count_overtakings(hastes, 0, 0), 0);
    must(cuModuleUnload(module));
}

static void nothing(void *user)
{
    (void)user;
}

static void programmatic_edges_stand_between_kernels_only(void **state)
{
    (void)state;
    const CUgraphEdgeData programmatic = { .from_port = 1, .type = 1 }, begun = { .from_port = 2 };
    CUgraph graph;
    must(cuGraphCreate(&graph, 0));
    CUgraphNode a, b;
    const CUDA_HOST_NODE_PARAMS host = { nothing, NULL };
    must(cuGraphAddHostNode(&a, graph, NULL, 0, &host));
    must(cuGraphAddHostNode(&b, graph, NULL, 0, &host));
    must_be(cuGraphAddDependencies_v2(graph, &a, &b, &programmatic, 1), CUDA_ERROR_INVALID_VALUE);
    must_be(cuGraphAddDependencies_v2(graph, &a, &b, &begun, 1), CUDA_ERROR_INVALID_VALUE);
    must(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_in_the_kernel_holds_it, open_driver, close_driver),
        cmocka_unit_test_setup_teardown(programmatic_edges_stand_between_kernels_only, open_driver,
                                        close_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
