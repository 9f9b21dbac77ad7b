// SPDX-License-Identifier: Apache-2.0
// A parameter is set once for all arguments that use it, for later launches, or for none.
#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"

enum { num_users = 64 };

// data[i] = data[i] * factor + addend in every frame, by a node for each i.
struct users {
    uint32_t *data;
    braid_graph *graph;
    braid_node nodes[num_users];
    braid_parameter addend;
};

static struct users make_users(struct contract *contract)
{
    struct users users = { .data = contract_numbers(contract, num_users),
                           .graph = contract_graph(contract) };
    check_ok(braid_graph_add_parameter(users.graph, "addend", sizeof(uint32_t), &users.addend));
    for (uint32_t i = 0; i < num_users; i++) {
        users.nodes[i] = add_axpy(users.graph, (braid_node_options){ 0 }, users.data + i,
                                  users.data + i, 3, 1, 1);
        check_ok(braid_graph_use_parameter(
            users.graph, users.addend,
            &(braid_parameter_use){ .node = users.nodes[i], .argument = 3 }));
    }
    return users;
}

static void check_all(struct contract *contract, const struct users *users, uint32_t expected)
{
    uint32_t seen[num_users];
    contract_read(contract, seen, users->data, sizeof(seen));
    for (uint32_t i = 0; i < num_users; i++)
        assert_int_equal(seen[i], expected);
}

// Frames are queued behind a gate with values of their own; the first has what the nodes were
// given.
static void frames_in_flight_keep_their_values(void **state)
{
    struct contract *contract = *state;
    struct users users = make_users(contract);
    braid_exec *exec = contract_exec(contract, users.graph);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    check_ok(braid_exec_launch(exec, stream));
    uint32_t expected = 1;
    for (uint32_t frame = 1; frame < 6; frame++) {
        uint32_t addend = 10 * frame;
        check_ok(braid_exec_set_parameter(exec, users.addend, &addend));
        check_ok(braid_exec_launch(exec, stream));
        expected = expected * 3 + addend;
    }
    uint32_t late = 12345; // after the last launch: of no consequence
    check_ok(braid_exec_set_parameter(exec, users.addend, &late));
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    check_all(contract, &users, expected);
}

// One value of two numbers goes to two arguments of a node, and half of one to half of another's.
static void parts_go_to_parts(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 2);
    braid_graph *graph = contract_graph(contract);
    braid_node both = add_axpy(graph, (braid_node_options){ 0 }, data, data, 1, 1, 1);
    braid_node half = add_axpy(graph, (braid_node_options){ 0 }, data + 1, data + 1, 1, 7, 1);
    braid_parameter pair;
    check_ok(braid_graph_add_parameter(graph, "pair", 2 * sizeof(uint32_t), &pair));
    const braid_parameter_use uses[] = {
        { .node = both, .argument = 3, .offset = 4 },
        { .node = half, .argument = 3, .argument_offset = 2, .offset = 4, .bytes = 2 },
        { .node = both, .argument = 2, .bytes = 4 },
    };
    for (size_t i = 0; i < 3; i++)
        check_ok(braid_graph_use_parameter(graph, pair, &uses[i]));
    braid_exec *exec = contract_exec(contract, graph);
    check_ok(braid_exec_launch(exec, NULL));
    const uint32_t value[2] = { 5, 9 };
    check_ok(braid_exec_set_parameter(exec, pair, value));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), 1 * 5 + 9);
    assert_int_equal(contract_number(contract, data + 1), 7 + (9 << 16 | 7)); // little-endian
}

static void what_was_set_last_counts(void **state)
{
    struct contract *contract = *state;
    struct users users = make_users(contract);
    braid_exec *exec = contract_exec(contract, users.graph);
    uint32_t addend = 20, own = 50;
    check_ok(braid_exec_set_parameter(exec, users.addend, &addend));
    check_ok(braid_exec_set_arg(exec, users.nodes[7], 3, BRAID_ARG(own)));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, users.data + 6), 20);
    assert_int_equal(contract_number(contract, users.data + 7), 50);
    check_ok(braid_exec_set_parameter(exec, users.addend, &addend));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, users.data + 6), 20 * 3 + 20);
    assert_int_equal(contract_number(contract, users.data + 7), 50 * 3 + 20);
}

