// SPDX-License-Identifier: Apache-2.0
// What is particular to each kind of node that changes: edges of what is disabled, grids that grow,
// calls that are captured, copies that go by the host.
#include <stdatomic.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"

enum { num_words = 7 };

static void count_call(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph, uint32_t frames)
{
    return contract_exec_with(contract, graph,
                              (braid_exec_options){ .frames_in_flight = frames,
                                                    .max_lanes = BRAID_ALL_LANES,
                                                    .fixed_lanes = true });
}

// Stamps before and behind a node that does nothing: its edges order them.
static void check_edges_stay(struct contract *contract, braid_graph *graph, braid_node first,
                             braid_node middle, uint32_t *counter, uint32_t *stamps,
                             bool is_refused)
{
    check_ok(braid_graph_add_edge(graph, first, middle));
    add_stamp(graph, (braid_node_options){ AFTER(middle) }, counter, stamps, 1, 0);
    braid_exec *exec = make_exec(contract, graph, 1);
    if (is_refused) {
        check_fails(braid_exec_set(exec, middle, BRAID_TARGET_ENABLED, 0, &(bool){ false }),
                    BRAID_UNSUPPORTED, "'fill'");
        return;
    }
    for (uint32_t frame = 0; frame < 6; frame++) {
        check_ok(braid_exec_set(exec, middle, BRAID_TARGET_ENABLED, 0, &(bool){ frame % 3 == 0 }));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        uint32_t seen[4];
        contract_read(contract, seen, stamps, sizeof(seen));
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(seen[i], 4 * frame + 1 + i);
    }
}

enum kind { A_KERNEL, A_COPY, A_FILL, A_HOST_CALL, AN_EMPTY_NODE, NUM_KINDS };

static braid_node add_kind(struct contract *contract, braid_graph *graph, enum kind kind,
                           uint32_t *numbers, atomic_uint *called)
{
    const braid_node_options options = { 0 };
    (void)contract;
    switch (kind) {
    case A_KERNEL:
        return add_axpy(graph, options, numbers, numbers, 1, 1, 1);
    case A_COPY:
        return add_copy(graph, options, numbers, numbers + 1, sizeof(uint32_t));
    case A_FILL:
        return add_fill(graph, options, numbers, 1, 1);
    case A_HOST_CALL:
        return add_host(graph, options, count_call, called);
    default:
        return add_empty(graph, options);
    }
}

static void edges_of_a_disabled_node_stay(void **state)
{
    struct contract *contract = *state;
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        atomic_uint called;
        atomic_init(&called, 0);
        uint32_t *numbers = contract_numbers(contract, 16);
        braid_graph *graph = contract_graph(contract);
        braid_node first =
            add_stamp(graph, (braid_node_options){ 0 }, numbers + 2, numbers + 4, 0, 300000);
        braid_node middle = add_kind(contract, graph, (enum kind)kind, numbers, &called);
        bool is_refused = kind == A_FILL && contract->mode == BRAID_MODE_GRAPH &&
                          !contract_is_on_host() && contract_islands() != BRAID_ISLANDS_WHOLE;
        check_edges_stay(contract, graph, first, middle, numbers + 2, numbers + 4, is_refused);
        if (kind == A_KERNEL)
            assert_int_equal(contract_number(contract, numbers), 2);
        if (kind == A_HOST_CALL)
            assert_int_equal(atomic_load(&called), 2);
    }
}

// A node that is published to another lane is run by one thread on the CPU's walker, and another
// by several; both see all blocks of every grid.
static void grids_grow_and_shrink(void **state)
{
    struct contract *contract = *state;
    static const braid_dim3 grids[] = { { 3, 2, 2 }, { 1, 1, 1 }, { 16, 1, 1 }, { 2, 3, 1 } };
    uint32_t *numbers = contract_numbers(contract, 64);
    braid_graph *graph = contract_graph(contract);
    braid_node nodes[2];
    for (uint32_t i = 0; i < 2; i++)
        nodes[i] = add_count_blocks(graph, (braid_node_options){ 0 }, numbers + 32 * i,
                                    numbers + 32 * i + 16, (braid_dim3){ 1, 1, 1 });
    add_axpy(graph, (braid_node_options){ AFTER(nodes[0], nodes[1]) }, numbers + 30, numbers + 16,
             1, 0, 1);
    braid_exec *exec = make_exec(contract, graph, 1);
    uint32_t expected[16] = { 0 };
    for (size_t i = 0; i < sizeof(grids) / sizeof(*grids); i++) {
        uint32_t num = grids[i].x * grids[i].y * grids[i].z;
        for (uint32_t block = 0; block < num; block++)
            expected[block]++;
        check_ok(braid_exec_set(exec, nodes[0], BRAID_TARGET_GRID, 0, &grids[i]));
        check_ok(braid_exec_set(exec, nodes[1], BRAID_TARGET_GRID, 0, &grids[i]));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        uint32_t seen[64];
        contract_read(contract, seen, numbers, sizeof(seen));
        assert_memory_equal(seen, expected, sizeof(expected));
        assert_memory_equal(seen + 32, expected, sizeof(expected));
        assert_memory_equal(seen + 16, &grids[i], sizeof(grids[i]));
        assert_int_equal(seen[30], grids[i].x);
    }
}

