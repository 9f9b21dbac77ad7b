// SPDX-License-Identifier: Apache-2.0
// A fence whose cost is borne by one of the two threads.
#include "backends/cpu/cpu.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// membarrier(2) makes every running thread of the process pass a full fence. Kernels before 4.14 do
// not have it, and some sandboxes refuse it.

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0u, 0);
}

bool cpu_fence_prepare(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

// A sandbox that the program has entered since may refuse the call. No core keeps a store to itself
// for anything like a millisecond, so sleeping that long does the same.
void cpu_fence_heavy(const struct cpu_backend *backend)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (backend->has_heavy_fence && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}