static void setting_it_in_every_frame_allocates_nothing(void **state)
{
    struct contract *contract = *state;
    struct users users = make_users(contract);
    braid_exec *exec = contract_exec(contract, users.graph);
    uint64_t before = 0;
    uint32_t expected = 0;
    for (uint32_t frame = 0; frame < 100; frame++) {
        if (frame == 5)
            before = failing_memory_num_calls();
        check_ok(braid_exec_set_parameter(exec, users.addend, &frame));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        expected = expected * 3 + frame;
    }
    assert_int_equal(failing_memory_num_calls() - before, 0);
    check_all(contract, &users, expected);
}

// Whichever allocation fails, all users keep what they had.
static void a_value_that_cannot_be_set_changes_no_user(void **state)
{
    struct contract *contract = *state;
    struct users users = make_users(contract);
    braid_exec *exec = contract_exec(contract, users.graph);
    uint32_t addend = 5, expected = 0;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        failing_memory_arm(nth);
        braid_status status = braid_exec_set_parameter(exec, users.addend, &addend);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        if (nth > 3 && failed)
            continue; // the first few of many are launched after
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        expected = expected * 3 + (failed ? 1 : addend);
        check_all(contract, &users, expected);
    }
}

static braid_node add_step(braid_graph *graph, braid_node_options options, braid_arg to,
                           braid_arg from, uint32_t factor, uint32_t addend)
{
    uint32_t num = 1;
    braid_node node;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .node = options,
            .kernel = &test_axpy,
            .grid = { 1, 1, 1 },
            .block = { 32, 1, 1 },
            BRAID_ARGS(to, from, BRAID_ARG(factor), BRAID_ARG(addend), BRAID_ARG(num)) },
        &node));
    return node;
}

// In every frame between = sum * 3 + 7, then sum = between, which is a transient buffer; a
// parameter would give another address to the first, and then to many other nodes.
static braid_parameter add_replaced_address(braid_graph *graph, uint32_t *sum, uint32_t *other)
{
    braid_resource between, total, spare;
    braid_parameter where;
    check_ok(braid_graph_add_transient(graph, "between", sizeof(*sum), 0, &between));
    check_ok(braid_graph_add_buffer(graph, "sum", sum, sizeof(*sum), &total));
    check_ok(braid_graph_add_buffer(graph, "other", other, sizeof(*other), &spare));
    check_ok(braid_graph_add_parameter(graph, "where", sizeof(sum), &where));
    braid_node node = add_step(
        graph, (braid_node_options){ USES({ total, BRAID_READ }, { between, BRAID_WRITE }) },
        braid_resource_address(&between), BRAID_ARG(sum), 3, 7);
    add_step(graph, (braid_node_options){ USES({ between, BRAID_READ }, { total, BRAID_WRITE }) },
             BRAID_ARG(sum), braid_resource_address(&between), 1, 0);
    check_ok(braid_graph_use_parameter(graph, where,
                                       &(braid_parameter_use){ .node = node, .argument = 0 }));
    for (uint32_t i = 0; i < num_users; i++) {
        node = add_axpy(graph, (braid_node_options){ USES({ spare, BRAID_READ_WRITE }) }, other,
                        other, 1, 0, 1);
        check_ok(braid_graph_use_parameter(graph, where,
                                           &(braid_parameter_use){ .node = node, .argument = 0 }));
    }
    return where;
}

