// SPDX-License-Identifier: Apache-2.0
// Without marks a record ends when its notes need as much memory as is allowed. A program that
// changes its graph before each launch makes all nodes anew each time.
#include "record/program.h"

#include <stdlib.h>
#include <unistd.h>

enum { NODES = 100, MOST_LAUNCHES = 5000 };

static CUdeviceptr memory;

static CUDA_KERNEL_NODE_PARAMS add_of(void **arguments)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = program.add,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = arguments };
}

static void long_runs_stay_small(void **state)
{
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[NODES];
    uint32_t number = 0;
    void *arguments[] = { &memory, &number };
    const CUDA_KERNEL_NODE_PARAMS parameters = add_of(arguments);
    const char *path = getenv("BRAID_RECORD_FILE");
    (void)state;
    must(cuMemAlloc_v2(&memory, 64));
    must(cuGraphCreate(&graph, 0));
    for (uint32_t i = 0; i < NODES; i++)
        must(cuGraphAddKernelNode_v2(&nodes[i], graph, NULL, 0, &parameters));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    while (access(path, F_OK) != 0 && number < MOST_LAUNCHES) {
        number++;
        must(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &parameters));
        must(cuGraphLaunch(exec, NULL));
        must(cuCtxSynchronize());
    }
    assert_true(number > 4 && number < MOST_LAUNCHES);
    const braid_record_contents *contents = open_own_record();
    assert_int_equal(contents->num_frames, 2);
    assert_int_equal(contents->num_nodes, 2 * NODES);
    close_own_record();
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
    must(cuMemFree_v2(memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(long_runs_stay_small) };
    return cmocka_run_group_tests(tests, open_program, close_program);
}
