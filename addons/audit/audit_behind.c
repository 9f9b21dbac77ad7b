// SPDX-License-Identifier: Apache-2.0
// Calls the program's own handlers of faults and traps behind those of an audit.
#include "audit/audit_behind.h"

#include <stdint.h>
#include <string.h>

#include "audit/audit_system.h"

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
// goes with the mask, also if the handler leaves by a jump.
static uint64_t find_mask(const struct audit_action *action, int number, uint64_t interrupted,
                          bool is_audited)
{
    uint64_t mask = interrupted | action->mask;
    if (!(action->flags & SA_NODEFER))
        mask |= AUDIT_BIT(number);
    if (is_audited && mask & AUDIT_BIT(SIGSEGV))
        mask |= AUDIT_BIT(BLOCKS_FAULTS);
    return is_audited ? mask & ~AUDIT_FAULTS : mask;
}

static void end_by(int number)
{
    sigaction(number, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    raise(number);
}

typedef void simple_handler(int number);

static void call(const struct audit_action *action, int number, siginfo_t *info, void *thread)
{
    if (action->flags & SA_SIGINFO)
        ((audit_handler *)action->handler)(number, info, thread);
    else
        ((simple_handler *)action->handler)(number);
}

// To a handler, or to the system's own, which is called behind this one. The flags and the mask
// hold as if the system called it.
static void pass_on(struct audit_behind *behind, bool is_later, int number, siginfo_t *info,
                    ucontext_t *thread, bool is_audited, const struct audit_calls_before *calls)
{
    const uint64_t interrupted = read_set(&thread->uc_sigmask);
    atomic_int *in_force = &behind->in_force[is_later];
    const struct audit_action *action = &behind->actions[atomic_load(in_force)];
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
    call(action, number, info, thread);
    braid_audit_calls_enter(&inside);
    set_mask(own);
}

// A later action may hand the fault on to here. Its context says so by a link, which the system
// clears for each signal and never reads.
//
// From the first line on, this thread may fault at data in closed pages, as everywhere else.
void braid_audit_pass_on(struct audit_behind *behind, int number, siginfo_t *info,
                         ucontext_t *thread, bool is_audited,
                         const struct audit_calls_before *before)
{
    uint64_t own = is_audited ? set_mask(~AUDIT_FAULTS) : 0;
    void *link = thread->uc_link;
    bool is_later = behind->is_later && link != behind;
    if (is_later)
        thread->uc_link = (void *)behind;
    pass_on(behind, is_later, number, info, thread, is_audited, before);
    thread->uc_link = link;
    if (is_audited)
        set_mask(own);
}

static void read_action(int number, unsigned long *action)
{
    audit_system(SYS_rt_sigaction, (unsigned long)number, 0, (uintptr_t)action, sizeof(uint64_t));
}

bool braid_audit_is_replaced(int number, struct audit_behind *behind)
{
    read_action(number, behind->of_now);
    return behind->of_now[0] != behind->of_audit[0];
}

bool braid_audit_is_before(audit_handler *handler, const struct audit_behind *behind)
{
    return behind->of_audit[0] != (uintptr_t)handler;
}

static bool is_like(const struct audit_action *action, const struct sigaction *found)
{
    return action->handler == (uintptr_t)found->sa_handler && action->flags == found->sa_flags &&
           action->mask == read_set(&found->sa_mask);
}

// Returns its place.
static int keep_action(struct audit_behind *behind, const struct sigaction *found)
{
    for (int i = 0; i < AUDIT_MOST_ACTIONS; i++)
        if (is_like(&behind->actions[i], found))
            return i;
    do {
        behind->last = behind->last % (AUDIT_MOST_ACTIONS - 1) + 1;
    } while (behind->last == behind->in_force[false] || behind->last == behind->in_force[true]);
    struct audit_action *action = &behind->actions[behind->last];
    action->handler = (uintptr_t)found->sa_handler;
    action->mask = read_set(&found->sa_mask);
    action->flags = found->sa_flags;
    return behind->last;
}

void braid_audit_handle(int number, audit_handler *handler, struct audit_behind *behind)
{
    struct sigaction found, action = { .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigfillset(&action.sa_mask);
    if (number == SIGSYS) { // its handler may fault
        sigdelset(&action.sa_mask, SIGSEGV);
        sigdelset(&action.sa_mask, SIGTRAP);
    }
    action.sa_sigaction = handler;
    sigaction(number, NULL, &found);
    if (!(found.sa_flags & SA_SIGINFO) || found.sa_sigaction != handler) {
        bool is_later =
            behind->is_known && found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN;
        behind->is_known = true;
        behind->in_force[is_later] = keep_action(behind, &found);
        behind->is_later = is_later;
        sigaction(number, &action, NULL);
    }
    read_action(number, behind->of_audit);
}
