// SPDX-License-Identifier: Apache-2.0
// A launch is behind all that was queued on its stream before, be it by another thread while the
// launch before was under way, or by a frame whose queue call launches it.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/clock.h"

enum { num_frames = 4 };

static braid_exec *make_exec(struct contract *contract, const braid_graph *graph,
                             braid_exec_options options)
{
    options.max_lanes = BRAID_ALL_LANES;
    options.fixed_lanes = true;
    return contract_exec_with(contract, graph, options);
}

// What was queued before a launch, while the launch before was under way, and by whom. The value
// goes up once for each time that the test has opened the way.
struct meanwhile {
    braid_device *device;
    braid_stream *stream; // launches go there
    braid_exec *inner;
    _Atomic uint32_t value, opened, num_seen;
    uint32_t seen[num_frames];
    bool queued;
};

static void wait_and_add(void *user)
{
    struct meanwhile *meanwhile = user;
    while (atomic_load(&meanwhile->opened) <= atomic_load(&meanwhile->value))
        clock_nap();
    atomic_fetch_add(&meanwhile->value, 1);
}

static void see_value(void *user)
{
    struct meanwhile *meanwhile = user;
    uint32_t value = atomic_load(&meanwhile->value);
    meanwhile->seen[atomic_fetch_add(&meanwhile->num_seen, 1)] = value;
}

static void *queue_on_stream(void *user)
{
    struct meanwhile *meanwhile = user;
    check_ok(braid_stream_host_call(meanwhile->stream, wait_and_add, user));
    return NULL;
}

// A queue call is made while its frame is launched.
static braid_status have_work_queued(braid_device *device, braid_stream *stream, void *user)
{
    struct meanwhile *meanwhile = user;
    pthread_t thread;
    (void)device, (void)stream;
    if (meanwhile->queued)
        return BRAID_OK;
    meanwhile->queued = true;
    assert_int_equal(pthread_create(&thread, NULL, queue_on_stream, user), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return BRAID_OK;
}

static braid_status launch_inner(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    return braid_exec_launch(((struct meanwhile *)user)->inner, stream);
}

static void add_call(braid_graph *graph, const char *resource, void (*call)(void *), void *user,
                     braid_node *node)
{
    braid_resource touched;
    check_ok(braid_graph_add_resource(graph, resource, &touched));
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){
            .node = { USES({ touched, BRAID_READ_WRITE }) }, .call = call, .user = user },
        node));
}

static void add_one_queue_call(braid_graph *graph,
                               braid_status (*call)(braid_device *, braid_stream *, void *),
                               void *user, const braid_node *after)
{
    braid_resource touched;
    check_ok(braid_graph_add_resource(graph, "of the queue call", &touched));
    check_ok(braid_graph_add_queue_call(
        graph,
        &(braid_queue_call){ .node = { .after = after,
                                       .num_after = after ? 1 : 0,
                                       USES({ touched, BRAID_READ_WRITE }) },
                             .call = call,
                             .user = user },
        NULL));
}

static void skip_unless_called_at_launch(const struct contract *contract)
{
    if (contract->mode != BRAID_MODE_STREAMS)
        skip_because("queue calls are made while a frame is launched on streams only");
}

// What would not wait begins meanwhile.
static void open_soon(struct meanwhile *meanwhile)
{
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_fetch_add(&meanwhile->opened, 1);
}

static void work_queued_during_a_launch_is_before_the_next(void **state)
{
    struct contract *contract = *state;
    skip_unless_called_at_launch(contract);
    struct meanwhile meanwhile = { .device = contract->device,
                                   .stream = contract_stream(contract) };
    braid_graph *graph = contract_graph(contract);
    add_call(graph, "value", see_value, &meanwhile, NULL);
    add_one_queue_call(graph, have_work_queued, &meanwhile, NULL);
    braid_exec *exec = make_exec(contract, graph, (braid_exec_options){ .frames_in_flight = 2 });
    check_ok(braid_exec_launch(exec, meanwhile.stream));
    check_ok(braid_exec_launch(exec, meanwhile.stream));
    open_soon(&meanwhile);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_stream_wait(meanwhile.stream));
    assert_int_equal(meanwhile.seen[1], 1);
}

