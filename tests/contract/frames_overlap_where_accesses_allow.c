// SPDX-License-Identifier: Apache-2.0
// Frames in flight: they overlap where what they declare allows that, end in launch order, and have
// arguments and transient buffers of their own.
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/clock.h"
#include "support/random.h"

enum { num_numbers = 33, num_many = 10000 };

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph,
                             braid_exec_options options)
{
    options.max_lanes = BRAID_ALL_LANES;
    options.fixed_lanes = true;
    return contract_exec_with(contract, graph, options);
}

static braid_exec_info info_of(const braid_exec *exec)
{
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    return info;
}

static braid_resource declare(braid_graph *graph, const char *name)
{
    braid_resource resource;
    check_ok(braid_graph_add_resource(graph, name, &resource));
    return resource;
}

static uint32_t load(const uint32_t *word)
{
    return atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_relaxed);
}

static bool becomes(const uint32_t *word, uint32_t value)
{
    uint64_t start = clock_now_ns();
    while (load(word) != value && clock_now_ns() - start < TEST_TIMEOUT_NS)
        clock_nap();
    return load(word) == value;
}

// "early" counts two for each frame, "late" waits at a gate: the second frame's early must run
// while the first frame's late is held up, or never.
struct two_nodes {
    braid_graph *graph;
    uint32_t *count;
    struct gate gate;
};

static struct two_nodes make_two_nodes(struct contract *contract, bool share)
{
    struct two_nodes two = { contract_graph(contract), contract_host_numbers(contract, 1),
                             contract_gate(contract) };
    braid_resource a = declare(two.graph, "a"), b = declare(two.graph, "b");
    braid_node early = add_stamp(two.graph, (braid_node_options){ USES({ a, BRAID_WRITE }) },
                                 two.count, contract_host_numbers(contract, 2), 0, 0);
    add_gate(two.graph,
             (braid_node_options){ AFTER(early), USES({ share ? a : b, BRAID_READ_WRITE }) },
             two.gate);
    return two;
}

static void skip_where_whole(const braid_exec *exec)
{
    braid_exec_info info = info_of(exec);
    if (info.whole_frames)
        skip_because(info.frames_reason);
}

static void check_overlap(struct contract *contract, braid_stream *first, braid_stream *second)
{
    struct two_nodes two = make_two_nodes(contract, false);
    braid_exec *exec =
        make_exec(contract, two.graph, (braid_exec_options){ .frames_in_flight = 2 });
    skip_where_whole(exec);
    check_ok(braid_exec_launch(exec, first));
    check_ok(braid_exec_launch(exec, second));
    bool met = becomes(two.count, 4);
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    gate_open(two.gate);
    check_ok(braid_exec_wait(exec));
    assert_true(met);
    assert_int_equal(gate_state(two.gate), GATE_PASSED);
}

static void frames_overlap_on_one_stream(void **state)
{
    braid_stream *stream = contract_stream(*state);
    check_overlap(*state, stream, stream);
}

static void frames_overlap_on_two_streams(void **state)
{
    check_overlap(*state, contract_stream(*state), contract_stream(*state));
}

static void launch_with(braid_exec *exec, braid_node node, struct gate gate, braid_stream *stream)
{
    check_ok(braid_exec_set_arg(exec, node, 1, BRAID_ARG(gate.report)));
    check_ok(braid_exec_launch(exec, stream));
}

// The second frame begins where the first did, as nothing stands between them. The fourth, which is
// held up, has the first one's place: the fifth must not begin where that does.
static void a_frame_is_behind_the_work_of_its_own_stream_alone(void **state)
{
    enum { num_frames = 5, num_places = 3 };
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_resource read = declare(graph, "read");
    struct gate gates[num_frames];
    for (int i = 0; i < num_frames; i++)
        gates[i] = contract_gate(contract);
    gate_open(gates[0]); // where all of them look
    braid_node node = add_gate(graph, (braid_node_options){ USES({ read, BRAID_READ }) }, gates[0]);
    braid_exec *exec =
        make_exec(contract, graph, (braid_exec_options){ .frames_in_flight = num_places });
    skip_where_whole(exec);
    braid_stream *first = contract_stream(contract), *held = contract_stream(contract);
    launch_with(exec, node, gates[0], first);
    launch_with(exec, node, gates[1], first);
    launch_with(exec, node, gates[2], contract_stream(contract));
    check_ok(braid_exec_wait(exec));
    struct gate work = contract_close(contract, held);
    launch_with(exec, node, gates[3], held);
    launch_with(exec, node, gates[4], first);
    bool has_run = becomes(gates[4].report, GATE_PASSED);
    assert_int_equal(gate_state(gates[3]), 0);
    check_still_closed(work);
    gate_open(work);
    check_ok(braid_exec_wait(exec));
    assert_true(has_run);
    assert_int_equal(gate_state(gates[3]), GATE_PASSED);
}

