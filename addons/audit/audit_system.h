// SPDX-License-Identifier: Apache-2.0
// System calls for the handlers of an audit. The C library's functions are found by a table that
// may lie in a closed page, beside the program's own data.
#ifndef BRAID_AUDIT_AUDIT_SYSTEM_H
#define BRAID_AUDIT_AUDIT_SYSTEM_H

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// Signals that an audit needs.
#define AUDIT_BIT(number) ((uint64_t)1 << ((number)-1))
#define AUDIT_OF_STEPS (AUDIT_BIT(SIGSEGV) | AUDIT_BIT(SIGTRAP))
#define AUDIT_FAULTS (AUDIT_OF_STEPS | AUDIT_BIT(SIGSYS))
// Signals of instructions.
#define AUDIT_OF_INSTRUCTIONS                                                                      \
    (AUDIT_FAULTS | AUDIT_BIT(SIGBUS) | AUDIT_BIT(SIGFPE) | AUDIT_BIT(SIGILL))

static inline long audit_system(long number, unsigned long a, unsigned long b, unsigned long c,
                                unsigned long d)
{
#if defined(__x86_64__)
    long result;
    register unsigned long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
#else
    return syscall(number, a, b, c, d);
#endif
}

// This thread, as the system numbers it.
static inline int audit_thread(void)
{
    return (int)audit_system(SYS_gettid, 0, 0, 0, 0);
}

#endif
