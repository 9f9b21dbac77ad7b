// SPDX-License-Identifier: Apache-2.0
// Seats: which core each thread at work is on, and parting threads that share one.
#include <sched.h>

#include "backends/cpu/cpu.h"

// Linux puts a woken thread on its last core or its waker's, often behind another of ours while a
// core is idle. There it stays while that one runs or yields. A thread that is not asleep moves
// only when the system balances its cores, milliseconds later. Until then, lanes in step take as
// long as on one core. So threads at work count themselves on their core. A woken thread goes to a
// core without one. A thread that finds another on its core moves a worker away.
//
// A thread is moved by allowing it one core, and then again those that it was allowed before.
// Threads of the program are never moved.

enum {
    MIN_PAUSE_NS = 500000,    // between two moves
    MAX_PAUSE_NS = 100000000, // where they do not last: others want the cores, or the system does
    CALM_PAUSES = 8,          // a move that lasted as many pauses was a good one
    TURN_NS = 3000000,        // that a thread of the program lends a hand
};

static _Thread_local struct cpu_seat *own_seat;

static void count(struct cpu_backend *backend, int core, int change)
{
    if (core >= 0 && core < CPU_MAX_CORES)
        atomic_fetch_add_explicit(&backend->cores[core].num_at_work, (unsigned)change,
                                  memory_order_relaxed);
}

static unsigned num_on(struct cpu_backend *backend, int core)
{
    if (core < 0 || core >= CPU_MAX_CORES)
        return 0;
    return atomic_load_explicit(&backend->cores[core].num_at_work, memory_order_relaxed);
}

static int core_of(const struct cpu_seat *seat)
{
    return atomic_load_explicit(&seat->core, memory_order_relaxed);
}

static void set_core(struct cpu_backend *backend, struct cpu_seat *seat, int core)
{
    if (core_of(seat) == core)
        return;
    int before = atomic_exchange_explicit(&seat->core, core, memory_order_relaxed);
    count(backend, before, -1);
    count(backend, core, 1);
}

// For a seat of another thread, which may have left the core meanwhile: asleep it counts on none.
static void change_core(struct cpu_backend *backend, struct cpu_seat *seat, int from, int to)
{
    int expected = from;
    if (!atomic_compare_exchange_strong_explicit(&seat->core, &expected, to, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    count(backend, from, -1);
    count(backend, to, 1);
}

void braid_cpu_seat_init(struct cpu_seat *seat)
{
    *seat = (struct cpu_seat){ .core = -1 };
}

void braid_cpu_seat_take(struct cpu_backend *backend, struct cpu_seat *seat)
{
    seat->outer = own_seat;
    own_seat = seat;
    set_core(backend, seat, sched_getcpu());
}

void braid_cpu_seat_leave(struct cpu_backend *backend)
{
    set_core(backend, own_seat, -1);
    own_seat = own_seat->outer;
}

bool braid_cpu_seat_is_a_workers(void)
{
    return own_seat && atomic_load_explicit(&own_seat->thread, memory_order_relaxed);
}

void braid_cpu_seat_begin_turn(struct cpu_seat *seat)
{
    seat->turn_end_ns = clock_now_ns() + TURN_NS;
}

bool braid_cpu_seat_turn_is_over(void)
{
    return clock_now_ns() >= own_seat->turn_end_ns;
}

bool braid_cpu_seat_is_shared(struct cpu_backend *backend)
{
    if (!own_seat)
        return false;
    int core = sched_getcpu();
    set_core(backend, own_seat, core);
    return num_on(backend, core) > 1;
}

// The first core after `core` that the thread may use. Neither a thread at work nor the caller is
// on it. -1: there is none.
static int find_free_core(struct cpu_backend *backend, const cpu_set_t *allowed, int core)
{
    int own = sched_getcpu();
    for (int i = 1; i < backend->num_cores; i++) {
        int other = (core + i) % backend->num_cores;
        if (other != own && CPU_ISSET((unsigned)other, allowed) && num_on(backend, other) == 0)
            return other;
    }
    return -1;
}

static int restrict_thread(struct cpu_backend *backend, const struct cpu_seat *seat, int core,
                           cpu_set_t *out_before)
{
    pid_t thread = atomic_load_explicit(&seat->thread, memory_order_relaxed);
    if (sched_getaffinity(thread, sizeof(*out_before), out_before))
        return -1;
    int to = find_free_core(backend, out_before, core);
    if (to < 0)
        return -1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)to, &one);
    return sched_setaffinity(thread, sizeof(one), &one) ? -1 : to;
}

