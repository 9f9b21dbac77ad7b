// SPDX-License-Identifier: Apache-2.0
// Short polling waits.
#include "backends/cpu/cpu.h"

#include <time.h>

enum { LOOK_NS = 4000 }; // between two looks at who else is on the core

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
    uint64_t now_ns = clock_now_ns();
    return (struct cpu_spin){ .look_ns = now_ns + LOOK_NS, .end_ns = now_ns + CPU_SPIN_NS };
}

// A thread that spins on the core of another keeps it from that one. It had better sleep than
// yield: one that yields counts as about to look for work for as long as the other runs.
bool braid_cpu_spin_goes_on(struct cpu_backend *backend, struct cpu_spin *spin)
{
    uint64_t now_ns = clock_now_ns();
    if (now_ns < spin->look_ns)
        return true;
    if (now_ns >= spin->end_ns)
        return false;
    spin->look_ns = now_ns + LOOK_NS;
    return !braid_cpu_seat_is_shared(backend);
}

bool braid_cpu_spin_while_equal(struct cpu_backend *backend, const atomic_uint *word, unsigned seen)
{
    struct cpu_spin spin = braid_cpu_spin_begin();
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return true;
            braid_cpu_relax();
        }
    } while (braid_cpu_spin_goes_on(backend, &spin));
    return false;
}
