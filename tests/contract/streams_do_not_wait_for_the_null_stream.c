// SPDX-License-Identifier: Apache-2.0
// Law 5: streams that Braid creates, public or leased, neither wait for the null stream nor hold it
// up. Each test holds one side at a gate and sees the other come to its end meanwhile.
#include "contract/groups.h"
#include "contract/nodes.h"

static braid_exec *two_branches(struct contract *contract, uint32_t *flags, uint32_t *met)
{
    braid_graph *graph = contract_graph(contract);
    braid_node clear = add_fill(graph, (braid_node_options){ 0 }, flags, 0, 2);
    add_handshake(graph, (braid_node_options){ AFTER(clear) }, flags, met, 0);
    add_handshake(graph, (braid_node_options){ AFTER(clear) }, flags, met, 1);
    return contract_exec(contract, graph);
}

static void a_stream_passes_a_busy_null_stream(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, NULL);
    check_ok(braid_stream_fill(stream, data, 5, 4, 1));
    check_ok(braid_stream_copy(stream, seen, data, 4));
    check_ok(braid_stream_wait(stream));
    check_still_closed(gate);
    assert_int_equal(*seen, 5);
    gate_open(gate);
}

static void the_null_stream_passes_a_busy_stream(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    struct gate gate = contract_close(contract, contract_stream(contract));
    check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), data, 5, 4, 1));
    check_ok(braid_stream_copy(braid_device_get_default_stream(contract->device), seen, data, 4));
    check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
    check_still_closed(gate);
    assert_int_equal(*seen, 5);
    gate_open(gate);
}

// Both branches overlap each other, and the null stream's work too.
static void the_lanes_of_a_launch_pass_a_busy_null_stream(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    braid_exec *exec = two_branches(contract, flags, met);
    struct gate gate = contract_close(contract, NULL);
    check_ok(braid_exec_launch(exec, contract_stream(contract)));
    check_ok(braid_exec_wait(exec));
    check_still_closed(gate);
    gate_open(gate);
    for (int i = 0; i < 2; i++)
        assert_int_equal(contract_number(contract, met + i), 1);
}

static void the_null_stream_passes_a_slow_launch(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    struct gate gate = contract_gate(contract);
    braid_graph *graph = contract_graph(contract);
    add_gate(graph, (braid_node_options){ 0 }, gate);
    braid_exec *exec = contract_exec(contract, graph);
    check_ok(braid_exec_launch(exec, contract_stream(contract)));
    gate_wait_until_entered(gate);
    check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), data, 5, 4, 1));
    check_ok(braid_stream_copy(braid_device_get_default_stream(contract->device), seen, data, 4));
    check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
    check_still_closed(gate);
    assert_int_equal(*seen, 5);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
}

// 0 is a stream, not "nothing to wait for".
static void waiting_for_the_null_stream_waits(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_host_numbers(contract, 1);
    uint64_t *interval = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_node busy = add_busy(graph, (braid_node_options){ 0 }, interval, 5000000);
    add_axpy(graph, (braid_node_options){ AFTER(busy) }, data, data, 1, 9, 1);
    braid_exec *exec = contract_exec(contract, graph);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
    assert_int_equal(*data, 9);
}

int run_null_stream(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_stream_passes_a_busy_null_stream),
        contract_test(the_null_stream_passes_a_busy_stream),
        contract_test(the_lanes_of_a_launch_pass_a_busy_null_stream),
        contract_test(the_null_stream_passes_a_slow_launch),
        contract_test(waiting_for_the_null_stream_waits),
    };
    return contract_run("streams do not wait for the null stream", tests);
}
