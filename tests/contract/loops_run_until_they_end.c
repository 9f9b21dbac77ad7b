// SPDX-License-Identifier: Apache-2.0
// A loop runs its body until its condition is 0 or its bound is reached, iteration after iteration,
// in every frame.
#include <string.h>

#include "contract/counting.h"
#include "contract/groups.h"

static void count(struct contract *contract, uint32_t left, braid_loop loop, uint32_t expected)
{
    struct counting counting = begin_counting(contract, left);
    loop.node.name = "until 0";
    if (!loop.times || loop.tests_first)
        loop.condition = counting.left;
    braid_node node = begin_loop(counting.graph, loop);
    add_body(&counting);
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = make_exec(contract, counting.graph);
    run_frames(exec);
    assert_int_equal(contract_number(contract, counting.numbers + 1), expected);
    assert_int_equal(contract_number(contract, counting.numbers), left - expected);
    check_iterations(exec, node, expected);
}

static void a_loop_ends_when_its_condition_is_0(void **state)
{
    count(*state, 5, (braid_loop){ .most = 500 }, 5);
    count(*state, 300, (braid_loop){ .unbounded = true }, 300);
    count(*state, 1, (braid_loop){ .unbounded = true }, 1);
}

static void a_loop_that_tests_first_may_run_no_iteration(void **state)
{
    count(*state, 0, (braid_loop){ .most = 500, .tests_first = true }, 0);
    count(*state, 1, (braid_loop){ .most = 500, .tests_first = true }, 1);
    count(*state, 4, (braid_loop){ .unbounded = true, .tests_first = true }, 4);
}

static void a_bound_ends_a_loop(void **state)
{
    count(*state, 500, (braid_loop){ .most = 7 }, 7);
    count(*state, 500, (braid_loop){ .most = 1 }, 1);
    count(*state, 500, (braid_loop){ .times = 3, .tests_first = true }, 3); // and a condition
}

static void a_loop_without_a_condition_runs_so_many_times(void **state)
{
    count(*state, 100, (braid_loop){ .times = 1 }, 1);
    count(*state, 100, (braid_loop){ .times = 64 }, 64);
}

// Word i of `table` is the condition after iteration i.
static void a_copy_writes_the_condition(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 3);
    uint32_t *shown = contract_numbers(contract, 1);
    braid_resource condition = add_word(counting.graph, "shown", shown);
    braid_node node =
        begin_loop(counting.graph, (braid_loop){ .condition = condition, .most = 50 });
    add_body(&counting);
    add_copy(
        counting.graph,
        (braid_node_options){ USES({ condition, BRAID_WRITE }, { counting.left, BRAID_READ }) },
        shown, counting.numbers, sizeof(*shown));
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = make_exec(contract, counting.graph);
    run_frames(exec);
    assert_int_equal(contract_number(contract, counting.numbers + 1), 3);
    check_iterations(exec, node, 3);
}

// Both ends are host memory that the driver knows.
static void a_copy_inside_moves_host_memory(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 3);
    uint32_t *host = contract_host_numbers(contract, 2);
    braid_resource to = add_word(counting.graph, "to", host),
                   from = add_word(counting.graph, "from", host + 1);
    host[1] = 77;
    begin_loop(counting.graph, (braid_loop){ .condition = counting.left, .most = 50 });
    add_body(&counting);
    add_copy(
        counting.graph,
        (braid_node_options){ .name = "move", USES({ to, BRAID_WRITE }, { from, BRAID_READ }) },
        host, host + 1, sizeof(*host));
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = make_exec(contract, counting.graph);
    run_frames(exec);
    assert_int_equal(host[0], 77);
}

static void a_fill_writes_the_condition(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 3);
    braid_node node =
        begin_loop(counting.graph, (braid_loop){ .condition = counting.left, .unbounded = true });
    add_body(&counting);
    add_start(counting.graph, "stop", counting.left, counting.numbers, 0);
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = make_exec(contract, counting.graph);
    run_frames(exec);
    assert_int_equal(contract_number(contract, counting.numbers + 1), 1);
    check_iterations(exec, node, 1);
}

