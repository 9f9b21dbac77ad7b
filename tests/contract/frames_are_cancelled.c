// SPDX-License-Identifier: Apache-2.0
// A cancelled frame ends: what has not begun does nothing, and the exec can launch again.
#include "contract/groups.h"
#include "contract/nodes.h"

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph)
{
    braid_exec *exec;
    const braid_exec_options options = { .mode = contract->mode,
                                         .frames = contract_frames(),
                                         .black_box = true };
    braid_status status = contract_create_exec(contract, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED)
        skip_because(braid_error_message());
    check_ok(status);
    contract_own_exec(contract, exec);
    if (braid_exec_cancel(exec) == BRAID_UNSUPPORTED)
        skip_because(braid_error_message());
    return exec;
}

static void a_loop_without_end_ends(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_host_numbers(contract, 2);
    braid_resource going;
    numbers[0] = 1;
    check_ok(braid_graph_add_buffer(graph, "going", numbers, sizeof(uint32_t), &going));
    check_ok(braid_graph_begin_loop(
        graph, &(braid_loop){ .node.name = "loop", .condition = going, .unbounded = true }, NULL));
    add_axpy(graph, (braid_node_options){ USES({ going, BRAID_READ_WRITE }) }, numbers, numbers, 1,
             0, 1);
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    for (int i = 0; i < 2; i++) {
        check_ok(braid_exec_launch(exec, NULL));
        assert_int_equal(braid_exec_wait_until(exec, BRAID_LAST_FRAME, 2000000), BRAID_TIMEOUT);
        braid_status status = braid_exec_cancel(exec);
        assert_true(status == BRAID_OK || status == BRAID_NOT_READY);
        check_ok(braid_exec_wait_until(exec, BRAID_LAST_FRAME, TEST_TIMEOUT_NS));
    }
    numbers[0] = 0;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait_until(exec, BRAID_LAST_FRAME, TEST_TIMEOUT_NS));
}

static void queued_frames_do_nothing(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_host_numbers(contract, 1);
    struct gate gate = contract_gate(contract);
    braid_node node = add_gate(graph, (braid_node_options){ 0 }, gate);
    add_axpy(graph, (braid_node_options){ AFTER(node) }, numbers, numbers, 1, 1, 1);
    braid_exec *exec = make_exec(contract, graph);
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(exec, NULL));
    gate_wait_until_entered(gate);
    assert_int_equal(braid_exec_cancel(exec), BRAID_NOT_READY);
    braid_running_node running;
    size_t num;
    check_ok(braid_exec_get_running(exec, &running, 1, &num));
    assert_int_equal(num, 1);
    assert_int_equal(running.node.index, node.index);
    check_fails(braid_exec_launch(exec, NULL), BRAID_BUSY, "cancelled");
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(numbers[0], 0);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(numbers[0], 1);
}

int run_cancelling(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_loop_without_end_ends),
        contract_test(queued_frames_do_nothing),
    };
    return contract_run("frames are cancelled", tests);
}