// Allows the thread one free core, until `allow`. Returns that; -1: there is none, or another
// thread moves it, and it stays as it was. Two at once would take the one core of the first for all
// that the worker was allowed, and leave it that for good.
static int restrict_to_free_core(struct cpu_backend *backend, struct cpu_seat *seat, int core,
                                 cpu_set_t *out_before)
{
    if (atomic_exchange_explicit(&seat->is_moving, true, memory_order_acquire))
        return -1;
    int to = restrict_thread(backend, seat, core, out_before);
    if (to < 0)
        atomic_store_explicit(&seat->is_moving, false, memory_order_release);
    return to;
}

static void allow(struct cpu_seat *seat, const cpu_set_t *cores)
{
    (void)sched_setaffinity(atomic_load_explicit(&seat->thread, memory_order_relaxed),
                            sizeof(*cores), cores);
    atomic_store_explicit(&seat->is_moving, false, memory_order_release);
}

static uint64_t next_pause(uint64_t pause_ns, uint64_t lasted_ns)
{
    if (lasted_ns >= CALM_PAUSES * pause_ns)
        return pause_ns / 2 > MIN_PAUSE_NS ? pause_ns / 2 : MIN_PAUSE_NS;
    return pause_ns * 2 < MAX_PAUSE_NS ? pause_ns * 2 : MAX_PAUSE_NS;
}

static bool may_move(struct cpu_backend *backend)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t last_ns = atomic_load_explicit(&backend->moved_ns, memory_order_relaxed);
    uint64_t pause_ns = atomic_load_explicit(&backend->move_pause_ns, memory_order_relaxed);
    if (now_ns - last_ns < pause_ns ||
        !atomic_compare_exchange_strong_explicit(&backend->moved_ns, &last_ns, now_ns,
                                                 memory_order_relaxed, memory_order_relaxed))
        return false;
    atomic_store_explicit(&backend->move_pause_ns, next_pause(pause_ns, now_ns - last_ns),
                          memory_order_relaxed);
    return true;
}

// A worker on that core, rather another than the caller: a thread that does not run is moved at
// less cost. NULL: there are only threads of the program.
static struct cpu_seat *find_worker(struct cpu_backend *backend, int core)
{
    for (uint32_t i = 0; i < cpu_num_threads(backend); i++) {
        struct cpu_seat *seat = &backend->threads[i].seat;
        if (seat != own_seat && core_of(seat) == core)
            return seat;
    }
    return braid_cpu_seat_is_a_workers() ? own_seat : NULL;
}

bool braid_cpu_seat_part(struct cpu_backend *backend)
{
    if (!braid_cpu_seat_is_shared(backend))
        return true;
    if (!may_move(backend))
        return false;
    int core = core_of(own_seat);
    struct cpu_seat *seat = find_worker(backend, core);
    cpu_set_t before;
    int to = seat ? restrict_to_free_core(backend, seat, core, &before) : -1;
    if (to < 0)
        return false;
    change_core(backend, seat, core, to);
    allow(seat, &before);
    return true;
}

// The worker counts from now on, so that the next to be woken goes elsewhere.
void braid_cpu_seat_wake(struct cpu_backend *backend, struct cpu_sleeper *sleeper)
{
    struct cpu_seat *seat = sleeper->seat;
    int core = sleeper->core, to = -1;
    cpu_set_t before;
    if (num_on(backend, core) > 0 || core == sched_getcpu())
        to = restrict_to_free_core(backend, seat, core, &before);
    set_core(backend, seat, to < 0 ? core : to);
    sem_post(&sleeper->wake);
    if (to >= 0)
        allow(seat, &before);
}
