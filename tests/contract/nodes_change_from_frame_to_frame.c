// SPDX-License-Identifier: Apache-2.0
// What a node does changes from frame to frame: grids, ends and sizes, values, data of calls, and
// whether it does anything. Frames in flight keep what they were launched with.
#include <stdatomic.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/failing_memory.h"

enum { num_frames = 7, row = 8, most_blocks = 16 };

// All that changes, as one value.
struct values {
    void *fill_to;
    void *copy_to;
    const void *copy_from;
    uint64_t copy_bytes;
    uint64_t num_filled;
    void *user, *sleeper;
    uint32_t grid_x;
    uint32_t fill_value;
    uint32_t counts;
    uint32_t sleeps;
};

// A node of each kind. In frame f, row f of `filled` gets f + 1 words, row f of `copied` as many
// bytes of row f of `source`, number f of `called` is counted, and f + 1 blocks are, unless f is
// odd, and so is number f of `slept`, by a call that blocks.
struct nodes {
    uint32_t *blocks, *grid, *filled, *copied, *source;
    atomic_uint *called, *slept;
    braid_graph *graph;
    braid_node count, fill, copy, call, sleep;
    braid_parameter all;
};

static void count_call(void *user)
{
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void use(const struct nodes *nodes, braid_node node, braid_target target, size_t offset)
{
    check_ok(braid_graph_use_parameter(
        nodes->graph, nodes->all,
        &(braid_parameter_use){ .node = node, .offset = offset, .target = target }));
}

static void use_all(struct nodes *nodes)
{
    check_ok(braid_graph_add_parameter(nodes->graph, "all", sizeof(struct values), &nodes->all));
    use(nodes, nodes->fill, BRAID_TARGET_TO, offsetof(struct values, fill_to));
    use(nodes, nodes->fill, BRAID_TARGET_VALUE, offsetof(struct values, fill_value));
    use(nodes, nodes->fill, BRAID_TARGET_NUM_VALUES, offsetof(struct values, num_filled));
    use(nodes, nodes->copy, BRAID_TARGET_TO, offsetof(struct values, copy_to));
    use(nodes, nodes->copy, BRAID_TARGET_FROM, offsetof(struct values, copy_from));
    use(nodes, nodes->copy, BRAID_TARGET_BYTES, offsetof(struct values, copy_bytes));
    use(nodes, nodes->call, BRAID_TARGET_USER, offsetof(struct values, user));
    use(nodes, nodes->sleep, BRAID_TARGET_USER, offsetof(struct values, sleeper));
    use(nodes, nodes->sleep, BRAID_TARGET_ENABLED, offsetof(struct values, sleeps));
    use(nodes, nodes->count, BRAID_TARGET_GRID_X, offsetof(struct values, grid_x));
    use(nodes, nodes->count, BRAID_TARGET_ENABLED, offsetof(struct values, counts));
}

// The calls' numbers are ordinary memory, which only the host reads.
static struct nodes make_nodes(struct contract *contract, bool by_parameter)
{
    static atomic_uint called[num_frames], slept[num_frames];
    uint32_t numbers[num_frames * row];
    struct nodes nodes = { .blocks = contract_numbers(contract, most_blocks),
                           .grid = contract_numbers(contract, 3),
                           .filled = contract_numbers(contract, num_frames * row),
                           .copied = contract_numbers(contract, num_frames * row),
                           .source = contract_numbers(contract, num_frames * row),
                           .called = called,
                           .slept = slept,
                           .graph = contract_graph(contract) };
    for (uint32_t i = 0; i < num_frames * row; i++)
        numbers[i] = 1000 + i;
    for (int i = 0; i < num_frames; i++) {
        atomic_store(&called[i], 0);
        atomic_store(&slept[i], 0);
    }
    contract_write(contract, nodes.source, numbers, sizeof(numbers));
    braid_resource blocks = add_resource(nodes.graph, "blocks");
    braid_resource filled = add_resource(nodes.graph, "filled");
    braid_resource copied = add_resource(nodes.graph, "copied");
    braid_resource called_list = add_resource(nodes.graph, "called");
    nodes.count =
        add_count_blocks(nodes.graph, (braid_node_options){ USES({ blocks, BRAID_READ_WRITE }) },
                         nodes.blocks, nodes.grid, (braid_dim3){ 1, 1, 1 });
    nodes.fill = add_fill(nodes.graph, (braid_node_options){ USES({ filled, BRAID_WRITE }) },
                          nodes.filled, 1, 1);
    nodes.copy = add_copy(nodes.graph, (braid_node_options){ USES({ copied, BRAID_WRITE }) },
                          nodes.copied, nodes.source, sizeof(uint32_t));
    nodes.call = add_host(nodes.graph, (braid_node_options){ USES({ called_list, BRAID_WRITE }) },
                          count_call, &called[0]);
    braid_resource slept_list = add_resource(nodes.graph, "slept");
    nodes.sleep =
        add_blocking(nodes.graph, (braid_node_options){ USES({ slept_list, BRAID_WRITE }) },
                     count_call, &slept[0]);
    if (by_parameter)
        use_all(&nodes);
    return nodes;
}

static struct values values_of(const struct nodes *nodes, uint32_t frame)
{
    return (struct values){ .fill_to = nodes->filled + frame * row,
                            .copy_to = nodes->copied + frame * row,
                            .copy_from = nodes->source + frame * row,
                            .copy_bytes = (frame + 1) * sizeof(uint32_t),
                            .num_filled = frame + 1,
                            .user = &nodes->called[frame],
                            .sleeper = &nodes->slept[frame],
                            .sleeps = frame % 2 == 0,
                            .grid_x = frame + 1,
                            .fill_value = 100 + frame,
                            .counts = frame % 2 == 0 };
}

static void set_one(braid_exec *exec, braid_node node, braid_target target, const void *value)
{
    check_ok(braid_exec_set(exec, node, target, 0, value));
}

static void set_by_calls(const struct nodes *nodes, braid_exec *exec, const struct values *values)
{
    const bool counts = values->counts, sleeps = values->sleeps;
    set_one(exec, nodes->count, BRAID_TARGET_GRID, &(braid_dim3){ .x = values->grid_x });
    set_one(exec, nodes->count, BRAID_TARGET_ENABLED, &counts);
    set_one(exec, nodes->fill, BRAID_TARGET_TO, &values->fill_to);
    set_one(exec, nodes->fill, BRAID_TARGET_VALUE, &values->fill_value);
    set_one(exec, nodes->fill, BRAID_TARGET_NUM_VALUES, &values->num_filled);
    set_one(exec, nodes->copy, BRAID_TARGET_TO, &values->copy_to);
    set_one(exec, nodes->copy, BRAID_TARGET_FROM, &values->copy_from);
    set_one(exec, nodes->copy, BRAID_TARGET_BYTES, &values->copy_bytes);
    set_one(exec, nodes->call, BRAID_TARGET_USER, &values->user);
    set_one(exec, nodes->sleep, BRAID_TARGET_USER, &values->sleeper);
    set_one(exec, nodes->sleep, BRAID_TARGET_ENABLED, &sleeps);
}

static void set(const struct nodes *nodes, braid_exec *exec, uint32_t frame)
{
    const struct values values = values_of(nodes, frame);
    if (nodes->all.graph)
        check_ok(braid_exec_set_parameter(exec, nodes->all, &values));
    else
        set_by_calls(nodes, exec, &values);
}

static void check_rows(struct contract *contract, const struct nodes *nodes)
{
    uint32_t filled[num_frames * row], copied[num_frames * row];
    contract_read(contract, filled, nodes->filled, sizeof(filled));
    contract_read(contract, copied, nodes->copied, sizeof(copied));
    for (uint32_t i = 0; i < num_frames * row; i++) {
        bool is_there = i % row <= i / row;
        assert_int_equal(filled[i], is_there ? 100 + i / row : 0);
        assert_int_equal(copied[i], is_there ? 1000 + i : 0);
    }
}

// As after one frame of each number.
static void check_all(struct contract *contract, const struct nodes *nodes)
{
    uint32_t blocks[most_blocks];
    check_rows(contract, nodes);
    contract_read(contract, blocks, nodes->blocks, sizeof(blocks));
    for (uint32_t i = 0; i < num_frames; i++) {
        assert_int_equal(atomic_load(&nodes->called[i]), 1);
        assert_int_equal(atomic_load(&nodes->slept[i]), i % 2 == 0);
    }
    for (uint32_t i = 0; i < most_blocks; i++) {
        uint32_t expected = 0;
        for (uint32_t frame = 0; frame < num_frames; frame += 2)
            expected += frame + 1 > i;
        assert_int_equal(blocks[i], expected);
    }
    assert_int_equal(contract_number(contract, nodes->grid), num_frames);
}

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph, uint32_t frames)
{
    return contract_exec_with(contract, graph,
                              (braid_exec_options){ .frames_in_flight = frames,
                                                    .max_lanes = BRAID_ALL_LANES,
                                                    .fixed_lanes = true });
}

