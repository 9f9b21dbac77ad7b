// SPDX-License-Identifier: Apache-2.0
// Nodes without names of their own share their kernel's: messages give the index as well.
#include "support/check.h"

#include "trace_backend.h"

static void nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static const braid_kernel kernel = { .name = "step", .cpu = nothing };

static braid_status fail_call(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream, (void)user;
    return BRAID_DEVICE_ERROR;
}

enum { NUM_STEPS = 3 };

// Steps that follow each other, and a queue call in the end.
struct chain {
    braid_device *device;
    braid_graph *graph;
    braid_node steps[NUM_STEPS];
    braid_node call;
};

static struct trace trace;

static void make_chain(struct chain *chain)
{
    check_ok(trace_open(&trace, false, &chain->device));
    check_ok(braid_graph_create(&chain->graph));
    int value = 7;
    for (int i = 0; i < NUM_STEPS; i++) {
        const braid_kernel_node step = {
            .node = { .after = &chain->steps[i ? i - 1 : 0], .num_after = i > 0 },
            .kernel = &kernel,
            BRAID_ARGS(BRAID_ARG(value)),
        };
        check_ok(braid_graph_add_kernel(chain->graph, &step, &chain->steps[i]));
    }
    const braid_queue_call queued = {
        .node = { .after = &chain->steps[NUM_STEPS - 1], .num_after = 1 }, .call = fail_call
    };
    check_ok(braid_graph_add_queue_call(chain->graph, &queued, &chain->call));
}

static void finish_chain(struct chain *chain)
{
    braid_graph_destroy(chain->graph);
    braid_device_close(chain->device);
}

static void wrong_arguments(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec = NULL;
    char small = 1;
    int value = 1;
    make_chain(&chain);
    check_ok(braid_exec_create(chain.device, chain.graph, NULL, &exec));
    check_fails(braid_exec_set_arg(exec, chain.steps[1], 0, BRAID_ARG(small)),
                BRAID_INVALID_ARGUMENT, "node 1 'step': argument 0 has 4 bytes, not 1");
    check_fails(
        braid_exec_set_arg(exec, chain.steps[1], 0, braid_resource_address(&(braid_resource){ 0 })),
        BRAID_INVALID_ARGUMENT,
        "node 1 'step': argument 0 cannot be set to braid_resource_address or BRAID_TRAP: give it "
        "a pointer");
    check_fails(braid_exec_set_arg(exec, chain.steps[1], 0,
                                   (braid_arg){ &value, sizeof(value), (braid_arg_kind)4 }),
                BRAID_INVALID_ARGUMENT, "node 1 'step': argument 0 has the unknown kind 4");
    check_fails(
        braid_exec_set_arg(exec, chain.steps[1], 0,
                           (braid_arg){ &value, sizeof(value), BRAID_ARG_VALUE, BRAID_READ }),
        BRAID_INVALID_ARGUMENT, "node 1 'step': argument 0 has an access, and is no resource");
    check_fails(braid_exec_set_arg(exec, chain.steps[1], 0,
                                   (braid_arg){ &value, 0, BRAID_ARG_UNCHECKED_POINTER }),
                BRAID_INVALID_ARGUMENT, "node 1 'step': argument 0 has 4 bytes, not 8");
    check_fails(braid_exec_set_arg(exec, chain.steps[2], 1, BRAID_ARG(value)),
                BRAID_INVALID_ARGUMENT, "node 2 'step' has 1 arguments");
    check_fails(braid_exec_set_args(exec, chain.steps[2], NULL, 0), BRAID_INVALID_ARGUMENT,
                "node 2 'step' has 1 arguments");
    check_fails(braid_exec_set_arg(exec, chain.call, 0, BRAID_ARG(value)), BRAID_INVALID_ARGUMENT,
                "node 3 'queue call' is not a kernel");
    braid_exec_destroy(exec);
    finish_chain(&chain);
}

static void failed_launches(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec = NULL;
    make_chain(&chain);
    check_ok(braid_exec_create(chain.device, chain.graph, NULL, &exec));
    check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "launch of node 3 'queue call'");
    braid_exec_destroy(exec);
    finish_chain(&chain);
}

static void arguments_of_two_sizes(void **state)
{
    (void)state;
    struct chain chain;
    char small = 1;
    make_chain(&chain);
    const braid_kernel_node other = { .kernel = &kernel, BRAID_ARGS(BRAID_ARG(small)) };
    check_fails(braid_graph_add_kernel(chain.graph, &other, NULL), BRAID_INVALID_ARGUMENT,
                "and 4 in node 0 'step'");
    finish_chain(&chain);
}

static void cycles(void **state)
{
    (void)state;
    struct chain chain;
    braid_exec *exec = NULL;
    make_chain(&chain);
    check_ok(braid_graph_add_edge(chain.graph, chain.steps[2], chain.steps[1]));
    check_fails(braid_exec_create(chain.device, chain.graph, NULL, &exec), BRAID_CYCLE,
                "cycle: 1 'step' -> 2 'step' -> 1 'step'");
    finish_chain(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(failed_launches),
        cmocka_unit_test(arguments_of_two_sizes),
        cmocka_unit_test(cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
