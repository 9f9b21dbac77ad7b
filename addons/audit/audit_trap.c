// SPDX-License-Identifier: Apache-2.0
// The handlers of an audit's faults, and of the traps behind single instructions.
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "audit/audit_behind.h"
#include "audit/audit_by_pages.h"
#include "audit/audit_calls.h"
#include "audit/audit_system.h"
#include "base/error.h"
#include "base/signals.h"

#if defined(__x86_64__) && defined(__linux__)

enum { CAN_STEP = 1, FAULT_WRITES = 2, TRAP_FLAG = 0x100 };

static bool fault_writes(const ucontext_t *thread)
{
    return thread->uc_mcontext.gregs[REG_ERR] & FAULT_WRITES;
}

static const unsigned char *find_instruction(const ucontext_t *thread)
{
    return (const unsigned char *)thread->uc_mcontext.gregs[REG_RIP];
}

static void set_trap(ucontext_t *thread, bool is_set)
{
    greg_t *flags = &thread->uc_mcontext.gregs[REG_EFL];
    *flags = is_set ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
}

#else

enum { CAN_STEP = 0 };

static bool fault_writes(const ucontext_t *thread)
{
    (void)thread;
    return false;
}

static const unsigned char *find_instruction(const ucontext_t *thread)
{
    (void)thread;
    return NULL;
}

static void set_trap(ucontext_t *thread, bool is_set)
{
    (void)thread, (void)is_set;
}

#endif

// In a page of its own: the handlers read it, so that page must never be closed.
//
// The handlers stay when an audit has ended. A thread that faulted before the pages were opened may
// get its signal afterwards.
static union {
    struct {
        pthread_rwlock_t lock;           // braid_audit_lock takes it
        _Atomic(struct audit *) running; // NULL: none
        atomic_uint num_handling;        // threads in handlers, which use `running`
        struct audit_behind fault, trap, call;
        _Atomic uintptr_t late_address; // where the last fault was that no audit answered
        atomic_int late_thread;
    };
    unsigned char page[AUDIT_PAGE];
} shared __attribute__((aligned(AUDIT_PAGE))) = { { .lock = PTHREAD_RWLOCK_INITIALIZER } };

_Static_assert(sizeof(shared) == AUDIT_PAGE, "a buffer could share its last page");

static struct audit *enter_handler(void)
{
    atomic_fetch_add(&shared.num_handling, 1);
    return atomic_load(&shared.running);
}

static void leave_handler(void)
{
    atomic_fetch_sub(&shared.num_handling, 1);
}

static int this_thread(void)
{
    return (int)audit_system(SYS_gettid, 0, 0, 0, 0);
}

// The owner is a thread in a handler, or one that keeps handlers of others away. The second may
// fault as well, even in here: its stack may lie in a closed page. So one exchange says both.
static void take(struct audit *audit, bool keeps)
{
    int none = 0, thread = this_thread();
    if (atomic_load_explicit(&audit->owner, memory_order_relaxed) / 2 == thread)
        return; // an instruction that faults once more, or a fault of the keeper
    while (!atomic_compare_exchange_weak_explicit(&audit->owner, &none, 2 * thread + keeps,
                                                  memory_order_acquire, memory_order_relaxed)) {
        audit_system(SYS_sched_yield, 0, 0, 0, 0);
        none = 0;
    }
}

static void leave(struct audit *audit, bool keeps)
{
    if (keeps || atomic_load_explicit(&audit->owner, memory_order_relaxed) % 2 == 0)
        atomic_store_explicit(&audit->owner, 0, memory_order_release);
}

// Until its end an instruction has no more than it has asked for. So a write is seen that follows a
// read of the same page.
static bool step(struct audit *audit, uintptr_t address, size_t page, bool writes)
{
    int before = audit->pages.now[page];
    if (audit->num_steps == AUDIT_MOST_STEPPED ||
        !braid_audit_pages_allow(&audit->pages, address, 1,
                                 PROT_READ | PROT_EXEC | (writes ? PROT_WRITE : 0)))
        return false;
    audit->steps[audit->num_steps++] = (struct audit_step){ address, before };
    audit->users[page].has_stepped = true;
    return true;
}

static const char not_closed[] = "the system refuses to close pages of its buffers";

// Before the page opens, and behind it.
static void note_user(struct audit *audit, uintptr_t address, size_t page)
{
    struct audit_user *user = &audit->users[page];
    int thread = this_thread();
    if (user->node != audit->num_begun)
        *user = (struct audit_user){ .node = audit->num_begun,
                                     .thread = thread,
                                     .writer = user->writer };
    user->is_shared = user->is_shared || user->thread != thread;
    if (user->is_shared && user->has_stepped)
        braid_audit_judge_hidden(audit, address);
}