// All frames are queued before the first can run.
static void check_in_flight(struct contract *contract, bool by_parameter, uint32_t frames)
{
    struct nodes nodes = make_nodes(contract, by_parameter);
    braid_exec *exec = make_exec(contract, nodes.graph, frames);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        set(&nodes, exec, frame);
        check_ok(braid_exec_launch(exec, stream));
    }
    set(&nodes, exec, 0); // after the last launch: of no consequence
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    check_all(contract, &nodes);
}

static void frames_in_flight_keep_what_calls_set(void **state)
{
    check_in_flight(*state, false, 1);
}

static void frames_in_flight_keep_what_a_parameter_set(void **state)
{
    check_in_flight(*state, true, 1);
}

static void overlapping_frames_keep_what_calls_set(void **state)
{
    check_in_flight(*state, false, 3);
}

static void overlapping_frames_keep_what_a_parameter_set(void **state)
{
    check_in_flight(*state, true, 3);
}

static void each_of_many_frames_takes_its_row(void **state)
{
    struct contract *contract = *state;
    struct nodes nodes = make_nodes(contract, true);
    braid_exec *exec = make_exec(contract, nodes.graph, 1);
    struct values rows[num_frames];
    for (uint32_t frame = 0; frame < num_frames; frame++)
        rows[frame] = values_of(&nodes, frame);
    check_ok(braid_exec_launch_many(exec, NULL, num_frames,
                                    &(braid_parameter_rows){ nodes.all, rows, num_frames }, 1));
    check_ok(braid_exec_wait(exec));
    check_all(contract, &nodes);
}

