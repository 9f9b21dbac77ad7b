// SPDX-License-Identifier: Apache-2.0
// Law 2: a launch starts after all earlier work on its stream, and later work on the stream starts
// after the launch ended. NULL is a stream like any other.
#include "contract/groups.h"
#include "contract/nodes.h"

enum { width = 8, slow_ns = 3000000 };

// `width` free branches, each from its own part of `from` to its own part of `to`. Slow before
// and after, so that a missing fork reads too early and a missing join too.
static braid_exec *branches(struct contract *contract, uint32_t *to, const uint32_t *from)
{
    uint64_t *intervals =
        contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * width * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    for (uint32_t i = 0; i < width; i++) {
        uint32_t *middle = contract_numbers(contract, 1);
        braid_node read = add_axpy(graph, (braid_node_options){ 0 }, middle, from + i, 2, i, 1);
        braid_node busy = add_busy(graph, (braid_node_options){ AFTER(read) }, intervals + 2 * i,
                                   slow_ns / 4 * (1 + i % 3));
        add_axpy(graph, (braid_node_options){ AFTER(busy) }, to + i, middle, 3, 1, 1);
    }
    return contract_exec(contract, graph);
}

static void check_branches(const uint32_t *seen, uint32_t input)
{
    for (uint32_t i = 0; i < width; i++)
        assert_int_equal(seen[i], (input * 2 + i) * 3 + 1);
}

// Gives the frame its input: work of the program's own, not of a graph.
struct producer {
    uint32_t *staging;
    uint32_t value;
};

static void produce(void *user)
{
    struct producer *producer = user;
    for (uint32_t i = 0; i < width; i++)
        producer->staging[i] = producer->value;
}

static void run_between_producer_and_copy(struct contract *contract, braid_stream *stream)
{
    uint32_t *from = contract_numbers(contract, width), *to = contract_numbers(contract, width);
    uint32_t *seen = contract_host_numbers(contract, width);
    struct producer *producer = contract_memory(contract, BRAID_MEMORY_HOST, sizeof(*producer));
    producer->staging = contract_host_numbers(contract, width);
    uint32_t bytes = width * sizeof(uint32_t);
    braid_exec *exec = branches(contract, to, from);
    for (uint32_t frame = 0; frame < 4; frame++) {
        producer->value = 100 + frame;
        check_ok(braid_stream_fill(stream, from, 0xdead, 4, width));
        struct gate gate = contract_close(contract, stream);
        check_ok(braid_stream_host_call(stream, produce, producer));
        check_ok(braid_stream_copy(stream, from, producer->staging, bytes));
        check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_stream_copy(stream, seen, to, bytes));
        check_still_closed(gate);
        gate_open(gate);
        check_ok(braid_stream_wait(stream));
        check_branches(seen, 100 + frame);
    }
}

static void a_launch_stands_between_a_slow_producer_and_a_copy(void **state)
{
    run_between_producer_and_copy(*state, contract_stream(*state));
}

static void a_launch_on_the_null_stream_stands_between_a_slow_producer_and_a_copy(void **state)
{
    struct contract *contract = *state;
    run_between_producer_and_copy(contract, braid_device_get_default_stream(contract->device));
}

static void a_launch_waits_for_work_that_holds_the_stream_up_by_a_host_call(void **state)
{
    struct contract *contract = *state;
    uint32_t *from = contract_host_numbers(contract, width),
             *to = contract_numbers(contract, width);
    braid_exec *exec = branches(contract, to, from);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close_by_host(contract, stream);
    check_ok(braid_exec_launch(exec, stream));
    for (uint32_t i = 0; i < width; i++)
        from[i] = 7; // nobody may have read it yet
    check_still_closed(gate);
    gate_open_behind_writes(gate);
    check_ok(braid_exec_wait(exec));
    uint32_t seen[width];
    contract_read(contract, seen, to, sizeof(seen));
    check_branches(seen, 7);
}

