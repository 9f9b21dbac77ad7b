// SPDX-License-Identifier: Apache-2.0
// A wait tells of each trap that a kernel wrote, with its node, code and payload, once.
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"

// The standard kernels write no trap. One that copies numbers can: code, nothing, and a payload.
static braid_node add_trapping(braid_graph *graph, const char *name, const uint32_t *from)
{
    const uint32_t factor = 1, addend = 0, num = sizeof(braid_trap) / sizeof(uint32_t);
    braid_node node;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_axpy,
                              .node.name = name,
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(BRAID_TRAP(), BRAID_ARG(from), BRAID_ARG(factor),
                                         BRAID_ARG(addend), BRAID_ARG(num)) },
        &node));
    return node;
}

struct trapping {
    uint32_t *from;
    braid_exec *exec;
};

static struct trapping make_trapping(struct contract *contract)
{
    struct trapping trapping = { .from = contract_host_numbers(contract, 6) };
    braid_graph *graph = contract_graph(contract);
    memset(trapping.from, 0, sizeof(braid_trap));
    add_trapping(graph, "trapping", trapping.from);
    trapping.exec =
        contract_exec_with(contract, graph, (braid_exec_options){ .plan.max_lanes = 1 });
    return trapping;
}

static void run(const struct trapping *trapping)
{
    check_ok(braid_exec_launch(trapping->exec, NULL));
}

static void a_trap_is_told_once(void **state)
{
    struct trapping trapping = make_trapping(*state);
    run(&trapping);
    check_ok(braid_exec_wait(trapping.exec));
    trapping.from[0] = 7;
    trapping.from[2] = 0x04030201;
    run(&trapping);
    check_fails(braid_exec_wait(trapping.exec), BRAID_TRAPPED,
                "trapped: code 7, payload 01020304000000000000000000000000");
    assert_non_null(strstr(braid_error_message(), "node 0 'trapping'"));
    check_ok(braid_exec_wait(trapping.exec));
    trapping.from[0] = 0;
    run(&trapping);
    check_ok(braid_exec_wait(trapping.exec));
    trapping.from[0] = 8;
    run(&trapping);
    check_fails(braid_exec_wait_until(trapping.exec, BRAID_LAST_FRAME, TEST_TIMEOUT_NS),
                BRAID_TRAPPED, "code 8");
    check_ok(braid_exec_wait(trapping.exec));
}

static void a_trap_is_no_value_of_a_setter(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_node node = add_trapping(graph, "trapping", contract_host_numbers(contract, 6));
    braid_exec *exec = contract_exec(contract, graph);
    check_fails(braid_exec_set_arg(exec, node, 0, BRAID_TRAP()), BRAID_INVALID_ARGUMENT,
                "BRAID_TRAP");
}

int run_traps(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_trap_is_told_once),
        contract_test(a_trap_is_no_value_of_a_setter),
    };
    return contract_run("traps are told once", tests);
}
