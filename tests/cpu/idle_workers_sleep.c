// SPDX-License-Identifier: Apache-2.0
// Workers without work sleep, no more wake than have work, and a repeated launch allocates nothing.
#include <sched.h>

#include "backends/cpu/cpu.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/failing_memory.h"

static bool all_sleep(struct backend *base)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    cpu_lock(backend);
    bool asleep = backend->num_parked == backend->num_threads;
    cpu_unlock(backend);
    return asleep;
}

static void wait_until_all_sleep(struct backend *backend)
{
    while (!all_sleep(backend))
        sched_yield();
}

static void add_one(void *counter)
{
    atomic_fetch_add((atomic_uint *)counter, 1);
}

static void workers_sleep_and_wake(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(3);
    atomic_uint count = 0;
    for (unsigned round = 0; round < 50; round++) {
        wait_until_all_sleep(backend);
        queue_host(backend, NULL, add_one, &count);
        synchronize(backend, NULL);
        assert_int_equal(atomic_load(&count), round + 1);
    }
    close_cpu(backend);
}

// Queues follow each other at all distances around the time that a worker spins before it sleeps.
static void no_work_is_overlooked_on_the_way_to_sleep(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(2);
    struct backend_stream *other = new_stream(backend);
    atomic_uint count = 0;
    for (unsigned round = 0; round < 2000; round++) {
        for (volatile unsigned i = 0; i < round * 20; i++)
            continue;
        queue_host(backend, NULL, add_one, &count);
        queue_host(backend, other, add_one, &count);
        assert_true(reaches(&count, 2 * round + 2));
    }
    backend->ops->stream_destroy(backend, other);
    close_cpu(backend);
}

static void queue_a_frame(struct backend *backend, struct backend_stream *stream,
                          struct backend_event *event, atomic_uint *count)
{
    check_ok(backend->ops->event_record(backend, event, NULL));
    check_ok(backend->ops->stream_wait(backend, stream, event));
    for (int i = 0; i < 20; i++)
        queue_host(backend, i % 2 ? stream : NULL, add_one, count);
    check_ok(backend->ops->event_record(backend, event, stream));
    check_ok(backend->ops->stream_wait(backend, NULL, event));
}

static void repeated_frames_allocate_nothing(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(2);
    struct backend_stream *stream = new_stream(backend);
    struct backend_event *event = new_event(backend);
    struct gate gate = { 0 };
    atomic_uint count = 0;
    // A held-up frame uses as many commands at once as a frame ever can.
    queue_host(backend, NULL, gate_pass, &gate);
    queue_a_frame(backend, stream, event, &count);
    gate_open(&gate);
    synchronize(backend, NULL);
    uint64_t num_calls = failing_memory_num_calls();
    for (int frame = 0; frame < 1000; frame++) {
        queue_a_frame(backend, stream, event, &count);
        synchronize(backend, NULL);
    }
    assert_int_equal(failing_memory_num_calls(), num_calls);
    assert_int_equal(atomic_load(&count), 1001 * 20);
    backend->ops->event_destroy(backend, event);
    backend->ops->stream_destroy(backend, stream);
    close_cpu(backend);
}

static uint32_t num_listed(const struct cpu_sleeper *list)
{
    uint32_t num = 0;
    for (; list; list = list->next)
        num++;
    return num;
}

// Three threads of two workers sleep. Whoever queues a lane and then opens a grid asks for a worker
// twice, but no more than one has anything to do.
static void a_worker_on_its_way_is_counted_on(void **state)
{
    (void)state;
    struct backend *base = open_cpu(2);
    struct cpu_backend *backend = cpu_backend_of(base);
    wait_until_all_sleep(base);
    for (int round = 0; round < 20; round++) {
        cpu_lock(backend);
        uint32_t num_asleep = num_listed(backend->parked);
        assert_int_equal(num_asleep, 3);
        braid_cpu_workers_wake(backend, 1);
        assert_int_equal(num_listed(backend->parked), 2);
        braid_cpu_workers_wake(backend, 1);
        assert_int_equal(num_listed(backend->parked), 2);
        braid_cpu_workers_wake(backend, 2); // there is something for a second one
        assert_int_equal(num_listed(backend->parked), 1);
        cpu_unlock(backend);
        do {
            sched_yield();
            cpu_lock(backend);
            num_asleep = num_listed(backend->parked);
            cpu_unlock(backend);
        } while (num_asleep < 3);
    }
    close_cpu(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_sleep_and_wake),
        cmocka_unit_test(no_work_is_overlooked_on_the_way_to_sleep),
        cmocka_unit_test(repeated_frames_allocate_nothing),
        cmocka_unit_test(a_worker_on_its_way_is_counted_on),
    };
    return cmocka_run_group_tests_name("cpu: idle workers sleep", tests, NULL, NULL);
}