// Nothing is waited for on the host in between: frames, fills and copies all follow by the stream.
static void many_frames_in_a_row_each_stand_in_their_place(void **state)
{
    struct contract *contract = *state;
    enum { frames = 12 };
    uint32_t *from = contract_numbers(contract, width), *to = contract_numbers(contract, width);
    uint32_t *seen = contract_host_numbers(contract, frames * width);
    braid_stream *stream = contract_stream(contract);
    braid_exec *exec = branches(contract, to, from);
    for (uint32_t frame = 0; frame < frames; frame++) {
        check_ok(braid_stream_fill(stream, from, frame, 4, width));
        check_ok(braid_exec_launch(exec, stream));
        check_ok(braid_stream_copy(stream, seen + frame * width, to, width * sizeof(uint32_t)));
        check_ok(braid_stream_fill(stream, to, 0xdead, 4, width));
    }
    check_ok(braid_stream_wait(stream));
    for (uint32_t frame = 0; frame < frames; frame++)
        check_branches(seen + frame * width, frame);
}

// Two execs back to back on one stream: the second reads what the first wrote.
static void a_second_exec_on_the_stream_reads_what_the_first_wrote(void **state)
{
    struct contract *contract = *state;
    uint32_t *a = contract_numbers(contract, width), *b = contract_numbers(contract, width);
    uint32_t *c = contract_numbers(contract, width);
    braid_exec *first = branches(contract, b, a), *second = branches(contract, c, b);
    for (uint32_t frame = 0; frame < 5; frame++) {
        check_ok(braid_stream_fill(braid_device_get_default_stream(contract->device), a, frame, 4,
                                   width));
        check_ok(braid_exec_launch(first, NULL));
        check_ok(braid_exec_launch(second, NULL));
        check_ok(braid_exec_wait(second));
        uint32_t seen[width];
        contract_read(contract, seen, c, sizeof(seen));
        for (uint32_t i = 0; i < width; i++)
            assert_int_equal(seen[i], (((frame * 2 + i) * 3 + 1) * 2 + i) * 3 + 1);
    }
}

static void an_event_recorded_behind_a_launch_comes_after_it(void **state)
{
    struct contract *contract = *state;
    uint32_t *from = contract_numbers(contract, width), *to = contract_numbers(contract, width);
    uint32_t *seen = contract_host_numbers(contract, width);
    braid_stream *launching = contract_stream(contract), *reading = contract_stream(contract);
    braid_event *done = contract_event(contract);
    braid_exec *exec = branches(contract, to, from);
    struct gate gate = contract_close(contract, launching);
    check_ok(braid_exec_launch(exec, launching));
    check_ok(braid_event_record(done, launching));
    check_ok(braid_stream_follow(reading, done));
    check_ok(braid_stream_copy(reading, seen, to, width * sizeof(uint32_t)));
    assert_int_equal(braid_event_query(done), BRAID_NOT_READY);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_stream_wait(reading));
    check_branches(seen, 0);
}

// Only its own stream counts: another one may be held up for as long as it likes.
static void a_launch_does_not_wait_for_other_streams(void **state)
{
    struct contract *contract = *state;
    uint32_t *from = contract_numbers(contract, width), *to = contract_numbers(contract, width);
    braid_exec *exec = branches(contract, to, from);
    struct gate gate = contract_close(contract, contract_stream(contract));
    check_ok(braid_exec_launch(exec, contract_stream(contract)));
    check_ok(braid_exec_wait(exec));
    check_still_closed(gate);
    uint32_t seen[width];
    contract_read(contract, seen, to, sizeof(seen));
    check_still_closed(gate);
    check_branches(seen, 0);
    gate_open(gate);
}

static void a_stream_of_another_device_is_refused(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, width);
    braid_exec *exec = branches(contract, data, data);
    braid_device *other;
    check_ok(contract_open_device(&other));
    braid_stream *stream;
    check_ok(braid_stream_create(other, NULL, &stream));
    check_fails(braid_exec_launch(exec, stream), BRAID_INVALID_ARGUMENT, "device");
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    braid_stream_destroy(stream);
    braid_device_close(other);
}

int run_fork_and_join(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_launch_stands_between_a_slow_producer_and_a_copy),
        contract_test(a_launch_on_the_null_stream_stands_between_a_slow_producer_and_a_copy),
        contract_test(a_launch_waits_for_work_that_holds_the_stream_up_by_a_host_call),
        contract_test(many_frames_in_a_row_each_stand_in_their_place),
        contract_test(a_second_exec_on_the_stream_reads_what_the_first_wrote),
        contract_test(an_event_recorded_behind_a_launch_comes_after_it),
        contract_test(a_launch_does_not_wait_for_other_streams),
        contract_test(a_stream_of_another_device_is_refused),
    };
    return contract_run("a launch forks from its stream and joins it", tests);
}
