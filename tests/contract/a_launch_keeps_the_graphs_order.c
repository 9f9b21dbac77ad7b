// SPDX-License-Identifier: Apache-2.0
// Law 1: if the graph says a before b, then in every launch b starts after a ended.
#include <stdatomic.h>
#include <time.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { num_frames = 3, short_ns = 200000 };

// Edges of a small graph of stamping nodes.
struct shape {
    uint32_t num_nodes, num_edges;
    uint8_t edges[16][2];
};

static void check_stamps(struct contract *contract, const uint32_t *stamps,
                         const struct shape *shape)
{
    uint32_t seen[32];
    contract_read(contract, seen, stamps, 2 * shape->num_nodes * sizeof(uint32_t));
    for (uint32_t i = 0; i < shape->num_edges; i++)
        assert_true(seen[2 * shape->edges[i][0] + 1] < seen[2 * shape->edges[i][1]]);
    for (uint32_t i = 0; i < shape->num_nodes; i++)
        assert_true(seen[2 * i] != 0 && seen[2 * i] < seen[2 * i + 1]);
}

static void run_shape(void **state, const struct shape *shape)
{
    struct contract *contract = *state;
    uint32_t *counter = contract_numbers(contract, 1);
    uint32_t *stamps = contract_numbers(contract, 2 * shape->num_nodes);
    braid_graph *graph = contract_graph(contract);
    // Different delays, so that branches end in another order than they started.
    for (uint32_t i = 0; i < shape->num_nodes; i++)
        add_stamp(graph, (braid_node_options){ 0 }, counter, stamps, i,
                  short_ns * (1 + i * 3 % shape->num_nodes));
    for (uint32_t i = 0; i < shape->num_edges; i++)
        check_ok(braid_graph_add_edge(graph, braid_graph_get_node(graph, shape->edges[i][0]),
                                      braid_graph_get_node(graph, shape->edges[i][1])));
    braid_exec *exec = contract_exec(contract, graph);
    for (int frame = 0; frame < num_frames; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_stamps(contract, stamps, shape);
        contract_write(contract, stamps, (uint32_t[32]){ 0 },
                       2 * shape->num_nodes * sizeof(uint32_t));
    }
}

static void a_diamond_keeps_its_order(void **state)
{
    run_shape(state, &(struct shape){ 4, 4, { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 } } });
}

static void an_n_keeps_its_order(void **state)
{
    run_shape(state, &(struct shape){ 4, 3, { { 0, 2 }, { 0, 3 }, { 1, 3 } } });
}

static void a_w_keeps_its_order(void **state)
{
    run_shape(state, &(struct shape){ 5, 4, { { 0, 3 }, { 1, 3 }, { 1, 4 }, { 2, 4 } } });
}

// Inserted against its direction: only the edges say what comes first.
static void a_chain_added_backwards_keeps_its_order(void **state)
{
    run_shape(state, &(struct shape){ 6, 5, { { 5, 4 }, { 4, 3 }, { 3, 2 }, { 2, 1 }, { 1, 0 } } });
}

static void data_passes_along_a_long_chain(void **state)
{
    struct contract *contract = *state;
    enum { num = 100, length = 40 };
    uint32_t *data = contract_numbers(contract, num);
    braid_graph *graph = contract_graph(contract);
    braid_resource buffer = add_resource(graph, "data");
    uint32_t expected = 0;
    for (uint32_t i = 0; i < length; i++)
        add_axpy(graph, (braid_node_options){ USES({ buffer, BRAID_READ_WRITE }) }, data, data, 3,
                 i, num);
    braid_exec *exec = contract_exec(contract, graph);
    for (int frame = 0; frame < num_frames; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        for (uint32_t i = 0; i < length; i++)
            expected = expected * 3 + i;
    }
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), expected);
    assert_int_equal(contract_number(contract, data + num - 1), expected);
}

// A slow reader, then a writer, then a reader of what was written: each hazard in turn.
static void declared_accesses_are_kept_like_edges(void **state)
{
    struct contract *contract = *state;
    uint32_t *counter = contract_numbers(contract, 1), *stamps = contract_numbers(contract, 10);
    braid_graph *graph = contract_graph(contract);
    braid_resource x = add_resource(graph, "x");
    const braid_access_mode modes[] = { BRAID_READ, BRAID_WRITE, BRAID_READ, BRAID_EXCLUSIVE,
                                        BRAID_READ_WRITE };
    for (uint32_t i = 0; i < 5; i++)
        add_stamp(graph, (braid_node_options){ USES({ x, modes[i] }) }, counter, stamps, i,
                  short_ns * (5 - i));
    braid_exec *exec = contract_exec(contract, graph);
    for (int frame = 0; frame < num_frames; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_stamps(contract, stamps,
                     &(struct shape){ 5, 4, { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 } } });
    }
}

