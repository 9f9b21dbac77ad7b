// SPDX-License-Identifier: Apache-2.0
// Versioned buffers: frames have their memories in turn, find what earlier frames left in them, and
// overlap as far as that allows. And frames tell when they have ended.
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { num_numbers = 65, most_depth = 3, most_versions = 4 };

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph,
                             braid_exec_options options)
{
    options.max_lanes = BRAID_ALL_LANES;
    options.fixed_lanes = true;
    return contract_exec_with(contract, graph, options);
}

// state = state of `back` frames before * 3 + 1, and result = state, by a kernel or by a copy from
// memory that is given.
struct codec {
    braid_graph *graph;
    uint32_t *result;
};

static void add_step(braid_graph *graph, braid_resource to, braid_resource from, uint32_t factor,
                     uint32_t addend)
{
    add_axpy_of(graph, to, from, factor, addend, num_numbers);
}

static void add_one_step(braid_graph *graph, braid_resource to, braid_resource from)
{
    uint32_t factor = 1, addend = 5, num = 1;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){ .node = { USES({ from, BRAID_READ }, { to, BRAID_WRITE }) },
                              .kernel = &test_axpy,
                              BRAID_ARGS(braid_resource_address(&to), braid_resource_address(&from),
                                         BRAID_ARG(factor), BRAID_ARG(addend), BRAID_ARG(num)) },
        NULL));
}

static struct codec make_codec(struct contract *contract, uint32_t num_versions, uint32_t back,
                               bool given)
{
    struct codec codec = { contract_graph(contract), contract_numbers(contract, num_numbers) };
    uint64_t bytes = num_numbers * sizeof(uint32_t);
    void *addresses[most_versions];
    braid_resource state, before, result;
    for (uint32_t i = 0; i < num_versions; i++)
        addresses[i] = given ? contract_numbers(contract, num_numbers) : NULL;
    check_ok(braid_graph_add_versioned_buffer(codec.graph, "state", given ? addresses : NULL,
                                              num_versions, bytes, &state));
    check_ok(braid_graph_add_earlier_version(codec.graph, state, back, &before));
    check_ok(braid_graph_add_buffer(codec.graph, "result", codec.result, bytes, &result));
    add_step(codec.graph, state, before, 3, 1);
    if (!given)
        add_step(codec.graph, result, state, 1, 0);
    else
        check_ok(braid_graph_add_copy(
            codec.graph,
            &(braid_copy){ .node = { USES({ state, BRAID_READ }, { result, BRAID_WRITE }) },
                           .to_resource = result,
                           .from_resource = state,
                           .bytes = bytes },
            NULL));
    return codec;
}

static void each_frame_finds_what_an_earlier_one_left(void **state)
{
    struct contract *contract = *state;
    for (uint32_t i = 0; i < 18; i++) {
        uint32_t depth = 1 + i % most_depth, num_versions = 2 + i / 3 % 3;
        uint32_t back = num_versions > 2 && i % 2 ? 2 : 1, num_frames = 7 + i;
        struct codec codec = make_codec(contract, num_versions, back, i > 8);
        braid_exec *exec =
            make_exec(contract, codec.graph, (braid_exec_options){ .frames_in_flight = depth });
        uint32_t seen[num_numbers], expected[32] = { 0 };
        for (uint32_t frame = 0; frame < num_frames; frame++) {
            expected[frame] = (frame < back ? 0 : expected[frame - back]) * 3 + 1;
            check_ok(braid_exec_launch(exec, NULL));
            if (frame % 5 != 4)
                continue;
            check_ok(braid_exec_wait(exec));
            contract_read(contract, seen, codec.result, sizeof(seen));
            assert_int_equal(seen[num_numbers - 1], expected[frame]);
        }
        check_ok(braid_exec_launch_many(exec, NULL, 3, NULL, 0));
        for (uint32_t frame = num_frames; frame < num_frames + 3; frame++)
            expected[frame] = (frame < back ? 0 : expected[frame - back]) * 3 + 1;
        check_ok(braid_exec_wait(exec));
        contract_read(contract, seen, codec.result, sizeof(seen));
        for (uint32_t k = 0; k < num_numbers; k++)
            assert_int_equal(seen[k], expected[num_frames + 2]);
        contract_destroy_exec(contract, exec);
    }
}

// If "pair" has two versions and "triple" three, frames have the same memories again after six.
// Every frame goes into the total: total = total * 3 + pair + triple.
struct mixed {
    braid_graph *graph;
    uint32_t *total;
};

