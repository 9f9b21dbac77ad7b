// SPDX-License-Identifier: Apache-2.0
// A frame that has not ended by its deadline is told of once by a wait, and once by a callback,
// with the nodes that run.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "contract/groups.h"
#include "contract/nodes.h"
#include "support/clock.h"

enum { short_ns = 1000000, most_told = 8 };

// Static: the exec of a test that fails goes on calling until it is destroyed.
static struct {
    struct gate gate, held;
    braid_exec *exec;
    braid_status asked, waited; // by the callback
    char name[16];              // the node's that was told last
    _Atomic uint64_t frames[most_told];
    _Atomic uint32_t num_told, num_nodes;
} told;

static bool has_black_box(const struct contract *contract)
{
    return strcmp(contract->backend, "hip") != 0 && strcmp(contract->backend, "skeleton") != 0;
}

static void note(uint64_t frame, const braid_running_node *nodes, size_t num_nodes, void *user)
{
    (void)user;
    uint32_t num = atomic_load(&told.num_told);
    if (num_nodes)
        strncpy(told.name, nodes[0].name, sizeof(told.name) - 1);
    atomic_store(&told.num_nodes, (uint32_t)num_nodes);
    if (num < most_told)
        atomic_store(&told.frames[num], frame);
    atomic_store(&told.num_told, num + 1);
}

static void wait_for(uint32_t num)
{
    uint64_t start = clock_now_ns();
    while (atomic_load(&told.num_told) < num) {
        assert_true(clock_now_ns() - start < TEST_TIMEOUT_NS);
        clock_nap();
    }
    assert_int_equal(atomic_load(&told.num_told), num);
}

// Each frame stands at one gate.
static braid_exec *make_exec(struct contract *contract, uint64_t deadline_ns,
                             braid_deadline_function *call)
{
    braid_graph *graph = contract_graph(contract);
    memset(&told, 0, sizeof(told));
    told.gate = contract_gate(contract);
    add_gate(graph, (braid_node_options){ .name = "stuck" }, told.gate);
    return told.exec =
               contract_exec_with(contract, graph,
                                  (braid_exec_options){ .frames_in_flight = contract_frames(),
                                                        .black_box = has_black_box(contract),
                                                        .deadline_ns = deadline_ns,
                                                        .on_deadline = call });
}

static void launch(struct contract *contract, uint32_t num)
{
    for (uint32_t i = 0; i < num; i++)
        check_ok(braid_exec_launch(told.exec, contract_stream(contract)));
    gate_wait_until_entered(told.gate);
}

// Waits may have something to tell yet.
static void end(void)
{
    assert_int_not_equal(gate_state(told.gate), GATE_TIMED_OUT);
    gate_open(told.gate);
    while (braid_exec_wait(told.exec) == BRAID_TIMEOUT)
        clock_nap();
    check_ok(braid_exec_wait(told.exec));
}

static void a_wait_tells_of_a_late_frame_once(void **state)
{
    struct contract *contract = *state;
    braid_exec *exec = make_exec(contract, short_ns, NULL);
    launch(contract, 1);
    check_fails(braid_exec_wait_for(exec, BRAID_LAST_FRAME, short_ns), BRAID_TIMEOUT,
                "1 frame was launched, and the last has not ended");
    check_fails(braid_exec_wait(exec), BRAID_TIMEOUT,
                "braid_exec_wait: frame 0 has not ended 1000000 ns after its launch");
    if (has_black_box(contract)) {
        assert_non_null(strstr(braid_error_get_message(), "these nodes were running: 0 'stuck'"));
        assert_non_null(strstr(braid_error_get_details(), "'stuck': frame 0, "));
    }
    check_still_closed(told.gate);
    gate_open(told.gate);
    check_ok(braid_exec_wait(exec));
}

static void a_wait_tells_of_the_frames_that_it_waits_for(void **state)
{
    struct contract *contract = *state;
    braid_exec *exec = make_exec(contract, short_ns, note);
    launch(contract, 3);
    wait_for(3);
    check_fails(braid_exec_wait_for(exec, 1, UINT64_MAX), BRAID_TIMEOUT,
                "braid_exec_wait_for: frames 0 to 1 have not ended");
    check_fails(braid_exec_wait(exec), BRAID_TIMEOUT, "braid_exec_wait: frame 2 has not ended");
    check_still_closed(told.gate);
    gate_open(told.gate);
    check_ok(braid_exec_wait(exec));
}

static void *wait_on(void *out_status)
{
    *(braid_status *)out_status = braid_exec_wait_for(told.exec, 0, UINT64_MAX);
    return NULL;
}

// It tells of no frame behind its own, which is late as well.
static void a_wait_goes_on_after_the_deadline_was_told(void **state)
{
    struct contract *contract = *state;
    braid_exec *exec = make_exec(contract, short_ns, note);
    braid_status status = BRAID_INTERNAL;
    pthread_t thread;
    launch(contract, 2);
    wait_for(2);
    check_fails(braid_exec_wait_for(exec, 0, UINT64_MAX), BRAID_TIMEOUT,
                "braid_exec_wait_for: frame 0 has not ended");
    assert_int_equal(pthread_create(&thread, NULL, wait_on, &status), 0);
    contract_let_begin(contract);
    check_still_closed(told.gate);
    gate_open(told.gate);
    pthread_join(thread, NULL);
    check_ok(status);
    end();
}

