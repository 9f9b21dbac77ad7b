// SPDX-License-Identifier: Apache-2.0
// A thread that waits may run work itself, but only work that its wait needs.
#include <pthread.h>
#include <unistd.h>

#include "backends/cpu/walker/walker.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"
#include "support/hand_program.h"

enum { NUM_STREAMS = 12, NUM_ROUNDS = 300 };

static void add_one(void *counter)
{
    atomic_fetch_add((atomic_uint *)counter, 1);
}

// If the waiting thread went on behind the event, it would stand before a gate that only it opens.
static void a_wait_for_an_event_does_not_run_what_follows_it(void **state)
{
    (void)state;
    for (uint32_t num_workers = 1; num_workers <= 3; num_workers++) {
        struct backend *backend = open_cpu(num_workers);
        struct backend_event *event = new_event(backend);
        for (int round = 0; round < NUM_ROUNDS; round++) {
            struct gate gate = { 0 };
            atomic_uint count = 0;
            queue_host(backend, NULL, add_one, &count);
            check_ok(backend->ops->event_record(backend, event, NULL));
            queue_host(backend, NULL, gate_pass, &gate);
            check_ok(backend->ops->event_synchronize(backend, event));
            assert_int_equal(atomic_load(&count), 1);
            gate_open(&gate);
            synchronize(backend, NULL);
            assert_false(atomic_load(&gate.gave_way));
        }
        backend->ops->event_destroy(backend, event);
        close_cpu(backend);
    }
}

static pthread_t host;
static atomic_uint waited_for; // the stream that the host waits for, from 1
static atomic_uint num_strays;

static void note_stray(void *user)
{
    const unsigned *stream = user;
    if (pthread_equal(pthread_self(), host) && atomic_load(&waited_for) != *stream)
        atomic_fetch_add(&num_strays, 1);
}

static void a_wait_for_a_stream_runs_nothing_of_others(void **state)
{
    (void)state;
    unsigned numbers[NUM_STREAMS];
    struct backend_stream *streams[NUM_STREAMS];
    struct backend *backend = open_cpu(NUM_STREAMS); // so that there is room for the host to err
    host = pthread_self();
    for (unsigned i = 0; i < NUM_STREAMS; i++) {
        numbers[i] = i + 1;
        streams[i] = new_stream(backend);
    }
    for (int round = 0; round < NUM_ROUNDS; round++) {
        for (unsigned i = 0; i < NUM_STREAMS * 10; i++)
            queue_host(backend, streams[i % NUM_STREAMS], note_stray, &numbers[i % NUM_STREAMS]);
        for (unsigned i = 0; i < NUM_STREAMS; i++) {
            atomic_store(&waited_for, i + 1);
            synchronize(backend, streams[i]);
        }
    }
    for (unsigned i = 0; i < NUM_STREAMS; i++)
        backend->ops->stream_destroy(backend, streams[i]);
    assert_int_equal(atomic_load(&num_strays), 0);
    close_cpu(backend);
}

struct meeting {
    atomic_uint num_arrived;
    atomic_bool missed;
};

static void meet(void *user)
{
    struct meeting *meeting = user;
    atomic_fetch_add(&meeting->num_arrived, 1);
    if (!reaches(&meeting->num_arrived, 2))
        atomic_store(&meeting->missed, true);
}

// The waiting thread may be one of the two that meet; it must not keep the second from starting.
static void work_that_meets_other_work_still_does(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(2);
    struct backend_stream *other = new_stream(backend);
    for (int round = 0; round < NUM_ROUNDS; round++) {
        struct meeting meeting = { 0 };
        queue_host(backend, NULL, meet, &meeting);
        queue_host(backend, other, meet, &meeting);
        synchronize(backend, NULL);
        synchronize(backend, other);
        assert_false(atomic_load(&meeting.missed));
    }
    backend->ops->stream_destroy(backend, other);
    close_cpu(backend);
}

// While the waiting thread runs the first piece, which fills the only place, other work becomes
// ready and wakes nobody. It must not be forgotten when the wait is over.
static void work_that_found_no_place_runs_after_the_wait(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(1);
    struct backend_stream *other = new_stream(backend);
    struct backend_event *event = new_event(backend);
    for (unsigned round = 1; round <= 5 * NUM_ROUNDS; round++) {
        atomic_uint count = 0;
        queue_host(backend, NULL, add_one, &count);
        check_ok(backend->ops->event_record(backend, event, NULL));
        check_ok(backend->ops->stream_wait(backend, other, event));
        queue_host(backend, other, add_one, &count);
        queue_host(backend, NULL, add_one, &count);
        check_ok(backend->ops->event_synchronize(backend, event));
        assert_true(reaches(&count, 3)); // without waiting for either stream
    }
    backend->ops->event_destroy(backend, event);
    backend->ops->stream_destroy(backend, other);
    close_cpu(backend);
}

