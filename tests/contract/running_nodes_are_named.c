// SPDX-License-Identifier: Apache-2.0
// A black box tells which nodes run, from any thread, while they do not end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { room = 8, short_ns = 1000000 };

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph)
{
    const braid_exec_options options = { .mode = contract->mode,
                                         .islands = contract_islands(),
                                         .frames_in_flight = contract_frames(),
                                         .black_box = true };
    braid_exec *exec;
    braid_status status = contract_create_exec(contract, graph, &options, &exec);
    if (status == BRAID_UNSUPPORTED)
        skip_because(braid_error_get_message());
    check_ok(status);
    contract_own_exec(contract, exec);
    return exec;
}

// The only node that runs, once it is so: what is written by another device may be late.
static braid_running_node find_only(braid_exec *exec, struct gate gate)
{
    braid_running_node nodes[room];
    size_t num = 0;
    gate_wait_until_entered(gate);
    for (int i = 0; i < 2000; i++) {
        check_ok(braid_exec_get_running(exec, nodes, room, &num));
        if (num == 1)
            break;
        assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, short_ns), BRAID_TIMEOUT);
    }
    assert_int_equal(num, 1);
    check_still_closed(gate);
    return nodes[0];
}

static void check_none(braid_exec *exec)
{
    size_t num = 1;
    check_ok(braid_exec_get_running(exec, NULL, 0, &num));
    assert_int_equal(num, 0);
}

struct diamond {
    struct gate gate;
    braid_node stuck;
    braid_exec *exec;
};

static const char stuck_name[] = "stuck";

// first -> beside and stuck -> last
static void make_diamond(struct contract *contract, struct diamond *diamond)
{
    braid_graph *graph = contract_graph(contract);
    uint32_t *numbers = contract_numbers(contract, 4);
    diamond->gate = contract_gate(contract);
    braid_node first =
        add_axpy(graph, (braid_node_options){ .name = "first" }, numbers, numbers, 1, 1, 1);
    braid_node beside = add_axpy(graph, (braid_node_options){ .name = "beside", AFTER(first) },
                                 numbers + 1, numbers, 1, 1, 1);
    diamond->stuck =
        add_gate(graph, (braid_node_options){ .name = stuck_name, AFTER(first) }, diamond->gate);
    add_axpy(graph, (braid_node_options){ .name = "last", AFTER(beside, diamond->stuck) }, numbers,
             numbers + 1, 1, 1, 1);
    diamond->exec = make_exec(contract, graph);
}

static uint32_t find_place(const struct diamond *diamond)
{
    braid_placement planned;
    check_ok(braid_schedule_get_placement(braid_exec_get_schedule(diamond->exec), diamond->stuck,
                                          &planned));
    return planned.place;
}

static void a_kernel_that_does_not_end_is_named(void **state)
{
    struct contract *contract = *state;
    struct diamond diamond;
    make_diamond(contract, &diamond);
    check_none(diamond.exec);
    check_ok(braid_exec_launch(diamond.exec, contract_stream(contract)));
    braid_running_node node = find_only(diamond.exec, diamond.gate);
    assert_int_equal(node.node.index, diamond.stuck.index);
    assert_string_equal(node.name, stuck_name);
    assert_int_equal(node.frame, 0);
    assert_int_equal(node.iteration, 0);
    assert_in_range(node.place, 1, contract_places());
    assert_int_equal(node.place, find_place(&diamond));
    assert_int_equal(node.num_words, 3);
    assert_ptr_equal((void *)(uintptr_t)node.arguments[0], diamond.gate.open);
    gate_open(diamond.gate);
    check_ok(braid_exec_wait(diamond.exec));
    check_none(diamond.exec);
}

static void a_wait_that_times_out_names_it(void **state)
{
    struct contract *contract = *state;
    struct diamond diamond;
    make_diamond(contract, &diamond);
    check_ok(braid_exec_launch(diamond.exec, contract_stream(contract)));
    (void)find_only(diamond.exec, diamond.gate);
    assert_int_equal(braid_exec_wait_for(diamond.exec, 0, short_ns), BRAID_TIMEOUT);
    assert_non_null(strstr(braid_error_get_message(), "'stuck'"));
    assert_null(strstr(braid_error_get_message(), "'first'"));
    assert_non_null(strstr(braid_error_get_details(), "'stuck': frame 0, "));
    char place[32];
    snprintf(place, sizeof(place), "place %u, rank 0", find_place(&diamond));
    assert_non_null(strstr(braid_error_get_details(), place));
    gate_open(diamond.gate);
    check_ok(braid_exec_wait(diamond.exec));
}

