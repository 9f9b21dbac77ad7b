// SPDX-License-Identifier: Apache-2.0
// Law 4, and streams and events as programs use them without a graph: a wait captures the event's
// latest record when it is queued; no record, no waiting; records may follow while waits pend.
#include "contract/groups.h"
#include "contract/nodes.h"

static void a_wait_captures_the_latest_record_when_it_is_queued(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    braid_stream *writer = contract_stream(contract), *reader = contract_stream(contract);
    braid_event *event = contract_event(contract);

    struct gate first = contract_close(contract, writer);
    check_ok(braid_stream_fill(writer, data, 1, 4, 1));
    check_ok(braid_event_record(event, writer));
    check_ok(braid_stream_follow(reader, event));
    check_ok(braid_stream_copy(reader, seen, data, 4));
    struct gate second = contract_close_by_host(contract, writer);
    check_ok(braid_stream_fill(writer, data, 2, 4, 1));
    check_ok(braid_event_record(event, writer)); // while the older wait is pending

    assert_int_equal(braid_stream_query(reader), BRAID_NOT_READY);
    check_still_closed(first);
    gate_open(first);
    check_ok(braid_stream_wait(reader)); // must not need the second gate
    check_still_closed(second);
    assert_int_equal(*seen, 1);
    assert_int_equal(braid_event_query(event), BRAID_NOT_READY); // its latest record is the second
    gate_open_behind_writes(second); // the fill behind it follows on the read of the copy
    check_ok(braid_event_wait(event));
    assert_int_equal(contract_number(contract, data), 2);
}

static void a_wait_for_an_event_never_recorded_is_satisfied_at_once(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1);
    braid_stream *waiting = contract_stream(contract), *other = contract_stream(contract);
    braid_event *event = contract_event(contract);
    check_ok(braid_event_query(event));
    check_ok(braid_event_wait(event));
    check_ok(braid_stream_follow(waiting, event));
    struct gate gate = contract_close(contract, other);
    check_ok(braid_event_record(event, other)); // too late for the wait above
    check_ok(braid_stream_fill(waiting, data, 3, 4, 1));
    check_ok(braid_stream_wait(waiting));
    check_still_closed(gate);
    gate_open(gate);
    assert_int_equal(contract_number(contract, data), 3);
}

static void waits_outlive_their_event(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    braid_stream *writer = contract_stream(contract), *reader = contract_stream(contract);
    struct gate gate = contract_close(contract, writer);
    braid_event *event;
    check_ok(braid_event_create(device, NULL, &event));
    check_ok(braid_stream_fill(writer, data, 1, 4, 1));
    check_ok(braid_event_record(event, writer));
    check_ok(braid_stream_follow(reader, event));
    braid_event_destroy(event);
    check_ok(braid_stream_copy(reader, seen, data, 4));
    assert_int_equal(braid_stream_query(reader), BRAID_NOT_READY);
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_stream_wait(reader));
    assert_int_equal(*seen, 1);
}

// One event and two streams, over and over: every record is a new point.
static void an_event_can_be_recorded_again_and_again(void **state)
{
    struct contract *contract = *state;
    enum { rounds = 100 };
    uint32_t *data = contract_numbers(contract, 2);
    uint32_t *seen = contract_host_numbers(contract, rounds);
    braid_stream *streams[2] = { contract_stream(contract), contract_stream(contract) };
    braid_event *event = contract_event(contract);
    for (uint32_t i = 0; i < rounds; i++) {
        braid_stream *stream = streams[i % 2];
        check_ok(braid_stream_follow(stream, event));
        check_ok(braid_stream_fill(stream, data, i, 4, 1));
        check_ok(braid_stream_copy(stream, seen + i, data, 4));
        check_ok(braid_event_record(event, stream));
    }
    check_ok(braid_event_wait(event));
    for (uint32_t i = 0; i < rounds; i++)
        assert_int_equal(seen[i], i);
}