static void a_callback_tells_of_each_late_frame_once(void **state)
{
    struct contract *contract = *state;
    (void)make_exec(contract, short_ns, note);
    launch(contract, 1);
    launch(contract, 2); // whose deadlines come when the first one stands at the gate
    wait_for(3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&told.frames[i]), i);
    assert_true(!has_black_box(contract) || atomic_load(&told.num_nodes) > 0);
    assert_string_equal(told.name, has_black_box(contract) ? "stuck" : "");
    end();
    *told.gate.open = 0;
    *told.gate.report = 0;
    launch(contract, 1);
    wait_for(4);
    assert_int_equal(atomic_load(&told.frames[3]), 3);
    end();
}

// As many frames as no list has room for.
static void many_queued_frames_are_told_of_in_order(void **state)
{
    struct contract *contract = *state;
    const uint32_t many = 100;
    (void)make_exec(contract, short_ns, note);
    braid_stream *stream = contract_stream(contract);
    for (uint32_t i = 0; i < many; i++)
        check_ok(braid_exec_launch(told.exec, stream));
    wait_for(many);
    assert_int_equal(atomic_load(&told.frames[most_told - 1]), most_told - 1);
    end();
}

static void frames_that_end_in_time_are_not_told_of(void **state)
{
    struct contract *contract = *state;
    braid_exec *exec = make_exec(contract, 4 * TEST_TIMEOUT_NS, note);
    gate_open(told.gate);
    for (int i = 0; i < 40; i++)
        launch(contract, 1);
    check_ok(braid_exec_wait(exec));
    check_ok(braid_exec_wait_for(exec, 39, UINT64_MAX));
    contract_destroy_exec(contract, exec);
    wait_for(0);
}

static void end_slowly(uint64_t frame, void *num_ended)
{
    nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    atomic_store((_Atomic uint64_t *)num_ended, frame + 1);
}

// A frame has ended when its callback has.
static void waits_with_a_deadline_include_the_frames_callback(void **state)
{
    struct contract *contract = *state;
    static _Atomic uint64_t num_ended;
    braid_graph *graph = contract_graph(contract);
    braid_exec_options options = { .frames_in_flight = contract_frames(),
                                   .deadline_ns = 4 * TEST_TIMEOUT_NS,
                                   .on_frame_end = end_slowly,
                                   .on_frame_end_user = &num_ended };
    atomic_store(&num_ended, 0);
    braid_exec *exec = contract_exec_with(contract, graph, options);
    for (uint64_t i = 0; i < 3; i++) {
        check_ok(braid_exec_launch(exec, contract_stream(contract)));
        check_ok(i % 2 ? braid_exec_wait(exec) : braid_exec_wait_for(exec, i, UINT64_MAX));
        assert_int_equal(atomic_load(&num_ended), i + 1);
        check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
    }
    for (int i = 0; i < 2; i++)
        check_ok(braid_exec_launch(exec, contract_stream(contract)));
    check_ok(braid_exec_wait_for(exec, 3, UINT64_MAX)); // while another is behind it
    assert_true(atomic_load(&num_ended) >= 4);
    check_ok(braid_exec_wait(exec));
}

static void open_gate(uint64_t frame, const braid_running_node *nodes, size_t num_nodes, void *user)
{
    note(frame, nodes, num_nodes, user);
    gate_open(told.gate);
}

static void destroying_waits_and_goes_on_telling(void **state)
{
    struct contract *contract = *state;
    braid_exec *exec = make_exec(contract, 50 * short_ns, open_gate);
    launch(contract, 1);
    contract_destroy_exec(contract, exec);
    wait_for(1);
    assert_int_equal(gate_state(told.gate), GATE_PASSED);
}

// It may ask and cancel, and must not wait.
static void use_exec(uint64_t frame, const braid_running_node *nodes, size_t num_nodes, void *user)
{
    size_t num = 0;
    told.asked = braid_exec_get_running(told.exec, NULL, 0, &num);
    told.waited = braid_exec_wait(told.exec);
    open_gate(frame, nodes, num_nodes, user);
}

static void a_callback_may_ask_and_must_not_wait(void **state)
{
    struct contract *contract = *state;
    (void)make_exec(contract, short_ns, use_exec);
    launch(contract, 1);
    wait_for(1);
    assert_int_equal(told.asked, has_black_box(contract) ? BRAID_OK : BRAID_UNSUPPORTED);
    assert_int_equal(told.waited, BRAID_WRONG_STATE);
    end();
}

static void a_callback_needs_a_deadline(void **state)
{
    struct contract *contract = *state;
    braid_graph *graph = contract_graph(contract);
    braid_exec *exec;
    check_fails(
        contract_create_exec(contract, graph, &(braid_exec_options){ .on_deadline = note }, &exec),
        BRAID_INVALID_ARGUMENT, "deadline_ns");
}

int run_late_frames(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_wait_tells_of_a_late_frame_once),
        contract_test(a_wait_tells_of_the_frames_that_it_waits_for),
        contract_test(a_wait_goes_on_after_the_deadline_was_told),
        contract_test(a_callback_tells_of_each_late_frame_once),
        contract_test(many_queued_frames_are_told_of_in_order),
        contract_test(frames_that_end_in_time_are_not_told_of),
        contract_test(waits_with_a_deadline_include_the_frames_callback),
        contract_test(destroying_waits_and_goes_on_telling),
        contract_test(a_callback_may_ask_and_must_not_wait),
        contract_test(a_callback_needs_a_deadline),
    };
    return contract_run("late frames are told of", tests);
}