// The address of a transient buffer is another in each frame in flight, and stays that where the
// parameter that would replace it cannot be set.
static void refused_addresses_stay_each_frames_own(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *sum = contract_numbers(contract, 1), *other = contract_numbers(contract, 1);
    braid_parameter where = add_replaced_address(graph, sum, other);
    braid_exec *exec =
        contract_exec_with(contract, graph, (braid_exec_options){ .frames_in_flight = 3 });
    uint32_t expected = 0;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        failing_memory_arm(nth);
        braid_status status = braid_exec_set_parameter(exec, where, &other);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        for (int frame = 0; failed && frame < 3; frame++) {
            check_ok(braid_exec_launch(exec, NULL));
            check_ok(braid_exec_wait(exec));
            expected = expected * 3 + 7;
            assert_int_equal(contract_number(contract, sum), expected);
        }
    }
}

// Between the two parameters of a frame both ends are the same. Frames with such ends are refused.
static void the_ends_of_a_copy_change_places(void **state)
{
    struct contract *contract = *state;
    uint32_t *first = contract_numbers(contract, 2), seen[2] = { 3, 4 };
    uint32_t *const ends[] = { first, first + 1, first, first + 1, first };
    braid_graph *graph = contract_graph(contract);
    braid_parameter to, from;
    braid_node copy =
        add_copy(graph, (braid_node_options){ 0 }, ends[0], ends[1], sizeof(uint32_t));
    check_ok(braid_graph_add_parameter(graph, "to", sizeof(void *), &to));
    check_ok(braid_graph_use_parameter(
        graph, to, &(braid_parameter_use){ .node = copy, .target = BRAID_TARGET_TO }));
    check_ok(braid_graph_add_parameter(graph, "from", sizeof(void *), &from));
    check_ok(braid_graph_use_parameter(
        graph, from, &(braid_parameter_use){ .node = copy, .target = BRAID_TARGET_FROM }));
    braid_exec *exec = contract_exec(contract, graph);
    const braid_parameter_rows rows[] = { { to, ends, 4 }, { from, ends + 1, 4 } };
    check_ok(braid_exec_launch_many(exec, NULL, 4, rows, 2));
    check_ok(braid_exec_wait(exec));
    contract_write(contract, first, seen, sizeof(seen));
    check_ok(braid_exec_set_parameter(exec, to, &ends[0]));
    check_fails(braid_exec_launch(exec, NULL), BRAID_INVALID_ARGUMENT, "overlap");
    check_fails(braid_exec_launch(exec, NULL), BRAID_INVALID_ARGUMENT, "overlap");
    check_ok(braid_exec_set_parameter(exec, from, &ends[1]));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    contract_read(contract, seen, first, sizeof(seen));
    assert_int_equal(seen[0], 4);
    assert_int_equal(seen[1], 4);
}

static void wrong_parameters_are_refused(void **state)
{
    struct contract *contract = *state;
    struct users users = make_users(contract);
    braid_exec *exec = contract_exec(contract, users.graph);
    uint32_t value = 4;
    braid_parameter foreign, late;
    check_ok(braid_graph_add_parameter(contract_graph(contract), "foreign", 4, &foreign));
    check_ok(braid_graph_add_parameter(users.graph, "late", 4, &late));
    check_fails(braid_exec_set_parameter(exec, foreign, &value), BRAID_INVALID_ARGUMENT,
                "parameter 0");
    check_fails(braid_exec_set_parameter(exec, late, &value), BRAID_INVALID_ARGUMENT,
                "parameter 1");
    check_fails(braid_exec_set_parameter(exec, (braid_parameter){ 0 }, &value),
                BRAID_INVALID_ARGUMENT, "of graph 0");
    check_fails(braid_exec_set_parameter(exec, users.addend, NULL), BRAID_INVALID_ARGUMENT,
                "value");
}

int run_parameters(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(frames_in_flight_keep_their_values),
        contract_test(parts_go_to_parts),
        contract_test(what_was_set_last_counts),
        contract_test(setting_it_in_every_frame_allocates_nothing),
        contract_test(a_value_that_cannot_be_set_changes_no_user),
        contract_test(refused_addresses_stay_each_frames_own),
        contract_test(the_ends_of_a_copy_change_places),
        contract_test(wrong_parameters_are_refused),
    };
    return contract_run("one parameter reaches all its users", tests);
}