static void changing_every_frame_allocates_nothing(void **state)
{
    struct contract *contract = *state;
    for (int by_parameter = 0; by_parameter < 2; by_parameter++) {
        struct nodes nodes = make_nodes(contract, by_parameter);
        braid_exec *exec = make_exec(contract, nodes.graph, 2);
        uint64_t before = 0;
        for (uint32_t i = 0; i < 60; i++) {
            if (i == 20)
                before = failing_memory_num_calls();
            set(&nodes, exec, i % num_frames);
            check_ok(braid_exec_launch(exec, NULL));
            check_ok(braid_exec_wait(exec));
        }
        assert_int_equal(failing_memory_num_calls() - before, 0);
    }
}

// Whichever allocation fails, nothing is queued, and the next launch has the values.
static void a_launch_that_cannot_take_a_value_tries_again(void **state)
{
    struct contract *contract = *state;
    struct nodes nodes = make_nodes(contract, true);
    braid_exec *exec = make_exec(contract, nodes.graph, 2);
    const struct values values = values_of(&nodes, 2);
    set(&nodes, exec, 0);
    for (uint32_t i = 0; i < 4; i++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    failing_memory_arm(1);
    check_ok(braid_exec_set_parameter(exec, nodes.all, &values));
    assert_false(failing_memory_disarm());
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        assert_int_equal(braid_exec_get_num_launched(exec), 4);
        failing_memory_arm(nth);
        braid_status status = braid_exec_launch(exec, NULL);
        failed = failing_memory_disarm();
        assert_int_equal(status, failed ? BRAID_NO_MEMORY : BRAID_OK);
        check_ok(braid_exec_wait(exec));
        assert_int_equal(atomic_load(&nodes.called[0]), 4);
        assert_int_equal(atomic_load(&nodes.called[2]), !failed);
        assert_int_equal(contract_number(contract, nodes.filled + 2 * row), failed ? 0 : 102);
    }
}

static void refuses(braid_exec *exec, braid_node node, braid_target target, size_t index,
                    const void *value, const char *message)
{
    check_fails(braid_exec_set(exec, node, target, index, value), BRAID_INVALID_ARGUMENT, message);
}