// Kernels that were added without a block, between two stamps, of which the second's grid.y is a
// parameter.
struct empties {
    uint32_t *numbers; // two counts of 16 blocks, then a counter, then the stamps
    braid_node nodes[2];
    braid_parameter rows;
    braid_exec *exec;
    uint32_t expected[32];
};

enum { empty_counter = 64, empty_stamps = 66 };

static struct empties make_empties(struct contract *contract)
{
    struct empties empties = { .numbers = contract_numbers(contract, 80) };
    uint32_t *numbers = empties.numbers;
    braid_graph *graph = contract_graph(contract);
    braid_node before = add_stamp(graph, (braid_node_options){ 0 }, numbers + empty_counter,
                                  numbers + empty_stamps, 0, 100000);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t *counts = numbers + 16 * i, *seen = numbers + 32 + 16 * i;
        const braid_kernel_node launch = { .node = { .name = "empty", AFTER(before) },
                                           .kernel = &test_count_blocks,
                                           .grid = { i ? 3 : 0, i ? 0 : 2, 1 },
                                           .block = { 32, 1, 1 },
                                           .may_be_empty = true,
                                           BRAID_ARGS(BRAID_ARG(counts), BRAID_ARG(seen)) };
        check_ok(braid_graph_add_kernel(graph, &launch, &empties.nodes[i]));
    }
    add_stamp(graph, (braid_node_options){ AFTER(empties.nodes[0], empties.nodes[1]) },
              numbers + empty_counter, numbers + empty_stamps, 1, 0);
    check_ok(braid_graph_add_parameter(graph, "rows", sizeof(uint32_t), &empties.rows));
    check_ok(braid_graph_use_parameter(
        graph, empties.rows,
        &(braid_parameter_use){ .node = empties.nodes[1], .target = BRAID_TARGET_GRID_Y }));
    empties.exec = make_exec(contract, graph, 2);
    return empties;
}

// Two frames, of both slots, in which so many blocks of the two kernels run.
static void check_blocks(struct contract *contract, struct empties *empties, uint32_t first,
                         uint32_t second)
{
    for (uint32_t frame = 0; frame < 2; frame++) {
        for (uint32_t block = 0; block < 16; block++) {
            empties->expected[block] += block < first;
            empties->expected[16 + block] += block < second;
        }
        check_ok(braid_exec_launch(empties->exec, NULL));
        check_ok(braid_exec_wait(empties->exec));
        uint32_t seen[80];
        contract_read(contract, seen, empties->numbers, sizeof(seen));
        assert_memory_equal(seen, empties->expected, sizeof(empties->expected));
        const uint32_t *stamps = seen + empty_stamps; // a begin and an end each
        assert_true(stamps[1] < stamps[2]);
    }
}

static void kernels_without_a_block_do_nothing(void **state)
{
    struct contract *contract = *state;
    struct empties empties = make_empties(contract);
    check_blocks(contract, &empties, 0, 0);
    uint32_t rows = 4;
    check_ok(
        braid_exec_set(empties.exec, empties.nodes[0], BRAID_TARGET_GRID, 0, &(braid_dim3){ 5 }));
    check_ok(braid_exec_set_parameter(empties.exec, empties.rows, &rows));
    check_blocks(contract, &empties, 5, 12);
    rows = 0;
    check_ok(
        braid_exec_set(empties.exec, empties.nodes[0], BRAID_TARGET_GRID, 0, &(braid_dim3){ 0 }));
    check_ok(braid_exec_set_parameter(empties.exec, empties.rows, &rows));
    check_blocks(contract, &empties, 0, 0);
    // Whether it is enabled is another thing.
    check_ok(
        braid_exec_set(empties.exec, empties.nodes[0], BRAID_TARGET_ENABLED, 0, &(bool){ false }));
    check_ok(braid_exec_set(empties.exec, empties.nodes[0], BRAID_TARGET_GRID, 0,
                            &(braid_dim3){ 2, 2, 1 }));
    check_ok(
        braid_exec_set(empties.exec, empties.nodes[1], BRAID_TARGET_ENABLED, 0, &(bool){ true }));
    check_blocks(contract, &empties, 0, 0);
    rows = 1;
    check_ok(
        braid_exec_set(empties.exec, empties.nodes[0], BRAID_TARGET_ENABLED, 0, &(bool){ true }));
    check_ok(braid_exec_set_parameter(empties.exec, empties.rows, &rows));
    check_blocks(contract, &empties, 4, 3);
}