// The frames of an exec that a queue call of another launches are behind what comes before it.
static void frames_of_execs_in_queue_calls_keep_their_place(void **state)
{
    struct contract *contract = *state;
    skip_unless_called_at_launch(contract);
    for (uint32_t frames = 1; frames <= 2; frames++) {
        struct meanwhile meanwhile = { .opened = 0 };
        braid_graph *inner = contract_graph(contract), *outer = contract_graph(contract);
        add_call(inner, "value", see_value, &meanwhile, NULL);
        meanwhile.inner = make_exec(contract, inner, (braid_exec_options){ .frames_in_flight = 2 });
        braid_node before;
        add_call(outer, "value", wait_and_add, &meanwhile, &before);
        add_one_queue_call(outer, launch_inner, &meanwhile, &before);
        braid_exec *exec =
            make_exec(contract, outer, (braid_exec_options){ .frames_in_flight = frames });
        braid_stream *stream = contract_stream(contract);
        for (uint32_t i = 0; i < num_frames; i++)
            check_ok(braid_exec_launch(exec, stream));
        for (uint32_t i = 0; i < num_frames; i++) // a driver may make all calls on one thread
            open_soon(&meanwhile);
        check_ok(braid_exec_wait(exec));
        check_ok(braid_exec_wait(meanwhile.inner));
        for (uint32_t i = 0; i < num_frames; i++)
            assert_true(meanwhile.seen[i] > i);
    }
}

static struct gate hold_by_wait(struct contract *contract, braid_stream *stream)
{
    braid_stream *other = contract_stream(contract);
    braid_event *event = contract_event(contract);
    struct gate gate = contract_close(contract, other);
    check_ok(braid_event_record(event, other));
    check_ok(braid_stream_follow(stream, event));
    return gate;
}

static struct gate hold_by_exec(struct contract *contract, braid_stream *stream, uint32_t frames)
{
    struct gate gate = contract_gate(contract);
    braid_graph *graph = contract_graph(contract);
    add_gate(graph, (braid_node_options){ 0 }, gate);
    braid_exec *exec =
        make_exec(contract, graph, (braid_exec_options){ .frames_in_flight = frames });
    check_ok(braid_exec_launch(exec, stream));
    return gate;
}

static struct gate hold_by_exec_of_one_frame(struct contract *contract, braid_stream *stream)
{
    return hold_by_exec(contract, stream, 1);
}

static struct gate hold_by_exec_of_two_frames(struct contract *contract, braid_stream *stream)
{
    return hold_by_exec(contract, stream, 2);
}

// Two frames with nothing but reads in common, and what holds up the stream between them.
static void check_held(struct contract *contract,
                       struct gate (*hold)(struct contract *, braid_stream *))
{
    struct gate gates[2];
    braid_graph *graph = contract_graph(contract);
    braid_resource read = add_resource(graph, "read");
    for (int i = 0; i < 2; i++) {
        gates[i] = contract_gate(contract);
        gate_open(gates[i]);
    }
    braid_node node = add_gate(graph, (braid_node_options){ USES({ read, BRAID_READ }) }, gates[0]);
    braid_exec *exec = make_exec(contract, graph, (braid_exec_options){ .frames_in_flight = 2 });
    braid_stream *stream = contract_stream(contract);
    check_ok(braid_exec_launch(exec, stream));
    struct gate held = hold(contract, stream);
    check_ok(braid_exec_set_arg(exec, node, 1, BRAID_ARG(gates[1].report)));
    check_ok(braid_exec_launch(exec, stream));
    contract_let_begin(contract);
    assert_int_equal(gate_state(gates[1]), 0);
    check_still_closed(held);
    gate_open(held);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(gate_state(gates[1]), GATE_PASSED);
}

// Work that blocks between two launches holds up the second, whatever kind of work it is.
static void what_is_queued_between_launches_is_before_the_second(void **state)
{
    check_held(*state, contract_close_by_host);
    check_held(*state, hold_by_wait);
    check_held(*state, hold_by_exec_of_one_frame);
    check_held(*state, hold_by_exec_of_two_frames);
}

int run_earlier_work(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(work_queued_during_a_launch_is_before_the_next),
        contract_test(frames_of_execs_in_queue_calls_keep_their_place),
        contract_test(what_is_queued_between_launches_is_before_the_second),
    };
    return contract_run("launches are behind what was queued", tests);
}