// Both run at once, and each sees its own arguments: who it is and where to report.
static void one_kernel_in_two_concurrent_nodes_keeps_their_arguments_apart(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    uint32_t *values = contract_numbers(contract, 2);
    braid_graph *graph = contract_graph(contract);
    braid_node clear = add_fill(graph, (braid_node_options){ 0 }, flags, 0, 2);
    braid_node left = add_handshake(graph, (braid_node_options){ AFTER(clear) }, flags, met, 0);
    braid_node right = add_handshake(graph, (braid_node_options){ AFTER(clear) }, flags, met, 1);
    add_axpy(graph, (braid_node_options){ AFTER(left) }, values, values, 2, 5, 1);
    add_axpy(graph, (braid_node_options){ AFTER(right) }, values + 1, values + 1, 3, 7, 1);
    braid_exec *exec = contract_exec(contract, graph);
    uint32_t expected[2] = { 0, 0 };
    for (int frame = 0; frame < 20; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        expected[0] = expected[0] * 2 + 5;
        expected[1] = expected[1] * 3 + 7;
    }
    check_ok(braid_exec_wait(exec));
    uint32_t seen[2];
    contract_read(contract, seen, met, sizeof(seen));
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 1);
    contract_read(contract, seen, values, sizeof(seen));
    assert_memory_equal(seen, expected, sizeof(seen));
}

enum { num_branches = 4 };

// A region: branches that each turn all of `from` into one number of `to`, then a join.
static braid_node add_region(braid_graph *graph, const braid_node *start, uint32_t *to,
                             const uint32_t *from, uint64_t *intervals)
{
    braid_node ends[num_branches];
    size_t num_after = start ? 1 : 0;
    for (uint32_t i = 0; i < num_branches; i++) {
        braid_node busy =
            add_busy(graph, (braid_node_options){ .after = start, .num_after = num_after },
                     intervals + 2 * i, short_ns * (i + 1));
        // Each reads what its neighbour wrote in the region before.
        ends[i] = add_add(graph, (braid_node_options){ AFTER(busy) }, to + i, from + i,
                          from + (i + 1) % num_branches, 1);
    }
    return add_empty(graph, (braid_node_options){ .after = ends, .num_after = num_branches });
}

// The join between two regions must not get lost when they stand back to back.
static void back_to_back_regions_are_joined_in_between(void **state)
{
    struct contract *contract = *state;
    enum { num_regions = 4 };
    uint32_t *data[2] = { contract_numbers(contract, num_branches),
                          contract_numbers(contract, num_branches) };
    uint64_t *intervals =
        contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * num_branches * sizeof(uint64_t));
    uint32_t expected[2][num_branches] = { { 1, 2, 3, 4 } };
    contract_write(contract, data[0], expected[0], sizeof(expected[0]));
    braid_graph *graph = contract_graph(contract);
    braid_node join = add_region(graph, NULL, data[1], data[0], intervals);
    for (uint32_t region = 1; region < num_regions; region++)
        join = add_region(graph, &join, data[(region + 1) % 2], data[region % 2], intervals);
    braid_exec *exec = contract_exec(contract, graph);
    for (int frame = 0; frame < 5; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        for (uint32_t region = 0; region < num_regions; region++)
            for (uint32_t i = 0; i < num_branches; i++)
                expected[(region + 1) % 2][i] =
                    expected[region % 2][i] + expected[region % 2][(i + 1) % num_branches];
    }
    check_ok(braid_exec_wait(exec));
    uint32_t seen[num_branches];
    for (int i = 0; i < 2; i++) {
        contract_read(contract, seen, data[i], sizeof(seen));
        assert_memory_equal(seen, expected[i], sizeof(seen));
    }
}

static void a_bundle_runs_in_order(void **state)
{
    struct contract *contract = *state;
    uint32_t *counter = contract_numbers(contract, 1), *stamps = contract_numbers(contract, 12);
    braid_graph *graph = contract_graph(contract);
    braid_node main = add_stamp(graph, (braid_node_options){ 0 }, counter, stamps, 0, short_ns);
    add_stamp(graph, (braid_node_options){ .epilogue_of = main }, counter, stamps, 1, short_ns);
    add_stamp(graph, (braid_node_options){ .prelude_of = main }, counter, stamps, 2, 3 * short_ns);
    add_stamp(graph, (braid_node_options){ .prelude_of = main }, counter, stamps, 3, short_ns);
    add_stamp(graph, (braid_node_options){ .epilogue_of = main }, counter, stamps, 4, short_ns);
    add_stamp(graph, (braid_node_options){ AFTER(main) }, counter, stamps, 5, 0);
    braid_exec *exec = contract_exec(contract, graph);
    for (int frame = 0; frame < num_frames; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        check_stamps(contract, stamps,
                     &(struct shape){ 6, 5, { { 2, 3 }, { 3, 0 }, { 0, 1 }, { 1, 4 }, { 0, 5 } } });
    }
}

