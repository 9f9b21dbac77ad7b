// SPDX-License-Identifier: Apache-2.0
// Threads at work do not share a core while one is free, and may use all of theirs again at once.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "backends/cpu/cpu.h"
#include "cpu/cpu_testing.h"
#include "support/check.h"

enum { NUM_WAKES = 200 };

static cpu_set_t all_cores;

static void pin_to(int core)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void unpin(void)
{
    assert_int_equal(sched_setaffinity(0, sizeof(all_cores), &all_cores), 0);
}

static bool may_use_all(void)
{
    cpu_set_t cores;
    assert_int_equal(sched_getaffinity(0, sizeof(cores), &cores), 0);
    return CPU_EQUAL(&cores, &all_cores);
}

static bool all_sleep(struct cpu_backend *backend)
{
    cpu_lock(backend);
    bool asleep = backend->num_parked == cpu_num_threads(backend);
    cpu_unlock(backend);
    return asleep;
}

// Its own workers are out of the way.
static struct cpu_backend *open_on_several_cores(void)
{
    if (sched_getcpu() < 0 || sched_getaffinity(0, sizeof(all_cores), &all_cores) ||
        CPU_COUNT(&all_cores) < 2)
        skip_because("there is one core, or the system does not tell where threads run");
    struct cpu_backend *backend = cpu_backend_of(open_cpu(2));
    while (!all_sleep(backend))
        sched_yield();
    return backend;
}

// A seat of a worker: the calling thread's.
static void sit(struct cpu_backend *backend, struct cpu_seat *seat)
{
    braid_cpu_seat_init(seat);
    atomic_store(&seat->thread, gettid());
    braid_cpu_seat_take(backend, seat);
}

static void a_worker_moves_to_a_free_core(void **state)
{
    (void)state;
    struct cpu_backend *backend = open_on_several_cores();
    struct cpu_seat seat;
    int core = sched_getcpu();
    pin_to(core);
    sit(backend, &seat);
    assert_false(braid_cpu_seat_is_shared(backend));
    assert_true(braid_cpu_seat_part(backend));
    assert_int_equal(sched_getcpu(), core); // nobody was there
    unpin();
    atomic_fetch_add(&backend->cores[core].num_at_work, 1); // a thread of the program, say
    pin_to(core);
    assert_true(braid_cpu_seat_is_shared(backend));
    assert_false(braid_cpu_seat_part(backend)); // it may use this one only
    assert_true(braid_cpu_seat_is_shared(backend));
    atomic_store(&backend->moved_ns, 0);
    unpin();
    pin_to(core);
    unpin();
    if (sched_getcpu() == core) { // else the system has parted them
        assert_true(braid_cpu_seat_part(backend));
        assert_true(may_use_all());
        assert_false(atomic_load(&seat.core) == core);
    }
    atomic_fetch_sub(&backend->cores[core].num_at_work, 1);
    braid_cpu_seat_leave(backend);
    close_cpu(&backend->base);
}

// Where another program wants the other cores too, the system brings moved threads back.
static void moves_that_do_not_last_become_rare(void **state)
{
    (void)state;
    struct cpu_backend *backend = open_on_several_cores();
    struct cpu_seat seat;
    int core = sched_getcpu();
    pin_to(core);
    sit(backend, &seat);
    atomic_fetch_add(&backend->cores[core].num_at_work, 1);
    const uint64_t pause_ns = 50000000;
    atomic_store(&backend->move_pause_ns, pause_ns);
    atomic_store(&backend->moved_ns, clock_now_ns() - pause_ns);
    assert_false(braid_cpu_seat_part(backend)); // tried, where there is no other core for it
    assert_int_equal(atomic_load(&backend->move_pause_ns), 2 * pause_ns);
    uint64_t moved_ns = atomic_load(&backend->moved_ns);
    assert_false(braid_cpu_seat_part(backend)); // not tried again so soon
    assert_int_equal(atomic_load(&backend->moved_ns), moved_ns);
    atomic_store(&backend->moved_ns, clock_now_ns() - 100 * pause_ns);
    assert_false(braid_cpu_seat_part(backend));
    assert_int_equal(atomic_load(&backend->move_pause_ns), pause_ns);
    atomic_fetch_sub(&backend->cores[core].num_at_work, 1);
    braid_cpu_seat_leave(backend);
    unpin();
    close_cpu(&backend->base);
}

// A thread that sleeps as a worker does, last seen on the core of the one that wakes it.
struct sleeping {
    struct cpu_sleeper sleeper;
    struct cpu_seat seat;
    int core, woken_on;
    atomic_uint num_asleep, num_woken;
    bool freed;
};