static void the_frame_is_the_one_that_does_not_end(void **state)
{
    struct contract *contract = *state;
    struct diamond diamond;
    make_diamond(contract, &diamond);
    gate_open(diamond.gate);
    for (int i = 0; i < 5; i++)
        check_ok(braid_exec_launch(diamond.exec, contract_stream(contract)));
    check_ok(braid_exec_wait(diamond.exec));
    check_none(diamond.exec);
    *diamond.gate.open = 0;
    *diamond.gate.report = 0;
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(diamond.exec, contract_stream(contract)));
    braid_running_node nodes[room];
    size_t num = 0;
    gate_wait_until_entered(diamond.gate);
    check_ok(braid_exec_get_running(diamond.exec, nodes, room, &num));
    bool is_there = false;
    for (size_t i = 0; i < num && i < room; i++)
        is_there |= nodes[i].frame == 5 && nodes[i].node.index == diamond.stuck.index;
    assert_true(is_there);
    gate_open(diamond.gate);
    check_ok(braid_exec_wait(diamond.exec));
}

static void the_frame_is_known_of_more_than_marks_stand_for(void **state)
{
    struct contract *contract = *state;
    struct diamond diamond;
    make_diamond(contract, &diamond);
    gate_open(diamond.gate);
    check_ok(braid_exec_launch(diamond.exec, contract_stream(contract)));
    check_ok(braid_exec_wait(diamond.exec));
    *diamond.gate.open = 0;
    *diamond.gate.report = 0;
    braid_stream *stream = contract_stream(contract);
    for (int i = 0; i < 40; i++)
        check_ok(braid_exec_launch(diamond.exec, stream));
    gate_wait_until_entered(diamond.gate);
    braid_running_node nodes[room];
    size_t num = 0;
    check_ok(braid_exec_get_running(diamond.exec, nodes, room, &num));
    assert_in_range(num, 1, room);
    for (size_t i = 0; i < num; i++)
        assert_in_range(nodes[i].frame, 1, contract_frames());
    check_still_closed(diamond.gate);
    gate_open(diamond.gate);
    check_ok(braid_exec_wait(diamond.exec));
}

static braid_status fail_if_told(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    return *(const bool *)user ? BRAID_DEVICE_ERROR : BRAID_OK;
}

// As the first launch of the exec, and behind a frame.
static void a_launch_that_failed_names_the_part_that_runs(void **state)
{
    struct contract *contract = *state;
    if (contract->mode != BRAID_MODE_STREAMS)
        skip_because("a graph's queue calls are made before launches");
    braid_graph *graph = contract_graph(contract);
    struct gate gate = contract_gate(contract);
    bool fails = true;
    braid_node stuck = add_gate(graph, (braid_node_options){ .name = stuck_name }, gate);
    add_queue_call(graph, (braid_node_options){ AFTER(stuck) }, fail_if_told, &fails);
    braid_exec *exec = make_exec(contract, graph);
    for (int i = 0; i < 2; i++) {
        *gate.open = 0;
        *gate.report = 0;
        fails = true;
        check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "");
        braid_running_node node = find_only(exec, gate);
        assert_int_equal(node.node.index, stuck.index);
        assert_int_equal(node.frame, i);
        gate_open(gate);
        check_ok(braid_exec_wait(exec));
        check_none(exec);
        fails = false;
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
    }
}

static void check_host_call(struct contract *contract, bool blocks)
{
    braid_graph *graph = contract_graph(contract);
    contract_gate(contract);
    struct gate *gate = &contract->gates[contract->num_gates - 1];
    uint32_t *numbers = contract_numbers(contract, 2);
    braid_node first = add_axpy(graph, (braid_node_options){ 0 }, numbers, numbers, 1, 1, 1);
    braid_node node = (blocks ? add_blocking : add_host)(
        graph, (braid_node_options){ AFTER(first) }, gate_stand_at, gate);
    add_axpy(graph, (braid_node_options){ AFTER(node) }, numbers, numbers, 1, 1, 1);
    braid_exec *exec = make_exec(contract, graph);
    check_ok(braid_exec_launch(exec, contract_stream(contract)));
    assert_int_equal(find_only(exec, *gate).node.index, node.index);
    gate_open(*gate);
    check_ok(braid_exec_wait(exec));
    check_none(exec);
}

static void a_host_call_that_does_not_return_is_named(void **state)
{
    check_host_call(*state, false);
    check_host_call(*state, true);
}

// In an arm, too, and in the second frame, which does not tell of the first one's iterations.
static void do_nothing(void *user)
{
    (void)user;
}