static void add_sum(braid_graph *graph, braid_resource to, braid_resource a, braid_resource b)
{
    uint32_t num = num_numbers;
    check_ok(braid_graph_add_kernel(
        graph,
        &(braid_kernel_node){
            .node = { USES({ a, BRAID_READ }, { b, BRAID_READ }, { to, BRAID_WRITE }) },
            .kernel = &test_add,
            .grid = { 4, 1, 1 },
            .block = { 32, 1, 1 },
            BRAID_ARGS(braid_resource_address(&to), braid_resource_address(&a),
                       braid_resource_address(&b), BRAID_ARG(num)) },
        NULL));
}

static struct mixed make_mixed(struct contract *contract)
{
    struct mixed mixed = { contract_graph(contract), contract_numbers(contract, num_numbers) };
    uint64_t bytes = num_numbers * sizeof(uint32_t);
    braid_graph *graph = mixed.graph;
    braid_resource pair, triple, pair_before, triple_before, sum, scaled, total;
    check_ok(braid_graph_add_versioned_buffer(graph, "pair", NULL, 2, bytes, &pair));
    check_ok(braid_graph_add_versioned_buffer(graph, "triple", NULL, 3, bytes, &triple));
    check_ok(braid_graph_add_earlier_version(graph, pair, 1, &pair_before));
    check_ok(braid_graph_add_earlier_version(graph, triple, 2, &triple_before));
    check_ok(braid_graph_add_transient(graph, "sum", bytes, 0, &sum));
    check_ok(braid_graph_add_transient(graph, "scaled", bytes, 0, &scaled));
    check_ok(braid_graph_add_buffer(graph, "total", mixed.total, bytes, &total));
    add_step(graph, pair, pair_before, 5, 1);
    add_step(graph, triple, triple_before, 7, 2);
    add_sum(graph, sum, pair, triple);
    add_step(graph, scaled, total, 3, 0);
    add_sum(graph, total, scaled, sum);
    return mixed;
}

static uint32_t expect_total(uint32_t num_frames)
{
    uint32_t pair = 0, triples[2] = { 0 }, total = 0;
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        pair = pair * 5 + 1;
        triples[frame % 2] = triples[frame % 2] * 7 + 2;
        total = total * 3 + pair + triples[frame % 2];
    }
    return total;
}

static void buffers_of_two_and_of_three_versions_keep_apart(void **state)
{
    enum { most_frames_in_flight = 6, num_single = 9, num_many = 8 };
    struct contract *contract = *state;
    for (uint32_t depth = 1; depth <= most_frames_in_flight; depth++) {
        struct mixed mixed = make_mixed(contract);
        braid_exec *exec =
            make_exec(contract, mixed.graph, (braid_exec_options){ .frames_in_flight = depth });
        braid_stream *stream = contract_stream(contract);
        for (uint32_t frame = 0; frame < num_single; frame++)
            check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_exec_launch_many(exec, stream, num_many, NULL, 0));
        check_ok(braid_exec_wait(exec));
        uint32_t seen[num_numbers];
        contract_read(contract, seen, mixed.total, sizeof(seen));
        for (uint32_t i = 0; i < num_numbers; i++)
            assert_int_equal(seen[i], expect_total(num_single + num_many));
        contract_destroy_exec(contract, exec);
    }
}

static uint32_t read_sum;

static void add_up(void *user)
{
    read_sum += *(const uint32_t *)user;
}

// Queued far ahead, each frame's call is given its own version.
static void calls_are_given_the_versions_of_their_frames(void **state)
{
    struct contract *contract = *state;
    if (!contract_is_on_host())
        skip_because("memory of the device cannot be read in a host call");
    for (uint32_t depth = 1; depth <= most_depth; depth++) {
        struct codec codec = make_codec(contract, 2, 1, false);
        braid_resource read, own, last;
        check_ok(braid_graph_add_resource(codec.graph, "sum", &read));
        check_ok(braid_graph_add_versioned_buffer(codec.graph, "own", NULL, 2, 64, &own));
        check_ok(braid_graph_add_earlier_version(codec.graph, own, 1, &last));
        add_one_step(codec.graph, own, last);
        check_ok(braid_graph_add_host_call(
            codec.graph,
            &(braid_host_call){ .node = { USES({ own, BRAID_READ }, { read, BRAID_READ_WRITE }) },
                                .call = add_up,
                                .user_resource = own,
                                .blocking = depth % 2 },
            NULL));
        braid_exec *exec =
            make_exec(contract, codec.graph, (braid_exec_options){ .frames_in_flight = depth });
        uint32_t expected = 0, value = 0;
        read_sum = 0;
        for (uint32_t frame = 0; frame < 50; frame++) {
            check_ok(braid_exec_launch(exec, NULL));
            value += 5;
            expected += value;
        }
        check_ok(braid_exec_wait(exec));
        assert_int_equal(read_sum, expected);
        contract_destroy_exec(contract, exec);
    }
}

