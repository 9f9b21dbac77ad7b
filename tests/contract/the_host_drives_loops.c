// SPDX-License-Identifier: Apache-2.0
// A loop that a device cannot play by itself is driven by the host. Its launch returns at once, and
// what the stream gets behind it is in order.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "contract/counting.h"
#include "contract/groups.h"
#include "support/clock.h"

// A host call in a loop: it counts, and writes the condition.
struct turns {
    uint32_t *going;
    uint32_t most;
    _Atomic uint32_t num;
    _Atomic uint32_t *other; // it goes on until this is not 0; NULL: until `most`
    struct gate *gate;       // that it stands at; NULL: at none
};

static void turn(void *user)
{
    struct turns *turns = user;
    uint32_t num = atomic_fetch_add(&turns->num, 1) + 1;
    if (turns->gate)
        gate_stand_at(turns->gate);
    *turns->going = turns->other ? !atomic_load(turns->other) : num % turns->most != 0;
}

// The CPU plays all loops itself. A driver's graph refuses host calls inside.
static void skip_unless_driven(const struct contract *contract)
{
    if (contract->mode != BRAID_MODE_STREAMS || contract_is_on_host() || !plays_loops(contract))
        skip_because("the host drives loops on streams of drivers alone");
}

// With "sum" of the device behind the loop: 7 a frame.
static braid_graph *graph_of(struct contract *contract, struct turns *turns, uint32_t *sum,
                             braid_queue_function *queued, void *user)
{
    skip_unless_driven(contract);
    braid_graph *graph = contract_graph(contract);
    turns->going = contract_host_numbers(contract, 1);
    braid_resource going = add_word(graph, "going", turns->going),
                   total = add_word(graph, "sum", sum);
    begin_loop(graph, (braid_loop){ .node.name = "loop", .condition = going, .unbounded = true });
    add_host(graph, (braid_node_options){ .name = "turn", USES({ going, BRAID_READ_WRITE }) }, turn,
             turns);
    if (queued)
        add_queue_call(graph, (braid_node_options){ .name = "call" }, queued, user);
    add_step(graph, "add", total, sum, 0);
    check_ok(braid_graph_end(graph));
    add_step(graph, "seven", total, sum, 7);
    return graph;
}

static braid_exec *exec_of(struct contract *contract, struct turns *turns, uint32_t *sum)
{
    return make_exec(contract, graph_of(contract, turns, sum, NULL, NULL));
}

static void it_says_that_the_host_drives_it_and_why(void **state)
{
    struct contract *contract = *state;
    struct turns turns = { .most = 3 };
    uint32_t *sum = contract_numbers(contract, 1);
    braid_exec *exec = exec_of(contract, &turns, sum);
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.mode, BRAID_MODE_STREAMS);
    assert_non_null(strstr(info.reason, "; the host drives loops and branches"));
    assert_non_null(strstr(info.reason,
                           drives_all_loops(contract) ? "plays no loop" : "'turn' is a host call"));
    run_frames(exec);
    assert_int_equal(atomic_load(&turns.num), 3 * num_frames);
    assert_int_equal(contract_number(contract, sum), 7 * num_frames);
}

// A copy, an event, another stream, and another exec with a loop.
static void what_a_stream_gets_behind_it_is_in_order(void **state)
{
    struct contract *contract = *state;
    struct gate gate = contract_gate(contract);
    struct turns turns = { .most = 3, .gate = &gate }, others = { .most = 2 };
    uint32_t *sum = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 2);
    braid_exec *exec = exec_of(contract, &turns, sum), *other = exec_of(contract, &others, sum);
    braid_stream *stream = contract_stream(contract), *behind = contract_stream(contract);
    braid_event *event;
    uint64_t ns;
    check_ok(
        braid_event_create(contract->device, &(braid_event_options){ .timing = true }, &event));
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_event_record(event, stream));
    check_ok(braid_stream_follow(behind, event));
    check_ok(braid_exec_launch(other, behind));
    check_ok(braid_exec_launch(exec, stream));
    gate_wait_until_entered(gate);
    assert_int_equal(braid_event_query(event), BRAID_NOT_READY);
    assert_int_equal(braid_event_get_elapsed(event, event, &ns), BRAID_NOT_READY);
    assert_int_equal(braid_stream_query(stream), BRAID_NOT_READY);
    assert_int_equal(atomic_load(&others.num), 0);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_stream_copy(behind, &seen[0], sum, sizeof(*sum)));
    check_ok(braid_stream_copy(stream, &seen[1], sum, sizeof(*sum)));
    check_ok(braid_stream_wait(behind));
    check_ok(braid_stream_wait(stream));
    assert_true(seen[0] >= 14 && seen[1] >= 14);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_wait(other));
    check_ok(braid_event_get_elapsed(event, event, &ns));
    braid_event_destroy(event);
}