static void count_down(void *user)
{
    uint32_t *left = user;
    --*left;
}

// A driver's graph plays loops without the host. On streams the host drives such loops.
static bool host_call_is_refused(struct contract *contract, const braid_graph *graph)
{
    const braid_exec_options options = { .mode = contract->mode };
    braid_exec *exec;
    if (!plays_loops(contract) || contract_is_on_host() || contract->mode == BRAID_MODE_STREAMS)
        return false;
    check_fails(contract_create_exec(contract, graph, &options, &exec), BRAID_UNSUPPORTED,
                "'host call' is a host call inside loop 1 'loop', which the device plays");
    return true;
}

static void a_host_call_writes_the_condition(void **state)
{
    struct contract *contract = *state;
    for (int blocks = 0; blocks < 2; blocks++) {
        uint32_t *left = contract_host_numbers(contract, 1);
        braid_graph *own = contract_graph(contract);
        braid_resource condition = add_word(own, "left", left);
        add_start(own, "start", condition, left, 6);
        braid_node node = begin_loop(own, (braid_loop){ .condition = condition, .most = 50 });
        const braid_node_options options = { USES({ condition, BRAID_READ_WRITE }) };
        if (blocks)
            add_blocking(own, options, count_down, left);
        else
            add_host(own, options, count_down, left);
        check_ok(braid_graph_end(own));
        if (host_call_is_refused(contract, own))
            continue;
        braid_exec *exec = make_exec(contract, own);
        run_frames(exec);
        check_iterations(exec, node, 6);
    }
}

static void loops_nest_to_four_levels(void **state)
{
    static const uint64_t times[] = { 2, 3, 1, 4 };
    enum { depth = sizeof(times) / sizeof(*times) };
    struct contract *contract = *state;
    uint32_t *sums = contract_numbers(contract, depth);
    braid_graph *graph = contract_graph(contract);
    braid_node nodes[depth];
    braid_resource words[depth];
    for (int i = 0; i < depth; i++) {
        words[i] = add_word(graph, (char[]){ (char)('a' + i), '\0' }, sums + i);
        add_start(graph, "start", words[i], sums + i, 0);
    }
    for (int i = 0; i < depth; i++) {
        nodes[i] = begin_loop(graph, (braid_loop){ .times = times[i] });
        add_step(graph, "step", words[i], sums + i, 1);
    }
    for (int i = 0; i < depth; i++)
        check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    run_frames(exec);
    uint32_t expected = 1;
    for (int i = 0; i < depth; i++) {
        expected *= (uint32_t)times[i];
        assert_int_equal(contract_number(contract, sums + i), expected);
        check_iterations(exec, nodes[i], expected);
    }
}

// The inner loop counts down what the outer one sets: 1 + 2 + 3 + ... iterations.
static void a_loop_inside_ends_by_its_own_condition(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 4);
    braid_graph *graph = counting.graph;
    uint32_t *inner = contract_numbers(contract, 1);
    braid_resource condition = add_word(graph, "inner", inner);
    braid_node outside = begin_loop(graph, (braid_loop){ .condition = counting.left, .most = 50 });
    add_step(graph, "less", counting.left, counting.numbers, UINT32_MAX);
    add_copy(
        graph,
        (braid_node_options){ USES({ condition, BRAID_WRITE }, { counting.left, BRAID_READ }) },
        inner, counting.numbers, sizeof(*inner));
    braid_node inside = begin_loop(
        graph, (braid_loop){ .condition = condition, .unbounded = true, .tests_first = true });
    add_step(graph, "inner less", condition, inner, UINT32_MAX);
    add_step(graph, "more", counting.sum, counting.numbers + 1, 1);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    run_frames(exec);
    assert_int_equal(contract_number(contract, counting.numbers + 1), 3 + 2 + 1 + 0);
    check_iterations(exec, outside, 4);
    check_iterations(exec, inside, 6);
}

