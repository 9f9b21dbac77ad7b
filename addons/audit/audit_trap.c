// SPDX-License-Identifier: Apache-2.0
// The handlers of an audit's faults, and of the traps behind single instructions. Behind them the
// program's own handlers are called.
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "audit/audit_by_pages.h"
#include "audit/audit_calls.h"
#include "audit/audit_system.h"
#include "base/error.h"
#include "base/signals.h"

#if defined(__x86_64__) && defined(__linux__)

enum { FAULT_WRITES = 2, TRAP_FLAG = 0x100 };

static const unsigned char *find_instruction(const ucontext_t *thread)
{
    return (const unsigned char *)thread->uc_mcontext.gregs[REG_RIP];
}

static struct audit_fault read_fault(uintptr_t address, const ucontext_t *thread)
{
    static const unsigned char order[AUDIT_REGISTERS] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX,
                                                          REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                                          REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                          REG_R12, REG_R13, REG_R14, REG_R15 };
    const greg_t *registers = thread->uc_mcontext.gregs;
    struct audit_fault fault = { .address = address,
                                 .writes = registers[REG_ERR] & FAULT_WRITES,
                                 .instruction = find_instruction(thread) };
    for (int i = 0; i < AUDIT_REGISTERS; i++)
        fault.registers[i] = (uintptr_t)registers[order[i]];
    return fault;
}

static bool has_trap(const ucontext_t *thread)
{
    return thread->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG;
}

static void set_trap(ucontext_t *thread, bool is_set)
{
    greg_t *flags = &thread->uc_mcontext.gregs[REG_EFL];
    *flags = is_set ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
}

// An instruction that has pushed the flags, with its prefixes, has pushed the audit's flag, too.
static void clear_pushed_trap(const ucontext_t *thread, const unsigned char *instruction)
{
    enum { SHORT = 0x66, WIDE = 0x40, PUSHES_FLAGS = 0x9c };
    while (*instruction == SHORT || (*instruction & 0xf0) == WIDE)
        instruction++;
    if (*instruction == PUSHES_FLAGS)
        *(volatile uint16_t *)thread->uc_mcontext.gregs[REG_RSP] &= (uint16_t)~TRAP_FLAG;
}

// ---- the program's own handlers of faults and traps, behind those of an audit ----

enum { MOST_ACTIONS = 16 };

struct action {
    _Atomic uintptr_t handler;
    _Atomic uint64_t mask;
    atomic_int flags;
};

// The actions of the program for a signal, behind Braid's. The one found by an audit may hand a
// fault on to Braid's. Behind that comes the one from before Braid's, so that none comes twice.
struct behind {
    // Other threads read them while an audit adds one. So none changes, until its place is needed
    // many audits later. The first is the system's own.
    struct action actions[MOST_ACTIONS];
    int last;               // added
    atomic_int in_force[2]; // from before Braid's, and found by a later audit
    atomic_bool is_later;   // the second is in force
    bool is_known;

    // As the system has it; the first is the handler. A sanitizer puts its own before Braid's.
    unsigned long of_audit[4], of_now[4];
};

enum { RETURNS = 2 }; // the system's action tells where handlers return

typedef void signal_handler(int number, siginfo_t *info, void *context);

// No program can block this signal through a C library, which has it for itself. While it is
// blocked, SIGSEGV is one that the program blocks, although it comes through.
enum { BLOCKS_FAULTS = 32 };

// As the system has it, which is the begin of the C library's.
static uint64_t read_set(const sigset_t *set)
{
    uint64_t mask;
    memcpy(&mask, set, sizeof(mask));
    return mask;
}

static void write_set(sigset_t *set, uint64_t mask)
{
    memcpy(set, &mask, sizeof(mask));
}

// Returns the thread's mask from before.
static uint64_t set_mask(uint64_t mask)
{
    uint64_t before = 0;
    audit_system(SYS_rt_sigprocmask, SIG_SETMASK, (uintptr_t)&mask, (uintptr_t)&before,
                 sizeof(mask));
    return before;
}