// A zero in a struct that nobody filled in is no grid without blocks.
static void a_size_that_is_left_out_is_one(void **state)
{
    struct contract *contract = *state;
    uint32_t *numbers = contract_numbers(contract, 32);
    braid_graph *graph = contract_graph(contract);
    add_count_blocks(graph, (braid_node_options){ 0 }, numbers, numbers + 16, (braid_dim3){ 0 });
    braid_exec *exec = make_exec(contract, graph, 1);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, numbers), 1);
}

// A kernel that may be empty, and a parameter of its whole grid.
struct columns {
    uint32_t *numbers; // a count of 16 blocks, then the grid that they saw
    braid_node node;
    braid_parameter size;
    braid_exec *exec;
    uint32_t expected[16];
};

static struct columns make_columns(struct contract *contract, braid_dim3 grid)
{
    struct columns columns = { .numbers = contract_numbers(contract, 32) };
    uint32_t *counts = columns.numbers, *seen = columns.numbers + 16;
    braid_graph *graph = contract_graph(contract);
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .kernel = &test_count_blocks,
                              .grid = grid,
                              .block = { 32, 1, 1 },
                              .may_be_empty = true,
                              BRAID_ARGS(BRAID_ARG(counts), BRAID_ARG(seen)) },
        &columns.node));
    check_ok(braid_graph_add_parameter(graph, "size", sizeof(braid_dim3), &columns.size));
    check_ok(braid_graph_use_parameter(
        graph, columns.size,
        &(braid_parameter_use){ .node = columns.node, .target = BRAID_TARGET_GRID }));
    columns.exec = make_exec(contract, graph, 1);
    return columns;
}

static void check_columns(struct contract *contract, struct columns *columns, uint32_t num)
{
    uint32_t seen[16];
    for (uint32_t block = 0; block < num; block++)
        columns->expected[block]++;
    check_ok(braid_exec_launch(columns->exec, NULL));
    check_ok(braid_exec_wait(columns->exec));
    contract_read(contract, seen, columns->numbers, sizeof(seen));
    assert_memory_equal(seen, columns->expected, sizeof(seen));
}

// However a kernel that may be empty gets a whole grid: y and z are left out together.
static void a_y_and_z_that_are_left_out_are_one(void **state)
{
    struct contract *contract = *state;
    struct columns columns = make_columns(contract, (braid_dim3){ 8 });
    check_columns(contract, &columns, 8);
    check_ok(braid_exec_set(columns.exec, columns.node, BRAID_TARGET_GRID_X, 0, &(uint32_t){ 5 }));
    check_columns(contract, &columns, 5);
    check_ok(braid_exec_set_parameter(columns.exec, columns.size, &(braid_dim3){ 3 }));
    check_columns(contract, &columns, 3);
    check_ok(braid_exec_set(columns.exec, columns.node, BRAID_TARGET_GRID_Y, 0, &(uint32_t){ 2 }));
    check_columns(contract, &columns, 6);
    check_ok(
        braid_exec_set(columns.exec, columns.node, BRAID_TARGET_GRID, 0, &(braid_dim3){ 4, 0, 0 }));
    check_columns(contract, &columns, 4);
    check_ok(
        braid_exec_set(columns.exec, columns.node, BRAID_TARGET_GRID, 0, &(braid_dim3){ 8, 0, 1 }));
    check_columns(contract, &columns, 0);
    check_ok(braid_exec_set_parameter(columns.exec, columns.size, &(braid_dim3){ 8, 1, 0 }));
    check_columns(contract, &columns, 0);
    struct columns empty = make_columns(contract, (braid_dim3){ 8, 0, 1 });
    check_columns(contract, &empty, 0);
}

