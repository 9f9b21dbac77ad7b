// SPDX-License-Identifier: Apache-2.0
// System calls of the thread that runs an audit's nodes. The system hands each one over as a signal
// (SIGSYS) before it is made. The node then makes it, if it uses no page of the audit's. Otherwise
// the audit judges the memory that it uses, opens pages for it, and makes it inside the handler.
// Some calls change how signals or calls come to the audit, or may wait with open pages while a
// handler of the program runs. At such a call the audit gives its node up.
#ifndef BRAID_AUDIT_AUDIT_CALLS_H
#define BRAID_AUDIT_AUDIT_CALLS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "audit/audit_pages.h"

// The thread sanitizer makes calls of its own in handlers, so its build sees none of a node.
#if defined(__SANITIZE_THREAD__)
#define AUDIT_LEAVES_CALLS true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define AUDIT_LEAVES_CALLS true
#endif
#endif
#if !defined(AUDIT_LEAVES_CALLS)
#define AUDIT_LEAVES_CALLS false
#endif

struct audit;

enum { AUDIT_CALL_ARGS = 6 };

struct audit_call {
    uintptr_t number, args[AUDIT_CALL_ARGS];
    uint64_t mask;  // signals that the node blocks
    bool waits;     // perhaps; then signals come as to the node
    bool opens_all; // pages, until its end
    intptr_t result;
};

// In a page of its own, which is never closed.
struct audit_calls {
    union {
        struct {
            volatile unsigned char hands_over; // the system reads it before each call of the thread
            _Atomic uintptr_t thread;          // that hands over calls; 0: none
            _Atomic uintptr_t stack;           // on which the handlers run there
            bool rests;                        // until the next node
            bool waits;                        // inside such a call
        };
        unsigned char page[AUDIT_PAGE];
    };
};
extern struct audit_calls braid_audit_calls;

// As a handler found them.
struct audit_calls_before {
    bool is_own; // it runs on that thread
    unsigned char handed_over;
};

// A handler makes calls of its own. It leaves and enters around the program's handlers.
void braid_audit_calls_enter(struct audit_calls_before *out_before);
void braid_audit_calls_leave(const struct audit_calls_before *before);

// Where handlers of audits return to the system.
__attribute__((visibility("hidden"))) void braid_audit_return(void);
// Begins for the calling thread. False: the system, or a handler of the program, does not allow it.
bool braid_audit_calls_start(const unsigned char *stack);
void braid_audit_calls_stop(void);
// Before a node, behind one that may have changed who gets calls. False: the system refuses.
bool braid_audit_calls_resume(void);
// Around a node. Returns whether calls are handed over.
bool braid_audit_calls_hand_over(bool is_on);
// Behind a node's last call: a handler has left one by a jump. So the next ones were not handed
// over.
bool braid_audit_calls_are_left(void);
// Gives the node at hand up: no call of it is handed over, pages stay open, and handlers have their
// own masks.
void braid_audit_rest(struct audit *audit, const char *reason);

// From SIGSYS. The audit's owner calls the first and the last. `processor` is one of the system's
// list. False: the handler makes nothing.
bool braid_audit_call_begin(struct audit *audit, unsigned processor, ucontext_t *thread,
                            struct audit_call *out_call);
void braid_audit_call_make(struct audit_call *call);
void braid_audit_call_end(struct audit *audit, const struct audit_call *call, ucontext_t *thread);

#endif