static void memory_is_told_of(void **state)
{
    struct contract *contract = *state;
    braid_exec_info info;
    for (int given = 0; given < 2; given++) {
        struct codec codec = make_codec(contract, 3, 1, given);
        braid_exec_get_info(make_exec(contract, codec.graph, (braid_exec_options){ 0 }), &info);
        assert_int_equal(info.memory_bytes, given ? 0 : 3 * 512);
    }
}

// Together 2^64 bytes, which count as none.
static void versions_that_no_memory_holds_are_refused(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    const uint64_t bytes = UINT64_C(1) << 48;
    braid_exec *exec = NULL;
    for (int i = 0; i < 4096; i++) {
        braid_resource versioned;
        check_ok(braid_graph_add_versioned_buffer(graph, "x", NULL, 16, bytes, &versioned));
    }
    check_fails(braid_exec_create(contract->device, graph, NULL, &exec), BRAID_NO_MEMORY,
                "versioned buffers");
    assert_null(exec);
}

static uint32_t load(const uint32_t *word)
{
    return atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_relaxed);
}

// "early" writes a version, "late" reads it and is held up at a gate. With two versions the second
// frame's early may run meanwhile, and the third's not: it has the first's memory.
static void frames_overlap_as_far_as_there_are_versions(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    uint32_t *count = contract_host_numbers(contract, 1);
    struct gate gate = contract_gate(contract);
    braid_resource picture, late;
    check_ok(braid_graph_add_versioned_buffer(graph, "picture", NULL, 2, 64, &picture));
    check_ok(braid_graph_add_resource(graph, "late", &late));
    add_stamp(graph, (braid_node_options){ USES({ picture, BRAID_WRITE }) }, count,
              contract_host_numbers(contract, 2), 0, 0);
    add_gate(graph, (braid_node_options){ USES({ picture, BRAID_READ }, { late, BRAID_WRITE }) },
             gate);
    braid_exec *exec = make_exec(contract, graph, (braid_exec_options){ .frames_in_flight = 3 });
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    if (info.whole_frames)
        skip_because(info.frames_reason);
    braid_stream *stream = contract_stream(contract);
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(exec, stream));
    gate_wait_until_entered(gate);
    while (load(count) < 4 && gate_state(gate) == GATE_ENTERED)
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    assert_int_equal(load(count), 4);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(load(count), 6);
}

struct ends {
    uint64_t next;
    bool in_order;
};

static void note_end(uint64_t frame, void *user)
{
    struct ends *ends = user;
    ends->in_order = ends->in_order && frame == ends->next;
    ends->next++;
}

// On one stream or two, one by one or many by one call: each frame is told of once, in order,
// before the wait for it returns.
static void frames_tell_when_they_have_ended(void **state)
{
    struct contract *contract = *state;
    for (uint32_t depth = 1; depth <= most_depth; depth++) {
        struct codec codec = make_codec(contract, 2, 1, false);
        struct ends ends = { .in_order = true };
        braid_exec *exec = make_exec(contract, codec.graph,
                                     (braid_exec_options){ .frames_in_flight = depth,
                                                           .on_frame_end = note_end,
                                                           .on_frame_end_user = &ends });
        braid_stream *streams[2] = { contract_stream(contract), contract_stream(contract) };
        for (uint32_t frame = 0; frame < 40; frame++)
            check_ok(braid_exec_launch(exec, streams[frame / 3 % 2]));
        check_ok(braid_exec_launch_many(exec, streams[0], 7, NULL, 0));
        check_ok(braid_exec_wait(exec));
        assert_true(ends.in_order);
        assert_int_equal(ends.next, 47);
        contract_destroy_exec(contract, exec);
    }
}

int run_versions(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(each_frame_finds_what_an_earlier_one_left),
        contract_test(buffers_of_two_and_of_three_versions_keep_apart),
        contract_test(calls_are_given_the_versions_of_their_frames),
        contract_test(memory_is_told_of),
        contract_test(versions_that_no_memory_holds_are_refused),
        contract_test(frames_overlap_as_far_as_there_are_versions),
        contract_test(frames_tell_when_they_have_ended),
    };
    return contract_run("frames have versions in turn", tests);
}
