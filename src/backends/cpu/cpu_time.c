// SPDX-License-Identifier: Apache-2.0
// The clock, and short polling waits.
#include "backends/cpu/cpu.h"

#include <sched.h>
#include <time.h>

enum {
    OFFER_NS = 4000,      // between two offers of the core to other threads
    LONG_YIELD_NS = 4000, // longer than a yield takes that finds no other thread
};

uint64_t braid_cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void braid_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

// Sleeping is a cancellation point, and calls that wait for work are none.
void braid_cpu_give_way(void)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    nanosleep(&(struct timespec){ .tv_nsec = 10000 }, NULL);
    pthread_setcancelstate(cancel_state, NULL);
}

struct cpu_spin braid_cpu_spin_begin(void)
{
    uint64_t now_ns = braid_cpu_now_ns();
    return (struct cpu_spin){ .offer_ns = now_ns + OFFER_NS, .end_ns = now_ns + CPU_SPIN_NS };
}

// A yield that takes long has let another thread run. A thread that goes on spinning would keep its
// core from that one; and one that yields is not placed anew, as one that sleeps is when it is
// woken.
bool braid_cpu_spin_goes_on(struct cpu_spin *spin)
{
    uint64_t now_ns = braid_cpu_now_ns();
    if (now_ns < spin->offer_ns)
        return true;
    if (now_ns >= spin->end_ns)
        return false;
    sched_yield();
    uint64_t then_ns = braid_cpu_now_ns();
    spin->offer_ns = then_ns + OFFER_NS;
    return then_ns - now_ns < LONG_YIELD_NS;
}

bool braid_cpu_spin_while_equal(const atomic_uint *word, unsigned seen)
{
    struct cpu_spin spin = braid_cpu_spin_begin();
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return true;
            braid_cpu_relax();
        }
    } while (braid_cpu_spin_goes_on(&spin));
    return false;
}