// Two in sequence, of which the second reads what the first has left, and one beside them.
static void loops_are_ordered_as_nodes(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 6);
    braid_graph *graph = counting.graph;
    uint32_t *other = contract_numbers(contract, 1);
    braid_resource word = add_word(graph, "other", other);
    begin_loop(graph, (braid_loop){ .condition = counting.left, .most = 50 });
    add_body(&counting);
    check_ok(braid_graph_end(graph));
    begin_loop(graph, (braid_loop){ .times = 10 });
    add_step(graph, "other", word, other, 1);
    check_ok(braid_graph_end(graph));
    begin_loop(graph, (braid_loop){ .times = 3 });
    add_add(graph, (braid_node_options){ USES({ counting.sum, BRAID_READ_WRITE }) },
            counting.numbers + 1, counting.numbers + 1, counting.numbers + 1, 1);
    check_ok(braid_graph_end(graph));
    add_step(graph, "behind", counting.sum, counting.numbers + 1, 1);
    braid_exec *exec = make_exec(contract, graph);
    run_frames(exec);
    assert_int_equal(contract_number(contract, counting.numbers + 1), 6 * 8 + 1);
    assert_int_equal(contract_number(contract, other), 10 * num_frames);
}

// Nothing but edges to nodes inside orders the nodes outside.
static void edges_across_the_border_order_the_whole_loop(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *counter = contract_numbers(contract, 1), *stamps = contract_numbers(contract, 8);
    const uint64_t delay_ns = 200000;
    braid_node before = add_stamp(graph, (braid_node_options){ 0 }, counter, stamps, 0, delay_ns);
    begin_loop(graph, (braid_loop){ .times = 3 });
    add_stamp(graph, (braid_node_options){ 0 }, counter, stamps, 1, 0);
    braid_node inside =
        add_stamp(graph, (braid_node_options){ AFTER(before) }, counter, stamps, 2, 0);
    check_ok(braid_graph_end(graph));
    add_stamp(graph, (braid_node_options){ AFTER(inside) }, counter, stamps, 3, 0);
    braid_exec *exec = make_exec(contract, graph);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    uint32_t seen[8];
    contract_read(contract, seen, stamps, sizeof(seen));
    assert_int_equal(contract_number(contract, counter), 2 * (1 + 3 * 2 + 1));
    assert_true(seen[1] < seen[2] && seen[1] < seen[4]); // `before`, then both inside
    assert_true(seen[3] < seen[6] && seen[5] < seen[6]); // both, then what is behind
}

// The condition and what is added up are each frame's own; the result is written behind the loop.
static void transient_buffers_live_for_the_whole_loop(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *result = contract_numbers(contract, 1);
    braid_resource words[3], out = add_word(graph, "result", result);
    static const char *const names[] = { "left", "sum", "spare" };
    for (int i = 0; i < 3; i++)
        check_ok(braid_graph_add_transient(graph, names[i], 4, 0, &words[i]));
    for (int i = 0; i < 2; i++)
        check_ok(braid_graph_add_fill(
            graph,
            &(braid_fill){ .node = { .name = names[i], USES({ words[i], BRAID_WRITE }) },
                           .value = i ? 0 : 9,
                           .value_bytes = 4,
                           .num_values = 1,
                           .to_resource = words[i] },
            NULL));
    begin_loop(graph, (braid_loop){ .condition = words[0], .most = 50 });
    add_axpy_of(graph, words[2], words[1], 1, 2, 1); // spare = sum + 2
    add_axpy_of(graph, words[1], words[2], 1, 0, 1);
    add_axpy_of(graph, words[2], words[0], 1, UINT32_MAX, 1);
    add_axpy_of(graph, words[0], words[2], 1, 0, 1);
    check_ok(braid_graph_end(graph));
    add_axpy_of(graph, out, words[1], 1, 1, 1);
    braid_exec *exec = make_exec(contract, graph);
    run_frames(exec);
    assert_int_equal(contract_number(contract, result), 9 * 2 + 1);
}

