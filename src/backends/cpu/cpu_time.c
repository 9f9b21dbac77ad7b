// SPDX-License-Identifier: Apache-2.0
// The clock, and short polling waits.
#include "backends/cpu/cpu.h"

#include <time.h>

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

void braid_cpu_give_way(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 10000 }, NULL);
}

bool braid_cpu_spin_while_equal(const atomic_uint *word, unsigned seen)
{
    uint64_t end = braid_cpu_now_ns() + CPU_SPIN_NS;
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return true;
            braid_cpu_relax();
        }
    } while (braid_cpu_now_ns() < end);
    return false;
}