// On streams of a driver the host drives a loop that has a call.
static void tell_iteration(struct contract *contract, bool has_call)
{
    braid_graph *graph = contract_graph(contract);
    struct gate gate = contract_gate(contract);
    uint32_t *numbers = contract_numbers(contract, 2);
    const uint32_t yes = 1;
    braid_resource condition;
    braid_node loop, branch;
    contract_write(contract, numbers + 1, &yes, sizeof(yes));
    check_ok(braid_graph_add_buffer(graph, "yes", numbers + 1, sizeof(yes), &condition));
    check_ok(
        braid_graph_begin_loop(graph, &(braid_loop){ .times = 3, .node.name = "loop" }, &loop));
    braid_node first = add_axpy(graph, (braid_node_options){ 0 }, numbers, numbers, 1, 1, 1);
    const braid_if choice = { .condition = condition, .node = { AFTER(first) } };
    check_ok(braid_graph_begin_if(graph, &choice, &branch));
    braid_node stuck = add_gate(graph, (braid_node_options){ 0 }, gate);
    check_ok(braid_graph_end(graph));
    if (has_call)
        add_host(graph, (braid_node_options){ AFTER(branch) }, do_nothing, NULL);
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    for (int frame = 0; frame < 2; frame++) {
        *gate.open = 0;
        *gate.report = 0;
        check_ok(braid_exec_launch(exec, contract_stream(contract)));
        braid_running_node node = find_only(exec, gate);
        assert_int_equal(node.node.index, stuck.index);
        assert_int_equal(node.iteration, 0);
        gate_open(gate);
        check_ok(braid_exec_wait(exec));
        check_none(exec);
    }
}

// The gate is met in the third iteration of the inner loop, once the outer one has entered it for
// the second time. The kernel of the other arm has ended by then.
static void a_node_of_a_loop_tells_its_iteration(void **state)
{
    tell_iteration(*state, false);
}

static void a_node_of_a_loop_that_the_host_drives_is_named(void **state)
{
    struct contract *contract = *state;
    if (contract->mode != BRAID_MODE_STREAMS)
        skip_because("a driver's graph refuses host calls in loops");
    tell_iteration(contract, true);
}

static void a_node_of_a_loop_inside_tells_the_innermost_iteration(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    struct gate gate = contract_gate(contract);
    uint32_t *left = contract_numbers(contract, 2);
    const uint32_t outer_times = 2, inner_times = 3, num_before = 5;
    braid_resource before;
    braid_node branch;
    check_ok(braid_graph_add_buffer(graph, "left", left, sizeof(*left), &before));
    add_fill(graph, (braid_node_options){ USES({ before, BRAID_WRITE }) }, left, num_before + 1, 1);
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = outer_times }, NULL));
    check_ok(braid_graph_begin_loop(graph, &(braid_loop){ .times = inner_times }, NULL));
    add_axpy(graph, (braid_node_options){ USES({ before, BRAID_READ_WRITE }) }, left, left, 1,
             UINT32_MAX, 1);
    check_ok(braid_graph_begin_if(graph, &(braid_if){ .condition = before }, &branch));
    add_axpy(graph, (braid_node_options){ 0 }, left + 1, left + 1, 1, 1, 1);
    check_ok(braid_graph_else(graph));
    braid_node stuck = add_gate(graph, (braid_node_options){ 0 }, gate);
    for (int i = 0; i < 3; i++)
        check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    for (int frame = 0; frame < 2; frame++) {
        *gate.open = 0;
        *gate.report = 0;
        check_ok(braid_exec_launch(exec, contract_stream(contract)));
        braid_running_node node = find_only(exec, gate);
        assert_int_equal(node.node.index, stuck.index);
        assert_int_equal(node.iteration, num_before % inner_times);
        gate_open(gate);
        check_ok(braid_exec_wait(exec));
    }
}

static void without_a_black_box_nothing_is_known(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    size_t num;
    add_gate(graph, (braid_node_options){ 0 }, contract_gate(contract));
    braid_exec *exec = contract_exec(contract, graph);
    assert_int_equal(braid_exec_get_running(exec, NULL, 0, &num), BRAID_UNSUPPORTED);
    assert_int_equal(braid_exec_get_running(NULL, NULL, 0, &num), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_exec_get_running(exec, NULL, 0, NULL), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_exec_get_running(exec, NULL, 1, &num), BRAID_INVALID_ARGUMENT);
}

int run_running(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_kernel_that_does_not_end_is_named),
        contract_test(a_wait_that_times_out_names_it),
        contract_test(the_frame_is_the_one_that_does_not_end),
        contract_test(the_frame_is_known_of_more_than_marks_stand_for),
        contract_test(a_launch_that_failed_names_the_part_that_runs),
        contract_test(a_host_call_that_does_not_return_is_named),
        contract_test(a_node_of_a_loop_tells_its_iteration),
        contract_test(a_node_of_a_loop_that_the_host_drives_is_named),
        contract_test(a_node_of_a_loop_inside_tells_the_innermost_iteration),
        contract_test(without_a_black_box_nothing_is_known),
    };
    return contract_run("running nodes are named", tests);
}