// The audit's owner may be a thread that only the parent has. So the child never takes its place.
static bool open_in_child(struct audit *audit, uintptr_t address, size_t page)
{
    if (audit->pages.own[page] & AUDIT_SHARED)
        atomic_store(audit->child_accesses, 1);
    return braid_audit_pages_allow(&audit->pages, address, 1, PROT_READ | PROT_WRITE | PROT_EXEC);
}

// False: the fault is none of the audit's. *out_steps: the next instruction is to trap.
static bool answer(struct audit *audit, uintptr_t address, const ucontext_t *thread,
                   bool *out_steps)
{
    const bool writes = fault_writes(thread);
    struct audit_pages *pages = &audit->pages;
    size_t page = braid_audit_page_at(pages, address);
    int wanted = writes ? PROT_WRITE : PROT_READ;
    if (page == AUDIT_NO_PAGE || !(pages->own[page] & wanted))
        return false;
    if (!atomic_load(audit->is_parent))
        return open_in_child(audit, address, page);
    bool done = true;
    take(audit, false);
    note_user(audit, address, page);
    if (!(pages->now[page] & wanted)) { // else another thread has opened it
        braid_audit_judge(audit, address, writes);
        braid_audit_judge_rest(audit, address, writes, find_instruction(thread));
        done = braid_audit_open(audit, address, writes) || step(audit, address, page, writes) ||
               braid_audit_give_up(audit,
                                   "behind its first accesses, the system refuses to open single "
                                   "pages of its buffers");
        note_user(audit, address, page);
    }
    *out_steps = audit->num_steps;
    if (!*out_steps)
        leave(audit, false);
    return done;
}

void braid_audit_pause(struct audit *audit)
{
    take(audit, true);
    braid_audit_open_all(audit);
    leave(audit, true);
}

// The instruction is repeated once, also if a handler of the program hands the fault on to here.
// The fault of a late signal comes again behind another audit at the earliest.
static bool may_be_late(uintptr_t address)
{
    int thread = this_thread();
    bool is_repeated =
        atomic_load(&shared.late_thread) == thread && atomic_load(&shared.late_address) == address;
    atomic_store(&shared.late_address, address);
    atomic_store(&shared.late_thread, thread);
    return !is_repeated;
}

// The program's handler may leave by a jump. So its thread counts as one outside handlers, and it
// has no part of the audit.
static void pass_on(const struct audit *audit, struct audit_behind *behind, int number,
                    siginfo_t *info, void *context, const struct audit_calls_before *before)
{
    leave_handler();
    braid_audit_pass_on(behind, number, info, context, audit, before);
    braid_audit_calls_leave(before);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    struct audit_calls_before before;
    braid_audit_calls_enter(&before);
    struct audit *audit = enter_handler();
    uintptr_t address = (uintptr_t)info->si_addr;
    bool steps = false, is_access = info->si_code == SEGV_ACCERR;
    bool is_own = is_access && audit && answer(audit, address, context, &steps);
    if (steps)
        set_trap(context, true);
    if (!is_own && !(is_access && may_be_late(address))) {
        pass_on(audit, &shared.fault, number, info, context, &before);
        return;
    }
    leave_handler();
    braid_audit_calls_leave(&before);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    struct audit_calls_before before;
    braid_audit_calls_enter(&before);
    struct audit *audit = enter_handler();
    if (audit && braid_audit_call_ends(context)) {
        take(audit, true);
        braid_audit_call_end(audit, &before, context);
        leave(audit, true);
        leave_handler();
        braid_audit_calls_leave(&before);
        return;
    }
    if (!audit || atomic_load_explicit(&audit->owner, memory_order_relaxed) / 2 != this_thread()) {
        pass_on(audit, &shared.trap, number, info, context, &before);
        return;
    }
    while (audit->num_steps) {
        const struct audit_step *last = &audit->steps[--audit->num_steps];
        if (!audit->is_open &&
            !braid_audit_pages_allow(&audit->pages, last->address, 1, last->rights))
            braid_audit_give_up(audit, not_closed);
    }
    set_trap(context, false);
    leave(audit, false);
    leave_handler();
    braid_audit_calls_leave(&before);
}

// The keeper of the audit may fault at the call's own arguments.
static void on_call(int number, siginfo_t *info, void *context)
{
    enum { IS_HANDED_OVER = 2 }; // SYS_USER_DISPATCH
    struct audit_calls_before before;
    braid_audit_calls_enter(&before);
    struct audit *audit = enter_handler();
    if (!audit || !before.is_own || info->si_code != IS_HANDED_OVER) {
        pass_on(audit, &shared.call, number, info, context, &before);
        return;
    }
    take(audit, true);
    braid_audit_call_begin(audit, &before, context);
    leave(audit, true);
    leave_handler();
    braid_audit_calls_leave(&before);
}