// The gate's node touches what the early node writes: the second frame's must wait.
static void what_frames_share_keeps_their_order(void **state)
{
    struct contract *contract = *state;
    struct two_nodes two = make_two_nodes(contract, true);
    braid_exec *exec =
        make_exec(contract, two.graph, (braid_exec_options){ .frames_in_flight = 2 });
    braid_stream *stream = contract_stream(contract);
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_exec_launch(exec, stream));
    gate_wait_until_entered(two.gate);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    assert_int_equal(load(two.count), 2);
    gate_open(two.gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(load(two.count), 4);
    assert_true(info_of(exec).whole_frames || info_of(exec).num_frame_waits > 0);
}

static void set_seven(void *user)
{
    atomic_store_explicit((_Atomic uint32_t *)user, 7, memory_order_relaxed);
}

// Work on the stream between two launches is behind the first and before the second.
static void work_between_launches_keeps_its_place(void **state)
{
    struct contract *contract = *state;
    struct two_nodes two = make_two_nodes(contract, false);
    braid_exec *exec =
        make_exec(contract, two.graph, (braid_exec_options){ .frames_in_flight = 2 });
    braid_stream *stream = contract_stream(contract);
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_stream_host_call(stream, set_seven, two.count));
    check_ok(braid_exec_launch(exec, stream));
    gate_wait_until_entered(two.gate);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    assert_int_equal(load(two.count), 2);
    gate_open(two.gate);
    check_ok(braid_stream_wait(stream));
    assert_int_equal(load(two.count), 9);
}

static void a_node_without_accesses_stops_overlap(void **state)
{
    struct contract *contract = *state;
    struct two_nodes two = make_two_nodes(contract, false);
    add_axpy(two.graph, (braid_node_options){ .name = "silent" }, contract_numbers(contract, 1),
             contract_numbers(contract, 1), 0, 0, 1);
    braid_exec *exec =
        make_exec(contract, two.graph, (braid_exec_options){ .frames_in_flight = 3 });
    braid_exec_info info = info_of(exec);
    assert_true(info.whole_frames);
    assert_int_equal(info.frames_in_flight, 3);
    assert_non_null(strstr(info.frames_reason, "whole frames: node 2 'silent' declares no access"));
    for (int i = 0; i < 5; i++)
        check_ok(braid_exec_launch(exec, NULL));
    gate_open(two.gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(load(two.count), 10);
}

static void when_full_launches_refuse_or_queue(void **state)
{
    struct contract *contract = *state;
    for (int queues = 0; queues < 2; queues++) {
        struct two_nodes two = make_two_nodes(contract, false);
        braid_exec *exec = make_exec(
            contract, two.graph,
            (braid_exec_options){ .frames_in_flight = 2,
                                  .when_full = queues ? BRAID_FULL_QUEUES : BRAID_FULL_REFUSES });
        braid_stream *stream = contract_stream(contract);
        check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_exec_launch(exec, stream));
        braid_status status = braid_exec_launch(exec, stream);
        assert_int_equal(status, queues ? BRAID_OK : BRAID_BUSY);
        assert_int_equal(braid_exec_get_num_launched(exec), queues ? 3 : 2);
        check_fails(braid_exec_wait_for(exec, 3, UINT64_MAX), BRAID_WRONG_STATE, "not launched");
        check_fails(braid_exec_wait_for(exec, 3, 0), BRAID_WRONG_STATE, "not launched");
        assert_int_equal(braid_exec_wait_for(exec, 0, 0), BRAID_NOT_READY);
        assert_int_equal(braid_exec_wait_for(exec, 1, 0), BRAID_NOT_READY);
        gate_open(two.gate);
        check_ok(braid_exec_wait_for(exec, 1, UINT64_MAX));
        check_ok(braid_exec_wait(exec));
        check_ok(braid_exec_wait_for(exec, 0, 0));
        check_ok(braid_exec_wait_for(exec, 1, 0));
        check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(load(two.count), queues ? 8 : 6);
    }
}

// sum[i] += 3 * (the frame's parameter + i) + 1, by way of scratch and two transient buffers, of
// which each is looked at for the pattern of its frame.
struct summing {
    braid_graph *graph;
    uint32_t *sum, *num_wrong;
    braid_parameter value;
};