static bool has_one_queue(void)
{
    const char *queues = getenv("GPU_MAX_HW_QUEUES");
    return getenv("BRAID_STANDIN_ONE_QUEUE") || (queues && strcmp(queues, "1") == 0);
}

// An event stands for its latest record, and a wait for the record before it.
static void a_later_record_leaves_an_earlier_wait_alone(void **state)
{
    struct contract *contract = *state;
    struct gate gate = contract_gate(contract);
    struct turns turns = { .most = 3, .gate = &gate };
    uint32_t *sum = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    if (has_one_queue())
        skip_because("a gate would hold up all streams");
    braid_exec *exec = exec_of(contract, &turns, sum);
    braid_stream *stream = contract_stream(contract), *slow = contract_stream(contract);
    braid_event *event;
    check_ok(braid_event_create(contract->device, NULL, &event));
    struct gate first = contract_close(contract, slow);
    check_ok(braid_event_record(event, slow));
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_stream_follow(stream, event)); // behind the loop
    check_ok(braid_event_record(event, contract_stream(contract)));
    gate_open(gate);
    check_ok(braid_stream_copy(stream, seen, sum, sizeof(*sum)));
    for (int i = 0; i < 200; i++, clock_nap())
        assert_int_equal(braid_stream_query(stream), BRAID_NOT_READY);
    gate_open(first);
    check_ok(braid_stream_wait(stream));
    assert_int_equal(seen[0], 7);
    braid_event_destroy(event);
}

// Their loops end in the other order.
static void the_later_of_two_records_behind_loops_stays_the_later(void **state)
{
    struct contract *contract = *state;
    _Atomic uint32_t ends = 0;
    struct turns first = { .other = &ends }, second = { .most = 2 };
    uint32_t *sums = contract_numbers(contract, 2);
    braid_exec *exec = exec_of(contract, &first, sums),
               *later = exec_of(contract, &second, sums + 1);
    braid_stream *stream = contract_stream(contract), *other = contract_stream(contract);
    braid_event *event;
    check_ok(braid_event_create(contract->device, NULL, &event));
    check_ok(braid_exec_launch(exec, stream));
    check_ok(braid_event_record(event, stream));
    check_ok(braid_exec_launch(later, other));
    check_ok(braid_event_record(event, other));
    check_ok(braid_event_record(event, contract_stream(contract))); // which returns at once, too
    check_ok(braid_exec_wait(later));
    for (int i = 0; i < 200; i++, clock_nap())
        assert_int_equal(braid_event_query(event), BRAID_NOT_READY);
    atomic_store(&ends, 1);
    check_ok(braid_stream_wait(stream));
    check_ok(braid_stream_wait(other));
    check_ok(braid_event_wait(event));
    braid_event_destroy(event);
}

static void a_loop_may_wait_for_that_of_a_later_launch(void **state)
{
    struct contract *contract = *state;
    struct turns first = { 0 }, second = { .most = 3 };
    first.other = &second.num;
    uint32_t *sums = contract_numbers(contract, 2);
    braid_exec *exec = exec_of(contract, &first, sums),
               *later = exec_of(contract, &second, sums + 1);
    check_ok(braid_exec_launch(exec, contract_stream(contract)));
    check_ok(braid_exec_launch(later, contract_stream(contract)));
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_wait(later));
    assert_int_equal(atomic_load(&second.num), 3);
    assert_int_equal(contract_number(contract, sums + 1), 7);
}