static void set_handlers(void)
{
    braid_audit_handle(SIGSEGV, on_fault, &shared.fault);
    braid_audit_handle(SIGTRAP, on_trap, &shared.trap);
    braid_audit_handle(SIGSYS, on_call, &shared.call);
}

// A handler of the program could not be called where its stack is closed. Signals that end it
// without a handler stay.
static void block_signals(struct audit *audit)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
    sigset_t let_through;
    sigemptyset(&let_through);
    signals_block(&audit->signals_before);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct sigaction action;
        sigaction(ends[i], NULL, &action);
        if (action.sa_handler == SIG_DFL && !sigismember(&audit->signals_before, ends[i]))
            sigaddset(&let_through, ends[i]);
    }
    sigaddset(&let_through, SIGSYS);
    pthread_sigmask(SIG_UNBLOCK, &let_through, NULL);
}

void braid_audit_lock(bool alone)
{
    if (alone)
        pthread_rwlock_wrlock(&shared.lock);
    else
        pthread_rwlock_rdlock(&shared.lock);
}

void braid_audit_unlock(void)
{
    pthread_rwlock_unlock(&shared.lock);
}

braid_status braid_audit_start(struct audit *audit)
{
    if (!CAN_STEP)
        return braid_error(BRAID_UNSUPPORTED, "braid_exec_audit: it needs Linux on x86-64");
    const stack_t stack = { .ss_sp = audit->stack, .ss_size = sizeof(audit->stack) };
    atomic_store(&shared.running, audit);
    block_signals(audit);
    sigaltstack(&stack, &audit->stack_before);
    set_handlers();
    take(audit, true);
    bool is_closed = braid_audit_pages_allow_all(&audit->pages, PROT_NONE);
    leave(audit, true);
    // A sanitizer's handler before the audit's would make calls of its own.
    audit->sees_calls =
        is_closed &&
        (AUDIT_LEAVES_CALLS || (!braid_audit_is_before(on_call, &shared.call) &&
                                braid_audit_calls_start(shared.call.of_audit[AUDIT_RETURNS])));
    if (is_closed)
        return BRAID_OK;
    braid_audit_stop(audit);
    return braid_error(BRAID_UNSUPPORTED,
                       "braid_exec_audit: the system does not protect the pages of all buffers");
}

void braid_audit_stop(struct audit *audit)
{
    braid_audit_calls_stop();
    braid_audit_pause(audit);
    braid_audit_wait_for_faults();
    atomic_store(&shared.late_thread, 0);
    atomic_store(&shared.running, NULL);
    while (atomic_load(&shared.num_handling))
        audit_system(SYS_sched_yield, 0, 0, 0, 0);
    sigaltstack(&audit->stack_before, NULL);
    signals_restore(&audit->signals_before);
}

void braid_audit_begin_node(struct audit *audit, const struct graph_node *node)
{
    take(audit, true);
    bool is_closed = !audit->is_open || braid_audit_pages_allow_all(&audit->pages, PROT_NONE);
    audit->is_open = audit->hides = audit->is_wide = false;
    audit->unseen = NULL;
    audit->num_begun++;
    audit->declared = audit->memory.accesses + node->first_access;
    audit->num_declared = node->num_accesses;
    if (!is_closed)
        braid_audit_give_up(audit, not_closed);
    audit->runs = true;
    leave(audit, true);
    braid_audit_calls_hand_over(true);
}

// A handler of the program may have opened pages of which the audit does not know.
static void note_unseen(struct audit *audit)
{
    bool is_replaced = braid_audit_is_replaced(SIGSEGV, &shared.fault) ||
                       braid_audit_is_replaced(SIGTRAP, &shared.trap) ||
                       braid_audit_is_replaced(SIGSYS, &shared.call);
    if (is_replaced) {
        braid_audit_open_all(audit);
        set_handlers();
    }
    if (audit->unseen)
        return;
    if (is_replaced)
        audit->unseen = "meanwhile the program set a handler of its own for faults or traps";
    else if (audit->hides)
        audit->unseen = "several threads use pages of its buffers, and a page that opens for one "
                        "access of a thread may hide those of others";
    else if (audit->is_wide)
        audit->unseen = "an instruction may reach further than its first byte tells";
    else if (braid_audit_hides_reads(audit))
        audit->unseen = "behind many undeclared writes, reads of the same buffer are not seen";
    else if (atomic_exchange(audit->child_accesses, 0))
        audit->unseen = "a child of the process uses memory of its buffers";
}

// From here on an access opens its page for one instruction. This thread's next access may go to
// its stack, in a page that has just been closed.
void braid_audit_end_node(struct audit *audit)
{
    braid_audit_calls_hand_over(false);
    take(audit, true);
    audit->runs = false;
    if (!braid_audit_close(audit))
        audit->is_open = true; // the next node tries again
    audit->num_declared = 0;
    note_unseen(audit);
    leave(audit, true);
}
