// SPDX-License-Identifier: Apache-2.0
// Signals are for the program's own threads: Braid's block them while they are started, and so for
// good. Only faults reach the thread that makes them, where the program's handler runs.
#ifndef BRAID_BASE_SIGNALS_H
#define BRAID_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>

static inline void signals_block(sigset_t *out_previous)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
    sigset_t most;
    sigfillset(&most);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, out_previous);
}

static inline void signals_restore(const sigset_t *previous)
{
    pthread_sigmask(SIG_SETMASK, previous, NULL);
}

#endif
