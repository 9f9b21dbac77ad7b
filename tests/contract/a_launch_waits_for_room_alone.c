// SPDX-License-Identifier: Apache-2.0
// A launch that waits for a place keeps no other thread from using its exec, and what those change
// meanwhile is not mixed into its frames.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/clock.h"

enum { num_places = 2, num_rows = 5, linger_ns = 20000000 };

// data = data * 3 + addend in every frame, behind a gate; an exec with two places.
struct full {
    struct gate gate;
    uint32_t *data;
    braid_parameter addend;
    braid_exec *exec;
    braid_stream *stream;
    braid_status status; // the launching thread's
    uint32_t rows[num_rows];
};

static void fill_up(struct contract *contract, struct full *full, int num_frames,
                    braid_exec_when_full when_full)
{
    braid_graph *graph = contract_graph(contract);
    full->gate = contract_gate(contract);
    full->data = contract_numbers(contract, 1);
    braid_resource data = add_resource(graph, "data");
    add_gate(graph, (braid_node_options){ USES({ data, BRAID_READ_WRITE }) }, full->gate);
    braid_node node = add_axpy(graph, (braid_node_options){ USES({ data, BRAID_READ_WRITE }) },
                               full->data, full->data, 3, 1, 1);
    check_ok(braid_graph_add_parameter(graph, "addend", sizeof(uint32_t), &full->addend));
    check_ok(braid_graph_use_parameter(graph, full->addend,
                                       &(braid_parameter_use){ .node = node, .argument = 3 }));
    full->exec = contract_exec_with(
        contract, graph,
        (braid_exec_options){ .frames_in_flight = num_places, .when_full = when_full });
    full->stream = contract_stream(contract);
    for (int i = 0; i < num_frames; i++)
        check_ok(braid_exec_launch(full->exec, full->stream));
}

static void *launch_one(void *user)
{
    struct full *full = user;
    full->status = braid_exec_launch(full->exec, full->stream);
    return NULL;
}

static void *launch_rows(void *user)
{
    struct full *full = user;
    const braid_parameter_rows rows = { full->addend, full->rows, num_rows };
    full->status = braid_exec_launch_many(full->exec, full->stream, num_rows, &rows, 1);
    return NULL;
}

static void *launch_one_row(void *user)
{
    struct full *full = user;
    const uint32_t row = 70;
    const braid_parameter_rows rows = { full->addend, &row, 1 };
    full->status = braid_exec_launch_many(full->exec, full->stream, 1, &rows, 1);
    return NULL;
}

// Makes every call that another thread may make, again and again while the launch waits, or is
// about to.
static void use_meanwhile(struct full *full)
{
    uint64_t start = clock_now_ns();
    const uint32_t other = 12345;
    while (clock_now_ns() - start < linger_ns) {
        assert_int_equal(braid_exec_get_num_launched(full->exec), num_places);
        assert_int_equal(braid_exec_wait_for(full->exec, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
        check_ok(braid_exec_set_parameter(full->exec, full->addend, &other));
        sched_yield();
    }
    check_still_closed(full->gate);
}

static void other_threads_use_the_exec_meanwhile(void **state)
{
    struct contract *contract = *state;
    struct full full = { 0 };
    fill_up(contract, &full, num_places, BRAID_FULL_WAITS);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, launch_one, &full), 0);
    use_meanwhile(&full);
    gate_open(full.gate);
    pthread_join(thread, NULL);
    check_ok(full.status);
    check_ok(braid_exec_wait(full.exec));
    assert_int_equal(braid_exec_get_num_launched(full.exec), num_places + 1);
    assert_int_equal(contract_number(contract, full.data), (1 * 3 + 1) * 3 + 12345);
}

// The frames of a launch of several take their rows, whatever the parameter is set to meanwhile. A
// second such launch comes behind them.
static void rows_go_to_their_frames(void **state)
{
    struct contract *contract = *state;
    struct full full = { .rows = { 10, 20, 30, 40, 50 } };
    fill_up(contract, &full, num_places - 1, BRAID_FULL_WAITS);
    pthread_t launcher, second;
    assert_int_equal(pthread_create(&launcher, NULL, launch_rows, &full), 0);
    while (braid_exec_get_num_launched(full.exec) < num_places) // the first row has its frame
        sched_yield();
    use_meanwhile(&full);
    struct full later = { .exec = full.exec, .addend = full.addend, .stream = full.stream };
    assert_int_equal(pthread_create(&second, NULL, launch_one_row, &later), 0);
    for (int i = 0; i < 100; i++)
        sched_yield();
    gate_open(full.gate);
    pthread_join(launcher, NULL);
    pthread_join(second, NULL);
    check_ok(full.status);
    check_ok(later.status);
    check_ok(braid_exec_wait(full.exec));
    uint32_t expected = 1;
    for (int i = 0; i < num_rows; i++)
        expected = expected * 3 + full.rows[i];
    assert_int_equal(contract_number(contract, full.data), expected * 3 + 70);
}