static void one_record_releases_many_streams(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    enum { width = 12 };
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, width);
    braid_event *event = contract_event(contract);
    struct gate gate = contract_close(contract, NULL);
    check_ok(braid_stream_fill(braid_device_get_default_stream(device), data, 8, 4, 1));
    check_ok(braid_event_record(event, NULL));
    braid_stream *streams[width];
    for (uint32_t i = 0; i < width; i++) {
        streams[i] = contract_stream(contract);
        check_ok(braid_stream_follow(streams[i], event));
        check_ok(braid_stream_copy(streams[i], seen + i, data, 4));
    }
    check_still_closed(gate);
    gate_open(gate);
    for (uint32_t i = 0; i < width; i++) {
        check_ok(braid_stream_wait(streams[i]));
        assert_int_equal(seen[i], 8);
    }
}

static void the_null_stream_waits_for_events_too(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    braid_stream *writer = contract_stream(contract);
    braid_event *event = contract_event(contract);
    struct gate gate = contract_close(contract, writer);
    check_ok(braid_stream_fill(writer, data, 6, 4, 1));
    check_ok(braid_event_record(event, writer));
    check_ok(braid_stream_follow(NULL, event));
    check_ok(braid_stream_copy(braid_device_get_default_stream(device), seen, data, 4));
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_stream_wait(braid_device_get_default_stream(device)));
    assert_int_equal(*seen, 6);
}

static void queries_and_waits_tell_of_their_own_stream_only(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    braid_stream *busy = contract_stream(contract), *idle = contract_stream(contract);
    braid_event *event = contract_event(contract);
    check_ok(braid_stream_query(busy));
    struct gate gate = contract_close(contract, busy);
    check_ok(braid_event_record(event, busy));
    assert_int_equal(braid_stream_query(busy), BRAID_NOT_READY);
    assert_int_equal(braid_event_query(event), BRAID_NOT_READY);
    check_ok(braid_stream_query(idle));
    check_ok(braid_stream_wait(idle));
    check_ok(braid_stream_query(braid_device_get_default_stream(device)));
    check_ok(braid_stream_wait(braid_device_get_default_stream(device)));
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_event_wait(event));
    check_ok(braid_event_query(event));
    check_ok(braid_stream_wait(busy));
    check_ok(braid_stream_query(busy));
}

static void append(void *user)
{
    uint32_t **place = user;
    *(*place)++ = 1;
}

static void a_stream_runs_its_work_in_order(void **state)
{
    struct contract *contract = *state;
    enum { rounds = 50 };
    uint32_t *host = contract_host_numbers(contract, rounds);
    uint32_t **place = contract_memory(contract, BRAID_MEMORY_HOST, sizeof(*place));
    uint32_t *data = contract_numbers(contract, 1);
    uint32_t *seen = contract_host_numbers(contract, rounds);
    braid_stream *stream = contract_stream(contract);
    *place = host;
    for (uint32_t i = 0; i < rounds; i++) {
        check_ok(braid_stream_host_call(stream, append, place));
        check_ok(braid_stream_copy(stream, data, host + i, 4));
        check_ok(braid_stream_copy(stream, seen + i, data, 4));
        check_ok(braid_stream_fill(stream, host + i, 2, 4, 1));
    }
    check_ok(braid_stream_wait(stream));
    for (uint32_t i = 0; i < rounds; i++) {
        assert_int_equal(seen[i], 1); // after the call, before the fill
        assert_int_equal(host[i], 2);
    }
}

static void streams_run_at_once(void **state)
{
    struct contract *contract = *state;
    uint32_t *flags = contract_numbers(contract, 2), *met = contract_numbers(contract, 2);
    braid_stream *streams[2];
    braid_exec *execs[2];
    for (uint32_t i = 0; i < 2; i++) {
        braid_graph *graph = contract_graph(contract);
        add_handshake(graph, (braid_node_options){ 0 }, flags, met, i);
        streams[i] = contract_stream(contract);
        execs[i] = contract_exec(contract, graph);
    }
    // Both are there before: making the second a driver may wait for all on the device, and the
    // first runs until the second does.
    for (uint32_t i = 0; i < 2; i++)
        check_ok(braid_exec_launch(execs[i], streams[i]));
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(braid_stream_wait(streams[i]));
        assert_int_equal(contract_number(contract, met + i), 1);
    }
}