static void add_step(braid_graph *graph, braid_resource to, braid_access_mode mode,
                     braid_resource from, uint32_t factor, uint32_t addend, braid_node *out_node)
{
    uint32_t num = num_numbers;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ from, BRAID_READ }, { to, mode }) },
                              .kernel = &test_axpy,
                              .grid = { 4, 1, 1 },
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&to), braid_resource_address(&from),
                                         BRAID_ARG(factor), BRAID_ARG(addend), BRAID_ARG(num)) },
        out_node));
}

// What of `seen` is not (the frame's parameter + i) * factor + addend is counted.
static void add_look(struct summing *summing, braid_resource seen, braid_resource wrong,
                     uint32_t factor, uint32_t addend)
{
    uint32_t num = num_numbers, value = 0;
    braid_node node;
    check_ok(braid_graph_add_kernel(
        summing->graph,
        &(braid_kernel_node){ .node = { USES({ seen, BRAID_READ }, { wrong, BRAID_ACCUMULATE }) },
                              .kernel = &test_expect,
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&seen),
                                         braid_resource_address(&wrong), BRAID_ARG(value),
                                         BRAID_ARG(factor), BRAID_ARG(addend), BRAID_ARG(num)) },
        &node));
    check_ok(braid_graph_use_parameter(summing->graph, summing->value,
                                       &(braid_parameter_use){ .node = node, .argument = 2 }));
}

static struct summing make_summing(struct contract *contract)
{
    struct summing summing = { contract_graph(contract),
                               contract_numbers(contract, num_numbers),
                               contract_numbers(contract, 1),
                               { 0 } };
    uint64_t bytes = num_numbers * sizeof(uint32_t);
    uint32_t num = num_numbers;
    const uint64_t no_delay = 0;
    braid_resource scratch, sum, wrong, first, second;
    braid_node node;
    braid_graph *graph = summing.graph;
    check_ok(braid_graph_add_scratch(graph, "scratch", bytes, 0, &scratch));
    check_ok(braid_graph_add_buffer(graph, "sum", summing.sum, bytes, &sum));
    check_ok(braid_graph_add_buffer(graph, "wrong", summing.num_wrong, sizeof(uint32_t), &wrong));
    check_ok(braid_graph_add_transient(graph, "first", bytes, 0, &first));
    check_ok(braid_graph_add_transient(graph, "second", bytes, 0, &second));
    check_ok(braid_graph_add_parameter(graph, "value", sizeof(uint32_t), &summing.value));
    uint32_t value = 0;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ first, BRAID_WRITE }) },
                              .kernel = &test_keep,
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&scratch),
                                         braid_resource_address(&first), BRAID_ARG(value),
                                         BRAID_ARG(num), BRAID_ARG(no_delay)) },
        &node));
    check_ok(braid_graph_use_parameter(graph, summing.value,
                                       &(braid_parameter_use){ .node = node, .argument = 2 }));
    add_look(&summing, first, wrong, 1, 0);
    add_step(graph, second, BRAID_WRITE, first, 3, 1, NULL);
    add_look(&summing, second, wrong, 3, 1);
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ second, BRAID_READ }, { sum, BRAID_READ_WRITE }) },
                              .kernel = &test_add,
                              .grid = { 4, 1, 1 },
                              .block = { 32, 1, 1 },
                              BRAID_ARGS(braid_resource_address(&sum), braid_resource_address(&sum),
                                         braid_resource_address(&second), BRAID_ARG(num)) },
        NULL));
    return summing;
}

static void many_frames_keep_what_is_theirs(void **state)
{
    struct contract *contract = *state;
    for (uint32_t frames = 1; frames <= 3; frames++) {
        struct summing summing = make_summing(contract);
        braid_exec *exec = make_exec(
            contract, summing.graph,
            (braid_exec_options){ .frames_in_flight = frames, .when_full = BRAID_FULL_WAITS });
        braid_stream *streams[2] = { contract_stream(contract), contract_stream(contract) };
        uint32_t expected = 0, num = contract_many(num_many);
        for (uint32_t i = 0; i < num; i++) {
            uint32_t value = i * i + 5;
            check_ok(braid_exec_set_parameter(exec, summing.value, &value));
            check_ok(braid_exec_launch(exec, streams[i / 7 % 2]));
            expected += 3 * value + 1;
        }
        check_ok(braid_exec_wait(exec));
        uint32_t seen[num_numbers];
        contract_read(contract, seen, summing.sum, sizeof(seen));
        for (uint32_t i = 0; i < num_numbers; i++)
            assert_int_equal(seen[i], expected + 3 * i * num);
        assert_int_equal(contract_number(contract, summing.num_wrong), 0);
        assert_int_equal(braid_exec_get_num_launched(exec), num);
    }
}

