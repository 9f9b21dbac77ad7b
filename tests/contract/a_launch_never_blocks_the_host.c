// SPDX-License-Identifier: Apache-2.0
// Law 3: a launch is asynchronous. Every test holds the frame up by a gate and checks, after the
// calls that must not block, that the gate has not given up waiting.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/clock.h"

static braid_exec *counting_exec(struct contract *contract, uint32_t *data)
{
    braid_graph *graph = contract_graph(contract);
    braid_resource x = add_resource(graph, "x"), y = add_resource(graph, "y");
    add_axpy(graph, (braid_node_options){ USES({ x, BRAID_READ_WRITE }) }, data, data, 1, 1, 1);
    add_axpy(graph, (braid_node_options){ USES({ y, BRAID_READ_WRITE }) }, data + 1, data + 1, 1, 2,
             1);
    add_add(graph, (braid_node_options){ USES({ x, BRAID_READ }, { y, BRAID_READ }) }, data + 2,
            data, data + 1, 1);
    return contract_exec(contract, graph);
}

typedef struct gate close_function(struct contract *contract, braid_stream *stream);

// The exec is there before the gate closes: for the code of an island a driver may wait.
static void run_behind_gate(struct contract *contract, close_function *close, braid_stream *stream,
                            uint32_t frames)
{
    uint32_t *data = contract_numbers(contract, 3);
    braid_exec *exec = counting_exec(contract, data);
    struct gate gate = close(contract, stream);
    for (uint32_t frame = 0; frame < frames; frame++) {
        check_ok(braid_exec_launch(exec, stream));
        assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    }
    assert_int_equal(braid_stream_query(stream), BRAID_NOT_READY);
    check_still_closed(gate); // nothing above waited for it
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
    check_ok(braid_stream_wait(stream));
    assert_int_equal(contract_number(contract, data + 2), 3 * frames);
    assert_int_equal(gate_state(gate), GATE_PASSED);
}

static void a_launch_behind_a_slow_kernel_returns_at_once(void **state)
{
    braid_stream *stream = contract_stream(*state);
    run_behind_gate(*state, contract_close, stream, 1);
}

static void a_launch_behind_a_slow_host_call_returns_at_once(void **state)
{
    braid_stream *stream = contract_stream(*state);
    run_behind_gate(*state, contract_close_by_host, stream, 1);
}

static void a_launch_on_the_null_stream_returns_at_once(void **state)
{
    struct contract *contract = *state;
    run_behind_gate(contract, contract_close, braid_device_get_default_stream(contract->device), 1);
}

// Two calls block: each waits until the other has begun.
struct meeting {
    _Atomic uint32_t begun[2];
    _Atomic uint32_t met;
    char threads[2][16];
};

struct party {
    struct meeting *meeting;
    uint32_t me;
};

// What host calls touch lives until their execs and streams are gone, also where a check fails.
struct meeting_room {
    struct meeting meeting;
    struct party parties[2];
};

static void meet(void *user)
{
    const struct party *party = user;
    struct meeting *meeting = party->meeting;
    pthread_getname_np(pthread_self(), meeting->threads[party->me], sizeof(meeting->threads[0]));
    uint32_t frame = ++meeting->begun[party->me];
    uint64_t start = clock_now_ns();
    while (meeting->begun[!party->me] < frame && clock_now_ns() - start < TEST_TIMEOUT_NS)
        sched_yield();
    meeting->met += meeting->begun[!party->me] >= frame;
}

