// SPDX-License-Identifier: Apache-2.0
// A cancelled frame ends: its loops do, and on the CPU each node that has not begun does nothing.
// Then the exec can launch again.
#include <pthread.h>
#include <stdatomic.h>

#include "contract/groups.h"
#include "contract/nodes.h"

// Loops are those of the driver, except in island mode.
static braid_exec *make_exec_of(struct contract *contract, const braid_graph *graph,
                                uint32_t frames)
{
    braid_exec *exec;
    const bool is_island = contract_islands() == BRAID_ISLANDS_WHOLE;
    const braid_exec_options options = { .mode = contract->mode,
                                         .islands =
                                             is_island ? BRAID_ISLANDS_AUTO : BRAID_ISLANDS_NEVER,
                                         .frames_in_flight = frames,
                                         .black_box = true };
    braid_status status = contract_create_exec(contract, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED)
        skip_because(braid_error_get_message());
    check_ok(status);
    contract_own_exec(contract, exec);
    if (braid_exec_cancel(exec) == BRAID_UNSUPPORTED)
        skip_because(braid_error_get_message());
    return exec;
}

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph)
{
    return make_exec_of(contract, graph, contract_frames());
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
        assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 2000000), BRAID_TIMEOUT);
        braid_status status = braid_exec_cancel(exec);
        assert_true(status == BRAID_OK || status == BRAID_NOT_READY);
        check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, TEST_TIMEOUT_NS));
    }
    numbers[0] = 0;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, TEST_TIMEOUT_NS));
}

static void a_queued_frame_runs_no_more_than_the_device_has_taken(void **state)
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
    size_t num_running;
    check_ok(braid_exec_get_running(exec, &running, 1, &num_running));
    assert_true(num_running > 0);
    assert_int_equal(running.node.index, node.index);
    check_fails(braid_exec_launch(exec, NULL), BRAID_BUSY, "cancelled");
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    uint32_t num = contract_is_on_host() ? 0 : 3; // other nodes of GPUs are with the driver
    assert_int_equal(numbers[0], num);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(numbers[0], num + 1);
}

// A gate, then a loop: cancelled while it is queued, it runs no iteration.
static void check_queued_loop(struct contract *contract, uint64_t times, bool has_condition)
{
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_host_numbers(contract, 2);
    struct gate gate = contract_gate(contract);
    braid_resource going;
    numbers[0] = 1;
    check_ok(braid_graph_add_buffer(graph, "going", numbers, sizeof(uint32_t), &going));
    add_gate(graph, (braid_node_options){ USES({ going, BRAID_READ_WRITE }) }, gate);
    braid_loop loop = { .node.name = "loop", .times = times };
    if (has_condition)
        loop.condition = going;
    braid_node node;
    check_ok(braid_graph_begin_loop(graph, &loop, &node));
    add_axpy(graph, (braid_node_options){ USES({ going, BRAID_READ_WRITE }) }, numbers, numbers, 1,
             1, 1);
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    uint64_t num;
    check_ok(braid_exec_launch(exec, NULL));
    gate_wait_until_entered(gate);
    assert_int_equal(braid_exec_cancel(exec), BRAID_NOT_READY);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(numbers[0], 1);
    check_ok(braid_exec_get_iterations(exec, node, &num));
    assert_int_equal(num, 0);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(numbers[0], 1 + times);
}

static void a_queued_loop_runs_no_iteration(void **state)
{
    check_queued_loop(*state, 3, false);
    check_queued_loop(*state, 3, true);
}

static braid_status fail_if_told(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    return *(const bool *)user ? BRAID_DEVICE_ERROR : BRAID_OK;
}

// The part of it that was queued runs on.
static void a_cancelled_launch_that_failed_ends_before_the_next(void **state)
{
    struct contract *contract = *state;
    if (contract->mode != BRAID_MODE_STREAMS)
        skip_because("a graph's queue calls are made before launches");
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_host_numbers(contract, 1);
    struct gate gate = contract_gate(contract);
    bool fails = true;
    braid_resource number;
    braid_node loop;
    check_ok(braid_graph_add_buffer(graph, "number", numbers, sizeof(*numbers), &number));
    check_ok(
        braid_graph_begin_loop(graph, &(braid_loop){ .node.name = "loop", .times = 50 }, &loop));
    add_gate(graph, (braid_node_options){ USES({ number, BRAID_READ_WRITE }) }, gate);
    add_axpy(graph, (braid_node_options){ USES({ number, BRAID_READ_WRITE }) }, numbers, numbers, 1,
             1, 1);
    check_ok(braid_graph_end(graph));
    add_queue_call(graph, (braid_node_options){ AFTER(loop) }, fail_if_told, &fails);
    braid_exec *exec = make_exec(contract, graph);
    check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "");
    fails = false;
    gate_wait_until_entered(gate);
    assert_int_equal(braid_exec_cancel(exec), BRAID_NOT_READY);
    check_fails(braid_exec_launch(exec, NULL), BRAID_BUSY, "cancelled");
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_in_range(numbers[0], 0, 2);
    numbers[0] = 0;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(numbers[0], 50);
}

struct canceller {
    braid_exec *exec;
    atomic_bool is_over;
};

static void *cancel_again(void *user)
{
    struct canceller *canceller = user;
    while (!atomic_load(&canceller->is_over)) {
        braid_status status = braid_exec_cancel(canceller->exec);
        assert_true(status == BRAID_OK || status == BRAID_NOT_READY);
    }
    return NULL;
}

static void launch_beside(struct canceller *canceller)
{
    pthread_t thread;
    atomic_store(&canceller->is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, cancel_again, canceller), 0);
    for (int i = 0; i < 50; i++) {
        braid_status status = braid_exec_launch(canceller->exec, NULL);
        assert_true(status == BRAID_OK || status == BRAID_BUSY);
    }
    atomic_store(&canceller->is_over, true);
    pthread_join(thread, NULL);
    check_ok(braid_exec_wait(canceller->exec));
}

static void frames_behind_a_cancel_that_met_a_launch_run(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_host_numbers(contract, 1);
    add_axpy(graph, (braid_node_options){ 0 }, numbers, numbers, 1, 1, 1);
    struct canceller canceller = { .exec = make_exec_of(contract, graph, 16) };
    int num = contract_is_on_host() ? 200 : 20; // devices read the words in loops only
    for (int i = 0; i < num; i++) {
        launch_beside(&canceller);
        uint32_t before = numbers[0];
        check_ok(braid_exec_launch(canceller.exec, NULL));
        check_ok(braid_exec_wait(canceller.exec));
        assert_int_equal(numbers[0], before + 1);
    }
}

int run_cancelling(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_loop_without_end_ends),
        contract_test(a_queued_loop_runs_no_iteration),
        contract_test(frames_behind_a_cancel_that_met_a_launch_run),
        contract_test(a_queued_frame_runs_no_more_than_the_device_has_taken),
        contract_test(a_cancelled_launch_that_failed_ends_before_the_next),
    };
    return contract_run("frames are cancelled", tests);
}