// A frame has ended for good when another has been given its place, whatever becomes of that one.
static void a_wait_for_a_frame_waits_for_none_behind_it(void **state)
{
    struct contract *contract = *state;
    for (int when_full = BRAID_FULL_WAITS; when_full <= BRAID_FULL_REFUSES; when_full++) {
        braid_graph *graph = contract_graph(contract);
        uint32_t *data = contract_numbers(contract, 1);
        braid_resource resource = add_resource(graph, "data");
        add_axpy(graph, (braid_node_options){ USES({ resource, BRAID_READ_WRITE }) }, data, data, 3,
                 1, 1);
        braid_exec *exec = contract_exec_with(
            contract, graph,
            (braid_exec_options){ .frames_in_flight = num_places,
                                  .when_full = (braid_exec_when_full)when_full });
        for (int i = 0; i < num_places; i++)
            check_ok(braid_exec_launch(exec, contract_stream(contract)));
        check_ok(braid_exec_wait(exec));
        braid_stream *stream = contract_stream(contract);
        struct gate gate = contract_close(contract, stream);
        check_ok(braid_exec_launch(exec, stream));
        for (int i = 0; i < num_places; i++)
            check_ok(braid_exec_wait_for(exec, (uint64_t)i, UINT64_MAX));
        check_still_closed(gate);
        gate_open(gate);
        check_ok(braid_exec_wait_for(exec, num_places, UINT64_MAX));
        assert_int_equal(contract_number(contract, data), (1 * 3 + 1) * 3 + 1);
    }
}

// Who waits for a frame, and what it found.
struct waiter {
    braid_exec *exec;
    uint64_t frame;
    braid_status status;
    atomic_bool calls, opened, was_opened;
};

static void *wait_for_frame(void *user)
{
    struct waiter *waiter = user;
    atomic_store(&waiter->calls, true);
    waiter->status = braid_exec_wait_for(waiter->exec, waiter->frame, UINT64_MAX);
    atomic_store(&waiter->was_opened, atomic_load(&waiter->opened));
    return NULL;
}

static void check_wait_for_frame(struct contract *contract, braid_exec_when_full when_full,
                                 uint64_t frame)
{
    struct full full = { 0 };
    fill_up(contract, &full, num_places, when_full);
    struct waiter waiter = { .exec = full.exec, .frame = frame };
    pthread_t thread;
    gate_wait_until_entered(full.gate);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_frame, &waiter), 0);
    while (!atomic_load(&waiter.calls))
        sched_yield();
    contract_let_begin(contract);
    atomic_store(&waiter.opened, true);
    gate_open(full.gate);
    pthread_join(thread, NULL);
    check_ok(waiter.status);
    assert_true(atomic_load(&waiter.was_opened));
    check_ok(braid_exec_wait(full.exec));
    assert_int_equal(contract_number(contract, full.data), 1 * 3 + 1);
    contract_destroy_exec(contract, full.exec);
}

// All places are taken and the first frame is held up: neither has ended, and the oldest is the one
// whose place the next launch takes.
static void a_wait_for_a_frame_in_flight_waits_for_its_end(void **state)
{
    for (int when_full = BRAID_FULL_QUEUES; when_full <= BRAID_FULL_REFUSES; when_full++)
        for (uint64_t frame = 0; frame < num_places; frame++)
            check_wait_for_frame(*state, (braid_exec_when_full)when_full, frame);
}

int run_waiting_for_room(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(other_threads_use_the_exec_meanwhile),
        contract_test(rows_go_to_their_frames),
        contract_test(a_wait_for_a_frame_waits_for_none_behind_it),
        contract_test(a_wait_for_a_frame_in_flight_waits_for_its_end),
    };
    return contract_run("a launch waits for room alone", tests);
}