struct failing {
    bool fails;
    uint32_t num_before; // calls that succeed before
};

static braid_status fail_if_told(braid_device *device, braid_stream *stream, void *user)
{
    (void)device, (void)stream;
    struct failing *failing = user;
    if (failing->fails && failing->num_before)
        return failing->num_before--, BRAID_OK;
    return failing->fails ? BRAID_BUSY : BRAID_OK;
}

// No launch is there to return it.
static void a_failure_inside_is_told_once_by_a_wait(void **state)
{
    struct contract *contract = *state;
    struct turns turns = { .most = 3 };
    struct failing failing = { .fails = true };
    uint32_t *sum = contract_numbers(contract, 1);
    braid_exec *exec = make_exec(contract, graph_of(contract, &turns, sum, fail_if_told, &failing));
    check_ok(braid_exec_launch(exec, NULL));
    check_fails(braid_exec_wait(exec), BRAID_BUSY, "iteration 0: launch of node 2 'call'");
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, sum), 0);
    assert_int_equal(atomic_load(&turns.num), 1);
    failing.fails = false;
    atomic_store(&turns.num, 0);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, sum), 7);
    failing = (struct failing){ .fails = true, .num_before = 2 };
    check_ok(braid_exec_launch(exec, NULL));
    check_fails(braid_exec_wait(exec), BRAID_BUSY, "iteration 2: launch of node 2 'call'");
    assert_non_null(strstr(braid_error_get_message(), "frame 2: launch of node 0 'loop'"));
    for (int i = 0; i < 3; i++) // each has a failure, in a place of its own
        check_ok(braid_exec_launch(exec, NULL));
    contract_destroy_exec(contract, exec); // which leaves the device as it is
    check_ok(braid_stream_wait(braid_device_get_default_stream(contract->device)));
}

static void a_cancelled_loop_ends(void **state)
{
    struct contract *contract = *state;
    struct turns turns = { 0 };
    _Atomic uint32_t never = 0;
    turns.other = &never;
    uint32_t *sum = contract_numbers(contract, 1);
    if (drives_all_loops(contract))
        skip_because("there is no black box");
    braid_exec *exec = contract_exec_with(
        contract, graph_of(contract, &turns, sum, NULL, NULL),
        (braid_exec_options){ .black_box = true, .frames_in_flight = contract_frames() });
    check_ok(braid_exec_launch(exec, NULL));
    while (atomic_load(&turns.num) < 3)
        clock_nap();
    braid_status status = braid_exec_cancel(exec); // its end may be seen already
    assert_true(status == BRAID_OK || status == BRAID_NOT_READY);
    check_ok(braid_exec_wait(exec));
}

static void a_deadline_tells_of_a_loop_that_goes_on(void **state)
{
    struct contract *contract = *state;
    struct turns turns = { 0 };
    _Atomic uint32_t ends = 0;
    turns.other = &ends;
    uint32_t *sum = contract_numbers(contract, 1);
    braid_exec *exec = contract_exec_with(
        contract, graph_of(contract, &turns, sum, NULL, NULL),
        (braid_exec_options){ .deadline_ns = 1000000, .frames_in_flight = contract_frames() });
    check_ok(braid_exec_launch(exec, NULL));
    check_fails(braid_exec_wait(exec), BRAID_TIMEOUT, "frame 0 has not ended");
    atomic_store(&ends, 1);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, sum), 7);
}

// Each frame has the values that were set before its launch. Launches wait for room then.
static void frames_have_the_values_of_their_launch(void **state)
{
    struct contract *contract = *state;
    struct turns turns[6] = { 0 };
    skip_unless_driven(contract);
    uint32_t *sum = contract_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    uint32_t *word = contract_host_numbers(contract, 1);
    braid_resource going = add_word(graph, "going", word), total = add_word(graph, "sum", sum);
    begin_loop(graph, (braid_loop){ .condition = going, .most = 9 });
    braid_node call =
        add_host(graph, (braid_node_options){ USES({ going, BRAID_READ_WRITE }) }, turn, &turns[0]);
    add_step(graph, "add", total, sum, 1);
    check_ok(braid_graph_end(graph));
    braid_exec *exec = make_exec(contract, graph);
    for (uint32_t i = 0; i < 6; i++) {
        turns[i] = (struct turns){ .going = word, .most = i + 1 };
        check_ok(braid_exec_set(exec, call, BRAID_TARGET_USER, 0, &(void *){ &turns[i] }));
        check_ok(braid_exec_launch(exec, NULL));
    }
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(atomic_load(&turns[i].num), i + 1);
    assert_int_equal(contract_number(contract, sum), 1 + 2 + 3 + 4 + 5 + 6);
}