struct host_step {
    uint32_t *from, *to;
};

static void copy_on_host(void *user)
{
    struct host_step *step = user;
    *step->to = *step->from * 2 + 1;
}

// kernel -> copy -> host -> fill -> copy -> join -> kernel, by data.
static void every_kind_of_node_keeps_its_place(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 4);
    uint32_t *host = contract_host_numbers(contract, 2);
    struct host_step *step = contract_memory(contract, BRAID_MEMORY_HOST, sizeof(*step));
    *step = (struct host_step){ host, host + 1 };
    braid_graph *graph = contract_graph(contract);
    braid_node start = add_axpy(graph, (braid_node_options){ 0 }, data, data, 3, 1, 1);
    braid_node down = add_copy(graph, (braid_node_options){ AFTER(start) }, host, data, 4);
    braid_node call = add_host(graph, (braid_node_options){ AFTER(down) }, copy_on_host, step);
    braid_node fill = add_fill(graph, (braid_node_options){ AFTER(call) }, data + 2, 100, 1);
    braid_node up = add_copy(graph, (braid_node_options){ AFTER(fill) }, data + 1, host + 1, 4);
    braid_node join = add_empty(graph, (braid_node_options){ AFTER(up, fill) });
    add_add(graph, (braid_node_options){ AFTER(join) }, data + 2, data + 1, data + 2, 1);
    braid_exec *exec = contract_exec(contract, graph);
    uint32_t value = 0;
    for (int frame = 0; frame < 10; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        value = value * 3 + 1;
    }
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data + 2), value * 2 + 1 + 100);
}

// Copies from here to there, by the program's own hand.
struct queue_step {
    uint32_t *from, *to;
};

static braid_status copy_as_a_graph(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    struct queue_step *step = user;
    return braid_stream_copy(stream, step->to, step->from, sizeof(uint32_t));
}

// Two at once, each between a slow kernel and a reader.
static void queue_calls_queue_their_work_in_its_place(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 6);
    uint64_t *intervals = contract_memory(contract, BRAID_MEMORY_DEVICE, 4 * sizeof(uint64_t));
    struct queue_step steps[2];
    braid_graph *graph = contract_graph(contract);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t *own = data + 3 * i;
        steps[i] = (struct queue_step){ own, own + 1 };
        braid_node slow = add_busy(graph, (braid_node_options){ 0 }, intervals + 2 * i, short_ns);
        braid_node write =
            add_axpy(graph, (braid_node_options){ AFTER(slow) }, own, own, 3, i + 1, 1);
        braid_node queued =
            add_queue_call(graph, (braid_node_options){ AFTER(write) }, copy_as_a_graph, &steps[i]);
        add_axpy(graph, (braid_node_options){ AFTER(queued) }, own + 2, own + 1, 2, 1, 1);
    }
    braid_exec *exec = contract_exec(contract, graph);
    uint32_t values[2] = { 0, 0 };
    for (int frame = 0; frame < 10; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        for (uint32_t i = 0; i < 2; i++)
            values[i] = values[i] * 3 + i + 1;
    }
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(contract_number(contract, data + 3 * i + 2), values[i] * 2 + 1);
}

// What the host reads after a frame was copied there by a node behind a slow writer.
static void a_copy_to_the_host_follows_its_slow_writer(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    uint64_t *interval = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_resource result = add_resource(graph, "result");
    braid_node slow = add_busy(graph, (braid_node_options){ 0 }, interval, 10 * short_ns);
    add_axpy(graph, (braid_node_options){ AFTER(slow), USES({ result, BRAID_READ_WRITE }) }, data,
             data, 1, 7, 1);
    add_copy(graph, (braid_node_options){ USES({ result, BRAID_READ }) }, seen, data, 4);
    braid_exec *exec = contract_exec(contract, graph);
    for (uint32_t frame = 1; frame <= num_frames; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(*seen, 7 * frame);
    }
}