// Frame by frame; what stands behind both finds what they have done.
static void calls_that_block_hold_up_no_other(void **state)
{
    enum { num_frames = 5 };
    struct contract *contract = *state;
    braid_device_info info;
    braid_device_get_info(contract->device, &info);
    struct meeting_room *room = contract_memory(contract, BRAID_MEMORY_HOST, sizeof(*room));
    struct meeting *meeting = &room->meeting;
    for (uint32_t i = 0; i < 2; i++)
        room->parties[i] = (struct party){ meeting, i };
    uint32_t *counts = contract_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    braid_resource a = add_resource(graph, "a"), b = add_resource(graph, "b");
    add_blocking(graph, (braid_node_options){ USES({ a, BRAID_WRITE }) }, meet, &room->parties[0]);
    add_blocking(graph, (braid_node_options){ USES({ b, BRAID_WRITE }) }, meet, &room->parties[1]);
    add_axpy(graph, (braid_node_options){ USES({ a, BRAID_READ }, { b, BRAID_READ }) }, counts,
             counts, 1, 1, 1);
    braid_exec *exec = contract_exec(contract, graph);
    for (uint32_t frame = 0; frame < num_frames; frame++) {
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        assert_int_equal(meeting->met, 2 * (frame + 1));
        assert_int_equal(contract_number(contract, counts), frame + 1);
    }
    for (uint32_t frame = 0; frame < num_frames; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(meeting->met, 2 * 2 * num_frames);
    for (int i = 0; i < 2 && strcmp(info.backend, "skeleton") != 0; i++)
        assert_string_equal(meeting->threads[i], "braid-block");
}

static void many_launches_behind_a_slow_kernel_return_at_once(void **state)
{
    braid_stream *stream = contract_stream(*state);
    run_behind_gate(*state, contract_close, stream, 50);
}

// The gate is inside the graph: launches queue up behind the frame itself.
static void launches_behind_a_slow_frame_return_at_once(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1);
    struct gate gate = contract_gate(contract);
    braid_graph *graph = contract_graph(contract);
    braid_node wait = add_gate(graph, (braid_node_options){ 0 }, gate);
    add_axpy(graph, (braid_node_options){ AFTER(wait) }, data, data, 2, 1, 1);
    braid_exec *exec = contract_exec(contract, graph);
    for (uint32_t frame = 0; frame < 16; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), (1u << 16) - 1);
}

static void new_arguments_do_not_wait_for_a_slow_frame(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    braid_node node = add_axpy(graph, (braid_node_options){ 0 }, data, data, 10, 1, 1);
    braid_exec *exec = contract_exec(contract, graph);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    for (uint32_t addend = 1; addend < 6; addend++) {
        check_ok(braid_exec_set_arg(exec, node, 3, BRAID_ARG(addend)));
        check_ok(braid_exec_launch(exec, stream));
    }
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), 12345);
}

struct waiter {
    braid_exec *exec;
    braid_status status;
};

static void *wait_in_thread(void *user)
{
    struct waiter *waiter = user;
    waiter->status = braid_exec_wait(waiter->exec);
    return NULL;
}

// A driver may hold a lock of the event's as long as somebody waits for it.
static void a_launch_returns_at_once_while_another_thread_waits(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 3);
    braid_stream *stream = contract_stream(contract);
    struct waiter waiter = { .exec = counting_exec(contract, data) };
    struct gate gate = contract_close_by_host(contract, stream);
    check_ok(braid_exec_launch(waiter.exec, stream));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &waiter), 0);
    // So that it most likely waits by now; the test holds in any case.
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    braid_status query = braid_exec_wait_for(waiter.exec, BRAID_LAST_FRAME, 0);
    braid_status launch = braid_exec_launch(waiter.exec, contract_stream(contract));
    uint32_t reached = gate_state(gate);
    gate_open(gate);
    pthread_join(thread, NULL);
    assert_int_equal(query, BRAID_NOT_READY);
    check_ok(launch);
    check_ok(waiter.status);
    assert_int_not_equal(reached, GATE_TIMED_OUT);
    check_ok(braid_exec_wait(waiter.exec));
    assert_int_equal(contract_number(contract, data + 2), 6);
}

static void a_wait_with_a_limit_ends_before_a_slow_frame(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 3);
    braid_stream *stream = contract_stream(contract);
    braid_exec *exec = counting_exec(contract, data);
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0)); // nothing was launched
    struct gate gate = contract_close(contract, stream);
    check_ok(braid_exec_launch(exec, stream));
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    assert_int_equal(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 2000000), BRAID_TIMEOUT);
    assert_string_equal(braid_error_get_message(),
                        "braid_exec_wait_for: 1 frame was launched, and the last has not ended "
                        "after 2000000 ns");
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, TEST_TIMEOUT_NS));
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
    assert_int_equal(contract_number(contract, data + 2), 3);
}

int run_never_blocks(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_launch_behind_a_slow_kernel_returns_at_once),
        contract_test(a_launch_behind_a_slow_host_call_returns_at_once),
        contract_test(a_launch_on_the_null_stream_returns_at_once),
        contract_test(calls_that_block_hold_up_no_other),
        contract_test(many_launches_behind_a_slow_kernel_return_at_once),
        contract_test(launches_behind_a_slow_frame_return_at_once),
        contract_test(new_arguments_do_not_wait_for_a_slow_frame),
        contract_test(a_launch_returns_at_once_while_another_thread_waits),
        contract_test(a_wait_with_a_limit_ends_before_a_slow_frame),
    };
    return contract_run("a launch never blocks the host", tests);
}