static void *sleep_often(void *argument)
{
    struct sleeping *sleeping = argument;
    atomic_store(&sleeping->seat.thread, gettid());
    for (unsigned i = 1; i <= NUM_WAKES; i++) {
        pin_to(sleeping->core);
        unpin();
        atomic_store(&sleeping->num_asleep, i);
        while (sem_wait(&sleeping->sleeper.wake))
            continue;
        sleeping->woken_on = sched_getcpu();
        atomic_store(&sleeping->num_woken, i);
        while (!may_use_all()) // soon
            sched_yield();
    }
    return NULL;
}

// How many of NUM_WAKES wakes ended on another core than the one that woke.
static unsigned wake_often(struct cpu_backend *backend)
{
    struct sleeping sleeping = { .core = sched_getcpu() };
    braid_cpu_sleeper_init(&sleeping.sleeper);
    braid_cpu_seat_init(&sleeping.seat);
    sleeping.sleeper.seat = &sleeping.seat;
    sleeping.sleeper.core = sleeping.core;
    pin_to(sleeping.core);
    unsigned num_elsewhere = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sleep_often, &sleeping), 0);
    for (unsigned i = 1; i <= NUM_WAKES; i++) {
        assert_true(reaches(&sleeping.num_asleep, i));
        braid_cpu_seat_wake(backend, &sleeping.sleeper);
        assert_false(atomic_load(&sleeping.seat.core) == sleeping.core);
        assert_true(reaches(&sleeping.num_woken, i));
        num_elsewhere += sleeping.woken_on != sleeping.core;
        atomic_fetch_sub(&backend->cores[atomic_exchange(&sleeping.seat.core, -1)].num_at_work, 1);
    }
    pthread_join(thread, NULL);
    unpin();
    braid_cpu_sleeper_finish(&sleeping.sleeper);
    return num_elsewhere;
}

// Where other programs hold the other cores the system may bring most back, for a while.
static void a_worker_wakes_on_a_free_core(void **state)
{
    (void)state;
    struct cpu_backend *backend = open_on_several_cores();
    unsigned num_elsewhere = 0;
    for (int round = 0; round < 20 && num_elsewhere <= NUM_WAKES / 2; round++)
        num_elsewhere = wake_often(backend);
    assert_true(num_elsewhere > NUM_WAKES / 2);
    close_cpu(&backend->base);
}

struct waker {
    struct cpu_backend *backend;
    struct cpu_sleeper sleeper;
    int core;
};

static void *wake_once(void *argument)
{
    struct waker *waker = argument;
    pin_to(waker->core);
    braid_cpu_seat_wake(waker->backend, &waker->sleeper);
    return NULL;
}

static int wake_from_its_core(struct waker *waker)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wake_once, waker), 0);
    pthread_join(thread, NULL);
    int core = atomic_exchange(&waker->sleeper.seat->core, -1);
    atomic_fetch_sub(&waker->backend->cores[core].num_at_work, 1);
    return core;
}

// While one thread moves a worker, that may use one core only. A second that moves it meanwhile
// would give it back no more than that.
static void a_worker_is_moved_by_one_thread_at_a_time(void **state)
{
    (void)state;
    struct cpu_backend *backend = open_on_several_cores();
    int cores[2] = { -1, -1 };
    for (int core = 0, num = 0; core < CPU_SETSIZE && num < 2; core++)
        if (CPU_ISSET((unsigned)core, &all_cores))
            cores[num++] = core;
    struct cpu_seat seat;
    braid_cpu_seat_init(&seat);
    atomic_store(&seat.thread, gettid());
    struct waker waker = { .backend = backend, .core = cores[0] };
    braid_cpu_sleeper_init(&waker.sleeper);
    waker.sleeper.seat = &seat;
    waker.sleeper.core = cores[0];
    pin_to(cores[1]);
    atomic_store(&seat.is_moving, true); // by a third thread
    assert_int_equal(wake_from_its_core(&waker), cores[0]);
    unpin();
    atomic_store(&seat.is_moving, false);
    for (int i = 0; i < 2; i++) { // again and again
        assert_false(wake_from_its_core(&waker) == cores[0]);
        assert_true(may_use_all());
    }
    braid_cpu_sleeper_finish(&waker.sleeper);
    close_cpu(&backend->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_moves_to_a_free_core),
        cmocka_unit_test(moves_that_do_not_last_become_rare),
        cmocka_unit_test(a_worker_wakes_on_a_free_core),
        cmocka_unit_test(a_worker_is_moved_by_one_thread_at_a_time),
    };
    return cmocka_run_group_tests_name("cpu: threads at work part", tests, NULL, NULL);
}