// Launches of one exec run one after another, whatever streams they are on.
static void frames_on_different_streams_run_one_after_another(void **state)
{
    struct contract *contract = *state;
    uint32_t *counter = contract_numbers(contract, 1), *stamps = contract_numbers(contract, 4);
    uint32_t *data = contract_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    braid_node first = add_stamp(graph, (braid_node_options){ 0 }, counter, stamps, 0, short_ns);
    braid_node update = add_axpy(graph, (braid_node_options){ AFTER(first) }, data, data, 5, 3, 1);
    add_stamp(graph, (braid_node_options){ AFTER(update) }, counter, stamps, 1, short_ns);
    braid_exec *exec = contract_exec(contract, graph);
    braid_stream *streams[3] = { NULL, contract_stream(contract), contract_stream(contract) };
    uint32_t expected = 0;
    enum { frames = 12 };
    for (int frame = 0; frame < frames; frame++) {
        check_ok(braid_exec_launch(exec, streams[frame % 3]));
        expected = expected * 5 + 3;
    }
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), expected);
    // The last frame's stamps are the last four numbers, in order: no other frame ran meanwhile.
    uint32_t seen[4];
    contract_read(contract, seen, stamps, sizeof(seen));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(seen[i], 4 * frames - 3 + i);
}

// While the first frame stands at a gate, the second, on another stream, does not start.
static void a_later_frame_waits_for_a_slow_one_on_another_stream(void **state)
{
    struct contract *contract = *state;
    uint32_t *host = contract_host_numbers(contract, 2), *stamps = contract_numbers(contract, 2);
    const _Atomic uint32_t *num_stamps = (const _Atomic uint32_t *)host;
    struct gate gate = contract_gate(contract);
    braid_graph *graph = contract_graph(contract);
    braid_node start = add_stamp(graph, (braid_node_options){ 0 }, host, stamps, 0, 0);
    braid_node wait = add_gate(graph, (braid_node_options){ AFTER(start) }, gate);
    add_axpy(graph, (braid_node_options){ AFTER(wait) }, host + 1, host + 1, 1, 1, 1);
    braid_exec *exec = contract_exec(contract, graph);
    braid_stream *first = contract_stream(contract), *second = contract_stream(contract);
    check_ok(braid_exec_launch(exec, first));
    check_ok(braid_exec_launch(exec, second));
    gate_wait_until_entered(gate);
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL); // time enough to do it wrong
    assert_int_equal(atomic_load_explicit(num_stamps, memory_order_relaxed), 2);
    assert_int_equal(braid_stream_query(first), BRAID_NOT_READY);
    assert_int_equal(braid_stream_query(second), BRAID_NOT_READY);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(host[0], 4);
    assert_int_equal(host[1], 2);
}

// Different execs run at once: each holds one half of a handshake.
static void different_execs_run_at_once(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    braid_exec *execs[2];
    for (uint32_t i = 0; i < 2; i++) {
        braid_graph *graph = contract_graph(contract);
        add_handshake(graph, (braid_node_options){ 0 }, flags, met, i);
        execs[i] = contract_exec(contract, graph);
    }
    for (int i = 0; i < 2; i++)
        check_ok(braid_exec_launch(execs[i], contract_stream(contract)));
    for (int i = 0; i < 2; i++) {
        check_ok(braid_exec_wait(execs[i]));
        assert_int_equal(contract_number(contract, met + i), 1);
    }
}

static void a_graph_without_nodes_can_be_launched(void **state)
{
    struct contract *contract = *state;
    braid_exec *exec = contract_exec(contract, contract_graph(contract));
    check_ok(braid_exec_wait(exec)); // never launched
    for (int frame = 0; frame < 3; frame++)
        check_ok(braid_exec_launch(exec, contract_stream(contract)));
    check_ok(braid_exec_wait(exec));
}

int run_launch_order(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_diamond_keeps_its_order),
        contract_test(an_n_keeps_its_order),
        contract_test(a_w_keeps_its_order),
        contract_test(a_chain_added_backwards_keeps_its_order),
        contract_test(data_passes_along_a_long_chain),
        contract_test(declared_accesses_are_kept_like_edges),
        contract_test(one_kernel_in_two_concurrent_nodes_keeps_their_arguments_apart),
        contract_test(back_to_back_regions_are_joined_in_between),
        contract_test(a_bundle_runs_in_order),
        contract_test(every_kind_of_node_keeps_its_place),
        contract_test(queue_calls_queue_their_work_in_its_place),
        contract_test(a_copy_to_the_host_follows_its_slow_writer),
        contract_test(frames_on_different_streams_run_one_after_another),
        contract_test(a_later_frame_waits_for_a_slow_one_on_another_stream),
        contract_test(different_execs_run_at_once),
        contract_test(a_graph_without_nodes_can_be_launched),
    };
    return contract_run("a launch keeps the graph's order", tests);
}
