// SPDX-License-Identifier: Apache-2.0
// Hands the system calls of one thread over to an audit, and has the thread make them.
#include "audit/audit_calls.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "audit/audit_by_pages.h"
#include "audit/audit_system.h"

struct audit_calls braid_audit_calls __attribute__((aligned(AUDIT_PAGE)));

#if defined(__x86_64__) && defined(__linux__)

enum { HAND_OVER = 59 }; // PR_SET_SYSCALL_USER_DISPATCH

_Static_assert(offsetof(struct audit_calls, hands_over) == 0, "the code below knows it");
_Static_assert(offsetof(struct audit_calls, back) == 8, "the code below knows it");
_Static_assert(offsetof(struct audit_calls, child_starts) == 16, "the code below knows it");

// The system leaves rcx and r11 with values of its own, so that the program expects none there. A
// child begins behind the call, on another stack.
void braid_audit_make_call(void);
void braid_audit_make_child(void);
__asm__(".pushsection .text\n"
        ".globl braid_audit_make_call\n.hidden braid_audit_make_call\n"
        ".type braid_audit_make_call, @function\n"
        "braid_audit_make_call:\n"
        "    syscall\n"
        "    int3\n"
        ".globl braid_audit_make_child\n.hidden braid_audit_make_child\n"
        ".type braid_audit_make_child, @function\n"
        "braid_audit_make_child:\n"
        "    syscall\n"
        "    movq braid_audit_calls+8(%rip), %rcx\n"
        "    testq %rax, %rax\n"
        "    jz 1f\n"
        "    movb $1, braid_audit_calls(%rip)\n"
        "    js 1f\n"
        "    jmp *%rcx\n"
        "1:  movl $0, braid_audit_calls+16(%rip)\n"
        "    jmp *%rcx\n"
        ".popsection\n");

static uintptr_t this_thread(void)
{
    uintptr_t thread;
    __asm__("movq %%fs:0, %0" : "=r"(thread));
    return thread;
}

void braid_audit_calls_enter(struct audit_calls_before *out_before)
{
    struct audit_calls *calls = &braid_audit_calls;
    out_before->is_own = atomic_load(&calls->thread) == this_thread();
    if (!out_before->is_own)
        return;
    out_before->handed_over = calls->hands_over;
    calls->hands_over = 0;
    out_before->call = calls->call;
}

void braid_audit_calls_leave(const struct audit_calls_before *before)
{
    if (!before->is_own)
        return;
    braid_audit_calls.call = before->call;
    braid_audit_calls.hands_over = before->handed_over;
}

// In a handler that blocks SIGSYS a call would end the process.
static bool may_block(void)
{
    static const int let_through[] = { SIGBUS, SIGFPE, SIGILL };
    for (size_t i = 0; i < sizeof(let_through) / sizeof(let_through[0]); i++) {
        struct sigaction action;
        sigaction(let_through[i], NULL, &action);
        if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
            sigismember(&action.sa_mask, SIGSYS))
            return true;
    }
    return false;
}

// The handlers' return is the only call that is not handed over.
bool braid_audit_calls_start(uintptr_t returns)
{
    enum { RETURN_BYTES = 16 };
    braid_audit_calls.hands_over = 0;
    if (may_block() ||
        prctl(HAND_OVER, 1, returns, RETURN_BYTES, &braid_audit_calls.hands_over) != 0)
        return false;
    atomic_store(&braid_audit_calls.thread, this_thread());
    return true;
}

void braid_audit_calls_stop(void)
{
    if (atomic_load(&braid_audit_calls.thread) != this_thread())
        return;
    braid_audit_calls.hands_over = 0;
    prctl(HAND_OVER, 0, 0, 0, 0);
    atomic_store(&braid_audit_calls.thread, 0);
}

void braid_audit_calls_hand_over(bool is_on)
{
    if (!atomic_load(&braid_audit_calls.thread))
        return;
    if (is_on)
        braid_audit_calls.rests = false;
    braid_audit_calls.hands_over = is_on;
}

static bool makes_child(const struct audit_call *call)
{
    return call->number == SYS_clone || call->number == SYS_clone3 || call->number == SYS_fork ||
           call->number == SYS_vfork;
}

// A child with the memory of its parent reads `back` there, before the parent's next call.
static bool shares_memory(const struct audit_call *call)
{
    enum { SHARES = 0x100, PARENT_WAITS = 0x4000 };
    uintptr_t flags = call->number == SYS_clone    ? call->args[0]
                      : call->number == SYS_clone3 ? *(const uintptr_t *)call->args[0]
                                                   : 0;
    return flags & SHARES && !(flags & PARENT_WAITS);
}

static void set_call(ucontext_t *thread, void (*code)(void))
{
    thread->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)code;
}

static void make_child(struct audit *audit, const struct audit_call *call, ucontext_t *thread)
{
    braid_audit_call_open_child(audit, call);
    bool is_thread = shares_memory(call);
    audit->makes_threads |= is_thread;
    while (atomic_load(&braid_audit_calls.child_starts))
        audit_system(SYS_sched_yield, 0, 0, 0, 0);
    atomic_store(&braid_audit_calls.back, call->back);
    atomic_store(&braid_audit_calls.child_starts, is_thread);
    set_call(thread, braid_audit_make_child);
}

