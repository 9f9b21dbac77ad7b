// SPDX-License-Identifier: Apache-2.0
// Law 9: destroying an object, and waiting for one, waits for its own work in flight, and for
// nothing else.
#include <pthread.h>
#include <time.h>

#include "contract/groups.h"
#include "contract/nodes.h"

enum { slow_ns = 10000000 };

// A slow frame that counts in host memory, where the test sees it without asking the library.
static braid_exec *slow_counter(struct contract *contract, uint32_t *count)
{
    uint64_t *interval = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    braid_graph *graph = contract_graph(contract);
    braid_node busy = add_busy(graph, (braid_node_options){ 0 }, interval, slow_ns);
    add_axpy(graph, (braid_node_options){ AFTER(busy) }, count, count, 1, 1, 1);
    add_axpy(graph, (braid_node_options){ AFTER(busy) }, count + 1, count + 1, 1, 1, 1);
    return contract_exec(contract, graph);
}

static void destroying_an_exec_waits_for_its_slow_launch(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2);
    braid_exec *exec = slow_counter(contract, count);
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(exec, NULL));
    contract_destroy_exec(contract, exec);
    assert_int_equal(count[0], 3);
    assert_int_equal(count[1], 3);
}

static void destroying_an_exec_waits_for_launches_on_every_stream(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2);
    braid_exec *exec = slow_counter(contract, count);
    for (int i = 0; i < 3; i++)
        check_ok(braid_exec_launch(exec, contract_stream(contract)));
    contract_destroy_exec(contract, exec);
    assert_int_equal(count[0], 3);
    assert_int_equal(count[1], 3);
}

static void *open_late(void *user)
{
    struct timespec delay = { .tv_nsec = 20000000 };
    nanosleep(&delay, NULL);
    gate_open(*(struct gate *)user);
    return NULL;
}

// Its own launch has not even started: it stands behind somebody else's work.
static void destroying_an_exec_waits_for_a_launch_that_has_not_started(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2);
    braid_exec *exec = slow_counter(contract, count);
    braid_stream *stream = contract_stream(contract);
    struct gate gate = contract_close(contract, stream);
    check_ok(braid_exec_launch(exec, stream));
    pthread_t opener;
    assert_int_equal(pthread_create(&opener, NULL, open_late, &gate), 0);
    contract_destroy_exec(contract, exec);
    uint32_t seen = count[0];
    pthread_join(opener, NULL);
    assert_int_equal(seen, 1);
}

static void destroying_and_waiting_do_not_wait_for_later_work_on_the_stream(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2);
    braid_exec *exec = slow_counter(contract, count);
    braid_stream *stream = contract_stream(contract);
    check_ok(braid_exec_launch(exec, stream));
    struct gate gate = contract_close(contract, stream);
    check_ok(braid_exec_wait(exec));
    assert_int_equal(count[0], 1);
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
    contract_destroy_exec(contract, exec);
    check_still_closed(gate);
    gate_open(gate);
}

static void destroying_and_waiting_do_not_wait_for_other_execs_or_streams(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2);
    uint32_t *slow_count = contract_host_numbers(contract, 2);
    braid_exec *exec = slow_counter(contract, count), *other = slow_counter(contract, slow_count);
    braid_stream *held = contract_stream(contract);
    struct gate gate = contract_close(contract, held);
    check_ok(braid_exec_launch(other, held));
    struct gate null_gate = contract_close(contract, NULL);
    check_ok(braid_exec_launch(exec, contract_stream(contract)));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(count[0], 1);
    assert_int_equal(braid_exec_wait_for(other, BRAID_LAST_FRAME, 0), BRAID_NOT_READY);
    contract_destroy_exec(contract, exec);
    check_still_closed(gate);
    check_still_closed(null_gate);
    assert_int_equal(slow_count[0], 0);
    gate_open(gate);
    gate_open(null_gate);
    check_ok(braid_exec_wait(other));
    assert_int_equal(slow_count[0], 1);
}

static braid_exec *alone_exec(struct contract *contract, uint32_t *count)
{
    braid_graph *graph = contract_graph(contract);
    add_alone(graph, (braid_node_options){ 0 }, count, 1);
    braid_exec *exec = contract_exec(contract, graph);
    check_ok(braid_exec_launch(exec, contract_stream(contract)));
    check_ok(braid_exec_wait(exec));
    return exec;
}