// While an audit runs, pages stay closed for a handler of the program: open ones would hide the
// accesses of all other threads. The handler may fault at its own data there, which is answered as
// any other fault is. So SIGSEGV comes through, and a mark says that it should be blocked. The mark
// goes with the mask, also if the handler leaves by a jump. A thread that blocks SIGSYS hands no
// calls over, and may have one that was sent before.
static uint64_t find_mask(const struct action *action, int number, uint64_t interrupted,
                          bool is_audited)
{
    uint64_t mask = interrupted | action->mask;
    if (!(action->flags & SA_NODEFER))
        mask |= AUDIT_BIT(number);
    if (is_audited && mask & AUDIT_BIT(SIGSEGV))
        mask |= AUDIT_BIT(BLOCKS_FAULTS);
    return is_audited ? (mask & ~AUDIT_FAULTS) | (interrupted & AUDIT_BIT(SIGSYS)) : mask;
}

static void end_by(int number)
{
    sigaction(number, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    raise(number);
}

typedef void simple_handler(int number);

static void call_handler(const struct action *action, int number, siginfo_t *info, void *thread)
{
    if (action->flags & SA_SIGINFO)
        ((signal_handler *)action->handler)(number, info, thread);
    else
        ((simple_handler *)action->handler)(number);
}

// To a handler, or to the system's own, which is called behind this one. The flags and the mask
// hold as if the system called it.
static void call_action(struct behind *behind, bool is_later, int number, siginfo_t *info,
                        ucontext_t *thread, bool is_audited, const struct audit_calls_before *calls)
{
    const uint64_t interrupted = read_set(&thread->uc_sigmask);
    atomic_int *in_force = &behind->in_force[is_later];
    const struct action *action = &behind->actions[atomic_load(in_force)];
    bool is_default = action->handler == (uintptr_t)SIG_DFL;
    bool is_ignored = action->handler == (uintptr_t)SIG_IGN, is_sent = info->si_code <= 0;
    bool is_blocked = number == SIGSEGV && !is_sent && interrupted & AUDIT_BIT(BLOCKS_FAULTS);
    if (is_ignored && is_sent)
        return;
    if (is_default || is_ignored || is_blocked) {
        end_by(number);
        return;
    }
    if (action->flags & (int)SA_RESETHAND)
        atomic_store(in_force, 0);
    uint64_t own = set_mask(find_mask(action, number, interrupted, is_audited));
    struct audit_calls_before inside;
    braid_audit_calls_leave(calls);
    call_handler(action, number, info, thread);
    braid_audit_calls_enter(&inside);
    set_mask(own);
}

// A handler hands its signal on to the program's. With `is_audited` pages are closed.
//
// A later action may hand the fault on to here. Its context says so by a link, which the system
// clears for each signal and never reads.
//
// From the first line on, this thread may fault at data in closed pages, as everywhere else.
static void hand_on(struct behind *behind, int number, siginfo_t *info, ucontext_t *thread,
                    bool is_audited, const struct audit_calls_before *before)
{
    uint64_t own = is_audited ? set_mask(~AUDIT_OF_STEPS) : 0;
    void *link = thread->uc_link;
    bool is_later = behind->is_later && link != behind;
    if (is_later)
        thread->uc_link = (void *)behind;
    call_action(behind, is_later, number, info, thread, is_audited, before);
    thread->uc_link = link;
    if (is_audited)
        set_mask(own);
}

static void read_action(int number, unsigned long *action)
{
    audit_system(SYS_rt_sigaction, (unsigned long)number, 0, (uintptr_t)action, sizeof(uint64_t));
}

// Whether the program has put another one before it. The stack may lie in a closed page.
static bool is_replaced(int number, struct behind *behind)
{
    read_action(number, behind->of_now);
    return behind->of_now[0] != behind->of_audit[0] ||
           behind->of_now[RETURNS] != behind->of_audit[RETURNS];
}

// Whether the system calls another one than this first.
static bool is_before(signal_handler *handler, const struct behind *behind)
{
    return behind->of_audit[0] != (uintptr_t)handler;
}

static bool is_like(const struct action *action, const struct sigaction *found)
{
    return action->handler == (uintptr_t)found->sa_handler && action->flags == found->sa_flags &&
           action->mask == read_set(&found->sa_mask);
}

// Returns its place.
static int keep_action(struct behind *behind, const struct sigaction *found)
{
    for (int i = 0; i < MOST_ACTIONS; i++)
        if (is_like(&behind->actions[i], found))
            return i;
    do {
        behind->last = behind->last % (MOST_ACTIONS - 1) + 1;
    } while (behind->last == behind->in_force[false] || behind->last == behind->in_force[true]);
    struct action *action = &behind->actions[behind->last];
    action->handler = (uintptr_t)found->sa_handler;
    action->mask = read_set(&found->sa_mask);
    action->flags = found->sa_flags;
    return behind->last;
}

// Puts the handler before that of the program.
static void put_before(int number, signal_handler *handler, struct behind *behind)
{
    struct sigaction found, action = { 0 };
    sigfillset(&action.sa_mask);
    action.sa_sigaction = handler;
    sigaction(number, NULL, &found);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | (found.sa_flags & SA_RESTART);
    if (!(found.sa_flags & SA_SIGINFO) || found.sa_sigaction != handler) {
        bool is_later =
            behind->is_known && found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN;
        behind->is_known = true;
        behind->in_force[is_later] = keep_action(behind, &found);
        behind->is_later = is_later;
        sigaction(number, &action, NULL);
    }
    unsigned long *own = behind->of_audit;
    read_action(number, own);
    if (is_before(handler, behind) || AUDIT_LEAVES_CALLS)
        return;
    own[RETURNS] = (uintptr_t)braid_audit_return;
    own[AUDIT_MASK] = UINT64_MAX; // the C library leaves its own two signals out
    audit_system(SYS_rt_sigaction, (unsigned long)number, (uintptr_t)own, 0, sizeof(uint64_t));
}

// ---- the handlers ----

// Signals of instructions. Behind the last three the audit only ends the step of the instruction.
enum handled { FAULT, TRAP, CALL, BAD_MEMORY, BAD_NUMBER, BAD_CODE, NUM_HANDLED };
static const int numbers[] = { SIGSEGV, SIGTRAP, SIGSYS, SIGBUS, SIGFPE, SIGILL };

enum { MOST_LEFT = 16 };

// A thread whose next trap may be that of a step which has ended, and its mask from before.
struct left {
    atomic_int thread;
    _Atomic uint64_t mask;
};

// In a page of its own: the handlers read it, so that page must never be closed.
//
// The handlers stay when an audit has ended. A thread that faulted before the pages were opened may
// get its signal afterwards.
static union {
    struct {
        pthread_rwlock_t lock;           // braid_audit_lock takes it
        _Atomic(struct audit *) running; // NULL: none
        atomic_uint num_handling;        // threads in handlers, which use `running`
        struct behind behind[NUM_HANDLED];
        _Atomic uintptr_t late_address; // where the last fault was that no audit answered
        atomic_int late_thread;
        struct left left[MOST_LEFT];
        atomic_uint num_left;
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

// The audit has one owner. That is a thread in a handler, one that keeps handlers of others away,
// or one whose instruction is to trap.
enum { HANDLES = 1, KEEPS, STEPS, NUM_OWNERSHIPS };

static const char not_closed[] = "the system refuses to close pages of its buffers";
static const char not_opened[] =
    "behind its first accesses, the system refuses to open single pages of its buffers";
static const char own_traps[] = "the program lets the processor trap behind each instruction";

static void end_step(struct audit *audit)
{
    while (audit->num_steps) {
        const struct audit_step *last = &audit->steps[--audit->num_steps];
        if (!audit->is_open &&
            !braid_audit_pages_allow(&audit->pages, last->address, 1, last->rights))
            braid_audit_give_up(audit, not_closed);
    }
}

// A handler of the program runs before the instruction has ended, or has jumped out of it. If it
// returns, the instruction may still trap.
static void end_left_step(struct audit *audit, int thread)
{
    struct left *left = &shared.left[atomic_fetch_add(&shared.num_left, 1) % MOST_LEFT];
    atomic_store(&left->mask, audit->step_mask);
    atomic_store(&left->thread, thread);
    end_step(audit);
    if (audit->runs && !audit->unseen)
        braid_audit_miss(audit, "a handler of the program left an instruction, until whose end a "
                                "page of its buffers is open");
}

// Until its instruction's end only signals of instructions come to a thread. Any other handler of
// the program would find an open page. A trap that the program blocks would end the process.
static void begin_trap(ucontext_t *thread, uint64_t *out_mask)
{
    *out_mask = read_set(&thread->uc_sigmask);
    write_set(&thread->uc_sigmask, (*out_mask | ~AUDIT_OF_INSTRUCTIONS) & ~AUDIT_OF_STEPS);
    set_trap(thread, true);
}

static void end_trap(ucontext_t *thread, uint64_t mask)
{
    write_set(&thread->uc_sigmask, mask);
    set_trap(thread, false);
}

static bool end_left_trap(ucontext_t *thread)
{
    const int own = audit_thread();
    for (int i = 0; i < MOST_LEFT; i++) {
        int left = own;
        const uint64_t mask = atomic_load(&shared.left[i].mask);
        if (!atomic_compare_exchange_strong(&shared.left[i].thread, &left, 0))
            continue;
        end_trap(thread, mask);
        return true;
    }
    return false;
}

// A step that lasts for so many looks, one each millisecond, has been left.
enum { MOST_YIELDS = 1000, MOST_LOOKS = 2000 };

static void wait_for_owner(int num_looks)
{
    static const struct timespec pause = { .tv_nsec = 1000000 };
    if (num_looks < MOST_YIELDS)
        audit_system(SYS_sched_yield, 0, 0, 0, 0);
    else
        audit_system(SYS_nanosleep, (uintptr_t)&pause, 0, 0, 0);
}

// The owner may fault as well, even in here: its stack may lie in a closed page. So one exchange
// says all. `at` is an instruction that faults, which may be one of a step; NULL: none.
static void take(struct audit *audit, int ownership, const unsigned char *at)
{
    const int thread = audit_thread();
    unsigned num_stepped = 0;
    for (int num_looks = 0;;) {
        int owner = atomic_load(&audit->owner), was = owner % NUM_OWNERSHIPS;
        bool is_own = owner / NUM_OWNERSHIPS == thread;
        if (is_own && was != STEPS)
            return; // a fault of the owner's
        if (!owner || is_own || (was == STEPS && num_looks == MOST_LOOKS)) {
            if (!atomic_compare_exchange_strong(&audit->owner, &owner,
                                                NUM_OWNERSHIPS * thread + ownership))
                continue;
            if (owner && audit->step_at != at)
                end_left_step(audit, owner / NUM_OWNERSHIPS);
            return;
        }
        bool is_same = num_stepped == atomic_load(&audit->num_stepped);
        num_looks = !is_same ? 0 : num_looks < MOST_LOOKS ? num_looks + 1 : num_looks;
        num_stepped = atomic_load(&audit->num_stepped);
        wait_for_owner(num_looks);
    }
}

// Ends an ownership that `take` began.
static void leave(struct audit *audit, int ownership)
{
    if (ownership == KEEPS || atomic_load(&audit->owner) % NUM_OWNERSHIPS != KEEPS)
        atomic_store(&audit->owner, 0);
}

// Up to the trap behind the instruction.
static void leave_to_step(struct audit *audit, const unsigned char *at)
{
    audit->step_at = at;
    atomic_fetch_add(&audit->num_stepped, 1);
    if (atomic_load(&audit->owner) % NUM_OWNERSHIPS == HANDLES)
        atomic_store(&audit->owner, NUM_OWNERSHIPS * audit_thread() + STEPS);
}

// From a step of this thread. False: it has none.
static bool take_from_step(struct audit *audit)
{
    const int mine = NUM_OWNERSHIPS * audit_thread();
    int owner = mine + STEPS;
    return atomic_compare_exchange_strong(&audit->owner, &owner, mine + HANDLES) ||
           owner == mine + KEEPS;
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

// Before the page opens, and behind it. While it is open for another thread, that of the node uses
// it without a fault.
static void note_user(struct audit *audit, uintptr_t address, size_t page)
{
    struct audit_user *user = &audit->users[page];
    if (user->node != audit->num_begun)
        *user = (struct audit_user){ .node = audit->num_begun, .writer = user->writer };
    user->is_shared = user->is_shared || audit_thread() != audit->thread;
    if (user->is_shared && user->has_stepped)
        braid_audit_judge_hidden(audit, address);
}

// False: the fault is none of the audit's. Behind the instruction the thread may trap.
static bool answer(struct audit *audit, uintptr_t address, ucontext_t *thread)
{
    const struct audit_fault fault = read_fault(address, thread);
    const bool writes = fault.writes;
    struct audit_pages *pages = &audit->pages;
    size_t page = braid_audit_page_at(pages, address);
    int wanted = writes ? PROT_WRITE : PROT_READ;
    if (page == AUDIT_NO_PAGE || !(pages->own[page] & wanted))
        return false;
    if (!atomic_load(audit->is_parent)) // whose thread may be the audit's owner
        return braid_audit_pages_allow(pages, address, 1, PROT_READ | PROT_WRITE | PROT_EXEC);
    bool done = true;
    take(audit, HANDLES, find_instruction(thread));
    const bool is_stepped = audit->num_steps;
    const bool traps = !is_stepped && has_trap(thread) && !end_left_trap(thread);
    note_user(audit, address, page);
    if (!(pages->now[page] & wanted)) { // else another thread has opened it
        braid_audit_judge(audit, &fault);
        done = (!traps &&
                (braid_audit_open(audit, address, writes) || step(audit, address, page, writes))) ||
               braid_audit_give_up(audit, traps ? own_traps : not_opened);
        note_user(audit, address, page);
    }
    if (audit->num_steps && !is_stepped)
        begin_trap(thread, &audit->step_mask);
    if (audit->num_steps)
        leave_to_step(audit, find_instruction(thread));
    else
        leave(audit, HANDLES);
    return done;
}

void braid_audit_pause(struct audit *audit)
{
    take(audit, KEEPS, NULL);
    braid_audit_open_all(audit);
    leave(audit, KEEPS);
    set_mask(audit->mask);
}

// The instruction is repeated once, also if a handler of the program hands the fault on to here.
// The fault of a late signal comes again behind another audit at the earliest.
static bool may_be_late(uintptr_t address)
{
    int thread = audit_thread();
    bool is_repeated =
        atomic_load(&shared.late_thread) == thread && atomic_load(&shared.late_address) == address;
    atomic_store(&shared.late_address, address);
    atomic_store(&shared.late_thread, thread);
    return !is_repeated;
}

// The instruction that has the signal begins anew behind the program's handler, if that returns.
static void put_off_step(struct audit *audit, ucontext_t *thread)
{
    if (!audit || atomic_load(&audit->owner) != NUM_OWNERSHIPS * audit_thread() + STEPS)
        return;
    take(audit, HANDLES, find_instruction(thread));
    end_step(audit);
    end_trap(thread, audit->step_mask);
    leave(audit, HANDLES);
}

// A handler of the program may leave the call in which its signal came.
static void end_call(struct audit *audit, const struct audit_calls_before *before)
{
    if (!audit || !before->is_own || !braid_audit_calls.waits)
        return;
    take(audit, KEEPS, NULL);
    braid_audit_rest(audit, "a handler runs during a system call of the node");
    leave(audit, KEEPS);
}

// From the handler's end on a node that it has given up has the mask that the program knows.
static void leave_calls(const struct audit *audit, const struct audit_calls_before *before,
                        ucontext_t *thread)
{
    braid_audit_calls_leave(before);
    if (audit && before->is_own && before->handed_over && braid_audit_calls.rests)
        write_set(&thread->uc_sigmask,
                  read_set(&thread->uc_sigmask) | (audit->mask & AUDIT_FAULTS));
}

// The program's handler may leave by a jump. So its thread counts as one outside handlers, and it
// has no part of the audit.
static void pass_on(struct audit *audit, enum handled handled, siginfo_t *info, void *context,
                    const struct audit_calls_before *before)
{
    put_off_step(audit, context);
    end_call(audit, before);
    leave_handler();
    hand_on(&shared.behind[handled], numbers[handled], info, context, audit, before);
    leave_calls(audit, before, context);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    struct audit_calls_before before;
    braid_audit_calls_enter(&before);
    struct audit *audit = enter_handler();
    uintptr_t address = (uintptr_t)info->si_addr;
    bool is_access = info->si_code == SEGV_ACCERR;
    bool is_own = is_access && audit && answer(audit, address, context);
    if (!is_own && !(is_access && may_be_late(address))) {
        pass_on(audit, FAULT, info, context, &before);
        return;
    }
    leave_handler();
    braid_audit_calls_leave(&before);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    struct audit_calls_before before;
    braid_audit_calls_enter(&before);
    struct audit *audit = enter_handler();
    bool is_step = audit && take_from_step(audit);
    if (!is_step && !(info->si_code == TRAP_TRACE && end_left_trap(context))) {
        pass_on(audit, TRAP, info, context, &before);
        return;
    }
    if (is_step) {
        end_trap(context, audit->step_mask);
        if (braid_audit_page_at(&audit->pages, (uintptr_t)audit->step_at) == AUDIT_NO_PAGE)
            clear_pushed_trap(context, audit->step_at);
        end_step(audit);
        leave(audit, HANDLES);
    }
    leave_handler();
    braid_audit_calls_leave(&before);
}

// While a call waits, a handler of the program may jump out of it, and other threads may fault.
static void on_call(int number, siginfo_t *info, void *context)
{
    (void)number;
    enum { IS_HANDED_OVER = 2 }; // SYS_USER_DISPATCH
    struct audit_calls_before before;
    struct audit_call call;
    braid_audit_calls_enter(&before);
    struct audit *audit = enter_handler();
    if (!audit || !before.is_own || info->si_code != IS_HANDED_OVER) {
        pass_on(audit, CALL, info, context, &before);
        return;
    }
    take(audit, KEEPS, NULL);
    const bool is_made = braid_audit_call_begin(audit, info->si_arch, context, &call);
    leave(audit, KEEPS);
    if (is_made) {
        leave_handler();
        braid_audit_call_make(&call);
        enter_handler();
        take(audit, KEEPS, NULL);
        braid_audit_call_end(audit, &call, context);
        leave(audit, KEEPS);
    }
    leave_handler();
    leave_calls(audit, &before, context);
}

static void on_other(int number, siginfo_t *info, void *context)
{
    struct audit_calls_before before;
    braid_audit_calls_enter(&before);
    enum handled handled = BAD_MEMORY;
    while (numbers[handled] != number)
        handled++;
    pass_on(enter_handler(), handled, info, context, &before);
}

static void set_handlers(void)
{
    static signal_handler *const handlers[] = { on_fault, on_trap,  on_call,
                                                on_other, on_other, on_other };
    for (int i = 0; i < NUM_HANDLED; i++)
        put_before(numbers[i], handlers[i], &shared.behind[i]);
}

static bool is_any_replaced(void)
{
    for (int i = 0; i < NUM_HANDLED; i++)
        if (is_replaced(numbers[i], &shared.behind[i]))
            return true;
    return false;
}

static bool is_handled(int number)
{
    for (int i = 0; i < NUM_HANDLED; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

// Tells the system's own where the system refuses to tell one.
static const unsigned long *find_action(struct audit *audit, int number)
{
    audit->action[AUDIT_HANDLER] = (uintptr_t)SIG_DFL;
    read_action(number, audit->action);
    return audit->action;
}

static bool calls_handler(const unsigned long *action)
{
    return action[AUDIT_HANDLER] != (uintptr_t)SIG_DFL &&
           action[AUDIT_HANDLER] != (uintptr_t)SIG_IGN;
}

// The C library has two signals for itself.
bool braid_audit_may_handle(struct audit *audit, uint64_t mask)
{
    const uint64_t others = mask | AUDIT_OF_INSTRUCTIONS | AUDIT_BIT(32) | AUDIT_BIT(33);
    for (int number = 1; number <= AUDIT_SIGNALS; number++)
        if (!(others & AUDIT_BIT(number)) && calls_handler(find_action(audit, number)))
            return true;
    return false;
}

static bool is_same(const unsigned long *action, const unsigned long *other)
{
    for (int i = 0; i < AUDIT_ACTION_WORDS; i++)
        if (action[i] != other[i])
            return false;
    return true;
}

// Another thread may set an action meanwhile, and so again. The last one is put back.
static void change_mask(struct audit *audit, int number, uint64_t mask)
{
    unsigned long *next = audit->action, *replaced = audit->replaced, *expected = audit->expected;
    memcpy(expected, next, sizeof(audit->expected));
    next[AUDIT_MASK] = mask;
    while (!audit_system(SYS_rt_sigaction, (unsigned)number, (uintptr_t)next, (uintptr_t)replaced,
                         sizeof(mask)) &&
           !is_same(replaced, expected)) {
        unsigned long *room = expected;
        expected = next;
        next = replaced;
        replaced = room;
    }
}

// The system ends the process where a thread blocks the signal of its fault. So during an audit no
// other handler of the program blocks these. The program may set some between nodes. Returns
// whether one did.
static bool open_masks(struct audit *audit)
{
    bool any = false;
    for (int number = 1; number <= AUDIT_SIGNALS; number++) {
        if (is_handled(number))
            continue;
        const unsigned long *action = find_action(audit, number);
        const uint64_t mask = action[AUDIT_MASK];
        if (!calls_handler(action) || !(mask & AUDIT_FAULTS))
            continue;
        audit->masks[number - 1] = (struct audit_mask){ action[AUDIT_HANDLER], mask };
        change_mask(audit, number, mask & ~AUDIT_FAULTS);
        any = true;
    }
    return any;
}

// Leaves an action alone that the program has set meanwhile.
void braid_audit_close_masks(struct audit *audit)
{
    for (int number = 1; number <= AUDIT_SIGNALS; number++) {
        const struct audit_mask *own = &audit->masks[number - 1];
        if (!own->handler)
            continue;
        const unsigned long *action = find_action(audit, number);
        if (own->handler == action[AUDIT_HANDLER] &&
            action[AUDIT_MASK] == (own->mask & ~AUDIT_FAULTS))
            change_mask(audit, number, own->mask);
        audit->masks[number - 1].handler = 0;
    }
}

// Between nodes no handler of the program runs on this thread. Returns the mask from before.
static uint64_t keep_signals_away(void)
{
    const uint64_t others = ~AUDIT_OF_INSTRUCTIONS;
    uint64_t before = 0;
    audit_system(SYS_rt_sigprocmask, SIG_BLOCK, (uintptr_t)&others, (uintptr_t)&before,
                 sizeof(others));
    return before;
}

// One that was sent earlier stays blocked, since it might end the process. False: it does.
static bool unblock_faults(void)
{
    uint64_t sent = 0;
    audit_system(SYS_rt_sigpending, (uintptr_t)&sent, sizeof(sent), 0, 0);
    const uint64_t faults = AUDIT_FAULTS & ~sent;
    audit_system(SYS_rt_sigprocmask, SIG_UNBLOCK, (uintptr_t)&faults, 0, sizeof(faults));
    return faults == AUDIT_FAULTS;
}

// A node may have given its handlers another stack.
static void set_stack(struct audit *audit)
{
    const stack_t own = { .ss_sp = audit->stack, .ss_size = sizeof(audit->stack) };
    stack_t found;
    if (!sigaltstack(&own, &found) && found.ss_sp != own.ss_sp)
        audit->stack_before = found;
}

// The system could not call a handler where its stack is closed.
static bool has_stack(const struct audit *audit)
{
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return true;
    pthread_attr_getstack(&attributes, &begin, &bytes);
    pthread_attr_destroy(&attributes);
    return braid_audit_pages_reach(&audit->pages, (uintptr_t)begin, (uintptr_t)begin + bytes);
}

// The C library's lock knows the thread that writes by a number, which differs in the child. The
// audit's owner may be another thread, which the child lacks.
void braid_audit_leave_parents(bool is_auditing)
{
    static const pthread_rwlock_t unlocked = PTHREAD_RWLOCK_INITIALIZER;
    struct audit *audit = atomic_load(&shared.running);
    atomic_store(&shared.num_handling, 0);
    shared.lock = unlocked;
    if (audit)
        atomic_store(&audit->owner, 0);
    if (is_auditing) {
        braid_audit_lock(true);
        return;
    }
    if (audit) {
        braid_audit_pages_allow_all(&audit->pages, PROT_READ | PROT_WRITE | PROT_EXEC);
        braid_audit_close_masks(audit);
    }
    atomic_store(&shared.running, NULL);
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
    atomic_store(&shared.running, audit);
    audit->thread = audit_thread();
    audit->has_stack = has_stack(audit);
    audit->mask = keep_signals_away();
    write_set(&audit->signals_before, audit->mask);
    set_stack(audit);
    set_handlers();
    if (open_masks(audit)) // one may run on another thread
        audit->num_blocking = braid_audit_wait_for_handlers(0);
    audit->is_open = !unblock_faults();
    take(audit, KEEPS, NULL);
    bool is_closed = audit->is_open || braid_audit_pages_allow_all(&audit->pages, PROT_NONE);
    leave(audit, KEEPS);
    // A sanitizer's handler before the audit's would make calls of its own.
    audit->sees_calls =
        is_closed && (AUDIT_LEAVES_CALLS || (!is_before(on_call, &shared.behind[CALL]) &&
                                             braid_audit_calls_start(audit->stack)));
    if (is_closed)
        return BRAID_OK;
    braid_audit_stop(audit);
    return braid_error(BRAID_UNSUPPORTED,
                       "braid_graph_audit: the system does not protect the pages of all buffers");
}

void braid_audit_stop(struct audit *audit)
{
    braid_audit_calls_stop();
    braid_audit_pause(audit);
    braid_audit_wait_for_faults();
    braid_audit_close_masks(audit); // while a child of fork knows of them
    atomic_store(&shared.late_thread, 0);
    atomic_store(&shared.running, NULL);
    while (atomic_load(&shared.num_handling))
        audit_system(SYS_sched_yield, 0, 0, 0, 0);
    set_stack(audit);
    sigaltstack(&audit->stack_before, NULL);
    signals_restore(&audit->signals_before);
}

// Why the node cannot be audited; NULL: it can.
static const char *find_hindrance(struct audit *audit)
{
    if (!unblock_faults())
        return "a signal waits that would end the program at a closed page";
    if (audit->has_stack && braid_audit_may_handle(audit, audit->mask))
        return "a handler may run on a stack in pages of its buffers";
    return braid_audit_calls_resume() ? NULL : "the system hands its calls over no more";
}

// Behind a node whose handlers had their own masks, one may still run on another thread.
static void end_rest(struct audit *audit)
{
    audit->num_blocking = braid_audit_wait_for_handlers(audit->num_blocking);
    audit->makes_threads = audit->makes_threads || braid_audit_others_ran(audit->others);
}

// From the last call on signals come to the node. If calls are handed over, that one is, too.
void braid_audit_begin_node(struct audit *audit, const struct graph_node *node)
{
    keep_signals_away();
    set_stack(audit);
    open_masks(audit); // before it waits: a handler that begins later has the new mask
    if (braid_audit_calls.rests)
        end_rest(audit);
    const char *hindrance = find_hindrance(audit);
    take(audit, KEEPS, NULL);
    if (!hindrance && audit->is_open && !braid_audit_pages_allow_all(&audit->pages, PROT_NONE))
        hindrance = not_closed;
    audit->is_open = audit->hides = audit->is_wide = audit->hides_reads = false;
    audit->unseen = NULL;
    audit->num_begun++;
    audit->num_opened = 0;
    audit->declared = audit->memory.accesses + node->first_access;
    audit->num_declared = node->num_accesses;
    if (hindrance)
        braid_audit_rest(audit, hindrance);
    audit->runs = true;
    leave(audit, KEEPS);
    const bool knows_all = braid_audit_calls_hand_over(!hindrance) || hindrance;
    set_mask(knows_all ? audit->mask : audit->mask & ~AUDIT_FAULTS);
}

// A handler of the program may have opened pages of which the audit does not know.
static void note_unseen(struct audit *audit)
{
    bool has_others = is_any_replaced();
    if (has_others) {
        braid_audit_open_all(audit);
        set_handlers();
    }
    audit->is_wide |= braid_audit_is_unsure(audit);
    if (audit->unseen)
        return;
    if (has_others)
        braid_audit_miss(audit,
                         "meanwhile the program set a handler of its own for faults or traps");
    else if (audit->hides)
        audit->unseen = "several threads use pages of its buffers, and a page that opens for one "
                        "access of a thread may hide those of others";
    else if (audit->is_wide)
        audit->unseen = "an instruction may reach further than its first byte tells";
    else if (audit->hides_reads)
        audit->unseen = "behind its first pages, reads of what it may only write are not seen";
    else if (braid_audit_hides_reads(audit))
        audit->unseen = "behind many undeclared writes, reads of the same buffer are not seen";
}

// From here on an access opens its page for one instruction. This thread's next access may go to
// its stack, in a page that has just been closed.
bool braid_audit_end_node(struct audit *audit)
{
    const uint64_t mask = keep_signals_away();
    audit->mask = mask | (braid_audit_calls.rests ? 0 : audit->mask & AUDIT_FAULTS);
    const bool is_left = braid_audit_calls_are_left() && atomic_load(audit->is_parent);
    braid_audit_calls_hand_over(false);
    take(audit, KEEPS, NULL);
    if (is_left)
        braid_audit_give_up(audit, "a handler of the program left a system call, behind which no "
                                   "others are seen");
    audit->runs = false;
    if (!braid_audit_close(audit))
        audit->is_open = true; // the next node tries again
    note_unseen(audit);
    audit->num_declared = 0;
    leave(audit, KEEPS);
    return braid_audit_calls.rests;
}

#else

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void braid_audit_leave_parents(bool is_auditing)
{
    (void)is_auditing;
}

void braid_audit_lock(bool alone)
{
    (void)(alone ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
}

void braid_audit_unlock(void)
{
    pthread_rwlock_unlock(&lock);
}

braid_status braid_audit_start(struct audit *audit)
{
    (void)audit;
    return braid_error(BRAID_UNSUPPORTED, "braid_graph_audit: it needs Linux on x86-64");
}

void braid_audit_stop(struct audit *audit)
{
    (void)audit;
}

void braid_audit_pause(struct audit *audit)
{
    (void)audit;
}

void braid_audit_begin_node(struct audit *audit, const struct graph_node *node)
{
    (void)audit, (void)node;
}

bool braid_audit_end_node(struct audit *audit)
{
    (void)audit;
    return false;
}

#endif
