// SPDX-License-Identifier: Apache-2.0
// The program's own handlers of faults and traps, behind those of an audit.
#ifndef BRAID_AUDIT_AUDIT_BEHIND_H
#define BRAID_AUDIT_AUDIT_BEHIND_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "audit/audit_calls.h"

enum { AUDIT_MOST_ACTIONS = 16 };

struct audit_action {
    _Atomic uintptr_t handler;
    _Atomic uint64_t mask;
    atomic_int flags;
};

// The actions of the program for a signal, behind Braid's. The one found by an audit may hand a
// fault on to Braid's. Behind that comes the one from before Braid's, so that none comes twice.
struct audit_behind {
    // Other threads read them while an audit adds one. So none changes, until its place is needed
    // many audits later. The first is the system's own.
    struct audit_action actions[AUDIT_MOST_ACTIONS];
    int last;               // added
    atomic_int in_force[2]; // from before Braid's, and found by a later audit
    atomic_bool is_later;   // the second is in force
    bool is_known;

    // As the system has it; the first is the handler. A sanitizer puts its own before Braid's.
    unsigned long of_audit[4], of_now[4];
};

enum { AUDIT_RETURNS = 2 }; // the system's action tells where handlers return

typedef void audit_handler(int number, siginfo_t *info, void *context);

// Puts the handler before that of the program.
void braid_audit_handle(int number, audit_handler *handler, struct audit_behind *behind);

// Whether the program has put another one before it. The stack may lie in a closed page.
bool braid_audit_is_replaced(int number, struct audit_behind *behind);

// Whether the system calls another one than this first.
bool braid_audit_is_before(audit_handler *handler, const struct audit_behind *behind);

// A handler hands its signal on to the program's. With `is_audited` pages are closed.
void braid_audit_pass_on(struct audit_behind *behind, int number, siginfo_t *info,
                         ucontext_t *thread, bool is_audited,
                         const struct audit_calls_before *before);

#endif