// A driver that unloads code waits for all work on the device.
static void destroying_the_last_exec_with_some_code_waits_for_nobody(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 1);
    for (uint32_t i = 1; i < 4; i++) {
        braid_exec *exec = alone_exec(contract, count);
        struct gate gate = contract_close_by_host(contract, contract_stream(contract));
        contract_destroy_exec(contract, exec);
        check_still_closed(gate);
        gate_open(gate);
        assert_int_equal(count[0], i);
    }
}

static void waiting_waits_for_the_last_launch(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2);
    braid_exec *exec = slow_counter(contract, count);
    check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
    check_ok(braid_exec_wait(exec));
    for (uint32_t frame = 1; frame < 4; frame++) {
        check_ok(braid_exec_launch(exec, contract_stream(contract)));
        check_ok(braid_exec_wait(exec));
        check_ok(braid_exec_wait_for(exec, BRAID_LAST_FRAME, 0));
        assert_int_equal(count[0], frame);
        assert_int_equal(count[1], frame);
    }
}

static void the_stream_works_on_after_its_exec_is_gone(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2),
             *seen = contract_host_numbers(contract, 1);
    braid_stream *stream = contract_stream(contract);
    for (uint32_t i = 1; i < 4; i++) {
        braid_exec *exec = slow_counter(contract, count);
        check_ok(braid_exec_launch(exec, stream));
        contract_destroy_exec(contract, exec);
        check_ok(braid_stream_copy(stream, seen, count, 4));
        check_ok(braid_stream_wait(stream));
        assert_int_equal(*seen, i);
    }
}

static void graphs_and_schedules_may_go_before_their_exec(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1);
    braid_graph *graph;
    check_ok(braid_graph_create(&graph));
    char name[] = "temporary";
    braid_node node = add_axpy(graph, (braid_node_options){ .name = name }, data, data, 1, 2, 1);
    braid_exec *exec = contract_exec(contract, graph);
    braid_graph_destroy(graph);
    name[0] = 0;
    uint32_t addend = 5;
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_set_arg(exec, node, 3, BRAID_ARG(addend)));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(contract_number(contract, data), 7);
}

static void destroying_nothing_does_nothing(void **state)
{
    (void)state;
    braid_exec_destroy(NULL);
    braid_schedule_destroy(NULL);
    braid_device_close(NULL);
}

static void closing_a_device_with_nothing_on_it_leaves_others_alone(void **state)
{
    struct contract *contract = *state;
    uint32_t *count = contract_host_numbers(contract, 2);
    braid_exec *exec = slow_counter(contract, count);
    check_ok(braid_exec_launch(exec, NULL));
    braid_device *other;
    check_ok(contract_open_device(&other));
    void *memory;
    check_ok(braid_memory_allocate(other, BRAID_MEMORY_DEVICE, 64, &memory));
    check_ok(braid_stream_fill(braid_device_get_default_stream(other), memory, 1, 4, 16));
    check_ok(braid_stream_wait(braid_device_get_default_stream(other)));
    braid_memory_free(other, memory);
    braid_device_close(other);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(count[0], 2);
}

int run_destroy(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(destroying_an_exec_waits_for_its_slow_launch),
        contract_test(destroying_an_exec_waits_for_launches_on_every_stream),
        contract_test(destroying_an_exec_waits_for_a_launch_that_has_not_started),
        contract_test(destroying_and_waiting_do_not_wait_for_later_work_on_the_stream),
        contract_test(destroying_and_waiting_do_not_wait_for_other_execs_or_streams),
        contract_test(destroying_the_last_exec_with_some_code_waits_for_nobody),
        contract_test(waiting_waits_for_the_last_launch),
        contract_test(the_stream_works_on_after_its_exec_is_gone),
        contract_test(graphs_and_schedules_may_go_before_their_exec),
        contract_test(destroying_nothing_does_nothing),
        contract_test(closing_a_device_with_nothing_on_it_leaves_others_alone),
    };
    return contract_run("destroy waits for its own work only", tests);
}