// A node of an external object reads its value when its turn comes.
static void no_frame_takes_a_later_external_value(void **state)
{
    struct contract *contract = *state;
    _Atomic uint32_t ends = 0;
    struct turns turns = { .other = &ends };
    uint32_t *sum = contract_numbers(contract, 1);
    braid_graph *graph = graph_of(contract, &turns, sum, NULL, NULL);
    braid_external_options options = { .kind = BRAID_EXTERNAL_WORD,
                                       .word = contract_host_numbers(contract, 1) };
    braid_external *external;
    if (braid_external_create(contract->device, &options, &external))
        skip_because(braid_error_get_message());
    braid_node node;
    check_ok(braid_graph_add_external(
        graph, &(braid_external_node){ .external = external, .signals = true }, &node));
    braid_exec *exec = make_exec(contract, graph);
    for (uint32_t i = 1; i <= 2; i++) {
        check_ok(braid_exec_set_external(exec, node, i));
        check_ok(braid_exec_launch(exec, NULL));
        if (i == 1)
            check_fails(braid_exec_set_external(exec, node, 2), BRAID_BUSY, "the host drives");
        atomic_store(&ends, 1);
        check_ok(braid_exec_wait(exec));
        assert_int_equal(*(volatile uint32_t *)options.word, i);
    }
    contract_destroy_exec(contract, exec);
    braid_external_destroy(external);
}

static void destroying_waits_for_the_loop(void **state)
{
    struct contract *contract = *state;
    struct turns turns = { .most = 20 };
    uint32_t *sum = contract_numbers(contract, 1);
    braid_exec *exec = exec_of(contract, &turns, sum);
    braid_stream *stream;
    check_ok(braid_stream_create(contract->device, NULL, &stream));
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(exec, stream));
    braid_stream_destroy(stream);
    contract_destroy_exec(contract, exec);
    assert_int_equal(atomic_load(&turns.num), 3 * 20);
    assert_int_equal(contract_number(contract, sum), 3 * 7);
}

static void a_stream_of_the_programs_own_is_refused(void **state)
{
    struct contract *contract = *state;
    struct turns turns = { .most = 1 };
    uint32_t *sum = contract_numbers(contract, 1);
    braid_exec *exec = exec_of(contract, &turns, sum);
    braid_stream *wrapped;
    check_ok(braid_stream_wrap(contract->device, braid_stream_get_handle(contract_stream(contract)),
                               &wrapped));
    check_fails(braid_exec_launch(exec, wrapped), BRAID_UNSUPPORTED, "the host drives loops");
    braid_stream_destroy(wrapped);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

int run_driven_loops(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(it_says_that_the_host_drives_it_and_why),
        contract_test(what_a_stream_gets_behind_it_is_in_order),
        contract_test(a_later_record_leaves_an_earlier_wait_alone),
        contract_test(the_later_of_two_records_behind_loops_stays_the_later),
        contract_test(a_loop_may_wait_for_that_of_a_later_launch),
        contract_test(a_failure_inside_is_told_once_by_a_wait),
        contract_test(a_cancelled_loop_ends),
        contract_test(a_deadline_tells_of_a_loop_that_goes_on),
        contract_test(frames_have_the_values_of_their_launch),
        contract_test(no_frame_takes_a_later_external_value),
        contract_test(destroying_waits_for_the_loop),
        contract_test(a_stream_of_the_programs_own_is_refused),
    };
    return contract_run("the_host_drives_loops", tests);
}