// Frame f adds f + 1 in each of its iterations, whatever is set while it runs.
static void frames_in_flight_keep_their_values(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 20);
    braid_graph *graph = counting.graph;
    uint32_t *total = contract_numbers(contract, 1), *skipped = contract_numbers(contract, 1);
    braid_resource all = add_word(graph, "total", total), some = add_word(graph, "some", skipped);
    braid_parameter enabled;
    check_ok(braid_graph_add_parameter(graph, "enabled", sizeof(uint32_t), &enabled));
    begin_loop(graph, (braid_loop){ .condition = counting.left, .most = 50 });
    add_body(&counting);
    braid_node node = add_axpy(graph, (braid_node_options){ USES({ all, BRAID_READ_WRITE }) },
                               total, total, 1, 1, 1);
    braid_node rests = add_axpy(graph, (braid_node_options){ USES({ some, BRAID_READ_WRITE }) },
                                skipped, skipped, 1, 1, 1);
    check_ok(braid_graph_use_parameter(
        graph, enabled, &(braid_parameter_use){ .node = rests, .target = BRAID_TARGET_ENABLED }));
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        uint32_t addend = frame + 1;
        check_ok(braid_exec_set_arg(exec, node, 3, BRAID_ARG(addend)));
        check_ok(braid_exec_set_parameter(exec, enabled, &(uint32_t){ frame % 2 }));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, total), 20 * (1 + 2 + 3 + 4 + 5));
    assert_int_equal(contract_number(contract, skipped), 20 * 2);
    assert_int_equal(contract_number(contract, counting.numbers + 1), 20);
}

// Each iteration adds 1 to the frame's version, which begins as the frame's before.
static void versions_turn_from_frame_to_frame(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_resource state_of, earlier;
    uint32_t *result = contract_numbers(contract, 1);
    braid_resource out = add_word(graph, "result", result);
    check_ok(braid_graph_add_versioned_buffer(graph, "state", NULL, 3, 4, &state_of));
    check_ok(braid_graph_add_earlier_version(graph, state_of, 1, &earlier));
    add_axpy_of(graph, state_of, earlier, 1, 0, 1);
    begin_loop(graph, (braid_loop){ .times = 4 });
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ state_of, BRAID_READ_WRITE }) },
                              .kernel = &test_axpy,
                              .grid = { 4, 1, 1 },
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&state_of),
                                         braid_resource_address(&state_of),
                                         BRAID_ARG((uint32_t){ 1 }), BRAID_ARG((uint32_t){ 1 }),
                                         BRAID_ARG((uint32_t){ 1 })) },
        NULL));
    check_ok(braid_graph_end(graph));
    add_axpy_of(graph, out, state_of, 1, 0, 1);
    braid_exec *exec = make_exec(contract, graph);
    run_frames(exec);
    assert_int_equal(contract_number(contract, result), 4 * num_frames);
}

static void many_frames_are_launched_with_loops(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 3);
    uint32_t *total = contract_numbers(contract, 1);
    braid_resource all = add_word(counting.graph, "total", total);
    begin_loop(counting.graph, (braid_loop){ .condition = counting.left, .most = 50 });
    add_body(&counting);
    add_step(counting.graph, "total", all, total, 1);
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = make_exec(contract, counting.graph);
    check_ok(braid_exec_launch_many(exec, NULL, num_frames, NULL, 0));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, total), 3 * num_frames);
}

static void launches_and_destroy_wait_for_no_iteration_but_the_last(void **state)
{
    struct contract *contract = *state;
    struct counting counting = begin_counting(contract, 3);
    struct gate gate = contract_gate(contract);
    begin_loop(counting.graph, (braid_loop){ .condition = counting.left, .unbounded = true });
    add_gate(counting.graph, (braid_node_options){ 0 }, gate);
    add_body(&counting);
    check_ok(braid_graph_end(counting.graph));
    braid_exec *exec = make_exec(contract, counting.graph);
    check_ok(braid_exec_launch(exec, NULL));
    gate_wait_until_entered(gate);
    check_ok(braid_exec_launch(exec, NULL));
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    check_still_closed(gate);
    gate_open(gate);
    contract_destroy_exec(contract, exec);
    assert_int_equal(contract_number(contract, counting.numbers), 0);
    assert_int_equal(contract_number(contract, counting.numbers + 1), 3);
}