static void check_refuses_targets(braid_exec *exec, const struct nodes *nodes)
{
    void *const nowhere = NULL;
    const uint64_t none = 0;
    const braid_dim3 grid = { 1, 1, 1 };
    refuses(exec, nodes->fill, BRAID_TARGET_GRID, 0, &grid, "'fill' is a fill, which has no grid");
    refuses(exec, nodes->fill, BRAID_TARGET_COPY, 0, &(braid_copy_values){ .bytes = 4 },
            "which has no copy");
    refuses(exec, nodes->copy, BRAID_TARGET_FILL, 0, &(braid_fill_values){ .num_values = 1 },
            "which has no fill");
    refuses(exec, nodes->copy, BRAID_TARGET_USER, 0, &nowhere, "which has no user");
    refuses(exec, nodes->copy, BRAID_TARGET_ARGUMENT, 0, &nowhere, "which has no argument");
    refuses(exec, nodes->count, BRAID_TARGET_ARGUMENT, 2, &nowhere, "there is no number 2");
    refuses(exec, nodes->count, BRAID_TARGET_GRID, 1, &grid, "index 1, where the target is grid");
    refuses(exec, nodes->count, (braid_target)15, 0, &grid, "unknown target 15");
    refuses(exec, nodes->count, BRAID_TARGET_GRID, 0, NULL, "value is NULL");
    refuses(exec, nodes->copy, BRAID_TARGET_TO, 0, &nowhere, "'copy': a copy to NULL");
    refuses(exec, nodes->copy, BRAID_TARGET_FROM, 0, &nowhere, "'copy': a copy from NULL");
    refuses(exec, nodes->copy, BRAID_TARGET_BYTES, 0, &none, "'copy': a copy of 0 bytes");
    refuses(exec, nodes->fill, BRAID_TARGET_TO, 0, &nowhere, "'fill': a fill of NULL");
    refuses(exec, nodes->fill, BRAID_TARGET_NUM_VALUES, 0, &none, "'fill': a fill of no values");
}

static void wrong_values_are_refused_and_change_nothing(void **state)
{
    struct contract *contract = *state;
    struct nodes nodes = make_nodes(contract, true);
    braid_exec *exec = make_exec(contract, nodes.graph, 2);
    const braid_node foreign = add_empty(contract_graph(contract), (braid_node_options){ 0 });
    check_fails(
        braid_exec_set(exec, nodes.count, BRAID_TARGET_GRID, 0, &(braid_dim3){ ~0u, ~0u, ~0u }),
        BRAID_INVALID_ARGUMENT, "test_count_blocks");
    check_refuses_targets(exec, &nodes);
    check_fails(braid_exec_set(exec, foreign, BRAID_TARGET_ENABLED, 0, &(bool){ false }),
                BRAID_INVALID_ARGUMENT, "not a node of the exec's graph");
    struct values values = values_of(&nodes, 2);
    values.copy_bytes = 0;
    check_fails(braid_exec_set_parameter(exec, nodes.all, &values), BRAID_INVALID_ARGUMENT,
                "'copy'");
    values = values_of(&nodes, 2);
    values.fill_to = NULL;
    check_fails(braid_exec_set_parameter(exec, nodes.all, &values), BRAID_INVALID_ARGUMENT,
                "'fill'");
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, nodes.blocks), 1);
    assert_int_equal(contract_number(contract, nodes.blocks + 1), 0);
    assert_int_equal(contract_number(contract, nodes.filled), 1);
    assert_int_equal(contract_number(contract, nodes.copied), 1000);
    assert_int_equal(atomic_load(&nodes.called[0]), 1);
}

int run_changes(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(frames_in_flight_keep_what_calls_set),
        contract_test(frames_in_flight_keep_what_a_parameter_set),
        contract_test(overlapping_frames_keep_what_calls_set),
        contract_test(overlapping_frames_keep_what_a_parameter_set),
        contract_test(each_of_many_frames_takes_its_row),
        contract_test(changing_every_frame_allocates_nothing),
        contract_test(a_launch_that_cannot_take_a_value_tries_again),
        contract_test(wrong_values_are_refused_and_change_nothing),
    };
    return contract_run("nodes change from frame to frame", tests);
}