// Cells that nodes make of each other, so that any other order of two nodes that share one gives
// other numbers.
enum { num_cells = 9, num_nodes = 16, num_random_graphs = 5, num_random_frames = 150 };

struct cell_node {
    uint32_t to, from;
    bool adds; // to += from; else to = from * 5 + the frame's addend
};

static void choose_nodes(struct random *random, struct cell_node *nodes)
{
    for (uint32_t i = 0; i < num_nodes; i++) {
        nodes[i].to = random_below(random, num_cells);
        nodes[i].from = (nodes[i].to + 1 + random_below(random, num_cells - 1)) % num_cells;
        nodes[i].adds = random_below(random, 3);
    }
}

static void run_one_by_one(const struct cell_node *nodes, uint32_t *cells, uint32_t addend)
{
    for (uint32_t i = 0; i < num_nodes; i++)
        cells[nodes[i].to] = nodes[i].adds ? cells[nodes[i].to] + cells[nodes[i].from]
                                           : cells[nodes[i].from] * 5 + addend;
}

static void add_cell_node(braid_graph *graph, braid_node_options options, bool adds, uint32_t *to,
                          uint32_t *from, braid_parameter addend)
{
    if (adds) {
        add_add(graph, options, to, to, from, 1);
        return;
    }
    braid_node node = add_axpy(graph, options, to, from, 5, 3, 1);
    check_ok(braid_graph_use_parameter(graph, addend,
                                       &(braid_parameter_use){ .node = node, .argument = 3 }));
}

static braid_graph *make_cells(struct contract *contract, const struct cell_node *nodes,
                               uint32_t *cells, braid_parameter *out_addend)
{
    braid_graph *graph = contract_graph(contract);
    check_ok(braid_graph_add_parameter(graph, "addend", sizeof(uint32_t), out_addend));
    braid_resource resources[num_cells];
    for (uint32_t i = 0; i < num_cells; i++)
        check_ok(braid_graph_add_buffer(graph, "cell", &cells[i], sizeof(*cells), &resources[i]));
    for (uint32_t i = 0; i < num_nodes; i++) {
        uint32_t *to = &cells[nodes[i].to], *from = &cells[nodes[i].from];
        const braid_access accesses[] = { { resources[nodes[i].from], BRAID_READ },
                                          { resources[nodes[i].to],
                                            nodes[i].adds ? BRAID_READ_WRITE : BRAID_WRITE } };
        braid_node_options options = { .accesses = accesses, .num_accesses = 2 };
        add_cell_node(graph, options, nodes[i].adds, to, from, *out_addend);
    }
    return graph;
}

static void random_frames_compute_what_one_by_one_they_would(void **state)
{
    struct contract *contract = *state;
    struct random random = { 2026 };
    for (uint32_t i = 0; i < num_random_graphs; i++) {
        struct cell_node nodes[num_nodes];
        uint32_t expected[num_cells] = { 0 }, seen[num_cells];
        uint32_t *cells = contract_numbers(contract, num_cells);
        choose_nodes(&random, nodes);
        braid_parameter addend;
        braid_graph *graph = make_cells(contract, nodes, cells, &addend);
        braid_exec *exec =
            make_exec(contract, graph, (braid_exec_options){ .frames_in_flight = 1 + i % 4 });
        braid_stream *streams[2] = { contract_stream(contract), contract_stream(contract) };
        for (uint32_t k = 0, value = 3; k < num_random_frames; k++) {
            if (random_below(&random, 3) > 0)
                value = k * 7 + 5;
            check_ok(braid_exec_set_parameter(exec, addend, &value));
            check_ok(braid_exec_launch(exec, streams[random_below(&random, 2)]));
            if (random_below(&random, 20) == 0)
                check_ok(braid_exec_wait_for(exec, random_below(&random, k + 1), UINT64_MAX));
            run_one_by_one(nodes, expected, value);
        }
        check_ok(braid_exec_wait(exec));
        contract_read(contract, seen, cells, sizeof(seen));
        assert_memory_equal(seen, expected, sizeof(seen));
    }
}

int run_frames_in_flight(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(frames_overlap_on_one_stream),
        contract_test(frames_overlap_on_two_streams),
        contract_test(a_frame_is_behind_the_work_of_its_own_stream_alone),
        contract_test(what_frames_share_keeps_their_order),
        contract_test(work_between_launches_keeps_its_place),
        contract_test(a_node_without_accesses_stops_overlap),
        contract_test(when_full_launches_refuse_or_queue),
        contract_test(many_frames_keep_what_is_theirs),
        contract_test(random_frames_compute_what_one_by_one_they_would),
    };
    return contract_run("frames overlap where accesses allow", tests);
}