// No program can block the signals that an audit needs.
static void let_through(struct audit_call *call, ucontext_t *thread)
{
    if (call->number != SYS_rt_sigprocmask || !call->args[1] || call->args[0] == SIG_UNBLOCK)
        return;
    call->mask = *(const uint64_t *)call->args[1] & ~AUDIT_FAULTS;
    thread->uc_mcontext.gregs[REG_RSI] = (greg_t)(uintptr_t)&braid_audit_calls.call.mask;
}

// Behind it the trap that ends each call would be the program's. So the program makes this call by
// itself, and the audit sees no more of the node.
static bool sets_trap(const struct audit_call *call)
{
    return call->number == SYS_rt_sigaction && call->args[1] && (int)call->args[0] == SIGTRAP;
}

static void make_by_itself(struct audit *audit, ucontext_t *thread)
{
    enum { CALL_BYTES = 2 };
    braid_audit_give_up(audit, "it sets the handler of traps, which audits need");
    thread->uc_mcontext.gregs[REG_RIP] -= CALL_BYTES;
}

// A handler of the program for these would be called for calls that are handed over.
static bool sets_handler(const struct audit_call *call)
{
    int number = (int)call->args[0];
    return call->number == SYS_rt_sigaction && call->args[1] &&
           (number == SIGSEGV || number == SIGTRAP || number == SIGSYS || number == SIGBUS ||
            number == SIGFPE || number == SIGILL);
}

void braid_audit_call_begin(struct audit *audit, struct audit_calls_before *before,
                            ucontext_t *thread)
{
    const greg_t *registers = thread->uc_mcontext.gregs;
    struct audit_call call = {
        .number = (uintptr_t)registers[REG_RAX],
        .back = (uintptr_t)registers[REG_RIP],
        .args = { (uintptr_t)registers[REG_RDI], (uintptr_t)registers[REG_RSI],
                  (uintptr_t)registers[REG_RDX], (uintptr_t)registers[REG_R10],
                  (uintptr_t)registers[REG_R8], (uintptr_t)registers[REG_R9] },
    };
    before->handed_over = 0;
    if (sets_handler(&call)) {
        braid_audit_calls.rests = true;
        braid_audit_miss(audit,
                         "it sets a handler of faults, behind which system calls are not seen");
    }
    if (sets_trap(&call)) {
        make_by_itself(audit, thread);
        return;
    }
    if (makes_child(&call)) {
        make_child(audit, &call, thread);
        return;
    }
    braid_audit_call_open(audit, &call);
    let_through(&call, thread);
    set_call(thread, braid_audit_make_call);
    before->call = call;
}

bool braid_audit_call_ends(const ucontext_t *thread)
{
    enum { CODE_BYTES = 3 };
    uintptr_t behind = (uintptr_t)braid_audit_make_call + CODE_BYTES;
    return atomic_load(&braid_audit_calls.thread) == this_thread() &&
           (uintptr_t)thread->uc_mcontext.gregs[REG_RIP] == behind;
}

// A call may have failed at a closed page to which its arguments lead by other memory.
static bool repeat(struct audit *audit, struct audit_call *call, ucontext_t *thread)
{
    greg_t *registers = thread->uc_mcontext.gregs;
    if (registers[REG_RAX] != -EFAULT || call->opens_all || audit->is_open)
        return false;
    call->opens_all = true;
    braid_audit_miss(audit, braid_audit_unseen_call);
    braid_audit_open_all(audit);
    registers[REG_RAX] = (greg_t)call->number;
    set_call(thread, braid_audit_make_call);
    return true;
}

void braid_audit_call_end(struct audit *audit, struct audit_calls_before *before,
                          ucontext_t *thread)
{
    greg_t *registers = thread->uc_mcontext.gregs;
    before->handed_over = 0;
    if (repeat(audit, &before->call, thread))
        return;
    braid_audit_call_close(audit, &before->call, registers[REG_RAX]);
    registers[REG_RSI] = (greg_t)before->call.args[1];
    registers[REG_RIP] = (greg_t)before->call.back;
    before->handed_over = !braid_audit_calls.rests;
}

#else

void braid_audit_calls_enter(struct audit_calls_before *out_before)
{
    out_before->is_own = false;
}

void braid_audit_calls_leave(const struct audit_calls_before *before)
{
    (void)before;
}

bool braid_audit_calls_start(uintptr_t returns)
{
    (void)returns;
    return false;
}

void braid_audit_calls_stop(void)
{
}

void braid_audit_calls_hand_over(bool is_on)
{
    (void)is_on;
}

void braid_audit_call_begin(struct audit *audit, struct audit_calls_before *before,
                            ucontext_t *thread)
{
    (void)audit, (void)before, (void)thread;
}

bool braid_audit_call_ends(const ucontext_t *thread)
{
    (void)thread;
    return false;
}

void braid_audit_call_end(struct audit *audit, struct audit_calls_before *before,
                          ucontext_t *thread)
{
    (void)audit, (void)before, (void)thread;
}

#endif