static void scratch_inside_a_loop_grows(void **state)
{
    enum { num = 8 };
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *result = contract_numbers(contract, num);
    braid_resource scratch, out, left;
    check_ok(braid_graph_add_scratch(graph, "scratch", 4 * num, 0, &scratch));
    check_ok(braid_graph_add_transient(graph, "left", 4, 0, &left));
    check_ok(braid_graph_add_buffer(graph, "result", result, 4 * num, &out));
    check_ok(braid_graph_add_fill(graph,
                                  &(braid_fill){ .node = { USES({ left, BRAID_WRITE }) },
                                                 .value = 3,
                                                 .value_bytes = 4,
                                                 .num_values = 1,
                                                 .to_resource = left },
                                  NULL));
    braid_node loop =
        begin_loop(graph, (braid_loop){ .condition = left, .most = 50, .tests_first = true });
    add_axpy_of(graph, left, left, 1, UINT32_MAX, 1);
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ out, BRAID_WRITE }) },
                              .kernel = &test_keep,
                              BRAID_ARGS(braid_resource_address(&scratch), BRAID_ARG(result),
                                         BRAID_ARG((uint32_t){ 100 }), BRAID_ARG((uint32_t){ num }),
                                         BRAID_ARG((uint64_t){ 0 })) },
        NULL));
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    run_frames(exec);
    check_iterations(exec, loop, 3);
    check_ok(braid_exec_set_scratch(exec, scratch, 1 << 20));
    run_frames(exec);
    check_iterations(exec, loop, 3);
    assert_int_equal(contract_number(contract, result + num - 1), 100 + num - 1);
}

static braid_status count_queue_call(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream;
    ++*(int *)user;
    return BRAID_OK;
}

// The host drives such loops on the streams of a driver.
static void a_queue_call_inside_is_made_or_refused(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_exec *exec;
    int num = 0;
    begin_loop(graph, (braid_loop){ .times = 2 });
    begin_loop(graph, (braid_loop){ .times = 2 });
    add_queue_call(graph, (braid_node_options){ .name = "gemm" }, count_queue_call, &num);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_end(graph));
    const braid_exec_options options = { .mode = BRAID_MODE_STREAMS };
    if (plays_loops(contract) && !contract_is_on_host()) {
        check_ok(contract_create_exec(contract, graph, &options, &exec));
        contract_own_exec(contract, exec);
        run_frames(exec);
        assert_int_equal(num, 4 * num_frames);
        return;
    }
    check_fails(contract_create_exec(contract, graph, &options, &exec), BRAID_UNSUPPORTED,
                plays_loops(contract) ? "'gemm' is a queue call" : "plays no loop");
}

int run_loops(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_loop_ends_when_its_condition_is_0),
        contract_test(a_loop_that_tests_first_may_run_no_iteration),
        contract_test(a_bound_ends_a_loop),
        contract_test(a_loop_without_a_condition_runs_so_many_times),
        contract_test(a_copy_writes_the_condition),
        contract_test(a_copy_inside_moves_host_memory),
        contract_test(a_fill_writes_the_condition),
        contract_test(a_host_call_writes_the_condition),
        contract_test(loops_nest_to_four_levels),
        contract_test(a_loop_inside_ends_by_its_own_condition),
        contract_test(loops_are_ordered_as_nodes),
        contract_test(edges_across_the_border_order_the_whole_loop),
        contract_test(transient_buffers_live_for_the_whole_loop),
        contract_test(frames_in_flight_keep_their_values),
        contract_test(versions_turn_from_frame_to_frame),
        contract_test(many_frames_are_launched_with_loops),
        contract_test(launches_and_destroy_wait_for_no_iteration_but_the_last),
        contract_test(scratch_inside_a_loop_grows),
        contract_test(a_queue_call_inside_is_made_or_refused),
    };
    return contract_run("loops_run_until_they_end", tests);
}
