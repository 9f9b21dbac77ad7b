// SPDX-License-Identifier: Apache-2.0
// A thread that is cancelled while it waits ends after the wait, and takes nothing with it.
#include <pthread.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"

struct waiter {
    struct backend *backend;
    struct backend_event *event; // NULL: waits for the default stream
    atomic_uint has_returned;
    pthread_t thread;
};

static void *wait_there(void *user)
{
    struct waiter *waiter = user;
    if (waiter->event)
        check_ok(waiter->backend->ops->event_synchronize(waiter->backend, waiter->event));
    else
        check_ok(waiter->backend->ops->stream_synchronize(waiter->backend, NULL));
    atomic_store(&waiter->has_returned, 1);
    pthread_testcancel();
    return NULL;
}

static void start_waiting(struct waiter *waiter)
{
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_there, waiter), 0);
}

static void check_was_cancelled_later(struct waiter *waiter)
{
    void *result = NULL;
    assert_int_equal(pthread_join(waiter->thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(atomic_load(&waiter->has_returned), 1);
}

static void check_works(struct backend *backend)
{
    struct gate passed = { 0 };
    queue_host(backend, NULL, gate_open, &passed);
    synchronize(backend, NULL);
    assert_true(atomic_load(&passed.open));
}

// Whether a thread of the program sleeps until a record of the default stream, whose first command
// runs and goes on running. All of them lie in one chunk, they are so few.
static bool somebody_sleeps(struct backend *base)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    const struct cpu_stream *stream = &backend->default_stream;
    uint64_t num = atomic_load(&stream->num_queued) - atomic_load(&stream->num_ended);
    const struct cpu_command *command = stream->next;
    bool sleeps = false;
    cpu_lock(backend);
    for (uint64_t i = 0; i < num; i++) {
        sleeps |= command->kind == CPU_COMMAND_RECORD && command->point->hosts;
        command =
            (const struct cpu_command *)(const void *)((const char *)command + command->bytes);
    }
    cpu_unlock(backend);
    return sleeps;
}

struct door {
    struct gate gate;
    atomic_uint num_at_it;
};

static void wait_at_door(void *user)
{
    struct door *door = user;
    atomic_fetch_add(&door->num_at_it, 1);
    gate_pass(&door->gate);
}

// A worker stands at the door, so the thread that waits has nothing to do but to sleep.
static void a_wait_that_sleeps_ends_first(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(2);
    for (int with_event = 0; with_event < 2; with_event++) {
        struct door door = { .num_at_it = 0 };
        struct waiter waiter = { .backend = backend };
        struct backend_event *event = new_event(backend);
        queue_host(backend, NULL, wait_at_door, &door);
        check_ok(backend->ops->event_record(backend, event, NULL));
        waiter.event = with_event ? event : NULL;
        assert_true(reaches(&door.num_at_it, 1));
        start_waiting(&waiter);
        while (!somebody_sleeps(backend))
            usleep(100);
        assert_int_equal(pthread_cancel(waiter.thread), 0);
        gate_open(&door.gate);
        check_was_cancelled_later(&waiter);
        assert_false(atomic_load(&door.gate.gave_way));
        check_works(backend);
        backend->ops->event_destroy(backend, event);
    }
    close_cpu(backend);
}

struct nap {
    pthread_t host; // who is cancelled if it is the one that runs this
    atomic_bool host_is_known;
    atomic_uint num_ends, num_by_host;
};

// Sleeping is a cancellation point.
static void nap_cancelled(void *user)
{
    struct nap *nap = user;
    while (!atomic_load(&nap->host_is_known))
        usleep(10);
    if (pthread_equal(pthread_self(), nap->host)) {
        atomic_fetch_add(&nap->num_by_host, 1);
        pthread_cancel(nap->host);
    }
    usleep(10);
    atomic_fetch_add(&nap->num_ends, 1);
}

struct napper {
    struct backend *backend;
    struct nap *nap;
};

static void *queue_and_wait(void *user)
{
    struct napper *napper = user;
    napper->nap->host = pthread_self();
    for (int i = 0; i < 20; i++)
        queue_host(napper->backend, NULL, nap_cancelled, napper->nap);
    atomic_store(&napper->nap->host_is_known, true);
    synchronize(napper->backend, NULL);
    return NULL;
}

// Work that a waiting thread has taken on must end, or its stream never goes on.
static void work_that_a_waiting_thread_runs_ends_first(void **state)
{
    (void)state;
    enum { MAX_ROUNDS = 2000 };
    struct backend *backend = open_cpu(2);
    unsigned num_by_host = 0;
    for (int round = 0; round < MAX_ROUNDS && !num_by_host; round++) {
        struct nap nap = { .num_ends = 0 };
        struct napper napper = { backend, &nap };
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, queue_and_wait, &napper), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        synchronize(backend, NULL);
        assert_int_equal(atomic_load(&nap.num_ends), 20);
        num_by_host = atomic_load(&nap.num_by_host);
    }
    if (!num_by_host)
        print_message("no waiting thread came to run anything\n");
    check_works(backend);
    close_cpu(backend);
}

struct destroyer {
    struct backend *backend;
    struct backend_stream *stream;
    atomic_uint has_returned;
};

static void *destroy_cancelled(void *user)
{
    struct destroyer *destroyer = user;
    pthread_cancel(pthread_self());
    braid_cpu_give_way(); // a round of the wait, so that one at least meets the cancellation
    destroyer->backend->ops->stream_destroy(destroyer->backend, destroyer->stream);
    atomic_store(&destroyer->has_returned, 1);
    pthread_testcancel();
    return NULL;
}

static void let_go_later(struct backend *base, struct cpu_stream *stream)
{
    struct cpu_backend *backend = cpu_backend_of(base);
    for (int i = 0; i < 100; i++)
        braid_cpu_give_way();
    cpu_lock(backend);
    stream->job.num_hosts--;
    cpu_unlock(backend);
}

// Destroying a stream waits for threads that look at it, in short sleeps.
static void a_stream_that_is_destroyed_goes_whole(void **state)
{
    (void)state;
    struct backend *backend = open_cpu(2);
    struct destroyer destroyer = { .backend = backend };
    check_ok(backend->ops->stream_create(backend, 0, &destroyer.stream));
    struct cpu_stream *stream = braid_cpu_stream_of(cpu_backend_of(backend), destroyer.stream);
    stream->job.num_hosts = 1; // as if a thread waited
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, destroy_cancelled, &destroyer), 0);
    let_go_later(backend, stream);
    void *result = NULL;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(atomic_load(&destroyer.has_returned), 1);
    check_works(backend);
    close_cpu(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_sleeps_ends_first),
        cmocka_unit_test(work_that_a_waiting_thread_runs_ends_first),
        cmocka_unit_test(a_stream_that_is_destroyed_goes_whole),
    };
    return cmocka_run_group_tests_name("cpu: cancelled waits leave all whole", tests, NULL, NULL);
}
