// SPDX-License-Identifier: Apache-2.0
// Cases of a node that uses signals or system calls, and of one behind it.
#ifndef BRAID_TESTS_AUDIT_NODE_CASE_H
#define BRAID_TESTS_AUDIT_NODE_CASE_H

#include <setjmp.h>

#include "audit/audit_case.h"

// What the system says of instructions that move a thread's data. Sanitizers need it in its place.
#if defined(BRAID_INSTRUMENTED)
enum { MAY_MOVE_DATA = 0 };
#else
enum { MAY_MOVE_DATA = 2 };
#endif

static sigjmp_buf back;
static volatile int num_handled;

static inline void expect(bool holds)
{
    if (!holds)
        _exit(WRONG);
}

static inline void count_signal(int number)
{
    (void)number;
    num_handled++;
}

static inline void jump_back(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static inline int judge(braid_host_function *call, braid_audit_kind kind)
{
    add_call(call);
    add_call(write_beside);
    audit_case();
    return end_with(is_found(0, kind) &&
                    is_found(0, BRAID_AUDIT_UNSEEN) == (kind == BRAID_AUDIT_UNSEEN) &&
                    is_found(1, BRAID_AUDIT_WRITES));
}

#endif