static void destroying_a_stream_waits_for_its_work_only(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    uint64_t *interval = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    uint32_t *seen = contract_host_numbers(contract, 1);
    braid_graph *graph = contract_graph(contract);
    braid_node busy = add_busy(graph, (braid_node_options){ 0 }, interval, 5000000);
    add_axpy(graph, (braid_node_options){ AFTER(busy) }, seen, seen, 1, 4, 1);
    braid_exec *exec = contract_exec(contract, graph);
    // Behind that: an island's code is loaded, for which a driver may wait for all on the device.
    struct gate gate = contract_close(contract, contract_stream(contract));
    braid_stream *stream;
    check_ok(braid_stream_create(device, &(braid_stream_options){ .priority = -1 }, &stream));
    check_ok(braid_exec_launch(exec, stream));
    braid_stream_destroy(stream);
    assert_int_equal(*seen, 4);
    check_still_closed(gate);
    gate_open(gate);
    braid_stream_destroy(NULL);
    braid_event_destroy(NULL);
}

static void timing_events_measure_what_lies_between(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    uint64_t *interval = contract_memory(contract, BRAID_MEMORY_DEVICE, 2 * sizeof(uint64_t));
    const uint64_t busy_ns = 5000000;
    braid_graph *graph = contract_graph(contract);
    add_busy(graph, (braid_node_options){ 0 }, interval, busy_ns);
    braid_exec *exec = contract_exec(contract, graph);
    braid_event *events[2];
    for (int i = 0; i < 2; i++) {
        check_ok(braid_event_create(device, &(braid_event_options){ .timing = true }, &events[i]));
        contract->events[contract->num_events++] = events[i];
    }
    uint64_t ns = 77;
    check_fails(braid_event_get_elapsed(events[0], events[1], &ns), BRAID_WRONG_STATE,
                "never recorded");
    check_ok(braid_event_record(events[0], NULL));
    check_ok(braid_exec_launch(exec, NULL));
    struct gate gate = contract_close(contract, NULL);
    check_ok(braid_event_record(events[1], NULL));
    assert_int_equal(braid_event_get_elapsed(events[0], events[1], &ns), BRAID_NOT_READY);
    assert_int_equal(ns, 77);
    gate_open(gate);
    check_ok(braid_event_wait(events[1]));
    check_ok(braid_event_get_elapsed(events[0], events[1], &ns));
    assert_true(ns >= busy_ns - busy_ns / 10); // a lower bound holds however busy the machine is
    braid_event *plain = contract_event(contract);
    check_ok(braid_event_record(plain, NULL));
    check_fails(braid_event_get_elapsed(events[0], plain, &ns), BRAID_UNSUPPORTED,
                "without timing");
}

// It stands for NULL where that is allowed, and nobody can destroy it.
static void the_default_stream_is_the_devices_own(void **state)
{
    struct contract *contract = *state;
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    braid_stream *own = braid_device_get_default_stream(contract->device);
    braid_event *event = contract_event(contract);
    braid_graph *graph = contract_graph(contract);
    add_axpy(graph, (braid_node_options){ 0 }, data, data, 0, 4, 1);
    braid_exec *exec = contract_exec(contract, graph);
    assert_non_null(own);
    assert_ptr_equal(own, braid_device_get_default_stream(contract->device));
    struct gate gate = contract_close(contract, own);
    assert_int_equal(braid_stream_query(own), BRAID_NOT_READY);
    check_ok(braid_stream_fill(own, data, 5, 4, 1));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_stream_copy(own, seen, data, 4));
    check_ok(braid_event_record(event, NULL));
    check_ok(braid_stream_follow(own, event));
    braid_stream_destroy(own);
    check_still_closed(gate);
    assert_int_equal(braid_event_query(event), BRAID_NOT_READY);
    gate_open(gate);
    check_ok(braid_stream_wait(own));
    assert_int_equal(*seen, 4);
}

