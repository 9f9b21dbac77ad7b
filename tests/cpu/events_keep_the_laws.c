// SPDX-License-Identifier: Apache-2.0
// A wait captures the event's latest record when it is queued, whatever happens to the event later.
#include "cpu/cpu_testing.h"
#include "support/check.h"

static struct backend *backend;
static struct backend_stream *a, *b;
static struct backend_event *event;

static int set_up(void **state)
{
    (void)state;
    backend = open_cpu(2);
    a = new_stream(backend);
    b = new_stream(backend);
    event = new_event(backend);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    backend->ops->event_destroy(backend, event);
    backend->ops->stream_destroy(backend, a);
    backend->ops->stream_destroy(backend, b);
    close_cpu(backend);
    return 0;
}

static void record(struct backend_stream *stream)
{
    check_ok(backend->ops->event_record(backend, event, stream));
}

static void wait(struct backend_stream *stream)
{
    check_ok(backend->ops->stream_wait(backend, stream, event));
}

static void add_one(void *counter)
{
    atomic_fetch_add((atomic_uint *)counter, 1);
}

static void a_wait_holds_its_stream_until_the_record(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    atomic_uint count = 0;
    queue_host(backend, a, gate_pass, &gate);
    record(a);
    wait(b);
    queue_host(backend, b, add_one, &count);
    assert_int_equal(backend->ops->stream_query(backend, b), BRAID_NOT_READY);
    assert_int_equal(backend->ops->event_query(backend, event), BRAID_NOT_READY);
    assert_int_equal(atomic_load(&count), 0);
    gate_open(&gate);
    synchronize(backend, b);
    assert_int_equal(atomic_load(&count), 1);
    check_ok(backend->ops->event_query(backend, event));
    assert_false(atomic_load(&gate.gave_way));
}

static void an_event_never_recorded_holds_nobody(void **state)
{
    (void)state;
    atomic_uint count = 0;
    wait(b);
    queue_host(backend, b, add_one, &count);
    synchronize(backend, b);
    assert_int_equal(atomic_load(&count), 1);
    check_ok(backend->ops->event_query(backend, event));
    check_ok(backend->ops->event_synchronize(backend, event));
}

static void a_record_queued_after_the_wait_does_not_hold_it(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    atomic_uint count = 0;
    wait(b);
    queue_host(backend, b, add_one, &count);
    queue_host(backend, a, gate_pass, &gate);
    record(a);
    synchronize(backend, b);
    assert_int_equal(atomic_load(&count), 1);
    gate_open(&gate);
    synchronize(backend, a);
}

static void recording_again_leaves_older_waits_on_the_older_record(void **state)
{
    (void)state;
    struct gate first = { 0 }, second = { 0 };
    atomic_uint count = 0;
    queue_host(backend, a, gate_pass, &first);
    record(a);
    wait(b);
    queue_host(backend, b, add_one, &count);
    queue_host(backend, a, gate_pass, &second);
    record(a);
    gate_open(&first);
    synchronize(backend, b); // though the second record is not reached
    assert_int_equal(atomic_load(&count), 1);
    assert_int_equal(backend->ops->event_query(backend, event), BRAID_NOT_READY);
    gate_open(&second);
    check_ok(backend->ops->event_synchronize(backend, event));
    assert_false(atomic_load(&first.gave_way));
}

static void a_new_record_on_an_idle_stream_replaces_a_pending_one(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    queue_host(backend, a, gate_pass, &gate);
    record(a);
    record(b);
    check_ok(backend->ops->event_synchronize(backend, event));
    wait(NULL);
    synchronize(backend, NULL);
    gate_open(&gate);
    synchronize(backend, a);
}

static void destroying_the_event_leaves_queued_waits_valid(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    atomic_uint count = 0;
    queue_host(backend, a, gate_pass, &gate);
    record(a);
    wait(b);
    queue_host(backend, b, add_one, &count);
    backend->ops->event_destroy(backend, event);
    event = NULL;
    assert_int_equal(backend->ops->stream_query(backend, b), BRAID_NOT_READY);
    assert_int_equal(atomic_load(&count), 0);
    gate_open(&gate);
    synchronize(backend, b);
    assert_int_equal(atomic_load(&count), 1);
}

static void one_record_frees_all_who_wait(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    atomic_uint count = 0;
    struct backend_stream *streams[20];
    queue_host(backend, a, gate_pass, &gate);
    record(a);
    for (int i = 0; i < 20; i++) {
        streams[i] = new_stream(backend);
        wait(streams[i]);
        queue_host(backend, streams[i], add_one, &count);
    }
    gate_open(&gate);
    for (int i = 0; i < 20; i++)
        backend->ops->stream_destroy(backend, streams[i]);
    assert_int_equal(atomic_load(&count), 20);
}

static void elapsed_time_counts_between_records(void **state)
{
    (void)state;
    struct backend_event *start = NULL, *end = NULL;
    struct gate gate = { 0 };
    uint64_t ns = 77;
    check_ok(backend->ops->event_create(backend, true, &start));
    check_ok(backend->ops->event_create(backend, true, &end));
    check_fails(backend->ops->event_elapsed(backend, start, end, &ns), BRAID_WRONG_STATE,
                "never recorded");
    check_ok(backend->ops->event_record(backend, start, a));
    queue_host(backend, a, gate_pass, &gate);
    check_ok(backend->ops->event_record(backend, end, a));
    assert_int_equal(backend->ops->event_elapsed(backend, start, end, &ns), BRAID_NOT_READY);
    assert_int_equal(ns, 77);
    check_ok(backend->ops->event_synchronize(backend, start));
    gate_open(&gate);
    synchronize(backend, a);
    check_ok(backend->ops->event_elapsed(backend, start, end, &ns));
    assert_true(ns > 0 && ns != 77);
    backend->ops->event_destroy(backend, start);
    backend->ops->event_destroy(backend, end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_holds_its_stream_until_the_record, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_event_never_recorded_holds_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_record_queued_after_the_wait_does_not_hold_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(recording_again_leaves_older_waits_on_the_older_record,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_record_on_an_idle_stream_replaces_a_pending_one,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(destroying_the_event_leaves_queued_waits_valid, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_record_frees_all_who_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(elapsed_time_counts_between_records, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cpu: events keep the laws", tests, NULL, NULL);
}