struct waiter {
    struct backend *backend;
    struct backend_event *event;
    atomic_uint num_begun, num_ended; // rounds
};

static void *wait_in_every_round(void *user)
{
    struct waiter *waiter = user;
    for (unsigned round = 1; round <= NUM_ROUNDS; round++) {
        while (atomic_load(&waiter->num_begun) < round)
            continue;
        (void)waiter->backend->ops->event_synchronize(waiter->backend, waiter->event);
        atomic_store(&waiter->num_ended, round);
    }
    return NULL;
}

// The one that waits lends the stream a hand, and must let go of it before it is freed.
static void a_stream_may_be_destroyed_while_its_event_is_awaited(void **state)
{
    (void)state;
    struct waiter waiter = { .backend = open_cpu(2) };
    waiter.event = new_event(waiter.backend);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_in_every_round, &waiter), 0);
    for (unsigned round = 1; round <= NUM_ROUNDS; round++) {
        struct backend_stream *stream = new_stream(waiter.backend);
        atomic_uint count = 0;
        for (int i = 0; i < 20; i++)
            queue_host(waiter.backend, stream, add_one, &count);
        check_ok(waiter.backend->ops->event_record(waiter.backend, waiter.event, stream));
        atomic_store(&waiter.num_begun, round);
        waiter.backend->ops->stream_destroy(waiter.backend, stream);
        assert_int_equal(atomic_load(&count), 20);
        assert_true(reaches(&waiter.num_ended, round));
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    waiter.backend->ops->event_destroy(waiter.backend, waiter.event);
    close_cpu(waiter.backend);
}

enum { MAX_FRAMES = 2000 };

static bool host_has_run_a_turn, host_ran_the_end;

// Sleeps, so that even on one core the turn ends by the clock alone.
static void use_up_the_turn(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
    if (!pthread_equal(pthread_self(), host))
        return;
    while (!braid_cpu_seat_turn_is_over())
        usleep(100);
    host_has_run_a_turn = true;
}

static void note_end(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
    host_ran_the_end = pthread_equal(pthread_self(), host);
}

static struct hand_program *create_long_and_end(struct backend *backend,
                                                struct backend_kernel *kernels[2])
{
    static const struct hand_step steps[] = { { BRAID_STEP_RUN, 0 }, { BRAID_STEP_RUN, 1 } };
    struct backend_task tasks[2];
    for (int i = 0; i < 2; i++)
        tasks[i] = (struct backend_task){
            .kind = WORK_KERNEL,
            .name = "turn",
            .launch = { .kernel = kernels[i], .grid = { i ? 1 : 4, 1, 1 }, .block = { 1, 1, 1 } }
        };
    const struct hand_lane lane = { steps, 2 };
    const struct hand_plan plan = { &lane, 1, 0, tasks, 2 };
    struct hand_program *program = NULL;
    check_ok(hand_program_create(backend, &braid_walker_player, &plan, &program));
    return program;
}

// A worker may begin the frame before the host does; then the next frame is looked at.
static void a_thread_that_waits_runs_for_one_turn(void **state)
{
    (void)state;
    host = pthread_self();
    struct backend *backend = open_cpu(2);
    struct backend_kernel *kernels[] = { load_kernel(backend, "long", use_up_the_turn),
                                         load_kernel(backend, "end", note_end) };
    struct hand_program *program = create_long_and_end(backend, kernels);
    host_has_run_a_turn = false;
    for (int frame = 0; frame < MAX_FRAMES && !host_has_run_a_turn; frame++) {
        check_ok(hand_program_launch(program, NULL));
        synchronize(backend, NULL);
    }
    assert_true(host_has_run_a_turn);
    assert_false(host_ran_the_end);
    hand_program_destroy(program);
    for (int i = 0; i < 2; i++)
        backend->ops->kernel_unload(backend, kernels[i]);
    close_cpu(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_an_event_does_not_run_what_follows_it),
        cmocka_unit_test(a_wait_for_a_stream_runs_nothing_of_others),
        cmocka_unit_test(work_that_meets_other_work_still_does),
        cmocka_unit_test(work_that_found_no_place_runs_after_the_wait),
        cmocka_unit_test(a_stream_may_be_destroyed_while_its_event_is_awaited),
        cmocka_unit_test(a_thread_that_waits_runs_for_one_turn),
    };
    return cmocka_run_group_tests_name("cpu: waiting threads run only what they wait for", tests,
                                       NULL, NULL);
}