// Whichever allocation fails: the launch after that has the grid.
static void a_grid_that_finds_no_memory_is_tried_again(void **state)
{
    struct contract *contract = *state;
    const braid_dim3 before = { 1, 1, 1 }, after = { 3, 2, 1 };
    uint32_t *numbers = contract_numbers(contract, 32);
    braid_graph *graph = contract_graph(contract);
    braid_node node =
        add_count_blocks(graph, (braid_node_options){ 0 }, numbers, numbers + 16, before);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        braid_exec *exec = make_exec(contract, graph, 1);
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_ok(braid_exec_set(exec, node, BRAID_TARGET_GRID, 0, &after));
        failing_memory_arm(nth);
        braid_status status = braid_exec_launch(exec, NULL);
        failed = failing_memory_disarm();
        assert_true(!status || failed);
        check_ok(braid_exec_wait(exec));
        uint32_t seen[32];
        contract_read(contract, seen, numbers, sizeof(seen));
        assert_memory_equal(seen + 16, status ? &before : &after, sizeof(before));
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        contract_read(contract, seen, numbers, sizeof(seen));
        assert_memory_equal(seen + 16, &after, sizeof(after));
        contract_destroy_exec(contract, exec);
    }
}

struct queue_user {
    uint32_t *to;
    uint32_t value;
};

static braid_status fill_word(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    const struct queue_user *fill = user;
    return braid_stream_fill(stream, fill->to, fill->value, 4, 1);
}

static void queue_calls_take_other_data(void **state)
{
    struct contract *contract = *state;
    uint32_t *numbers = contract_numbers(contract, 4);
    braid_graph *graph = contract_graph(contract);
    struct queue_user users[4];
    for (uint32_t i = 0; i < 4; i++)
        users[i] = (struct queue_user){ numbers + i, 10 + i };
    braid_node node = add_queue_call(graph, (braid_node_options){ 0 }, fill_word, &users[0]);
    braid_exec *exec = make_exec(contract, graph, 2);
    for (uint32_t i = 1; i < 4; i++) {
        check_ok(braid_exec_set(exec, node, BRAID_TARGET_USER, 0, &(void *){ &users[i] }));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    uint32_t seen[4];
    contract_read(contract, seen, numbers, sizeof(seen));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(seen[i], i ? 10 + i : 0);
    if (contract->mode == BRAID_MODE_GRAPH) {
        check_fails(braid_exec_set(exec, node, BRAID_TARGET_ENABLED, 0, &(bool){ false }),
                    BRAID_UNSUPPORTED, "queue call");
        return;
    }
    check_ok(braid_exec_set(exec, node, BRAID_TARGET_USER, 0, &(void *){ &users[0] }));
    check_ok(braid_exec_set(exec, node, BRAID_TARGET_ENABLED, 0, &(bool){ false }));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, numbers), 0);
}

// Ordinary memory of the program, which GPUs copy by way of the host.
static void copies_of_ordinary_memory_change(void **state)
{
    struct contract *contract = *state;
    static uint32_t ordinary[num_words];
    uint32_t *numbers = contract_numbers(contract, num_words);
    braid_graph *graph = contract_graph(contract);
    for (uint32_t i = 0; i < num_words; i++)
        ordinary[i] = 50 + i;
    braid_node node =
        add_copy(graph, (braid_node_options){ 0 }, numbers, ordinary, sizeof(uint32_t));
    braid_exec *exec = make_exec(contract, graph, 2);
    bool refuses = contract->mode == BRAID_MODE_GRAPH && !contract_is_on_host();
    if (refuses) {
        check_fails(braid_exec_set(exec, node, BRAID_TARGET_COPY, 0,
                                   &(braid_copy_values){ numbers + 1, NULL, 0 }),
                    BRAID_UNSUPPORTED, "host memory");
        return;
    }
    for (uint32_t i = 0; i < 200; i++) {
        check_ok(braid_exec_set(
            exec, node, BRAID_TARGET_COPY, 0,
            &(braid_copy_values){ numbers + i % num_words, ordinary + i % num_words, 0 }));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    uint32_t seen[num_words];
    contract_read(contract, seen, numbers, sizeof(seen));
    assert_memory_equal(seen, ordinary, sizeof(seen));
}

// More of them than any call but a parameter's changes at once, each of which is by way of the
// host.
static void one_parameter_moves_many_copies_of_ordinary_memory(void **state)
{
    enum { num_copies = 40, num_frames = 30 };
    struct contract *contract = *state;
    static uint32_t ordinary[num_words];
    uint32_t *numbers = contract_numbers(contract, num_copies);
    braid_graph *graph = contract_graph(contract);
    braid_parameter from;
    check_ok(braid_graph_add_parameter(graph, "from", sizeof(void *), &from));
    for (uint32_t i = 0; i < num_words; i++)
        ordinary[i] = 50 + i;
    for (uint32_t i = 0; i < num_copies; i++) {
        braid_node node =
            add_copy(graph, (braid_node_options){ 0 }, numbers + i, ordinary, sizeof(uint32_t));
        check_ok(braid_graph_use_parameter(
            graph, from, &(braid_parameter_use){ .node = node, .target = BRAID_TARGET_FROM }));
    }
    braid_exec *exec = NULL;
    const braid_exec_options options = { .mode = contract->mode };
    if (contract->mode == BRAID_MODE_GRAPH && !contract_is_on_host()) {
        check_fails(braid_exec_create(contract->device, graph, &options, &exec), BRAID_UNSUPPORTED,
                    "host memory");
        return;
    }
    exec = make_exec(contract, graph, 2);
    braid_stream *stream = contract_stream(contract);
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        const void *now = ordinary + frame % num_words;
        check_ok(braid_exec_set_parameter(exec, from, &now));
        check_ok(braid_exec_launch(exec, stream));
    }
    check_ok(braid_exec_wait(exec));
    uint32_t seen[num_copies];
    contract_read(contract, seen, numbers, sizeof(seen));
    for (uint32_t i = 0; i < num_copies; i++)
        assert_int_equal(seen[i], ordinary[(num_frames - 1) % num_words]);
}