static void bad_arguments_are_refused(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    braid_stream *own = braid_device_get_default_stream(device);
    uint32_t *data = contract_numbers(contract, 1);
    braid_event *event = contract_event(contract);
    check_fails(braid_event_record(NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_follow(NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_event_query(NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_event_wait(NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_event_get_elapsed(event, NULL, &(uint64_t){ 0 }), BRAID_INVALID_ARGUMENT, "");
    const char *way = "stream is NULL: braid_device_get_default_stream() gives";
    check_fails(braid_stream_wait(NULL), BRAID_INVALID_ARGUMENT, way);
    check_fails(braid_stream_query(NULL), BRAID_INVALID_ARGUMENT, way);
    check_fails(braid_stream_host_call(NULL, append, NULL), BRAID_INVALID_ARGUMENT, way);
    check_fails(braid_stream_copy(NULL, data, data + 1, 1), BRAID_INVALID_ARGUMENT, way);
    check_fails(braid_stream_fill(NULL, data, 0, 4, 1), BRAID_INVALID_ARGUMENT, way);
    assert_null(braid_stream_get_handle(NULL));
    check_fails(braid_stream_create(device, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_event_create(device, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_host_call(own, NULL, NULL), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_copy(own, NULL, data, 4), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_copy(own, data, NULL, 4), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_copy(own, data, data, 0), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_fill(own, NULL, 0, 4, 1), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_fill(own, data, 0, 3, 1), BRAID_INVALID_ARGUMENT, "");
    check_fails(braid_stream_fill(own, data, 0, 4, 0), BRAID_INVALID_ARGUMENT, "");
}

static void handles_can_be_had_and_wrapped(void **state)
{
    struct contract *contract = *state;
    braid_device *device = contract->device;
    braid_stream *stream = contract_stream(contract), *wrapped;
    void *handle = braid_stream_get_handle(stream);
    assert_non_null(handle);
    braid_status status = braid_stream_wrap(device, handle, &wrapped);
    if (status == BRAID_UNSUPPORTED) {
        assert_true(contract_is_on_host());
        assert_ptr_equal(handle, stream);
        return;
    }
    check_ok(status);
    assert_ptr_equal(braid_stream_get_handle(wrapped), handle);
    // The wrapper stands for the same queue: a launch on it follows work on the other.
    uint32_t *data = contract_numbers(contract, 1), *seen = contract_host_numbers(contract, 1);
    struct gate gate = contract_close(contract, stream);
    check_ok(braid_stream_fill(stream, data, 5, 4, 1));
    check_ok(braid_stream_copy(wrapped, seen, data, 4));
    check_still_closed(gate);
    braid_stream_destroy(wrapped); // only unwraps, without waiting
    check_still_closed(gate);
    gate_open(gate);
    check_ok(braid_stream_wait(stream));
    assert_int_equal(*seen, 5);
}

int run_streams_and_events(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(a_wait_captures_the_latest_record_when_it_is_queued),
        contract_test(a_wait_for_an_event_never_recorded_is_satisfied_at_once),
        contract_test(waits_outlive_their_event),
        contract_test(an_event_can_be_recorded_again_and_again),
        contract_test(one_record_releases_many_streams),
        contract_test(the_null_stream_waits_for_events_too),
        contract_test(queries_and_waits_tell_of_their_own_stream_only),
        contract_test(a_stream_runs_its_work_in_order),
        contract_test(streams_run_at_once),
        contract_test(destroying_a_stream_waits_for_its_work_only),
        contract_test(timing_events_measure_what_lies_between),
        contract_test(the_default_stream_is_the_devices_own),
        contract_test(bad_arguments_are_refused),
        contract_test(handles_can_be_had_and_wrapped),
    };
    return contract_run("streams and events keep their laws", tests);
}