static braid_node add_fill_at(braid_graph *graph, void *to, uint32_t value_bytes)
{
    braid_node node;
    check_ok(braid_graph_add_fill(
        graph, &(braid_fill){ .to = to, .value_bytes = value_bytes, .num_values = 2 }, &node));
    return node;
}

// The bytes of parameters, calls of streams and setters are checked as those of nodes are.
static void values_that_no_driver_takes_are_refused(void **state)
{
    struct contract *contract = *state;
    unsigned char *bytes = (unsigned char *)contract_numbers(contract, num_words);
    braid_graph *graph = contract_graph(contract);
    braid_parameter to;
    braid_node fill = add_fill_at(graph, bytes, 4), pair = add_fill_at(graph, bytes + 16, 2);
    braid_node copy = add_copy(graph, (braid_node_options){ .after = &fill, .num_after = 1 },
                               (void *)(bytes + 8), (void *)bytes, 8);
    check_ok(braid_graph_add_parameter(graph, "to", sizeof(void *), &to));
    check_ok(braid_graph_use_parameter(
        graph, to, &(braid_parameter_use){ .node = fill, .target = BRAID_TARGET_TO }));
    braid_exec *exec = make_exec(contract, graph, 1);
    const void *askew = bytes + 2, *odd = bytes + 17, *near = bytes + 1;
    check_fails(braid_exec_set(exec, fill, BRAID_TARGET_TO, 0, &askew), BRAID_INVALID_ARGUMENT,
                "no multiple of 4");
    check_fails(braid_exec_set_parameter(exec, to, &askew), BRAID_INVALID_ARGUMENT,
                "no multiple of 4");
    check_fails(braid_exec_set(exec, pair, BRAID_TARGET_TO, 0, &odd), BRAID_INVALID_ARGUMENT,
                "an odd address");
    check_fails(braid_exec_set(exec, copy, BRAID_TARGET_FROM, 0, &near), BRAID_INVALID_ARGUMENT,
                "overlap");
    check_fails(braid_exec_set(exec, copy, BRAID_TARGET_BYTES, 0, &(uint64_t){ 9 }),
                BRAID_INVALID_ARGUMENT, "overlap");
    check_ok(braid_exec_set(exec, copy, BRAID_TARGET_BYTES, 0, &(uint64_t){ 7 }));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    check_fails(
        braid_stream_copy(braid_device_get_default_stream(contract->device), bytes, bytes + 3, 4),
        BRAID_INVALID_ARGUMENT, "braid_stream_copy: the bytes that the copy reads");
    check_fails(
        braid_stream_fill(braid_device_get_default_stream(contract->device), bytes + 1, 0, 2, 1),
        BRAID_INVALID_ARGUMENT, "braid_stream_fill: a fill of 2-byte values");
}

int run_kinds(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(edges_of_a_disabled_node_stay),
        contract_test(grids_grow_and_shrink),
        contract_test(kernels_without_a_block_do_nothing),
        contract_test(a_size_that_is_left_out_is_one),
        contract_test(a_y_and_z_that_are_left_out_are_one),
        contract_test(a_grid_that_finds_no_memory_is_tried_again),
        contract_test(queue_calls_take_other_data),
        contract_test(copies_of_ordinary_memory_change),
        contract_test(one_parameter_moves_many_copies_of_ordinary_memory),
        contract_test(values_that_no_driver_takes_are_refused),
    };
    return contract_run("each kind of node takes other values", tests);
}
